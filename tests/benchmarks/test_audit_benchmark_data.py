"""The data and the noise of `make bench-audit` are those that its page describes."""

import numpy as np
import pytest

from benchmarks.audit.data import Data, prepared
from benchmarks.audit.discriminant import LDA, discriminant
from benchmarks.audit.generated import GAUSSIANS, GENERATED
from benchmarks.audit.logistic import CLEANED, DEFAULT_RULE, PLAIN, TUNED, logistic_and_cleanlab
from benchmarks.audit.neighbours import VOTE, vote
from benchmarks.audit.noisy_data import NoisyData, clean_probabilities, draw_labels
from benchmarks.audit.plan import settings
from benchmarks.audit.runs import Setting
from benchmarks.audit.thinning import thin


def blobs(class_sizes: list[int]) -> Data:
    """Directions with classes of these sizes; rows are far from the origin and not of unit norm."""
    generator = np.random.default_rng(0)
    n_classes = len(class_sizes)
    labels = generator.permutation(np.repeat(np.arange(n_classes), class_sizes))
    rows = 5 + 2 * np.eye(n_classes)[labels] + generator.normal(size=(len(labels), n_classes))
    return prepared("blobs", rows, labels, rows, labels, superclass=np.arange(n_classes))


@pytest.mark.parametrize("name", GENERATED)
def test_a_seed_generates_rows_that_nobody_gets_prepared(name: str) -> None:
    first, again, other = (GENERATED[name](seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert not np.array_equal(first.X, first.X_test[: len(first.X)])
    assert first.X is first.raw
    assert first.X_test is first.raw_test
    assert not first.is_prepared
    np.testing.assert_array_equal(
        np.bincount(first.test_labels), 10 * np.bincount(first.true_labels)
    )


@pytest.mark.parametrize("length", [1.0, 1.5, 2.5])
def test_overlapping_classes_are_as_long_and_as_wide_as_asked(length: float) -> None:
    data = GENERATED[f"overlap {length:g}"](0)
    assert data.X.shape == (2000, 20)
    assert np.bincount(data.true_labels).tolist() == [500] * 4
    means = np.array([data.X_test[data.test_labels == k].mean(axis=0) for k in range(4)])
    np.testing.assert_allclose(np.linalg.norm(means, axis=1), length, atol=0.05)
    spread = (data.X_test - means[data.test_labels]).std(axis=0)
    np.testing.assert_allclose(spread, 0.7, atol=0.02)


def test_the_gaussians_are_those_of_the_plan() -> None:
    data = GENERATED[GAUSSIANS](3)
    assert np.bincount(data.true_labels).tolist() == [400, 200, 200]
    first = data.X_test[data.test_labels == 0]
    np.testing.assert_allclose(first.mean(axis=0), [3, 2], atol=0.15)
    np.testing.assert_allclose(np.cov(first.T), [[5, -1.5], [-1.5, 1]], atol=0.4)
    assert [str(each) for each in settings(GAUSSIANS)] == ["clean", "uniform 0.2", "uniform 0.5"]


def test_uniform_noise_draws_from_all_classes() -> None:
    data = GENERATED["overlap 2.5"](0)
    noisy = draw_labels(data, Setting("overlap 2.5", "uniform", 0.4), 0)
    # A quarter of the labels drawn anew are right; four standard errors are 0.041.
    assert noisy.wrong.mean() == pytest.approx(0.4 * 3 / 4, abs=0.041)


def test_neighbours_are_nearest_by_distance_where_rows_are_as_they_come() -> None:
    """By their angle alone, two classes on a line through the origin are one."""
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    rows = np.array([[1.0, 1.0], [5.0, 5.0]])[labels] + 0.1 * generator.normal(size=(200, 2))
    data = Data("line", rows, rows, labels, rows, rows, labels, np.arange(2), None)
    clean = draw_labels(data, Setting("line", "clean", 0.0), 0)
    assert vote(clean).scores[VOTE].accuracy == 1


def test_pair_noise_goes_to_the_next_class() -> None:
    data = blobs([50, 50, 50])
    noisy = draw_labels(data, Setting("blobs", "pair", 0.4), 0)
    assert 0.2 < noisy.wrong.mean() < 0.6
    expected = (data.true_labels[noisy.wrong] + 1) % 3
    np.testing.assert_array_equal(noisy.given_labels[noisy.wrong], expected)


def test_noise_at_the_boundary_prefers_rows_that_look_like_others() -> None:
    data = blobs([150, 150, 150])
    probabilities = clean_probabilities(data)
    certainty = probabilities[np.arange(450), data.true_labels]
    noisy = [draw_labels(data, Setting("blobs", "idn", 0.2), seed) for seed in range(4)]
    assert np.mean([each.wrong.mean() for each in noisy]) == pytest.approx(0.2, abs=0.04)
    wrong = np.mean([each.wrong for each in noisy], axis=0)
    assert np.average(certainty, weights=wrong) < certainty.mean() - 0.1
    assert not np.array_equal(noisy[0].given_labels, noisy[1].given_labels)


def test_few_rows_of_every_class_are_prepared_anew() -> None:
    data = blobs([40, 30, 10])
    few, other = (thin(data, "few", seed) for seed in (0, 1))
    assert np.bincount(few.true_labels).tolist() == [15, 15, 10]
    expected = few.raw - few.raw.mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(few.X, expected, atol=1e-6)
    np.testing.assert_array_equal(few.raw_test, data.raw_test)
    assert not np.array_equal(few.raw, other.raw)
    kept = (data.raw[:, np.newaxis] == few.raw).all(axis=2)
    np.testing.assert_array_equal(kept.sum(axis=0), 1)
    np.testing.assert_array_equal(data.true_labels[kept.argmax(axis=0)], few.true_labels)


def test_the_tail_falls_to_a_twentieth_in_random_order() -> None:
    data = blobs([100] * 5)
    sizes = [np.bincount(thin(data, "tail", seed).true_labels) for seed in range(3)]
    expected = np.rint(100 * 20.0 ** (-np.arange(5) / 4))
    for found in sizes:
        np.testing.assert_array_equal(np.sort(found)[::-1], expected)
    assert len({tuple(found) for found in sizes}) > 1
    assert np.bincount(thin(blobs([8, 8]), "tail", 0).true_labels).min() == 2


def test_thinned_labels_can_be_noisy() -> None:
    noisy = draw_labels(blobs([100, 100, 100]), Setting("blobs", "few, symmetric", 0.3), 0)
    assert len(noisy.given_labels) == 45
    assert 0.1 < noisy.wrong.mean() < 0.5
    clean = draw_labels(blobs([100, 100, 100]), Setting("blobs", "few, clean", 0.0), 0)
    np.testing.assert_array_equal(clean.data.raw, noisy.data.raw)
    assert not clean.wrong.any()


@pytest.mark.filterwarnings("ignore::UserWarning")  # of cleanlab and of folds, about rare labels
@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_rare_labels_do_not_stop_the_rivals(n_rows: int) -> None:
    data = blobs([60, 5, 60, 60])
    rare = np.flatnonzero(data.true_labels == 1)
    given = data.true_labels.copy()
    given[rare[n_rows:]] = 0
    noisy = NoisyData(data, given, 0)
    found = logistic_and_cleanlab(noisy).scores
    assert min(found[method].accuracy for method in (PLAIN, CLEANED, TUNED)) > 0.7
    assert found[DEFAULT_RULE].f1 is not None
    assert discriminant(noisy).scores[LDA].accuracy > 0.7
    assert vote(noisy).scores[VOTE].accuracy > 0.7
