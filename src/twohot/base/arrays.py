"""Array types, and checks of arrays that a user passes: features, probabilities, coefficients.

Conventions
-----------
Samples are rows. There are N samples, d features (one more if there is an intercept) and K classes.
Features have shape (N, d); targets and outputs (N, K); coefficients, gradients and moments (K, d).
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, time, timedelta
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from twohot.base.messages import ArgumentError, counted, first_few

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
Matrix: TypeAlias = Any  # (N, …) rows as passed: a dense array or a scipy CSR array

# Tensors of torch and frames of polars as numpy arrays, in their own precision --------------------


def is_polars_frame(X: Any) -> bool:
    """Return whether X is a polars table, loaded or lazy."""
    return type(X).__module__.startswith("polars.") and hasattr(X, "lazy")


def text_columns(X: Any) -> list[str]:
    """Return the non-numeric columns of a data frame; none for an array.

    Examples
    --------
    >>> import pandas as pd
    >>> text_columns(pd.DataFrame({"x": [1.5], "kind": ["cat"]}))
    ['kind']
    """
    try:
        frame = nw.from_native(X, pass_through=True, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        twice = " ".join(str(error).split())
        raise ArgumentError("X", f"has equal column names ({twice})", "rename one.") from error
    if not isinstance(frame, nw.DataFrame):
        return []
    # A column of objects may hold Python numbers.
    return [
        str(name)
        for name, kind in frame.schema.items()
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown))
    ]


def as_numpy(X: Any) -> Matrix:
    """Return a torch tensor or a polars table as an array; anything else stays unchanged.

    scikit-learn would convert both to float64. torch does not convert tensors that require a
    gradient, or bfloat16 tensors; here, a bfloat16 tensor becomes float32.

    Examples
    --------
    >>> import torch
    >>> as_numpy(torch.ones(1, 2, dtype=torch.bfloat16, requires_grad=True))
    array([[1., 1.]], dtype=float32)
    """
    if is_polars_frame(X):
        return X.lazy().collect().to_numpy()
    if type(X).__module__.split(".")[0] == "torch" and hasattr(X, "detach"):
        tensor = X.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return X


# Precisions that features may be stored in; anything else is converted to the first.
STORED = [np.float64, np.float32, np.float16]
# Kinds of dtypes that numpy would silently convert to numbers.
NO_NUMBERS = {
    "U": "text",
    "S": "bytes",
    "T": "text",
    "M": "dates",
    "m": "durations",
    "V": "records",
    "c": "complex numbers (Complex data not supported)",
}
NO_NUMBERS_ADVICE = {"c": "pass their real part, or abs(…)."}
# Advice for columns of text.
NUMERIC_FEATURES = (
    "pass numbers, one column per feature. Texts need embeddings: run `twohot extract`."
)
NO_NUMBER_TYPES = (str, bytes, complex, np.complexfloating, date, time, timedelta, np.datetime64)
# Tolerance of the sums of soft targets: the rounding error of float16.
SOFT_TARGET_TOLERANCE = 1e-3


def check_precision(dtype: DTypeLike) -> np.dtype[Any]:
    """Return `dtype` as a numpy dtype; raise unless it is float32 or float64."""
    allowed: tuple[np.dtype[Any], ...] = (np.dtype(np.float32), np.dtype(np.float64))
    for precision in allowed:
        if dtype in (precision, precision.name, precision.type):
            return precision
    problem = "is not a precision to compute in"
    raise ArgumentError({"dtype": dtype}, problem, "pass float32 or float64.")


def check_real(name: str, values: Any, where: str = "", advice: str = "pass real numbers.") -> None:
    """Raise if values are not real numbers or are masked; no cell is converted silently.

    In the error, `name` is the argument and `where` a place, for instance " in chunk 3".

    Examples
    --------
    >>> check_real("X", np.array([["0.5"]]))
    Traceback (most recent call last):
    twohot.base.messages.ArgumentError: X holds text (dtype <U3): pass real numbers.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = tuple(np.argwhere(np.ma.getmaskarray(values))[0].tolist())
        problem = f"has masked cells{where}, first at {place}"
        filled = "fill them by X.filled(…), or drop their rows (numbers under a mask are not read)."
        raise ArgumentError(name, problem, filled)
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind in NO_NUMBERS:
        problem = f"holds {NO_NUMBERS[kind]}{where} (dtype {dtype})"
        raise ArgumentError(name, problem, NO_NUMBERS_ADVICE.get(kind, advice))
    if kind == "O" and isinstance(values, np.ndarray):
        for each in set(map(type, values.ravel().tolist())):
            if issubclass(each, NO_NUMBER_TYPES):
                problem = f"holds objects of type {each.__name__}{where}"
                raise ArgumentError(name, problem, advice)


def check_real_rows(X: Any) -> None:
    """Raise if features hold text, dates or masked cells, or have one dimension.

    numpy would read "0.5" as a number, a date as a count of days, and a masked cell as its hidden
    value.
    """
    if texts := text_columns(X):
        problem = f"is not numeric in the column {first_few(texts)}"
        raise ArgumentError("X", problem, NUMERIC_FEATURES)
    if hasattr(X, "columns") and hasattr(X, "iloc"):  # a column of objects may hold text
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            if kind.kind in ("O", "c"):
                cells, where = X[name].to_numpy(), f" in the column {name!r}"
                check_real("X", cells, where, NUMERIC_FEATURES)
            if getattr(kind, "fill_value", 0) != 0:  # fill value of a sparse column
                problem = f"has a sparse column {name!r} with fill value {kind.fill_value}"
                raise ArgumentError("X", problem, "pass X.sparse.to_dense(), or use fill value 0.")
    elif isinstance(X, list | tuple):
        listed = np.empty(0)
        with suppress(TypeError):  # not an array: a later check reports it
            try:
                listed = np.asanyarray(X)
            except ValueError as error:
                problem = "has rows of different lengths"
                advice = "pass the same number of features in each row."
                raise ArgumentError("X", problem, advice) from error
        X = listed
        check_real("X", X)
    else:
        check_real("X", X)
    shape = getattr(X, "shape", ())
    if len(shape) == 1:
        advice = (
            "pass rows of features, of shape (n_samples, n_features). Reshape your data by "
            "X.reshape(-1, 1) if it is one feature, by X.reshape(1, -1) if it is one row."
        )
        raise ArgumentError("X", f"has shape {tuple(shape)}", advice)


class NotFiniteError(ArgumentError):
    """Features that contain NaN or infinity."""


def check_finite(
    name: str,
    block: Matrix,
    first_row: int,
    places: IntArray | Sequence[str] | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Raise if a block of rows contains NaN or infinity; the error names the first such cell.

    `places` are the names of the rows; by default rows are counted from `first_row`. `columns`
    are the names of the columns; by default columns are counted.
    """
    values = block.data if sp.issparse(block) else block
    # If the sum is finite, all values are. If not, the sum may have overflowed: check each value.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    dense = block.toarray() if sp.issparse(block) else block
    row, column = np.argwhere(~np.isfinite(dense))[0]
    kind = "NaN" if np.isnan(dense[row, column]) else "infinity"
    place = first_row + row if places is None else places[row]
    where = repr(columns[column]) if columns else column
    problem = f"contains {kind} at row {place}, column {where}"
    advice = "drop or impute the row, because features must be finite (no NaN, no inf)."
    raise NotFiniteError(name, problem, advice)


def check_start(start: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """Return the start coefficients as float64; raise if their shape is wrong."""
    array = np.asarray(start, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        problem = f"has shape {array.shape} or holds NaN or infinity"
        shaped = f"of shape {shape} (n_classes, n_features)"
        advice = f"pass finite coefficients {shaped}, or 'teacher' or 'zero'."
        raise ArgumentError("start", problem, advice)
    return array


def check_soft_targets(
    targets: Matrix, n_samples: int, *, name: str = "targets", beside: str = "X"
) -> Matrix:
    """Return soft targets, dense or CSR; raise if one is negative or a row does not sum to one.

    In errors, `name` is the name of the targets, and `beside` that of the argument with as many
    rows.
    """
    rows: Any = np.asarray(as_numpy(targets))
    if sp.issparse(targets):
        rows = sp.csr_array(targets)
        if not rows.has_canonical_format:  # duplicate entries are summed
            rows = rows.copy()
            rows.sum_duplicates()
    values = rows.data if sp.issparse(targets) else rows
    if values.dtype.kind not in "fiu":
        raise ArgumentError(name, f"has dtype {values.dtype}", "pass real numbers.")
    if rows.ndim != 2 or rows.shape[1] < 2:
        advice = "pass one row of probabilities per sample, with columns for at least two classes."
        raise ArgumentError(name, f"has shape {rows.shape}", advice)
    if rows.shape[0] != n_samples:
        problem = f"has {counted(rows.shape[0], 'row')} and {beside} has {n_samples}"
        raise ArgumentError(name, problem, f"pass one row of probabilities per row of {beside}.")
    sums = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
    # The condition is written so that NaN fails too.
    if not np.all(values >= 0):
        problem = f"has the negative or missing value {np.min(values)}"
        raise ArgumentError(name, problem, "pass probabilities.")
    if not np.all(np.abs(sums - 1) <= SOFT_TARGET_TOLERANCE):
        row = int(np.argmax(np.abs(sums - 1)))
        problem = f"has rows that do not sum to one (row {row}: {sums[row]:.6g})"
        raise ArgumentError(name, problem, "divide each row by its sum.")
    return rows


# Ties: scores that are equal at a boundary share the remaining weight -----------------------------


def boundary(scores: NDArray[Any], n_kept: int) -> NDArray[Any]:
    """Return for each row the smallest of its `n_kept` largest scores, (..., 1)."""
    place = scores.shape[-1] - n_kept
    return np.asarray(np.partition(scores, place, axis=-1)[..., place, np.newaxis])


def top_shares(
    scores: NDArray[Any], n_kept: int, slack: NDArray[Any], *, lowest: bool = False
) -> NDArray[np.float64]:
    """Return weights for the `n_kept` largest scores of each row, equal except for ties.

    The weights of a row sum to one. Scores that tie for the last place share its weight.

    Parameters
    ----------
    scores : array of shape (..., n_classes)
        Larger is better.
    n_kept : int
        Number of scores that are kept.
    slack : array of shape (..., 1)
        Scores within this distance of the `n_kept`-th largest score are tied.
    lowest : bool
        Keep the first of the tied scores, as `argsort` would, instead of sharing the weight among
        them.

    Examples
    --------
    >>> top_shares(np.array([0.4, 0.2, 0.2, 0.2]), 2, np.array([1e-6])).round(3)
    array([0.5  , 0.167, 0.167, 0.167])
    """
    last = boundary(scores, n_kept)
    above = scores > last + slack
    tied = ~above & (scores >= last - slack)
    left = n_kept - above.sum(axis=-1, keepdims=True)
    if lowest:
        chosen = tied & (np.cumsum(tied, axis=-1) <= left)
    else:
        chosen = tied * (left / tied.sum(axis=-1, keepdims=True))
    return np.asarray((above + chosen) / n_kept)
