"""Nearest rows: of all rows or a sample, and of the classes of a doubtful label.

Distances are between prepared features of unit norm.
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
    n_threads, rows = count_threads(n_jobs), check_audited_rows(X, issues)
    preparation = fit_preparation(rows, center=True, normalize=True, weights=None, n_jobs=n_threads)
    return AuditedRows(rows, preparation, n_threads)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Each searched row's nearest searched rows, the nearest first."""

    rows: IntArray  # (n_searched,), positions in the data, ascending
    neighbours: IntArray  # (n_searched, n_neighbours), positions in the data
    distances: FloatArray  # (n_searched, n_neighbours), |x - y| of prepared rows, from 0 to 2
    n_rows: int  # of the data

    @property
    def cosines(self) -> FloatArray:
        """(n_searched, n_neighbours), cosine similarities."""
        return 1 - self.distances**2 / 2


def search_neighbourhood(
    rows: AuditedRows, *, most_rows: int = SAMPLE_ROWS, random_state: Any = 0
) -> Neighbourhood:
    """Return the nearest rows of all rows, or of a random sample if there are too many."""
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


# Rows of the label-averaging matrix: the weight of every training row at one row ------------------
# With S = Σ_j x_j x_jᵀ over the rows that have a label, S = V diag(λ) Vᵀ and x = ridge,
#
#     weight(i, j) = x_iᵀ V diag(h) Vᵀ x_j,      h = λᵗ⁻¹ / (x + λ)ᵗ.
#
# This is row i of [Φ (x I + Φ)⁻¹]ᵗ. The Gram matrix Φ is never formed. The set-up needs one pass
# and a d × d eigenproblem (N × N if there are fewer rows than features). Each requested row then
# costs one product with all rows.


# Weights held at once (requested rows times training rows), 32 MB.
CHUNK_WEIGHTS = 2**22


def prepared_rows(
    X: Matrix, labelled: NDArray[np.bool_], *, center: bool, normalize: bool, n_jobs: int
) -> Rows:
    """Return the rows as a probe prepares them: centred by the mean of the labelled rows."""
    weights = None if labelled.all() else labelled.astype(np.float64)
    preparation = fit_preparation(
        X, center=center, normalize=normalize, weights=weights, n_jobs=n_jobs
    )
    return open_rows(X, preparation, weights=weights, n_jobs=n_jobs)


def products_at(
    rows: Rows, asked: IntArray, metric: FloatArray | None = None
) -> Iterator[FloatArray]:
    """Yield x_iᵀ M x_j (n_rows,) for each requested row i and all rows j; M is I by default."""
    size = max(1, CHUNK_WEIGHTS // rows.n_samples)
    for first in range(0, len(asked), size):
        chosen = rows.in_memory(asked[first : first + size]).X
        weighted = chosen if metric is None else chosen @ metric
        yield from np.concatenate(list(rows.map(products_with, weighted))).T


class AveragingWeights:
    """Weights of all training rows at the requested rows."""

    def __init__(
        self, rows: Rows, labelled: NDArray[np.bool_], *, ridge: float, n_rounds: int
    ) -> None:
        # If there are fewer rows than columns, work in the span of the rows.
        rows = span_of(rows).rows if rows.n_samples < rows.n_columns else rows
        self.rows, self.labelled = rows, labelled
        rows.attach("labelled", labelled)
        (moment,) = rows.sum(labelled_moment)
        # As in the probes, the ridge is scaled by the mean squared norm (1 for unit-norm rows).
        penalty = ridge * float(np.trace(moment)) / int(labelled.sum()) or 1.0
        eigenvalues, axes = sl.eigh(moment, overwrite_a=True)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        factors = (eigenvalues / (penalty + eigenvalues)) ** (n_rounds - 1)
        self.filter = (axes * (factors / (penalty + eigenvalues))) @ axes.T  # V diag(h) Vᵀ

    def of(self, asked: IntArray) -> Iterator[FloatArray]:
        """Yield the weights (n_rows,) at each requested row; zero for rows without a label."""
        for weights in products_at(self.rows, asked, self.filter):
            yield np.where(self.labelled, weights, 0.0)


def labelled_moment(block: Block) -> Terms:
    """Return Σ x xᵀ over the labelled rows of a block. A kernel."""
    x = block.prepared()[block.columns["labelled"]]
    return (x.T @ x,)


# The most similar rows of the given and of the suggested class, for the review page ---------------
# Similarity is the cosine of prepared features, 1 for copies. Rows whose own label is flagged are
# left out, because they do not show what their class looks like.


# Rows with neighbours: more than a person reviews in a day, and few enough for a small page.
EXPLAINED_ROWS = 2000
# Neighbours of each class, copies of a row, pairs of classes: as many as fit in a row of a card.
FEW = 3


def label_evidence(
    rows: AuditedRows,
    issues: LabelIssues,
    *,
    n_rows: int = EXPLAINED_ROWS,
    n_nearest: int = FEW,
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
    # Flagged rows are no examples of their class.
    codes = np.where(issues.is_label_issue, NO_LABEL, issues.given)
    wanted = np.stack([issues.predicted[asked], issues.given[asked]], axis=1)
    nearest, alike = nearest_of_classes(rows.open(), codes, asked, wanted, n_nearest=n_nearest)
    of_suggested, of_given = (NearestRows(nearest[:, k], alike[:, k]) for k in (0, 1))
    return Evidence(rows=asked, suggested=of_suggested, given=of_given)


def nearest_of_classes(
    rows: Rows, codes: IntArray, asked: IntArray, wanted: IntArray, *, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """Return the rows of some classes that are nearest to the requested rows, and their cosines.

    `codes` (n_rows,) are the classes of the rows, NO_LABEL for rows to leave out; `asked`
    (n_asked,) positions of the requested rows; `wanted` (n_asked, n_wanted) classes to search for
    each. Both results are (n_asked, n_wanted, n_nearest), the nearest first, padded by NO_ROW and
    NaN.
    """
    nearest = np.full((*wanted.shape, n_nearest), NO_ROW)
    alike = np.full(nearest.shape, np.nan)
    if not len(asked):
        return nearest, alike
    members = {int(k): np.flatnonzero(codes == k) for k in np.unique(wanted)}
    for place, cosines in enumerate(products_at(rows, asked)):
        for column, k in enumerate(wanted[place].tolist()):
            others = members[k][members[k] != asked[place]]
            # Ties: the earlier row comes first.
            found = others[np.argsort(-cosines[others], kind="stable")[:n_nearest]]
            nearest[place, column, : len(found)] = found
            alike[place, column, : len(found)] = cosines[found]
    return nearest, alike
