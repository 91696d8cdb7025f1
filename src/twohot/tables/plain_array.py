"""One array in numpy's format, whose header is checked against its size before memory is taken.

A header may claim any shape: numpy would ask for that much memory before it finds that the numbers
are not there. Arrays of Python objects are refused, because reading them could run anything.
"""

import math
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

# Kinds of numbers and text that a table can be made of: what else numpy stores is no column.
KINDS = "biufcSUMm"


def read_plain_array(name: str, file: BinaryIO, n_bytes: int) -> NDArray[Any]:
    """Return the array of an open file that holds so many bytes; errors call it by its name."""
    check_array_header(name, file, n_bytes)
    file.seek(0)
    array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
    return array


def check_array_header(name: str, file: BinaryIO, n_bytes: int) -> None:
    """Raise unless an open file of so many bytes begins with the header of the array it holds."""
    shape, dtype = _read_header(name, file)
    if dtype.hasobject:
        advice = "convert it by .astype(str), or to numbers"
        raise ValueError(f"{name} holds Python objects, which are not read: {advice}")
    if dtype.kind not in KINDS:
        raise ValueError(f"{name} is of {dtype}, neither numbers nor text")
    claimed, there = dtype.itemsize * math.prod(shape), n_bytes - file.tell()
    if claimed > there:
        holds = f"and the file holds {there}"
        raise ValueError(f"{name} is of shape {shape}, which takes {claimed} bytes, {holds}")


def _read_header(name: str, file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type that a header claims."""
    start = file.read(len(npy_format.MAGIC_PREFIX))
    if start != npy_format.MAGIC_PREFIX:
        raise ValueError(f"{name} is no array")
    file.seek(0)
    version = npy_format.read_magic(file)
    # Version 3 is for types with named fields, which make no column.
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"{name} is of version {version} of numpy's format")
    shape, _, dtype = readers[version](file)
    if any(length < 0 for length in shape):
        raise ValueError(f"{name} is of shape {shape}")
    return shape, dtype
