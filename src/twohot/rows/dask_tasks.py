"""Run tasks with Dask: on a cluster if a client is active, else in threads or processes.

The result of a task stays where it was computed. A handle refers to a result: a handle is a future
of the cluster, or a delayed object of Dask. Handles can be arguments of other tasks.
"""

import pkgutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from twohot.base import ArgumentError, load_extra

# Errors of Dask: a chunk that cannot be computed, a cluster that is lost --------------------------


class ChunkError(RuntimeError):
    """A chunk could not be computed or processed."""


class ClusterLostError(ArgumentError):
    """A cluster, or data that it held, was lost during the work."""


def cluster_lost(address: str, cause: str) -> ClusterLostError:
    """Return the error for a lost cluster; its message states how to resume.

    Examples
    --------
    >>> print(cluster_lost("tcp://10.0.0.1:8786", "connection closed"))
    the Dask cluster at tcp://10.0.0.1:8786 was lost or restarted during the work
    (connection closed): start a cluster and run this again; a fit or an audit with checkpoint=…
    resumes after its last finished step.
    """
    happened = "was lost or restarted during the work"
    problem = f"the Dask cluster at {address} {happened} ({cause})"
    resume = "a fit or an audit with {checkpoint} resumes after its last finished step."
    advice = f"start a cluster and run this again; {resume}"
    return ClusterLostError("", problem, advice, checkpoint=...)


def lost_after(error: ClusterLostError, path: str, *, is_kept: bool) -> ClusterLostError:
    """Return the error for a lost cluster; its message states how to resume from `path`."""
    kept = "finished steps are stored there" if is_kept else "no step was finished"
    advice = f"start a cluster and run this again with {{checkpoint}} ({kept})."
    return ClusterLostError("", error.problem, advice, checkpoint=path)


Handle = Any

# Dask's message states neither the usual cause nor what to do.
KILLED = (
    "every worker that computed it died, usually because the chunk needs more memory than a worker "
    "has: make the chunks smaller, or give the workers more memory."
)
# Fraction of the workers' memory for features; kernels use the rest.
FEATURE_SHARE = 0.6


class Tasks:
    """Tasks in threads or processes of this machine; Dask's configuration determines which."""

    def __init__(self) -> None:
        self._dask = load_extra("dask", "dask", "Dask arrays and frames")

    def share(self, value: Any) -> Any:
        """Return a delayed object that contains the value; Dask does not look inside the value."""
        return self._dask.delayed(value, pure=False, traverse=False)

    def adopt(self, delayed: Sequence[Any]) -> list[Handle]:
        """Return the delayed objects unchanged."""
        return list(delayed)

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """Return one delayed object for each call `function(*arguments)`."""
        delayed = self._dask.delayed(function, pure=False)
        return [delayed(*call) for call in calls]

    def keep(self, handles: Sequence[Handle]) -> list[Handle]:
        """Compute the tasks now, and return handles to results in this process."""
        return list(self._dask.persist(*handles))

    def results(self, handles: Sequence[Handle]) -> list[Any]:
        """Compute the tasks now, and return their results."""
        return list(self._dask.compute(*handles))

    def room(self) -> float:
        """Return the bytes available for features; infinity if unknown."""
        return float("inf")

    def first_failed(self, handles: Sequence[Handle]) -> int | None:  # noqa: ARG002 - as a cluster
        """Return the position of the first failed task; None if unknown."""
        return None

    @contextmanager
    def naming_chunks(self, name: str, handles: Sequence[Handle]) -> Iterator[None]:
        """In this context, errors name the chunk that failed; `handles` has a handle per chunk."""
        try:
            yield
        except (ArgumentError, ChunkError):
            raise
        except Exception as error:
            number = self.first_failed(handles)
            which = "a chunk" if number is None else f"chunk {number}"
            why = KILLED if type(error).__name__ == "KilledWorker" else repr(error)
            raise ChunkError(f"{which} of {name} cannot be computed: {why}") from error


class ClusterTasks(Tasks):
    """Tasks on the workers of a cluster."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._address = client.scheduler.address
        check_workers(client)

    def share(self, value: Any) -> Any:
        """Return a future of the value, as the result of a task that Dask can run again."""
        return self.run(_same, [(value,)])[0]

    def room(self) -> float:
        """Return the bytes available for features in the memory of the workers."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        # Dask reports 0 for a worker without a limit.
        limits = [worker["memory_limit"] or float("inf") for worker in workers]
        return FEATURE_SHARE * float(sum(limits) or "inf")

    def adopt(self, delayed: Sequence[Any]) -> list[Handle]:
        """Start computing the delayed objects; return their futures."""
        with self._reaching_workers():
            return list(self.client.compute(list(delayed)))

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """Return one future per call; if a worker is lost, other workers repeat its calls."""
        name = f"twohot-{function.__name__.strip('_')}"
        with self._reaching_workers(), warnings.catch_warnings():
            # Ignore the warning about large arguments: coefficients of many classes are large.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return list(self.client.map(function, *zip(*calls, strict=True), key=name, pure=False))

    def keep(self, handles: Sequence[Handle]) -> list[Handle]:
        """Return the futures unchanged: workers keep their results."""
        return list(handles)

    def results(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the results; raise if the cluster is lost."""
        with self._reaching_workers(handles):
            return list(self.client.gather(list(handles)))

    def first_failed(self, handles: Sequence[Handle]) -> int | None:
        """Return the position of the first future whose task failed."""
        failed = (place for place, future in enumerate(handles) if future.status == "error")
        return next(failed, None)

    @contextmanager
    def _reaching_workers(self, handles: Sequence[Handle] = ()) -> Iterator[None]:
        """If the cluster is lost in this context, raise an error that names its address."""
        try:
            yield
        except Exception as error:
            # A task may raise an OSError too, for a missing file for instance.
            no_answer = isinstance(error, OSError) and self.first_failed(handles) is None
            running = self.client.status == "running"
            if no_answer or not running or isinstance(error, CancelledError):
                raise cluster_lost(self._address, str(error)) from error
            raise


def _same(value: Any) -> Any:
    return value


def active_tasks() -> Tasks:
    """Return `ClusterTasks` of the active cluster; without a cluster, `Tasks` of this machine."""
    try:
        client = import_module("distributed").get_client()
    except (ImportError, ValueError):  # no cluster package, or no active client
        return Tasks()
    return ClusterTasks(client)


def check_workers(client: Any) -> None:
    """Raise if a worker does not have the version of twohot that this process has."""
    ours = pkgutil.resolve_name("twohot:__version__")
    found = client.run(pkgutil.resolve_name, "twohot:__version__", on_error="return")
    for worker, version in found.items():
        if version == ours or isinstance(version, OSError):  # the connection is about to be lost
            continue
        has = f"twohot {version}" if isinstance(version, str) else f"no twohot ({version})"
        problem = f"the Dask worker {worker} has {has}, and this process has {ours}"
        raise ArgumentError("", problem, f"install twohot {ours} on all workers.")
