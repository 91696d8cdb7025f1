"""What every collected test gets, the examples in the documentation among them."""

from pathlib import Path

import pytest
from hypothesis import settings

# A word of the reason for which tests/review skips a test, what it is about, what to install.
NEEDED = {
    "chromium": ("in a browser", "Chromium and its driver", "chromium chromium-driver"),
    "node is not": ("in node", "node", "nodejs"),
}

# Sphinx runs these when it builds the site, and puts what it makes of them beside.
SPHINX_ALONE = ("conf.py", "_*", "examples/*", "reference/*/*", "tutorials/*")
collect_ignore_glob = [f"docs/{name}" for name in SPHINX_ALONE]
# They have no examples, and pytest would import several modules of one name for these.
collect_ignore_glob += ["tests/conftest.py", "tests/*/conftest.py"]

# The same examples on every run: a test that fails does so for everyone.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run examples in an empty folder: what they save does not end up in the checkout."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to run the tests that need a browser or node, where there is none."""
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    for reason, (where, what, packages) in NEEDED.items():
        n_skipped = sum(reason in str(longrepr) for longrepr in skipped)
        if n_skipped:
            terminalreporter.write_line(
                f"{n_skipped} tests of the review page {where} were skipped. To run them, install "
                f"{what} (on Debian: apt-get install {packages})."
            )
