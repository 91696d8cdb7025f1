"""The workers that a command uses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twohot.base import SURELY_HELD, ArgumentError, load_extra, memory_limit
from twohot.rows import ClusterTasks

# Seconds until a scheduler that does not answer counts as not there.
PATIENCE = 10
# Of the memory, what a command may hold at once: others need some too.
HELD_SHARE = 0.5


@contextmanager
def connected(scheduler: str | None) -> Iterator[Any]:
    """Give the client of a Dask scheduler, active while it is there; None without one."""
    if scheduler is None:
        yield None
        return
    distributed = load_extra("distributed", "dask", "clusters")
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        problem = f"does not answer ({error})"
        advice = "start it by `dask scheduler` and workers by `dask worker`, or leave it out."
        raise ArgumentError({"scheduler": scheduler}, problem, advice) from error
    with client:
        yield client


def exceeds_memory(n_bytes: int) -> bool:
    """Return whether so many bytes are more than this process should hold."""
    return n_bytes > SURELY_HELD and n_bytes > HELD_SHARE * memory_limit()


def tasks_of(client: Any) -> ClusterTasks | None:
    """Return where tasks of a client run, on workers that have our twohot; None without one."""
    if client is None:
        return None
    workers_of(client)
    return ClusterTasks(client)


def workers_of(client: Any) -> list[dict[str, Any]]:
    """Return what a scheduler says of each of its workers, or that there is none."""
    found = list(client.scheduler_info(n_workers=-1)["workers"].values())
    if not found:
        problem = f"{client.scheduler.address} has no workers"
        raise ArgumentError("", problem, "start some by `dask worker`.")
    return found
