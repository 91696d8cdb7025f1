"""Measure passes, times and memory, one record per run, and write pages from the records.

    python -m benchmarks.solver.run --records FILE [--features DIR] [--output docs/FILE.md]
    python -m benchmarks.solver.run --quick     # a minute, small problems, to standard output

FILE_details.md and figures/FILE.png are written too. Runs with a record are skipped. DIR holds
real features as npz files (see benchmarks/real_features.py).
"""

import argparse
import tempfile
from functools import lru_cache
from pathlib import Path

from benchmarks.pages import say, write_page
from benchmarks.solver import problems
from benchmarks.solver.document import draw, render, render_details
from benchmarks.solver.plan import plan, read_results
from benchmarks.solver.results import Results
from twohot.base import write_figure
from twohot_paper import Log, run_plan


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        log = Log(arguments.records or Path(folder) / "runs.jsonl")
        measure(log, arguments.features, quick=arguments.quick)
        write_pages(read_results(log, quick=arguments.quick), arguments.output)


def write_pages(results: Results, output: Path | None) -> None:
    """Write the first page, the second one and the figure; without a path, print the first."""
    stem = "solver_benchmark" if output is None else output.stem
    page = render(results, f"{stem}_details.md", f"figures/{stem}.png")
    if output is not None:
        write_page(render_details(results), output.with_name(f"{stem}_details.md"))
        write_figure(output.parent / "figures" / f"{stem}.png", draw(results))
    write_page(page, output)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, help="file to append to; else none is kept")
    parser.add_argument("--output", type=Path, help="page to write; else standard output")
    parser.add_argument("--features", type=Path, help="folder with real features")
    parser.add_argument("--quick", action="store_true", help="small problems, to check the code")
    return parser.parse_args()


def measure(log: Log, features: Path | None, *, quick: bool) -> None:
    @lru_cache(maxsize=1)  # runs of one problem follow each other, and one is large enough
    def load(source: problems.Source) -> problems.Problem:
        return problems.load(source, features)

    runs = plan(quick=quick, real=features is not None)
    run_plan(runs, log, lambda run: run.measure(load), callback=say)


if __name__ == "__main__":
    main()
