"""Train by SGD and exactly, one record per run, and write docs/reproduction/trainers.md.

    python -m benchmarks.sgd.run FEATURES [--jobs 2] [--records-only]

FEATURES is a folder of feature files. Runs with a record are skipped; SGD takes minutes per run and
needs torch (`pip install "twohot[sgd]"`). The exact runs are those of `twohot reproduce`, and all
records are in one file.
"""

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from benchmarks.pages import say
from benchmarks.sgd.claims import CLAIMS
from benchmarks.sgd.comparison import TrainerMaker
from benchmarks.sgd.trainer import SgdResult, SgdRun, measure_sgd
from twohot.base import write_figure
from twohot_paper import Log, run_plan
from twohot_paper.data_set import find_feature_files, read_data_sets
from twohot_paper.exhibit import Exhibit
from twohot_paper.probe_run import ProbeResult, ProbeRun, measure_exactly
from twohot_paper.reproduction import Report, Shown, write_text

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"
EXHIBIT = Exhibit(
    id="trainers",
    title="SGD, epoch by epoch, and the exact optimum",
    place="not in the paper",
    needs="features",
    minutes=30.0,
    maker="trainers",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("features", type=Path, help="folder of feature files")
    parser.add_argument("--records", type=Path, default=PAGES / "runs.jsonl")
    parser.add_argument("--output", type=Path, default=PAGES, help="folder of the page")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--records-only", action="store_true", help="write the page, run nothing")
    given = parser.parse_args()
    files = read_data_sets(find_feature_files(given.features))
    log, data, maker = Log(given.records), list(files.values()), TrainerMaker()
    runs = maker.runs(data)
    if not given.records_only:
        paths = {each.key: path for path, each in files.items()}
        run_plan(runs, log, partial(measure, paths=paths), n_jobs=given.jobs, callback=say)
    kinds = {ProbeRun: ProbeResult, SgdRun: SgdResult}
    results = {each.run: each.result for each in log.finished_of_kinds(kinds)}
    made = maker.make(results, data)
    shown = Shown(EXHIBIT, made, len(runs), sum(run in results for run in runs))
    report = Report([(claim, claim.judge(results, data)) for claim in CLAIMS], [shown])
    for stem, figure in made.figures.items():
        folder = given.output / EXHIBIT.file_name
        folder.mkdir(parents=True, exist_ok=True)
        write_figure(folder / f"{stem}.svg", figure)
    for name, text in report.pages().items():
        write_text(given.output / f"{name}.md", text)


def measure(run: SgdRun | ProbeRun, paths: Mapping[str, str]) -> SgdResult | ProbeResult:
    """Return the result of a run by either trainer."""
    return measure_sgd(run, paths) if isinstance(run, SgdRun) else measure_exactly(run, paths)


if __name__ == "__main__":
    main()
