"""What the nearest rows know of labels that no straight line does."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

from twohot import find_label_issues
from twohot.audit import nearest_labels
from twohot.audit.nearest_labels import explained_by_nearest
from twohot.rows.preparation import AS_THEY_ARE
from twohot.rows.stores import fit_preparation, open_rows


def spreads(seed):
    """Three classes around about the same place, one much wider than another."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 600)
    centres = np.array([[0, 0], [1, 1], [0, 2]])[labels]
    return centres + rng.normal(size=(600, 2)) * np.array([0.3, 1, 3])[labels, np.newaxis], labels


def rows_of(X, *, normalize):
    preparation = fit_preparation(X, center=True, normalize=normalize, weights=None, n_jobs=1)
    return open_rows(X, preparation, dtype=np.dtype(np.float64), n_jobs=1)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("units", [(1, 1), (1, 1e6)])
def test_so_much_is_explained_as_the_nearest_rows_predict_beyond(normalize, units):
    X, labels = make_moons(600, noise=0.15, random_state=0)
    predicted = (X[:, 1] < 0.25).astype(int)  # a straight line
    wrong = np.mean(predicted != labels)
    rows = rows_of(X * units, normalize=normalize)
    found = explained_by_nearest(rows, labels, predicted)
    assert 0.7 < found <= 1
    # All but some of the wrong ones are predicted by the nearest.
    nearby = nearest_labels._most_frequent_nearby(
        nearest_labels._at_length(rows, np.arange(600)), labels
    )
    assert found == pytest.approx((wrong - np.mean(nearby != labels)) / wrong)


def test_the_most_frequent_label_nearby_is_that_of_a_plain_search():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(80, 3)), rng.integers(0, 4, 80)
    found = nearest_labels._most_frequent_nearby(points, labels)
    for row in range(80):
        distances = np.linalg.norm(points - points[row], axis=1)
        distances[row] = np.inf
        nearest = labels[np.argsort(distances)[: nearest_labels.N_NEAREST]]
        assert found[row] == np.bincount(nearest, minlength=4).argmax()


def test_nothing_is_explained_where_a_probe_knows_as_much_or_features_are_many():
    X, labels = make_moons(600, noise=0.15, random_state=0)
    assert explained_by_nearest(rows_of(X, normalize=True), labels, labels) == 0
    few = rows_of(X[:20], normalize=True)
    assert explained_by_nearest(few, labels[:20], 1 - labels[:20]) == 0
    digits, numbers = load_digits(return_X_y=True)
    rows = open_rows(digits, AS_THEY_ARE, dtype=np.dtype(np.float64), n_jobs=1)
    assert explained_by_nearest(rows, numbers, np.zeros_like(numbers)) == 0


def test_many_rows_are_asked_about_by_some():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3 * nearest_labels.ASKED_ROWS, 2))
    labels = (np.linalg.norm(X, axis=1) > 1).astype(int)  # one class around another
    assert explained_by_nearest(rows_of(X, normalize=False), labels, np.zeros_like(labels)) > 0.9


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_clean_labels_that_no_straight_line_separates_are_not_promised_to_be_wrong(seed, chunked):
    X, labels = spreads(seed)
    rows, given = (X, labels)
    if chunked:
        rows, given = da.from_array(X, chunks=(200, 2)), da.from_array(labels, chunks=200)
    issues = find_label_issues(rows, given, precision=0.6, n_jobs=1)
    assert issues.n_issues == 0
    assert issues.noise_interval[0] == 0
    assert any("no straight lines separate these classes" in m for m in issues.messages)
    assert any("beyond what a probe can learn" in m for m in issues.messages)


def test_what_a_probe_cannot_learn_is_doubted_less(monkeypatch):
    X, labels = spreads(1)
    issues = find_label_issues(X, labels, n_jobs=1)
    monkeypatch.setattr("twohot.audit.opinions.explained_by_nearest", lambda *_: 0.0)
    believed = find_label_issues(X, labels, n_jobs=1)
    assert issues.noise_rate < 0.7 * believed.noise_rate
