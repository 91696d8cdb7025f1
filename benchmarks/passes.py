"""Passes per round, as the fitted probes report them. Counts are the same on any machine."""

import warnings
from dataclasses import replace
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from problems import Problem
from records import Penalty, RoundCount
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.solve.fit import START_TOLERANCE

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
    # On given labels the record counts the start as well, so the same start is made once more.
    start = LinearProbe(loss="ce", **(common | {"tol": max(tol, START_TOLERANCE)}))
    n_before = quietly(start, problem).rounds_[0].n_passes
    labels = quietly(LinearProbe(loss="gce", **common), problem).rounds_[-1]
    labels = replace(labels, n_passes=labels.n_passes - n_before)
    candidates = quietly(PartialLabelProbe(loss="gce", **common), problem).rounds_[-1]
    return [
        _record(problem, penalty, tol, "given labels", labels),
        _record(problem, penalty, tol, "candidates", candidates),
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
