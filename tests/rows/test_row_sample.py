"""The rows that stand for all are spread over them."""

import numpy as np
import pytest

from twohot.rows.selected import RANGE, is_sampled


@pytest.mark.parametrize("every", [1, 2, 10, 100])
def test_no_order_of_the_rows_is_sampled_one_sidedly(every: int) -> None:
    sampled = is_sampled(np.arange(100_000), RANGE // 10)[::every]
    assert sampled.mean() == pytest.approx(0.1, rel=0.05)


def test_all_rows_are_below_the_end_and_none_below_the_start() -> None:
    assert is_sampled(np.arange(1000), RANGE).all()
    assert not is_sampled(np.arange(1000), 0).any()
