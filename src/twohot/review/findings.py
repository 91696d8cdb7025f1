"""What was found beside wrong labels, as a page shows it: kinds of rows, and classes alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._types import FloatArray, IntArray
from twohot.review.evidence import Near

# Rows of one kind that a page shows beside the flagged ones; findings.csv has them all.
MOST_SHOWN = 1000


@dataclass(frozen=True, eq=False)
class RowFinding:
    """Rows that are worth a look for one reason."""

    name: str  # of the kind, a few words
    meaning: str  # one sentence: what it is, and what to do
    rows: IntArray  # (n_found,), positions in the data, the most striking first
    scores: FloatArray  # (n_found,), how striking; what it is, `meaning` says
    related: tuple[IntArray, ...] = ()  # (n_found,) other rows that the finding is about, or empty
    groups: IntArray | None = None  # (n_found,), numbers of groups of rows that belong together


@dataclass(frozen=True)
class AlikeClasses:
    """Two classes whose rows are neighbours of each other, as if they were one."""

    first: int  # positions in the classes
    second: int
    mixing: float  # neighbours across them, of those to expect if they were one class


def rows_of_page(
    flagged: IntArray, findings: Sequence[RowFinding], labelled: NDArray[np.bool_]
) -> IntArray:
    """Return the rows that a page shows: the flagged ones, then those of other findings.

    Rows without a label are not shown: there is nothing to keep or to correct.
    """
    rows = (finding.rows[labelled[finding.rows]][:MOST_SHOWN] for finding in findings)
    found = (row for part in rows for row in part.tolist())
    return np.array(list(dict.fromkeys([*flagged.tolist(), *found])), dtype=np.intp)


def finding_columns(findings: Sequence[RowFinding], shown: IntArray) -> list[dict[str, Any]]:
    """Return, of each kind of finding, what a page says and where its rows stand there."""
    place = {row: number for number, row in enumerate(shown.tolist())}
    return [
        {
            "name": finding.name,
            "meaning": finding.meaning,
            "total": len(finding.rows),
            # A row beyond the first ones may be there for another reason.
            "rows": [place[row] for row in finding.rows.tolist() if row in place],
        }
        for finding in findings
    ]


def copies_by_row(findings: Sequence[RowFinding]) -> Near:
    """Return the other rows that findings are about, by row."""
    return {
        row: [(other, None) for other in others.tolist()]
        for finding in findings
        if finding.related
        for row, others in zip(finding.rows.tolist(), finding.related, strict=True)
    }
