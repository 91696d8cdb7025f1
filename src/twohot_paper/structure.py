"""How the classes of a data set correlate: what the maps and tables are drawn from.

Correlations are inner products of centred rows of unit norm, over all pairs of training rows.

As in the authors' code, superclasses of maps, dendrograms and label noise are cut at .8 of the
largest merge distance, and those of the statistics of pairs at .9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from twohot.base import ArgumentError
from twohot.describe import (
    PAPER_STATISTICS_CUT,
    PairGroup,
    class_correlation,
    cluster_classes,
    pair_statistics,
)
from twohot.noise import corrupt_labels, symmetric
from twohot.probes import DistilledProbe
from twohot_paper.data_set import read_data_set
from twohot_paper.exhibit import RunKind, register_runs

# Digits of correlations in records: far below what a colour can show.
DIGITS = 4


@dataclass(frozen=True)
class StructureRun:
    """What a run is known by."""

    version: ClassVar[int] = 3  # statistics of superclasses cut at .9, without histograms

    data: str  # key of the data set


@dataclass(frozen=True)
class PairKind:
    """The correlations of one kind of pairs of rows."""

    n_pairs: int
    mean: float | None  # None if there is no pair
    std: float | None


@dataclass(frozen=True)
class StructureResult:
    """What a run records."""

    n_samples: int
    mean_square: float  # of the norm of the raw rows
    means: tuple[tuple[float, ...], ...]  # (n_classes, n_classes), mean correlation of classes
    superclass: tuple[int, ...]  # of each class, cut at .8
    statistics_superclass: tuple[int, ...]  # of each class, cut at .9, for the kinds of pairs
    order: tuple[int, ...]  # the classes as the dendrogram has them, left to right
    linkage: tuple[tuple[float, ...], ...]  # (n_classes - 1, 4), the merges as scipy writes them
    same_class: PairKind
    same_superclass: PairKind  # of two classes of one superclass
    elsewhere: PairKind  # of two superclasses

    @property
    def kinds(self) -> tuple[PairKind, PairKind, PairKind]:
        """The three kinds of pairs."""
        return self.same_class, self.same_superclass, self.elsewhere

    @property
    def n_superclasses(self) -> int:
        """Number of superclasses of the statistics."""
        return max(self.statistics_superclass) + 1


def measure_structure(run: StructureRun, paths: Mapping[str, str]) -> StructureResult:
    """Measure the correlations of one data set; `paths` are those of the data sets by key."""
    data = read_data_set(paths[run.data])
    means = class_correlation(data.X, data.labels, n_jobs=1).means
    found = cluster_classes(means)
    wider = cluster_classes(means, cut=PAPER_STATISTICS_CUT).superclass
    pairs = pair_statistics(data.X, data.labels, wider)
    return StructureResult(
        n_samples=len(data.X),
        mean_square=data.mean_square,
        means=tuple(map(tuple, means.round(DIGITS).tolist())),
        superclass=tuple(found.superclass.tolist()),
        statistics_superclass=tuple(wider.tolist()),
        order=tuple(found.order.tolist()),
        linkage=tuple(map(tuple, found.linkage.round(6).tolist())),
        same_class=_pair_kind(pairs.same_class),
        same_superclass=_pair_kind(pairs.same_superclass),
        elsewhere=_pair_kind(pairs.elsewhere),
    )


register_runs(RunKind(StructureRun, StructureResult, measure_structure))


def _pair_kind(group: PairGroup) -> PairKind:
    known = group.n_pairs > 0
    return PairKind(group.n_pairs, group.mean if known else None, group.std if known else None)


# Outputs of every round on the training rows of a few classes -------------------------------------


EVOLUTION_DIGITS = 4  # of outputs in records: below what a point in a figure can show

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
    """Fit all rounds on noisy labels, and return their outputs on the same rows."""
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
    outputs = [each.round(EVOLUTION_DIGITS).tolist() for each in probe.staged_predict_proba(X)]
    return EvolutionResult(
        tuple(true.tolist()),
        tuple(given.tolist()),
        tuple(tuple(map(tuple, each)) for each in outputs),
        tuple(entry.converged for entry in probe.rounds_),
    )


register_runs(RunKind(EvolutionRun, EvolutionResult, measure_evolution))
