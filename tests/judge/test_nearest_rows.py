"""Nearest rows against a plain loop, and how near copies are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.judge import nearest
from twohot.judge.nearest import copy_distance, intrinsic_dimension, nearest_rows


def slow_nearest(points, k, of, groups):
    index, distances = np.full((len(of), k), -1), np.full((len(of), k), np.inf)
    for row, x in enumerate(of):
        away = np.sqrt(((points.astype(float) - x) ** 2).sum(axis=1))
        others = [j for j in range(len(points)) if groups is None or groups[row] != groups[j]]
        found = sorted(others, key=lambda j, away=away: (away[j], j))[:k]
        index[row, : len(found)], distances[row, : len(found)] = found, away[found]
    return index, distances


@pytest.fixture
def points():
    # Of several lengths, one at the origin.
    made = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    made[7] = 0
    return made


@pytest.mark.parametrize("block_rows", [16, 256])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("k", [0, 1, 7, 59, 80])
def test_neighbours_match_a_plain_loop(points, monkeypatch, block_rows, n_jobs, k) -> None:
    monkeypatch.setattr(nearest, "BLOCK_ROWS", block_rows)
    own = np.arange(60)
    index, distances = nearest_rows(points, k, n_jobs=n_jobs)
    expected, away = slow_nearest(points, k, points, own)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(distances, away, rtol=1e-12)


@pytest.mark.parametrize("k", [3, 50])
def test_rows_of_one_group_are_not_neighbours(points, k) -> None:
    groups = np.arange(60) // 13
    index, distances = nearest_rows(points, k, groups=groups, n_jobs=1)
    expected, away = slow_nearest(points, k, points, groups)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(distances, away, rtol=1e-12)
    assert (index == nearest.NO_NEIGHBOUR).any() == (k == 50)


def test_neighbours_of_other_rows(points) -> None:
    of, known = points[:9] + np.float32(0.1), points[9:]
    index, distances = nearest_rows(known, 4, of=of, n_jobs=1)
    expected, away = slow_nearest(known, 4, of, None)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(distances, away, rtol=1e-12)


def test_empty_input_has_no_neighbours(points) -> None:
    index, distances = nearest_rows(points, 3, of=points[:0], n_jobs=1)
    assert index.shape == distances.shape == (0, 3)


def test_ties_follow_the_order_of_points() -> None:
    square = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], np.float32)
    assert nearest_rows(square, 4, n_jobs=1)[0][4].tolist() == [0, 1, 2, 3]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(-30, 30))
def test_neighbours_ignore_the_unit(seed, exponent) -> None:
    points = np.random.default_rng(seed).normal(size=(20, 3)).astype(np.float32)
    index, distances = nearest_rows(points, 4, n_jobs=1)
    scaled, far = nearest_rows(np.ldexp(points, exponent), 4, n_jobs=1)
    np.testing.assert_array_equal(scaled, index)
    np.testing.assert_array_equal(far, np.ldexp(distances, exponent))
    assert copy_distance(far) == np.ldexp(copy_distance(distances), exponent)


@pytest.mark.parametrize("dimension", [1, 2, 5, 10])
def test_copies_by_chance_are_rare_in_any_dimension(dimension) -> None:
    points = np.random.default_rng(dimension).uniform(size=(2000, dimension)).astype(np.float32)
    _, distances = nearest_rows(points - np.float32(0.5), 10, n_jobs=2)
    assert intrinsic_dimension(distances) == pytest.approx(dimension, rel=0.25)
    # Expected are 2000 · CHANCE = 0.2 rows; by chance there may be a pair.
    assert (distances[:, 0] <= copy_distance(distances)).sum() <= 2


def test_equidistant_rows_have_infinite_dimension() -> None:
    distances = np.ones((4, 3))
    assert intrinsic_dimension(distances) == np.inf
    assert copy_distance(distances) == nearest.COPY_DISTANCE
