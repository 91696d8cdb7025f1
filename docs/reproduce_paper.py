"""Write docs/reproduction.md and its pages: python docs/reproduce_paper.py FEATURES [--run]."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from twohot.base.pictures import write_figure
from twohot_paper import Log, Progress
from twohot_paper.claim import NOT_IN_PAPER
from twohot_paper.data_set import STRENGTHS, DataSet, find_feature_files, read_data_sets
from twohot_paper.exhibit import choose_exhibits
from twohot_paper.grid import ProbeGrid, convergence, titles
from twohot_paper.probe_run import ProbeRun
from twohot_paper.reproduction import Report, Reproduction, heading_anchor, show, write_text

FOLDER = Path(__file__).parent
RECORDS = FOLDER / "reproduction" / "runs.jsonl"

# Datasets with three draws of labels in every grid; the others have three inside superclasses at
# the base penalty, and one elsewhere.
THOROUGH = ("Flowers-102", "Caltech-101")
# In the name of a file with all rows: a part of its superclass grid alone is run, once.
WHOLE, WHOLE_RATES = "full", (0.3, 0.5, 0.7, 0.9)
# What needs features and takes minutes.
SMALL = ("fig:ft_corr", "fig:real_evolution")
ABLATION_RATES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)

# What stands before the last part of the page: verdicts of pages that others write.
LAST_PART = "## Every figure and table"
TESTED = """## Theorems, and training by SGD

Tests compare the theorems with exact solves. `python -m benchmarks.sgd.run` compares SGD with them.
"""


def planned(data: Sequence[DataSet]) -> Iterator[Any]:
    """Yield the runs on real features that the page is made of, the most wanted first."""
    some = [each for each in data if WHOLE not in each.name]
    thorough = [each for each in some if each.paper_name in THOROUGH]
    flowers = [each for each in some if each.paper_name == THOROUGH[0]]
    once, again = (0,), (1, 2)
    grids = [("superclass", "base"), ("symmetric", "base"), ("asymmetric", "base")]
    penalties = [("superclass", "small"), ("superclass", "big")]
    for grid in grids:
        yield from ProbeGrid(*grid, seeds=once).runs(some)
    yield from ProbeGrid(families=("candidates",), seeds=once).runs(some)
    for family in ("losses", "tuned teacher"):
        ablation = ProbeGrid(families=(family,), noise_rates=ABLATION_RATES, seeds=once)
        yield from ablation.runs(some)
    yield from ProbeGrid(noise_rates=ABLATION_RATES, seeds=once, prepared=True).runs(some)
    for grid in penalties:
        yield from ProbeGrid(*grid, seeds=once).runs(some)
    yield from ProbeGrid(seeds=again).runs(some)
    for grid in [*grids[1:], *penalties]:
        yield from ProbeGrid(*grid, seeds=again).runs(thorough)
    yield from ProbeGrid(families=("candidates",), seeds=again).runs(flowers)
    for strength in ("small", "big"):
        for corruption in ("symmetric", "asymmetric"):
            yield from ProbeGrid(corruption, strength, seeds=once).runs(some)
    whole = [each for each in data if WHOLE in each.name]
    yield from ProbeGrid(noise_rates=WHOLE_RATES, seeds=once).runs(whole)


def in_words(runs: Sequence[ProbeRun], data: Sequence[DataSet]) -> str:
    """Return which datasets lack runs of which kind of noise and penalty, in words."""
    names, by_key = titles(data), {each.key: each for each in data}
    lacking: dict[str, list[str]] = {}
    for run in runs:
        strengths = (each for each in STRENGTHS if by_key[run.data].l2(each) == run.l2)
        kind = f"{run.corruption} noise at the {next(strengths, 'equivalent')} penalty"
        lacking.setdefault(kind, []).append(names[run.data])
    return "; ".join(f"{kind} of {', '.join(dict.fromkeys(of))}" for kind, of in lacking.items())


def verdicts_of(name: str) -> list[str]:
    """Return a row for each verdict of a page that has no runs of its own."""
    page = (RECORDS.parent / f"{name}.md").read_text("utf-8")
    found = re.findall(
        r"^## (.+)\n\n> (.+)\n>\n> — (.+)\n\n\*\*(\S) (.+?)\.\*\*", page, re.MULTILINE
    )
    rows = []
    for title, sentence, place, sign, answer in found:
        text = sentence if place != NOT_IN_PAPER else title
        link = f"[{text}](reproduction/{name}.md#{heading_anchor(title)})"
        rows.append(f"| {link} ({place}) | {sign} {answer} |")
    return rows


def summary_of(report: Report) -> str:
    """Return how many claims of the paper have which verdict, as a table."""
    counts = Counter(verdict.answer for _, verdict in report.chosen(of_paper=True))
    rows = [
        f"| {sign} {answer.replace('when', 'when a condition holds')} | {counts[answer]} |"
        for answer, sign in report.signs.items()
    ]
    return "\n".join(["| verdict | claims of the paper |", "|---|---|", *rows])


def tell(progress: Progress) -> None:
    """Say which run has ended, and how."""
    record = progress.record
    ended = record.error or "done"
    sys.stderr.write(f"{progress.n_done} of {progress.n_runs}: {record.run}: {ended}\n")


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
        synthetic = Reproduction(choose_exhibits(["synthetic", *SMALL]), data, work.log)
        synthetic.run(n_jobs=wanted.jobs, callback=tell)
        work.run(planned(list(data.values())), n_jobs=wanted.jobs, callback=tell)
    report = show(work)
    for shown in report.shown:
        folder = RECORDS.parent / shown.exhibit.file_name
        for stem, figure in shown.made.figures.items():
            folder.mkdir(exist_ok=True)
            write_figure(folder / f"{stem}.svg", figure)
    preface = (RECORDS.parent / "preface.md").read_text("utf-8")
    plan, results = list(dict.fromkeys(planned(list(data.values())))), work.results()
    unfinished = [run for run in plan if run not in results]
    # The page says how many models are solved, not that all are.
    solved = convergence(results[run] for run in plan if run in results)
    preface = preface.replace("{summary}", summary_of(report))
    preface = preface.replace("{converged}", solved)
    if unfinished:
        counts = f"{len(plan) - len(unfinished)} of the {len(plan)} runs planned on real features"
        preface += f"* **Unfinished runs.** {counts} are finished. Verdicts use only these. Not"
        preface += f" finished: {in_words(unfinished, list(data.values()))}.\n"
    page = report.to_markdown(preface, folder="reproduction")
    rows = [row for name in ("theorems", "trainers") for row in verdicts_of(name)]
    others = "\n".join([TESTED, "| sentence | verdict |", "|---|---|", *rows])
    write_text(FOLDER / "reproduction.md", page.replace(LAST_PART, f"{others}\n\n{LAST_PART}"))
    for name, text in report.pages().items():
        write_text(RECORDS.parent / f"{name}.md", text)


if __name__ == "__main__":
    main()
