"""A sample of few rows, so that small data have rows outside of it."""

from collections.abc import Callable

import pytest

from twohot.judge import sample


@pytest.fixture
def set_sample_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the maximum number of rows of a sample while a test runs."""
    return lambda n_rows: monkeypatch.setattr(sample, "SAMPLE_ROWS", n_rows)
