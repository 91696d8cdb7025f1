"""Read `.npy` and `.npz` files as columns.

An archive contains features and labels, for instance `X` and `y`. An archive may contain separate
arrays per split, for instance `X_train`, `y_train`, `X_test`, `y_test`, which are concatenated. The
arrays `classes`, `superclass` and `superclass_names` describe classes, not rows.
"""

import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from twohot.base import SURELY_HELD, ArgumentError, check_regular, memory_limit
from twohot.tables.column_roles import FEATURES, LABELS, ColumnChoice, Columns, both_meant, pick

# Check of the header of an array against the file size, before memory is allocated ----------------
# A header may declare any shape. numpy would allocate memory for this shape before it finds that
# numbers are missing. Arrays of Python objects are refused, because loading them could execute
# any code.


# Kinds of numpy types that a table can use: numbers, text and dates.
KINDS = "biufcSUMm"


def check_array_header(name: str, file: BinaryIO, n_bytes: int) -> None:
    """Raise unless an open file of `n_bytes` starts with the valid header of an array."""
    if file.read(len(npy_format.MAGIC_PREFIX)) != npy_format.MAGIC_PREFIX:
        raise ValueError(f"{name} is not an array")
    file.seek(0)
    version = npy_format.read_magic(file)
    # Version 3 is for types with named fields, which are not columns.
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"{name} has version {version} of numpy's format, which is not read")
    shape, _, dtype = readers[version](file)
    if dtype.hasobject:
        advice = "convert it by .astype(str), or to numbers"
        raise ValueError(f"{name} contains Python objects, which are not supported: {advice}")
    if dtype.kind not in KINDS or any(length < 0 for length in shape):
        raise ValueError(f"{name} is of shape {shape} and {dtype}, not an array of numbers or text")
    needed, n_left = dtype.itemsize * math.prod(shape), n_bytes - file.tell()
    if needed > n_left:
        has = f"but the file has {n_left} bytes of numbers"
        raise ValueError(f"{name} is of shape {shape}, which needs {needed} bytes, {has}")


def map_array(path: Path) -> NDArray[Any]:
    """Return the array of a `.npy` file, as a read-only memory map."""
    check_regular(path)
    with _friendly(path):
        with path.open("rb") as file:
            check_array_header("the array", file, path.stat().st_size)
        mapped: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
        return mapped


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.npz` file by name."""
    check_regular(path)
    with _friendly(path), zipfile.ZipFile(path) as archive:
        members = [(info.filename.removesuffix(".npy"), info) for info in archive.infolist()]
        unpacked = sum(info.file_size for _, info in members)
        if unpacked > SURELY_HELD and unpacked > memory_limit():
            raise _too_large(path, unpacked)
        for twice, n_times in Counter(name for name, _ in members).items():
            if n_times > 1:
                raise ValueError(f"two arrays are named {twice!r}")
        try:
            return {name: _member(archive, name, info) for name, info in members}
        except MemoryError as error:
            raise _too_large(path, unpacked) from error


def _too_large(path: Path, unpacked: int) -> ArgumentError:
    """Return the error for an archive whose uncompressed arrays exceed the memory."""
    limit = f"this process may use {memory_limit():,} bytes in total"
    problem = f"{path} contains arrays of {unpacked:,} bytes when unpacked, but {limit}"
    advice = "save the features by np.save, because such a file is read in parts."
    return ArgumentError("", problem, advice)


def _member(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(info) as opened:
        file = cast(BinaryIO, opened)
        check_array_header(name, file, info.file_size)
        file.seek(0)
        array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
        return array


@contextmanager
def _friendly(path: Path) -> Iterator[None]:
    """Convert errors about the content of a file to an error that names the file.

    For an invalid file, numpy, zipfile and the decompressors raise a dozen kinds of errors.
    """
    try:
        yield
    except (ArgumentError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # errors of the operating system already name the file
        advice = "write arrays of numbers or text again with np.save or np.savez."
        raise ValueError(f"{path} cannot be read ({error}): {advice}") from error


def archive_columns(arrays: Columns, choice: ColumnChoice) -> tuple[Columns, ColumnChoice]:
    """Return the columns of an archive with its splits concatenated, and the choice of columns.

    The user may name the array of one split. If it is `y_train_human`, the labels of the split
    `test` are `y_test_human` if this array exists, else `y_test`.

    Examples
    --------
    >>> arrays = {"X_train": np.eye(2), "y_train": [0, 1], "X_test": np.ones((1, 2)), "y_test": [1]}
    >>> columns, choice = archive_columns(arrays, ColumnChoice())
    >>> columns["label"].tolist(), columns["split"].tolist()
    ([0, 1, 1], ['train', 'train', 'test'])
    """
    features = _split_features(arrays, choice.features)
    if not features:
        return arrays, choice
    sizes = {split: len(arrays[name]) for split, name in features.items()}
    widths = {name: np.shape(arrays[name])[1] for name in features.values()}
    if len(set(widths.values())) > 1:
        found = " and ".join(f"{name!r} has {width} columns" for name, width in widths.items())
        raise ValueError(f"{found}: extract the features of all splits with one backbone.")
    columns = {
        "X": np.concatenate([arrays[name] for name in features.values()]),
        "split": np.repeat(list(sizes), list(sizes.values())),
    }
    columns["label"] = _joined("label_column", choice.label, LABELS, arrays, sizes)
    named = {}
    for name, usual in {"true_label": LABELS, "item": (), "group": ()}.items():
        chosen = getattr(choice, name)
        if chosen in arrays:
            columns[name] = _joined(f"{name}_column", chosen, usual, arrays, sizes)
            named[name] = name
    return columns, replace(choice, features="X", label=None, **named)


def _split_features(arrays: Columns, chosen: str | Sequence[str] | None) -> dict[str, str]:
    """Return for each split the name of its features; empty if one array has all rows."""
    if not isinstance(chosen, str | None) or chosen in arrays:
        return {}
    bases = FEATURES if chosen is None else (chosen,)
    whole = next((name for name in bases if name in arrays), None)
    found: dict[str, str] = {}
    for name in arrays:
        base, _, split = name.rpartition("_")
        if base not in bases or np.ndim(arrays[name]) != 2:
            continue
        if split in found or whole is not None:
            raise both_meant("feature_column", str(found.get(split, whole)), name)
        found[split] = name
    return found


def _joined(
    argument: str, chosen: str | None, bases: Sequence[str], arrays: Columns, sizes: dict[str, int]
) -> NDArray[Any]:
    """Return one column of all splits, for splits of these sizes.

    If a split has no array of the chosen name and none of the `bases`, its rows are None.
    """
    words = (pick(argument, chosen, (), arrays) or "").split("_")
    parts: list[NDArray[Any]] = []
    for split, size in sizes.items():
        same = "_".join(split if word in sizes else word for word in words)
        usual = [f"{base}_{split}" for base in bases]
        name = same if same in arrays else pick(argument, None, usual, arrays)
        values = np.full(size, None) if name is None else np.asarray(arrays[name])
        if values.shape != (size,):
            problem = f"{name!r} has shape {values.shape} for the {size} rows of split {split!r}"
            raise ValueError(f"{problem}: pass one value per row.")
        parts.append(values)
    return np.concatenate(parts)
