"""Sums over blocks are taken in the order of the blocks, on any number of threads."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from twohot.rows.threads import count_jobs, map_blocks, ordered_map, sum_over_blocks

N_BLOCKS = 23


def awkward_terms(block):
    """Terms of very different size, whose float64 sum depends on the order."""
    generator = np.random.default_rng(block)
    return (
        generator.normal(size=(3, 4)) * 10.0 ** generator.integers(-9, 9),
        np.float32(generator.normal()),
    )


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 50])
def test_sums_are_the_same_to_the_last_bit_for_any_number_of_threads(n_jobs):
    expected = np.zeros((3, 4)), np.zeros(())
    for block in range(N_BLOCKS):
        expected = tuple(a + b for a, b in zip(expected, awkward_terms(block), strict=True))
    found = sum_over_blocks(awkward_terms, N_BLOCKS, n_jobs)
    backwards = sum(awkward_terms(block)[0] for block in reversed(range(N_BLOCKS)))
    assert not np.array_equal(backwards, expected[0])  # so that the order is put to the test
    for term, known in zip(found, expected, strict=True):
        np.testing.assert_array_equal(term, known)


def test_terms_in_float32_are_added_up_in_float64():
    # In float32, 1 + 1e-8 is 1.
    (total,) = sum_over_blocks(lambda block: (np.float32(1e-8 if block else 1),), 1001, 1)
    assert total.dtype == np.float64
    assert total == pytest.approx(1 + 1e-5, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_terms_are_not_written_to(n_jobs):
    kept = [np.full(2, float(block)) for block in range(5)]
    sum_over_blocks(lambda block: (kept[block],), 5, n_jobs)
    assert [array[0] for array in kept] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_blocks_come_back_in_order(n_jobs):
    last_is_done = threading.Event()

    def terms_of(block):
        if n_jobs > 1 and block == 0:
            last_is_done.wait(10)  # the first block is the slowest
        if block == 1:
            last_is_done.set()
        return (np.array(block),)

    found = [int(terms[0]) for terms in map_blocks(terms_of, 9, n_jobs)]
    assert found == list(range(9))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("bad", [0, 7, N_BLOCKS - 1])
def test_an_error_in_a_block_reaches_the_caller(n_jobs, bad):
    def terms_of(block):
        if block == bad:
            raise ValueError(f"block {block} is bad")
        return (np.zeros(2),)

    with pytest.raises(ValueError, match=f"block {bad} is bad"):
        sum_over_blocks(terms_of, N_BLOCKS, n_jobs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_items_are_mapped_in_order_and_not_far_ahead(n_threads):
    started = []

    def square(item):
        started.append(item)
        return item**2

    results = ordered_map(square, 100, n_threads, 5)
    for taken in range(1, 20):
        assert next(results) == (taken - 1) ** 2
        assert len(started) <= taken + 5
    results.close()
    assert len(started) < 100
    assert list(ordered_map(square, 30, n_threads, 5)) == [item**2 for item in range(30)]
    assert list(ordered_map(square, 0, n_threads, 5)) == []


def test_few_results_wait_to_be_taken():
    started = []

    def terms_of(block):
        started.append(block)
        return (np.zeros(1),)

    blocks = map_blocks(terms_of, 100, 2)
    for taken in range(1, 4):
        next(blocks)
        # Two per thread wait, and the one that was handed out.
        assert len(started) <= taken + 2 * 2
    blocks.close()
    assert len(started) < 100


def test_a_block_has_one_blas_thread():
    limits = []

    def terms_of(_):
        blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        limits.extend(pool["num_threads"] for pool in blas)
        return (np.zeros(1),)

    before = [pool["num_threads"] for pool in threadpool_info()]
    sum_over_blocks(terms_of, 3, 2)
    assert set(limits) == {1}
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_numbers_of_threads_count_like_those_of_joblib(monkeypatch):
    monkeypatch.setattr("twohot.rows.threads.cpu_count", lambda: 8)
    asked = [None, -1, -2, -8, -20, 1, 3]
    assert [count_jobs(n_jobs) for n_jobs in asked] == [8, 8, 7, 1, 1, 1, 3]
