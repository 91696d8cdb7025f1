"""CPU of finding label issues, taken in turn on one thread.

    python -m benchmarks.audit.cost --records FILE --features DIR

cleanlab gets one C, and so no choice: five folds of LogisticRegression, then its flags. Ours is
measured with a probe fitted before, and with all that AutoProbe does to choose one; and so is what
the choice takes alone. Data sets with a record are skipped.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

import twohot
from benchmarks.audit.data import loaders
from benchmarks.audit.logistic import cross_validate, flag
from benchmarks.audit.noisy_data import NoisyData, draw_labels
from benchmarks.audit.runs import Setting
from benchmarks.audit.stages import Stages
from benchmarks.pages import say
from twohot.experiment import Log, Record, run_plan

CLEANLAB, GIVEN, AUTO = "cleanlab, 5 folds at one C", "twohot, given probe", "twohot, AutoProbe"
CHOICE = "AutoProbe().fit"
LARGE = ("BANKING77", "CIFAR-100")  # 10,000 rows and more
C = 1.0  # scikit-learn's default, and cheaper to fit than the larger ones
NOISE, RATE = "symmetric", 0.3
N_REPEATS = 3


@dataclass(frozen=True)
class CostRun:
    """All ways to find label issues, in turn."""

    setting: Setting
    C: float = C
    n_repeats: int = N_REPEATS

    def __str__(self) -> str:
        return f"{self.setting.data}, {self.setting}, cost"


@dataclass(frozen=True)
class Cost:
    """CPU of several ways to do a thing, taken in turn."""

    seconds: dict[str, list[float]]  # of every repetition, by way

    def ratio(self, above: str, below: str) -> float:
        """Return the median of the ratios of each turn."""
        pairs = zip(self.seconds[above], self.seconds[below], strict=True)
        return median(a / b for a, b in pairs)


CostRecord: TypeAlias = Record[CostRun, Cost]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True, help="file to append to")
    parser.add_argument("--features", type=Path, required=True, help="folder with real features")
    parser.add_argument("--only", nargs="*", choices=LARGE, help="names of data sets; else all")
    arguments = parser.parse_args()
    loading = loaders(arguments.features)
    plan = [CostRun(Setting(name, NOISE, RATE)) for name in arguments.only or LARGE]

    def measure_loaded(run: CostRun) -> Cost:
        return measure(run, draw_labels(loading[run.setting.data](), run.setting, seed=0))

    run_plan(plan, Log(arguments.records), measure_loaded, callback=say)


def measure(run: CostRun, noisy: NoisyData) -> Cost:
    ways = ways_to_find_issues(noisy, run.C)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(run.n_repeats):
        for way, find in ways.items():
            start = time.process_time()
            find()
            seconds[way].append(time.process_time() - start)
    return Cost(seconds)


def ways_to_find_issues(noisy: NoisyData, C: float) -> dict[str, Callable[[], object]]:
    X, y = noisy.data.X, noisy.given_labels
    probe = twohot.AutoProbe(n_jobs=1).fit(X, y)

    def cleanlab() -> object:
        folds = cross_validate(noisy, C, Stages(), "folds")
        return flag(y, folds.probabilities, "prune_by_noise_rate")

    def given() -> object:
        return twohot.find_label_issues(X, y, probe=probe)

    def auto() -> object:
        return twohot.find_label_issues(X, y, n_jobs=1)

    def choice() -> object:
        return twohot.AutoProbe(n_jobs=1).fit(X, y)

    return {CLEANLAB: cleanlab, GIVEN: given, AUTO: auto, CHOICE: choice}


if __name__ == "__main__":
    main()
