"""Run functions in threads, with results in order; each thread uses one BLAS thread.

The softmax between the two matrix products of a pass then uses as many cores as the products do.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from twohot.base import ArgumentError, is_integer

Result = TypeVar("Result")


def ordered_map(
    function: Callable[[int], Result], n_items: int, n_threads: int, n_ahead: int
) -> Iterator[Result]:
    """Yield function(0), function(1), … in order; hold at most `n_ahead` finished results."""
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads, thread_name_prefix="twohot") as pool:
        try:
            for item in range(n_items):
                if len(waiting) >= n_ahead:
                    yield waiting.popleft().result()
                waiting.append(submitted(pool, function, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def submitted(
    pool: ThreadPoolExecutor, function: Callable[[int], Result], item: int
) -> Future[Result]:
    """Return the future of function(item); if no thread can be started, compute it here."""
    try:
        return pool.submit(function, item)
    except RuntimeError:  # there is no memory for a thread, or the user's limit is reached
        done: Future[Result] = Future()
        try:
            done.set_result(function(item))
        except Exception as error:  # noqa: BLE001 (raised when the result is requested)
            done.set_exception(error)
        return done


def map_on_cores(
    function: Callable[[int], Result], n_items: int, n_threads: int
) -> Iterator[Result]:
    """Yield function(0), function(1), … in order; each thread uses one BLAS thread."""
    with one_blas_thread():
        if min(n_threads, n_items) <= 1:
            yield from map(function, range(n_items))
        else:
            yield from ordered_map(function, n_items, n_threads, 2 * n_threads)


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` means, as in joblib.

    None and -1 mean all cores, -2 all cores but one. In a worker of joblib, None means the number
    of threads that joblib assigned to the worker.
    """
    if n_jobs is None:
        backend, configured = get_active_backend()
        # With more threads, a worker of joblib would compete with the other workers.
        if backend.nesting_level or configured is not None:
            return int(effective_n_jobs(None))
        return int(cpu_count())
    if not is_integer(n_jobs) or n_jobs == 0:
        raise ArgumentError(
            {"n_jobs": n_jobs}, "is not a number of threads", "pass a positive integer, -1 or None."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, int(cpu_count()) + 1 + int(n_jobs))


@cache
def _blas() -> ThreadpoolController:
    # The search for the libraries takes milliseconds, so it runs only once.
    return ThreadpoolController().select(user_api="blas")


class _SharedLimit:
    """A context with one BLAS thread, which many threads may enter at once.

    The limit applies to the whole process. In some BLAS libraries, only the thread that set the
    limit can remove it. So the first thread that enters sets the limit, and removes it at its exit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._depth = 0  # number of nested contexts of the owner
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._owner is None:
                self._owner = threading.get_ident()
                self._limit = _blas().limit(limits=1)
            if self._owner == threading.get_ident():
                self._depth += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._owner == threading.get_ident():
                self._depth -= 1
                if self._depth == 0:
                    self._owner = None
                    self._limit.restore_original_limits()


_shared_limit = _SharedLimit()


def one_blas_thread() -> _SharedLimit:
    """Return a context in which every BLAS call uses the calling thread alone."""
    return _shared_limit
