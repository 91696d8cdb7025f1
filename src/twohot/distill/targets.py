"""What a round is fitted to: given labels, soft labels, the last round's outputs, or candidates.

Given labels and candidates are kept sparse. Outputs of the last round are computed again from its
coefficients, block by block, inside the pass that needs them: no array of shape
(n_samples, n_classes) is ever held.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot._checks.numbers import check_candidates
from twohot._types import FloatArray, IntArray, Matrix
from twohot.rows.preparation import Block, FeatureSet
from twohot.rows.threads import map_blocks
from twohot.solve.terms import softmax

# Outputs that differ by less than this, relative to the boundary, share its weight. Two solves
# to the default tolerance agree to about this.
TIE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class StoredTargets:
    """Targets that are held: labels and candidates as CSR, a user's soft labels as they came."""

    name: str
    matrix: Matrix  # (N, K), rows sum to one
    making_passes: float  # for a product with the features, in making them or taking their moment
    extra_passes: float = 0.0

    def of(self, block: Block) -> Matrix:
        """Return the targets of the rows in a block."""
        return self.matrix[block.rows]


@dataclass(frozen=True, eq=False)
class OutputTargets:
    """The outputs of the last round, computed where they are asked for."""

    coef: FloatArray  # (K, d), on the features
    name: str = "outputs"
    making_passes: float = 0.0
    extra_passes: float = 0.5

    def of(self, block: Block) -> Matrix:
        """Return the last round's outputs for the rows in a block."""
        return softmax(block.project(self.coef))[0].copy()


def one_hot(labels: IntArray, n_classes: int) -> StoredTargets:
    """Return given labels as targets."""
    n_samples = len(labels)
    matrix = sp.csr_array(
        (np.ones(n_samples, np.float32), labels, np.arange(n_samples + 1)),
        shape=(n_samples, n_classes),
    )
    return StoredTargets("labels", matrix, making_passes=0.0)


def keep(features: FeatureSet, coef: FloatArray) -> OutputTargets:
    """Return the outputs of a round, as they are, as the next round's targets."""
    return OutputTargets(coef.astype(features.dtype))


def candidates(
    features: FeatureSet, coef: FloatArray, n_candidates: int, n_jobs: int
) -> StoredTargets:
    """Return the top candidates of a round's outputs as targets."""
    outputs = keep(features, coef)

    def terms_of(block: int) -> tuple[Any, ...]:
        chosen = top_candidates(outputs.of(features.block(block)), n_candidates)
        return chosen.data.astype(np.float32), chosen.indices, np.diff(chosen.indptr)

    blocks = list(map_blocks(terms_of, features.n_blocks, n_jobs))
    data, indices, lengths = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sp.csr_array((data, indices, indptr), shape=(features.n_samples, len(coef)))
    return StoredTargets("candidates", matrix, making_passes=0.5)


def blend(made: StoredTargets, given: StoredTargets, given_share: float) -> StoredTargets:
    """Return targets that give a share of their weight to what was given."""
    matrix = (1 - given_share) * made.matrix + given_share * sp.csr_array(given.matrix)
    return replace(made, matrix=sp.csr_array(matrix.astype(np.float32)))


def tied_classes(matrix: Matrix) -> list[IntArray]:
    """Return the groups of classes that are candidates of the same rows, with the same weights."""
    columns = matrix.tocsc()
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for label in range(matrix.shape[1]):
        entries = slice(columns.indptr[label], columns.indptr[label + 1])
        if entries.stop > entries.start:
            key = columns.indices[entries].tobytes(), columns.data[entries].tobytes()
            groups.setdefault(key, []).append(label)
    return [np.array(labels) for labels in groups.values() if len(labels) > 1]


def top_candidates(outputs: ArrayLike, n_candidates: int = 2) -> Any:
    """Give equal weight to the classes with the largest outputs of each row.

    Outputs that are equal at the boundary, within 1e-6 of it, share what is left of the weight:
    with two candidates and outputs (.4, .2, .2, .2), the weights are (1/2, 1/6, 1/6, 1/6).

    Parameters
    ----------
    outputs : array of shape (n_samples, n_classes)
        Outputs of a probe, or any scores that are larger for a more likely class.
    n_candidates : int
        How many classes are kept; 2 is the two-hot target of the paper, 1 the most likely label.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_samples, n_classes)
        The weights; each row sums to one. `fit_soft` of every probe takes it.

    Examples
    --------
    >>> from twohot import top_candidates
    >>> top_candidates([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]).toarray()
    array([[0.5 , 0.5 , 0.  ],
           [0.5 , 0.25, 0.25]])
    """
    scores: NDArray[Any] = np.asarray(outputs)
    if scores.ndim != 2 or scores.dtype.kind not in "fiu" or not np.isfinite(scores).all():
        raise ValueError(
            f"outputs has shape {scores.shape} and dtype {scores.dtype}, or holds NaN or infinity: "
            "pass one row of finite scores per sample and one column per class."
        )
    n_classes = scores.shape[1]
    n_candidates = check_candidates(n_candidates, n_classes)
    place = n_classes - n_candidates
    boundary = np.partition(scores, place, axis=1)[:, place, np.newaxis]
    slack = TIE_TOLERANCE * np.abs(boundary)
    above = scores > boundary + slack
    at_boundary = ~above & (scores >= boundary - slack)
    left = n_candidates - above.sum(axis=1, keepdims=True)
    share = left / at_boundary.sum(axis=1, keepdims=True)
    return sp.csr_array((above + at_boundary * share) / n_candidates)
