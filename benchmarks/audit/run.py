"""Compare methods on noisy labels; one record a run, and a document from the records.

    python -m benchmarks.audit.run --records FILE [--features DIR] [--output docs/FILE.md]

Runs with a record are skipped, so the comparison can be stopped and taken up again. DIR holds real
features as npz files (see data.REAL_FILES); without it, digits alone are run.
"""

import argparse
import platform
import sys
import time
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.audit import cost
from benchmarks.audit.data import DIGITS, Data, digits, loaders
from benchmarks.audit.document import render
from benchmarks.audit.families import FAMILIES
from benchmarks.audit.logistic import verify
from benchmarks.audit.plan import plan
from benchmarks.audit.problems import make_problem
from benchmarks.audit.records import Record, Run, Setting, append, read, unfinished
from twohot._files import whole_file

PACKAGES = ("twohot", "numpy", "scipy", "scikit-learn", "cleanlab")


def main() -> None:
    arguments = parse()
    loading = loaders(arguments.features)

    @lru_cache(maxsize=1)  # runs of one data set follow each other, and one is large enough
    def load(name: str) -> Data:
        return loading[name]()

    names = [name for name in loading if name in (arguments.only or loading)]
    runs = plan(names, arguments.families or FAMILIES)
    waiting = unfinished(runs, read(arguments.records))
    if any(run.family == "logistic" for run in waiting):
        verify(make_problem(digits(), Setting(DIGITS, "symmetric", 0.3), seed=0), C=1.0)
    for number, run in enumerate(waiting, start=1):
        start = time.process_time()
        append(measure(run, load(run.setting.data)), arguments.records)
        say(f"{number} of {len(waiting)}", run, time.process_time() - start)
    if arguments.output is not None:
        with whole_file(arguments.output) as file:
            costs = [] if arguments.costs is None else cost.read(arguments.costs)
            file.write(render(read(arguments.records), costs).encode())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True, help="file to append to")
    parser.add_argument("--features", type=Path, help="folder with real features")
    parser.add_argument("--costs", type=Path, help="file that benchmarks.audit.cost appends to")
    parser.add_argument("--output", type=Path, help="document to write from all records")
    parser.add_argument("--only", nargs="*", help="names of data sets; else all at hand")
    parser.add_argument("--families", nargs="*", choices=FAMILIES, help="methods; else all")
    return parser.parse_args()


def measure(run: Run, data: Data) -> Record:
    """Do one run, on one thread."""
    problem = make_problem(data, run.setting, run.seed)
    with threadpool_limits(1):
        outcome = FAMILIES[run.family](problem)
    versions = {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    return Record(run, outcome, float(problem.wrong.mean()), problem.outvoted, versions)


def say(progress: str, run: Run, seconds: float) -> None:
    what = f"{run.setting.data}, {run.setting}, seed {run.seed}, {run.family}"
    print(f"{progress}: {what}: {seconds:.1f} s of CPU", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
