"""The families of methods, by the name that runs have them under."""

from collections.abc import Callable

import twohot
from benchmarks.audit.logistic import logistic_and_cleanlab
from benchmarks.audit.neighbours import vote
from benchmarks.audit.problems import Problem
from benchmarks.audit.records import Outcome
from benchmarks.audit.stages import Stages

OURS = "AutoProbe"
BEST_OF_GRID = "best of AutoProbe's grid"  # read on test data: what a perfect choice would give


def auto_probe(problem: Problem) -> Outcome:
    """Let AutoProbe choose, then flag with the probe it chose."""
    stages = Stages()
    X, y = problem.data.X, problem.given_labels
    with stages.measure("fit"):
        probe = twohot.AutoProbe().fit(X, y)
    with stages.measure("issues"):
        issues = twohot.find_label_issues(X, y, probe=probe)
    accuracy = problem.accuracy(probe.predict(problem.data.X_test))
    score = problem.detection(issues.is_label_issue, issues.label_quality, accuracy)
    return Outcome({OURS: score}, stages.seconds, {"choice": str(probe.choice_)})


FAMILIES: dict[str, Callable[[Problem], Outcome]] = {
    "logistic": logistic_and_cleanlab,
    "neighbours": vote,
}
if hasattr(twohot, "AutoProbe"):
    FAMILIES["twohot"] = auto_probe
