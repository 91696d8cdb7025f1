"""Passes over rows: sums in order, results in order, what belongs to a row, and their count."""

import numpy as np
import pytest
import scipy.sparse as sp

from prepared import prepared_rows
from twohot.rows.rows import Rows
from twohot.rows.rows import copy_prepared as copy_of

N_ROWS = 23 * 64


def numbers(n_jobs=1):
    """Return rows that are their own number, in 23 blocks."""
    return Rows(np.arange(float(N_ROWS))[:, np.newaxis], n_jobs=n_jobs, block_rows=64)


def awkward_terms(block):
    """Terms of very different size, whose float64 sum depends on the order."""
    generator = np.random.default_rng(block.first)
    return (
        generator.normal(size=(3, 4)) * 10.0 ** generator.integers(-9, 9),
        np.float32(generator.normal()),
    )


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 50])
def test_sums_are_the_same_to_the_last_bit_for_any_number_of_threads(n_jobs):
    rows = numbers(n_jobs)
    blocks = [rows.block(number) for number in range(rows.n_blocks)]
    expected = np.zeros((3, 4)), np.zeros(())
    for block in blocks:
        expected = tuple(a + b for a, b in zip(expected, awkward_terms(block), strict=True))
    found = rows.sum(awkward_terms)
    backwards = sum(awkward_terms(block)[0] for block in reversed(blocks))
    assert not np.array_equal(backwards, expected[0])  # so that the order is put to the test
    for term, known in zip(found, expected, strict=True):
        np.testing.assert_array_equal(term, known)


def test_terms_in_float32_are_added_up_in_float64():
    # In float32, 1 + 1e-8 is 1.
    rows = Rows(np.zeros((1001, 1)), block_rows=1)
    (total,) = rows.sum(lambda block: (np.float32(1e-8 if block.first else 1),))
    assert total.dtype == np.float64
    assert total == pytest.approx(1 + 1e-5, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_terms_are_not_written_to(n_jobs):
    rows, kept = numbers(n_jobs), [np.full(2, float(block)) for block in range(23)]
    rows.sum(lambda block: (kept[block.first // 64],))
    assert [array[0] for array in kept] == list(range(23))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_are_in_the_order_of_the_rows_and_shared_arrays_reach_every_block(n_jobs):
    found = np.concatenate(list(numbers(n_jobs).map(lambda block, by: block.x[:, 0] * by, 2.0)))
    np.testing.assert_array_equal(found, 2.0 * np.arange(N_ROWS))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_derived_stays_beside_its_rows(sparse, n_jobs):
    rows = numbers(n_jobs)

    def doubled(block):
        values = 2 * block.x
        return sp.csr_array(values) if sparse else values

    rows.derive("double", doubled)
    (differs,) = rows.sum(lambda block: (abs(block.columns["double"] - 2 * block.x).sum(),))
    assert differs == 0
    index = np.array([7, 1000, 3])
    for taken in (rows.take(index), rows.in_memory(index)):
        column = taken.columns["double"]
        found = column.toarray() if sparse else column
        np.testing.assert_array_equal(found[:, 0], 2.0 * index)


def test_rows_count_the_products_with_dense_matrices():
    rows = prepared_rows(np.random.default_rng(0).normal(size=(150, 4)), n_jobs=2)
    coef = np.ones((3, 4))

    def kernel(block):
        logits = block.project(coef)
        block.gather(sp.csr_array(logits))
        return (block.gather(logits),)

    rows.sum(kernel)
    assert rows.n_passes == 1
    list(rows.map(lambda block: block.project(coef).copy()))
    assert rows.n_passes == 1.5
    assert rows.take(np.arange(100)).n_passes == 0


def test_rows_in_memory_are_prepared_once():
    X = np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32)
    rows = prepared_rows(X, intercept=True, weights=np.arange(150.0))
    index = np.random.default_rng(1).permutation(150)[:90]
    held = rows.in_memory(index)
    expected = np.concatenate(list(rows.map(copy_of, rows.dtype)))[index]
    np.testing.assert_array_equal(held.X, expected)
    np.testing.assert_array_equal(np.concatenate(list(held.map(copy_of, held.dtype))), expected)
    assert (held.intercept, held.dtype, held.n_classes) == (True, rows.dtype, rows.n_classes)
    np.testing.assert_allclose(held.given_weights, index)


def test_the_block_size_is_a_parameter():
    X = np.zeros((1000, 100))
    assert Rows(X).n_blocks == 1
    assert Rows(X, block_rows=300).n_blocks == 4
    assert Rows(X, n_classes=2**9).n_blocks == 2  # so wide are the logits
    assert Rows(X, n_classes=2**12).n_blocks == 4  # 256 rows are worth adding to a sum
