"""The settings in which claims about accuracies are tried, and the one rule for all of them.

A claim is confirmed if its statement holds in nine of ten settings: a data set, a kind of noise and
a noise rate. Otherwise it is confirmed only under the widest of these conditions under which the
statement does, if that covers 15 % of the settings: a range of noise rates; all kinds of noise, or
all data sets, in each of which it holds in nine of ten settings, of three or more. Of conditions
that cover equally many settings, all are named.

A data set of which there are several files counts once. A setting with a model that did not
converge is left out: what such a model shows is where the solver stopped. Claims about accuracy
leave out noise beyond recovery too.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

from twohot.base import counted
from twohot_paper.claim import Answer, ClaimVerdict, not_testable
from twohot_paper.data_set import DataSet
from twohot_paper.grid import CORRUPTIONS, NOISE_RATES, Models, ProbeGrid, titles, unconverged
from twohot_paper.maker import Results
from twohot_paper.probe_run import MOST_LOST, ProbeRun
from twohot_paper.table import Mean, Table

# Share of the settings in which a statement must hold, and share that a condition must cover.
NEARLY_ALL = 0.9
COVERED = 0.15
FEWEST_COVERED = 3  # settings: a condition that one or two of them make may be chance
FEWEST = 4  # settings that a verdict takes

ONE_FILE = "Of several files of one data set, the one with most finished runs counts."
CONVERGED_ONLY = "Settings with a model that did not converge are left out."
RECOVERABLE_ONLY = (
    "Settings with noise beyond recovery are left out too: those in which the true label is not the"
    f" most frequent one of its class for more than {MOST_LOST:.0%} of the training rows"
    " (symmetric noise of K classes beyond 1 − 1/K, superclass noise among s classes beyond"
    " 1 − 1/s)."
)
SETTINGS_RULE = (
    f"Confirmed if this holds in at least {NEARLY_ALL:.0%} of the settings (data set, kind of"
    " noise, rate; means over seeds). Confirmed only under the widest condition under which it"
    " does: a range of noise rates, or all kinds of noise or data sets in each of which it does;"
    f" if that covers {COVERED:.0%} of the settings, and each kind or data set {FEWEST_COVERED}."
    f" Else not confirmed. {ONE_FILE} {CONVERGED_ONLY}"
)
RULE = f"{SETTINGS_RULE} A verdict takes at least {FEWEST} settings."


@dataclass(frozen=True)
class Setting:
    """Where a statement is tried."""

    data: str  # what to call the data set
    corruption: str
    noise_rate: float


@dataclass(frozen=True)
class JudgedSetting:
    """Whether a statement holds in a setting, and the number that says so."""

    setting: Setting
    value: Mean | None
    holds: bool


def judge_settings(
    judged: Sequence[JudgedSetting],
    title: str,
    *,
    fewest: int = FEWEST,
    left_out: str = "",
) -> ClaimVerdict:
    """Return the verdict by the rule above; the table shows the number of every setting.

    `left_out` is what to say of settings that are not judged.

    Examples
    --------
    >>> judged = [JudgedSetting(Setting("pets", "symmetric", rate), None, rate > 0.4)
    ...           for rate in (0.1, 0.3, 0.5, 0.6, 0.8)]
    >>> print(judge_settings(judged, "Gain"))
    confirmed only when the noise rate is at least 0.5
    """
    if len(judged) < fewest:
        finished = f"{len(judged)} of the settings that it needs are finished"
        return not_testable(f"{finished}, and a verdict takes at least {fewest}.{left_out}")
    held = sum(each.holds for each in judged)
    evidence = f"It holds in {held} of {len(judged)} settings.{left_out}"
    shown = partial(ClaimVerdict, table=_table(judged, title), basis=_basis(judged))
    if held >= NEARLY_ALL * len(judged):
        return shown(Answer.CONFIRMED, evidence)
    evidence += _counts_by_group(judged)
    found = _widest(judged)
    if not found:
        return shown(Answer.REFUTED, evidence)
    inside = "".join(f" Where {words}: {_counts(judged, covered)}." for words, covered in found)
    return shown(Answer.CONDITIONAL, evidence + inside, ", or when ".join(w for w, _ in found))


def _counts(judged: Sequence[JudgedSetting], covered: Sequence[JudgedSetting]) -> str:
    """Return in how many of the covered settings it holds, and in how many of the others."""
    others = [each for each in judged if each not in covered]
    inside, outside = (
        f"{sum(each.holds for each in part)} of {len(part)}" for part in (covered, others)
    )
    return f"{inside}, elsewhere {outside}"


def _counts_by_group(judged: Sequence[JudgedSetting]) -> str:
    """Return in how many settings it holds by data set, kind of noise and rate, in sentences."""
    sentences = []
    for words, key in (
        ("data set", "data"),
        ("kind of noise", "corruption"),
        ("noise rate", "noise_rate"),
    ):
        groups: dict[Any, list[bool]] = {}
        for each in judged:
            groups.setdefault(getattr(each.setting, key), []).append(each.holds)
        if len(groups) > 1:
            counts = [f"{name} {sum(held)} of {len(held)}" for name, held in sorted(groups.items())]
            sentences.append(f" By {words}: {', '.join(counts)}.")
    return "".join(sentences)


def _basis(judged: Sequence[JudgedSetting]) -> str:
    """Return in how many settings a statement holds, and of how many draws they are."""
    kinds = sorted({each.setting.corruption for each in judged})
    every = len(kinds) == len(CORRUPTIONS)
    noises = "all noises" if every else f"{_listed(kinds, 'and')} noise"
    held = f"{noises}: {sum(each.holds for each in judged)} of {counted(len(judged), 'setting')}"
    draws = {each.value.n for each in judged if each.value is not None}
    if not draws:
        return held
    fewest = f"{min(draws)} to " if len(draws) > 1 else ""
    return f"{held}, {fewest}{counted(max(draws), 'draw')}"


def _widest(judged: Sequence[JudgedSetting]) -> list[tuple[str, list[JudgedSetting]]]:
    """Return the conditions that cover most, and the settings that each covers."""
    fewest = max(COVERED * len(judged), FEWEST_COVERED)
    found = [
        (words, covered)
        for words, covered in _conditions(judged)
        if len(covered) >= fewest and _nearly_all_hold(covered)
    ]
    most = max((len(covered) for _, covered in found), default=0)
    widest = {tuple(map(id, covered)): (words, covered) for words, covered in reversed(found)}
    return [pair for pair in reversed(widest.values()) if len(pair[1]) == most]


def _nearly_all_hold(judged: Sequence[JudgedSetting]) -> bool:
    return sum(each.holds for each in judged) >= NEARLY_ALL * len(judged)


def _conditions(judged: Sequence[JudgedSetting]) -> Iterator[tuple[str, list[JudgedSetting]]]:
    """Yield every condition in words, with the settings that it covers."""
    rates = sorted({each.setting.noise_rate for each in judged})
    for low, high in combinations_with_replacement(rates, 2):
        covered = [each for each in judged if low <= each.setting.noise_rate <= high]
        yield f"the noise rate is {_range_words(low, high, rates)}", covered
    for words, key in (("noise is", "corruption"), ("the data set is", "data")):
        groups: dict[str, list[JudgedSetting]] = {}
        for each in judged:
            groups.setdefault(getattr(each.setting, key), []).append(each)
        held = {
            name: group
            for name, group in sorted(groups.items())
            if len(group) >= FEWEST_COVERED and _nearly_all_hold(group)
        }
        covered = [each for each in judged if getattr(each.setting, key) in held]
        yield f"{words} {_listed(list(held), 'or')}", covered


def _range_words(low: float, high: float, rates: Sequence[float]) -> str:
    if high == rates[-1]:
        return f"at least {low:g}"
    return f"at most {high:g}" if low == rates[0] else f"{low:g} to {high:g}"


def _listed(names: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _table(judged: Sequence[JudgedSetting], title: str) -> Table:
    rates = sorted({each.setting.noise_rate for each in judged})
    lines = dict.fromkeys((each.setting.data, each.setting.corruption) for each in judged)
    values = {each.setting: each.value for each in judged}
    rows = [
        (data, kind, *(values.get(Setting(data, kind, rate)) for rate in rates))
        for data, kind in lines
    ]
    return Table(title, ("data set", "noise", *(f"η = {rate:g}" for rate in rates)), tuple(rows))


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
