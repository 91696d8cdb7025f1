"""Feature files: a feature table as safetensors, with everything but the arrays as JSON.

    metadata   {"twohot.features": JSON of format_version, classes, superclass_names, split_names,
               item_kind, id_kind, id_column, provenance}
    tensors    "features" (F16, F32 or F64), "labels" (I32); if there are any, "true_labels" (I32),
               "split" (I32), "superclass" (I32), "item_bytes" and "id_bytes" (U8), "item_offsets"
               and "id_offsets" (I64)

Without "id_bytes" the id of a row is its position, as in all files of format version 1.

Features are mapped when read and go through memory block by block when written. The same table
gives the same bytes: no time, no machine and no path is in a file that the table does not name.
"""

import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_count
from twohot._files import parse_json, whole_file
from twohot._types import Matrix
from twohot.tables.feature_stream import stored_blocks
from twohot.tables.packed_strings import Items
from twohot.tables.row_ids import RowIds
from twohot.tables.safetensors_file import (
    DTYPES,
    StreamedTensor,
    map_tensors,
    streamed,
    write_tensors,
)
from twohot.tables.table import FeatureTable

FORMAT_VERSION = 2
HEADER = "twohot.features"
FEATURE_DTYPES = (DTYPES["F16"], DTYPES["F32"], DTYPES["F64"])
CODES = ("labels", "true_labels", "split", "superclass")
NAMES = ("classes", "superclass_names", "split_names")


def write_features(path: str | os.PathLike[str], table: FeatureTable) -> None:
    """Write a feature file; it is complete or not there at all.

    Parameters
    ----------
    path : path
        Where to write, by custom a name that ends in ".features".
    table : FeatureTable
        Its features may be a `FeatureBlocks`; they are never held whole.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(2), labels=np.array([0, 1]), classes=("cat", "dog"))
    >>> write_features("pets.features", table)
    >>> read_features("pets.features").features
    memmap([[1., 0.],
            [0., 1.]])
    """
    features, dtype = table.features, _stored_dtype(table.features)
    tensors = {
        name: streamed(getattr(table, name), DTYPES["I32"])
        for name in CODES
        if getattr(table, name) is not None
    }
    blocks = partial(stored_blocks, features, dtype)
    tensors["features"] = StreamedTensor(dtype, features.shape, blocks)
    if table.items is not None:
        tensors |= _strings("item", table.items)
    if not isinstance(table.ids.values, range):
        tensors |= _strings("id", table.ids)
    with whole_file(path) as file:
        write_tensors(file, tensors, {HEADER: _description(table)})


def read_features(path: str | os.PathLike[str]) -> FeatureTable:
    """Read a feature file; its features are a read-only memory map.

    Parameters
    ----------
    path : path
        A file that `write_features` wrote.

    Returns
    -------
    FeatureTable
        `features` is a map of the file, `items` are decoded as they are asked for.

    Examples
    --------
    >>> read_features("none.features")
    Traceback (most recent call last):
    FileNotFoundError: none.features is not a file: pass the path of a feature file.
    """
    metadata, tensors = map_tensors(Path(path))
    if HEADER not in metadata:
        raise ValueError(f"{path} is a safetensors file but holds no feature table: pass another.")
    try:
        header = parse_json(metadata[HEADER])
        version = check_count("format_version", header["format_version"], 1)
        if version <= FORMAT_VERSION:
            return _table(header, tensors)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{path} says it holds features, but part of it is missing or wrong ({error})"
        raise ValueError(f"{problem}: write it again.") from error
    reads = f"this version of twohot reads up to {FORMAT_VERSION}: upgrade twohot to read it."
    raise ValueError(f"{path} has format version {version} and {reads}")


def _strings(name: str, strings: Iterable[str]) -> dict[str, StreamedTensor]:
    """Return many strings as two tensors."""
    packed = Items.encode(strings)
    text, offsets = streamed(packed.text, DTYPES["U8"]), streamed(packed.offsets, DTYPES["I64"])
    return {f"{name}_bytes": text, f"{name}_offsets": offsets}


def _stored_dtype(features: Matrix) -> np.dtype[Any]:
    """Return the type that features are stored as, or say why they cannot be."""
    dtype: np.dtype[Any] = np.dtype(features.dtype).newbyteorder("<")
    is_sparse = hasattr(getattr(features, "X", features), "toarray")
    if is_sparse or dtype not in FEATURE_DTYPES:
        holds = "a feature file holds dense float16, float32 or float64"
        problem = f"is {'sparse' if is_sparse else dtype.name} and {holds}"
        advice = "convert it by .toarray() or .astype(np.float32)."
        raise ArgumentError("features", problem, advice)
    if 0 in features.shape:
        problem = f"has shape {tuple(features.shape)}"
        raise ArgumentError("features", problem, "write at least one row and one feature.")
    return dtype


def _description(table: FeatureTable) -> str:
    """Return all of a table that is not an array, as JSON in one order."""
    parts = {"format_version": FORMAT_VERSION, "provenance": dict(table.provenance)}
    parts |= {name: getattr(table, name) for name in (*NAMES, "item_kind")}
    parts |= {"id_kind": table.ids.kind, "id_column": table.ids.column}
    try:
        return json.dumps(parts, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        problem = f"cannot be written as JSON ({error})"
        advice = "use finite numbers, strings, lists and dicts with strings as keys."
        raise ArgumentError("provenance", problem, advice) from error


def _table(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> FeatureTable:
    """Return the table that a header and its tensors describe; anything may be raised if none."""
    features = tensors["features"]
    _stored_dtype(features)
    # Codes and items are mapped too, but look like any other array.
    arrays = {name: np.asarray(tensor) for name, tensor in tensors.items() if name != "features"}
    parts: dict[str, Any] = {name: arrays[name] for name in CODES if name in arrays}
    parts |= {name: tuple(header[name]) for name in NAMES}
    if "item_offsets" in arrays:
        parts["items"] = Items(arrays["item_bytes"], arrays["item_offsets"])
    if "id_offsets" in arrays:
        ids = Items(arrays["id_bytes"], arrays["id_offsets"])
        parts["ids"] = RowIds(ids, str(header["id_kind"]), str(header["id_column"]))
    kind, provenance = str(header["item_kind"]), dict(header["provenance"])
    return FeatureTable(features=features, item_kind=kind, provenance=provenance, **parts)
