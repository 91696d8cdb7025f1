"""Arrays and frames of Dask as a user passes them: what is known without computing them."""

from typing import Any

import numpy as np

from twohot._checks.arrays import STORED
from twohot._checks.messages import ArgumentError, counted

NUMBERS = "fiub"  # kinds of dtypes that are numbers


def check_collection(X: Any) -> None:
    """Raise unless an array or frame of Dask holds rows of numbers, as far as that is known."""
    if getattr(X, "ndim", 0) != 2:
        problem = f"has {counted(getattr(X, 'ndim', 0), 'dimension')}"
        raise ArgumentError("X", problem, "pass rows of features, in two dimensions.")
    if hasattr(X, "columns"):  # a frame
        kinds = {str(name): dtype for name, dtype in X.dtypes.items()}
        other = [
            name for name, dtype in kinds.items() if getattr(dtype, "kind", "O") not in NUMBERS
        ]
        if other:
            problem = f"has a column {other[0]!r} of {kinds[other[0]]}"
            raise ArgumentError("X", problem, "pass columns of numbers alone.")
    elif X.dtype.kind not in f"{NUMBERS}O":  # objects may turn out to be numbers
        raise ArgumentError("X", f"has dtype {X.dtype}", "pass real numbers.")


def precision_of(X: Any) -> np.dtype[Any]:
    """Return the precision that rows of Dask are kept in: their own, if features may have it."""
    dtype = X.dtype if hasattr(X, "dtype") else np.result_type(*X.dtypes)
    return np.dtype(dtype if dtype in STORED else STORED[0])
