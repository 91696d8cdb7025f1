"""The finished batches of an extraction, from which a stopped run is resumed.

A batch is a safetensors file: "keys" (U8, n × 32), digests of the content of items, and "features"
(n × n_features). It is named after its keys and appears whole or not at all, so any number of
batches makes a sound store.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, whole_file
from twohot.tables import DTYPES, map_tensors, streamed, write_tensors

# Batches that stay mapped while rows are gathered: rows that follow each other are mostly in one.
N_MAPPED = 8


class BatchStore:
    """Features by key, in the files of one folder.

    Examples
    --------
    >>> store = BatchStore(Path("parts"))
    >>> store.add([b"a" * 32, b"b" * 32], np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32))
    >>> b"b" * 32 in store, b"c" * 32 in store
    (True, False)
    >>> [block.tolist() for block in BatchStore(Path("parts")).blocks([b"b" * 32])]
    [[[3.0, 4.0]]]
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_features = 0  # 0: not known yet
        self._places: dict[bytes, tuple[Path, int]] = {}
        for path in sorted(folder.glob("*.part")):
            part = _mapped(path)
            if part is not None:
                self._take_in(path, [bytes(key) for key in part[0]], part[1].shape[1])

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, keys: Sequence[bytes], features: FloatArray) -> None:
        """Write one batch; it is there for good when this returns."""
        joined = b"".join(keys)
        path = self.folder / f"{hashlib.sha256(joined).hexdigest()[:32]}.part"
        if self.n_features not in {0, features.shape[1]}:
            given = f"{features.shape[1]} features per row after {self.n_features}"
            advice = "pass images of one size, or a backbone that resizes them."
            raise ValueError(f"the backbone gave {given}: {advice}")
        self.folder.mkdir(parents=True, exist_ok=True)
        key_array = np.frombuffer(joined, dtype=np.uint8).reshape(len(keys), -1)
        tensors = {
            "keys": streamed(key_array, DTYPES["U8"]),
            "features": streamed(features, features.dtype.newbyteorder("<")),
        }
        with whole_file(path) as file:
            write_tensors(file, tensors, {})
        self._take_in(path, keys, features.shape[1])

    def blocks(self, keys: Sequence[bytes]) -> Iterator[FloatArray]:
        """Yield the features of many keys in order, in blocks of any size."""
        mapped = lru_cache(N_MAPPED)(_mapped)
        places = (self._places[key] for key in keys)
        for path, run in groupby(places, key=lambda place: place[0]):
            part = mapped(path)
            if part is None:
                raise ValueError(f"{path} was changed while it was in use: run this again.")
            yield part[1][[row for _, row in run]]

    def _take_in(self, path: Path, keys: Sequence[bytes], n_features: int) -> None:
        self.n_features = n_features
        self._places.update((key, (path, row)) for row, key in enumerate(keys))


def _mapped(path: Path) -> tuple[NDArray[np.uint8], NDArray[Any]] | None:
    """Return the keys and features of a batch; None for a file that is damaged, which is redone."""
    try:
        _, tensors = map_tensors(path)
    except ValueError:
        return None
    return tensors["keys"], tensors["features"]
