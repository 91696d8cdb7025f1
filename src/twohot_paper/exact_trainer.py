"""The paper's models, solved exactly, all on one prepared copy of the rows.

Rows are prepared once and written along their principal axes, which all fits of a data set share.
The models of a family share their teacher.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from twohot.base import FloatArray
from twohot.probes import LABELS, LabelTargets, Recipe, fit_round
from twohot.rows import Coordinates, Preparation, prepare
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
from twohot_paper.probe_run import (
    FittedModel,
    NoisyLabels,
    ProbeResult,
    ProbeRun,
    assess,
    draw_labels,
    hold_out_fifth,
)

N_ROUNDS = 5  # the teacher and the paper's four students
ROUNDS = tuple(f"round {number}" for number in range(1, N_ROUNDS + 1))
TEACHER, STUDENTS = ROUNDS[0], ROUNDS[1:]
BLOCK_ROWS = 1024  # in memory, large blocks only save additions
MAX_ITER = 2000
KEPT_LOGITS = 2**27  # bytes: rows are in memory anyway, and a fit at the paper's penalty is long

# Generalised cross-entropy is flat where outputs are far from the targets: its gradient at zero,
# which tolerances are relative to, is K^-q of cross-entropy's (.04 of it for 100 classes). A
# tolerance that is as strict for both is therefore larger for it.
GCE_TOLERANCE = 10.0

# A student starts where the round before ended, and at a small penalty that is nearly its optimum.
# So that every round goes nearly all of its own way, it ends at this share of the gradient that it
# starts with, if that is less than the tolerance.
SHARE_OF_START = 0.1

# Factors of the penalty among which a teacher of its own chooses, the cheapest first; how many
# worse ones in a row end the search.
FACTORS = (1000, 300, 100, 30, 10, 3, 1)
PATIENCE = 2


@dataclass(frozen=True)
class Student:
    """One fit that starts from the teacher: on its top labels, or on the given ones."""

    n_candidates: int | None = 2  # of the teacher's outputs; None: the given labels
    loss: Loss = field(default_factory=GeneralizedCrossEntropy)
    start: str = "teacher"  # of a loss that is not convex


TWO_HOT = "two-hot"

# What is fitted together, beside the teacher: the paper's models, and those of the ablations.
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
    """A data set ready for any number of fits."""

    data: DataSet
    coordinates: Coordinates  # of the training rows, in memory and along their axes
    test_rows: FloatArray  # (n_test, d), along the same axes


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model: where it ended, and its outputs on the training rows."""

    end: Evaluation
    outputs: FloatArray  # (n_samples, n_classes)


@lru_cache(maxsize=2)
def prepared_data(path: str, *, prepared: bool) -> PreparedData:
    """Return the rows of a file along their axes; the last ones asked for are kept."""
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
    test_rows = _prepare_test(data.X_test, preparation)
    if coordinates.axes.basis is not None:
        test_rows = np.asarray(test_rows @ coordinates.axes.reading(intercept=False))
        coordinates = coordinates.in_axes()
    elif coordinates.origin is not None:
        basis = coordinates.to_features(np.eye(coordinates.rows.n_features))
        test_rows = np.asarray(test_rows @ basis.T)
    return PreparedData(data, coordinates, test_rows.astype(np.float32))


def measure_exactly(run: ProbeRun, paths: Mapping[str, str]) -> ProbeResult:
    """Fit the models of a run and judge them.

    Parameters
    ----------
    run : ProbeRun
    paths : mapping
        Where the data sets are, by their keys.
    """
    rows = prepared_data(paths[run.data], prepared=run.prepared)
    labels = draw_labels(rows.data, run)
    rows.coordinates.rows.attach(LABELS, labels.given)
    if run.family == "tuned teacher":
        run = replace(run, l2=_own_penalty(rows, labels, run))
    n_rounds = N_ROUNDS if run.family == "paper" else 1
    fits, models = _rounds(rows, labels, run, n_rounds)
    for name, student in FAMILIES[run.family].items():
        if student.n_candidates is not None and student.n_candidates >= rows.data.n_classes:
            continue  # all labels as candidates say nothing
        models[name] = _student(rows, labels, run, student, fits[0])
    return ProbeResult(models, float(labels.noisy.mean()))


def _rounds(
    rows: PreparedData, labels: NoisyLabels, run: ProbeRun, n_rounds: int
) -> tuple[list[Fit], dict[str, FittedModel]]:
    """Fit the teacher, and every student on the outputs of the round before."""
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
    """Return the relative gradient at which a student ends.

    At its teacher's coefficients its gradient is l2 · coef; at zero it is the moment of its
    targets, the teacher's outputs.
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
    """Return the penalty whose teacher agrees best with noisy labels that it was not fitted on."""
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


def _prepare_test(X: Any, preparation: Preparation) -> FloatArray:
    return preparation.apply(X, np.empty(X.shape, np.float64))
