"""A reproduction of the paper on the available datasets: its runs, verdicts and report.

An exhibit is a figure or table of the paper. A claim is a statement of the paper, and a verdict
says whether the finished runs confirm the claim.
"""

import importlib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import twohot
from twohot.base import page_templates, whole_file, write_figure
from twohot_paper import Log, Progress, Record, run_plan, unfinished
from twohot_paper.accuracy_claims import AccuracyRule
from twohot_paper.claim import RULES, Answer, Claim, ClaimVerdict, not_testable
from twohot_paper.data_set import DataSet, two_backbones
from twohot_paper.exhibit import RUN_KINDS, Exhibit, Made, Maker, Results, load_makers
from twohot_paper.probe_run import ProbeRun, expected_seconds
from twohot_paper.runs import from_json
from twohot_paper.table import markdown_cell


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The figures and tables to reproduce, their datasets, and the log of their runs."""

    exhibits: Sequence[Exhibit]
    data: Mapping[str, DataSet]  # by the paths of their files
    log: Log
    n_seeds: int | None = None  # number of draws of noisy labels; None: as in the paper

    def missing(self) -> dict[Exhibit, str]:
        """Return the figures and tables whose data is missing, with the missing data as text."""
        lacks = {exhibit: _missing_for(exhibit, self.data) for exhibit in self.exhibits}
        return {exhibit: what for exhibit, what in lacks.items() if what}

    def able(self) -> "Reproduction":
        """Return a reproduction with only the figures and tables whose data is available."""
        missing = self.missing()
        return replace(self, exhibits=[each for each in self.exhibits if each not in missing])

    def runs_of(self, exhibit: Exhibit) -> list[Any]:
        """Return the runs of a figure or table on the available data."""
        return self._maker(exhibit).runs(self._data)

    def core_minutes(self, exhibit: Exhibit, runs: Sequence[Any]) -> float:
        """Return the estimated minutes of a figure or table on one core."""
        data = {each.key: each for each in self._data}
        probes = [run for run in runs if isinstance(run, ProbeRun)]
        if probes:
            return sum(expected_seconds(run, data[run.data]) for run in probes) / 60
        return exhibit.minutes * (1 if exhibit.needs == "nothing" else max(1, len(data)))

    def wanted(self) -> list[Any]:
        """Return the runs of all figures and tables."""
        return [run for exhibit in self.exhibits for run in self.runs_of(exhibit)]

    def unfinished(self) -> list[Any]:
        """Return all runs without a result, without repetition."""
        return unfinished(self.wanted(), self.log)

    def run(
        self,
        plan: Iterable[Any] | None = None,
        *,
        n_jobs: int = 1,
        callback: Callable[[Progress], object] | None = None,
    ) -> list[Record[Any, Any]]:
        """Run the unfinished runs of a plan, by default of all exhibits; return the records."""
        paths = {data.key: path for path, data in self.data.items()}
        measure = partial(measure_run, paths=paths)
        plan = self.wanted() if plan is None else plan
        return run_plan(plan, self.log, measure, n_jobs=n_jobs, callback=callback)

    def results(self) -> Results:
        """Return the results of all finished runs in the log."""
        # Both functions import modules that register kinds of runs.
        load_makers()
        all_claims()
        kinds = {kind.run: kind.result for kind in RUN_KINDS.values()}
        return {record.run: record.result for record in self.log.finished_of_kinds(kinds)}

    def make(self, exhibit: Exhibit, results: Results) -> Made:
        """Return a figure or table of the finished runs, without tables that have no rows."""
        made = self._maker(exhibit).make(results, self._data)
        return replace(made, tables={name: each for name, each in made.tables.items() if each.rows})

    def claims(self) -> list[Claim]:
        """Return the claims whose figures are all included, in the order of the report."""
        shown = {exhibit.id for exhibit in self.exhibits}
        found = [claim for claim in all_claims() if shown.issuperset(claim.exhibits)]
        return sorted(found, key=lambda claim: claim.order)

    def judge(self, results: Results) -> list[tuple[Claim, ClaimVerdict]]:
        """Return the verdicts on the claims; a claim whose data is missing is not testable.

        Only runs of the figures are used, because a log can also contain runs with other seeds.
        """
        shown = {run: results[run] for run in self.wanted() if run in results}
        missing = {exhibit.id: lacks for exhibit, lacks in self.missing().items()}
        verdicts = []
        for claim in self.claims():
            lacks = [missing[name] for name in claim.exhibits if name in missing]
            if lacks:
                verdict = not_testable(f"It needs {lacks[0]}.")
            else:
                verdict = claim.judge(shown, self._data)
            verdicts.append((claim, verdict))
        return verdicts

    @property
    def _data(self) -> list[DataSet]:
        return list(self.data.values())

    def _maker(self, exhibit: Exhibit) -> Maker:
        maker = exhibit.build()
        # Seeds of synthetic figures are for matrices, not for labels.
        draws_labels = exhibit.needs != "nothing" and hasattr(maker, "seeds")
        if self.n_seeds is None or not draws_labels:
            return maker
        fewer: Maker = replace(cast(Any, maker), seeds=tuple(range(self.n_seeds)))
        return fewer


def measure_run(run: Any, paths: Mapping[str, str]) -> Any:
    """Return the result of a run of any kind, also in a new process."""
    load_makers()
    return RUN_KINDS[type(run)].measure(run, paths)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Return all claims of the TOML files, with their rules."""
    for module in ("real_claims", "synthetic_claims"):  # these modules register rules
        importlib.import_module(f"twohot_paper.{module}")
    folder = files("twohot_paper") / "claims"
    texts = [each.read_text("utf-8") for each in folder.iterdir() if each.name.endswith(".toml")]
    return tuple(_claim(**each) for text in texts for each in tomllib.loads(text)["claim"])


def _claim(*, accuracy: Mapping[str, Any] | None = None, **words: Any) -> Claim:
    words["exhibits"] = tuple(words["exhibits"])
    if accuracy is not None:
        checker: AccuracyRule = from_json(AccuracyRule, accuracy)
        return Claim(**words, shared_rule=checker.shared_rule, check=checker.judge)
    return Claim(**words, check=RULES[words["id"]])


def _missing_for(exhibit: Exhibit, data: Mapping[str, DataSet]) -> str:
    """Return the missing data of a figure or table as text; "" if no data is missing."""
    if exhibit.needs == "nothing":
        return ""
    names = {each.paper_name for each in data.values()}
    if exhibit.data_sets and not names.intersection(exhibit.data_sets):
        return exhibit.lacks_words
    if not data:
        return "feature files"
    if exhibit.needs == "two backbones" and not two_backbones(list(data.values())):
        return "two feature files with the same rows, from two backbones"
    return ""


# The report: every claim with its verdict, every figure and table ---------------------------------


PAGES = page_templates("twohot_paper")
PAGES.filters["quote"] = quote
TEXTS = PAGES.overlay(autoescape=False)  # templates of Markdown

# Signs before a verdict, so that readers do not depend on its colour.
SIGNS = {
    Answer.CONFIRMED: "✓",
    Answer.CONDITIONAL: "◐",
    Answer.REFUTED: "✗",
    Answer.NOT_TESTABLE: "?",
}


@dataclass(frozen=True, eq=False)
class Shown:
    """A figure or table in the report, made from its finished runs."""

    exhibit: Exhibit
    made: Made
    n_runs: int
    n_finished: int
    missing: str = ""  # missing data as text; "" if no data is missing

    @property
    def title(self) -> str:
        """The title of the exhibit, and its data and noise if the title does not name them."""
        return ": ".join(filter(None, (self.exhibit.title, self.made.subject)))


@dataclass(frozen=True, eq=False)
class Report:
    """The report of a reproduction: every verdict, figure and table, as HTML or Markdown."""

    verdicts: Sequence[tuple[Claim, ClaimVerdict]]
    shown: Sequence[Shown]
    data_sets: Sequence[str] = ()  # texts with name, rows, features and classes of each dataset
    made_by: str = ""  # the version of twohot, the date, and the seeds of the noisy labels
    signs: dict[Answer, str] = field(default_factory=lambda: SIGNS)

    def figures_of(self, claim: Claim) -> list[tuple[str, str]]:
        """Return the paths (without suffix) and the titles of the figures that show a claim."""
        return [
            (f"{each.exhibit.file_name}/{stem}", each.title)
            for each in self.shown
            if each.exhibit.id in claim.exhibits
            for stem in each.made.figures
        ]

    def chosen(self, *, of_paper: bool) -> list[tuple[Claim, ClaimVerdict]]:
        """Return the verdicts on sentences of the paper, or on additional questions."""
        return [pair for pair in self.verdicts if pair[0].of_paper is of_paper]

    def counts(self) -> list[tuple[Answer, int]]:
        """Return the number of claims with each answer."""
        answers = [verdict.answer for _, verdict in self.verdicts]
        return [(answer, answers.count(answer)) for answer in Answer]

    def to_html(self) -> str:
        """Return the page as HTML; figures are links to files in the same folder."""
        return PAGES.get_template("index.html").render(report=self)

    def to_markdown(self, preface: str, folder: str) -> str:
        """Return the page of verdicts as Markdown, with links to the other pages in a folder."""
        shared = [claim.shared_rule for claim, _ in self.verdicts]
        rule = max(shared, key=len, default="")  # the longest rule includes the other rules
        made = {each.exhibit.file_name for each in self.shown if not each.missing}
        return self._markdown("verdicts.md", preface=preface, folder=folder, rule=rule, made=made)

    def pages(self) -> dict[str, str]:
        """Return a page for every exhibit, by file name.

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
    """Return the report on the finished runs; exhibits whose data is missing are only named."""
    results, able = work.results(), work.able()
    shown = []
    for exhibit in able.exhibits:
        done = [run in results for run in able.runs_of(exhibit)]
        shown.append(Shown(exhibit, able.make(exhibit, results), len(done), sum(done)))
    shown += [Shown(each, Made(), 0, 0, why) for each, why in work.missing().items()]
    described = map(_described, work.data.values())
    return Report(work.judge(results), shown, [*described], _made_by(work, results))


def _made_by(work: Reproduction, results: Results) -> str:
    """Return text with the version of twohot, the date, and the label seeds of finished runs."""
    runs = [run for run in work.wanted() if run in results and isinstance(run, ProbeRun)]
    seeds = sorted({run.seed for run in runs if run.noise_rate})
    drawn = f"; noisy labels drawn with seeds {', '.join(map(str, seeds))}" if seeds else ""
    return f"twohot {twohot.__version__}, {date.today().isoformat()}{drawn}"


def _described(data: DataSet) -> str:
    rows = f"{len(data.X):,} training and {len(data.X_test):,} test rows"
    name = f"{data.name} ({data.paper_name})" if data.paper_name else data.name
    return f"{name}: {rows} of {data.X.shape[1]} features, {data.n_classes} classes"


def heading_anchor(title: str) -> str:
    """Return the anchor of a heading, in the form that GitHub uses."""
    kept = "".join(each for each in title.lower() if each.isalnum() or each in " -_")
    return kept.replace(" ", "-")


TEXTS.filters |= {"cell": markdown_cell, "anchor": heading_anchor}


# Output files: figures as SVG and PNG, tables as CSV and Markdown ---------------------------------


def write_made(folder: Path, made: Made) -> list[Path]:
    """Write figures and tables into a folder, every file atomically; return the paths."""
    if not made.figures and not made.tables:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for stem, figure in made.figures.items():
        for suffix in (".svg", ".png"):
            written.append(folder / f"{stem}{suffix}")
            write_figure(written[-1], figure)
    for stem, table in made.tables.items():
        for suffix, text in ((".csv", table.to_csv()), (".md", table.to_markdown())):
            written.append(write_text(folder / f"{stem}{suffix}", text))
    return written


def write_text(path: Path, text: str) -> Path:
    """Write a text file atomically, with its folder; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return path
