"""The nearest rows of all rows, exact up to a number of rows, and of a sample of them above.

Rows are compared by the distance of their prepared features, of unit norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from twohot.audit.issues import LabelIssues, check_audited_rows
from twohot.base import NO_LABEL, FloatArray, IntArray, Matrix, check_generator
from twohot.judge import N_NEIGHBOURS, SAMPLE_ROWS, nearest_rows
from twohot.review import NO_ROW, Evidence, NearestRows
from twohot.rows import (
    Block,
    Preparation,
    Rows,
    Terms,
    count_threads,
    fit_preparation,
    open_rows,
    products_with,
    span_of,
)

# Prepared rows that are held at once, 1 GB; wider features are searched in fewer rows.
MOST_ENTRIES = 2**28


@dataclass(frozen=True, eq=False)
class AuditedRows:
    """The rows of an audit, checked, and how they are centred and scaled to unit norm."""

    X: Matrix
    preparation: Preparation
    n_threads: int

    def open(self, dtype: Any = None) -> Rows:
        """Return the prepared rows."""
        return open_rows(self.X, self.preparation, dtype=dtype, n_jobs=self.n_threads)


def audited_rows(X: Matrix, issues: LabelIssues, n_jobs: int | None = None) -> AuditedRows:
    """Check that features are those that were audited, and read them for their mean."""
    n_threads, rows = count_threads(n_jobs), check_audited_rows(X, issues)
    preparation = fit_preparation(rows, center=True, normalize=True, weights=None, n_jobs=n_threads)
    return AuditedRows(rows, preparation, n_threads)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The nearest rows of some rows, among these, the nearest first."""

    rows: IntArray  # (n_searched,), positions in the data, ascending
    neighbours: IntArray  # (n_searched, n_neighbours), positions in the data
    distances: FloatArray  # (n_searched, n_neighbours), |x - y| of prepared rows, from 0 to 2
    n_rows: int  # of the data

    @property
    def cosines(self) -> FloatArray:
        """(n_searched, n_neighbours), how alike neighbours are."""
        return 1 - self.distances**2 / 2


def search_neighbourhood(
    rows: AuditedRows, *, most_rows: int = SAMPLE_ROWS, random_state: Any = 0
) -> Neighbourhood:
    """Return the nearest rows of all rows, or of as many as can be compared with each other."""
    n_rows, n_features = rows.X.shape
    n_searched = min(n_rows, most_rows, max(1, MOST_ENTRIES // n_features))
    generator = check_generator(random_state)
    chosen = np.arange(n_rows)
    if n_searched < n_rows:
        chosen = np.sort(generator.choice(n_rows, n_searched, replace=False))
    prepared = rows.open(np.dtype(np.float32)).in_memory(chosen).X
    n_kept = min(N_NEIGHBOURS, n_searched - 1)
    places, distances = nearest_rows(prepared, n_kept, n_jobs=rows.n_threads)
    return Neighbourhood(chosen, chosen[places], distances, n_rows)


# Rows of the label-averaging matrix: what every training row weighs at a row asked for ------------
# With S = Σ_j x_j x_jᵀ over the rows that have a label, S = V diag(λ) Vᵀ and x = ridge,
#
#     weight(i, j) = x_iᵀ V diag(h) Vᵀ x_j,      h = λᵗ⁻¹ / (x + λ)ᵗ.
#
# This is row i of [Φ (x I + Φ)⁻¹]ᵗ, Φ the Gram matrix, which is never formed: the set-up is one
# pass and a d × d eigenproblem (N × N where there are fewer rows than features), and a row asked
# for then costs one product with all rows.


# Weights held at once: some rows asked for times all training rows, 32 MB.
CHUNK_WEIGHTS = 2**22


def prepared_rows(
    X: Matrix, labelled: NDArray[np.bool_], *, center: bool, normalize: bool, n_jobs: int
) -> Rows:
    """Return the rows as a probe sees them, centred by the mean of the labelled ones."""
    weights = None if labelled.all() else labelled.astype(np.float64)
    preparation = fit_preparation(
        X, center=center, normalize=normalize, weights=weights, n_jobs=n_jobs
    )
    return open_rows(X, preparation, weights=weights, n_jobs=n_jobs)


def products_at(
    rows: Rows, asked: IntArray, metric: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield x_iᵀ M x_j of each row i asked for with all rows j, (n_rows,); M is I by default."""
    size = max(1, CHUNK_WEIGHTS // rows.n_samples)
    for first in range(0, len(asked), size):
        chosen = rows.in_memory(asked[first : first + size]).X
        weighted = chosen if metric is None else chosen @ metric
        yield from np.concatenate(list(rows.map(products_with, weighted))).T


class AveragingWeights:
    """What every training row weighs at the rows asked for."""

    def __init__(
        self, rows: Rows, labelled: NDArray[np.bool_], *, ridge: float, n_rounds: int
    ) -> None:
        # In at most as many coordinates as there are rows.
        rows = span_of(rows).rows if rows.n_samples < rows.n_columns else rows
        self.rows, self.labelled = rows, labelled
        rows.attach("labelled", labelled)
        (moment,) = rows.sum(labelled_moment)
        # The probes scale a ridge by the mean squared norm, 1 for rows of unit norm.
        penalty = ridge * float(np.trace(moment)) / int(labelled.sum()) or 1.0
        eigenvalues, axes = sl.eigh(moment, overwrite_a=True)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        factors = (eigenvalues / (penalty + eigenvalues)) ** (n_rounds - 1)
        self.filter = (axes * (factors / (penalty + eigenvalues))) @ axes.T  # V diag(h) Vᵀ

    def of(self, asked: IntArray) -> Iterator[FloatArray]:
        """Yield the weights (n_rows,) at each row asked for; zero for rows without a label."""
        for weights in products_at(self.rows, asked, self.filter):
            yield np.where(self.labelled, weights, 0.0)


def labelled_moment(block: Block) -> Terms:
    """Return Σ x xᵀ over the rows of a block that have a label. A kernel."""
    x = block.prepared()[block.columns["labelled"]]
    return (x.T @ x,)


# The rows most alike a row, class by class: what a person compares a doubtful label with ----------
# How alike two rows are is the cosine of their prepared features, 1 for copies. Rows whose own
# label is flagged show nothing about their class, and are left out.


# The most doubtful rows: more than a person looks at in a day, and few enough for a small page.
EXPLAINED_ROWS = 2000
# Rows of each class, copies of a row, pairs of classes: as many as fit side by side on a card.
FEW = 3


def label_evidence(
    rows: AuditedRows,
    issues: LabelIssues,
    *,
    n_rows: int = EXPLAINED_ROWS,
    n_nearest: int = FEW,
) -> Evidence:
    """Return the nearest rows of the suggested and of the given class, of the most doubtful rows.

    Of the flagged rows the first `n_rows` are explained.

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
    # By classes whose labels can be believed.
    codes = np.where(issues.is_label_issue, NO_LABEL, issues.given)
    wanted = np.stack([issues.predicted[asked], issues.given[asked]], axis=1)
    nearest, alike = nearest_of_classes(rows.open(), codes, asked, wanted, n_nearest=n_nearest)
    of_suggested, of_given = (NearestRows(nearest[:, k], alike[:, k]) for k in (0, 1))
    return Evidence(rows=asked, suggested=of_suggested, given=of_given)


def nearest_of_classes(
    rows: Rows, codes: IntArray, asked: IntArray, wanted: IntArray, *, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """Return the rows of wanted classes that are nearest to the rows asked for, and their cosines.

    `codes` (n_rows,) are classes of rows, NO_LABEL for one that is not to be named; `asked`
    (n_asked,) places of rows; `wanted` (n_asked, n_wanted) classes to look in for each of these.
    Both results are (n_asked, n_wanted, n_nearest), the nearest first; NO_ROW and NaN where a class
    has no more.
    """
    nearest = np.full((*wanted.shape, n_nearest), NO_ROW)
    alike = np.full(nearest.shape, np.nan)
    if not len(asked):
        return nearest, alike
    members = {int(k): np.flatnonzero(codes == k) for k in np.unique(wanted)}
    for place, cosines in enumerate(products_at(rows, asked)):
        for column, k in enumerate(wanted[place].tolist()):
            others = members[k][members[k] != asked[place]]
            # Of rows that are equally alike the earlier one comes first.
            found = others[np.argsort(-cosines[others], kind="stable")[:n_nearest]]
            nearest[place, column, : len(found)] = found
            alike[place, column, : len(found)] = cosines[found]
    return nearest, alike
