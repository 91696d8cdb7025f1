"""The families of methods, by the name that runs have them under."""

from collections.abc import Callable

import twohot
from benchmarks.audit.logistic import logistic_and_cleanlab
from benchmarks.audit.neighbours import vote
from benchmarks.audit.problems import Problem
from benchmarks.audit.records import Outcome, Score
from benchmarks.audit.stages import Stages

OURS = "AutoProbe"
BEST_OF_GRID = "best of AutoProbe's grid"  # read on test data: what a perfect choice would give
# A probe fitted alone starts from nothing, so a whole grid takes many times what AutoProbe does:
# digits and BANKING77 have it for every run, larger data for one.
GRID_ENTRIES = 4_000_000  # of X
GRID_OF_LARGER = ("symmetric", 0.6, 0)  # noise, rate, seed
GRID_TOL = 1e-2  # a third of AutoProbe's: tighter ones change no accuracy here


def auto_probe(problem: Problem) -> Outcome:
    """Let AutoProbe choose, then flag with the probe it chose."""
    stages = Stages()
    X, y = problem.data.X, problem.given_labels
    with stages.measure("fit"):
        probe = twohot.AutoProbe(n_jobs=1, random_state=problem.seed).fit(X, y)
    with stages.measure("issues"):
        issues = twohot.find_label_issues(X, y, probe=probe)
    accuracy = problem.accuracy(probe.predict(problem.data.X_test))
    scores = {OURS: problem.detection(issues.is_label_issue, issues.label_quality, accuracy)}
    chosen = {
        "chosen": probe.choice_.chosen.name,
        "agreement": {entry.name: entry.agreement for entry in probe.choice_.tried},
    }
    if grid_is_asked_for(problem):
        chosen["on_test"] = on_test(problem, probe.choice_)
        scores[BEST_OF_GRID] = Score(accuracy=max(chosen["on_test"].values()))
    return Outcome(scores, stages.seconds, chosen)


def grid_is_asked_for(problem: Problem) -> bool:
    setting = problem.setting
    return (
        problem.data.X.size <= GRID_ENTRIES
        or (setting.noise, setting.rate, problem.seed) == GRID_OF_LARGER
    )


def on_test(problem: Problem, choice: twohot.audit.choice.Choice) -> dict[str, float]:
    """Return the test accuracy of all that was tried, each fitted alone on all rows."""
    found = {}
    for entry in choice.tried:
        # The text is the representation of a probe of twohot, which its class can be called by.
        probe = eval(entry.estimator, dict(vars(twohot))).set_params(tol=GRID_TOL, n_jobs=1)
        probe.fit(problem.data.X, problem.given_labels)
        found[entry.name] = problem.accuracy(probe.predict(problem.data.X_test))
    return found


FAMILIES: dict[str, Callable[[Problem], Outcome]] = {
    "logistic": logistic_and_cleanlab,
    "neighbours": vote,
    "twohot": auto_probe,
}
