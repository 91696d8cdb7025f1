"""The settings in which claims about accuracies are tried: those whose runs can tell.

A data set of which there are several files counts once.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import CORRUPTIONS, NOISE_RATES, Models, ProbeGrid, titles
from twohot.reproduce.probe_run import ProbeRun
from twohot.reproduce.setting_verdict import Setting


def settings_of(
    results: Results,
    data: Sequence[DataSet],
    corruptions: Sequence[str] = CORRUPTIONS,
    rates: Sequence[float] = NOISE_RATES[1:],
    **grid: Any,
) -> Iterator[tuple[Setting, dict[int, Models]]]:
    """Yield every setting that has results, with the models of all its draws by seed."""
    names = titles(data)
    seeds = tuple(sorted({run.seed for run in results if isinstance(run, ProbeRun)}))
    for each in one_file_each(results, data):
        for corruption in corruptions:
            runs = ProbeGrid(corruption, seeds=seeds, **grid)
            for rate in rates:
                draws = runs.draws_by_seed(results, each, rate)
                if draws:
                    yield Setting(names[each.key], corruption, rate), draws


def one_file_each(results: Results, data: Sequence[DataSet]) -> list[DataSet]:
    """Return one file of each data set: that with most finished runs, of equals the largest."""
    n_runs = Counter(run.data for run in results if isinstance(run, ProbeRun))
    by_weight = sorted(data, key=lambda each: (n_runs[each.key], len(each.X)))
    chosen = {each.paper_name or each.name: each for each in by_weight}  # the last of a name stays
    return [each for each in data if each in chosen.values()]
