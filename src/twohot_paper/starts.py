"""How far the two-hot student depends on where its fit starts.

Generalised cross-entropy is not convex: a fit ends at a stationary point, and which one that is
depends on the start. Cross-entropy has one optimum, so that no other model needs this.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from twohot.base import FloatArray
from twohot.probes import LABELS, LabelTargets, Recipe, fit_round
from twohot.solve import CrossEntropy, GeneralizedCrossEntropy, Settings, Solver, softmax
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Made, Maker, Results, RunKind, register, register_runs
from twohot_paper.grid import ProbeGrid, among, only_one_note, titles
from twohot_paper.probe_run import MAX_ITER, ProbeRun, draw_labels, prepared_data
from twohot_paper.table import Table

STARTS = ("teacher", "zero", "random 1", "random 2", "random 3")
DIGITS = 6  # of what is recorded: solvers differ beyond


@dataclass(frozen=True)
class StartsRun:
    """What a run is known by: the labels and the penalty of a run, and the fits' tolerance."""

    labels: ProbeRun
    tol: float = 1e-3  # relative gradient at which fits end; a tenth of that of other runs


@dataclass(frozen=True)
class StartedFit:
    """Where the fit from one start ended."""

    start: str  # one of STARTS
    value: float  # of the objective
    gradient_norm: float  # relative
    converged: bool
    test_accuracy: float
    largest_difference: float  # of a training probability from that of the first start
    agreement: float  # share of test rows predicted as from the first start


@dataclass(frozen=True)
class StartsResult:
    """What a run records."""

    fits: tuple[StartedFit, ...]


def measure_starts(run: StartsRun, paths: Mapping[str, str]) -> StartsResult:
    """Fit the two-hot student from the teacher, from zero and from random coefficients."""
    rows = prepared_data(paths[run.labels.data], prepared=run.labels.prepared)
    labels = draw_labels(rows.data, run.labels)
    rows.coordinates.rows.attach(LABELS, labels.given)
    given = LabelTargets(rows.data.n_classes)
    settings = Settings(tol=run.labels.tol, max_iter=MAX_ITER)
    first = Recipe(CrossEntropy(), l2=run.labels.l2)
    teacher = fit_round(Solver(rows.coordinates, settings), given, first, None)[0].evaluation
    step = Recipe(GeneralizedCrossEntropy(), l2=run.labels.l2, teacher=first, n_candidates=2)
    fits: list[StartedFit] = []
    outputs: list[tuple[FloatArray, FloatArray]] = []  # on training and test rows
    for name in STARTS:
        start = _start(name, teacher.coef)
        solver = Solver(rows.coordinates, replace(settings, tol=run.tol, start=start))
        solution = fit_round(solver, given, step, teacher)[0]
        coef = solution.evaluation.coef.T.astype(np.float32)
        fitted = [softmax(X @ coef)[0] for X in (rows.coordinates.rows.X, rows.test_rows)]
        outputs.append((fitted[0], fitted[1]))
        (train, test), predicted = outputs[0], fitted[1].argmax(axis=1)
        fits.append(
            StartedFit(
                name,
                round(float(solution.evaluation.value), DIGITS),
                float(f"{solution.gradient_norm:.2g}"),
                solution.converged,
                float((predicted == labels.test).mean()),
                round(float(np.abs(fitted[0] - train).max()), DIGITS),
                float((predicted == test.argmax(axis=1)).mean()),
            )
        )
    return StartsResult(tuple(fits))


def _start(name: str, teacher: FloatArray) -> str | FloatArray:
    """Return a start; random coefficients are normal, of the norm of the teacher's."""
    if not name.startswith("random"):
        return name
    drawn = np.random.default_rng(int(name.split()[1])).normal(size=teacher.shape)
    return np.asarray(drawn * (np.linalg.norm(teacher) / np.linalg.norm(drawn)))


register_runs(RunKind(StartsRun, StartsResult, measure_starts))


@register("starts of the two-hot student")
@dataclass(frozen=True)
class StartsMaker(Maker):
    """One setting, five starts."""

    data_set: str = "Flowers-102"  # the first file, if there is none of it
    noise_rate: float = 0.5

    def runs(self, data: Sequence[DataSet]) -> list[StartsRun]:
        """Return the run."""
        chosen = self._data(data)
        grid = ProbeGrid(noise_rates=(self.noise_rate,), seeds=(0,))
        return [StartsRun(grid.run(each, self.noise_rate, 0, "paper")) for each in chosen]

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Write the table."""
        rows = [
            (
                fit.start,
                fit.value,
                fit.gradient_norm,
                round(100 * fit.test_accuracy, 2),
                round(fit.largest_difference, 3),
                round(100 * fit.agreement, 1),
            )
            for run in self.runs(data)
            if run in results
            for fit in results[run].fits
        ]
        columns = (
            "start",
            "objective",
            "relative gradient",
            "test accuracy, %",
            "largest difference of a probability",
            "same predictions, %",
        )
        chosen = self._data(data)
        title = "Stationary points of the two-hot student, by start"
        notes = ("Differences and equal predictions are from the first start.",)
        if not chosen:
            return Made()
        name = titles(data)[chosen[0].key]
        subject = f"{name}, superclass noise, η = {self.noise_rate:g}"
        more = only_one_note(chosen[0], data, self.data_set)
        return Made({}, {"starts": Table(title, columns, tuple(rows))}, (*notes, *more), subject)

    def _data(self, data: Sequence[DataSet]) -> list[DataSet]:
        return list(among(data, [self.data_set]) or data)[:1]
