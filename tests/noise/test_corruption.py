"""Matrices have the noise rate, and labels follow their matrix."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.noise import (
    asymmetric,
    boundary_noise,
    check_corruption,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)


@st.composite
def problems(draw):
    """Class sizes, some of them zero, a stochastic matrix with zeros, and a seed."""
    n_classes = draw(st.integers(1, 7))

    def some(most):
        numbers = st.lists(st.integers(0, most), min_size=n_classes, max_size=n_classes)
        return numbers.filter(any)

    rows = st.lists(some(4), min_size=n_classes, max_size=n_classes)
    weights = np.array(draw(rows), dtype=float)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    return np.array(draw(some(15))), matrix, draw(st.integers(0, 2**32))


@st.composite
def doubly_stochastic(draw):
    """A mixture of permutations, as every such matrix is."""
    n_classes = draw(st.integers(2, 7))
    orders = draw(st.lists(st.permutations(range(n_classes)), min_size=1, max_size=5))
    weights = [draw(st.integers(1, 9)) for _ in orders]
    return np.average([np.eye(n_classes)[order] for order in orders], axis=0, weights=weights)


def corrupted(problem, exact=False, state=None):
    """Return true labels in random order, and their corruption."""
    sizes, matrix, seed = problem
    classes, state = np.arange(len(sizes)), seed if state is None else state
    labels = np.random.default_rng(seed).permutation(np.repeat(classes, sizes))
    return labels, corrupt_labels(labels, matrix, exact=exact, random_state=state, classes=classes)


def is_floor_or_ceiling(counts, expected):
    # 2.9999999 is 3 with a rounding error.
    least, most = np.floor(expected + 1e-6), np.ceil(expected - 1e-6)
    return np.all((least <= counts) & (counts <= most))


# Matrices


@given(st.integers(2, 12), st.floats(0, 1))
def test_matrices_are_stochastic_with_the_rate_off_the_diagonal(n_classes, rate):
    full = [make(n_classes, rate) for make in (symmetric, asymmetric, pair_flip)]
    for matrix in full:
        np.testing.assert_allclose(np.diag(matrix), 1 - rate)
    for matrix in (*full, superclass_noise(np.arange(n_classes) // 2, rate)):
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-13)
        assert matrix.min() >= 0
        assert matrix.dtype == np.float64
        single = check_corruption(matrix.astype(np.float32))
        np.testing.assert_allclose(single, matrix, atol=1e-6)
        np.testing.assert_allclose(single.sum(axis=1), 1, rtol=1e-14)


def test_known_matrices():
    np.testing.assert_allclose(superclass_noise(np.zeros(5, dtype=int), 0.3), symmetric(5, 0.3))
    np.testing.assert_allclose(
        asymmetric(4, 0.4, confused_with=[2, 0, 1, 1]),
        [[0.6, 0.1, 0.2, 0.1], [0.2, 0.6, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.1, 0.2, 0.1, 0.6]],
    )
    np.testing.assert_allclose(asymmetric(2, 0.3), symmetric(2, 0.3))
    np.testing.assert_allclose(pair_flip(3, 0.2), [[0.8, 0.2, 0], [0, 0.8, 0.2], [0.2, 0, 0.8]])
    expected = np.diag([0.4, 1, 0.4, 1, 0.4])
    expected[[0, 0, 2, 2, 4, 4], [2, 4, 0, 4, 0, 2]] = 0.3
    np.testing.assert_allclose(superclass_noise([1, 0, 1, 2, 1], 0.6), expected)


# Labels


@given(problems(), st.booleans())
def test_record_agrees_with_the_labels(problem, exact):
    labels, result = corrupted(problem, exact)
    sizes, matrix, _ = problem
    counted = np.zeros(matrix.shape, dtype=int)
    np.add.at(counted, (labels, result.given_labels), 1)
    np.testing.assert_array_equal(result.counts, counted)
    np.testing.assert_array_equal(result.flipped, result.given_labels != labels)
    assert result.noise_rate == pytest.approx(1 - np.trace(counted) / len(labels))
    # A class without samples keeps the requested row.
    for size, row, asked, count in zip(sizes, result.corruption, matrix, counted, strict=True):
        np.testing.assert_allclose(row, count / size if size else asked, atol=1e-15)
    assert not counted[matrix == 0].any()


@given(problems())
def test_exact_counts_round_expectations_and_margins(problem):
    sizes, matrix, _ = problem
    counts = corrupted(problem, exact=True)[1].counts
    expected = sizes[:, np.newaxis] * matrix
    assert is_floor_or_ceiling(counts, expected)
    assert is_floor_or_ceiling(counts.sum(axis=0), expected.sum(axis=0))
    np.testing.assert_array_equal(counts.sum(axis=1), sizes)


@given(doubly_stochastic(), st.integers(1, 30), st.integers(0, 2**32))
def test_exact_counts_keep_equal_classes_equal(matrix, n_per_class, seed):
    sizes = np.full(len(matrix), n_per_class)
    counts = corrupted((sizes, matrix, seed), exact=True)[1].counts
    np.testing.assert_array_equal(counts.sum(axis=0), n_per_class)


def test_exact_counts_of_a_sparse_matrix_need_the_repair():
    # Half of class k goes to k + 1: no row can correct its neighbour's columns directly.
    for seed in range(5):
        counts = corrupted((np.ones(200, int), pair_flip(200, 0.5), seed), exact=True)[1].counts
        np.testing.assert_array_equal(counts.sum(axis=0), 1)


def test_exact_counts_are_rounded_up_as_often_as_their_remainder():
    # Expected are 0.6 samples at confused_with and 0.3 elsewhere; a maximum flow gives 0.3 both.
    problem, classes = (np.full(100, 100), asymmetric(100, 0.3)), np.arange(100)
    drawn = [corrupted((*problem, seed), exact=True)[1].counts for seed in range(10)]
    for step, expected in ((1, 0.6), (2, 0.3)):
        found = np.mean(drawn, axis=0)[classes, (classes + step) % 100].mean()
        assert found == pytest.approx(expected, abs=0.03)


def test_drawn_labels_follow_the_matrix():
    matrix = asymmetric(5, 0.6)
    _, result = corrupted((np.full(5, 20_000), matrix, 3))
    # Five standard errors of a share of 20,000 draws are at most 0.018.
    np.testing.assert_allclose(result.corruption, matrix, atol=0.018)


@given(problems(), st.booleans())
@settings(max_examples=30)
def test_labels_depend_on_the_seed_only(problem, exact):
    sizes, matrix, seed = problem
    labels, first = corrupted(problem, exact)
    again = corrupted(problem, exact, state=np.random.default_rng(seed))[1]
    names = np.array([f"class {chr(97 + k)}" for k in range(len(sizes))])
    how = {"exact": exact, "random_state": seed, "classes": names}
    named = corrupt_labels(names[labels], matrix, **how)
    np.testing.assert_array_equal(again.given_labels, first.given_labels)
    np.testing.assert_array_equal(named.given_labels, names[first.given_labels])


def test_seeds_give_different_labels():
    problem = np.full(4, 50), symmetric(4, 0.5), None
    drawn = [
        tuple(corrupted(problem, exact, state=state)[1].given_labels)
        for exact in (False, True)
        for state in (0, 1, None)
    ]
    assert len(set(drawn)) == 6


def test_labels_keep_their_type():
    assert corrupt_labels(np.int16([3, 5]), np.eye(2)).given_labels.dtype == np.int16
    series = pd.Series(["b", "a", "b"], index=[7, 8, 9])
    assert corrupt_labels(series, np.eye(2)).given_labels.tolist() == ["b", "a", "b"]
    assert corrupt_labels([True, False], pair_flip(2, 1)).given_labels.tolist() == [False, True]


ORDER, ROWS = ["owl", "ant"], np.random.default_rng(0).dirichlet([1, 1], 50)


@pytest.mark.parametrize(
    "make",
    [
        lambda labels, _: corrupt_labels(labels, symmetric(2, 0.5), random_state=3, classes=ORDER),
        lambda labels, rows: boundary_noise(labels, rows, 0.5, random_state=3, classes=ORDER),
    ],
)
def test_unlabelled_samples_stay_unlabelled(make):
    labels = np.array([None, "owl", "", "ant", "ant"] * 10, dtype=object)
    labelled = labels.astype(bool)
    noisy, alone = make(labels, ROWS), make(labels[labelled], ROWS[labelled])
    assert noisy.given_labels[labelled].tolist() == alone.given_labels.tolist()
    assert set(noisy.given_labels[~labelled]) == {None}
    assert noisy.flipped.nonzero()[0].tolist() == labelled.nonzero()[0][alone.flipped].tolist()
    np.testing.assert_array_equal(noisy.counts, alone.counts)
    assert 0 < noisy.noise_rate == alone.noise_rate
