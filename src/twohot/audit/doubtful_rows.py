"""The most doubtful rows of a table in chunks, which a page shows, and counts of all of them."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.audit.issue_table import LabelIssues
from twohot.audit.lazy_issues import LazyLabelIssues, column_of_chunk
from twohot.audit.row_judge import VERDICT
from twohot.review.records import RowCounts
from twohot.tables.row_ids import RowIds

# More than a person looks at in a day, and few enough for a small page.
MOST_SHOWN = 2000


@dataclass(frozen=True, eq=False)
class DoubtfulRows:
    """Some of the flagged rows of an audit, and what is known of all rows."""

    issues: LabelIssues  # the most doubtful rows, in the order of the data; estimates are of all
    places: IntArray  # (n_shown,), where they are among all rows
    counts: RowCounts  # of all rows
    confusions: Counter[tuple[int, int]]  # flagged rows by given label and suggestion


def most_doubtful(issues: LazyLabelIssues, ids: RowIds) -> DoubtfulRows:
    """Return the flagged rows whose labels are wrong most probably; nothing else comes here."""
    columns = issues.verdicts
    found = columns.gather_with(issues.flags, doubtful_of_chunk, MOST_SHOWN)
    firsts = columns.bounds[:-1].tolist()
    places = np.concatenate([each.rows + first for each, first in zip(found, firsts, strict=True)])
    verdicts = np.concatenate([each.verdicts for each in found])
    quality = _column(verdicts, issues.classes, "label_quality")
    kept = np.sort(np.argsort(quality, kind="stable")[:MOST_SHOWN])
    confusions: Counter[tuple[int, int]] = Counter()
    for each in found:
        confusions.update(each.confusions)
    counts = RowCounts(
        n_rows=len(issues),
        n_unlabelled=sum(each.n_unlabelled for each in found),
        n_flagged=issues.n_issues,
        n_undecided=sum(each.n_undecided for each in found),
    )
    shown = _table(issues, verdicts[kept], ids.take(places[kept]))
    return DoubtfulRows(shown, places[kept], counts, confusions)


def _table(issues: LazyLabelIssues, verdicts: FloatArray, ids: RowIds) -> LabelIssues:
    codes = {name: verdicts[:, VERDICT.index(name)] for name in ("given", "first", "second")}
    given, predicted, second = (codes[name].astype(np.intp) for name in codes)
    numbers = {
        name: _column(verdicts, issues.classes, name)
        for name in ("label_quality", "confidence", "second_confidence", "is_undecided")
    }
    return LabelIssues(
        is_label_issue=np.ones(len(verdicts), dtype=bool),
        given=given,
        predicted=predicted,
        second=second,
        **numbers,
        classes=issues.classes,
        noise_rate=issues.noise_rate,
        noise_interval=issues.noise_interval,
        corruption=issues.corruption,
        messages=issues.messages,
        probe=issues.probe,
        ids=ids,
    )


def _column(verdicts: FloatArray, classes: NDArray[Any], name: str) -> NDArray[Any]:
    return column_of_chunk(verdicts, np.ones(len(verdicts), dtype=bool), classes, name)


# Tasks -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChunkDoubts:
    """What comes of a chunk: its most doubtful rows, and counts."""

    rows: IntArray  # in the chunk
    verdicts: FloatArray  # (n_rows, 7), columns of VERDICT
    n_unlabelled: int
    n_undecided: int  # of the flagged rows
    confusions: dict[tuple[int, int], int]  # flagged rows by given label and suggestion


def doubtful_of_chunk(verdicts: FloatArray, flags: NDArray[np.bool_], n_rows: int) -> ChunkDoubts:
    """Return the most doubtful of the flagged rows of a chunk, in order, and counts of all."""
    flagged = np.flatnonzero(flags)
    nobody = np.empty(0, dtype=object)  # names of classes are not asked for
    quality = _column(verdicts[flagged], nobody, "label_quality")
    rows = np.sort(flagged[np.argsort(quality, kind="stable")[:n_rows]])
    pairs = verdicts[flagged][:, [VERDICT.index("given"), VERDICT.index("first")]].astype(np.intp)
    given = verdicts[:, VERDICT.index("given")]
    return ChunkDoubts(
        rows=rows,
        verdicts=verdicts[rows],
        n_unlabelled=int(np.count_nonzero(given == NO_LABEL)),
        n_undecided=int(np.sum(_column(verdicts[flagged], nobody, "is_undecided"))),
        confusions=dict(Counter(map(tuple, pairs.tolist()))),
    )
