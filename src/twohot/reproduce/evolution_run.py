"""Outputs of every round on the training rows of a few classes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twohot._checks.messages import ArgumentError
from twohot.distill.estimators import DistilledProbe
from twohot.noise import corrupt_labels, symmetric
from twohot.reproduce.data_set import read_data_set
from twohot.reproduce.maker import RunKind, register_runs

DIGITS = 4  # of outputs in records: below what a point in a figure can show

# Rounds move less from one to the next than the teacher from zero: the tolerance, which is
# relative to the gradient at zero, has to be small for the last of them to be seen.
TOLERANCE = 1e-6
MAX_ITER = 5000


@dataclass(frozen=True)
class EvolutionRun:
    """What a run is known by."""

    data: str  # key of the data set
    classes: tuple[str, ...]  # all training rows of these
    l2: float  # on raw features
    noise_rate: float  # symmetric among the classes
    seed: int
    n_rounds: int  # the teacher's included


@dataclass(frozen=True)
class EvolutionResult:
    """What a run records; labels are positions in the classes of the run."""

    true_labels: tuple[int, ...]
    given_labels: tuple[int, ...]
    outputs: tuple[tuple[tuple[float, ...], ...], ...]  # (n_rounds, n_rows, n_classes)
    converged: tuple[bool, ...]  # of each round


def measure_evolution(run: EvolutionRun, paths: Mapping[str, str]) -> EvolutionResult:
    """Fit all rounds on noisy labels, and return their outputs on the same rows.

    Parameters
    ----------
    run : EvolutionRun
    paths : mapping
        Where the data sets are, by their keys.
    """
    data = read_data_set(paths[run.data])
    if not set(run.classes) <= set(data.classes):
        unknown = [name for name in run.classes if name not in data.classes]
        raise ArgumentError({"classes": unknown}, f"are not classes of {data.name}")
    codes = [data.classes.index(name) for name in run.classes]
    rows = np.flatnonzero(np.isin(data.labels, codes))
    true = np.array([codes.index(label) for label in data.labels[rows]])
    n_classes = len(codes)
    drawn = corrupt_labels(
        true,
        symmetric(n_classes, run.noise_rate),
        random_state=run.seed,
        classes=np.arange(n_classes),
    )
    given = drawn.given_labels.astype(np.int64)
    X = data.X[rows].astype(np.float64)
    probe = DistilledProbe(
        n_rounds=run.n_rounds,
        l2=run.l2,
        center=False,
        normalize=False,
        tol=TOLERANCE,
        max_iter=MAX_ITER,
        n_jobs=1,
    ).fit(X, given)
    outputs = [each.round(DIGITS).tolist() for each in probe.staged_predict_proba(X)]
    return EvolutionResult(
        tuple(true.tolist()),
        tuple(given.tolist()),
        tuple(tuple(map(tuple, each)) for each in outputs),
        tuple(entry.converged for entry in probe.rounds_),
    )


register_runs(RunKind(EvolutionRun, EvolutionResult, measure_evolution))
