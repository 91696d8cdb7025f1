"""Features, labels and weights of Dask, checked: they stay in their chunks, where they are kept."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.arrays import check_real
from twohot._checks.labels import Labels, code_labels, missing_texts
from twohot._checks.messages import ArgumentError, counted
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.chunked import ChunkedColumn, ChunkedFeatures, open_chunks, open_column
from twohot.rows.chunked_labels import ChunkedLabels, count_codes
from twohot.rows.dask_collection import check_collection, precision_of


def example_rows(X: Any) -> Any:
    """Return a row like those of a Dask array or frame, with its names."""
    check_collection(X)
    if hasattr(X, "columns"):  # a frame
        return X._meta_nonempty.iloc[:1] * 0.0  # noqa: SLF001 - what Dask knows without computing
    return np.zeros((1, X.shape[1]), precision_of(X))


def chunked_features(X: Any) -> Matrix:
    """Return the features in their chunks; few of them, fewer rows than columns, come here."""
    chunked = open_chunks(X)
    # Fewer coordinates than features: a fit would gather them anyway.
    return chunked[:] if len(chunked) < chunked.shape[1] else chunked


def chunked_labels(
    y: Any, X: ChunkedFeatures, *, all_labelled: bool = True, missing: Collection[str] = ()
) -> ChunkedLabels:
    """Return one label per row, of the classes of all chunks; or of some rows, if that is enough.

    Texts among `missing` mean no label.
    """
    if isinstance(y, ChunkedLabels):
        return y
    if isinstance(y, Labels):
        codes = open_column("y", y.codes, X)
        return _checked(ChunkedLabels(codes, y.classes, y.sizes), all_labelled=all_labelled)
    column = open_column("y", y, X)
    texts = missing_texts(missing)
    found = [label for classes in column.gather(distinct_labels, texts) for label in classes]
    if not found:
        problem = f"has no label in any of its {counted(len(column), 'row')}"
        raise ArgumentError("y", problem, "pass labels for rows of at least two classes.")
    classes = code_labels(found).classes
    codes = column.derive(codes_among, X.tasks.share(classes), texts)
    counts = np.sum(codes.gather(count_codes, len(classes) + 1), axis=0)
    return _checked(ChunkedLabels(codes, classes, counts[:-1]), all_labelled=all_labelled)


def _checked(labels: ChunkedLabels, *, all_labelled: bool) -> ChunkedLabels:
    n_missing = len(labels.codes) - int(labels.sizes.sum())
    if n_missing and all_labelled:
        problem = f"has no label in {counted(n_missing, 'row')}"
        raise ArgumentError("y", problem, "drop these rows before fitting.")
    if labels.n_classes < 2:
        problem = f"has one class only ({labels.classes.tolist()[0]!r})"
        raise ArgumentError("y", problem, "pass rows of at least two classes.")
    return labels


def chunked_weights(sample_weight: Any, X: ChunkedFeatures) -> ChunkedColumn:
    """Return the weight of each row; ones where none is given."""
    if sample_weight is None:
        return X.column.derive(ones_for)
    weights = open_column("sample_weight", sample_weight, X).derive(as_weights)
    least = min(weights.gather(np.min))
    if not least >= 0:
        problem = f"has the negative or missing weight {least}"
        raise ArgumentError("sample_weight", problem, "pass weights of at least zero.")
    return weights


# Tasks -------------------------------------------------------------------------------------------


def distinct_labels(cells: Any, missing: Collection[str]) -> list[Any]:
    """Return the labels that occur in a chunk."""
    return list(code_labels(cells, missing=missing).present().classes.tolist())


def codes_among(cells: Any, classes: NDArray[Any], missing: Collection[str]) -> IntArray:
    """Return the labels of a chunk as positions in the classes."""
    return code_labels(cells, missing=missing).among(classes).codes


def ones_for(chunk: Any) -> FloatArray:
    """Return a weight of one for each row of a chunk."""
    return np.ones(len(chunk))


def as_weights(cells: Any) -> FloatArray:
    """Return the weights of a chunk."""
    given = np.asanyarray(cells)
    check_real("sample_weight", given)
    if given.ndim != 1:
        problem = f"has a chunk of shape {given.shape}"
        raise ArgumentError("sample_weight", problem, "pass one weight per row.")
    return np.asarray(given, dtype=np.float64)


def times_class(weights: FloatArray, codes: IntArray, by_class: FloatArray) -> FloatArray:
    """Return weights times those of the classes."""
    return weights * by_class[codes]


def mass_of_classes(weights: FloatArray, codes: IntArray, n_classes: int) -> FloatArray:
    """Return the weight of each class in a chunk."""
    return np.bincount(codes, weights, n_classes).astype(np.float64)
