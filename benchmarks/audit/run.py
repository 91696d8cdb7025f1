"""Compare methods on noisy labels; one record per run, and a page from the records.

    python -m benchmarks.audit.run --records FILE [--features DIR] [--output docs/FILE.md]

Runs with a record are skipped, so the comparison can be stopped and taken up again. DIR holds real
features as npz files (see benchmarks/real_features.py); without it, digits and generated classes
are run.
"""

import argparse
from functools import lru_cache
from pathlib import Path

from benchmarks.audit.cost import Cost, CostRun
from benchmarks.audit.data import DIGITS, Data, digits, loaders
from benchmarks.audit.document import render
from benchmarks.audit.families import FAMILIES
from benchmarks.audit.generated import GENERATED
from benchmarks.audit.logistic import verify
from benchmarks.audit.noisy_data import draw_labels
from benchmarks.audit.plan import plan
from benchmarks.audit.reliability import draw_reliability
from benchmarks.audit.runs import AuditResult, AuditRun, Setting
from benchmarks.pages import say, write_page
from twohot.experiment import Log, run_plan, unfinished

PICTURE = "figures/reliability.png"  # beside the page
PACKAGES = ("twohot", "numpy", "scipy", "scikit-learn", "cleanlab")


def main() -> None:
    arguments = parse()
    loading = loaders(arguments.features)

    @lru_cache(maxsize=1)  # runs of one data set follow each other, and one is large enough
    def load_stored(name: str) -> Data:
        return loading[name]()

    def load(run: AuditRun) -> Data:
        name = run.setting.data
        return GENERATED[name](run.seed) if name in GENERATED else load_stored(name)

    names = [
        name for name in (*loading, *GENERATED) if not arguments.only or name in arguments.only
    ]
    runs = plan(names, arguments.families or FAMILIES)
    log = Log(arguments.records)
    if any(run.family == "logistic" for run in unfinished(runs, log)):
        verify(draw_labels(digits(), Setting(DIGITS, "symmetric", 0.3), seed=0), C=1.0)
    run_plan(runs, log, lambda run: measure(run, load(run)), packages=PACKAGES, callback=say)
    if arguments.output is not None:
        costs = [] if arguments.costs is None else Log(arguments.costs).finished(CostRun, Cost)
        records = log.finished(AuditRun, AuditResult)
        draw_reliability(records, arguments.output.parent / PICTURE)
        write_page(render(records, costs, PICTURE), arguments.output)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True, help="file to append to")
    parser.add_argument("--features", type=Path, help="folder with real features")
    parser.add_argument("--costs", type=Path, help="file that benchmarks.audit.cost appends to")
    parser.add_argument("--output", type=Path, help="page to write from all records")
    parser.add_argument("--only", nargs="*", help="names of data sets; else all at hand")
    parser.add_argument("--families", nargs="*", choices=FAMILIES, help="methods; else all")
    return parser.parse_args()


def measure(run: AuditRun, data: Data) -> AuditResult:
    noisy = draw_labels(data, run.setting, run.seed)
    outcome = FAMILIES[run.family](noisy)
    return AuditResult(outcome, float(noisy.wrong.mean()), noisy.outvoted)


if __name__ == "__main__":
    main()
