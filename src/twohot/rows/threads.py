"""Sum a function of a block over all blocks, on all cores, in the order of the blocks.

Blocks go to a small pool of threads, each of which uses one BLAS thread: the softmax between the
two matrix products of a pass then keeps as many cores busy as the products do. The terms are
added in the order of the blocks, so that the sum is the same, to the last bit, for any number of
threads.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from twohot._checks.numbers import is_integer
from twohot._types import FloatArray

Terms: TypeAlias = tuple[FloatArray, ...]
Result = TypeVar("Result")


def sum_over_blocks(terms_of: Callable[[int], Terms], n_blocks: int, n_jobs: int) -> Terms:
    """Return Σ_i terms_of(i) for i = 0 … n_blocks - 1, added up in float64."""
    blocks = map_blocks(terms_of, n_blocks, n_jobs)
    total = tuple(np.array(term, dtype=np.float64) for term in next(blocks))
    for terms in blocks:
        for accumulated, term in zip(total, terms, strict=True):
            np.add(accumulated, term, out=accumulated)
    return total


def map_blocks(result_of: Callable[[int], Result], n_blocks: int, n_jobs: int) -> Iterator[Result]:
    """Yield result_of(i) in order; at most two results per thread wait to be taken."""
    with one_blas_thread():
        if min(n_jobs, n_blocks) == 1:
            yield from map(result_of, range(n_blocks))
        else:
            yield from ordered_map(result_of, n_blocks, n_jobs, 2 * n_jobs)


def ordered_map(
    function: Callable[[int], Result], n_items: int, n_threads: int, n_ahead: int
) -> Iterator[Result]:
    """Yield function(i) for i = 0 … n_items - 1 in order, each called by one of some threads.

    At most `n_ahead` results wait to be taken. What waits is cancelled once nobody takes any more.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads, thread_name_prefix="twohot") as pool:
        try:
            for item in range(n_items):
                if len(waiting) == n_ahead:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(function, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def count_jobs(n_jobs: int | None) -> int:
    """Return the number of threads: all cores for None or -1, all but one for -2, and so on."""
    if n_jobs is None:
        return int(cpu_count())
    if not is_integer(n_jobs) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not a number of threads: pass a positive integer, -1 for all "
            "cores, or None."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, int(cpu_count()) + 1 + int(n_jobs))


@cache
def _blas() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds, so it is done once.
    return ThreadpoolController().select(user_api="blas")


class _SharedLimit:
    """One BLAS thread, asked for by any number of threads.

    The limit is one of the process, and some BLAS libraries lift it only in the thread that set
    it. So the first thread to ask owns it until it leaves; the others find it set.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._depth = 0  # how often the owner has entered
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
