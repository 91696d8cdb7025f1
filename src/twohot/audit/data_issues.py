"""Other issues of the data: near-duplicates, outliers, ambiguous rows, overlapping classes.

To add a kind of issue, write a function that finds it, and change four places of this module: the
fields of `DataIssues`, `look_for_issues`, `messages` and, if single rows have the issue,
`findings`. The review page shows all findings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot.audit.issues import LabelIssues, check_rows_of_issues
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    Matrix,
    check_generator,
    counted,
    told_apart,
)
from twohot.judge import N_NEIGHBOURS, SAMPLE_ROWS, connected, copy_distance, nearest_rows
from twohot.probes import LinearProbe, check_features
from twohot.review import AlikeClasses, RowFinding
from twohot.rows import Preparation, Rows, count_threads, fit_preparation, open_rows

# Maximum number of entries (rows times features) in memory, 1 GB. If there are more features, fewer
# rows are searched.
MOST_ENTRIES = 2**28
# Maximum number of neighbours of each class on the page, of copies of a row on the page, and of
# pairs of classes in a message.
FEW = 3

# Nearest rows. Rows are prepared, that is, centred and scaled to unit norm; distances are Euclidean


@dataclass(frozen=True, eq=False)
class AuditedRows:
    """Validated features of an audit."""

    X: Matrix
    preparation: Preparation
    n_threads: int

    def open(self, dtype: Any = None) -> Rows:
        """Return the rows, centred and scaled to unit norm."""
        return open_rows(self.X, self.preparation, dtype=dtype, n_jobs=self.n_threads)


def audited_rows(X: Matrix, issues: Any, n_jobs: int | None = None) -> AuditedRows:
    """Return the rows of `X`; raise unless `X` has the audited rows, as far as can be checked."""
    n_threads = count_threads(n_jobs)
    if not isinstance(issues, LabelIssues):
        problem = f"is {type(issues).__name__}, not LabelIssues"
        raise ArgumentError("issues", problem, "pass the result of find_label_issues.")
    rows = check_features(LinearProbe(), X, reset=True)
    if rows.shape[0] != len(issues):
        problem = f"has {counted(rows.shape[0], 'row')}, but issues has {len(issues)}"
        raise ArgumentError("X", problem, "pass all audited rows.")
    check_rows_of_issues("X", X, issues)
    preparation = fit_preparation(rows, center=True, normalize=True, weights=None, n_jobs=n_threads)
    return AuditedRows(rows, preparation, n_threads)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """For each searched row, the nearest other searched rows, nearest first."""

    rows: IntArray  # (n_searched,), searched rows (all or a sample): positions, ascending
    neighbours: IntArray  # (n_searched, n_neighbours), positions in the data
    distances: FloatArray  # (n_searched, n_neighbours), |x - y| of prepared rows, from 0 to 2
    n_rows: int  # number of rows of the data


def search_neighbourhood(
    rows: AuditedRows,
    *,
    most_rows: int = SAMPLE_ROWS,
    most_entries: int = MOST_ENTRIES,
    random_state: Any = 0,
) -> Neighbourhood:
    """Return the nearest rows of each row; if there are too many rows, within a random sample."""
    n_rows, n_features = rows.X.shape
    n_searched = min(n_rows, most_rows, max(1, most_entries // n_features))
    generator = check_generator(random_state)
    chosen = np.arange(n_rows)
    if n_searched < n_rows:
        chosen = np.sort(generator.choice(n_rows, n_searched, replace=False))
    prepared = rows.open(np.dtype(np.float32)).in_memory(chosen).X
    n_neighbours = min(N_NEIGHBOURS, n_searched - 1)
    places, distances = nearest_rows(prepared, n_neighbours, n_jobs=rows.n_threads)
    return Neighbourhood(chosen, chosen[places], distances, n_rows)


# Issues found by nearest rows: near-duplicates, outliers, overlapping classes ---------------------
# Let d_k(i) be the distance of row i to its k-th nearest row, and s(i) the mean cosine similarity
# between row i and its nearest rows.
#
#     near-duplicates   d_k(i) ≤ `copy_distance`: much nearer than usual in these data
#     outliers          log s(i) < Q1 - 3 (Q3 - Q1), quartiles of log s, and s(i) < median s / 2
#     overlapping       `class_mixing` is about 1, as for one class that was split at random


# Tukey's fence for far outliers, as a multiple of the interquartile range.
FAR_OUT = 3.0
# Threshold of `class_mixing`. It is 0.8 to 1.5 for two random halves of one class. For two
# different classes, it is nearly always below 0.7.
ALIKE = 0.75


def copies(nearby: Neighbourhood) -> tuple[IntArray, ...]:
    """Return groups of near-duplicates as positions, ordered by the first row of each group."""
    if not nearby.distances.size:
        return ()
    is_copy = nearby.distances <= copy_distance(nearby.distances)
    ends = np.broadcast_to(nearby.rows[:, np.newaxis], is_copy.shape)[is_copy]
    others = nearby.neighbours[is_copy]
    group = connected(ends, others, nearby.n_rows)
    members = np.unique(np.concatenate([ends, others]))
    order = members[np.argsort(group[members], kind="stable")]
    starts = np.flatnonzero(np.diff(group[order])) + 1
    groups = [rows for rows in np.split(order, starts) if len(rows)]
    return tuple(sorted(groups, key=lambda rows: int(rows[0])))


def far_out(nearby: Neighbourhood) -> tuple[IntArray, FloatArray]:
    """Return outliers, most distant first, and the mean cosine similarity to their nearest rows."""
    if not nearby.distances.size:
        return np.zeros(0, np.intp), np.zeros(0)
    closeness = (1 - nearby.distances**2 / 2).mean(axis=1)
    # A mean cosine that is not positive has no logarithm. It is replaced by the smallest positive
    # number.
    logs = np.log(np.maximum(closeness, np.finfo(np.float64).tiny))
    low, middle, high = np.percentile(logs, [25, 50, 75])
    outliers = np.flatnonzero(logs < min(low - FAR_OUT * (high - low), middle - np.log(2)))
    outliers = outliers[np.argsort(closeness[outliers], kind="stable")]
    return nearby.rows[outliers], closeness[outliers]


def classes_alike(
    nearby: Neighbourhood, given: IntArray, corrected: IntArray
) -> tuple[AlikeClasses, ...]:
    """Return pairs of overlapping classes, most mixed first.

    Classes are compared by given and by corrected labels. If annotators often confused two classes,
    the classes overlap by given labels, but not by corrected labels. Such a pair is not returned.
    If two names mean the same class, the names overlap by both kinds of labels, or the correction
    gives most rows of one name the other name.
    """
    n_classes = max(int(given.max()), int(corrected.max())) + 1
    mixing = class_mixing(nearby, given, n_classes)
    labels = (given, corrected)
    before, after = (np.bincount(codes[codes >= 0], minlength=n_classes) for codes in labels)
    is_absorbed = after < before / 2
    stays = class_mixing(nearby, corrected, n_classes) >= ALIKE
    is_alike = (mixing >= ALIKE) & (stays | is_absorbed | is_absorbed[:, np.newaxis])
    pairs = np.argwhere(np.triu(is_alike)).tolist()
    alike = [AlikeClasses(first, second, float(mixing[first, second])) for first, second in pairs]
    return tuple(sorted(alike, key=lambda pair: -pair.mixing))


def class_mixing(nearby: Neighbourhood, codes: IntArray, n_classes: int) -> FloatArray:
    """Return how much each pair of classes overlaps: about 1 if both are really one class.

    Consider the pairs (row, neighbour) in which both have class a or b. Take the fraction of these
    pairs with one row in a and the other in b. The mixing of a and b is this fraction, divided by
    its expectation if a and b were one class that was split at random,
    2 n_a n_b / ((n_a + n_b) (n_a + n_b - 1)). The result has zeros on the diagonal and for classes
    with few rows.
    """
    searched = codes[nearby.rows]
    of_row = np.broadcast_to(searched[:, np.newaxis], nearby.neighbours.shape)
    of_neighbour = codes[nearby.neighbours]
    known = (of_row != NO_LABEL) & (of_neighbour != NO_LABEL)
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (of_row[known], of_neighbour[known]), 1)
    sizes = np.bincount(searched[searched != NO_LABEL], minlength=n_classes).astype(np.float64)
    across, within = counts + counts.T, np.diag(counts)
    both = across + within[:, np.newaxis] + within
    total = sizes[:, np.newaxis] + sizes
    expected = 2 * np.outer(sizes, sizes) / np.maximum(total * (total - 1), 1)
    mixing = across / np.maximum(both * expected, np.finfo(np.float64).tiny)
    large = sizes >= N_NEIGHBOURS  # rows of a smaller class must have neighbours of other classes
    return np.where(np.outer(large, large) & ~np.eye(n_classes, dtype=bool), mixing, 0.0)


CONFLICT = (
    "Near-duplicates with different labels: one label is wrong, or the two classes cannot be "
    "distinguished. The score is the probability that this label is wrong."
)
COPY = (
    "Rows that are nearly the same. If one is a training row and another a test row, the test "
    "accuracy is too high. The score is the probability that this label is wrong."
)
OUTLIER = (
    "Rows far from all other rows; perhaps they belong to no class. The score is the mean cosine "
    "similarity between the row and its nearest rows."
)
AMBIGUOUS = (
    "Rows for which two classes are about equally probable; the label is not taken into account. "
    "The score is the probability of the more probable class."
)


@dataclass(frozen=True, eq=False)
class DataIssues:
    """Issues of the data other than wrong labels; rows are positions in X."""

    duplicates: tuple[IntArray, ...]  # groups of near-duplicate rows
    outliers: IntArray  # (n_outliers,), rows far from all other rows, most distant first
    closeness: FloatArray  # (n_outliers,), mean cosine similarity to the nearest rows
    ambiguous: IntArray  # labelled rows with two almost equally probable classes
    alike_classes: tuple[AlikeClasses, ...]  # pairs of overlapping classes, most mixed first
    issues: LabelIssues  # result of the label audit
    n_searched: int  # number of rows that were compared with each other: all rows, or a sample

    @property
    def conflicting(self) -> tuple[IntArray, ...]:
        """Groups of near-duplicates with different given labels: some of them are perhaps wrong."""
        given = self.issues.given
        return tuple(group for group in self.duplicates if _differ(given[group]))

    @property
    def messages(self) -> tuple[str, ...]:
        """One sentence for each kind of issue that was found, except ambiguous rows."""
        names, n_rows = self.issues.classes.tolist(), len(self.issues)
        said = []
        if self.duplicates:
            groups = counted(len(self.duplicates), "group")
            said.append(
                f"Near-duplicates: {sum(map(len, self.duplicates)):,} rows in {groups}; "
                f"groups with different labels: {len(self.conflicting):,}."
            )
        if len(self.outliers):
            said.append(f"Outliers: {counted(len(self.outliers), 'row')} far from all other rows.")
        if self.alike_classes:
            n_pairs, few = len(self.alike_classes), self.alike_classes[:FEW]
            pairs = [" and ".join(told_apart([names[p.first], names[p.second]])) for p in few]
            more = ", …" * (n_pairs > FEW)
            said.append(
                f"Overlapping classes: {counted(n_pairs, 'pair')} ({', '.join(pairs)}{more})."
            )
        if self.n_searched < n_rows:
            said.append(
                "Near-duplicates, outliers and overlapping classes were searched in a random "
                f"sample of {self.n_searched:,} of {n_rows:,} rows."
            )
        return tuple(said)

    def findings(self) -> tuple[RowFinding, ...]:
        """Return one finding for each kind of issue that some rows have."""
        given, confidence = self.issues.given, self.issues.confidence
        agreeing = [group for group in self.duplicates if not _differ(given[group])]
        findings = (
            _copies("copies with different labels", CONFLICT, self.conflicting, self.issues),
            _copies("near-duplicates", COPY, agreeing, self.issues),
            RowFinding("outliers", OUTLIER, self.outliers, self.closeness),
            RowFinding("ambiguous", AMBIGUOUS, self.ambiguous, confidence[self.ambiguous]),
        )
        return tuple(finding for finding in findings if len(finding.rows))

    def __repr__(self) -> str:
        return "\n".join(self.messages) or "No other issues were found."


def find_data_issues(
    X: Matrix, issues: LabelIssues, *, n_jobs: int | None = None, random_state: Any = 0
) -> DataIssues:
    """Find near-duplicates, outliers, ambiguous rows and overlapping classes.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
        The audited features.
    issues : LabelIssues
        The result of `find_label_issues` for these rows. Its corrected labels distinguish classes
        that overlap from classes that annotators confused.
    n_jobs : int, optional
        Number of threads; all cores by default.
    random_state : int, RandomState, Generator or None
        Seed of the sample that is searched if there are more than 50,000 rows.

    Returns
    -------
    DataIssues
        Near-duplicates, outliers, ambiguous rows and pairs of overlapping classes. If you print
        it, it shows one sentence for each kind of issue except ambiguous rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import find_label_issues
    >>> X, y = load_digits(return_X_y=True)
    >>> X[5], y[5] = X[7], 3  # a copy of a seven, with another label
    >>> found = find_data_issues(X, find_label_issues(X, y))
    >>> [group.tolist() for group in found.conflicting]
    [[5, 7]]
    """
    return look_for_issues(audited_rows(X, issues, n_jobs), issues, random_state)


def look_for_issues(rows: AuditedRows, issues: LabelIssues, random_state: Any = 0) -> DataIssues:
    """Return the issues of validated rows; see `find_data_issues`."""
    nearby = search_neighbourhood(rows, random_state=random_state)
    outliers, closeness = far_out(nearby)
    ambiguous = np.flatnonzero(issues.is_undecided & (issues.given != NO_LABEL))
    return DataIssues(
        duplicates=copies(nearby),
        outliers=outliers,
        closeness=closeness,
        ambiguous=ambiguous[np.argsort(issues.confidence[ambiguous], kind="stable")],
        alike_classes=classes_alike(nearby, issues.given, issues.corrected(undecided=True).codes),
        issues=issues,
        n_searched=len(nearby.rows),
    )


def _differ(codes: IntArray) -> bool:
    """Return whether rows have different labels; rows without a label are ignored."""
    return len(np.unique(codes[codes != NO_LABEL])) > 1


def _copies(name: str, meaning: str, groups: Sequence[IntArray], issues: LabelIssues) -> RowFinding:
    """Return groups of copies as a `RowFinding`, the group with the most suspicious label first."""
    # A row without a label counts as not suspicious.
    doubt = np.nan_to_num(issues.probability_wrong)
    ordered = sorted(groups, key=lambda group: -float(doubt[group].max()))
    related = [_others(group, row, issues.given) for group in ordered for row in group.tolist()]
    rows = np.concatenate([np.zeros(0, np.intp), *ordered])
    numbers = np.repeat(np.arange(1, len(ordered) + 1), [len(group) for group in ordered])
    return RowFinding(name, meaning, rows, issues.probability_wrong[rows], tuple(related), numbers)


def _others(group: IntArray, row: int, given: IntArray) -> IntArray:
    """Return a few copies of a row: first those with another label, then those without a label."""
    others = group[group != row]
    rank = np.where(given[others] == NO_LABEL, 1, 2 * (given[others] == given[row]))
    return np.asarray(others[np.argsort(rank, kind="stable")][:FEW])
