"""CPU of finding label issues, taken in turn on one thread.

    python -m benchmarks.audit.cost --records FILE --features DIR

cleanlab gets one C, and so no choice: five folds of LogisticRegression, then its flags. Ours is
measured twice: with a probe fitted before, and with all that AutoProbe does to choose one. Data
sets with a record are skipped.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from threadpoolctl import threadpool_limits

import twohot
from benchmarks.audit.data import loaders
from benchmarks.audit.logistic import cross_validate, flag
from benchmarks.audit.problems import Problem, make_problem
from benchmarks.audit.records import Setting
from benchmarks.audit.stages import Stages

CLEANLAB, GIVEN, AUTO = "cleanlab, 5 folds at one C", "twohot, given probe", "twohot, AutoProbe"
LARGE = ("BANKING77", "CIFAR-100")  # 10,000 rows and more
C = 1.0  # scikit-learn's default, and cheaper to fit than the larger ones
NOISE, RATE = "symmetric", 0.3
N_REPEATS = 3


@dataclass(frozen=True)
class Cost:
    """CPU of several ways to do a thing, taken in turn."""

    data: str
    setting: str
    seconds: dict[str, list[float]]  # of every repetition, by way

    def ratio(self, above: str, below: str) -> float:
        """Return the median of the ratios of each turn."""
        pairs = zip(self.seconds[above], self.seconds[below], strict=True)
        return median(a / b for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True, help="file to append to")
    parser.add_argument("--features", type=Path, required=True, help="folder with real features")
    parser.add_argument("--only", nargs="*", choices=LARGE, help="names of data sets; else all")
    arguments = parser.parse_args()
    finished = {cost.data for cost in read(arguments.records)}
    for name, load in loaders(arguments.features).items():
        if name in (arguments.only or LARGE) and name not in finished:
            cost = measure(make_problem(load(), Setting(name, NOISE, RATE), seed=0))
            print(cost, file=sys.stderr, flush=True)
            with arguments.records.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(cost)) + "\n")


def read(path: Path) -> list[Cost]:
    """Return the records of a file; none without a file."""
    if not path.is_file():
        return []
    return [Cost(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def measure(problem: Problem) -> Cost:
    ways = ways_to_find_issues(problem)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with threadpool_limits(1):
        for _ in range(N_REPEATS):
            for way, find in ways.items():
                start = time.process_time()
                find()
                seconds[way].append(time.process_time() - start)
    return Cost(problem.data.name, f"{NOISE} {RATE:g}", seconds)


def ways_to_find_issues(problem: Problem) -> dict[str, Callable[[], object]]:
    X, y = problem.data.X, problem.given_labels
    probe = twohot.AutoProbe(n_jobs=1).fit(X, y)

    def cleanlab() -> object:
        folds = cross_validate(problem, C, Stages(), "folds")
        return flag(y, folds.probabilities, "prune_by_noise_rate")

    def given() -> object:
        return twohot.find_label_issues(X, y, probe=probe)

    def auto() -> object:
        return twohot.find_label_issues(X, y, n_jobs=1)

    return {CLEANLAB: cleanlab, GIVEN: given, AUTO: auto}


if __name__ == "__main__":
    main()
