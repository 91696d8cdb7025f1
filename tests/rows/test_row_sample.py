"""The rows that stand for all: the same ones for any blocks."""

import numpy as np
import pytest

from twohot.rows.block import Block
from twohot.rows.row_sample import RANGE, sampled_rows


def test_blocks_of_any_size_have_the_same_sample() -> None:
    whole = sampled_rows(Block(0, np.zeros((1000, 1))), RANGE // 7)
    for size in (1, 64, 333):
        parts = [
            sampled_rows(Block(first, np.zeros((min(size, 1000 - first), 1))), RANGE // 7)
            for first in range(0, 1000, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("every", [1, 2, 10, 100])
def test_no_order_of_the_rows_is_sampled_one_sidedly(every: int) -> None:
    sampled = sampled_rows(Block(0, np.zeros((100_000, 1))), RANGE // 10)[::every]
    assert sampled.mean() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_logits_of_some_rows_are_those_of_all(scaled: bool, intercept: bool) -> None:
    generator = np.random.default_rng(0)
    x, scale = generator.normal(size=(6, 3)), generator.uniform(1, 2, (6, 1)) if scaled else None
    coef, chosen = generator.normal(size=(2, 3 + intercept)), np.arange(6) % 2 == 0
    block = Block(0, x, scale, intercept=intercept, logits=np.empty((6, 2)))
    some = block.project_some(chosen, coef)
    assert block.row_products == 3
    np.testing.assert_allclose(some, block.project(coef)[chosen])
    assert block.row_products == 3 + 6
