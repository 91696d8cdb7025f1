"""Correlations of the classes of a dataset, and the outputs of each round on four classes.

A correlation is the inner product of two training rows, after centring and scaling to unit norm.
There are three kinds of pairs of rows: of one class, of two classes in one superclass, and of two
superclasses.

Superclasses come from a dendrogram of the classes, which is cut at a fraction of its largest merge
distance. As in the authors' code, the fraction is .9 for the statistics of the three kinds of
pairs. It is .8 for maps, dendrograms and label noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from twohot.base import ArgumentError
from twohot.describe import (
    PAPER_STATISTICS_CUT,
    PairGroup,
    Superclasses,
    class_correlation,
    cluster_classes,
    pair_statistics,
)
from twohot.noise import corrupt_labels, symmetric
from twohot.probes import DistilledProbe
from twohot_paper import real_figures as figures
from twohot_paper.data_set import DataSet, read_data_set
from twohot_paper.exhibit import Made, Maker, Results, RunKind, register, register_runs
from twohot_paper.grid import absent_note, among, only_one_note, titles
from twohot_paper.synthetic_figures import LabelledOutputs, output_plane_figure
from twohot_paper.table import NOT_RUN, Cell, Table

# Number of digits of correlations in records; colours in figures cannot show more digits.
DIGITS = 4


@dataclass(frozen=True)
class StructureRun:
    """Settings of a run that measures the class correlations of one dataset."""

    # Version 3 cuts the superclasses of the statistics at .9, and records no histograms.
    version: ClassVar[int] = 3

    data: str  # key of the dataset


@dataclass(frozen=True)
class PairKind:
    """Mean and standard deviation of the correlations of one kind of pairs."""

    n_pairs: int
    mean: float | None  # None if there is no such pair
    std: float | None

    def __str__(self) -> str:
        return NOT_RUN if self.mean is None else f"{self.mean:.3f} ± {self.std:.3f}"


@dataclass(frozen=True)
class StructureResult:
    """The class correlations and the clustering of one dataset."""

    n_samples: int
    mean_square: float  # mean squared norm of the raw rows
    means: tuple[tuple[float, ...], ...]  # (n_classes, n_classes), mean correlations
    superclass: tuple[int, ...]  # superclass of each class if the dendrogram is cut at .8
    statistics_superclass: tuple[int, ...]  # the same if the cut is at .9, for the statistics
    order: tuple[int, ...]  # the classes in the dendrogram, from left to right
    linkage: tuple[tuple[float, ...], ...]  # (n_classes - 1, 4), the merges in scipy's format
    same_class: PairKind
    same_superclass: PairKind  # pairs of two classes of one superclass
    elsewhere: PairKind  # pairs of two superclasses

    @property
    def kinds(self) -> tuple[PairKind, PairKind, PairKind]:
        """The three kinds of pairs."""
        return self.same_class, self.same_superclass, self.elsewhere

    def clustering(self) -> Superclasses:
        """Return the superclasses that maps and dendrograms show, with the dendrogram."""
        return Superclasses(*map(np.array, (self.superclass, self.order, self.linkage)))

    @property
    def n_superclasses(self) -> int:
        """Number of superclasses in the statistics of pairs."""
        return max(self.statistics_superclass) + 1


def measure_structure(run: StructureRun, paths: Mapping[str, str]) -> StructureResult:
    """Return the correlations of one dataset; `paths` has the paths of datasets by key."""
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


EVOLUTION_DIGITS = 4  # number of digits of outputs in records, enough for a figure

# Tolerance of the fits, relative to the gradient at zero. It is small because later rounds change
# the outputs only a little.
TOLERANCE = 1e-6
MAX_ITER = 5000


@dataclass(frozen=True)
class EvolutionRun:
    """Settings of a run that fits all rounds on noisy labels of a few classes."""

    data: str  # key of the dataset
    classes: tuple[str, ...]  # the run uses all training rows of these classes
    l2: float  # penalty on raw features
    noise_rate: float  # rate of symmetric noise among these classes
    seed: int
    n_rounds: int  # number of rounds, including the teacher


@dataclass(frozen=True)
class EvolutionResult:
    """The outputs of every round; labels are positions in the classes of the run."""

    true_labels: tuple[int, ...]
    given_labels: tuple[int, ...]
    outputs: tuple[tuple[tuple[float, ...], ...], ...]  # (n_rounds, n_rows, n_classes)
    converged: tuple[bool, ...]  # by round: whether the solver reached its tolerance


def measure_evolution(run: EvolutionRun, paths: Mapping[str, str]) -> EvolutionResult:
    """Fit all rounds on noisy labels; return their outputs on the training rows."""
    data = read_data_set(paths[run.data])
    if not set(run.classes) <= set(data.classes):
        unknown = [name for name in run.classes if name not in data.classes]
        advice = "pass names of its classes."
        raise ArgumentError({"classes": unknown}, f"are not classes of {data.name}", advice)
    codes = [data.classes.index(name) for name in run.classes]
    rows = np.flatnonzero(np.isin(data.labels, codes))
    true = np.array([codes.index(label) for label in data.labels[rows]])
    n_classes = len(codes)
    noise, classes = symmetric(n_classes, run.noise_rate), np.arange(n_classes)
    drawn = corrupt_labels(true, noise, random_state=run.seed, classes=classes)
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


# Figures and tables: maps, dendrograms, the paper's table, planes of outputs ----------------------


# The paper's table tab:cf_class_stat, for ResNet34 features: the number of superclasses, and the
# mean and standard deviation of the correlation for the three kinds of pairs.
PAPER_STATISTICS = {
    "CIFAR-100": (3, "0.25 ± 0.16", "0.02 ± 0.12", "-0.03 ± 0.10"),
    "Caltech-101": (4, "0.42 ± 0.15", "0.03 ± 0.08", "-0.02 ± 0.07"),
    "Caltech-256": (3, "0.35 ± 0.16", "0.02 ± 0.08", "-0.03 ± 0.07"),
    "Flowers-102": (2, "0.36 ± 0.15", "0.03 ± 0.12", "-0.04 ± 0.13"),
    "Food-101": (2, "0.17 ± 0.15", "0.01 ± 0.12", "-0.02 ± 0.12"),
    "StanfordCars": (2, "0.21 ± 0.16", "0.06 ± 0.14", "-0.07 ± 0.13"),
}


@dataclass(frozen=True)
class StructureMaker(Maker):
    """Base class of the makers with one run per dataset."""

    data_sets: tuple[str, ...] = ()  # names of datasets in the paper; empty: all available datasets

    def runs(self, data: Sequence[DataSet]) -> list[StructureRun]:
        """Return one run per dataset."""
        return [StructureRun(each.key) for each in among(data, self.data_sets)]

    def measured(
        self, results: Results, data: Sequence[DataSet]
    ) -> list[tuple[DataSet, str, StructureResult]]:
        """Return each dataset that has a result, with its display name and its result."""
        names = titles(data)
        return [
            (each, names[each.key], results[StructureRun(each.key)])
            for each in among(data, self.data_sets)
            if StructureRun(each.key) in results
        ]

    def panels(self, results: Results, data: Sequence[DataSet]) -> list[figures.ClassPanel]:
        """Return a panel per dataset."""
        return [
            figures.ClassPanel(name, each.classes, np.array(found.means), found.clustering())
            for each, name, found in self.measured(results, data)
        ]

    def notes(self, data: Sequence[DataSet], *more: str) -> tuple[str, ...]:
        """Return the notes for readers of these figures."""
        how = "Correlations are inner products of centred features of unit norm."
        return (how, *more, *absent_note(data))


@register("correlation maps")
@dataclass(frozen=True)
class MapMaker(StructureMaker):
    """Maps of the mean correlations between the classes of each dataset."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw all maps in one figure."""
        panels = self.panels(results, data)
        drawn = {"maps": figures.correlation_maps_figure(panels)} if panels else {}
        note = "A pixel is the mean over all pairs of training rows of two classes."
        return Made(drawn, notes=self.notes(data, note))


@register("dendrograms")
@dataclass(frozen=True)
class DendrogramMaker(StructureMaker):
    """Dendrograms of the classes, and the resulting superclasses."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw all dendrograms in one figure; list the classes of every superclass."""
        panels = self.panels(results, data)
        drawn = {"dendrograms": figures.dendrograms_figure(panels)} if panels else {}
        rows = []
        for panel in panels:
            superclass = panel.superclasses.superclass
            for group in range(panel.superclasses.n_superclasses):
                members = [panel.classes[k] for k in np.flatnonzero(superclass == group)]
                rows.append((panel.title, group + 1, len(members), ", ".join(members)))
        columns = ("dataset", "superclass", "size", "classes")
        table = Table("Superclasses by complete linkage, cut at 0.8", columns, tuple(rows))
        return Made(drawn, {"superclasses": table}, self.notes(data))


@register("pair correlations")
@dataclass(frozen=True)
class PairMaker(StructureMaker):
    """The paper's table of the correlations of the three kinds of pairs."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Make the table of the measured numbers and the published numbers."""
        rows = []
        for each, name, found in self.measured(results, data):
            published = PAPER_STATISTICS.get(each.paper_name or "", (None,) * 4)
            rows.append((name, found.n_superclasses, *map(str, found.kinds), *published))
        columns = ("superclasses", "same class", "same superclass", "other superclass")
        table = Table(
            "Correlation of two training rows, mean ± std over pairs",
            ("dataset", *columns, *(f"paper: {each}" for each in columns)),
            tuple(rows),
        )
        notes = (
            "The paper used ResNet34 features. ± is the standard deviation over pairs of rows.",
            "As in the authors' code, the dendrogram is cut at 0.9 of the largest merge distance.",
            "For noise and maps, superclasses are cut at 0.8.",
        )
        return Made(tables={"correlations": table}, notes=self.notes(data, *notes))


# Evolution of the outputs on four classes by round ------------------------------------------------


COLUMNS = (
    "λ",
    "round",
    "accuracy on true labels, %",
    "agreement with given labels, %",
    "spread in a class",  # root mean square of the distances of outputs to their true class's mean
    "distance of class means",
    "distance / spread",
)

CLUSTERS = (
    "Spread is the root mean squared distance of outputs to the mean output of their true class. "
    "If the ratio of distance to spread grows with the round, clusters form."
)
READINGS = (
    "On raw features, the equivalent λ is ‖φ‖² times that of unit-norm features. Both penalties are"
    " shown."
)


@register("evolution")
@dataclass(frozen=True)
class EvolutionMaker(Maker):
    """Figures of the outputs of rounds, for two meanings of the paper's penalty.

    The penalty is for raw features, as in the paper's code, or for features of unit norm, as in the
    paper's theory.
    """

    data_set: str = "CIFAR-100"  # dataset; if it is missing, the first available one is used
    classes: tuple[str, ...] = ()  # empty: the first four classes
    l2: float = 2.5e-4
    noise_rate: float = 0.5
    seed: int = 0
    n_rounds: int = 7
    rounds: tuple[int, ...] = (1, 2, 5)  # the rounds that are drawn

    def runs(self, data: Sequence[DataSet]) -> list[EvolutionRun]:
        """Return two runs: with the penalty for raw features, and for features of unit norm."""
        chosen = self._chosen(data)
        return [] if chosen is None else list(self._readings(chosen).values())

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the outputs of the chosen rounds, and list the spread of outputs in classes."""
        chosen = self._chosen(data)
        readings = {} if chosen is None else self._readings(chosen)
        found = {name: results[run] for name, run in readings.items() if run in results}
        if chosen is None or not found:
            return Made(notes=("Not run.",))
        planes = {
            name: LabelledOutputs(
                np.array(result.outputs),
                np.array(result.true_labels),
                np.array(result.given_labels),
            )
            for name, result in found.items()
        }
        solved = [each for result in found.values() for each in result.converged]
        rows = [
            row for name, fits in planes.items() for row in _rows(name.replace("\n", " "), fits)
        ]
        title = f"Outputs on {', '.join(self._classes(chosen))} of {titles(data)[chosen.key]}"
        noise = f"symmetric noise among four classes, η = {self.noise_rate:g}, 1 draw"
        subject = f"{titles(data)[chosen.key]}, {noise}"
        drawn = output_plane_figure(
            planes, rounds=self.rounds, class_names=self._classes(chosen), title=subject
        )
        return Made(
            {"planes": drawn},
            {"clusters": Table(title, COLUMNS, tuple(rows))},
            (
                f"Rounds solved to convergence: {sum(solved)} of {len(solved)}.",
                CLUSTERS,
                READINGS,
                *only_one_note(chosen, data, self.data_set),
            ),
            subject,
        )

    def _chosen(self, data: Sequence[DataSet]) -> DataSet | None:
        """Return the file of the dataset; if it has several files, that with the most rows."""
        named = [each for each in data if each.paper_name == self.data_set] or list(data[:1])
        return max(named, key=lambda each: len(each.X), default=None)

    def _classes(self, data: DataSet) -> tuple[str, ...]:
        known = bool(self.classes) and set(self.classes) <= set(data.classes)
        return self.classes if known else data.classes[:4]

    def _readings(self, data: DataSet) -> dict[str, EvolutionRun]:
        """Return the runs for both meanings of the penalty, by title."""
        unit = float(f"{self.l2 * data.mean_square:.6g}")
        read = {
            "on raw features\n(the paper's code)": self.l2,
            "if ‖φ‖ = 1\n(the paper's theory)": unit,
        }
        classes, draw = self._classes(data), (self.noise_rate, self.seed, self.n_rounds)
        return {
            f"λ = {self.l2:g} {words}": EvolutionRun(data.key, classes, l2, *draw)
            for words, l2 in read.items()
        }


def _rows(name: str, fits: LabelledOutputs) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    classes = np.unique(fits.true_labels)
    for t, outputs in enumerate(fits.outputs, start=1):
        centres = np.array([outputs[fits.true_labels == k].mean(axis=0) for k in classes])
        places = np.searchsorted(classes, fits.true_labels)
        spread = float(np.sqrt(np.mean(((outputs - centres[places]) ** 2).sum(axis=1))))
        pairs = centres[:, np.newaxis] - centres
        apart = float(np.linalg.norm(pairs, axis=2)[np.triu_indices(len(classes), k=1)].mean())
        predicted = outputs.argmax(axis=1)
        shares = [
            100 * float(np.mean(predicted == y)) for y in (fits.true_labels, fits.given_labels)
        ]
        rows.append((name, t, *shares, spread, apart, apart / spread if spread else None))
    return rows
