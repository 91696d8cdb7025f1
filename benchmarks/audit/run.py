"""Measure the plan and write the pages; finished runs are skipped.

    python -m benchmarks.audit.run --records FILE [--features DIR] [--output docs/FILE.md]

DIR holds real features as npz files; without it, digits and generated classes are measured.
"""

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.audit.data import FILES, draw_task
from benchmarks.audit.ours import OurResult, measure_ours
from benchmarks.audit.peers import PeerResult, measure_peers
from benchmarks.audit.plan import KINDS, SETS, OurRun, PeerRun, Run, Setting, settings
from benchmarks.audit.report import compare, draw, render, render_settings
from benchmarks.pages import say, write_page
from twohot.base import write_figure
from twohot_paper import Log, run_plan

MEASURES = {PeerRun: measure_peers, OurRun: measure_ours}
PACKAGES = ("twohot", "numpy", "scipy", "scikit-learn", "cleanlab")


def main(given: Sequence[str] | None = None) -> None:
    arguments = parse(given)
    runs = plan(select(settings(), arguments), arguments)
    if arguments.list:
        print("\n".join(map(str, runs)))
        return

    def measure(run: Run) -> PeerResult | OurResult:
        task = draw_task(run.setting, run.draw, arguments.features)
        return MEASURES[type(run)](task)

    log = Log(arguments.records)
    run_plan(runs, log, measure, n_jobs=arguments.jobs, packages=PACKAGES, callback=say)
    write_pages(arguments)


def parse(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True, help="file to append to")
    parser.add_argument("--features", type=Path, help="folder with real features")
    parser.add_argument(
        "--output", type=Path, help="page to write; its settings go to FILE_settings.md"
    )
    parser.add_argument("--peers", type=Path, help="file with records of peers; else --records")
    parser.add_argument("--only", choices=KINDS, help="measure these; else both")
    parser.add_argument("--settings", default="", help="regular expression; see --list")
    parser.add_argument("--draws", type=int, help="at most so many draws of a setting")
    parser.add_argument("--all-rows", action="store_true", help="all rows where 3,000 are planned")
    parser.add_argument("--jobs", type=int, default=1, help="processes that work at once")
    parser.add_argument("--list", action="store_true", help="print the runs and stop")
    return parser.parse_args(given)


def select(planned: Iterable[Setting], arguments: argparse.Namespace) -> list[Setting]:
    """Return the settings that are asked for and whose rows are at hand."""
    if arguments.all_rows:
        planned = [replace(each, shape="all") for each in planned if each.shape == "3000"]
    stored = [name for name, known in SETS.items() if (known.drawn_from or name) in FILES]
    wanted = re.compile(arguments.settings)
    return [
        each
        for each in planned
        if wanted.search(str(each)) and (arguments.features or each.data not in stored)
    ]


def plan(chosen: Iterable[Setting], arguments: argparse.Namespace) -> list[Run]:
    """Return the runs of some settings; peers and ours of a draw follow each other."""
    kinds = [KINDS[arguments.only]] if arguments.only else KINDS.values()
    return [
        kind(setting, draw)
        for setting in chosen
        for draw in range(min(setting.n_draws, arguments.draws or setting.n_draws))
        for kind in kinds
    ]


def write_pages(arguments: argparse.Namespace) -> None:
    """Write both pages and the figure; without a file for them, print the first one."""
    peers, output = arguments.peers or arguments.records, arguments.output
    rows = compare(peers, arguments.records)
    stem = "audit_benchmark" if output is None else output.stem
    page = render(rows, f"{stem}_settings.md", f"figures/{stem}.png")
    if output is not None:
        write_page(render_settings(rows), output.with_name(f"{stem}_settings.md"))
        write_figure(output.parent / "figures" / f"{stem}.png", draw(rows))
    if rows or output is not None:
        write_page(page, output)


if __name__ == "__main__":
    main()
