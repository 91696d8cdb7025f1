import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.noise import (
    asymmetric,
    check_corruption,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)

rates = st.floats(0, 1)
class_counts = st.integers(2, 12)


@st.composite
def stochastic_matrices(draw, n_classes):
    """Rows of small whole weights, many of them zero, divided by their sums."""
    row = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes).filter(any)
    weights = np.array(draw(st.lists(row, min_size=n_classes, max_size=n_classes)), dtype=float)
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def problems(draw):
    """Class sizes, a matrix, and a seed; every class may be absent but not all."""
    n_classes = draw(st.integers(1, 7))
    size = st.integers(0, 15)
    sizes = draw(st.lists(size, min_size=n_classes, max_size=n_classes).filter(any))
    return np.array(sizes), draw(stochastic_matrices(n_classes)), draw(st.integers(0, 2**32))


@st.composite
def doubly_stochastic(draw):
    """A mixture of permutations, as every such matrix is."""
    n_classes = draw(st.integers(2, 7))
    orders = draw(st.lists(st.permutations(range(n_classes)), min_size=1, max_size=5))
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=5, max_size=5)), dtype=float)
    weights = weights[: len(orders)] / weights[: len(orders)].sum()
    return sum(w * np.eye(n_classes)[list(o)] for w, o in zip(weights, orders, strict=True))


def is_floor_or_ceiling(counts, expected):
    # 2.9999999 is a 3 that lost its last digits on the way.
    whole = np.abs(expected - np.rint(expected)) < 1e-6
    between = (np.floor(expected) <= counts) & (counts <= np.ceil(expected))
    return np.all(np.where(whole, counts == np.rint(expected), between))


# Matrices


@given(class_counts, rates)
def test_all_matrices_are_row_stochastic_with_the_rate_off_the_diagonal(n_classes, rate):
    superclass = np.arange(n_classes) // 2
    for matrix in (
        symmetric(n_classes, rate),
        asymmetric(n_classes, rate),
        pair_flip(n_classes, rate),
        superclass_noise(superclass, rate),
    ):
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-13)
        assert matrix.min() >= 0
        assert matrix.dtype == np.float64
        single = check_corruption(matrix.astype(np.float32))
        np.testing.assert_allclose(single, matrix, atol=1e-6)
        np.testing.assert_allclose(single.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.diag(symmetric(n_classes, rate)), 1 - rate)
    np.testing.assert_allclose(np.diag(asymmetric(n_classes, rate)), 1 - rate)
    np.testing.assert_allclose(np.diag(pair_flip(n_classes, rate)), 1 - rate)


def test_known_matrices():
    np.testing.assert_allclose(superclass_noise(np.zeros(5, dtype=int), 0.3), symmetric(5, 0.3))
    np.testing.assert_allclose(
        asymmetric(4, 0.4, confused_with=[2, 0, 1, 1]),
        [[0.6, 0.1, 0.2, 0.1], [0.2, 0.6, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.1, 0.2, 0.1, 0.6]],
    )
    np.testing.assert_allclose(asymmetric(2, 0.3), symmetric(2, 0.3))
    np.testing.assert_allclose(pair_flip(3, 0.2), [[0.8, 0.2, 0], [0, 0.8, 0.2], [0.2, 0, 0.8]])
    np.testing.assert_allclose(
        superclass_noise([1, 0, 1, 2, 1], 0.6),
        [
            [0.4, 0, 0.3, 0, 0.3],
            [0, 1, 0, 0, 0],
            [0.3, 0, 0.4, 0, 0.3],
            [0, 0, 0, 1, 0],
            [0.3, 0, 0.3, 0, 0.4],
        ],
    )


# Labels


@given(problems(), st.booleans())
def test_the_record_agrees_with_the_labels(problem, exact):
    sizes, matrix, seed = problem
    true_labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    result = corrupt_labels(
        true_labels, matrix, exact=exact, random_state=seed, classes=np.arange(len(sizes))
    )
    counted = np.zeros(matrix.shape, dtype=int)
    np.add.at(counted, (true_labels, result.given_labels), 1)
    np.testing.assert_array_equal(result.counts, counted)
    np.testing.assert_array_equal(result.flipped, result.given_labels != true_labels)
    assert result.noise_rate == pytest.approx(1 - np.trace(counted) / len(true_labels))
    for size, row, asked, count in zip(sizes, result.corruption, matrix, counted, strict=True):
        np.testing.assert_allclose(row, count / size if size else asked, atol=1e-15)
    assert not counted[matrix == 0].any()


@given(problems())
def test_exact_counts_round_every_expectation_and_both_margins(problem):
    sizes, matrix, seed = problem
    labels = np.repeat(np.arange(len(sizes)), sizes)
    counts = corrupt_labels(
        labels, matrix, exact=True, random_state=seed, classes=np.arange(len(sizes))
    ).counts
    expected = sizes[:, np.newaxis] * matrix
    assert is_floor_or_ceiling(counts, expected)
    assert is_floor_or_ceiling(counts.sum(axis=0), expected.sum(axis=0))
    np.testing.assert_array_equal(counts.sum(axis=1), sizes)


@given(doubly_stochastic(), st.integers(1, 30), st.integers(0, 2**32))
def test_exact_counts_keep_equal_classes_equal(matrix, n_per_class, seed):
    labels = np.repeat(np.arange(len(matrix)), n_per_class)
    result = corrupt_labels(labels, matrix, exact=True, random_state=seed)
    np.testing.assert_array_equal(result.counts.sum(axis=0), n_per_class)


def test_exact_counts_of_a_sparse_matrix_need_the_repair():
    # Class k goes half to k, half to k + 1: no row can mend its neighbour's columns directly.
    matrix = pair_flip(200, 0.5)
    for seed in range(5):
        result = corrupt_labels(np.arange(200), matrix, exact=True, random_state=seed)
        np.testing.assert_array_equal(np.bincount(result.given_labels), 1)


def test_exact_counts_go_up_about_as_often_as_their_remainder_says():
    # Expected: 0.6 samples at confused_with, 0.3 at the rest; a plain maximum flow gives 0.3 both.
    labels = np.repeat(np.arange(100), 100)
    counts = np.mean(
        [
            corrupt_labels(labels, asymmetric(100, 0.3), exact=True, random_state=seed).counts
            for seed in range(10)
        ],
        axis=0,
    )
    classes = np.arange(100)
    assert counts[classes, (classes + 1) % 100].mean() == pytest.approx(0.6, abs=0.03)
    assert counts[classes, (classes + 2) % 100].mean() == pytest.approx(0.3, abs=0.03)


def test_drawn_labels_follow_the_matrix():
    matrix = asymmetric(5, 0.6)
    result = corrupt_labels(np.repeat(np.arange(5), 20_000), matrix, random_state=3)
    # Five standard errors of a share of 20,000 draws are at most 0.018.
    np.testing.assert_allclose(result.corruption, matrix, atol=0.018)


@given(problems(), st.booleans())
def test_a_seed_decides_everything(problem, exact):
    sizes, matrix, seed = problem
    labels = np.repeat(np.arange(len(sizes)), sizes)
    first, second, third = (
        corrupt_labels(labels, matrix, exact=exact, random_state=state, classes=range(len(sizes)))
        for state in (seed, seed, np.random.default_rng(seed))
    )
    np.testing.assert_array_equal(first.given_labels, second.given_labels)
    np.testing.assert_array_equal(first.given_labels, third.given_labels)


def test_seeds_differ_and_none_is_allowed():
    labels = np.repeat(np.arange(4), 50)
    drawn = [
        corrupt_labels(labels, symmetric(4, 0.5), exact=exact, random_state=state).given_labels
        for exact in (False, True)
        for state in (0, 1, None)
    ]
    assert len({tuple(labels) for labels in drawn}) == 6


@given(problems())
@settings(max_examples=30)
def test_names_do_not_matter(problem):
    sizes, matrix, seed = problem
    names = np.array([f"class {chr(97 + k)}" for k in range(len(sizes))])
    index = np.repeat(np.arange(len(sizes)), sizes)
    numbers = corrupt_labels(index, matrix, random_state=seed, classes=np.arange(len(sizes)))
    strings = corrupt_labels(names[index], matrix, random_state=seed, classes=names)
    np.testing.assert_array_equal(strings.given_labels, names[numbers.given_labels])


def test_labels_keep_their_type():
    assert corrupt_labels(np.int16([3, 5]), np.eye(2)).given_labels.dtype == np.int16
    series = pd.Series(["b", "a", "b"], index=[7, 8, 9])
    assert corrupt_labels(series, np.eye(2)).given_labels.tolist() == ["b", "a", "b"]
    assert corrupt_labels([True, False], pair_flip(2, 1)).given_labels.tolist() == [False, True]


def test_samples_without_a_label_stay_without():
    labels = ["a", None, "b", "", "a"]
    result = corrupt_labels(labels, pair_flip(2, 1))
    assert result.given_labels.tolist() == ["b", None, "a", None, "b"]
    assert result.flipped.tolist() == [True, False, True, False, True]
    assert result.counts.tolist() == [[0, 2], [1, 0]]
    assert result.noise_rate == 1
    without = corrupt_labels(["a", "b", "a"], symmetric(2, 0.5), random_state=3).given_labels
    result = corrupt_labels(labels, symmetric(2, 0.5), random_state=3)
    assert result.given_labels[[0, 2, 4]].tolist() == without.tolist()


def test_a_class_without_samples_keeps_the_row_asked_for():
    matrix = np.array([[0, 1, 0], [0.25, 0.5, 0.25], [0, 0, 1]])
    result = corrupt_labels([0, 0, 2], matrix, classes=[0, 1, 2], random_state=0)
    np.testing.assert_array_equal(result.corruption, matrix)
    assert result.counts[1].tolist() == [0, 0, 0]
