"""Passes per round, as fitted probes report them. Processors change a count by about one."""

import warnings
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.solver.problems import Load, Problem, Source
from benchmarks.solver.results import Penalty, RoundCount
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe, Round

PLL = "PLL"


def quietly(probe: Any, problem: Problem, rows: NDArray[Any] | None = None) -> Any:
    """Fit on the given labels. What did not converge stands in the record, so no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return probe.fit(problem.X if rows is None else rows, problem.given_labels)


@dataclass(frozen=True)
class CountRounds:
    """Passes of a teacher and its students, and of the student on the teacher's candidates."""

    source: Source
    penalty: Penalty
    tol: float
    n_rounds: int
    partial: bool  # whether to count the student on candidates, its targets' half pass included

    def __str__(self) -> str:
        return f"{self.source.name}: rounds, {self.penalty}, {self.tol:g}"

    def measure(self, load: Load) -> list[RoundCount]:
        problem = load(self.source)
        common: dict[str, Any] = {"tol": self.tol, **self.penalty.arguments}
        probe = quietly(DistilledProbe(n_rounds=self.n_rounds, **common), problem)
        names = ["teacher"] + [f"student {number}" for number in range(1, self.n_rounds)]
        found = dict(zip(names, probe.rounds_, strict=True))
        if self.partial:
            found[PLL] = quietly(PartialLabelProbe(loss="ce", **common), problem).rounds_[-1]
        return [_count(self, name, entry) for name, entry in found.items()]


@dataclass(frozen=True)
class CountGeneralized:
    """Passes of generalised cross-entropy, the fit that it starts from included."""

    source: Source
    penalty: Penalty
    tol: float

    def __str__(self) -> str:
        return f"{self.source.name}: generalised cross-entropy, {self.penalty}"

    def measure(self, load: Load) -> list[RoundCount]:
        problem = load(self.source)
        common: dict[str, Any] = {"tol": self.tol, **self.penalty.arguments}
        labels = quietly(LinearProbe(loss="gce", **common), problem).rounds_[-1]
        candidates = quietly(PartialLabelProbe(loss="gce", **common), problem).rounds_[-1]
        return [_count(self, "given labels", labels), _count(self, "candidates", candidates)]


def _count(run: CountRounds | CountGeneralized, name: str, entry: Round) -> RoundCount:
    return RoundCount(
        problem=run.source.name,
        penalty=run.penalty,
        tol=run.tol,
        name=name,
        loss=entry.loss,
        n_passes=entry.n_passes,
        gradient_norm=entry.gradient_norm,
        converged=entry.converged,
    )
