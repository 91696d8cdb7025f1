"""Validation of the arguments of `fit` and `predict`."""

import sys
import warnings
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data

from twohot.base import (
    NUMERIC_FEATURES,
    STORED,
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    as_numpy,
    check_all_labelled,
    check_precision,
    check_real,
    check_real_rows,
    check_two_classes,
    check_within,
    code_labels,
    counted,
    first_few,
    is_polars_frame,
    is_real,
    order_key,
)
from twohot.rows import column_here, example_row, open_features
from twohot.tables import check_same_index, pandas_index

# Minimum total weight; the maximum is its reciprocal. Squares of both are valid float64 numbers.
LEAST_WEIGHT = 1e-100
ClassWeight: TypeAlias = dict[Any, float] | str | None


def check_features(estimator: Any, X: Matrix, *, reset: bool) -> Matrix:
    """Return features as a float array or CSR array, without a copy if they already are one.

    As in scikit-learn, `reset=True` stores the names and the number of the features in the
    estimator. With `reset=False`, they must be equal to the stored names and number. NaN and
    infinity are found later, when rows are read.
    """
    example = example_row(X)
    if example is not None:
        check_features(estimator, example, reset=reset)
        return open_features(X)
    X = open_features(X)
    if is_polars_frame(X):  # check the names here, and the numbers below as an array without names
        X = X.lazy().collect()
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        check_real_rows(X)
        estimator, reset = BaseEstimator(), True
    X = as_numpy(X)
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    check_real_rows(X)
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=STORED,
            ensure_all_finite=False,
        )
    except (TypeError, ValueError) as error:
        if kind == "O" or "could not convert" in str(error) or "float() argument" in str(error):
            problem = f"X is not numeric ({error})"
            raise type(error)(f"{problem}: {NUMERIC_FEATURES}") from error
        raise
    return sp.csr_array(checked) if sp.issparse(checked) else checked


def choose_precision(dtype: DTypeLike | None, X: Matrix) -> np.dtype[Any]:
    """Return the precision to compute in; by default, float64 only for float64 features."""
    if dtype is not None:
        return check_precision(dtype)
    return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)


def check_same_rows(X: Matrix, **others: Any) -> None:
    """Raise if a pandas argument has another index than X, or the same index in another order."""
    index = pandas_index(X)
    for name, data in others.items():
        check_same_index(name, data, "X", index)


def check_rows_to_fit(
    estimator: Any, X: Matrix, y: Any, sample_weight: Any = None, **others: Any
) -> tuple[Matrix, Labels]:
    """Return validated features and labels; raise unless there are at least two classes.

    If X and another argument are pandas objects, their indexes must be equal.
    """
    rows = check_features(estimator, X, reset=True)
    if y is None:
        problem = f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        raise ValueError(f"{problem}: pass one label per row of X.")
    column = column_here("y", y)
    if isinstance(column, np.ndarray) and column.ndim == 2:
        column = column_or_1d(column, warn=True)
    labels = code_labels(column).present()
    if len(labels.codes) != rows.shape[0]:
        problem = f"has {counted(len(labels.codes), 'label')} and X has {rows.shape[0]} rows"
        raise ArgumentError("y", problem, "pass one label per row.")
    check_all_labelled(labels)
    check_two_classes(labels)
    values = labels.classes.tolist()
    if not isinstance(y, Labels) and values != sorted(values):
        warnings.warn(
            f"The labels are numbers as text, which classes_ sorts by value ({first_few(values)}). "
            "roc_auc_score, log_loss and similar functions expect text in alphabetical order. To "
            "use these functions, pass the labels as integers.",
            UserWarning,
            stacklevel=4,
        )
    check_same_rows(X, y=y, sample_weight=sample_weight, **others)
    return rows, labels


def check_class_names(classes: ArrayLike | None, n_classes: int) -> NDArray[Any]:
    """Return the names of the columns of soft targets; by default, numbers from 0."""
    if classes is None:
        return np.arange(n_classes)
    names = np.asarray(classes)
    values = names.tolist()
    if names.shape != (n_classes,):
        problem = f"has shape {names.shape} and targets has {n_classes} columns"
        raise ArgumentError("classes", problem, "pass one name per column.")
    if len(set(values)) < n_classes:
        twice = next(name for name in values if values.count(name) > 1)
        advice = "pass a different name for each column."
        raise ArgumentError("classes", f"names {twice!r} twice", advice)
    if sorted(values, key=order_key) != values:
        advice = "sort the names, and the columns of targets in the same way."
        raise ArgumentError("classes", "is not sorted (numbers by value, then text)", advice)
    return names


def row_weights(
    X: Matrix,
    targets: IntArray | Matrix,
    classes: NDArray[Any],
    class_weight: ClassWeight,
    sample_weight: ArrayLike | None,
) -> FloatArray | None:
    """Return the weight of each row; None without `class_weight` and `sample_weight`.

    The class weight of a row is the weight of its label. For soft targets, it is the mean of the
    class weights, weighted by the targets.
    """
    if sample_weight is None and class_weight is None:
        return None
    weights = _checked_weights(column_here("sample_weight", sample_weight), X.shape[0])
    _check_total("sample_weight", weights)
    if class_weight is not None:
        if targets.ndim == 1:
            mass = np.bincount(targets, weights, len(classes)).astype(np.float64)
            weights *= _class_weights(mass, classes, class_weight)[targets]
        else:
            weights *= targets @ _class_weights(weights @ targets, classes, class_weight)
        _check_total("sample_weight times class_weight", weights)
    return weights


def _checked_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return one non-negative weight per row; ones by default."""
    if sample_weight is None or is_real(sample_weight):
        return np.full(n_samples, 1.0 if sample_weight is None else sample_weight, np.float64)
    given = np.asanyarray(as_numpy(sample_weight))
    check_real("sample_weight", given)
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        problem = f"holds a value that is not a number ({error})"
        raise ArgumentError("sample_weight", problem, "pass real numbers.") from error
    if weights.shape != (n_samples,):
        problem = f"has shape {weights.shape} and X has {counted(n_samples, 'row')}"
        raise ArgumentError("sample_weight", problem, "pass one weight per row.")
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if wrong.size:
        problem = f"has the weight {weights[wrong[0]]} in row {wrong[0]} (the first row is 0)"
        raise ArgumentError("sample_weight", problem, "pass finite weights of at least zero.")
    return weights


def _check_total(name: str, weights: FloatArray) -> None:
    """Raise if the total weight is zero, or its square would overflow or underflow."""
    if not weights.any():
        advice = "pass a positive weight for at least one row."
        raise ArgumentError(name, "is zero for every row", advice)
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not LEAST_WEIGHT <= total <= 1 / LEAST_WEIGHT:
        problem = f"adds up to {total:.1g}, which is too {'large' if total > 1 else 'small'}"
        raise ArgumentError(name, problem, "divide the weights by their mean.")


def _class_weights(
    mass: FloatArray, classes: NDArray[Any], class_weight: dict[Any, float] | str
) -> FloatArray:
    """Return the weight of each class, given the total weight of its rows."""
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            given, advice = {"class_weight": class_weight}, "pass 'balanced', a dict or None."
            raise ArgumentError(given, "is not known", advice)
        return np.asarray(mass.sum() / (len(classes) * np.where(mass > 0, mass, np.inf)))
    known = classes.tolist()
    if unknown := [name for name in class_weight if name not in known]:
        problem = f"names {unknown[0]!r}, which is not among the {len(known)} classes"
        raise ArgumentError("class_weight", problem, "pass weights for labels that are in y.")
    for name, weight in class_weight.items():
        check_within(f"class_weight[{name!r}]", weight, 0, sys.float_info.max)
    return np.array([class_weight.get(name, 1.0) for name in known], dtype=np.float64)
