"""A fit that was stopped goes on after the last finished round, to the same result."""

from dataclasses import replace

import fsspec
import numpy as np
import pytest
from scipy.stats import ortho_group

import problems
from prepared import prepared_rows
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.probes import rounds as rounds_module
from twohot.probes.checkpoint import OtherFitError, fingerprint
from twohot.rows import coordinates as coordinates_module
from twohot.rows import open_features
from twohot.rows.principal_axes import WholeBasis

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels


class StoppedError(Exception):
    """What stops a fit."""


def stop_at(number, monkeypatch):
    """Let the fit of a round fail, counted from one over all fits; return the numbers of those."""
    made, make = [], rounds_module.make_round

    def make_or_stop(*args):
        made.append(len(made) + 1)
        if made[-1] == number:
            raise StoppedError
        return make(*args)

    monkeypatch.setattr(rounds_module, "make_round", make_or_stop)
    return made


@pytest.mark.parametrize("probe", [DistilledProbe(n_rounds=4), PartialLabelProbe()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_finished_rounds_are_not_made_again(probe, intercept, tmp_path, monkeypatch):
    probe.set_params(fit_intercept=intercept)
    expected = probe.fit(X, Y).rounds_
    file, n_rounds = tmp_path / "fit.npz", len(expected)
    made = stop_at(n_rounds, monkeypatch)
    with pytest.raises(StoppedError):
        probe.fit(X, Y, checkpoint=file)
    assert len(made) == n_rounds  # of which the last has failed
    found = probe.fit(X, Y, checkpoint=file).rounds_
    assert len(made) == n_rounds + 1
    for one, other in zip(found, expected, strict=True):
        difference = np.linalg.norm(one.coef - other.coef)
        assert difference <= 1e-5 * np.linalg.norm(other.coef)
        assert one.targets == other.targets
    # All are there by now: nothing is left to do.
    again = probe.fit(X, Y, checkpoint=file).rounds_
    assert len(made) == n_rounds + 1
    assert np.array_equal(again[-1].coef, found[-1].coef)
    assert again[-1].n_passes == found[-1].n_passes


def test_any_path_of_fsspec():
    path = "memory://checkpoints/fit.npz"
    DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=path)
    assert fsspec.filesystem("memory").exists("/checkpoints/fit.npz")
    fsspec.filesystem("memory").rm("/checkpoints", recursive=True)


def test_rounds_of_another_fit_are_refused(tmp_path):
    file = tmp_path / "fit.npz"
    DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=file)
    others = [
        (DistilledProbe(n_rounds=3), X, Y),
        (DistilledProbe(n_rounds=2, ridge=3.0), X, Y),
        (DistilledProbe(n_rounds=2, max_iter=9), X, Y),  # of fewer steps
        (DistilledProbe(n_rounds=2, start="zero"), X, Y),
        (DistilledProbe(n_rounds=2), X + 0.01, Y),
        (DistilledProbe(n_rounds=2), X, np.roll(Y, 1)),
        (DistilledProbe(n_rounds=2, normalize=False), X, Y),
        (DistilledProbe(n_rounds=2), X[::-1], Y),  # of the same mean
    ]
    for probe, rows, labels in others:
        with pytest.raises(ValueError, match=r"checkpoint=.* belongs to another fit"):
            probe.fit(rows, labels, checkpoint=file)


def test_a_start_is_known_by_its_numbers(tmp_path):
    file, start = tmp_path / "fit.npz", np.ones((5, 12))
    expected = LinearProbe(loss="gce", start=start).fit(X, Y, checkpoint=file)
    again = LinearProbe(loss="gce", start=start.tolist()).fit(X, Y, checkpoint=file)
    np.testing.assert_array_equal(again.coef_, expected.coef_)
    with pytest.raises(OtherFitError, match="belongs to another fit"):
        LinearProbe(loss="gce", start=-start).fit(X, Y, checkpoint=file)


def test_other_rows_and_weights_of_no_mean_are_refused(tmp_path):
    file, generator = tmp_path / "fit.npz", np.random.default_rng(0)
    probe = DistilledProbe(n_rounds=2, center=False)
    weights = generator.integers(1, 4, len(Y)).astype(float)
    fitted = probe.fit(X, Y, weights, checkpoint=file).coef_
    one_other = np.where(np.arange(len(X))[:, None] == 7, X[[8]], X)
    others = [(one_other, weights), (X, weights[::-1]), (generator.normal(size=X.shape), weights)]
    for rows, other_weights in others:
        with pytest.raises(OtherFitError, match="belongs to another fit"):
            probe.fit(rows, Y, other_weights, checkpoint=file)
    assert np.array_equal(probe.fit(X, Y, weights, checkpoint=file).coef_, fitted)


def test_rounds_along_other_axes_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "fit.npz"
    probe = DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=file)
    measure = coordinates_module.measure_axes

    def turned_about(rows, **options):
        axes = measure(rows, **options)
        turned = axes.basis.matrix.copy()
        turned[:, -1] *= -1  # as an axis may be on another machine
        return replace(axes, basis=WholeBasis(turned))

    monkeypatch.setattr(coordinates_module, "measure_axes", turned_about)
    with pytest.raises(OtherFitError, match="belongs to another fit"):
        probe.fit(X, Y, checkpoint=file)
    assert np.allclose(probe.fit(X, Y).coef_, probe.fit(X, Y, checkpoint=tmp_path / "new").coef_)


@pytest.mark.parametrize("name", ["", "nowhere/fit.npz"])
def test_a_path_that_cannot_be_written_is_refused_at_once(name, tmp_path, monkeypatch):
    made = stop_at(0, monkeypatch)
    with pytest.raises(ValueError, match=r"checkpoint=.* is (a folder|in a folder that does not)"):
        DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=tmp_path / name)
    assert not made


def test_a_damaged_record_is_refused(tmp_path):
    file = tmp_path / "fit.npz"
    DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=file)
    with np.load(file) as stored:
        arrays = dict(stored)
    for name, other in {"0.coef": arrays["0.coef"][:-1], "0.loss": np.zeros(3)}.items():
        np.savez(file, **arrays | {name: other})
        with pytest.raises(
            OtherFitError, match=r"is not a checkpoint, or is truncated \(arrays of"
        ):
            DistilledProbe(n_rounds=2).fit(X, Y, checkpoint=file)


# What rows are known by ---------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(1, 1, (300, 7)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).random(300)
EXPECTED = fingerprint(prepared_rows(ROWS, weights=WEIGHTS))


def differs(other):
    return np.linalg.norm(other - EXPECTED) / np.linalg.norm(EXPECTED)


def test_blocks_chunks_and_coordinates_do_not_matter():
    da = pytest.importorskip("dask.array")
    chunked = open_features(da.from_array(ROWS, chunks=(90, 7)))
    turned = ROWS @ ortho_group.rvs(7, random_state=0).astype(np.float32)
    for rows in (
        prepared_rows(ROWS, weights=WEIGHTS, block_rows=77),
        prepared_rows(turned, weights=WEIGHTS),
        prepared_rows(chunked, weights=WEIGHTS, block_rows=None),
    ):
        assert differs(fingerprint(rows)) < 1e-6


def test_another_order_or_another_row_shows():
    swapped = [1, 0, *range(2, 300)]
    one_other = np.where(np.arange(300)[:, None] == 200, ROWS[[7]], ROWS)
    for rows, weights in [
        (ROWS[swapped], WEIGHTS[swapped]),
        (ROWS, WEIGHTS[swapped]),
        (one_other, WEIGHTS),
    ]:
        assert differs(fingerprint(prepared_rows(rows, weights=weights))) > 1e-4
