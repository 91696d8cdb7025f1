"""The estimators' tests run twice, unchanged: on rows in memory, and on rows in another process."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "rows"))

from other_store import RowsElsewhere


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__ == "test_estimators":
        metafunc.fixturenames.append("store")
        metafunc.parametrize("store", ["memory", "other process"], indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "other process":
        monkeypatch.setattr("twohot.rows.open.Rows", RowsElsewhere)
