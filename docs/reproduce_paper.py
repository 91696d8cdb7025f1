"""Write docs/reproduction.md from the records: python docs/reproduce_paper.py FEATURES [--run]."""

import argparse
from pathlib import Path

from twohot.experiment import Log
from twohot.figures.file import write_figure
from twohot.reproduce.exhibit import choose_exhibits
from twohot.reproduce.feature_files import find_feature_files, read_data_sets
from twohot.reproduce.output import write_text
from twohot.reproduce.report import show
from twohot.reproduce.reproduction import Reproduction

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "reproduction" / "runs.jsonl"


def main() -> None:
    """Draw every figure and write the page; with --run, do what is unfinished first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("features", type=Path)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    wanted = parser.parse_args()
    data = read_data_sets(find_feature_files(wanted.features))
    work = Reproduction(choose_exhibits(["all"]), data, Log(RECORDS))
    if wanted.run:
        work.run(n_jobs=wanted.jobs)
    report = show(work)
    for shown in report.shown:
        folder = RECORDS.parent / shown.exhibit.file_name
        for stem, figure in shown.made.figures.items():
            folder.mkdir(exist_ok=True)
            write_figure(folder / f"{stem}.svg", figure)
    preface = (RECORDS.parent / "preface.md").read_text("utf-8")
    write_text(FOLDER / "reproduction.md", report.to_markdown(preface, folder="reproduction"))


if __name__ == "__main__":
    main()
