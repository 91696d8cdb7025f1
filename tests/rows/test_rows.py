"""Passes over rows: ordered sums and results, columns of rows, and the count of products."""

import numpy as np
import pytest
import scipy.sparse as sp

from prepared import prepared_rows
from twohot.rows.rows import Rows, copy_prepared

N_ROWS = 23 * 64


def numbers(n_jobs=1):
    """Return rows that hold their own number, in 23 blocks."""
    return Rows(np.arange(float(N_ROWS))[:, np.newaxis], n_jobs=n_jobs, block_rows=64)


def awkward_terms(block):
    """Terms of very different size, whose float64 sum depends on the order."""
    generator = np.random.default_rng(block.first)
    return (
        generator.normal(size=(3, 4)) * 10.0 ** generator.integers(-9, 9),
        np.float32(generator.normal()),
    )


@pytest.mark.parametrize("n_jobs", [1, 2, 50])
def test_sums_are_identical_for_any_number_of_threads(n_jobs):
    rows = numbers(n_jobs)
    blocks = [rows.block(number) for number in range(rows.n_blocks)]
    expected = np.zeros((3, 4)), np.zeros(())
    for block in blocks:
        expected = tuple(a + b for a, b in zip(expected, awkward_terms(block), strict=True))
    found = rows.sum(awkward_terms)
    backwards = sum(awkward_terms(block)[0] for block in reversed(blocks))
    assert not np.array_equal(backwards, expected[0])  # the order matters
    for term, known in zip(found, expected, strict=True):
        np.testing.assert_array_equal(term, known)


def test_float32_terms_are_summed_in_float64():
    # In float32, 1 + 1e-8 is 1.
    rows = Rows(np.zeros((1001, 1)), block_rows=1)
    (total,) = rows.sum(lambda block: (np.float32(1e-8 if block.first else 1),))
    assert total.dtype == np.float64
    assert total == pytest.approx(1 + 1e-5, rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_sum_does_not_change_the_terms(n_jobs):
    rows, kept = numbers(n_jobs), [np.full(2, float(block)) for block in range(23)]
    rows.sum(lambda block: (kept[block.first // 64],))
    assert [array[0] for array in kept] == list(range(23))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_are_in_order_and_blocks_get_shared_arguments(n_jobs):
    found = np.concatenate(list(numbers(n_jobs).map(lambda block, by: block.x[:, 0] * by, 2.0)))
    np.testing.assert_array_equal(found, 2.0 * np.arange(N_ROWS))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_derived_columns_follow_their_rows(store, n_jobs):
    rows = numbers(n_jobs)
    rows.derive("double", lambda block: store(2 * block.x))
    (differs,) = rows.sum(lambda block: (abs(block.columns["double"] - 2 * block.x).sum(),))
    assert differs == 0
    index = np.array([7, 1000, 3])
    for taken in (rows.take(index), rows.in_memory(index)):
        column = taken.columns["double"]
        found = column.toarray() if sp.issparse(column) else column
        np.testing.assert_array_equal(found[:, 0], 2.0 * index)


def test_products_with_dense_matrices_are_counted():
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


def test_rows_in_memory_are_prepared():
    X = np.random.default_rng(0).normal(size=(150, 4)).astype(np.float32)
    rows = prepared_rows(X, intercept=True, weights=np.arange(150.0))
    index = np.random.default_rng(1).permutation(150)[:90]
    held = rows.in_memory(index)
    expected = np.concatenate(list(rows.map(copy_prepared, rows.dtype)))[index]
    np.testing.assert_array_equal(held.X, expected)
    np.testing.assert_array_equal(
        np.concatenate(list(held.map(copy_prepared, held.dtype))), expected
    )
    assert (held.intercept, held.dtype, held.n_classes) == (True, rows.dtype, rows.n_classes)
    np.testing.assert_allclose(held.given_weights, index)


def test_blocks_have_a_suitable_number_of_rows():
    X = np.zeros((1000, 100))
    assert Rows(X).n_blocks == 1
    assert Rows(X, block_rows=300).n_blocks == 4
    assert Rows(X, n_classes=2**10).n_blocks == 2  # wide logits
    assert Rows(X, n_classes=2**12).n_blocks == 4  # at least 256 rows
