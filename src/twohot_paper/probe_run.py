"""One run of the paper's experiments on real data: its settings, fits and scores.

A run fits a family of models (see `FAMILIES`) on one draw of noisy labels, all from the same
teacher. It records the accuracy on test rows and on the true labels of training rows. It also
records how many rows a round corrects or breaks, how often the true label is among the largest
outputs, and mean outputs. A noisy row is a row with a wrong label.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, IntArray
from twohot.noise import asymmetric, corrupt_labels, superclass_noise, symmetric
from twohot.probes import LABELS, LabelTargets, Recipe, fit_round
from twohot.rows import Coordinates, prepare
from twohot.solve import (
    CrossEntropy,
    Evaluation,
    GeneralizedCrossEntropy,
    Loss,
    Settings,
    Solver,
    softmax,
)
from twohot_paper.data_set import DataSet, read_data_set

# Values of k for the question whether the true label is among the k largest outputs.
TOP = (1, 2, 3, 5, 10)

CLEAN = "none"  # no corruption

# Noise is beyond recovery if more than this fraction of the training rows is lost (`lost_share`).
# A superclass of two classes among a hundred has far fewer rows.
MOST_LOST = 0.5
ROUNDING = 1e-12  # rounding error of probabilities: 1 - 0.9 is not exactly 0.1

# Increase this number if the records change, so that older records are not reused.
RECIPE = 3


# Seconds that a run of the paper's models takes: a constant, plus a time per row, feature and class
# (their product). Runs of other families take a fraction of this time.
RUN_SECONDS, PRODUCT_SECONDS = 10.0, 4e-8
FAMILY_SHARES = {"tuned teacher": 0.4}


@dataclass(frozen=True)
class ProbeRun:
    """Settings of a run: the dataset, the noisy labels, the models and the penalty."""

    data: str  # key of the dataset
    corruption: str  # "superclass", "symmetric" or "asymmetric"; "none" at noise rate 0
    noise_rate: float
    seed: int  # seed for drawing the labels
    l2: float  # penalty on the features used for training
    family: str  # family of models that are fitted together
    prepared: bool = False  # features centred and of unit norm, instead of raw
    tol: float = 1e-3  # gradient at which cross-entropy fits end, relative to the gradient at zero
    recipe: int = RECIPE


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over rows."""

    mean: float
    std: float


@dataclass(frozen=True)
class FittedModel:
    """The scores of a fitted model."""

    test_accuracy: float
    train_accuracy: float  # fraction of the training rows predicted as their true label
    given_agreement: float  # fraction of the training rows predicted as their given label
    n_corrected: int  # training rows right in this model and wrong in the previous one
    n_broken: int  # training rows wrong in this model and right in the previous one
    truth_in_top: dict[str, float] | None  # fraction of noisy rows with the truth in the top k
    clean_true: Spread  # output at the true label of rows whose given label is right
    noisy_true: Spread | None  # output at the true label of noisy rows, if there are any
    noisy_given: Spread | None  # output at the given label of noisy rows
    l2: float
    n_passes: float  # number of passes over the rows, for SGD of epochs
    cpu_seconds: float
    gradient_norm: float | None  # relative to the gradient at zero; None if it is not computed
    converged: bool | None


@dataclass(frozen=True)
class ProbeResult:
    """The scores of all models of a run."""

    models: dict[str, FittedModel]  # by name
    noise_rate: float  # fraction of wrong labels in this draw


@dataclass(frozen=True, eq=False)
class NoisyLabels:
    """True and given labels of the training rows, and true labels of the test rows."""

    true: IntArray
    given: IntArray
    test: IntArray

    @property
    def noisy(self) -> NDArray[np.bool_]:
        """Whether the label of each row is wrong."""
        return np.asarray(self.true != self.given)


def expected_seconds(run: ProbeRun, data: DataSet) -> float:
    """Return the estimated time of a run on one core, which is right within a factor of two."""
    whole = RUN_SECONDS + PRODUCT_SECONDS * float(data.X.size) * data.n_classes
    return whole * FAMILY_SHARES.get(run.family, 1.0)


def draw_labels(data: DataSet, run: ProbeRun) -> NoisyLabels:
    """Return the labels of a run, drawn with the probabilities in the corruption matrix."""
    matrix = _corruption(data, run.corruption, run.noise_rate)
    classes = np.arange(data.n_classes)
    drawn = corrupt_labels(data.labels, matrix, random_state=run.seed, classes=classes)
    return NoisyLabels(data.labels, drawn.given_labels.astype(np.int64), data.test_labels)


def hold_out_fifth(given: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """Return rows to fit on, and held-out rows, which are a fifth of the rows of each label."""
    order = np.random.default_rng(seed).permutation(len(given))
    held_out = np.sort(order[np.argsort(given[order], kind="stable")][::5])
    return np.setdiff1d(np.arange(len(given)), held_out), held_out


def lost_share(data: DataSet, corruption: str, noise_rate: float) -> float:
    """Return the fraction of lost training rows: rows whose class has a more frequent wrong label.

    The fraction follows from the corruption matrix. With symmetric noise of K classes, all rows are
    lost at noise rates above 1 - 1/K. With superclass noise, the rows of a superclass of s classes
    are lost above 1 - 1/s. If the true label ties with another label, the rows are not lost.
    """
    matrix = _corruption(data, corruption, noise_rate)
    at_truth = np.diag(matrix).copy()
    np.fill_diagonal(matrix, -np.inf)
    lost = matrix.max(axis=1) > at_truth + ROUNDING
    return float(np.mean(lost[data.labels]))


def _corruption(data: DataSet, corruption: str, noise_rate: float) -> FloatArray:
    if corruption == "superclass":
        return superclass_noise(data.superclass, noise_rate)
    matrix = asymmetric if corruption == "asymmetric" else symmetric
    return matrix(data.n_classes, noise_rate)


def assess(
    labels: NoisyLabels,
    outputs: FloatArray,
    test_outputs: FloatArray,
    before: FloatArray | None,
    **cost: float | bool | None,
) -> FittedModel:
    """Compute the scores of a model from its probabilities on training and test rows.

    `before` has the training outputs of the previous model, if any. `cost` has values for the
    fields of `FittedModel` after `noisy_given`.
    """
    right = outputs.argmax(axis=1) == labels.true
    was_right = right if before is None else before.argmax(axis=1) == labels.true
    noisy = labels.noisy
    at_true, at_given = (
        np.take_along_axis(outputs, codes[:, np.newaxis], axis=1)[:, 0]
        for codes in (labels.true, labels.given)
    )
    return FittedModel(
        test_accuracy=float((test_outputs.argmax(axis=1) == labels.test).mean()),
        train_accuracy=float(right.mean()),
        given_agreement=float((outputs.argmax(axis=1) == labels.given).mean()),
        n_corrected=int((right & ~was_right).sum()),
        n_broken=int((~right & was_right).sum()),
        truth_in_top=_truth_in_top(outputs[noisy], labels.true[noisy]) if noisy.any() else None,
        clean_true=_spread(at_true[~noisy]) or Spread(0.0, 0.0),
        noisy_true=_spread(at_true[noisy]),
        noisy_given=_spread(at_given[noisy]),
        **cost,  # type: ignore[arg-type]
    )


def _truth_in_top(outputs: FloatArray, true: IntArray) -> dict[str, float]:
    at_true = np.take_along_axis(outputs, true[:, np.newaxis], axis=1)
    n_larger = (outputs > at_true).sum(axis=1)
    return {str(k): float((n_larger < k).mean()) for k in TOP if k <= outputs.shape[1]}


def _spread(values: FloatArray) -> Spread | None:
    if not len(values):
        return None
    return Spread(float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64)))


# The paper's models, solved exactly, all on one prepared copy of the rows -------------------------


N_ROUNDS = 5  # the teacher and the paper's four students
ROUNDS = tuple(f"round {number}" for number in range(1, N_ROUNDS + 1))
TEACHER, STUDENTS = ROUNDS[0], ROUNDS[1:]
BLOCK_ROWS = 1024  # rows per block; larger blocks are hardly faster
MAX_ITER = 2000
KEPT_LOGITS = 2**27  # maximum bytes of logits that the solver keeps, because fits are long

# Generalised cross-entropy is flat if outputs are far from the targets. Tolerances are relative to
# the gradient at zero, which is K^-q times the gradient of cross-entropy (.04 for 100 classes). So
# the same absolute tolerance needs a larger relative tolerance, by this factor.
GCE_TOLERANCE = 10.0

# A student starts from the coefficients of the previous round, which are nearly its optimum if the
# penalty is small. The tolerance of a student is at most this fraction of its initial gradient, so
# that the fit takes at least one step.
SHARE_OF_START = 0.1

# Penalties that the tuned teacher tries, as multiples of the paper's penalty; the fastest fit is
# first. The search ends after PATIENCE consecutive penalties without an improvement.
FACTORS = (1000, 300, 100, 30, 10, 3, 1)
PATIENCE = 2


@dataclass(frozen=True)
class Student:
    """A student that is fitted after the teacher, to its top labels or to the given labels."""

    n_candidates: int | None = 2  # top labels of the teacher's outputs; None: the given labels
    loss: Loss = field(default_factory=GeneralizedCrossEntropy)
    start: str = "teacher"  # initial coefficients if the loss is not convex: "teacher" or "zero"


TWO_HOT = "two-hot"

# Families of students that are fitted together: the paper's, and those of the ablations. Every
# family also has a teacher.
FAMILIES: dict[str, dict[str, Student]] = {
    "paper": {TWO_HOT: Student()},
    "candidates": {f"top-{k}": Student(k) for k in (1, 3, 5, 10)},
    "losses": {
        "robust": Student(n_candidates=None),
        "two-hot by cross-entropy": Student(loss=CrossEntropy()),
        "two-hot from zero": Student(start="zero"),
    },
    "tuned teacher": {},
}


@dataclass(frozen=True, eq=False)
class PreparedData:
    """A dataset prepared for any number of fits."""

    data: DataSet
    coordinates: Coordinates  # training rows, in memory, rotated to their principal axes
    test_rows: FloatArray  # (n_test, d), along the same axes


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model: the evaluation at the end of the fit, and the outputs on training rows."""

    end: Evaluation
    outputs: FloatArray  # (n_samples, n_classes)


@lru_cache(maxsize=2)
def prepared_data(path: str, *, prepared: bool) -> PreparedData:
    """Return the rows of a file, rotated to their principal axes; the last results are cached."""
    data = read_data_set(path)
    preparation, coordinates = prepare(
        data.X,
        center=prepared,
        normalize=prepared,
        weights=None,
        n_jobs=1,
        dtype=np.dtype(np.float32),
        n_classes=data.n_classes,
        intercept=False,
        block_rows=BLOCK_ROWS,
    )
    test_rows = preparation.apply(data.X_test, np.empty(data.X_test.shape, np.float64))
    if coordinates.axes.basis is not None:
        test_rows = np.asarray(test_rows @ coordinates.axes.reading(intercept=False))
        coordinates = coordinates.in_axes()
    elif coordinates.origin is not None:
        basis = coordinates.to_features(np.eye(coordinates.rows.n_features))
        test_rows = np.asarray(test_rows @ basis.T)
    return PreparedData(data, coordinates, test_rows.astype(np.float32))


def measure_exactly(run: ProbeRun, paths: Mapping[str, str]) -> ProbeResult:
    """Return the scores of the models of a run; `paths` has the paths of datasets by key."""
    rows = prepared_data(paths[run.data], prepared=run.prepared)
    labels = draw_labels(rows.data, run)
    rows.coordinates.rows.attach(LABELS, labels.given)
    if run.family == "tuned teacher":
        run = replace(run, l2=_own_penalty(rows, labels, run))
    n_rounds = N_ROUNDS if run.family == "paper" else 1
    fits, models = _rounds(rows, labels, run, n_rounds)
    for name, student in FAMILIES[run.family].items():
        if student.n_candidates is not None and student.n_candidates >= rows.data.n_classes:
            continue  # all labels as candidates carry no information
        models[name] = _student(rows, labels, run, student, fits[0])
    return ProbeResult(models, float(labels.noisy.mean()))


def _rounds(
    rows: PreparedData, labels: NoisyLabels, run: ProbeRun, n_rounds: int
) -> tuple[list[Fit], dict[str, FittedModel]]:
    """Return the teacher and the students, each fitted on the outputs of the previous round."""
    solver = Solver(
        rows.coordinates, Settings(tol=run.tol, max_iter=MAX_ITER, kept_logits=KEPT_LOGITS)
    )
    step: Recipe | None = None
    fits: list[Fit] = []
    models = {}
    for number in range(1, n_rounds + 1):
        step = Recipe(CrossEntropy(), l2=run.l2, teacher=step)
        last = fits[-1] if fits else None
        if last is not None:
            solver.settings = replace(solver.settings, tol=_student_tolerance(run, last.end))
        fit, models[f"round {number}"] = _fit(rows, labels, solver, step, last)
        fits.append(fit)
    return fits, models


def _student_tolerance(run: ProbeRun, teacher: Evaluation) -> float:
    """Return the tolerance of a student, relative to its gradient at zero.

    At the teacher's coefficients, the student's gradient is l2 · coef. At zero, the gradient is the
    mean product of features and targets, which are the teacher's outputs.
    """
    start = run.l2 * np.linalg.norm(teacher.coef) / np.linalg.norm(np.asarray(teacher.moment))
    return min(run.tol, SHARE_OF_START * float(start))


def _student(
    rows: PreparedData, labels: NoisyLabels, run: ProbeRun, student: Student, teacher: Fit
) -> FittedModel:
    step = Recipe(student.loss, l2=run.l2)
    if student.n_candidates is not None:
        first = Recipe(CrossEntropy(), l2=run.l2)
        step = replace(step, teacher=first, n_candidates=student.n_candidates)
    tol = run.tol * (GCE_TOLERANCE if student.loss.is_robust else 1)
    settings = Settings(tol=tol, max_iter=MAX_ITER, start=student.start, kept_logits=KEPT_LOGITS)
    return _fit(rows, labels, Solver(rows.coordinates, settings), step, teacher)[1]


def _fit(
    rows: PreparedData, labels: NoisyLabels, solver: Solver, step: Recipe, last: Fit | None
) -> tuple[Fit, FittedModel]:
    started = time.process_time()
    solution, _, n_passes = fit_round(
        solver, LabelTargets(rows.data.n_classes), step, None if last is None else last.end
    )
    cpu_seconds = time.process_time() - started
    coef = solution.evaluation.coef
    fit = Fit(solution.evaluation, _outputs(rows.coordinates.rows.X, coef))
    entry = assess(
        labels,
        fit.outputs,
        _outputs(rows.test_rows, coef),
        None if last is None else last.outputs,
        l2=step.penalty(rows.coordinates),
        n_passes=n_passes,
        cpu_seconds=cpu_seconds,
        gradient_norm=solution.gradient_norm,
        converged=solution.converged,
    )
    return fit, entry


def _own_penalty(rows: PreparedData, labels: NoisyLabels, run: ProbeRun) -> float:
    """Return the penalty with which a teacher predicts the most held-out noisy labels."""
    fitted_on, held_out = hold_out_fifth(labels.given, run.seed)
    part = rows.coordinates.take(fitted_on)
    held_rows: Any = rows.coordinates.rows.X[held_out]
    solver = Solver(part, Settings(tol=run.tol, max_iter=MAX_ITER, kept_logits=KEPT_LOGITS))
    best, best_l2, n_worse = -1.0, run.l2, 0
    for factor in FACTORS:
        step = Recipe(CrossEntropy(), l2=run.l2 * factor)
        solution, _, _ = fit_round(solver, LabelTargets(rows.data.n_classes), step, None)
        predicted = (held_rows @ solution.evaluation.coef.T).argmax(axis=1)
        agreement = float((predicted == labels.given[held_out]).mean())
        n_worse = 0 if agreement > best else n_worse + 1
        if agreement > best:
            best, best_l2 = agreement, run.l2 * factor
        if n_worse == PATIENCE:
            break
    return best_l2


def _outputs(rows: FloatArray, coef: FloatArray) -> FloatArray:
    return softmax(rows @ coef.T.astype(np.float32))[0]
