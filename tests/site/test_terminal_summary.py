"""A run without a browser says so in one line; a run with one says nothing."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def of_the_root() -> ModuleType:
    """The conftest.py of the root, whose name others beneath it share."""
    spec = importlib.util.spec_from_file_location("conftest_of_the_root", ROOT / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def summary(module: ModuleType, reasons: list[str]) -> list[str]:
    """Return the lines at the end of a run in which tests were skipped for some reasons."""
    lines: list[str] = []
    skipped = [SimpleNamespace(longrepr=("file.py", 1, f"Skipped: {each}")) for each in reasons]
    stats = {"skipped": skipped} if skipped else {}
    module.pytest_terminal_summary(SimpleNamespace(stats=stats, write_line=lines.append))
    return lines


def test_skipped_browser_tests_are_one_line(of_the_root: ModuleType) -> None:
    reason = "chromium and chromedriver are not installed: the report is not tested in one"
    assert reason in (ROOT / "tests/review/conftest.py").read_text(encoding="utf-8")
    (line,) = summary(of_the_root, [reason, "no models", reason])
    assert line.startswith("2 tests of the review page in a browser were skipped.")
    assert "apt-get install chromium chromium-driver" in line


@pytest.mark.parametrize("reasons", [[], ["no models"]])
def test_prints_nothing_if_they_ran(of_the_root: ModuleType, reasons: list[str]) -> None:
    assert summary(of_the_root, reasons) == []
