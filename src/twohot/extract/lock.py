"""One extraction at a time to one output: a second one would remove the batches of the first."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if os.name == "posix":
    import fcntl

LOCK = "lock"


@contextmanager
def only_writer(workspace: Path) -> Iterator[None]:
    """Hold a folder of unfinished work, or raise if another process holds it.

    The system lets go of it when a process ends, however it ends. An empty folder is removed.
    """
    workspace.mkdir(exist_ok=True)
    path = workspace / LOCK
    with path.open("w") as file:
        if os.name == "posix":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = f"another process is working in {workspace}"
                raise ValueError(f"{problem}: wait for it, or choose another output.") from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # batches that the next run goes on from, or removed already
                workspace.rmdir()
