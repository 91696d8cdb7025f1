"""The paper's three corruption matrices, as numbers (its table:label_corruption_three)."""

from dataclasses import dataclass

from twohot._types import FloatArray
from twohot.figures.theory import corruption_figure
from twohot.noise import asymmetric, superclass_noise, symmetric
from twohot.reproduce.maker import Made, Results, register
from twohot.reproduce.makers.synthetic_maker import SyntheticMaker
from twohot.reproduce.table import Cell, Table

# What stands off the diagonal, which is 1 - η.
DEFINITIONS = {
    "symmetric": "η / (K - 1) on every other label",
    "asymmetric": "2η / K on the label k is taken for, (k + 1) mod K; η / K on the others",
    "superclass": "η / (size - 1) on the other labels of the superclass, 0 elsewhere;"
    " a superclass of one class stays clean",
}


@register("label corruption")
@dataclass(frozen=True)
class LabelCorruption(SyntheticMaker):
    """The matrices at one noise rate; they need no runs."""

    superclass: tuple[int, ...] = (0, 0, 1, 1)
    noise_rate: float = 0.4

    def plan(self) -> list[object]:
        """Return none: the matrices are definitions."""
        return []

    def draw(self, results: Results) -> Made:
        """Draw the matrices; list their numbers and their definitions."""
        del results
        matrices = self.matrices()
        n_classes = len(self.superclass)
        rows: list[tuple[Cell, ...]] = [
            (kind, k, *(round(float(share), 6) for share in matrix[k]))
            for kind, matrix in matrices.items()
            for k in range(n_classes)
        ]
        columns = ("corruption", "true class", *(f"given {k}" for k in range(n_classes)))
        title = f"Corruption matrices of {n_classes} classes at η = {self.noise_rate:g}"
        defined = Table(
            "Corruption matrices, beside 1 - η on the diagonal",
            ("corruption", "share of true class k given another label"),
            tuple(DEFINITIONS.items()),
        )
        name = "label_corruption_three"
        return Made(
            {name: corruption_figure(matrices, self.noise_rate)},
            {name: Table(title, columns, tuple(rows)), f"{name}_definitions": defined},
            (f"Superclasses of the classes: {', '.join(map(str, self.superclass))}.",),
        )

    def matrices(self) -> dict[str, FloatArray]:
        """Return the three matrices by name."""
        n_classes = len(self.superclass)
        return {
            "symmetric": symmetric(n_classes, self.noise_rate),
            "asymmetric": asymmetric(n_classes, self.noise_rate),
            "superclass": superclass_noise(self.superclass, self.noise_rate),
        }
