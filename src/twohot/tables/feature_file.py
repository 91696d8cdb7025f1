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
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors import SafetensorError, safe_open

from twohot.base import (
    ArgumentError,
    FloatArray,
    Matrix,
    check_count,
    check_real,
    parse_json,
    whole_file,
)
from twohot.tables.row_ids import RowIds
from twohot.tables.table import FeatureTable

# safetensors files whose tensors need not be in memory: written as a stream, read as a map --------
# 8 bytes      length of the header, little-endian
# header       JSON: {"__metadata__": {…}, name: {"dtype", "shape", "data_offsets"}, …}
# data         the tensors one after the other, without a gap, C order, little-endian


# safetensors' names of the types that are used here.
DTYPES: dict[str, np.dtype[Any]] = {
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# The entry of a header that describes no tensor.
METADATA = "__metadata__"
# The data begin at a multiple of this many bytes, the width of a cache line.
ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class StreamedTensor:
    """A tensor that is known by type and shape before its numbers are there."""

    dtype: np.dtype[Any]  # one of DTYPES
    shape: tuple[int, ...]
    blocks: Callable[[], Iterable[NDArray[Any]]]  # its numbers in order, in C order and that type


def streamed(array: NDArray[Any], dtype: np.dtype[Any]) -> StreamedTensor:
    """Return an array in memory as a tensor of one block."""
    return StreamedTensor(dtype, array.shape, lambda: [np.ascontiguousarray(array, dtype=dtype)])


def write_tensors(
    file: BinaryIO, tensors: Mapping[str, StreamedTensor], metadata: Mapping[str, str]
) -> None:
    """Write a safetensors file, one block after the other."""
    # The widest numbers first, as safetensors itself does: all are aligned to their own width.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    entries: dict[str, Any] = {METADATA: dict(metadata)}
    end = 0
    for name in order:
        dtype, shape = tensors[name].dtype, list(map(int, tensors[name].shape))
        start, end = end, end + dtype.itemsize * math.prod(shape)
        entries[name] = {"dtype": DTYPE_NAMES[dtype], "shape": shape, "data_offsets": [start, end]}
    header = json.dumps(entries, separators=(",", ":")).encode()
    # Spaces at the end of a header belong to the format.
    header += b" " * (-(len(header) + 8) % ALIGNMENT)
    file.write(len(header).to_bytes(8, "little") + header)
    for name in order:
        file.writelines(block.data for block in tensors[name].blocks())


def map_tensors(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the metadata and the tensors of a file, as read-only views of one memory map.

    Tensors of other types than DTYPES are ignored.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: pass the path of a feature file.")
    path.open("rb").close()  # safetensors says that there is none where it may not be read
    try:
        # safetensors itself checks that the tensors fill the file, without a hole or an overlap.
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
    except SafetensorError as error:
        problem = f"{path} is not a feature file, or is cut short ({error})"
        raise ValueError(f"{problem}: write it again.") from error
    content: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
    data = 8 + int.from_bytes(content[:8].tobytes(), "little")
    tensors = {}
    for name, entry in json.loads(content[8:data].tobytes()).items():
        # Metadata are anyone's, and may have a "dtype" that is none.
        if name != METADATA and entry["dtype"] in DTYPES:
            start, end = entry["data_offsets"]
            flat = content[data + start : data + end].view(DTYPES[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return metadata, tensors


# Many strings in two arrays, so that they can be mapped from a file and decoded one by one --------
# string i = text[offsets[i] : offsets[i + 1]], in UTF-8


# A path may hold bytes that are no UTF-8; Python keeps them as surrogates, and so they come back.
ENCODING_ERRORS = "surrogateescape"


class Items(Sequence[str]):
    """Strings stored one after the other; each is decoded when it is asked for.

    `text` is all strings in UTF-8, `offsets` where each begins, and where the last one ends.

    Examples
    --------
    >>> items = Items.encode(["cat.jpg", "", "größe.png"])
    >>> items[2], len(items), items.offsets.tolist()
    ('größe.png', 3, [0, 7, 7, 18])
    """

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        if not _fit_together(text, offsets):
            rise = f"does not rise from 0 to the {text.size} bytes of text"
            problem = f"has shape {offsets.shape} and {rise}"
            advice = "pass where each string begins, and where the last one ends."
            raise ArgumentError("offsets", problem, advice)
        self.text = text
        self.offsets = offsets

    @classmethod
    def encode(cls, strings: Iterable[str]) -> "Items":
        """Return strings as two arrays; nothing is done to those that are already."""
        if isinstance(strings, Items):
            return strings
        encoded = [_encoded(row, string) for row, string in enumerate(strings)]
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(text, np.cumsum([0, *map(len, encoded)], dtype=np.int64))

    def __len__(self) -> int:
        return self.offsets.size - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(self[row] for row in range(len(self))[index])
        row = range(len(self))[index]
        start, stop = self.offsets[row : row + 2].tolist()
        return self.text[start:stop].tobytes().decode(errors=ENCODING_ERRORS)


def _fit_together(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    """Return whether offsets rise from zero to the end of the text."""
    if offsets.ndim != 1 or offsets.size == 0 or text.ndim != 1:
        return False
    ends = (int(offsets[0]), int(offsets[-1]))
    return ends == (0, text.size) and bool(np.all(offsets[1:] >= offsets[:-1]))


def _encoded(row: int, string: str) -> bytes:
    """Return one string in UTF-8, or say which one is none."""
    try:
        return string.encode(errors=ENCODING_ERRORS)
    except (AttributeError, UnicodeEncodeError) as error:
        problem = f"cannot be written as UTF-8 ({error})"
        advice = "pass the path or text itself."
        raise ArgumentError({f"items[{row}]": string}, problem, advice) from error


# Features block by block: as they arrive, or as slices of what is stored elsewhere ----------------


# What is in memory at a time while features are copied: enough for the disk to be the limit.
BLOCK_BYTES = 2**24


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """Features that arrive block by block: stands for `features` in a table to be written.

    Examples
    --------
    >>> from twohot.tables import FeatureTable, read_features, write_features
    >>> blocks = FeatureBlocks((np.full((1, 2), i) for i in range(3)), (3, 2), "float32")
    >>> table = FeatureTable(features=blocks, labels=np.zeros(3, int), classes=("cat",))
    >>> write_features("cats.features", table)
    >>> read_features("cats.features").features.tolist()
    [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    """

    blocks: Iterable[FloatArray]  # each (any number of rows, n_features); gone through once
    shape: tuple[int, int]  # (n_rows, n_features) of all together
    dtype: DTypeLike  # what they are stored as: float16, float32 or float64


def stored_blocks(features: Matrix, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield all rows in blocks of one type, in C order; raise if they are not of the shape said."""
    n_rows, n_features = features.shape
    row = 0
    for given in _given_blocks(features, dtype):
        if given.ndim != 2 or given.shape[1] != n_features or row + len(given) > n_rows:
            place = f"the block of features at row {row} has shape {given.shape}"
            whole = f"{(n_rows, n_features)}: pass blocks of whole rows."
            raise ValueError(f"{place}, which does not fit into {whole}")
        yield _converted(given, dtype, row)
        row += len(given)
    if row != n_rows:
        problem = f"the blocks of features end after {row} of {n_rows} rows"
        raise ValueError(f"{problem}: pass as many rows as labels.")


def _given_blocks(features: Matrix, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield features as they come, or in slices."""
    if isinstance(features, FeatureBlocks):
        yield from map(np.asarray, features.blocks)
        return
    n_rows, n_features = features.shape
    n_block = max(1, BLOCK_BYTES // (dtype.itemsize * n_features))
    for start in range(0, n_rows, n_block):
        yield np.asarray(features[start : start + n_block])


def _converted(block: NDArray[Any], dtype: np.dtype[Any], row: int) -> NDArray[Any]:
    """Return a block as it is stored; finite numbers must not become infinite."""
    try:
        with np.errstate(over="raise"):
            return np.ascontiguousarray(block, dtype=dtype)
    except FloatingPointError as error:
        problem = f"features from row {row} on hold numbers too large for {dtype.name}"
        raise ValueError(f"{problem}: store them as float32 or float64.") from error


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
    check_real("features", features)
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
