"""The most doubtful rows of a table in chunks, which a page shows, and counts of all of them."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.audit.issue_table import LabelIssues
from twohot.audit.lazy_issues import DECIDED, LazyLabelIssues, column_of_chunk
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
    found = columns.gather_with(issues.decided, doubtful_of_chunk, MOST_SHOWN)
    firsts = columns.bounds[:-1].tolist()
    places = np.concatenate([each.rows + first for each, first in zip(found, firsts, strict=True)])
    verdicts = np.concatenate([each.verdicts for each in found])
    decided = np.concatenate([each.decided for each in found])
    kept = _first_rows(decided, MOST_SHOWN)
    confusions: Counter[tuple[int, int]] = Counter()
    for each in found:
        confusions.update(each.confusions)
    counts = RowCounts(
        n_rows=len(issues),
        n_unlabelled=sum(each.n_unlabelled for each in found),
        n_flagged=issues.n_issues,
        n_undecided=sum(each.n_undecided for each in found),
    )
    shown = _table(issues, verdicts[kept], decided[kept], ids.take(places[kept]))
    return DoubtfulRows(shown, places[kept], counts, confusions)


def _table(
    issues: LazyLabelIssues, verdicts: FloatArray, decided: FloatArray, ids: RowIds
) -> LabelIssues:
    codes = {name: verdicts[:, VERDICT.index(name)] for name in ("given", "first", "second")}
    given, predicted, second = (codes[name].astype(np.intp) for name in codes)
    numbers = {
        name: column_of_chunk(verdicts, decided, issues.classes, name)
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


def _first_rows(decided: FloatArray, n_rows: int) -> IntArray:
    """Return the most doubtful rows, so many at the most, in order."""
    doubt = decided[:, DECIDED.index("doubt")]
    return np.sort(np.argsort(-doubt, kind="stable")[:n_rows])


# Tasks -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChunkDoubts:
    """What comes of a chunk: its most doubtful rows, and counts."""

    rows: IntArray  # in the chunk
    verdicts: FloatArray  # (n_rows, 7), columns of VERDICT
    decided: FloatArray  # (n_rows, 2), columns of DECIDED
    n_unlabelled: int
    n_undecided: int  # of the flagged rows
    confusions: dict[tuple[int, int], int]  # flagged rows by given label and suggestion


def doubtful_of_chunk(verdicts: FloatArray, decided: FloatArray, n_rows: int) -> ChunkDoubts:
    """Return the most doubtful of the flagged rows of a chunk, in order, and counts of all."""
    flagged = np.flatnonzero(decided[:, DECIDED.index("flagged")])
    rows = flagged[_first_rows(decided[flagged], n_rows)]
    pairs = verdicts[flagged][:, [VERDICT.index("given"), VERDICT.index("first")]].astype(np.intp)
    given = verdicts[:, VERDICT.index("given")]
    nobody = np.empty(0, dtype=object)  # names of classes are not asked for
    undecided = column_of_chunk(verdicts[flagged], decided[flagged], nobody, "is_undecided")
    return ChunkDoubts(
        rows=rows,
        verdicts=verdicts[rows],
        decided=decided[rows],
        n_unlabelled=int(np.count_nonzero(given == NO_LABEL)),
        n_undecided=int(np.sum(undecided)),
        confusions=dict(Counter(map(tuple, pairs.tolist()))),
    )
