"""Small labelled features for tests of class correlations, and their correlations of all pairs."""

import dask.array as da
import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from stored import memory_map


def dense_correlations(X, labels):
    """Return the N × N correlations of the rows that have a label, and their labels."""
    rows = X.toarray() if sp.issparse(X) else np.asarray(X)
    rows = rows[labels >= 0].astype(np.float64)
    rows = rows - rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T, labels[labels >= 0]


@st.composite
def labelled_rows(draw, min_size=1):
    """Draw features, labels (some -1) of classes that all have a row, and superclasses."""
    n_classes = draw(st.integers(2, 6))
    sizes = draw(st.lists(st.integers(min_size, 5), min_size=n_classes, max_size=n_classes))
    n_unlabelled = draw(st.integers(0, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = np.concatenate([np.repeat(np.arange(n_classes), sizes), np.full(n_unlabelled, -1)])
    generator.shuffle(labels)
    X = generator.normal(size=(len(labels), draw(st.integers(3, 6)))) + 0.5 * labels[:, np.newaxis]
    superclass = generator.integers(0, draw(st.integers(1, n_classes)), n_classes)
    return X, labels, np.unique(superclass, return_inverse=True)[1]


STORES = ["float16", "float32", "int64", "memory map", "csr"]


def stored_as(kind, X, folder):
    """Return small integers, which are the same in every precision, in one kind of array."""
    if kind == "memory map":
        return memory_map(X.astype(np.float32), folder)
    return sp.csr_array(X.astype(float)) if kind == "csr" else X.astype(kind)


def in_two(values):
    """Return values in two chunks of Dask, the first of which has one row."""
    return da.from_array(values, chunks=((1, len(values) - 1), *((-1,) * (values.ndim - 1))))
