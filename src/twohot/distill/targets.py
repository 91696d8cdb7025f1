"""What a round is fitted to: given labels, soft labels, the last round's outputs, or candidates.

Labels, soft labels and candidates stand beside the rows. Outputs of the last round are computed
again from its coefficients, block by block, inside the pass that needs them: no targets of shape
(n_samples, n_classes) are ever held.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_class_count
from twohot._ties import boundary, top_shares
from twohot._types import FloatArray, IntArray, Matrix
from twohot.distill.recipe import Recipe
from twohot.rows.block import Block
from twohot.rows.coordinates import Coordinates
from twohot.rows.rows import Rows, Terms
from twohot.solve.loss_kernels import Targets, softmax

# Outputs that differ by less than this, relative to the boundary, share its weight. Two solves
# to the default tolerance agree to about this.
TIE_TOLERANCE = 1e-6

LABELS, SOFT, CANDIDATES = "labels", "soft", "candidates"


@dataclass(frozen=True)
class LabelTargets:
    """The given labels, which stand beside the rows as codes."""

    n_classes: int
    name: str = LABELS

    def of(self, block: Block) -> Matrix:
        """Return the labels of the rows in a block, one-hot."""
        return one_hot(block.columns[LABELS], self.n_classes)


def one_hot(codes: IntArray, n_classes: int) -> sp.csr_array:
    """Return labels (n,) as rows of one entry each, in float32."""
    return sp.csr_array(
        (np.ones(len(codes), np.float32), codes, np.arange(len(codes) + 1)),
        shape=(len(codes), n_classes),
    )


@dataclass(frozen=True)
class StoredTargets:
    """Soft labels or candidates, which stand beside the rows."""

    name: str

    def of(self, block: Block) -> Matrix:
        """Return the targets of the rows in a block."""
        return block.columns[self.name]


@dataclass(frozen=True, eq=False)
class OutputTargets:
    """The outputs of the last round, computed where they are asked for."""

    coef: FloatArray  # (K, d), on the features of the rows
    name: str = "outputs"

    def of(self, block: Block) -> Matrix:
        """Return the last round's outputs for the rows in a block."""
        return softmax(block.project(self.coef))[0].copy()


def next_targets(
    coordinates: Coordinates, given: Targets, coef: FloatArray, step: Recipe
) -> Targets:
    """Return what a round learns from the last one, whose coefficients are given along the axes.

    All outputs as they are, or candidates, which then stand beside the rows.
    """
    rows = coordinates.rows
    outputs = OutputTargets(coordinates.on_rows(coef))
    if step.n_candidates is None:
        return outputs
    # All classes as candidates would say nothing: of two classes, the likelier one is kept.
    n_kept = min(step.n_candidates, rows.n_classes - 1)
    rows.derive(CANDIDATES, top_targets, outputs, n_kept, given, step.given_share)
    return StoredTargets(CANDIDATES)


def top_targets(
    block: Block, outputs: Targets, n_candidates: int, given: Targets, given_share: float
) -> Matrix:
    """Return the top candidates of the outputs, with a share for what was given. A kernel."""
    made = top_candidates(outputs.of(block), n_candidates).astype(np.float32)
    if given_share:
        made = (1 - given_share) * made + given_share * sp.csr_array(given.of(block))
    return sp.csr_array(made.astype(np.float32))


def tied_classes(rows: Rows, targets: Targets) -> list[IntArray]:
    """Return the groups of classes that are candidates of the same rows, with the same weights.

    Every row has two numbers of its own. Their sums over the rows, weighted by a class's targets,
    are equal for two classes if and only if these are, to the last bit: the same terms are added in
    the same order.
    """
    (signatures,) = rows.sum(signature_terms, targets)
    groups: dict[bytes, list[int]] = {}
    for label, signature in enumerate(signatures):
        if signature.any():
            groups.setdefault(signature.tobytes(), []).append(label)
    return [np.array(labels) for labels in groups.values() if len(labels) > 1]


def signature_terms(block: Block, targets: Targets) -> Terms:
    """Return Σ t r over a block, r two random numbers of each row that are not zero. A kernel."""
    numbers = np.random.default_rng(block.first).uniform(1, 2, (len(block), 2))
    return (np.asarray(sp.csr_array(targets.of(block)).T @ numbers),)


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
        problem = f"has shape {scores.shape} and dtype {scores.dtype}, or holds NaN or infinity"
        advice = "pass one row of finite scores per sample and one column per class."
        raise ArgumentError("outputs", problem, advice)
    n_candidates = check_class_count("n_candidates", n_candidates, scores.shape[1])
    slack = TIE_TOLERANCE * np.abs(boundary(scores, n_candidates))
    return sp.csr_array(top_shares(scores, n_candidates, slack))
