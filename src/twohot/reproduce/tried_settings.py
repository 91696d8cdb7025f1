"""The settings in which claims about accuracies are tried: those whose runs can tell.

A data set of which there are several files counts once. A setting with a model that did not
converge is left out: what such a model shows is where the solver stopped. Claims about accuracy
leave out noise beyond recovery too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import (
    CORRUPTIONS,
    NOISE_RATES,
    Models,
    ProbeGrid,
    titles,
    unconverged,
)
from twohot.reproduce.probe_run import ProbeRun
from twohot.reproduce.setting_verdict import Setting


@dataclass(frozen=True, eq=False)
class TriedSettings:
    """Settings that have results."""

    draws: dict[Setting, dict[int, Models]] = field(default_factory=dict)  # models by seed
    left_out: dict[Setting, str] = field(default_factory=dict)  # those that cannot tell, and why

    def left_out_words(self, corruptions: Sequence[str] = CORRUPTIONS) -> str:
        """Return which settings are left out and why, in a sentence; nothing if there are none."""
        sentences = []
        for why in dict.fromkeys(self.left_out.values()):
            rates: dict[str, list[str]] = {}
            for place, reason in self.left_out.items():
                if reason == why and place.corruption in corruptions:
                    where = f"{place.data}, {place.corruption} noise"
                    rates.setdefault(where, []).append(f"{place.noise_rate:g}")
            places = [f"{where}, η = {', '.join(each)}" for where, each in rates.items()]
            if places:
                sentences.append(f" Left out, {why}: {'; '.join(places)}.")
        return "".join(sentences)


def settings_of(
    results: Results,
    data: Sequence[DataSet],
    corruptions: Sequence[str] = CORRUPTIONS,
    rates: Sequence[float] = NOISE_RATES[1:],
    *,
    recoverable: bool = True,
    **grid: Any,
) -> TriedSettings:
    """Return every setting that has results, with the models of all its draws by seed.

    `recoverable` leaves out those whose noise is beyond recovery: no method can gain there but by
    chance.
    """
    names = titles(data)
    seeds = tuple(sorted({run.seed for run in results if isinstance(run, ProbeRun)}))
    tried = TriedSettings()
    for each in one_file_each(results, data):
        for corruption in corruptions:
            runs = ProbeGrid(corruption, seeds=seeds, **grid)
            for rate in rates:
                draws = runs.draws_by_seed(results, each, rate)
                setting = Setting(names[each.key], corruption, rate)
                if not draws:
                    continue
                if any(unconverged(models) for models in draws.values()):
                    tried.left_out[setting] = "because a model did not converge"
                elif recoverable and runs.is_lost(each, rate):
                    tried.left_out[setting] = "because the noise is beyond recovery"
                else:
                    tried.draws[setting] = draws
    return tried


def one_file_each(results: Results, data: Sequence[DataSet]) -> list[DataSet]:
    """Return one file of each data set: that with most finished runs, of equals the largest."""
    n_runs = Counter(run.data for run in results if isinstance(run, ProbeRun))
    by_weight = sorted(data, key=lambda each: (n_runs[each.key], len(each.X)))
    chosen = {each.paper_name or each.name: each for each in by_weight}  # the last of a name stays
    return [each for each in data if each in chosen.values()]
