"""Figures, tables and claims on the data sets at hand: their runs, and what the results show."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, cast

from twohot_paper import Log, Progress, Record, run_plan, unfinished
from twohot_paper.accuracy_claims import AccuracyRule
from twohot_paper.claim import RULES, Claim, ClaimVerdict, not_testable
from twohot_paper.data_set import DataSet, two_backbones
from twohot_paper.exhibit import (
    RUN_KINDS,
    Exhibit,
    Made,
    Maker,
    Results,
    import_modules,
    load_makers,
)
from twohot_paper.probe_run import ProbeRun, expected_seconds
from twohot_paper.runs import from_json

# Modules of rules, which register themselves.
RULES_IN = ("real_claims", "synthetic_claims")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Some figures and tables of the paper, on some data sets, with the log of their runs."""

    exhibits: Sequence[Exhibit]
    data: Mapping[str, DataSet]  # by the paths of their files
    log: Log
    n_seeds: int | None = None  # draws of noisy labels; None: as many as the paper has

    def missing(self) -> dict[Exhibit, str]:
        """Return the figures and tables that cannot be run, with what they lack in words."""
        lacks = {exhibit: _missing_for(exhibit, self.data) for exhibit in self.exhibits}
        return {exhibit: what for exhibit, what in lacks.items() if what}

    def able(self) -> "Reproduction":
        """Return the part that has all it needs."""
        missing = self.missing()
        return replace(self, exhibits=[each for each in self.exhibits if each not in missing])

    def runs_of(self, exhibit: Exhibit) -> list[Any]:
        """Return the runs of a figure or table on the data at hand."""
        return self._maker(exhibit).runs(self._data)

    def core_minutes(self, exhibit: Exhibit, runs: Sequence[Any]) -> float:
        """Return what a figure or table takes on one core, roughly, by the runs that it has."""
        data = {each.key: each for each in self._data}
        probes = [run for run in runs if isinstance(run, ProbeRun)]
        if probes:
            return sum(expected_seconds(run, data[run.data]) for run in probes) / 60
        return exhibit.minutes * (1 if exhibit.needs == "nothing" else max(1, len(data)))

    def wanted(self) -> list[Any]:
        """Return the runs of all figures, tables and claims."""
        wanted = [run for exhibit in self.exhibits for run in self.runs_of(exhibit)]
        return wanted + [run for claim in self.able().claims() for run in claim.runs(self._data)]

    def unfinished(self) -> list[Any]:
        """Return all runs that have no result yet, each once."""
        return unfinished(self.wanted(), self.log)

    def run(
        self, *, n_jobs: int = 1, callback: Callable[[Progress], object] | None = None
    ) -> list[Record[Any, Any]]:
        """Do what is unfinished, and return the records of it."""
        return self.run_these(self.unfinished(), n_jobs=n_jobs, callback=callback)

    def run_these(
        self,
        plan: Iterable[Any],
        *,
        n_jobs: int = 1,
        callback: Callable[[Progress], object] | None = None,
    ) -> list[Record[Any, Any]]:
        """Do those of some runs that are unfinished, and return the records of them."""
        paths = {data.key: path for path, data in self.data.items()}
        return run_plan(
            plan,
            self.log,
            partial(measure_run, paths=paths),
            n_jobs=n_jobs,
            callback=callback,
        )

    def results(self) -> Results:
        """Return the results of all finished runs in the log."""
        # Both register the kinds of runs that they need.
        load_makers()
        all_claims()
        kinds = {kind.run: kind.result for kind in RUN_KINDS.values()}
        return {record.run: record.result for record in self.log.finished_of_kinds(kinds)}

    def make(self, exhibit: Exhibit, results: Results) -> Made:
        """Return a figure or table, of the runs that are finished; tables without rows are none."""
        made = self._maker(exhibit).make(results, self._data)
        return replace(made, tables={name: each for name, each in made.tables.items() if each.rows})

    def claims(self) -> list[Claim]:
        """Return the claims all of whose figures are among these, in the order of the report."""
        shown = {exhibit.id for exhibit in self.exhibits}
        found = [claim for claim in all_claims() if shown.issuperset(claim.exhibits)]
        return sorted(found, key=lambda claim: claim.order)

    def judge(self, results: Results) -> list[tuple[Claim, ClaimVerdict]]:
        """Return the verdicts on the claims; those whose figures lack their data are open.

        They are judged by the runs that are shown: a log may hold other draws of the labels.
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
        # Synthetic figures draw no labels: their seeds are those of the matrices.
        draws_labels = exhibit.needs != "nothing" and hasattr(maker, "seeds")
        if self.n_seeds is None or not draws_labels:
            return maker
        fewer: Maker = replace(cast(Any, maker), seeds=tuple(range(self.n_seeds)))
        return fewer


def measure_run(run: Any, paths: Mapping[str, str]) -> Any:
    """Return the result of a run of any kind, also in a process that has read nothing yet."""
    load_makers()
    return RUN_KINDS[type(run)].measure(run, paths)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Return every claim of the TOML files, each with its rule."""
    import_modules(RULES_IN)
    folder = files("twohot_paper") / "claims"
    texts = [each.read_text("utf-8") for each in folder.iterdir() if each.name.endswith(".toml")]
    return tuple(_claim(**each) for text in texts for each in tomllib.loads(text)["claim"])


def _claim(*, accuracy: Mapping[str, Any] | None = None, **words: Any) -> Claim:
    words["exhibits"] = tuple(words["exhibits"])
    if accuracy is not None:
        checker: AccuracyRule = from_json(AccuracyRule, accuracy)
        return Claim(**words, shared_rule=checker.shared_rule, check=checker.judge)
    judge, runs = RULES[words["id"]]
    return Claim(**words, check=judge, runs=runs)


def _missing_for(exhibit: Exhibit, data: Mapping[str, DataSet]) -> str:
    """Return what a figure or table lacks to be run, in words; nothing if it can be run."""
    if exhibit.needs == "nothing":
        return ""
    names = {each.paper_name for each in data.values()}
    if exhibit.data_sets and not names.intersection(exhibit.data_sets):
        return exhibit.lacks_words
    if not data:
        return "feature files"
    if exhibit.needs == "two backbones" and not two_backbones(list(data.values())):
        return "two feature files of the same rows, of two backbones"
    return ""
