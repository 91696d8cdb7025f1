"""The rows most alike a row, class by class: what a person compares a doubtful label with.

How alike two rows are is the cosine of their prepared features, 1 for copies. Rows whose own label
is flagged show nothing about their class, and are left out.
"""

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray, Matrix
from twohot.audit.averaging_weights import prepared_rows, products_at
from twohot.audit.issue_table import LabelIssues
from twohot.audit.partly_labelled import check_audited_rows
from twohot.review.evidence import NO_ROW, Evidence, NearestRows
from twohot.rows.threads import count_threads

# The most doubtful rows: more than a person looks at in a day, and few enough for a small page.
EXPLAINED_ROWS = 2000
# Of each class: as many as fit side by side on a card.
N_NEAREST = 3


def label_evidence(
    X: Matrix,
    issues: LabelIssues,
    *,
    n_rows: int = EXPLAINED_ROWS,
    n_nearest: int = N_NEAREST,
    n_jobs: int | None = None,
) -> Evidence:
    """Return the nearest rows of the suggested and of the given class, of the most doubtful rows.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
        What was audited.
    issues : LabelIssues
        What was found.
    n_rows : int
        How many of the flagged rows to explain, the most doubtful first.
    n_nearest : int
        How many rows to name of each class.
    n_jobs : int, optional
        Threads; all cores by default.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import find_label_issues
    >>> X, y = load_digits(return_X_y=True)
    >>> y[7] = 1  # it is a seven
    >>> evidence = label_evidence(X, find_label_issues(X, y))
    >>> y[evidence.suggested.rows[evidence.rows == 7]]
    array([[7, 7, 7]])
    """
    asked = issues.rows[:n_rows]
    # By classes whose labels can be believed.
    codes = np.where(issues.is_label_issue, NO_LABEL, issues.given)
    wanted = np.stack([issues.predicted[asked], issues.given[asked]], axis=1)
    rows = check_audited_rows(X, issues)
    nearest, alike = nearest_of_classes(
        rows, codes, asked, wanted, n_nearest=n_nearest, n_jobs=n_jobs
    )
    of_suggested, of_given = (NearestRows(nearest[:, k], alike[:, k]) for k in (0, 1))
    return Evidence(rows=asked, suggested=of_suggested, given=of_given)


def nearest_of_classes(
    X: Matrix,
    codes: IntArray,
    asked: IntArray,
    wanted: IntArray,
    *,
    n_nearest: int,
    n_jobs: int | None = None,
) -> tuple[IntArray, FloatArray]:
    """Return the rows of wanted classes that are nearest to the rows asked for.

    Parameters
    ----------
    X : matrix of shape (n_rows, n_features)
    codes : array of shape (n_rows,)
        The class of every row; NO_LABEL for a row that is not to be named.
    asked : array of shape (n_asked,)
        Places of rows.
    wanted : array of shape (n_asked, n_wanted)
        Classes to look in, for each row asked for.

    Returns
    -------
    nearest, alike : arrays of shape (n_asked, n_wanted, n_nearest)
        Places of rows, nearest first, and their cosines; NO_ROW and NaN where a class has no more.
    """
    nearest = np.full((*wanted.shape, n_nearest), NO_ROW)
    alike = np.full(nearest.shape, np.nan)
    if not len(asked):
        return nearest, alike
    everyone = np.ones(len(codes), dtype=bool)
    n_threads = count_threads(n_jobs)
    rows = prepared_rows(X, everyone, center=True, normalize=True, n_jobs=n_threads)
    members = {int(k): np.flatnonzero(codes == k) for k in np.unique(wanted)}
    for place, cosines in enumerate(products_at(rows, asked)):
        for column, k in enumerate(wanted[place].tolist()):
            others = members[k][members[k] != asked[place]]
            # Of rows that are equally alike the earlier one comes first.
            found = others[np.argsort(-cosines[others], kind="stable")[:n_nearest]]
            nearest[place, column, : len(found)] = found
            alike[place, column, : len(found)] = cosines[found]
    return nearest, alike
