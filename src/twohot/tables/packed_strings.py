"""Many strings in two arrays, so that they can be mapped from a file and decoded one by one.

string i = text[offsets[i] : offsets[i + 1]], in UTF-8
"""

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError

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
