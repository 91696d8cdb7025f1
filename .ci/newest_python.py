"""Print the path of the newest Python on this machine, nothing if the one that runs is as new."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Beyond the last that there is: newer ones are found when they come.
NEWEST_MINOR = 30


def pythons() -> Iterator[str]:
    """Yield interpreters of this machine: those on the path, and those that pyenv keeps."""
    for minor in range(sys.version_info.minor + 1, NEWEST_MINOR):
        found = shutil.which(f"python3.{minor}")
        if found is not None:
            yield found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, root.glob("versions/3.*/bin/python3"))


def version_of(python: str) -> tuple[int, ...]:
    """Return the version of an interpreter; a shim that does not start has none."""
    command = [python, "-c", "import sys, venv; print(*sys.version_info[:3])"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return tuple(map(int, told.stdout.split())) if told.returncode == 0 else ()


if __name__ == "__main__":
    newest = max(pythons(), key=version_of, default="")
    if newest and version_of(newest)[:2] > sys.version_info[:2]:
        print(newest)  # noqa: T201
