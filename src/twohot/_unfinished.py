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
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

NAME = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,10})-\w+\.unfinished")
# Characters of the target's name that are kept: names of files end at 255 bytes.
KEPT = 40
NAME_BYTES = 255  # of a name that common disks take
# Entries of a folder that are listed about as fast as one file is written to disk.
LISTED_PER_WRITE = 1000

_writes_to_wait: Counter[Path] = Counter()  # by folder: before it is listed again


def name_beside(target: Path, suffix: str) -> Path:
    """Return the path of what belongs to a file and lies beside it, under a name that disks take.

    Examples
    --------
    >>> name_beside(Path("probe.safetensors"), ".checkpoint").name
    'probe.safetensors.checkpoint'
    >>> len(name_beside(Path("p" * 250), ".checkpoint").name)
    68
    """
    name = f"{target.name}{suffix}"
    if len(os.fsencode(name)) > NAME_BYTES:
        digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
        name = f"{target.name[:KEPT]}.{digest}{suffix}"
    return target.with_name(name)


def new_unfinished(target: Path) -> tuple[int, Path]:
    """Make an empty file beside a target; return its open descriptor, for writing, and its path."""
    folder = target.parent.resolve()
    _writes_to_wait[folder] -= 1
    if _writes_to_wait[folder] < 0:  # listing costs no more than writing, however many files
        _writes_to_wait[folder] = remove_abandoned(folder) // LISTED_PER_WRITE
    prefix = f".{target.name[:KEPT]}.{_machine()}-{os.getpid()}-"
    try:
        descriptor, path = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=".unfinished")
    except OSError as error:  # nobody knows the file by the name that it has meanwhile
        raise OSError(error.errno, error.strerror, str(target)) from error
    return descriptor, Path(path)


def remove_abandoned(folder: Path) -> int:
    """Remove what dead processes of this machine were writing to a folder; return its entries."""
    n_entries = 0
    with suppress(PermissionError), os.scandir(folder) as entries:
        for n_entries, entry in enumerate(entries, start=1):  # noqa: B007
            name = NAME.fullmatch(entry.name)
            if name is None or name["machine"] != _machine() or _is_alive(int(name["process"])):
                continue
            with suppress(OSError):  # of somebody else, or just removed by another process
                Path(entry.path).unlink()
    return n_entries


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
