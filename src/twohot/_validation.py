"""The friendly edge: checks of user input and their messages.

Every message names the argument, what came, what is allowed, and what to do. An argument is written
`name=value`, or `name=…` where any value may stand: the command line turns that into its options.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from twohot._types import FloatArray, Matrix

# Soft targets may miss one by what storing them as float16 costs.
SOFT_TARGET_TOLERANCE = 1e-3


def is_integer(value: object) -> bool:
    """Return whether a value counts: an int or numpy integer, not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return whether a value is one real number, not a bool."""
    return is_integer(value) or isinstance(value, (float, np.floating))


def check_count(name: str, value: int, minimum: int) -> int:
    """Return `value` as an int, at least `minimum`."""
    if is_integer(value) and int(value) >= minimum:
        return int(value)
    raise ValueError(f"{name}={value!r} is not allowed: pass an integer of at least {minimum}.")


def check_within(name: str, value: float, low: float, high: float) -> float:
    """Return `value` as a float inside [low, high]; NaN is outside."""
    if is_real(value) and low <= float(value) <= high:
        return float(value)
    raise ValueError(f"{name}={value!r} is not allowed: pass a number from {low:g} to {high:g}.")


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float, positive and finite."""
    if is_real(value) and math.isfinite(value) and value > 0:
        return float(value)
    raise ValueError(f"{name}={value!r} is not allowed: pass a positive, finite number.")


def check_choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """Return `value`, one of the allowed words."""
    if isinstance(value, str) and value in allowed:
        return value
    words = ", ".join(repr(word) for word in allowed)
    raise ValueError(f"{name}={value!r} is not known: pass one of {words}.")


def check_candidates(n_candidates: int, n_classes: int) -> int:
    """Return a number of candidates, at least one and at most all classes."""
    if check_count("n_candidates", n_candidates, 1) > n_classes:
        raise ValueError(
            f"n_candidates={n_candidates} is more than the {n_classes} classes: pass at most "
            f"{n_classes} (2 is the paper's)."
        )
    return int(n_candidates)


def check_penalty(
    l2: Any,
    ridge: Any,
    default_ridge: float,
    n_rounds: int,
) -> tuple[str, list[float]]:
    """Return which strength was given, "l2" or "ridge", and its value for every round."""
    if l2 is not None and ridge is not None:
        raise ValueError(
            f"l2={l2!r} and ridge={ridge!r} both set the penalty: pass one of them and leave the "
            "other None (l2 = ridge · mean squared norm / (n_classes · total weight))."
        )
    name = "ridge" if l2 is None else "l2"
    given = ridge if l2 is None else l2
    if given is None:
        given = default_ridge
    if isinstance(given, (list, tuple, np.ndarray)):
        if len(given) != n_rounds:
            raise ValueError(
                f"{name} has {len(given)} values for {n_rounds} rounds: pass one number, or one "
                "per round."
            )
        return name, [check_positive(f"{name}[{i}]", value) for i, value in enumerate(given)]
    return name, [check_positive(name, given)] * n_rounds


def check_precision(dtype: DTypeLike) -> np.dtype[Any]:
    """Return a precision to compute in: float32 or float64."""
    allowed: tuple[np.dtype[Any], ...] = (np.dtype(np.float32), np.dtype(np.float64))
    for precision in allowed:
        if dtype in (precision, precision.name, precision.type):
            return precision
    raise ValueError(f"dtype={dtype!r} is not a precision to compute in: pass float32 or float64.")


def check_finite(name: str, block: Matrix, first_row: int) -> None:
    """Raise if a block of rows holds NaN or infinity, with the place of the first."""
    values = block.data if sp.issparse(block) else block
    # A finite sum has finite terms; one that is not may be an overflow, hence the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    dense = block.toarray() if sp.issparse(block) else block
    row, column = np.argwhere(~np.isfinite(dense))[0]
    kind = "NaN" if np.isnan(dense[row, column]) else "infinity"
    raise ValueError(
        f"{name} contains {kind} at row {first_row + row}, column {column}: features must be "
        "finite, so drop or impute the row (NaN and inf cannot be used)."
    )


def check_start(start: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """Return given start coefficients as float64."""
    array = np.asarray(start, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(
            f"start has shape {array.shape} or holds NaN or infinity: pass finite coefficients of "
            f"shape {shape} (n_classes, n_features), or 'teacher' or 'zero'."
        )
    return array


def check_soft_targets(
    targets: Matrix, n_samples: int, *, name: str = "targets", beside: str = "X"
) -> Matrix:
    """Return soft targets, dense or CSR, with rows that are not negative and sum to one.

    A message calls them by `name`, and by `beside` what has a row for each of theirs.
    """
    rows: Any = sp.csr_array(targets) if sp.issparse(targets) else np.asarray(targets)
    values = rows.data if sp.issparse(targets) else rows
    if values.dtype.kind not in "fiu":
        raise ValueError(f"{name} has dtype {values.dtype}: pass probabilities, as real numbers.")
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise ValueError(
            f"{name} has shape {rows.shape}: pass one row of probabilities per sample and one "
            "column per class, at least two classes."
        )
    if rows.shape[0] != n_samples:
        raise ValueError(
            f"{name} has {rows.shape[0]} rows and {beside} has {n_samples}: pass one row of "
            f"probabilities per row of {beside}."
        )
    sums = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
    # Written so that NaN fails too.
    if not np.all(values >= 0):
        raise ValueError(
            f"{name} has the negative or missing value {np.min(values)}: pass probabilities."
        )
    if not np.all(np.abs(sums - 1) <= SOFT_TARGET_TOLERANCE):
        row = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(
            f"{name} has rows that do not sum to one (row {row}: {sums[row]:.6g}): divide each "
            "row by its sum."
        )
    return rows


def check_known_labels(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise if a label is none of the classes."""
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        shown = ", ".join(repr(label) for label in unknown.tolist()[:5])
        raise ValueError(
            f"y has {unknown.size} label(s) that the probe was not fitted on ({shown}): score only "
            f"rows of its {classes.size} classes (see classes_), or fit again with these labels."
        )
