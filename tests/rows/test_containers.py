"""One contract: an operation returns the same for every container as for an array."""

import os

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from chunked_rows import WEIGHTS, X, Y, chunked, relative
from other_store import RowsElsewhere

from stored import Sliced, memory_map, zarr_array
from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    find_label_issues,
)
from twohot.describe import class_correlation
from twohot.probes.recipe import Recipe
from twohot.probes.rounds import LABELS, LabelTargets, run_rounds
from twohot.review import map_embeddings
from twohot.rows.coordinates import prepare
from twohot.rows.open import fit_preparation, open_features, open_rows
from twohot.rows.rows import Rows
from twohot.rows.stored import SlicedRows
from twohot.solve.losses import CrossEntropy
from twohot.solve.solver import Settings
from twohot.tables import FeatureTable, read_features, write_features


def in_feature_file(rows, folder):
    table = FeatureTable(features=rows, labels=Y, classes=tuple(map(str, range(6))))
    write_features(folder / "x.features", table)
    return read_features(folder / "x.features").features


def in_dask_frame(rows, _):
    frame = pd.DataFrame(rows, columns=[f"e{place}" for place in range(24)])
    return dd.from_pandas(frame, npartitions=3)


# Files are read in the blocks of an array. Dask, and the BLAS of another process, round otherwise.
EXACT, ROUNDED = 0.0, 1e-5
CONTAINERS = {
    "memory map": (memory_map, EXACT),
    "memory map in parts": (lambda rows, path: SlicedRows(memory_map(rows, path), 70), EXACT),
    "feature file": (in_feature_file, EXACT),
    "Zarr": (lambda rows, path: zarr_array(rows, path, 70), EXACT),
    "store of another package": (lambda rows, _: Sliced(rows), EXACT),
    "Dask array": (lambda rows, _: chunked(rows), ROUNDED),
    "Dask frame": (in_dask_frame, ROUNDED),
    "another process": (lambda rows, _: rows, ROUNDED),
}
SOFT = sp.csr_array((np.ones(1500), (np.arange(1500), Y)), shape=(1500, 6))
FITTED = DistilledProbe(n_rounds=2).fit(X, Y)


def rounds_of(probe, *given):
    """Return the coefficients of all rounds."""
    return np.concatenate([entry.coef for entry in probe.fit(*given).rounds_])


def mapped(rows):
    """Return the positions of every second row in a map."""
    opened = open_features(rows)
    preparation = fit_preparation(opened, center=True, normalize=True, weights=None)
    some = map_embeddings(open_rows(opened, preparation), np.arange(1500) % 2 == 0, most_rows=900)
    return some.coordinates


OPERATIONS = {
    "teacher": lambda rows: rounds_of(LinearProbe(), rows, Y, WEIGHTS),
    "rounds": lambda rows: rounds_of(DistilledProbe(), rows, Y),
    "candidates": lambda rows: rounds_of(PartialLabelProbe(fit_intercept=True), rows, Y, WEIGHTS),
    "robust": lambda rows: rounds_of(LinearProbe(loss="gce", class_weight="balanced"), rows, Y),
    "discriminant": lambda rows: rounds_of(DiscriminantProbe(), rows, Y, WEIGHTS),
    "soft": lambda rows: LinearProbe(tol=1e-4).fit_soft(rows, SOFT).coef_,
    "logits": lambda rows: np.asarray(FITTED.decision_function(rows)),
    "outputs": lambda rows: np.asarray(FITTED.predict_proba(rows)),
    "labels": lambda rows: np.asarray(FITTED.predict(rows)),
    "accuracy": lambda rows: FITTED.score(rows, Y),
    "map": mapped,
    "correlation": lambda rows: class_correlation(rows, Y).means,
}


@pytest.fixture(params=CONTAINERS)
def stored(request, tmp_path, monkeypatch):
    """Rows in a container, and the tolerance of its results."""
    make, tolerance = CONTAINERS[request.param]
    if request.param == "another process":
        monkeypatch.setattr("twohot.rows.open.Rows", RowsElsewhere)
    return make(X, tmp_path), tolerance


@pytest.fixture(scope="module")
def expected():
    return {name: operation(X) for name, operation in OPERATIONS.items()}


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_container_gives_the_results_of_an_array(stored, expected, operation):
    rows, tolerance = stored
    assert relative(OPERATIONS[operation](rows), expected[operation]) <= tolerance


def test_every_container_gives_the_choice_and_audit_of_an_array(stored):
    rows, tolerance = stored
    known, found = (AutoProbe(cv=2).fit(each, Y) for each in (X, rows))
    assert [e.recipe for e in found.choice_.chosen] == [e.recipe for e in known.choice_.chosen]
    # Members are fitted to a coarse tolerance, and then weighted.
    assert relative(found.coef_, known.coef_) <= (0.01 if tolerance else 0)
    known, found = (find_label_issues(each, Y) for each in (X, rows))
    assert relative(found.label_quality, known.label_quality) <= (0.02 if tolerance else 0)


def test_audit_by_a_probe_is_that_of_an_array(tmp_path):
    probe, stored = LinearProbe(loss="gce").fit(X, Y), zarr_array(X, tmp_path, 70)
    known, found = (find_label_issues(each, Y, probe=probe) for each in (X, stored))
    assert relative(found.label_quality, known.label_quality) == 0
    assert found.messages == known.messages


def test_results_do_not_depend_on_the_size_of_blocks():
    found = []
    for block_rows in (None, 64, 1000):
        options = {"n_classes": 6, "dtype": np.dtype(np.float32), "block_rows": block_rows}
        _, at = prepare(X, center=True, normalize=True, weights=None, n_jobs=2, **options)
        at.rows.attach(LABELS, Y)
        recipe, settings = Recipe(CrossEntropy(), ridge=10.0), Settings(tol=1e-6, max_iter=500)
        (made,) = run_rounds(at, LabelTargets(6), recipe, settings)
        found.append(made.coef)
    assert max(relative(each, found[0]) for each in found) <= 1e-5


def process_of(block):
    """Return the process that a kernel runs in, for each row."""
    return np.full(len(block), os.getpid())


def test_other_store_runs_kernels_in_another_process():
    here, there = (kind(np.zeros((150, 3)), block_rows=64) for kind in (Rows, RowsElsewhere))
    for rows in (here, there):
        rows.derive("process", process_of)
    assert set(here.columns["process"]) == {os.getpid()}
    assert len(set(there.columns["process"]) - {os.getpid()}) == 1
