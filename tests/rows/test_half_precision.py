"""Every finite half float becomes the single one of the same value."""

import numpy as np
import pytest

from twohot.rows.preparation import can_widen, widen

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]


def test_every_finite_number_is_kept_to_the_last_bit():
    out = np.empty(len(FINITE), np.float32)
    widen(FINITE, out)
    assert out.tobytes() == FINITE.astype(np.float32).tobytes()  # minus zero too


def test_rows_that_are_not_neighbours_in_memory():
    rows = FINITE[: 2 * 3000].reshape(3000, 2)[::-3, ::-1]
    out = np.empty(rows.shape, np.float32)
    widen(rows, out)
    assert np.array_equal(out, rows.astype(np.float32))


@pytest.mark.parametrize(("stored", "out"), [("f4", "f4"), ("f2", "f8"), (">f2", "f4")])
def test_nothing_else_is_widened(stored, out):
    assert not can_widen(np.ones(1, stored), np.ones(1, out))
