"""Tasks where Dask runs them: on a cluster, if a client is active, else on threads or processes.

What a task returns stays where it ran, and is known by a handle: a future of the cluster, or a
delayed object that has been computed. Handles are arguments of other tasks.
"""

import pkgutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from twohot.base import ArgumentError, load_extra

# What can go wrong where Dask works: a chunk that cannot be computed, a cluster that is gone ------


class ChunkError(RuntimeError):
    """A chunk on which something failed."""


class ClusterLostError(ArgumentError):
    """A cluster that went away, or lost what it held, while it was working."""


def cluster_lost(address: str, cause: str) -> ClusterLostError:
    """Return an error that says which cluster is gone, why, and how the work could resume.

    Examples
    --------
    >>> print(cluster_lost("tcp://10.0.0.1:8786", "connection closed"))
    the Dask cluster at tcp://10.0.0.1:8786 went away or was restarted in the middle of the work
    (connection closed): start one and run this again; a fit or an audit with checkpoint=… resumes
    after what it had finished.
    """
    happened = "went away or was restarted in the middle of the work"
    problem = f"the Dask cluster at {address} {happened} ({cause})"
    resume = "a fit or an audit with {checkpoint} resumes after what it had finished."
    return ClusterLostError("", problem, f"start one and run this again; {resume}", checkpoint=...)


def lost_after(error: ClusterLostError, path: str, *, is_kept: bool) -> ClusterLostError:
    """Return the error of work that keeps in a file what is finished, if anything is."""
    kept = "what is finished is kept there" if is_kept else "nothing was finished yet"
    advice = f"start one and run this again with {{checkpoint}} to resume: {kept}."
    return ClusterLostError("", error.problem, advice, checkpoint=path)


Handle = Any

# Dask's own words say neither why workers die most often, nor what to do.
KILLED = (
    "every worker that tried it died, most often because the chunk needs more memory than a worker "
    "has: make the chunks smaller, or give the workers more memory."
)
# Share of the workers' memory that features may take: chunks are worked on beside them.
FEATURE_SHARE = 0.6


class Tasks:
    """Tasks on threads or processes of this machine, as Dask is configured."""

    def __init__(self) -> None:
        self._dask = load_extra("dask", "dask", "Dask arrays and frames")

    def share(self, value: Any) -> Any:
        """Return the value in a box that Dask does not look into."""
        return _Box(value)

    def adopt(self, delayed: Sequence[Any]) -> list[Handle]:
        """Return them as they are."""
        return list(delayed)

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """Return delayed objects."""
        delayed = self._dask.delayed(_unboxed, pure=False)
        return [delayed(function, *call) for call in calls]

    def keep(self, handles: Sequence[Handle]) -> list[Handle]:
        """Compute now, and keep the results in this process."""
        return list(self._dask.persist(*handles))

    def results(self, handles: Sequence[Handle]) -> list[Any]:
        """Compute now."""
        return list(self._dask.compute(*handles))

    def room(self) -> float:
        """Return the bytes that features may take where they are kept, as far as that is known."""
        return float("inf")

    def first_failed(self, handles: Sequence[Handle]) -> int | None:  # noqa: ARG002 - as a cluster
        """Return the place of the first task that has raised, as far as that is known."""
        return None

    @contextmanager
    def naming_chunks(self, name: str, handles: Sequence[Handle]) -> Iterator[None]:
        """Name the chunk that cannot be computed, where that is known; handles are one for each."""
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
        """Return a future of the value: a task, so that it comes back if its worker is lost."""
        return self.run(_same, [(value,)])[0]

    def room(self) -> float:
        """Return the bytes that features may take in the memory of the workers."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        # Of a worker without a limit Dask says 0. Workers that are still to come are not known.
        limits = [worker["memory_limit"] or float("inf") for worker in workers]
        return FEATURE_SHARE * float(sum(limits) or "inf")

    def adopt(self, delayed: Sequence[Any]) -> list[Handle]:
        """Have them computed."""
        with self._reaching_workers():
            return list(self.client.compute(list(delayed)))

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """Return futures; what was lost with a worker is computed again by the scheduler."""
        name = f"twohot-{function.__name__.strip('_')}"
        with self._reaching_workers(), warnings.catch_warnings():
            # Coefficients of many classes are meant to be sent.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return list(self.client.map(function, *zip(*calls, strict=True), key=name, pure=False))

    def keep(self, handles: Sequence[Handle]) -> list[Handle]:
        """Return futures as they are: workers keep what they stand for."""
        return list(handles)

    def results(self, handles: Sequence[Handle]) -> list[Any]:
        """Wait for the results, or say that the cluster is gone."""
        with self._reaching_workers(handles):
            return list(self.client.gather(list(handles)))

    def first_failed(self, handles: Sequence[Handle]) -> int | None:
        """Return the place of the first future whose task has raised."""
        failed = (place for place, future in enumerate(handles) if future.status == "error")
        return next(failed, None)

    @contextmanager
    def _reaching_workers(self, handles: Sequence[Handle] = ()) -> Iterator[None]:
        """Say that the cluster is gone, where that is why something fails."""
        try:
            yield
        except Exception as error:
            # A task may raise an OSError of its own, of a file that is not there for instance.
            no_answer = isinstance(error, OSError) and self.first_failed(handles) is None
            running = self.client.status == "running"
            if no_answer or not running or isinstance(error, CancelledError):
                raise cluster_lost(self._address, str(error)) from error
            raise


class _Box:
    """A value that Dask passes on as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _unboxed(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*map(_opened, arguments))


def _opened(argument: Any) -> Any:
    """Return an argument without its box; those of a list without theirs."""
    if isinstance(argument, list):
        return [_opened(each) for each in argument]
    return argument.value if isinstance(argument, _Box) else argument


def _same(value: Any) -> Any:
    return value


def active_tasks() -> Tasks:
    """Return the active cluster, or the threads or processes of this machine."""
    try:
        client = import_module("distributed").get_client()
    except (ImportError, ValueError):  # not installed, or not active
        return Tasks()
    return ClusterTasks(client)


def check_workers(client: Any) -> None:
    """Raise if a worker has no twohot, or another version of it."""
    ours = pkgutil.resolve_name("twohot:__version__")
    found = client.run(pkgutil.resolve_name, "twohot:__version__", on_error="return")
    for worker, version in found.items():
        if version == ours or isinstance(version, OSError):  # a worker that is just being lost
            continue
        has = f"twohot {version}" if isinstance(version, str) else f"no twohot ({version})"
        problem = f"the Dask worker {worker} has {has}, and this process has {ours}"
        raise ArgumentError("", problem, f"install twohot {ours} on all workers.")
