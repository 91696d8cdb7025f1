"""Files that are still being written, named after their process, and what dead processes left.

A file is written beside its target under a name such as `.a.csv.1f2e3d4c-4711-ab12.unfinished`:
the target, the machine, the process, and some random characters. A process that is killed leaves it
behind, and the next one that writes to the folder removes it.
"""

import hashlib
import os
import platform
import re
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

NAME = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,10})-\w+\.unfinished")
# Characters of the target's name that are kept: names of files end at 255 bytes.
KEPT = 40


def new_unfinished(target: Path) -> tuple[int, Path]:
    """Make an empty file beside a target; return its open descriptor, for writing, and its path."""
    remove_abandoned(target.parent.resolve())
    prefix = f".{target.name[:KEPT]}.{_machine()}-{os.getpid()}-"
    descriptor, path = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".unfinished")
    return descriptor, Path(path)


@cache  # once per folder and process: a folder may hold many files
def remove_abandoned(folder: Path) -> None:
    """Remove what processes of this machine that are no more were writing to a folder."""
    with suppress(PermissionError), os.scandir(folder) as entries:
        for entry in entries:
            name = NAME.fullmatch(entry.name)
            if name is None or name["machine"] != _machine() or _is_alive(int(name["process"])):
                continue
            with suppress(OSError):  # of somebody else, or just removed by another process
                Path(entry.path).unlink()


@cache
def _machine() -> str:
    """Return what tells machines apart that write to one folder."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere a signal of number zero is not only a question
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of somebody else
        pass
    return True
