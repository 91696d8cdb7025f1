"""Unusual but valid input: arrays of other libraries, and data without information."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from scipy.special import log_softmax
from sklearn.model_selection import cross_val_score

import problems
import twin
from prepared import peak_bytes
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.base import code_labels
from twohot.probes import check_features
from twohot.tables import read_table

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
SINGLE, SOFT = X.astype(np.float32), twin.one_hot(Y)
PROBES = [LinearProbe, DistilledProbe, PartialLabelProbe]


# Arrays and frames of other libraries -------------------------------------------------------------


class Tensor:
    """An array of another library: its dtype is not numpy's."""

    dtype = "float32 of another library"

    def __array__(self, dtype=None, copy=None):
        return np.array(SINGLE, dtype=dtype, copy=copy)


FOREIGN = {
    "foreign dtype": (Tensor, np.float64),  # by default
    "torch float32": (lambda: torch.tensor(SINGLE), np.float32),
    "torch float16": (lambda: torch.tensor(X.astype(np.float16)), np.float16),
    "torch float64": (lambda: torch.tensor(X), np.float64),
    "torch bfloat16": (lambda: torch.tensor(SINGLE).bfloat16(), np.float32),
    "torch with gradient": (lambda: torch.tensor(SINGLE, requires_grad=True), np.float32),
    "polars Float32": (lambda: pl.DataFrame(SINGLE), np.float32),
    "polars Float64": (lambda: pl.DataFrame(X), np.float64),
    "polars lazy": (lambda: pl.DataFrame(SINGLE).lazy(), np.float32),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_arrays_keep_their_precision(name):
    make, dtype = FOREIGN[name]
    given = make()
    checked = check_features(LinearProbe(), given, reset=True)
    assert type(checked) is np.ndarray
    assert checked.dtype == dtype
    if name == "torch float32":
        assert np.shares_memory(checked, given.numpy())
    expected = LinearProbe().fit(checked, Y).predict_proba(checked)
    np.testing.assert_array_equal(LinearProbe().fit(make(), Y).predict_proba(make()), expected)


def test_names_of_polars_frame_are_checked():
    frame = pl.DataFrame(SINGLE, schema=[f"f{i}" for i in range(X.shape[1])])
    probe = LinearProbe().fit(frame, Y)
    assert probe.feature_names_in_.tolist() == frame.columns
    with pytest.raises(ValueError, match="feature names"):
        probe.predict(frame.rename({"f0": "other"}))


@pytest.mark.slow
def test_works_with_array_api_dispatch():
    """In another process: scipy looks at its environment when it is imported."""
    script = """
        import numpy as np, sklearn, torch
        from twohot import LinearProbe
        X = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        y = (X[:, 0] > 0).long()
        expected = LinearProbe().fit(X.numpy(), y.numpy()).predict(X.numpy())
        with sklearn.config_context(array_api_dispatch=True):
            probe = LinearProbe().fit(X, y, sample_weight=torch.ones(60))
            assert (probe.predict(X) == expected).all()
            assert probe.score(X, y) > 0.9
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run(command, check=True, env=environment)  # noqa: S603


class Dataset:
    """A table with the interface of a Dataset of Hugging Face."""

    features = ("x", "label")

    def __init__(self, table):
        self.table = table

    def with_format(self, kind):
        assert kind == "arrow"
        return self

    def __getitem__(self, rows):
        return self.table[rows].to_arrow()


def test_reads_tables_of_other_libraries():
    lists = {"f": SINGLE[:4].tolist(), "label": ["a", "b", None, "a"]}
    for schema in (pl.Array(pl.Float32, X.shape[1]), pl.List(pl.Float32)):
        frame = pl.DataFrame(lists, schema_overrides={"f": schema})
        for source in (frame, frame.lazy(), Dataset(frame)):
            table = read_table(source)
            np.testing.assert_array_equal(table.features, SINGLE[:4])
            assert table.given_labels.tolist() == lists["label"]


# Soft targets -------------------------------------------------------------------------------------

HALVES = sp.csr_array(  # stores every cell twice, each half of it
    (
        np.repeat(SOFT.ravel() / 2, 2),
        np.tile(np.repeat(np.arange(SOFT.shape[1]), 2), len(SOFT)),
        2 * SOFT.shape[1] * np.arange(len(SOFT) + 1),
    ),
    shape=SOFT.shape,
)


@pytest.mark.parametrize("loss", ["ce", "gce"])
@pytest.mark.parametrize(
    "form", [sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.coo_array, lambda _: HALVES]
)
def test_soft_targets_may_be_any_sparse_matrix(form, loss):
    found = LinearProbe(loss=loss).fit_soft(X, form(SOFT))
    expected = LinearProbe(loss=loss).fit_soft(X, SOFT)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    assert HALVES.nnz == 2 * SOFT.size  # the user's array is not changed


def test_soft_targets_in_float16_are_summed_in_float64():
    generator = np.random.default_rng(0)
    stored = np.asfortranarray(generator.dirichlet(np.ones(1000), 40).astype(np.float16))
    found = LinearProbe(tol=1e-4).fit_soft(generator.normal(size=(40, 5)), stored)
    assert found.coef_.shape == (1000, 5)


# Rows without information -------------------------------------------------------------------------


CENTRED = X - X.mean(axis=0)
# Rows to fit, their labels, and rows that have a uniform prediction.
UNIFORM = {
    "a row at the mean": (
        np.vstack([CENTRED, -CENTRED, np.zeros((1, 12))]),
        np.concatenate([Y, Y, [0]]),
        np.zeros((1, 12)),
    ),
    "every row with every label": (np.repeat(X[:20], 5, axis=0), np.tile(np.arange(5), 20), X),
    **{
        f"constant {dtype}": (np.full((20, 3), 0.3, dtype), np.arange(20) % 5, np.ones((2, 3)))
        for dtype in ("float16", "float32", "float64")
    },
}


@pytest.mark.parametrize("make", PROBES)
@pytest.mark.parametrize("name", UNIFORM)
def test_rows_without_information_are_predicted_uniformly(name, make):
    rows, labels, new_rows = UNIFORM[name]
    probe = make().fit(rows, labels)
    assert all(entry.converged for entry in probe.rounds_)
    np.testing.assert_allclose(probe.predict_proba(new_rows), 0.2, atol=1e-12)


# Labels -------------------------------------------------------------------------------------------


def test_score_counts_unknown_labels_as_wrong():
    probe = LinearProbe().fit(X, Y)
    right = probe.predict(X) == Y
    assert probe.score(X, np.where(Y == 0, 9, Y)) == pytest.approx(np.mean(right & (Y != 0)))
    rare = np.where(np.arange(len(Y)) == 7, "yak", np.array(list("abcde"))[Y])
    splits = [(np.arange(100, 300), np.arange(100)), (np.arange(100), np.arange(100, 300))]
    assert np.isfinite(cross_val_score(LinearProbe(), X, rare, cv=splits)).all()


def test_warns_of_numerals_sorted_by_value():
    by_value, alike = ["0", "10", "20", "30", "100"], ["0", "10", "20", "30", "40"]
    names = np.array(by_value)[Y]
    with pytest.warns(UserWarning, match=r"sorts by value.*pass the labels as integers"):
        probe = LinearProbe().fit(X, names)
    assert probe.classes_.tolist() == by_value
    # No warning if both orders are equal, or if the labels are coded already.
    assert LinearProbe().fit(X, np.array(alike)[Y]).classes_.tolist() == alike
    assert LinearProbe().fit(X, code_labels(names)).classes_.tolist() == by_value


def test_one_long_label_needs_little_memory():
    labels = np.array([*Y.astype(str)[:-1], "x" * 20_000])
    assert peak_bytes(lambda: code_labels(labels)) < labels.nbytes / 4
    assert code_labels(labels).classes.tolist() == ["0", "1", "2", "3", "4", "x" * 20_000]


# Predictions --------------------------------------------------------------------------------------


def test_log_probabilities_are_finite():
    probe = LinearProbe(ridge=1e-6).fit(X, Y)
    logits = probe.decision_function(X)
    np.testing.assert_allclose(probe.predict_log_proba(X), log_softmax(logits, axis=1), atol=1e-12)
    assert np.isfinite(probe.predict_log_proba(1e3 * X)).all()


def test_assigned_coefficients_are_used(tmp_path):
    probe = LinearProbe(fit_intercept=True).fit(X, Y)
    probe.coef_ = np.zeros_like(probe.coef_)
    probe.intercept_ = np.log([0.1, 0.2, 0.3, 0.2, 0.2])
    expected = np.tile([0.1, 0.2, 0.3, 0.2, 0.2], (len(X), 1))
    probe.save(tmp_path / "probe.safetensors")
    for fitted in (probe, LinearProbe.load(tmp_path / "probe.safetensors")):
        np.testing.assert_allclose(fitted.predict_proba(X), expected)
        np.testing.assert_allclose(list(fitted.staged_predict_proba(X))[-1], expected)
