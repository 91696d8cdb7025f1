"""Nearest rows of an audit. Distances are between prepared features of unit norm."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot.audit.issues import LabelIssues, check_rows_of_issues
from twohot.base import ArgumentError, FloatArray, IntArray, Matrix, check_generator, counted
from twohot.describe import products_at
from twohot.judge import N_NEIGHBOURS, SAMPLE_ROWS, nearest_rows
from twohot.probes import LinearProbe, check_features
from twohot.review import NO_ROW, Evidence, NearestRows
from twohot.rows import Preparation, Rows, count_threads, fit_preparation, open_rows

# Entries of the rows that are held at once, 1 GB. If the rows are wider, fewer are searched.
MOST_ENTRIES = 2**28


@dataclass(frozen=True, eq=False)
class AuditedRows:
    """The checked rows of an audit, with their centring and scaling to unit norm."""

    X: Matrix
    preparation: Preparation
    n_threads: int

    def open(self, dtype: Any = None) -> Rows:
        """Return the prepared rows."""
        return open_rows(self.X, self.preparation, dtype=dtype, n_jobs=self.n_threads)


def audited_rows(X: Matrix, issues: LabelIssues, n_jobs: int | None = None) -> AuditedRows:
    """Check that `X` holds the audited rows, and compute their mean."""
    n_threads = count_threads(n_jobs)
    if not isinstance(issues, LabelIssues):
        problem = f"is {type(issues).__name__}, not LabelIssues"
        raise ArgumentError("issues", problem, "pass the result of find_label_issues.")
    rows = check_features(LinearProbe(), X, reset=True)
    if rows.shape[0] != len(issues):
        problem = f"has {counted(rows.shape[0], 'row')} and issues has {len(issues)}"
        raise ArgumentError("X", problem, "pass all audited rows.")
    check_rows_of_issues("X", X, issues)
    preparation = fit_preparation(rows, center=True, normalize=True, weights=None, n_jobs=n_threads)
    return AuditedRows(rows, preparation, n_threads)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Each searched row's nearest searched rows, the nearest first."""

    rows: IntArray  # (n_searched,), positions in the data, ascending
    neighbours: IntArray  # (n_searched, n_neighbours), positions in the data
    distances: FloatArray  # (n_searched, n_neighbours), |x - y| of prepared rows, from 0 to 2
    n_rows: int  # of the data


def search_neighbourhood(
    rows: AuditedRows,
    *,
    most_rows: int = SAMPLE_ROWS,
    most_entries: int = MOST_ENTRIES,
    random_state: Any = 0,
) -> Neighbourhood:
    """Return the nearest rows of all rows, or of a random sample if there are too many."""
    n_rows, n_features = rows.X.shape
    n_searched = min(n_rows, most_rows, max(1, most_entries // n_features))
    generator = check_generator(random_state)
    chosen = np.arange(n_rows)
    if n_searched < n_rows:
        chosen = np.sort(generator.choice(n_rows, n_searched, replace=False))
    prepared = rows.open(np.dtype(np.float32)).in_memory(chosen).X
    n_kept = min(N_NEIGHBOURS, n_searched - 1)
    places, distances = nearest_rows(prepared, n_kept, n_jobs=rows.n_threads)
    return Neighbourhood(chosen, chosen[places], distances, n_rows)


# The most similar rows of the given and of the suggested class, for the review page ---------------
# Similarity is the cosine of prepared features, 1 for copies. Rows whose own label is flagged are
# left out, because they do not show what their class looks like.


# Rows with neighbours: more than a person reviews in a day, and few enough for a small page.
EXPLAINED_ROWS = 2000
# Neighbours of each class, copies of a row, pairs of classes: as many as fit in a row of a card.
FEW = 3


def label_evidence(
    rows: AuditedRows, issues: LabelIssues, *, n_rows: int = EXPLAINED_ROWS
) -> Evidence:
    """Return the nearest rows of the suggested and of the given class for suspicious rows.

    These are the first `n_rows` flagged rows, the most suspicious first.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import find_label_issues
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1  # it is a seven
    >>> issues = find_label_issues(X, y)
    >>> evidence = label_evidence(audited_rows(X, issues), issues)
    >>> y[evidence.suggested.rows[evidence.rows == 7]]
    array([[7, 7, 7]])
    """
    asked = issues.rows[:n_rows]
    wanted = np.stack([issues.predicted[asked], issues.given[asked]], axis=1)
    members = {
        k: np.flatnonzero((issues.given == k) & ~issues.is_label_issue)
        for k in np.unique(wanted).tolist()
    }
    nearest = np.full((*wanted.shape, FEW), NO_ROW)
    alike = np.full(nearest.shape, np.nan)
    for place, cosines in enumerate(products_at(rows.open(), asked)):
        for column, k in enumerate(wanted[place].tolist()):
            # Ties: the earlier row comes first.
            found = members[k][np.argsort(-cosines[members[k]], kind="stable")[:FEW]]
            nearest[place, column, : len(found)] = found
            alike[place, column, : len(found)] = cosines[found]
    of_suggested, of_given = (NearestRows(nearest[:, k], alike[:, k]) for k in (0, 1))
    return Evidence(rows=asked, suggested=of_suggested, given=of_given)
