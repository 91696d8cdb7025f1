"""An interrupted fit continues after the last finished round, to the same result."""

import io
import re
from contextlib import redirect_stderr, suppress
from dataclasses import replace

import fsspec
import numpy as np
import pytest
from scipy.stats import ortho_group

import problems
from prepared import prepared_rows
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.probes.checkpoint import OtherFitError, checkpoint_at, fingerprint
from twohot.rows import AS_THEY_ARE, open_features
from twohot.rows.coordinates import choose_coordinates
from twohot.rows.principal_axes import WholeBasis
from twohot.solve import Evaluation

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.npz"


class Progress(io.StringIO):
    """Receives the lines of progress, and interrupts the fit at a given round."""

    stop_at = None

    def write(self, line):
        if f"round {self.stop_at} " in line:
            raise InterruptedError
        return super().write(line)


def fitted_rounds(probe, path, stop_at=None):
    """Fit a probe of verbosity 2; return the numbers of the rounds that took steps."""
    with redirect_stderr(Progress()) as progress, suppress(InterruptedError):
        progress.stop_at = stop_at
        probe.fit(X, Y, checkpoint=path)
    return sorted(set(map(int, re.findall(r"round (\d) .*: step", progress.getvalue()))))


def check_rejected(path, probe, *given):
    with pytest.raises(OtherFitError, match=r"checkpoint=.* belongs to another fit"):
        probe.fit(*given, checkpoint=path)


@pytest.mark.parametrize("probe", [DistilledProbe(n_rounds=4), PartialLabelProbe()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_finished_rounds_are_not_fitted_again(probe, intercept, path):
    expected = probe.set_params(fit_intercept=intercept, verbose=0).fit(X, Y).rounds_
    probe.set_params(verbose=2)
    *numbers, last = range(1, len(expected) + 1)
    assert fitted_rounds(probe, path, stop_at=last) == numbers
    assert fitted_rounds(probe, path) == [last]
    found = probe.rounds_
    for one, other in zip(found, expected, strict=True):
        difference = np.linalg.norm(one.coef - other.coef)
        assert difference <= 1e-5 * np.linalg.norm(other.coef)
        assert one.targets == other.targets
    # Now the file has all rounds.
    assert fitted_rounds(probe, path) == []
    assert np.array_equal(probe.coef_, found[-1].coef)
    assert probe.rounds_[-1].n_passes == found[-1].n_passes


def test_checkpoint_may_be_any_path_of_fsspec():
    path = "memory://checkpoints/fit.npz"
    DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=path)
    assert fsspec.filesystem("memory").exists("/checkpoints/fit.npz")
    fsspec.filesystem("memory").rm("/checkpoints", recursive=True)


def test_rejects_checkpoint_of_another_fit(path):
    DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=path)
    others = [
        (DistilledProbe(n_rounds=3), X, Y),
        (DistilledProbe(n_rounds=2, ridge=3.0), X, Y),
        (DistilledProbe(n_rounds=2, max_iter=9), X, Y),
        (DistilledProbe(n_rounds=2, start="zero"), X, Y),
        (DistilledProbe(n_rounds=2), X + 0.01, Y),
        (DistilledProbe(n_rounds=2), X, np.roll(Y, 1)),
        (DistilledProbe(n_rounds=2, normalize=False), X, Y),
        (DistilledProbe(n_rounds=2), X[::-1], Y),  # has the same mean
    ]
    for probe, rows, labels in others:
        check_rejected(path, probe, rows, labels)


def test_start_is_identified_by_its_numbers(path):
    start = np.ones((5, 12))
    expected = LinearProbe(loss="gce", start=start).fit(X, Y, checkpoint=path)
    again = LinearProbe(loss="gce", start=start.tolist()).fit(X, Y, checkpoint=path)
    np.testing.assert_array_equal(again.coef_, expected.coef_)
    check_rejected(path, LinearProbe(loss="gce", start=-start), X, Y)


def test_rejects_other_rows_and_weights_without_centring(path):
    generator = np.random.default_rng(0)
    probe = DistilledProbe(n_rounds=2, center=False)
    weights = generator.integers(1, 4, len(Y)).astype(float)
    fitted = probe.fit(X, Y, weights, checkpoint=path).coef_
    one_other = np.where(np.arange(len(X))[:, None] == 7, X[[8]], X)
    others = [(one_other, weights), (X, weights[::-1]), (generator.normal(size=X.shape), weights)]
    for rows, other_weights in others:
        check_rejected(path, probe, rows, Y, other_weights)
    assert np.array_equal(probe.fit(X, Y, weights, checkpoint=path).coef_, fitted)


def test_rejects_rounds_along_other_axes(path):
    coordinates = choose_coordinates(prepared_rows(X))
    flipped = coordinates.axes.basis.matrix.copy()
    flipped[:, -1] *= -1  # as another machine may
    other = replace(coordinates, axes=replace(coordinates.axes, basis=WholeBasis(flipped)))
    about = {"made": {}, "column": Y, "classes": np.unique(Y), "preparation": AS_THEY_ARE}
    end = Evaluation(np.ones((5, 12)), 0.5, np.ones((5, 12)), np.ones(5), np.ones((5, 12)))
    checkpoint_at(path, coordinates, **about).add_tried("ridge 3", end, 7.0)
    found, n_passes = checkpoint_at(path, coordinates, **about).tried("ridge 3")
    assert (found.value, n_passes) == (0.5, 7.0)
    with pytest.raises(OtherFitError, match="belongs to another fit"):
        checkpoint_at(path, other, **about)


@pytest.mark.parametrize("name", ["", "nowhere/fit.npz"])
def test_rejects_path_that_cannot_be_written_before_the_fit(name, tmp_path, capsys):
    with pytest.raises(ValueError, match=r"checkpoint=.* is (a folder|in a folder that does not)"):
        DistilledProbe(n_rounds=2, verbose=2).fit(X, Y, checkpoint=tmp_path / name)
    assert capsys.readouterr().err == ""


def test_rejects_damaged_record(path):
    DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=path)
    with np.load(path) as stored:
        arrays = dict(stored)
    message = r"is not a checkpoint, or is truncated \(arrays of"
    for name, other in {"0.coef": arrays["0.coef"][:-1], "0.loss": np.zeros(3)}.items():
        np.savez(path, **arrays | {name: other})
        with pytest.raises(OtherFitError, match=message):
            DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=path)


# The fingerprint of rows --------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(1, 1, (300, 7)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).random(300)


def difference(rows, weights=WEIGHTS, **options):
    expected = fingerprint(prepared_rows(ROWS, weights=WEIGHTS))
    found = fingerprint(prepared_rows(rows, weights=weights, **options))
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def test_fingerprint_does_not_depend_on_blocks_chunks_and_coordinates():
    da = pytest.importorskip("dask.array")
    chunked = open_features(da.from_array(ROWS, chunks=(90, 7)))
    turned = ROWS @ ortho_group.rvs(7, random_state=0).astype(np.float32)
    for rows, block_rows in ((ROWS, 77), (turned, 64), (chunked, None)):
        assert difference(rows, block_rows=block_rows) < 1e-6


def test_fingerprint_depends_on_rows_and_their_order():
    swapped = [1, 0, *range(2, 300)]
    one_other = np.where(np.arange(300)[:, None] == 200, ROWS[[7]], ROWS)
    assert difference(ROWS[swapped], WEIGHTS[swapped]) > 1e-4
    assert difference(ROWS, WEIGHTS[swapped]) > 1e-4
    assert difference(one_other) > 1e-4
