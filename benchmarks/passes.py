"""Passes per round, as the fitted probes report them. Counts are the same on any machine."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from problems import Problem
from records import Penalty, RoundCount
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe

PLL = "PLL"


def quietly(probe: Any, problem: Problem) -> Any:
    """Fit on the given labels. What did not converge stands in the record, so no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return probe.fit(problem.X, problem.given_labels)


def count_distilled(
    problem: Problem, penalty: Penalty, tol: float, n_rounds: int
) -> list[RoundCount]:
    """Return the passes of a teacher and its students."""
    probe = quietly(DistilledProbe(n_rounds=n_rounds, tol=tol, **penalty.arguments), problem)
    names = ["teacher"] + [f"student {number}" for number in range(1, n_rounds)]
    return [
        _record(problem, penalty, tol, name, entry)
        for name, entry in zip(names, probe.rounds_, strict=True)
    ]


def count_partial(problem: Problem, penalty: Penalty, tol: float) -> RoundCount:
    """Return the passes of a cross-entropy student on candidates, its targets' half included."""
    probe = quietly(PartialLabelProbe(loss="ce", tol=tol, **penalty.arguments), problem)
    return _record(problem, penalty, tol, PLL, probe.rounds_[-1])


def count_generalized(problem: Problem, penalty: Penalty, tol: float) -> list[RoundCount]:
    """Return the passes of generalised cross-entropy after its cross-entropy start."""
    common: dict[str, Any] = {"tol": tol, **penalty.arguments}
    start = quietly(LinearProbe(loss="ce", **common), problem).coef_
    labels = quietly(LinearProbe(loss="gce", start=start, **common), problem)
    candidates = quietly(PartialLabelProbe(loss="gce", **common), problem)
    return [
        _record(problem, penalty, tol, "given labels", labels.rounds_[-1]),
        _record(problem, penalty, tol, "candidates", candidates.rounds_[-1]),
    ]


def _record(problem: Problem, penalty: Penalty, tol: float, name: str, entry: Any) -> RoundCount:
    return RoundCount(
        problem=problem.name,
        penalty=penalty,
        tol=tol,
        name=name,
        loss=entry.loss,
        n_passes=entry.n_passes,
        gradient_norm=entry.gradient_norm,
        converged=entry.converged,
    )
