"""Do the runs of a plan that have no record yet, one at a time or several at once."""

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from twohot.experiment.json_values import as_json
from twohot.experiment.log import Log, unfinished
from twohot.experiment.record import R, Record, versions_of

PACKAGES = ("twohot", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Progress:
    """What a callback is told after every run."""

    n_done: int
    n_runs: int  # to do in all, those that had a record not counted
    record: Record[Any, Any]  # of the run that ended


def run_plan(
    plan: Iterable[R],
    log: Log,
    measure: Callable[[R], Any],
    *,
    n_jobs: int | None = 1,
    packages: Iterable[str] = PACKAGES,
    callback: Callable[[Progress], object] | None = None,
) -> list[Record[R, Any]]:
    """Do what is unfinished and append a record of each run as it ends.

    Stopped at any moment, all records are kept but those of the runs in hand. A run that raises is
    recorded as failed, does not keep the others from being done, and is tried again the next time.

    Parameters
    ----------
    plan : iterable of frozen dataclasses
        The runs, the most wanted first.
    log : Log
        Where the records are, and go to.
    measure : callable
        Takes a run and returns its result, which JSON can hold. BLAS has one thread, so that
        results are the same for every `n_jobs`; it may set another number for itself.
    n_jobs : int, optional
        How many processes work at once, as joblib counts them; 1 works in this one.
    packages : iterable of str
        Whose versions the records carry.
    callback : callable, optional
        Called with a `Progress` after every run.

    Returns
    -------
    list of Record
        Those of this call, in the order in which they ended.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Square:
    ...     number: int
    >>> def measure(run):
    ...     return run.number**2
    >>> log, plan = Log("runs.jsonl"), [Square(2), Square(3)]
    >>> _ = run_plan(plan, log, measure, callback=lambda progress: print(progress.n_done))
    1
    2
    >>> [record.result for record in log.finished(Square, int)]
    [4, 9]
    >>> run_plan(plan, log, measure)
    []
    """
    waiting = unfinished(plan, log)
    versions = versions_of(packages)
    # Batches of one, handed back as they end: a batch is what a kill would lose.
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    done: list[Record[R, Any]] = []
    attempts = parallel(delayed(_attempt)(run, measure, versions) for run in waiting)
    with closing(attempts):
        for record in attempts:
            log.append(record)
            done.append(record)
            if callback is not None:
                callback(Progress(len(done), len(waiting), record))
    return done


def _attempt(run: R, measure: Callable[[R], Any], versions: dict[str, str]) -> Record[R, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    result, error = None, None
    try:
        with threadpool_limits(1):
            result = measure(run)
        as_json(result)  # what JSON cannot hold is a failure of this run, not of the log
    except Exception as raised:  # noqa: BLE001 - any failure of a run is its result
        result, error = None, f"{type(raised).__name__}: {raised}"
    return Record(
        run, result, error, time.process_time() - cpu, time.perf_counter() - wall, versions
    )
