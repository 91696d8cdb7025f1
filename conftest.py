"""What every collected test gets, the examples in the documentation among them."""

from pathlib import Path

import pytest
from hypothesis import settings

# Sphinx runs these when it builds the site, and puts what it makes of them beside.
SPHINX_ALONE = ("conf.py", "_*", "examples/*", "reference/*/*", "tutorials/*")
collect_ignore_glob = [f"docs/{name}" for name in SPHINX_ALONE]

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
