"""Tensors of torch and frames of polars as arrays of numpy, in the precision that they have."""

from typing import Any

import narwhals as nw

from twohot._types import Matrix


def is_polars_frame(X: Any) -> bool:
    """Return whether X is a table of polars, read already or not."""
    return type(X).__module__.startswith("polars.") and hasattr(X, "lazy")


def text_columns(X: Any) -> list[str]:
    """Return the columns of a data frame that hold something else than numbers; none of an array.

    Examples
    --------
    >>> import pandas as pd
    >>> text_columns(pd.DataFrame({"x": [1.5], "kind": ["cat"]}))
    ['kind']
    """
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if not isinstance(frame, nw.DataFrame):
        return []
    # Objects may be numbers of Python.
    return [
        str(name)
        for name, kind in frame.schema.items()
        if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown))
    ]


def as_numpy(X: Any) -> Matrix:
    """Return a tensor of torch or a table of polars as an array; anything else stays as it is.

    scikit-learn would take what is not numpy's as float64, and torch itself refuses tensors that
    are followed by a gradient or are bfloat16, which becomes float32.

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
