"""Simulate the plan and write the page; finished runs are skipped.

    python -m benchmarks.certificates.run --records FILE [--features DIR] [--output docs/FILE.md]

DIR holds real features as npz files; without it, digits and generated classes are measured.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.audit.data import FILES
from benchmarks.certificates.lists import ListResult, measure_lists
from benchmarks.certificates.plan import (
    ERRING_SET,
    CostRun,
    CoverageRun,
    ErringRun,
    ListRun,
    Run,
    runs,
)
from benchmarks.certificates.report import draw, read, render, render_lines
from benchmarks.certificates.reviews import (
    CostResult,
    CoverageResult,
    ErringResult,
    measure_cost,
    measure_coverage,
    measure_erring,
)
from benchmarks.pages import say, write_page
from twohot.base import write_figure
from twohot_paper import Log, run_plan

MEASURES = {
    ListRun: measure_lists,
    CoverageRun: measure_coverage,
    CostRun: measure_cost,
    ErringRun: measure_erring,
}


def main(given: Sequence[str] | None = None) -> None:
    arguments = parse(given)
    wanted = re.compile(arguments.runs)
    chosen = [
        run
        for run in runs()
        if (arguments.only in (None, run.what))
        and wanted.search(str(run))
        and (arguments.features or data_of(run) not in FILES)
    ]
    if arguments.list:
        print("\n".join(f"{run.what}: {run}" for run in chosen))
        return

    def measure(run: Run) -> ListResult | CoverageResult | CostResult | ErringResult:
        return MEASURES[type(run)](run, arguments.features)

    log = Log(arguments.records)
    run_plan(chosen, log, measure, n_jobs=1, callback=say)
    write_pages(log, arguments.output)


def write_pages(log: Log, output: Path | None) -> None:
    """Write both pages and the figure; without a file for them, print the first one."""
    found = read(log)
    stem = "certificates_benchmark" if output is None else output.stem
    if output is not None:
        write_page(render_lines(found), output.with_name(f"{stem}_lines.md"))
        write_figure(output.parent / "figures" / f"{stem}.png", draw(found))
    write_page(render(found, f"{stem}_lines.md", f"figures/{stem}.png"), output)


def data_of(run: Run) -> str:
    """Return the set that a run needs, "" for none."""
    if isinstance(run, ListRun):
        return run.setting.data
    return {CostRun: getattr(run, "data", ""), ErringRun: ERRING_SET}.get(type(run), "")


def parse(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True, help="file to append to")
    parser.add_argument("--features", type=Path, help="folder with real features")
    parser.add_argument("--output", type=Path, help="page to write; else it is printed")
    kinds = [kind.what for kind in MEASURES]
    parser.add_argument("--only", choices=kinds, help="simulate one table; else all")
    parser.add_argument("--runs", default="", help="regular expression; see --list")
    parser.add_argument("--list", action="store_true", help="print the runs and stop")
    return parser.parse_args(given)


if __name__ == "__main__":
    main()
