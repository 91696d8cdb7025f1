"""The two likeliest classes of each row: what is suggested, and what comes next."""

from dataclasses import dataclass, fields

import numpy as np

from twohot._types import FloatArray, IntArray

# Of two candidates whose probabilities differ by less than this factor neither is sure.
CLOSE = 2.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """The two likeliest classes of each row."""

    first: IntArray  # (n_rows,), the likeliest class
    second: IntArray  # (n_rows,), the next
    confidence: FloatArray  # (n_rows,), probability of the likeliest
    runner_up: FloatArray  # (n_rows,), probability of the next


def two_likeliest(scores: FloatArray, probabilities: FloatArray) -> Candidates:
    """Return the two classes of the largest scores, and how probable they are.

    Both are (n_rows, n_classes); of equal scores the lower class comes first.
    """
    rows = np.arange(len(scores))
    first = scores.argmax(axis=1)
    rest = np.maximum(scores, np.finfo(scores.dtype).min)  # impossible classes are still classes
    rest[rows, first] = -np.inf
    second = rest.argmax(axis=1)
    chances = (probabilities[rows, found].astype(np.float64) for found in (first, second))
    return Candidates(first, second, *chances)


def join(parts: list[Candidates]) -> Candidates:
    """Return the rows of several blocks as one."""
    names = [field.name for field in fields(Candidates)]
    return Candidates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
