"""The families of methods, by the name that runs have them under."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

import twohot
from benchmarks.audit.calibration import measure_calibration
from benchmarks.audit.discriminant import discriminant
from benchmarks.audit.logistic import logistic_and_cleanlab
from benchmarks.audit.neighbours import vote
from benchmarks.audit.noisy_data import NoisyData
from benchmarks.audit.runs import Outcome, Score
from benchmarks.audit.stages import Stages
from twohot._checks.labels import code_labels
from twohot.audit.opinions import unseen_opinions
from twohot.audit.verdict import reach_verdict

OURS = "AutoProbe"
AUTO_PROBE = "autoprobe"
# Read on test data: what a perfect choice would give in every run, and the one model of those tried
# in all runs of a setting that is best on average.
BEST_OF_GRID = "best of AutoProbe's grid"
ONE_OF_GRID = "one model of AutoProbe's grid"
GRID_TOL = 1e-2  # a third of AutoProbe's own


def auto_probe(noisy: NoisyData) -> Outcome:
    """Let AutoProbe choose on rows as they come, and flag without having seen the labels."""
    stages, labels = Stages(), code_labels(noisy.given_labels)
    probe = twohot.AutoProbe(n_jobs=1, random_state=noisy.seed)
    with stages.measure("fit"):  # as find_label_issues does it, but the verdict is kept
        opinions = unseen_opinions(probe, noisy.data.raw, labels, None)
        verdict = reach_verdict(opinions, labels)
        flagged = verdict.flagged
    accuracy = noisy.accuracy(probe.predict(noisy.data.raw_test))
    score = noisy.detection(flagged, 1 - verdict.doubt, accuracy)
    chosen = {
        "chosen": probe.choice_.chosen.name,
        "agreement": {entry.name: entry.agreement for entry in probe.choice_.tried},
        "calibration": measure_calibration(verdict, noisy),
    }
    return Outcome({OURS: score}, stages.seconds, chosen)


def grid(noisy: NoisyData) -> Outcome:
    """Fit all that AutoProbe tries, each alone on all rows, and take the best on test rows.

    The rows are prepared, so that what there is of it and what is to come can be compared.
    """
    on_test = {}
    for entry in chosen_probe(noisy.data.X, noisy).choice_.tried:
        probe = entry.probe(tol=GRID_TOL, n_jobs=1)
        probe.fit(noisy.data.X, noisy.given_labels)
        on_test[entry.name] = noisy.accuracy(probe.predict(noisy.data.X_test))
    best = Score(accuracy=max(on_test.values()))
    return Outcome({BEST_OF_GRID: best}, {}, {"on_test": on_test})


def chosen_probe(X: NDArray[Any], noisy: NoisyData) -> twohot.AutoProbe:
    probe = twohot.AutoProbe(n_jobs=1, random_state=noisy.seed)
    return probe.fit(X, noisy.given_labels)


FAMILIES: dict[str, Callable[[NoisyData], Outcome]] = {
    "logistic": logistic_and_cleanlab,
    "lda": discriminant,
    "neighbours": vote,
    AUTO_PROBE: auto_probe,
    "grid": grid,
}
