"""Results are in order, on the requested number of threads, each with one BLAS thread."""

import threading

import joblib
import pytest
from threadpoolctl import threadpool_info

from twohot.rows.threads import count_threads, map_on_cores, one_blas_thread, ordered_map


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_results_are_in_order(n_threads):
    last_is_done = threading.Event()

    def function(item):
        if n_threads > 1 and item == 0:
            last_is_done.wait(10)  # the first is the slowest
        if item == 1:
            last_is_done.set()
        return item

    for n_items in (9, 1, 0):
        assert list(ordered_map(function, n_items, n_threads, 4)) == list(range(n_items))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("bad", [0, 7, 22])
def test_error_reaches_the_caller(n_threads, bad):
    def function(item):
        if item == bad:
            raise ValueError(f"item {item} is bad")

    with pytest.raises(ValueError, match=f"item {bad} is bad"):
        list(ordered_map(function, 23, n_threads, 4))


def test_few_results_are_held():
    started = []
    results = ordered_map(started.append, 100, 2, 4)
    for taken in range(1, 4):
        next(results)
        assert len(started) <= taken + 4
    results.close()
    assert len(started) < 100


@pytest.mark.parametrize("n_started", [0, 1])
def test_caller_works_if_no_thread_can_be_started(monkeypatch, n_started):
    start, started = threading.Thread.start, []

    def start_few(thread):
        if len(started) == n_started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_few)
    assert list(ordered_map(lambda item: item**2, 30, 3, 6)) == [item**2 for item in range(30)]
    with pytest.raises(ZeroDivisionError):
        list(ordered_map(lambda item: 1 // (item - 20), 30, 3, 6))


# Threads of BLAS ----------------------------------------------------------------------------------


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_each_thread_has_one_blas_thread_until_the_end():
    before, this = blas_threads(), threading.current_thread()
    assert list(map_on_cores(lambda _: blas_threads(), 3, 2)) == [{1}] * 3
    assert list(map_on_cores(lambda _: threading.current_thread(), 3, 1)) == [this] * 3
    assert blas_threads() == before
    with one_blas_thread():
        assert list(ordered_map(lambda _: blas_threads(), 3, 2, 4)) == [{1}] * 3
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_blas_limit_ends_with_the_thread_that_set_it():
    before, entered, leave = blas_threads(), threading.Event(), threading.Event()

    def other():
        with one_blas_thread(), one_blas_thread():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        with one_blas_thread():
            thread.start()
            entered.wait(60)
        assert blas_threads() == {1}
    assert blas_threads() == before
    leave.set()
    thread.join()
    assert blas_threads() == before


# Number of threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [-1, -2, -1000, 1, 3])
def test_n_jobs_means_what_it_means_to_joblib(n_jobs):
    assert count_threads(n_jobs) == joblib.effective_n_jobs(n_jobs)


def test_no_n_jobs_means_all_cores():
    assert count_threads(None) == joblib.cpu_count()


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_refuses_other_n_jobs(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.* is not a number of threads: pass a positive"):
        count_threads(n_jobs)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_worker_of_joblib_uses_its_share(backend):
    workers = joblib.Parallel(n_jobs=2, backend=backend)
    assert workers(joblib.delayed(count_threads)(None) for _ in range(2)) == [1, 1]
    assert workers(joblib.delayed(count_threads)(3) for _ in range(2)) == [3, 3]
    with joblib.parallel_config(n_jobs=1):
        assert count_threads(None) == 1
