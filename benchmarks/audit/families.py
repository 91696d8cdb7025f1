"""The families of methods, by the name that runs have them under."""

from collections.abc import Callable

import twohot
from benchmarks.audit.logistic import logistic_and_cleanlab
from benchmarks.audit.neighbours import vote
from benchmarks.audit.problems import Problem
from benchmarks.audit.records import Outcome, Score
from benchmarks.audit.stages import Stages

OURS = "AutoProbe"
# Read on test data: what a perfect choice would give in every run, and the one model of those tried
# in all runs of a setting that is best on average.
BEST_OF_GRID = "best of AutoProbe's grid"
ONE_OF_GRID = "one model of AutoProbe's grid"
GRID_TOL = 1e-2  # a third of AutoProbe's own


def auto_probe(problem: Problem) -> Outcome:
    """Let AutoProbe choose, then flag with the probe it chose."""
    stages = Stages()
    X, y = problem.data.X, problem.given_labels
    with stages.measure("fit"):
        probe = chosen_probe(problem)
    with stages.measure("issues"):
        issues = twohot.find_label_issues(X, y, probe=probe)
    accuracy = problem.accuracy(probe.predict(problem.data.X_test))
    score = problem.detection(issues.is_label_issue, issues.label_quality, accuracy)
    agreement = {entry.name: entry.agreement for entry in probe.choice_.tried}
    chosen = {"chosen": probe.choice_.chosen.name, "agreement": agreement}
    return Outcome({OURS: score}, stages.seconds, chosen)


def grid(problem: Problem) -> Outcome:
    """Fit all that AutoProbe tries, each alone on all rows, and take the best on test rows."""
    on_test = {}
    for entry in chosen_probe(problem).choice_.tried:
        # The text is what twohot prints of one of its own probes.
        probe = eval(entry.estimator, dict(vars(twohot))).set_params(tol=GRID_TOL, n_jobs=1)
        probe.fit(problem.data.X, problem.given_labels)
        on_test[entry.name] = problem.accuracy(probe.predict(problem.data.X_test))
    best = Score(accuracy=max(on_test.values()))
    return Outcome({BEST_OF_GRID: best}, {}, {"on_test": on_test})


def chosen_probe(problem: Problem) -> twohot.AutoProbe:
    probe = twohot.AutoProbe(n_jobs=1, random_state=problem.seed)
    return probe.fit(problem.data.X, problem.given_labels)


FAMILIES: dict[str, Callable[[Problem], Outcome]] = {
    "logistic": logistic_and_cleanlab,
    "neighbours": vote,
    "twohot": auto_probe,
    "grid": grid,
}
