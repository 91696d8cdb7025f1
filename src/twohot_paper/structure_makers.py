"""How classes correlate: maps, dendrograms and the paper's table; outputs by round."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from twohot.describe import Superclasses
from twohot_paper import real_figures as figures
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Made, Maker, Results, register
from twohot_paper.grid import absent_note, among, only_one_note, titles
from twohot_paper.structure import (
    EvolutionResult,
    EvolutionRun,
    PairKind,
    StructureResult,
    StructureRun,
)
from twohot_paper.synthetic_figures import (
    LabelledOutputs,
    output_plane_figure,
)
from twohot_paper.table import Cell, Table

# The paper's table tab:cf_class_stat, of ResNet34 features: superclasses, and mean and standard
# deviation of the correlation in one class, in one superclass, and elsewhere.
PAPER_STATISTICS = {
    "CIFAR-100": (3, (0.25, 0.16), (0.02, 0.12), (-0.03, 0.10)),
    "Caltech-101": (4, (0.42, 0.15), (0.03, 0.08), (-0.02, 0.07)),
    "Caltech-256": (3, (0.35, 0.16), (0.02, 0.08), (-0.03, 0.07)),
    "Flowers-102": (2, (0.36, 0.15), (0.03, 0.12), (-0.04, 0.13)),
    "Food-101": (2, (0.17, 0.15), (0.01, 0.12), (-0.02, 0.12)),
    "StanfordCars": (2, (0.21, 0.16), (0.06, 0.14), (-0.07, 0.13)),
}


@dataclass(frozen=True)
class StructureMaker(Maker):
    """What the makers of this module share: one run per data set."""

    data_sets: tuple[str, ...] = ()  # names of the paper's; all that are at hand if none is named

    def runs(self, data: Sequence[DataSet]) -> list[StructureRun]:
        """Return one run per data set."""
        return [StructureRun(each.key) for each in among(data, self.data_sets)]

    def measured(
        self, results: Results, data: Sequence[DataSet]
    ) -> list[tuple[DataSet, str, StructureResult]]:
        """Return the data sets with a result, what to call them, and the result."""
        names = titles(data)
        return [
            (each, names[each.key], results[StructureRun(each.key)])
            for each in among(data, self.data_sets)
            if StructureRun(each.key) in results
        ]

    def panels(self, results: Results, data: Sequence[DataSet]) -> list[figures.ClassPanel]:
        """Return what is drawn of the classes of every data set."""
        return [
            figures.ClassPanel(name, each.classes, np.array(found.means), _clustering(found))
            for each, name, found in self.measured(results, data)
        ]

    def notes(self, data: Sequence[DataSet], *more: str) -> tuple[str, ...]:
        """Return what a reader must know of all these figures."""
        how = "Correlations are inner products of centred features of unit norm."
        return (how, *more, *absent_note(data))


@register("correlation maps")
@dataclass(frozen=True)
class MapMaker(StructureMaker):
    """Maps of the mean correlation of every two classes."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw all maps in one figure."""
        panels = self.panels(results, data)
        drawn = {"maps": figures.correlation_maps_figure(panels)} if panels else {}
        note = "A pixel is the mean over all pairs of training rows of two classes."
        return Made(drawn, notes=self.notes(data, note))


@register("dendrograms")
@dataclass(frozen=True)
class DendrogramMaker(StructureMaker):
    """Dendrograms of the classes, and the superclasses that they are cut into."""

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
        columns = ("data set", "superclass", "size", "classes")
        table = Table("Superclasses by complete linkage, cut at 0.8", columns, tuple(rows))
        return Made(drawn, {"superclasses": table}, self.notes(data))


@register("pair correlations")
@dataclass(frozen=True)
class PairMaker(StructureMaker):
    """The three kinds of pairs: the paper's table."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Write the table beside the paper's numbers."""
        measured = self.measured(results, data)
        rows = [
            (name, found.n_superclasses, *map(_mean_and_std, found.kinds), *_published(each))
            for each, name, found in measured
        ]
        columns = ("superclasses", "same class", "same superclass", "other superclass")
        table = Table(
            "Correlation of two training rows, mean ± std over pairs",
            ("data set", *columns, *(f"paper: {each}" for each in columns)),
            tuple(rows),
        )
        notes = (
            "The paper's numbers are of ResNet34 features; ± is the spread over pairs of rows.",
            "Superclasses are cut at 0.9 of the largest merge distance, as in the authors' code.",
            "For noise and maps they are cut at 0.8.",
        )
        return Made(tables={"correlations": table}, notes=self.notes(data, *notes))


def _clustering(found: StructureResult) -> Superclasses:
    return Superclasses(np.array(found.superclass), np.array(found.order), np.array(found.linkage))


def _mean_and_std(kind: PairKind) -> str | None:
    if kind.mean is None or kind.std is None:
        return None
    return f"{kind.mean:.3f} ± {kind.std:.3f}"


def _published(data: DataSet) -> tuple[int | str | None, ...]:
    if data.paper_name is None:
        return (None,) * 4
    n_superclasses, *kinds = PAPER_STATISTICS[data.paper_name]
    return (n_superclasses, *(f"{mean:.2f} ± {std:.2f}" for mean, std in kinds))


# How the outputs on four classes evolve with the rounds: clusters by true class, or not -----------


COLUMNS = (
    "λ",
    "round",
    "accuracy on true labels, %",
    "agreement with given labels, %",
    "spread in a class",  # root mean squared distance of outputs to the mean of their true class
    "distance of class means",
    "distance / spread",
)

CLUSTERS = (
    "Spread is the root mean squared distance of outputs to the mean output of their true class. "
    "A ratio of distance to spread that grows with the round says that clusters form."
)
READINGS = "λ on unit-norm features is ‖φ‖² times as large on raw ones: both readings are shown."


@register("evolution")
@dataclass(frozen=True)
class EvolutionMaker(Maker):
    """Planes of outputs at the paper's penalty on raw and on unit-norm features."""

    data_set: str = "CIFAR-100"  # the first one at hand where this is absent
    classes: tuple[str, ...] = ()  # the first four if none is named
    l2: float = 2.5e-4
    noise_rate: float = 0.5
    seed: int = 0
    n_rounds: int = 7
    rounds: tuple[int, ...] = (1, 2, 5)  # that are drawn

    def runs(self, data: Sequence[DataSet]) -> list[EvolutionRun]:
        """Return a run for each reading of the penalty."""
        chosen = self._chosen(data)
        return [] if chosen is None else list(self._readings(chosen).values())

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw the planes, and write down how near the outputs of a class are to each other."""
        chosen = self._chosen(data)
        readings = {} if chosen is None else self._readings(chosen)
        found = {name: results[run] for name, run in readings.items() if run in results}
        if chosen is None or not found:
            return Made(notes=("Not run.",))
        planes = {name: _outputs(result) for name, result in found.items()}
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
                _solved_note(found.values()),
                CLUSTERS,
                READINGS,
                *only_one_note(chosen, data, self.data_set),
            ),
            subject,
        )

    def _chosen(self, data: Sequence[DataSet]) -> DataSet | None:
        """Return the file that has most rows of the data set."""
        named = [each for each in data if each.paper_name == self.data_set] or list(data[:1])
        return max(named, key=lambda each: len(each.X), default=None)

    def _classes(self, data: DataSet) -> tuple[str, ...]:
        known = bool(self.classes) and set(self.classes) <= set(data.classes)
        return self.classes if known else data.classes[:4]

    def _readings(self, data: DataSet) -> dict[str, EvolutionRun]:
        """Return the run at the penalty on raw features, and on features of unit norm."""
        unit = float(f"{self.l2 * data.mean_square:.6g}")
        return {
            f"λ = {self.l2:g} on raw features\n(the paper's code)": self._run(data, self.l2),
            f"λ = {self.l2:g} if ‖φ‖ = 1\n(the paper's theory)": self._run(data, unit),
        }

    def _run(self, data: DataSet, l2: float) -> EvolutionRun:
        return EvolutionRun(
            data.key, self._classes(data), l2, self.noise_rate, self.seed, self.n_rounds
        )


def _solved_note(results: Iterable[EvolutionResult]) -> str:
    rounds = [each for result in results for each in result.converged]
    return f"Rounds solved to convergence: {sum(rounds)} of {len(rounds)}."


def _outputs(result: EvolutionResult) -> LabelledOutputs:
    labels = np.array(result.true_labels), np.array(result.given_labels)
    return LabelledOutputs(np.array(result.outputs), *labels)


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
