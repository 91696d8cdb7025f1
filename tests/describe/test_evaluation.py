"""An evaluation has the numbers that scikit-learn computes from the same predictions."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.metrics import accuracy_score, balanced_accuracy_score, precision_recall_fscore_support

from twohot import LinearProbe
from twohot.describe.evaluation import (
    COUNTED_CLASSES,
    ProbeEvaluation,
    confusion_figure,
    evaluate_probe,
)


@pytest.fixture(scope="module")
def rows():
    """Return overlapping classes, the last of which is rare, and a probe fitted on half of them."""
    rng = np.random.default_rng(0)
    labels = rng.choice(["a", "b", "c", "d"], 400, p=[0.4, 0.3, 0.25, 0.05])
    codes = np.searchsorted(["a", "b", "c", "d"], labels)
    X = np.eye(4, 6)[codes] + rng.normal(0, 0.6, (400, 6))
    return X[200:], labels[200:], LinearProbe(ridge=4).fit(X[:200], labels[:200])


def test_numbers_are_those_of_scikit_learn(rows):
    X, y, probe = rows
    found, predicted = evaluate_probe(probe, X, y), probe.predict(X)
    assert found.accuracy == accuracy_score(y, predicted) < 1
    assert found.mean_recall == pytest.approx(balanced_accuracy_score(y, predicted))
    expected = precision_recall_fscore_support(y, predicted, labels=probe.classes_, zero_division=0)
    numbers = (found.precision, found.recall, found.f1, found.class_sizes)
    for ours, theirs in zip(numbers, expected, strict=True):
        np.testing.assert_allclose(np.nan_to_num(ours), theirs)

    # Pairs of classes with their counts, the most frequent first.
    pairs = found.confusions()
    for true, other, count in pairs:
        assert count == np.count_nonzero((y == true) & (predicted == other))
    counts = [count for *_, count in pairs]
    assert sum(counts) == np.count_nonzero(y != predicted)
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("make", [np.ndarray.tolist, pl.DataFrame, pl.LazyFrame, sp.coo_array])
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_rows_may_come_in_any_container(rows, make):
    X, y, probe = rows
    labels = [None, *y[1:].tolist()]
    found, expected = (evaluate_probe(probe, each, labels) for each in (make(X), X))
    np.testing.assert_array_equal(found.confusion, expected.confusion)


def test_text_has_the_accuracy_and_the_most_frequent_confusions(rows):
    found = evaluate_probe(rows[2], *rows[:2])
    first, *confusions = str(found).splitlines()
    low, high = found.interval
    interval = f"95% confidence interval: {low:.1%} to {high:.1%}"
    assert first == f"Accuracy {found.accuracy:.1%} ({interval}), on 200 rows"
    (label, predicted, count), *_ = found.confusions()
    assert confusions[0] == f"  {label} predicted as {predicted}: {count} rows"


def test_interval_ends_where_the_score_test_rejects():
    """Wilson's interval: at its ends the score test has a two-sided level of 5 %."""
    found = ProbeEvaluation(np.array(["a", "b"]), np.array([[40, 10], [7, 43]]))
    for share in found.interval:
        score = (found.accuracy - share) / np.sqrt(share * (1 - share) / found.n_rows)
        assert abs(score) == pytest.approx(norm.ppf(0.975))


def test_leaves_out_rows_without_a_label(rows):
    X, y, probe = rows
    labelled = np.arange(200) % 3 > 0
    found = evaluate_probe(probe, X, np.where(labelled, y, "?"), missing=["?"])
    assert found.n_rows == labelled.sum()
    assert found.accuracy == probe.score(X[labelled], y[labelled])


def test_class_without_rows_has_no_share(rows):
    X, y, probe = rows
    kept = y != "d"
    found = evaluate_probe(probe, X[kept], y[kept])
    record = found.to_json()["classes"][3]
    assert (record["class"], record["rows"], record["recall"]) == ("d", 0, None)
    assert found.mean_recall == pytest.approx(found.recall[:3].mean())


def test_counts_unknown_labels_apart(rows):
    X, y, probe = rows
    some = y.astype("U6")
    some[:5], some[5:7] = "yak", "owl"
    found, known = evaluate_probe(probe, X, some), evaluate_probe(probe, X[7:], y[7:])
    np.testing.assert_array_equal(found.confusion, known.confusion)
    assert found.unknown == found.to_json()["unknown"] == {"owl": 2, "yak": 5}
    assert known.unknown == {}


@pytest.mark.parametrize("n_classes", [3, COUNTED_CLASSES + 1, 60])
def test_figure_shows_shares_and_readable_counts(n_classes):
    confusion = np.diag(np.arange(n_classes))
    confusion[1, 0] = 3
    figure = confusion_figure(confusion, [f"class {k}" for k in range(n_classes)], 0.9)
    axes, _ = figure.axes
    shares = axes.images[0].get_array()
    assert (shares[1, 0], shares[1, 1]) == (0.75, 0.25)
    assert np.isnan(shares.filled(np.nan)[0]).all()  # no row
    counts = {text.get_text() for text in axes.texts} - {""}
    assert counts == ({"1", "2", "3"} if n_classes == 3 else set())
    assert len(axes.get_xticks()) == (n_classes if n_classes <= 40 else 0)
