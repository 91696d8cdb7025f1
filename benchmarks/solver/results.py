"""What the runs return. The page is made from these records and from nothing else."""

from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Penalty:
    """Strength of the penalty, as the probes take it."""

    kind: str  # "l2" or "ridge"
    strength: float

    @property
    def arguments(self) -> dict[str, float]:
        return {self.kind: self.strength}

    def __str__(self) -> str:
        return f"{'λ' if self.kind == 'l2' else 'ridge'} {self.strength:g}"


@dataclass(frozen=True)
class RoundCount:
    """Passes that one round took."""

    problem: str
    penalty: Penalty
    tol: float
    name: str  # "teacher", "student 1", …, "PLL", or what generalised cross-entropy was fitted to
    loss: str
    n_passes: float
    gradient_norm: float
    converged: bool


@dataclass(frozen=True)
class Ratio:
    """Time of two ways to do a thing, taken in turn."""

    name: str
    clock: str  # "CPU" or "wall"
    n_threads: int
    above: list[float]  # seconds of every repetition
    below: list[float]
    note: str = ""

    @property
    def each(self) -> list[float]:
        return [a / b for a, b in zip(self.above, self.below, strict=True)]

    @property
    def value(self) -> float:
        return median(self.each)


@dataclass(frozen=True)
class PeakMemory:
    """Memory that a fit took above that of a process which holds X."""

    problem: str
    fit: str
    penalty: Penalty
    features_mb: float
    above_mb: float
    n_passes: float


@dataclass(frozen=True)
class LateRound:
    """A late round beside its solution in float64."""

    problem: str
    ridge: float
    n_rounds: int
    converged: bool
    gradient_norm: float
    n_passes: float
    accuracy: float
    reference_accuracy: float
    reference_gradient: float
    n_different: int  # rows whose predicted class differs


@dataclass
class Results:
    """The results of all runs, as the page needs them."""

    quick: bool
    machine: dict[str, str]
    elsewhere: str = ""  # why the printed correlations cannot be had
    sizes: dict[str, str] = field(default_factory=dict)  # of every problem, by its name
    rounds: list[RoundCount] = field(default_factory=list)
    generalized: list[RoundCount] = field(default_factory=list)
    gemm: list[Ratio] = field(default_factory=list)
    sklearn: list[Ratio] = field(default_factory=list)
    sgd: list[Ratio] = field(default_factory=list)
    memory: list[PeakMemory] = field(default_factory=list)
    late: list[LateRound] = field(default_factory=list)
    minutes: float = 0.0

    def select(self, **values: Any) -> list[RoundCount]:
        """Return the cross-entropy rounds with these values of their fields."""
        return [
            entry
            for entry in self.rounds
            if all(getattr(entry, name) == value for name, value in values.items())
        ]
