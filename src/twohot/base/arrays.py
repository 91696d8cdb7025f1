"""Array types, and checks of arrays that a user passes: features, probabilities, coefficients.

Conventions
-----------
Samples are rows. There are N samples, K classes and d features. An intercept counts as a feature.
Features have shape (N, d); targets and outputs (N, K); coefficients and gradients (K, d). A moment
(K, d) is a product eᵀX of an array e (N, K) and the features X.
"""

from collections.abc import Sequence
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

# Tensors of torch and frames of polars as numpy arrays --------------------------------------------


def is_polars_frame(X: Any) -> bool:
    """Return whether X is a polars table, loaded or lazy."""
    return type(X).__module__.startswith("polars.") and hasattr(X, "lazy")


def as_numpy(X: Any) -> Matrix:
    """Return a torch tensor or a polars table as a numpy array; return anything else unchanged.

    The array keeps the precision of the input; scikit-learn would convert the input to float64.
    Only bfloat16, which numpy lacks, becomes float32. A tensor that requires a gradient is detached
    first.

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


# Precisions in which features are read. Features of any other precision become float64.
STORED = [np.float64, np.float32, np.float16]
# Kinds of dtypes that numpy would convert to numbers without an error.
NO_NUMBERS = {
    "U": "text",
    "S": "bytes",
    "T": "text",
    "M": "dates",
    "m": "durations",
    "V": "records",
    "c": "complex numbers (Complex data not supported)",
}
NO_NUMBERS_ADVICE = {"c": "pass their real parts or their absolute values."}
# Advice for columns of text.
NUMERIC_FEATURES = "pass numbers, one column per feature. To embed text, run `twohot extract`."
NO_NUMBER_TYPES = (str, bytes, complex, np.complexfloating, date, time, timedelta, np.datetime64)
# Tolerance for the sum of the soft targets of a row: the rounding error of float16.
SOFT_TARGET_TOLERANCE = 1e-3


def check_precision(dtype: DTypeLike) -> np.dtype[Any]:
    """Return `dtype` as a numpy dtype; raise unless it is float32 or float64."""
    for precision in (np.dtype(np.float32), np.dtype(np.float64)):
        if dtype in (precision, precision.name, precision.type):
            return precision
    problem = "is not a precision to compute in"
    raise ArgumentError({"dtype": dtype}, problem, "pass float32 or float64.")


def check_real(name: str, values: Any, where: str = "", advice: str = "pass real numbers.") -> None:
    """Raise if a value is masked or is not a real number; numpy would convert such a value.

    In the error, `name` is the name of the argument. `where` is a place such as " in chunk 3".

    Examples
    --------
    >>> check_real("X", np.array([["0.5"]]))
    Traceback (most recent call last):
    twohot.base.messages.ArgumentError: X holds text (dtype <U3): pass real numbers.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = tuple(np.argwhere(np.ma.getmaskarray(values))[0].tolist())
        problem = f"has masked cells{where}, first at index {place}"
        advice = "fill these cells with numbers (numpy.ma.filled), or drop their rows."
        raise ArgumentError(name, problem, advice)
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind in NO_NUMBERS:
        problem = f"holds {NO_NUMBERS[kind]}{where} (dtype {dtype})"
        raise ArgumentError(name, problem, NO_NUMBERS_ADVICE.get(kind, advice))
    if kind == "O" and isinstance(values, np.ndarray):
        for cell_type in set(map(type, values.ravel().tolist())):
            if issubclass(cell_type, NO_NUMBER_TYPES):
                problem = f"holds objects of type {cell_type.__name__}{where}"
                raise ArgumentError(name, problem, advice)


def check_real_rows(X: Any) -> None:
    """Raise if features contain text, dates or masked cells, or have only one dimension.

    numpy would convert "0.5" to a number, a date to a count of days, and a masked cell to the value
    under its mask.
    """
    if texts := _text_columns(X):
        columns = "a column that is" if len(texts) == 1 else "columns that are"
        problem = f"has {columns} not numeric ({first_few(texts)})"
        raise ArgumentError("X", problem, NUMERIC_FEATURES)
    if hasattr(X, "columns") and hasattr(X, "iloc"):  # a column of objects may contain text
        for name, kind in zip(X.columns, X.dtypes, strict=True):
            if kind.kind in ("O", "c"):
                cells, where = X[name].to_numpy(), f" in the column {name!r}"
                check_real("X", cells, where, NUMERIC_FEATURES)
            if getattr(kind, "fill_value", 0) != 0:  # fill value of a sparse column
                problem = f"has a sparse column {name!r} with fill value {kind.fill_value}"
                raise ArgumentError("X", problem, "pass X.sparse.to_dense(), or use fill value 0.")
    else:
        X = _as_array(X) if isinstance(X, list | tuple) else X
        check_real("X", X)
    shape = getattr(X, "shape", ())
    if len(shape) == 1:
        advice = (
            "pass rows of features, of shape (n_samples, n_features). Reshape your data by "
            "X.reshape(-1, 1) if it is one feature, by X.reshape(1, -1) if it is one row."
        )
        raise ArgumentError("X", f"has shape {tuple(shape)}", advice)


def _text_columns(X: Any) -> list[str]:
    """Return the names of the non-numeric columns of a data frame; for an array, an empty list."""
    try:
        frame = nw.from_native(X, pass_through=True, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        twice = " ".join(str(error).split())
        problem = f"has equal column names ({twice})"
        raise ArgumentError("X", problem, "rename one of these columns.") from error
    if not isinstance(frame, nw.DataFrame):
        return []
    numeric = (nw.Boolean, nw.Object, nw.Unknown)  # a column of objects may contain numbers
    kinds = frame.schema.items()
    return [str(name) for name, kind in kinds if not (kind.is_numeric() or kind in numeric)]


def _as_array(rows: Any) -> Any:
    """Return lists of features as an array; if numpy cannot convert the cells, an empty array."""
    try:
        return np.asanyarray(rows)
    except ValueError as error:
        advice = "pass the same number of features in each row."
        raise ArgumentError("X", "has rows of different lengths", advice) from error
    except TypeError:
        return np.empty(0)


class NotFiniteError(ArgumentError):
    """Error about features that contain NaN or infinity."""


def check_finite(
    name: str,
    block: Matrix,
    first_row: int,
    places: IntArray | Sequence[str] | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Raise if a block of rows contains NaN or infinity; the error names the first such cell.

    `places` contains the names of the rows, and `columns` the names of the columns. By default, the
    error states the positions of the row and of the column. The first row of the block has the
    position `first_row`.
    """
    values = block.data if sp.issparse(block) else block
    # If the sum is finite, all values are finite. Else the sum may have overflowed: check values.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    dense = block.toarray() if sp.issparse(block) else block
    row, column = np.argwhere(~np.isfinite(dense))[0]
    kind = "NaN" if np.isnan(dense[row, column]) else "infinity"
    place = first_row + row if places is None else places[row]
    where = repr(columns[column]) if columns else column
    problem = f"contains {kind} at row {place}, column {where}"
    advice = "drop the row or impute the value: features must be finite (no NaN, no inf)."
    raise NotFiniteError(name, problem, advice)


def check_start(start: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """Return initial coefficients as float64; raise unless they are finite and have this shape."""
    array = np.asarray(start, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        is_other = array.shape != shape
        problem = f"has shape {array.shape}" if is_other else "contains NaN or infinity"
        shaped = f"of shape (n_classes, n_features) = {shape}"
        advice = f"pass finite coefficients {shaped}, or 'teacher' or 'zero'."
        raise ArgumentError("start", problem, advice)
    return array


def check_soft_targets(
    targets: Matrix, n_samples: int, *, name: str = "targets", beside: str = "X"
) -> Matrix:
    """Return soft targets, dense or CSR; raise unless each row has one probability per class.

    In errors, `name` is the name of the targets, and `beside` is the name of the argument that must
    have the same number of rows.
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
        least = np.min(values)
        problem = "contains NaN" if np.isnan(least) else f"has the negative value {least}"
        raise ArgumentError(name, problem, "pass probabilities, from 0 to 1.")
    if not np.all(np.abs(sums - 1) <= SOFT_TARGET_TOLERANCE):
        row = int(np.argmax(np.abs(sums - 1)))
        problem = f"has rows that do not sum to one (row {row}: {sums[row]:.6g})"
        raise ArgumentError(name, problem, "divide each row by its sum.")
    return rows


# Ties: equal scores at the boundary between selected and other scores share a weight --------------


def boundary(scores: NDArray[Any], n_kept: int) -> NDArray[Any]:
    """Return the `n_kept`-th largest score of each row, of shape (..., 1)."""
    place = scores.shape[-1] - n_kept
    return np.asarray(np.partition(scores, place, axis=-1)[..., place, np.newaxis])


def top_shares(
    scores: NDArray[Any], n_kept: int, slack: NDArray[Any], *, lowest: bool = False
) -> NDArray[np.float64]:
    """Return equal weights for the `n_kept` largest scores of each row, and zero for the others.

    The weights of a row sum to one. Scores that tie for the last place share its weight equally.

    Parameters
    ----------
    scores : array of shape (..., n_classes)
        Larger is better.
    n_kept : int
        Number of scores that have a weight if there is no tie.
    slack : array of shape (..., 1)
        Scores within this distance of the `n_kept`-th largest score are tied.
    lowest : bool
        If true, tied scores do not share a weight: those that come first in the row have it.

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
