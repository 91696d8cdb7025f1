"""The report of a reproduction: every claim with its verdict, every figure and table.

One record serves two pages: `index.html` beside the figures, and Markdown for documentation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from urllib.parse import quote

import twohot
from twohot._pages import page_templates
from twohot.reproduce.claim import Answer, Claim, ClaimVerdict
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exhibit import Exhibit
from twohot.reproduce.maker import Made, Results
from twohot.reproduce.probe_run import ProbeRun
from twohot.reproduce.reproduction import Reproduction
from twohot.reproduce.table import markdown_cell

PAGES = page_templates("twohot.reproduce")
PAGES.filters["quote"] = quote

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

    def counts(self) -> list[tuple[Answer, int]]:
        """Return how many claims have each answer."""
        answers = [verdict.answer for _, verdict in self.verdicts]
        return [(answer, answers.count(answer)) for answer in Answer]

    def to_html(self) -> str:
        """Return the page; figures are links to the files beside it."""
        return PAGES.get_template("index.html").render(report=self)

    def to_markdown(self, preface: str, folder: str) -> str:
        """Return the sections of the claims as Markdown; figures are SVG files in a folder."""
        parts = [preface, _summary(self)]
        parts += [self._section(claim, verdict, folder) for claim, verdict in self.verdicts]
        parts.append(_exhibits(self))
        return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

    def _section(self, claim: Claim, verdict: ClaimVerdict, folder: str) -> str:
        figures = [
            f"![{title}]({folder}/{quote(stem)}.svg)" for stem, title in self.figures_of(claim)
        ]
        parts = [
            f"## {claim.title}",
            f"> {claim.text}\n>\n> — {claim.place}",
            f"**{self.signs[verdict.answer]} {_sentence(verdict.with_basis)}.** {verdict.evidence}",
            f"*Rule.* {claim.rule}",
            *figures,
            ""
            if verdict.table is None
            else f"{verdict.table.title}:\n\n{verdict.table.to_markdown()}",
            f"*In practice.* {verdict.advice}" if verdict.advice else "",
        ]
        return "\n\n".join(part.strip() for part in parts if part.strip())


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


def _summary(report: Report) -> str:
    lines = ["| claim | place | verdict |", "|---|---|---|"]
    for claim, verdict in report.verdicts:
        sign = report.signs[verdict.answer]
        link = f"[{claim.title}](#{_anchor(claim.title)})"
        cells = (link, claim.place, f"{sign} {verdict.with_basis}")
        lines.append("| " + " | ".join(map(markdown_cell, cells)) + " |")
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _anchor(title: str) -> str:
    """Return what a heading is linked by: what GitHub makes of it."""
    kept = "".join(each for each in title.lower() if each.isalnum() or each in " -_")
    return kept.replace(" ", "-")


def _exhibits(report: Report) -> str:
    lines = [
        "## Every figure and table",
        "",
        "| id | place | runs finished | |",
        "|---|---|---|---|",
    ]
    for each in report.shown:
        runs = f"{each.n_finished} of {each.n_runs}" if each.n_runs else "–"
        why = f"not run: needs {each.missing}" if each.missing else each.title
        lines.append(f"| {each.exhibit.id} | {each.exhibit.place} | {runs} | {why} |")
    return "\n".join(lines)
