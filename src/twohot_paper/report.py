"""The report of a reproduction: every claim with its verdict, every figure and table.

One record serves two pages: `index.html` beside the figures, and Markdown for documentation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

import twohot
from twohot.base import page_templates, whole_file, write_figure
from twohot_paper.claim import Answer, Claim, ClaimVerdict
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Exhibit, Made, Results
from twohot_paper.probe_run import ProbeRun
from twohot_paper.reproduction import Reproduction
from twohot_paper.table import markdown_cell

PAGES = page_templates("twohot_paper")
PAGES.filters["quote"] = quote
TEXTS = PAGES.overlay(autoescape=False)  # templates of Markdown

# Signs before a verdict, so that colour is not all that tells.
SIGNS = {
    Answer.CONFIRMED: "✓",
    Answer.CONDITIONAL: "◐",
    Answer.REFUTED: "✗",
    Answer.NOT_TESTABLE: "?",
}


@dataclass(frozen=True, eq=False)
class Shown:
    """A figure or table of the paper, as far as its runs are finished."""

    exhibit: Exhibit
    made: Made
    n_runs: int
    n_finished: int
    missing: str = ""  # what it lacks to be run at all, in words

    @property
    def title(self) -> str:
        """What it shows, and of which data where it may be any."""
        return ": ".join(filter(None, (self.exhibit.title, self.made.subject)))


@dataclass(frozen=True, eq=False)
class Report:
    """All that a reproduction has to say."""

    verdicts: Sequence[tuple[Claim, ClaimVerdict]]
    shown: Sequence[Shown]
    data_sets: Sequence[str] = ()  # their names, rows and classes
    made_by: str = ""  # version, date, and the seeds of the labels
    signs: dict[Answer, str] = field(default_factory=lambda: SIGNS)

    def figures_of(self, claim: Claim) -> list[tuple[str, str]]:
        """Return path, without suffix, and title of the figures that show a claim."""
        return [
            (f"{each.exhibit.file_name}/{stem}", each.title)
            for each in self.shown
            if each.exhibit.id in claim.exhibits
            for stem in each.made.figures
        ]

    def chosen(self, *, of_paper: bool) -> list[tuple[Claim, ClaimVerdict]]:
        """Return the verdicts on sentences of the paper, or those on questions of our own."""
        return [pair for pair in self.verdicts if pair[0].of_paper is of_paper]

    def counts(self) -> list[tuple[Answer, int]]:
        """Return how many claims have each answer."""
        answers = [verdict.answer for _, verdict in self.verdicts]
        return [(answer, answers.count(answer)) for answer in Answer]

    def to_html(self) -> str:
        """Return the page; figures are links to the files beside it."""
        return PAGES.get_template("index.html").render(report=self)

    def to_markdown(self, preface: str, folder: str) -> str:
        """Return the page of verdicts as Markdown, with links to the pages in a folder."""
        shared = [claim.shared_rule for claim, _ in self.verdicts]
        rule = max(shared, key=len, default="")  # the longest, of which the others are parts
        made = {each.exhibit.file_name for each in self.shown if not each.missing}
        return self._markdown("verdicts.md", preface=preface, folder=folder, rule=rule, made=made)

    def pages(self) -> dict[str, str]:
        """Return a page for every exhibit that was made, by the names of their files.

        A claim is on the page of the first exhibit that shows it.
        """
        return {
            each.exhibit.file_name: self._markdown("exhibit.md", shown=each)
            for each in self.shown
            if not each.missing
        }

    def _markdown(self, template: str, **parts: Any) -> str:
        text = TEXTS.get_template(template).render(report=self, **parts)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def show(work: Reproduction) -> Report:
    """Return the report on all that is finished; what lacks its data is in it, and says so."""
    results = work.results()
    able = work.able()
    shown = []
    for exhibit in able.exhibits:
        runs = able.runs_of(exhibit)
        n_finished = sum(run in results for run in runs)
        shown.append(Shown(exhibit, able.make(exhibit, results), len(runs), n_finished))
    shown += [Shown(each, Made(), 0, 0, why) for each, why in work.missing().items()]
    described = [_described(data) for data in work.data.values()]
    return Report(work.judge(results), shown, described, _made_by(work, results))


def _made_by(work: Reproduction, results: Results) -> str:
    """Return version, date, and the seeds of the labels that finished runs drew."""
    runs = (run for run in work.wanted() if run in results)
    seeds = sorted({run.seed for run in runs if isinstance(run, ProbeRun) and run.noise_rate})
    drawn = f"; noisy labels drawn with seeds {', '.join(map(str, seeds))}" if seeds else ""
    return f"twohot {twohot.__version__}, {date.today().isoformat()}{drawn}"


def _described(data: DataSet) -> str:
    rows = f"{len(data.X):,} training and {len(data.X_test):,} test rows"
    name = f"{data.name} ({data.paper_name})" if data.paper_name else data.name
    return f"{name}: {rows} of {data.X.shape[1]} features, {data.n_classes} classes"


def heading_anchor(title: str) -> str:
    """Return what a heading is linked by: what GitHub makes of it."""
    kept = "".join(each for each in title.lower() if each.isalnum() or each in " -_")
    return kept.replace(" ", "-")


TEXTS.filters |= {"cell": markdown_cell, "anchor": heading_anchor}


# What a reproduction writes: figures as SVG and PNG, tables as CSV, Markdown and LaTeX ------------


def write_made(folder: Path, made: Made) -> list[Path]:
    """Write figures and tables into a folder, each file whole or not at all; return the paths."""
    if not made.figures and not made.tables:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for stem, figure in made.figures.items():
        for suffix in (".svg", ".png"):
            written.append(folder / f"{stem}{suffix}")
            write_figure(written[-1], figure)
    for stem, table in made.tables.items():
        texts = {".csv": table.to_csv(), ".md": table.to_markdown(), ".tex": table.to_latex()}
        for suffix, text in texts.items():
            written.append(write_text(folder / f"{stem}{suffix}", text))
    return written


def write_text(path: Path, text: str) -> Path:
    """Write a text as a whole file, its folder made if need be; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return path
