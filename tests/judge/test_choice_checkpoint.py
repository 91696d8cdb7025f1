"""A stopped fit continues from its checkpoint, and gives the same probe."""

import dask.array as da
import numpy as np
import pytest

import problems
from twohot import AutoProbe, find_label_issues
from twohot.judge import auto_probe as auto_probe_module
from twohot.judge import library as library_module

DATA = problems.digits(noise_rate=0.4, n_train=300)
X, Y = DATA.X, DATA.given_labels


class StoppedError(Exception):
    """Stops a fit."""


def stop_at(number, monkeypatch):
    """Make the fit with this number fail; return the numbers of the fits so far, as a list.

    Fits of the library and of the parts of the probe count.
    """
    made: list[int] = []

    def stopping(function):
        def counted(*args):
            made.append(len(made) + 1)
            if made[-1] == number:
                raise StoppedError
            return function(*args)

        return counted

    for module, name in ((library_module, "fit_round"), (auto_probe_module, "make_round")):
        monkeypatch.setattr(module, name, stopping(getattr(module, name)))
    return made


def make(**parameters):
    return AutoProbe(cv=2, n_jobs=1, **parameters)


@pytest.fixture(scope="module")
def whole():
    with pytest.MonkeyPatch.context() as patched:
        made = stop_at(0, patched)
        probe = make().fit(X, Y)
    return probe, len(made)


@pytest.mark.parametrize("stopped", ["at the first", "in the library", "in the last part"])
def test_resumed_fit_gives_the_same_probe(stopped, whole, tmp_path, monkeypatch):
    expected, n_made = whole
    place = {"at the first": 1, "in the library": 9, "in the last part": n_made}[stopped]
    file, lines = tmp_path / "fit.npz", []
    made = stop_at(place, monkeypatch)
    with pytest.raises(StoppedError):
        make().fit(X, Y, checkpoint=file)
    found = make().fit(X, Y, callback=lines.append, checkpoint=file)
    assert len(made) == n_made + 1  # the one that was stopped is made again, and no other
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.choice_.to_json() == expected.choice_.to_json()
    assert len(lines) == len(expected.choice_.tried)
    # Everything is in the checkpoint now: nothing is fitted.
    again = make().fit(X, Y, checkpoint=file)
    assert len(made) == n_made + 1
    np.testing.assert_array_equal(again.coef_, expected.coef_)


@pytest.mark.parametrize(
    "other",
    [
        lambda file: make(random_state=1).fit(X, Y, checkpoint=file),
        lambda file: make().fit(X, Y[::-1], checkpoint=file),
        lambda file: make().fit(X + np.eye(*X.shape), Y, checkpoint=file),
        lambda file: make(tol=0.01).fit(X, Y, checkpoint=file),
        lambda file: make().fit(X, Y, checkpoint=file, groups=np.arange(len(Y)) // 3),
    ],
    ids=["folds", "labels", "rows", "tolerance", "groups"],
)
def test_rejects_checkpoint_of_another_fit(other, tmp_path):
    file = tmp_path / "fit.npz"
    make().fit(X, Y, checkpoint=file)
    before = file.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint=.* belongs to another fit"):
        other(file)
    assert file.read_bytes() == before


def test_checkpoint_with_dask_chunks(tmp_path, monkeypatch):
    rows, labels = da.from_array(X, chunks=(200, -1)), da.from_array(Y, chunks=200)
    expected = make().fit(rows, labels)
    made = stop_at(9, monkeypatch)
    with pytest.raises(StoppedError):
        make().fit(rows, labels, checkpoint=tmp_path / "fit.npz")
    found = make().fit(rows, labels, checkpoint=tmp_path / "fit.npz")
    assert len(made) > 9
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5 * np.abs(found.coef_).max())


def test_stopped_audit_resumes(tmp_path, monkeypatch):
    expected = find_label_issues(X, Y, n_jobs=1)
    stop_at(20, monkeypatch)
    with pytest.raises(StoppedError):
        find_label_issues(X, Y, n_jobs=1, checkpoint=tmp_path / "audit.npz")
    found = find_label_issues(X, Y, n_jobs=1, checkpoint=tmp_path / "audit.npz")
    np.testing.assert_array_equal(found.probability_wrong, expected.probability_wrong)


def test_rejects_file_that_is_no_checkpoint(tmp_path):
    (tmp_path / "fit.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ValueError, match=r"checkpoint=.*fit.npz' is not a checkpoint, or is trunc"):
        make().fit(X, Y, checkpoint=tmp_path / "fit.npz")
