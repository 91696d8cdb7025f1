"""How classes correlate: maps, histograms, dendrograms, the paper's table, and q/p."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twohot.classes import Superclasses
from twohot.figures import class_panels as figures
from twohot.reproduce.data_set import STRENGTHS, DataSet
from twohot.reproduce.maker import Made, Maker, Results, register
from twohot.reproduce.probe_grid import absent_note, among, titles
from twohot.reproduce.structure_run import BIN_EDGES, PairKind, StructureResult, StructureRun
from twohot.reproduce.table import Table
from twohot.theory import PairLevels, l2_for_separation, largest_separation, separation_at

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

PENALTIES = np.logspace(-7, -1, 121)  # on raw features; the paper's are in the middle


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
    """The three kinds of pairs: the paper's table, and histograms."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Write the table beside the paper's numbers, and draw the histograms."""
        measured = self.measured(results, data)
        panels = [
            figures.HistogramPanel(
                name,
                tuple(BIN_EDGES.tolist()),
                tuple(kind.histogram for kind in found.kinds),
                tuple(kind.mean for kind in found.kinds),
            )
            for _, name, found in measured
        ]
        rows = [
            (name, found.n_superclasses, *map(_mean_and_std, found.kinds), *_published(each))
            for each, name, found in measured
        ]
        kinds = [name for name, _ in figures.KINDS]
        columns = ("superclasses", *kinds)
        table = Table(
            "Correlation of two training rows, mean ± std over pairs",
            ("data set", *columns, *(f"paper: {each}" for each in columns)),
            tuple(rows),
        )
        drawn = {"histograms": figures.pair_histograms_figure(panels)} if panels else {}
        notes = (
            "The paper's numbers are of ResNet34 features; ± is the spread over pairs of rows.",
            "Superclasses are cut at 0.9 of the largest merge distance, as in the authors' code.",
            "For noise and maps they are cut at 0.8.",
        )
        return Made(drawn, {"correlations": table}, self.notes(data, *notes))


@register("separation of features")
@dataclass(frozen=True)
class FeatureSeparationMaker(StructureMaker):
    """q/p from the correlations and the norm of the features at hand."""

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw q/p against the penalty, and tell it at the penalties of the experiments."""
        curves, rows, notes = [], [], []
        for each, name, found in self.measured(results, data):
            levels = _levels(each, found)
            if levels is None:
                notes.append(f"{name} has no two classes in one superclass, and no q/p.")
                continue
            penalties = [each.l2(strength) for strength in STRENGTHS]
            marked = [separation_at(levels, l2=l2) for l2 in penalties]
            curve = tuple(separation_at(levels, l2=float(l2)) for l2 in PENALTIES)
            pairs = tuple(zip(penalties, marked, strict=True))
            curves.append(figures.FeatureSeparation(name, tuple(PENALTIES.tolist()), curve, pairs))
            largest = largest_separation(levels)
            two = l2_for_separation(levels, separation=2.0) if largest > 2 else None
            rows.append(
                (name, found.mean_square, *(x for pair in pairs for x in pair), two, largest)
            )
        at = [text for strength in STRENGTHS for text in (f"{strength} λ", f"q/p at {strength} λ")]
        columns = ("data set", "mean ‖φ‖²", *at, "λ of q/p = 2", "largest q/p")
        table = Table("Separation q/p on raw features", columns, tuple(rows))
        drawn = {"separation": figures.separations_figure(curves)} if curves else {}
        note = "λ is on raw features: on features of unit norm, λ / ‖φ‖² is as strong."
        return Made(drawn, {"separation": table}, self.notes(data, note, *notes))


def _clustering(found: StructureResult) -> Superclasses:
    return Superclasses(np.array(found.superclass), np.array(found.order), np.array(found.linkage))


def _levels(data: DataSet, found: StructureResult) -> PairLevels | None:
    same_class, same_superclass = found.same_class.mean, found.same_superclass.mean
    if same_class is None or same_superclass is None or same_superclass >= same_class:
        return None
    n_per_class = found.n_samples / data.n_classes
    return PairLevels(
        data.n_classes, n_per_class, same_class, same_superclass, squared_norm=found.mean_square
    )


def _mean_and_std(kind: PairKind) -> str | None:
    if kind.mean is None or kind.std is None:
        return None
    return f"{kind.mean:.3f} ± {kind.std:.3f}"


def _published(data: DataSet) -> tuple[int | str | None, ...]:
    if data.paper_name is None:
        return (None,) * 4
    n_superclasses, *kinds = PAPER_STATISTICS[data.paper_name]
    return (n_superclasses, *(f"{mean:.2f} ± {std:.2f}" for mean, std in kinds))
