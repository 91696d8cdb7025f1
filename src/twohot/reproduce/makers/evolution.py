"""How the outputs on four classes evolve with the rounds: clusters by true class, or not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from twohot.figures.output_evolution import LabelledOutputs, output_plane_figure
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.evolution_run import EvolutionResult, EvolutionRun
from twohot.reproduce.maker import Made, Maker, Results, register
from twohot.reproduce.probe_grid import only_one_note, titles
from twohot.reproduce.table import Cell, Table

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
