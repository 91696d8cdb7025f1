"""Feature files: a feature table as a safetensors file, with fields other than arrays as JSON.

    metadata   {"twohot.features": JSON of format_version, classes, superclass_names, split_names,
               item_kind, id_kind, id_column, provenance}
    tensors    "features" (F16, F32 or F64), "labels" (I32); optionally "true_labels" (I32),
               "split" (I32), "superclass" (I32), "item_bytes" and "id_bytes" (U8), "item_offsets"
               and "id_offsets" (I64)

If there are no "id_bytes", the id of a row is its position, as in all files of format version 1.

Features are memory-mapped when read, and written block by block. Equal tables give equal bytes,
because the file contains no time, machine or path unless the table contains it.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

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

# safetensors files without loading tensors: written as a stream, read as a memory map -------------
# 8 bytes      length of the header, little-endian
# header       JSON: {"__metadata__": {…}, name: {"dtype", "shape", "data_offsets"}, …}
# data         the tensors one after the other, without a gap, C order, little-endian


# safetensors' names of the types used here.
DTYPES: dict[str, np.dtype[Any]] = {
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
# The header entry that does not describe a tensor.
METADATA = "__metadata__"
# The data start at a multiple of this many bytes, the size of a cache line.
ALIGNMENT = 64


def lay_out(
    tensors: Mapping[str, tuple[np.dtype[Any], Sequence[int]]], metadata: Mapping[str, str]
) -> tuple[bytes, list[str]]:
    """Return the start of a safetensors file, and the names of its tensors in the order of data.

    `tensors` maps the name of each tensor to its type, one of DTYPES, and its shape.
    """
    # The widest type is first, as safetensors requires, so that every tensor is aligned.
    order = sorted(tensors, key=lambda name: (-tensors[name][0].itemsize, name))
    entries: dict[str, Any] = {METADATA: dict(metadata)}
    end = 0
    for name in order:
        dtype, shape = tensors[name][0], list(map(int, tensors[name][1]))
        start, end = end, end + dtype.itemsize * math.prod(shape)
        entries[name] = {"dtype": DTYPE_NAMES[dtype], "shape": shape, "data_offsets": [start, end]}
    header = json.dumps(entries, separators=(",", ":")).encode()
    # Pad the header with spaces, which the format allows.
    header += b" " * (-(len(header) + 8) % ALIGNMENT)
    return len(header).to_bytes(8, "little") + header, order


def map_tensors(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Return the metadata of a file, and its tensors as read-only views of one memory map.

    Tensors of types that are not in DTYPES are ignored.
    """
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {what}: pass the path of a feature file.")
    path.open("rb").close()  # for an unreadable file, safetensors would say that it is missing
    try:
        # safetensors checks that the tensors fill the file without gaps or overlaps.
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
    except SafetensorError as error:
        problem = f"{path} is not a feature file, or is truncated ({error})"
        raise ValueError(f"{problem}: write it again.") from error
    content: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
    data = 8 + int.from_bytes(content[:8].tobytes(), "little")
    tensors = {}
    for name, entry in json.loads(content[8:data].tobytes()).items():
        # Metadata may have a key "dtype" too.
        if name != METADATA and entry["dtype"] in DTYPES:
            start, end = entry["data_offsets"]
            flat = content[data + start : data + end].view(DTYPES[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return metadata, tensors


# Many strings in two arrays, so that they can be memory-mapped and decoded one by one -------------
# string i = text[offsets[i] : offsets[i + 1]], in UTF-8


# Python represents bytes of a path that are not UTF-8 as surrogates. This handler writes the bytes.
ENCODING_ERRORS = "surrogateescape"


class Items(Sequence[str]):
    """A sequence of strings that are stored one after the other, and decoded when indexed.

    `text` contains all strings in UTF-8. `offsets` contains the start of each string, then the end
    of the last string.
    """

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        rises = offsets.ndim == text.ndim == 1 and np.all(offsets[1:] >= offsets[:-1])
        if not rises or offsets[:1].tolist() != [0] or offsets[-1] != text.size:
            problem = f"has shape {offsets.shape}, but must rise from 0 to {text.size}"
            advice = "pass the start of each string, then the end of the last string."
            raise ArgumentError("offsets", problem, advice)
        self.text = text
        self.offsets = offsets

    @classmethod
    def encode(cls, strings: Iterable[str]) -> "Items":
        """Return strings as `Items`; `Items` are returned unchanged."""
        if isinstance(strings, Items):
            return strings
        encoded = []
        for row, string in enumerate(strings):
            try:
                encoded.append(string.encode(errors=ENCODING_ERRORS))
            except (AttributeError, UnicodeEncodeError) as error:
                problem = f"cannot be written as UTF-8 ({error})"
                advice = "pass valid text or a valid path."
                raise ArgumentError({f"items[{row}]": string}, problem, advice) from error
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


# Features block by block: from an iterator, or as slices of stored features -----------------------


# Bytes of a block while features are copied. With this size, the speed is that of the disk.
BLOCK_BYTES = 2**24


@dataclass(frozen=True, eq=False)
class FeatureBlocks:
    """Features from an iterator of blocks: pass them as `features` of a table to be written.

    Examples
    --------
    >>> from twohot.tables import FeatureTable, read_features, write_features
    >>> blocks = FeatureBlocks((np.full((1, 2), i) for i in range(3)), (3, 2), "float32")
    >>> table = FeatureTable(features=blocks, labels=np.zeros(3, int), classes=("cat",))
    >>> write_features("cats.features", table)
    >>> read_features("cats.features").features.tolist()
    [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    """

    blocks: Iterable[FloatArray]  # blocks of any number of rows; iterated once
    shape: tuple[int, int]  # (n_rows, n_features) of all blocks together
    dtype: DTypeLike  # type in the file: float16, float32 or float64


def stored_blocks(features: Matrix, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """Yield all rows in C-contiguous blocks of this type; raise if a block has a wrong shape."""
    n_rows, n_features = features.shape
    n_block = max(1, BLOCK_BYTES // (dtype.itemsize * n_features))
    slices = (features[start : start + n_block] for start in range(0, n_rows, n_block))
    row = 0
    for given in features.blocks if isinstance(features, FeatureBlocks) else slices:
        block = np.asarray(given)
        if block.ndim != 2 or block.shape[1] != n_features or row + len(block) > n_rows:
            problem = f"the block of features at row {row} has shape {block.shape}"
            whole = f"features of shape {(n_rows, n_features)}"
            raise ValueError(f"{problem}, which does not fit {whole}: pass blocks of whole rows.")
        try:
            with np.errstate(over="raise"):  # float16 must not turn finite numbers into infinity
                stored = np.ascontiguousarray(block, dtype=dtype)
        except FloatingPointError as error:
            problem = f"features from row {row} on are too large for {dtype.name}"
            raise ValueError(f"{problem}: store them as float32 or float64.") from error
        yield stored
        row += len(block)
    if row != n_rows:
        problem = f"the blocks of features end after {row} of {n_rows} rows"
        raise ValueError(f"{problem}: pass one row per label.")


FORMAT_VERSION = 2
HEADER = "twohot.features"
FEATURE_DTYPES = (DTYPES["F16"], DTYPES["F32"], DTYPES["F64"])
CODES = ("labels", "true_labels", "split", "superclass")
NAMES = ("classes", "superclass_names", "split_names")


def write_features(path: str | os.PathLike[str], table: FeatureTable) -> None:
    """Write a feature file atomically: completely or not at all.

    Parameters
    ----------
    path : path
        The file to write; its name usually ends in ".features".
    table : FeatureTable
        Its `features` may be `FeatureBlocks`, which are never in memory as a whole.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(2), labels=np.array([0, 1]), classes=("cat", "dog"))
    >>> write_features("pets.features", table)
    >>> read_features("pets.features").features
    memmap([[1., 0.],
            [0., 1.]])
    """
    features, dtype = table.features, _stored_dtype(table.features)
    codes = {name: getattr(table, name) for name in CODES}
    arrays = {
        name: np.ascontiguousarray(array, DTYPES["I32"])
        for name, array in codes.items()
        if array is not None
    }
    ids = None if isinstance(table.ids.values, range) else table.ids
    for name, strings in {"item": table.items, "id": ids}.items():
        if strings is not None:
            packed = Items.encode(strings)
            arrays[f"{name}_bytes"] = np.ascontiguousarray(packed.text)
            arrays[f"{name}_offsets"] = np.ascontiguousarray(packed.offsets, DTYPES["I64"])
    tensors = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    tensors["features"] = dtype, features.shape
    start, order = lay_out(tensors, {HEADER: _description(table)})
    with whole_file(path) as file:
        file.write(start)
        for name in order:
            if name in arrays:
                file.write(arrays[name].data)
            else:
                file.writelines(block.data for block in stored_blocks(features, dtype))


def read_features(path: str | os.PathLike[str]) -> FeatureTable:
    """Read a feature file; its features are a read-only memory map.

    Parameters
    ----------
    path : path
        A file that `write_features` wrote.

    Returns
    -------
    FeatureTable
        `features` is a memory map of the file; `items` are decoded when they are indexed.

    Examples
    --------
    >>> read_features("none.features")
    Traceback (most recent call last):
    FileNotFoundError: none.features does not exist: pass the path of a feature file.
    """
    metadata, tensors = map_tensors(Path(path))
    if HEADER not in metadata:
        problem = f"{path} is a safetensors file without a feature table"
        raise ValueError(f"{problem}: pass a file that `write_features` wrote.")
    try:
        header = parse_json(metadata[HEADER])
        version = check_count("format_version", header["format_version"], 1)
        if version <= FORMAT_VERSION:
            return _table(header, tensors)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{path} is a feature file with a missing or invalid field ({error})"
        raise ValueError(f"{problem}: write it again.") from error
    reads = f"this twohot reads versions up to {FORMAT_VERSION}"
    raise ValueError(f"{path} has format version {version}, but {reads}: upgrade twohot.")


def _stored_dtype(features: Matrix) -> np.dtype[Any]:
    """Return the type in which features are stored, or raise if it is not supported."""
    check_real("features", features)
    dtype: np.dtype[Any] = np.dtype(features.dtype).newbyteorder("<")
    is_sparse = hasattr(getattr(features, "X", features), "toarray")
    if is_sparse or dtype not in FEATURE_DTYPES:
        holds = "a feature file contains dense float16, float32 or float64"
        problem = f"is {'sparse' if is_sparse else dtype.name}, but {holds}"
        advice = f"convert them by {'.toarray()' if is_sparse else '.astype(np.float32)'}."
        raise ArgumentError("features", problem, advice)
    if 0 in features.shape:
        problem = f"has shape {tuple(features.shape)}"
        raise ArgumentError("features", problem, "write at least one row and one feature.")
    return dtype


def _description(table: FeatureTable) -> str:
    """Return all fields of a table except the arrays, as JSON in a fixed order."""
    fields = {"format_version": FORMAT_VERSION, "provenance": dict(table.provenance)}
    fields |= {name: getattr(table, name) for name in (*NAMES, "item_kind")}
    fields |= {"id_kind": table.ids.kind, "id_column": table.ids.column}
    try:
        return json.dumps(fields, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        problem = f"cannot be written as JSON ({error})"
        advice = "use finite numbers, strings, lists and dicts with strings as keys."
        raise ArgumentError("provenance", problem, advice) from error


def _table(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> FeatureTable:
    """Return the table of a header and its tensors; invalid input may raise any error."""
    features = tensors["features"]
    _stored_dtype(features)
    # Other arrays are views of the same memory map, but of class ndarray.
    arrays = {name: np.asarray(tensor) for name, tensor in tensors.items()}
    fields: dict[str, Any] = {name: arrays[name] for name in CODES if name in arrays}
    fields |= {name: tuple(header[name]) for name in NAMES}
    if "item_offsets" in arrays:
        fields["items"] = Items(arrays["item_bytes"], arrays["item_offsets"])
    if "id_offsets" in arrays:
        ids = Items(arrays["id_bytes"], arrays["id_offsets"])
        fields["ids"] = RowIds(ids, str(header["id_kind"]), str(header["id_column"]))
    kind, provenance = str(header["item_kind"]), dict(header["provenance"])
    return FeatureTable(features=features, item_kind=kind, provenance=provenance, **fields)
