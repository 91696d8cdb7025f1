"""safetensors files whose tensors need not be in memory: written as a stream, read as a map.

8 bytes      length of the header, little-endian
header       JSON: {"__metadata__": {…}, name: {"dtype", "shape", "data_offsets"}, …}
data         the tensors one after the other, without a gap, C order, little-endian
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

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
