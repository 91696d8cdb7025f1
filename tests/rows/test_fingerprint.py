"""Rows are known by a few numbers: laws of what changes them, and what does not."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from prepared import prepared_rows
from twohot.probes.checkpoint import fingerprint

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(1, 1, (300, 7)).astype(np.float32)
WEIGHTS = GENERATOR.random(300)
EXPECTED = fingerprint(prepared_rows(X, weights=WEIGHTS))


def differs(other):
    return np.linalg.norm(other - EXPECTED) / np.linalg.norm(EXPECTED)


def test_blocks_and_coordinates_do_not_matter():
    turned = X @ ortho_group.rvs(7, random_state=0).astype(np.float32)
    for rows in (
        prepared_rows(X, weights=WEIGHTS, block_rows=77),
        prepared_rows(turned, weights=WEIGHTS),
    ):
        assert differs(fingerprint(rows)) < 1e-6


def test_chunks_do_not_matter():
    da = pytest.importorskip("dask.array")
    chunked = pytest.importorskip("twohot.rows.chunked")
    features = chunked.open_chunks(da.from_array(X, chunks=(90, 7)))
    rows = prepared_rows(features, weights=WEIGHTS, block_rows=None)
    assert differs(fingerprint(rows)) < 1e-6


def test_another_order_or_another_row_shows():
    swapped = [1, 0, *range(2, 300)]
    one_other = np.where(np.arange(300)[:, None] == 200, X[[7]], X)
    for rows, weights in [
        (X[swapped], WEIGHTS[swapped]),
        (X, WEIGHTS[swapped]),
        (one_other, WEIGHTS),
    ]:
        assert differs(fingerprint(prepared_rows(rows, weights=weights))) > 1e-4
