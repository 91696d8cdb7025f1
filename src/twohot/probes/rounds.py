"""Fit the rounds of a recipe: given labels first, then outputs of the previous round.

The first round (the teacher) fits the given targets. Every later round fits the outputs of the
previous round, or the candidates: the classes of each row with the largest of these outputs.
Labels, soft labels and candidates are stored with the rows. Outputs are computed again from the
coefficients, block by block, whenever a pass over the rows needs them. So no dense outputs of shape
(n_samples, n_classes) are stored. A kernel is a function of a block of rows, see
`twohot.rows.rows`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    Matrix,
    boundary,
    check_class_count,
    top_shares,
)
from twohot.probes.checkpoint import Checkpoint
from twohot.probes.recipe import Recipe, Round
from twohot.rows import Block, Coordinates, Rows, Terms
from twohot.solve import Evaluation, Settings, Solution, Solver, Targets, softmax

# The smallest candidate of a row is the candidate with the smallest output. Classes whose outputs
# are within this relative distance of this output share its weight. Outputs of two fits to the
# default tolerance differ by about this much.
TIE_TOLERANCE = 1e-6

LABELS, SOFT, CANDIDATES = "labels", "soft", "candidates"


@dataclass(frozen=True)
class LabelTargets:
    """The given labels, stored with the rows as codes."""

    n_classes: int
    name: str = LABELS

    def of(self, block: Block) -> Matrix:
        """Return the labels of the rows in a block, one-hot."""
        return one_hot(block.columns[LABELS], self.n_classes)


def one_hot(codes: IntArray, n_classes: int) -> sp.csr_array:
    """Return one-hot rows for labels (n,), in float32."""
    return sp.csr_array(
        (np.ones(len(codes), np.float32), codes, np.arange(len(codes) + 1)),
        shape=(len(codes), n_classes),
    )


@dataclass(frozen=True)
class StoredTargets:
    """Soft labels or candidates, stored with the rows under a name."""

    name: str

    def of(self, block: Block) -> Matrix:
        """Return the targets of the rows in a block."""
        return block.columns[self.name]


@dataclass(frozen=True, eq=False)
class OutputTargets:
    """The outputs of the previous round, computed block by block when a pass needs them."""

    coef: FloatArray  # (K, d), on the features of the rows
    name: str = "outputs"

    def of(self, block: Block) -> Matrix:
        """Return the previous round's outputs for the rows in a block."""
        return softmax(block.project(self.coef))[0].copy()


def top_targets(block: Block, outputs: Targets, n_candidates: int) -> Matrix:
    """Return the weights of the candidates of a block's rows, given the outputs. A kernel."""
    return sp.csr_array(top_candidates(outputs.of(block), n_candidates), dtype=np.float32)


def top_candidates(outputs: ArrayLike, n_candidates: int = 2) -> Any:
    """Give equal weight to the classes with the largest outputs of each row.

    Outputs that tie for the last place, within a relative 1e-6, share the remaining weight. For
    example, two candidates of the outputs (.4, .2, .2, .2) give the weights (1/2, 1/6, 1/6, 1/6).

    Parameters
    ----------
    outputs : array of shape (n_samples, n_classes)
        Outputs of a probe, or any scores that increase with the probability of the class.
    n_candidates : int
        Number of classes per row. 2 gives the two-hot target of the paper, 1 the class with the
        largest output.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_samples, n_classes)
        The weights; each row sums to one. Pass them to `fit_soft` of any linear probe.

    Examples
    --------
    >>> from twohot import top_candidates
    >>> top_candidates([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]).toarray()
    array([[0.5 , 0.5 , 0.  ],
           [0.5 , 0.25, 0.25]])
    """
    scores: NDArray[Any] = np.asarray(outputs)
    advice = "pass one row of finite scores per sample and one column per class."
    if scores.ndim != 2 or scores.dtype.kind not in "fiu":
        problem = f"has shape {scores.shape} and dtype {scores.dtype}"
        raise ArgumentError("outputs", problem, advice)
    if not np.isfinite(scores).all():
        raise ArgumentError("outputs", "holds NaN or infinity", advice)
    n_candidates = check_class_count("n_candidates", n_candidates, scores.shape[1])
    slack = TIE_TOLERANCE * np.abs(boundary(scores, n_candidates))
    return sp.csr_array(top_shares(scores, n_candidates, slack))


# Fits ---------------------------------------------------------------------------------------------


def run_rounds(
    coordinates: Coordinates,
    given: Targets,
    recipe: Recipe,
    settings: Settings,
    say: Callable[[str], None] | None = None,
    *,
    checkpoint: Checkpoint | None = None,
) -> list[Round]:
    """Fit all rounds; return one record per round. `say` is called with one line per step.

    Rounds in the checkpoint are not fitted again, and every new round is added to the checkpoint.
    """
    rounds = [] if checkpoint is None else checkpoint.rounds()
    last = None if checkpoint is None else checkpoint.last_end()
    solver = Solver(coordinates, settings)
    for number, step in enumerate(recipe.rounds[len(rounds) :], start=len(rounds) + 1):
        if say is not None:
            name = f"round {number} ({step.loss.name})"
            solver.callback = lambda n_iter, n_passes, norm, name=name: say(
                f"{name}: step {n_iter}, {n_passes:g} passes, relative gradient {norm:.1e}"
            )
        made, last = make_round(solver, given, step, last)
        rounds.append(made)
        if checkpoint is not None:
            checkpoint.add_round(made, last)
    return rounds


def make_round(
    solver: Solver, given: Targets, step: Recipe, last: Evaluation | None
) -> tuple[Round, Evaluation]:
    """Fit one round; return its record and the evaluation at the solution."""
    solution, targets, n_passes = fit_round(solver, given, step, last)
    coef, intercept = on_features(solver.coordinates, solution.evaluation.coef)
    record = Round(
        coef=coef,
        intercept=intercept,
        targets=targets.name,
        loss=step.loss.name,
        n_passes=n_passes,
        l2=step.penalty(solver.coordinates),
        value=solution.evaluation.value,
        n_iter=solution.n_iter,
        gradient_norm=solution.gradient_norm,
        converged=solution.converged,
    )
    return record, solution.evaluation


def on_features(coordinates: Coordinates, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Convert coefficients along the axes to coefficients on the features, and an intercept."""
    coef = coordinates.to_features(coef)
    slopes, intercept = np.split(coef, [coef.shape[1] - coordinates.rows.intercept], axis=1)
    return np.ascontiguousarray(slopes), intercept.sum(axis=1)  # zeros if none was fitted


def fit_round(
    solver: Solver, given: Targets, step: Recipe, last: Evaluation | None
) -> tuple[Solution, Targets, float]:
    """Fit one round; return the solution, the targets, and the number of passes.

    `last` is the evaluation at the end of the previous round. If `last` is None, the given targets
    are fitted.
    """
    coordinates, targets = solver.coordinates, given
    rows, passes_before = coordinates.rows, coordinates.rows.n_passes
    if step.teacher is not None and last is not None:
        targets = OutputTargets(coordinates.on_rows(last.coef))
        if step.n_candidates is not None:
            # With two classes there is one candidate: two of equal weight carry no information.
            n_candidates = min(step.n_candidates, rows.n_classes - 1)
            rows.derive(CANDIDATES, top_targets, targets, n_candidates)
            targets = StoredTargets(CANDIDATES)
    solution = solver.fit(step.loss, targets, step.penalty(coordinates), last)
    if targets.name == CANDIDATES and last is not None:
        solution = _break_ties(rows, solution, targets, last)
    return solution, targets, rows.n_passes - passes_before


# Coefficients of tied classes get this fraction of their differences in the previous round. It is
# larger than rounding errors, and not larger than the default tolerance of fits.
TIE_BREAK = 1e-6

# Coefficients of tied classes count as equal up to this relative difference. With a non-convex
# loss, tied classes can get different coefficients.
SAME = 1e-3


def _break_ties(rows: Rows, solution: Solution, targets: Targets, last: Evaluation) -> Solution:
    """Break ties between classes with equal targets by the previous round's coefficients.

    Classes that are candidates of the same rows get coefficients that are equal up to the
    tolerance. Without this function, the remaining error of the fit would decide which of these
    classes is predicted.
    """
    coef = solution.evaluation.coef.copy()
    for tied in tied_classes(rows, targets):
        mean = coef[tied].mean(axis=0)
        if np.linalg.norm(coef[tied] - mean) <= SAME * np.linalg.norm(coef[tied]):
            coef[tied] = mean + TIE_BREAK * (last.coef[tied] - last.coef[tied].mean(axis=0))
    return replace(solution, evaluation=replace(solution.evaluation, coef=coef))


def tied_classes(rows: Rows, targets: Targets) -> list[IntArray]:
    """Return the groups of classes that are candidates of the same rows with the same weights.

    For each class, random numbers of the rows are summed, weighted by the targets. Equal targets
    give exactly equal sums, because equal terms are added in equal order.
    """
    (signatures,) = rows.sum(signature_terms, targets)
    groups: dict[bytes, list[int]] = {}
    for label, signature in enumerate(signatures):
        if signature.any():
            groups.setdefault(signature.tobytes(), []).append(label)
    return [np.array(labels) for labels in groups.values() if len(labels) > 1]


def signature_terms(block: Block, targets: Targets) -> Terms:
    """Return Σ t rᵀ over a block: targets t, two random numbers r per row, not zero. A kernel."""
    numbers = np.random.default_rng(block.first).uniform(1, 2, (len(block), 2))
    return (np.asarray(sp.csr_array(targets.of(block)).T @ numbers),)


def average_rounds(rounds: Sequence[Sequence[Round]], temperatures: Sequence[float]) -> Round:
    """Return one round whose logits are the mean of several probes' logits.

    The logits of each probe are first divided by its temperature.
    """
    last = [probe[-1] for probe in rounds]
    steps = [entry for probe in rounds for entry in probe]

    def mean(name: str) -> FloatArray:
        pairs = zip(last, temperatures, strict=True)
        return np.asarray(np.mean([getattr(entry, name) / each for entry, each in pairs], axis=0))

    return Round(
        coef=mean("coef"),
        intercept=mean("intercept"),
        targets=LABELS,
        loss="average",
        n_passes=sum(entry.n_passes for entry in steps),
        n_iter=sum(entry.n_iter for entry in steps),
        gradient_norm=max(entry.gradient_norm for entry in last),
        converged=all(entry.converged for entry in steps),
    )


# A failed fit leaves the estimator unchanged ------------------------------------------------------

Fit = TypeVar("Fit", bound=Callable[..., Any])


def restore_on_failure(fit: Fit) -> Fit:
    """Decorate a fit method so that an exception leaves the probe unchanged."""

    @wraps(fit)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, wrapped)
