"""Rows that the tests of Dask share: in memory, and in chunks."""

import dask.array as da
import numpy as np

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(1500, 24)).astype(np.float32)
Y = (X[:, :6] + GENERATOR.normal(size=(1500, 6))).argmax(axis=1)
WEIGHTS = GENERATOR.uniform(0.5, 2, 1500)
# One without rows, one with two, and one with most of them.
SKEWED = (300, 2, 0, 1000, 198)


def chunked(values, rows=SKEWED):
    return da.from_array(values, chunks=(rows, *((-1,) * (values.ndim - 1))))


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)
