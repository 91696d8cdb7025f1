"""A choice that was stopped goes on with what it has tried, to the same probe."""

import numpy as np
import pytest

import problems
from twohot import AutoProbe
from twohot.select import search as search_module
from twohot.select import split_fits

DATA = problems.digits(noise_rate=0.4, n_train=500)
X, Y = DATA.X, DATA.given_labels


class StoppedError(Exception):
    """What stops a fit."""


def stop_at(number, monkeypatch):
    """Let one fit of a candidate, or one round on all rows, fail; return their numbers so far."""
    made: list[int] = []

    def stopping(function):
        def made_or_stopped(*args):
            made.append(len(made) + 1)
            if made[-1] == number:
                raise StoppedError
            return function(*args)

        return made_or_stopped

    for module, name in ((split_fits, "fit_round"), (search_module, "make_round")):
        monkeypatch.setattr(module, name, stopping(getattr(module, name)))
    return made


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patched:
        made = stop_at(0, patched)
        probe = AutoProbe(cv=2).fit(X, Y)
    return probe, len(made)


@pytest.mark.parametrize("stopped", ["at the first", "in the choice", "in the last round"])
def test_a_choice_goes_on_to_the_same_probe(stopped, whole, tmp_path, monkeypatch):
    expected, n_made = whole
    place = {"at the first": 1, "in the choice": 9, "in the last round": n_made}[stopped]
    file, lines = tmp_path / "fit.npz", []
    made = stop_at(place, monkeypatch)
    with pytest.raises(StoppedError):
        AutoProbe(cv=2).fit(X, Y, checkpoint=file)
    found = AutoProbe(cv=2).fit(X, Y, callback=lines.append, checkpoint=file)
    # Both splits of a candidate are made again if one of them is missing.
    assert len(made) <= n_made + 2
    assert len(made) >= n_made + 1
    assert np.array_equal(found.coef_, expected.coef_)
    assert found.choice_.to_json() == expected.choice_.to_json()
    assert len(lines) == len(expected.choice_.tried)
    # All is there by now: nothing is left to do.
    n_before = len(made)
    again = AutoProbe(cv=2).fit(X, Y, checkpoint=file)
    assert len(made) == n_before
    assert np.array_equal(again.coef_, expected.coef_)
    # That of another choice is not.
    with pytest.raises(ValueError, match=r"checkpoint=.* holds rounds of another fit"):
        AutoProbe(cv=2, random_state=1).fit(X, Y, checkpoint=file)


def test_rows_in_chunks(whole, tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array")
    _, n_made = whole
    features, labels = da.from_array(X, chunks=(200, -1)), da.from_array(Y, chunks=200)
    expected = AutoProbe(cv=2).fit(features, labels)
    made = stop_at(9, monkeypatch)
    with pytest.raises(StoppedError):
        AutoProbe(cv=2).fit(features, labels, checkpoint=tmp_path / "fit.npz")
    found = AutoProbe(cv=2).fit(features, labels, checkpoint=tmp_path / "fit.npz")
    assert len(made) <= n_made + 4
    assert np.allclose(found.coef_, expected.coef_, rtol=0, atol=1e-5 * np.abs(found.coef_).max())


def test_a_file_that_is_no_checkpoint(tmp_path):
    (tmp_path / "fit.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ValueError, match=r"checkpoint=.*fit.npz' is no checkpoint, or was cut"):
        AutoProbe(cv=2).fit(X, Y, checkpoint=tmp_path / "fit.npz")


def test_rounds_that_ended_elsewhere_are_made_again(tmp_path, monkeypatch):
    file = tmp_path / "fit.npz"
    with monkeypatch.context() as patched:
        patched.setattr(search_module.Search, "_final_tol", lambda *_: 0.5)
        coarse = AutoProbe(cv=2).fit(X, Y, checkpoint=file)
    fine = AutoProbe(cv=2).fit(X, Y, checkpoint=file)
    assert not np.array_equal(fine.coef_, coarse.coef_)
    assert np.array_equal(fine.coef_, AutoProbe(cv=2).fit(X, Y).coef_)
