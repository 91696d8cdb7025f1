"""Nearest rows against a plain loop, and the distance that defines near-duplicates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.judge import nearest
from twohot.judge.nearest import ABSENT, copy_distance, intrinsic_dimension, nearest_rows

# Points of several lengths, one of them at the origin.
POINTS = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
POINTS[7] = 0
ALONE, GROUPS, OTHER_ROWS = np.arange(60), np.arange(60) // 13, POINTS[:9] + np.float32(0.1)


def slow_nearest(k, rows, groups, row_groups):
    index, distances = np.full((len(rows), k), ABSENT), np.full((len(rows), k), np.inf)
    for row, x in enumerate(rows):
        gaps = np.sqrt(((POINTS.astype(float) - x) ** 2).sum(axis=1))
        others = [j for j in range(60) if row_groups is None or row_groups[row] != groups[j]]
        found = sorted(others, key=lambda j, gaps=gaps: (gaps[j], j))[:k]
        index[row, : len(found)], distances[row, : len(found)] = found, gaps[found]
    return index, distances


@pytest.mark.parametrize("block_rows", [16, 256])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("k", [0, 1, 7, 50, 59, 80])
@pytest.mark.parametrize(
    "case",
    [
        ({}, (POINTS, ALONE, ALONE)),
        ({"groups": GROUPS}, (POINTS, GROUPS, GROUPS)),
        ({"of": OTHER_ROWS}, (OTHER_ROWS, None, None)),
        ({"of": OTHER_ROWS[:0]}, (OTHER_ROWS[:0], None, None)),
        (
            {"of": OTHER_ROWS, "groups": GROUPS, "row_groups": np.arange(9) - 1},
            (OTHER_ROWS, GROUPS, np.arange(9) - 1),
        ),
    ],
    ids=["all rows", "groups", "other rows", "no rows", "other rows with groups"],
)
def test_neighbours_match_a_plain_loop(monkeypatch, block_rows, n_jobs, k, case) -> None:
    options, slow = case
    monkeypatch.setattr(nearest, "BLOCK_ROWS", block_rows)
    index, distances = nearest_rows(POINTS, k, **options, n_jobs=n_jobs)
    expected, gaps = slow_nearest(k, *slow)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(distances, gaps, rtol=1e-12)


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
    # 2000 · CHANCE = 0.2 rows are expected; by chance there may be a pair.
    assert (distances[:, 0] <= copy_distance(distances)).sum() <= 2


def test_equidistant_rows_have_infinite_dimension() -> None:
    distances = np.ones((4, 3))
    assert intrinsic_dimension(distances) == np.inf
    assert copy_distance(distances) == nearest.COPY_DISTANCE
