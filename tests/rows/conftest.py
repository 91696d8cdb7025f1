"""Limits that tests lower, so that few rows and features are enough."""

import pytest

from twohot.rows import principal_axes


@pytest.fixture
def limit_axes(monkeypatch):
    """Return a function that sets limits of `principal_axes` by name."""

    def set_limits(**limits):
        for name, value in limits.items():
            monkeypatch.setattr(principal_axes, name, value)

    return set_limits
