"""What the nearest rows know of labels that no straight line does."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles, make_moons

from twohot import find_label_issues, forecast
from twohot.audit import nearest_votes, opinions
from twohot.audit.nearest_votes import has_votes, votes_on, votes_on_some
from twohot.audit.opinions import trust_in, with_nearest
from twohot.noise import corrupt_labels, symmetric
from twohot.rows.preparation import AS_THEY_ARE
from twohot.rows.stores import fit_preparation, open_rows
from twohot.select.agreement import errors_ahead


def spreads(seed):
    """Three classes around about the same place, one much wider than another."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 600)
    centres = np.array([[0, 0], [1, 1], [0, 2]])[labels]
    return centres + rng.normal(size=(600, 2)) * np.array([0.3, 1, 3])[labels, np.newaxis], labels


def rows_of(X, *, normalize=False):
    preparation = fit_preparation(X, center=True, normalize=normalize, weights=None, n_jobs=1)
    return open_rows(X, preparation, dtype=np.dtype(np.float64), n_jobs=1)


def said_by(predicted, n_classes=2):
    """Return an opinion that is sure of what it predicts."""
    return np.where(np.eye(n_classes)[predicted] > 0, 3.0, 0.0).astype(np.float32)


# Votes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_voters", [20, 40])
def test_votes_are_those_of_a_plain_search(n_voters, monkeypatch):
    monkeypatch.setattr(nearest_votes, "N_VOTERS", (n_voters,))
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(80, 3)), rng.integers(0, 4, 80)
    points /= points.std(axis=0)
    found = votes_on(rows_of(points), labels, 4)
    assert found.n_voters == n_voters
    for row in range(80):
        distances = np.linalg.norm(points - points[row], axis=1)
        distances[row] = np.inf
        order = np.argsort(distances)
        nearest, farthest = order[:n_voters], distances[order[n_voters]]
        votes = np.bincount(labels[nearest], 1 - (distances[nearest] / farthest) ** 2, 4)
        np.testing.assert_allclose(found.shares[row], votes / votes.sum(), atol=1e-5)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("units", [(1, 1), (1, 1e6)])
def test_length_counts_and_units_do_not(normalize, units):
    X, labels = make_circles(400, noise=0.05, factor=0.4, random_state=0)
    votes = votes_on(rows_of(X * units, normalize=normalize), labels, 2)
    assert votes.agrees.mean() > 0.95
    np.testing.assert_allclose(votes.shares, votes_on(rows_of(X), labels, 2).shares, atol=1e-4)


def test_rows_that_are_all_alike_vote_alike():
    labels = np.arange(60) % 3
    votes = votes_on(rows_of(np.ones((60, 2))), labels, 3)
    np.testing.assert_allclose(votes.shares.sum(axis=1), 1, atol=1e-6)
    assert np.isfinite(votes.log_probabilities(votes.shares)).all()


def test_a_class_without_rows_is_as_good_as_impossible():
    X, labels = make_moons(100, random_state=0)
    votes = votes_on(rows_of(X), labels, 3)
    said = votes.log_probabilities(votes.shares)
    assert np.isfinite(said).all()
    assert said[:, 2].max() < -80


def test_of_many_rows_some_vote_on_all(monkeypatch):
    X, labels = make_moons(900, noise=0.1, random_state=0)
    whole = votes_on(rows_of(X), labels, 2)
    monkeypatch.setattr(nearest_votes, "MOST_VOTERS", 300)
    some = votes_on(rows_of(X), labels, 2)
    assert some.shares.shape == whole.shares.shape
    assert np.mean(some.shares.argmax(axis=1) == whole.shares.argmax(axis=1)) > 0.95
    monkeypatch.setattr(nearest_votes, "ASKED_ROWS", 200)
    asked, votes = votes_on_some(rows_of(X), labels, 2)
    assert len(asked) == len(votes.codes) == 200
    assert np.array_equal(votes.codes, labels[asked])


def test_labels_that_are_pure_chance_tell_nothing():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    assert not votes_on(rows_of(X), labels, 2).tell_anything
    assert votes_on(rows_of(X), (X[:, 0] > 0).astype(int), 2).tell_anything


def test_what_is_explained_and_how_far_they_are_ahead():
    labels = np.zeros(100, dtype=int)
    shares = np.eye(2, dtype=np.float32)[(np.arange(100) < 10).astype(int)]  # 90 of 100
    votes = replace(votes_on(rows_of(np.eye(100, 2)), labels, 2), shares=shares)
    agrees = (np.arange(100) < 80).astype(float)
    assert votes.explained(agrees) == pytest.approx(0.5)
    assert votes.explained(np.ones(100)) == 0
    assert errors_ahead(votes.agrees, votes.agrees) == 0
    ahead = votes.agrees - agrees
    found = errors_ahead(votes.agrees, agrees)
    assert found == pytest.approx(ahead.mean() / (ahead.std() / 10))
    assert errors_ahead(np.ones(100), np.zeros(100)) > 1e6  # right on all, where another is wrong


def test_many_features_and_few_rows_are_not_asked():
    X, _ = make_moons(600, noise=0.15, random_state=0)
    assert has_votes(rows_of(X), 2)
    assert not has_votes(rows_of(X[:20]), 2)
    digits, _ = load_digits(return_X_y=True)
    assert not has_votes(rows_of(digits), 64)
    # An intercept is none of the features; what fewer rows than features are written along is not
    # the features.
    wide = np.random.default_rng(0).normal(size=(100, 63))
    assert has_votes(open_rows(wide, AS_THEY_ARE, intercept=True), 63)
    assert not has_votes(rows_of(wide[:, :39]), 512)


@pytest.mark.parametrize("n_features", [2, 12])
def test_distances_are_the_same_by_a_tree(n_features, monkeypatch):
    X = np.random.default_rng(0).normal(size=(90, n_features))
    labels = (X[:, 0] > 0).astype(int)
    found = votes_on(rows_of(X), labels, 2)
    monkeypatch.setattr(nearest_votes, "TREE_FEATURES", 0 if n_features == 2 else 64)
    np.testing.assert_allclose(votes_on(rows_of(X), labels, 2).shares, found.shares, atol=1e-6)


# Opinions ----------------------------------------------------------------------------------------


def test_a_probe_that_knows_more_is_left_as_it_is():
    X, labels = make_moons(600, noise=0.5, random_state=0)
    outputs = said_by(labels)
    found = with_nearest(outputs, outputs, votes_on(rows_of(X), labels, 2))
    assert found.outputs is outputs
    assert found.vote is None
    assert not found.trust.is_curved


def test_one_that_knows_less_counts_less():
    X, labels = make_circles(600, noise=0.1, factor=0.5, random_state=0)
    outputs = said_by((X[:, 0] > 0).astype(int))  # right as often as wrong
    found = with_nearest(outputs, outputs, votes_on(rows_of(X), labels, 2))
    assert np.mean(found.outputs.argmax(axis=1) == labels) > 0.95
    assert found.trust.is_curved
    assert found.trust.overlap_explained > 0.9
    assert found.vote is not None


def test_in_chunks_the_nearest_rows_only_say_whom_not_to_trust():
    X, labels = make_moons(600, noise=0.15, random_state=0)
    outputs = said_by((X[:, 1] < 0.25).astype(int))  # a straight line
    trust = trust_in(rows_of(X), labels, outputs, 2)
    assert trust.is_curved
    assert 0.7 < trust.explained <= 1
    assert not trust.known(np.full(3, 100), even=True).any()
    assert trust_in(rows_of(X), labels, said_by(labels), 2).explained == 0


# Audits ------------------------------------------------------------------------------------------


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


def circles(n_rows, **options):
    return make_circles(n_rows, factor=0.5, **options)


@pytest.mark.parametrize("make", [make_moons, circles])
def test_wrong_labels_of_curved_classes_are_found(make):
    X, truth = make(800, noise=0.1, random_state=0)
    noisy = corrupt_labels(truth, symmetric(2, 0.2), random_state=0).given_labels
    wrong = noisy != truth
    issues = find_label_issues(X, noisy, n_jobs=1)
    found = issues["is_label_issue"]
    assert found[wrong].mean() > 0.85
    assert wrong[found].mean() > 0.85
    least, most = issues.noise_interval
    assert least < wrong.mean() < most
    promised = find_label_issues(X, noisy, precision=0.9, n_jobs=1)["is_label_issue"]
    assert promised.sum() > 50
    assert wrong[promised].mean() > 0.85


@pytest.mark.parametrize("make", [make_moons, circles])
def test_rows_without_a_label_are_predicted_by_the_nearest_too(make):
    X, truth = make(800, noise=0.1, random_state=0)
    labels = [None if row % 4 == 0 else int(label) for row, label in enumerate(truth)]
    issues = find_label_issues(X, labels, n_jobs=1)
    assert issues.n_issues <= 4
    assert np.isnan(issues["label_quality"][::4]).all()
    right = (issues["predicted_label"] == truth)[::4]
    assert right.mean() > 0.97
    assert abs(issues["confidence"][::4].mean() - right.mean()) < 0.05


def test_so_many_rows_that_nobody_votes_on_each_are_judged_by_a_probe(monkeypatch):
    X, labels = make_moons(400, noise=0.1, random_state=0)
    monkeypatch.setattr(opinions, "MOST_ROWS", 300)
    issues = find_label_issues(X, labels, precision=0.7, n_jobs=1)
    assert issues.n_issues == 0
    assert any("labels that look wrong may be right" in message for message in issues.messages)
    assert any("beyond what a probe can learn" in message for message in issues.messages)


def overlapping(seed, n_rows, means=(0, 1, 1.5), n_features=3):
    """Classes that overlap, all labels right."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(means), size=n_rows)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] += np.array(means)[labels]
    return X, labels


@pytest.mark.parametrize(
    ("seed", "n_rows", "n_features"), [(1004, 600, 3), (1000, 600, 3), (1007, 180, 3), (3, 180, 1)]
)
def test_right_labels_of_classes_that_overlap_are_not_corrected(seed, n_rows, n_features):
    means = (0, 1) if n_features == 1 else (0, 1, 1.5)
    X, labels = overlapping(seed, n_rows, means, n_features)
    issues = find_label_issues(X, labels, n_jobs=1)
    assert np.array_equal(issues.corrected_labels(), labels)
    assert issues.noise_interval[0] == 0


def test_a_probe_that_learnt_nothing_is_named_where_the_nearest_judge():
    X, truth = circles(300, noise=0.08, random_state=0)
    noisy = corrupt_labels(truth, symmetric(2, 0.2), random_state=0).given_labels
    issues = find_label_issues(X, noisy, n_jobs=1)
    assert issues.n_issues > 40
    (said,) = [message for message in issues.messages if "learnt nothing" in message]
    assert said.endswith("Labels are judged by the nearest rows.")
    expected = forecast(X, noisy)
    assert expected.noise.interval == pytest.approx(issues.noise_interval)
    assert any("no straight lines" in caution for caution in expected.advice.cautions)


def test_why_nothing_is_promised_of_curved_classes():
    X, labels = spreads(0)
    messages = find_label_issues(X, labels, precision=0.6, n_jobs=1).messages
    assert any("a class that is spread over another" in message for message in messages)
