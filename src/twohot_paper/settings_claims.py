"""Claims about accuracies: a statement about the models of a setting, judged in all settings."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from operator import attrgetter
from typing import Any, TypeAlias

from twohot.base import counted
from twohot_paper.claim import Answer, Claim, ClaimVerdict, not_testable
from twohot_paper.data_set import DataSet
from twohot_paper.grid import CORRUPTIONS, NOISE_RATES, Models, ProbeGrid, titles, unconverged
from twohot_paper.maker import Results
from twohot_paper.probe_run import MOST_LOST, FittedModel, ProbeRun
from twohot_paper.table import Mean, Table, mean_of

# The one rule of all claims about accuracies: in which settings they hold, and when in nearly all
# A setting is a data set, a kind of noise and a noise rate. A claim is confirmed if its statement
# holds in nine of ten settings. Otherwise it is confirmed only under the widest of these
# conditions under which the statement does, if that covers 15 % of the settings: a range of noise
# rates; all kinds of noise, or all data sets, in each of which it holds in nine of ten settings,
# of three or more. Of conditions that cover equally many settings, all are named.


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
    advice: str = "",
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
    shown = partial(ClaimVerdict, table=_table(judged, title), advice=advice, basis=_basis(judged))
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
    noises = "all noises" if every else f"{_listed_settings(kinds, 'and')} noise"
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
        yield f"{words} {_listed_settings(list(held), 'or')}", covered


def _range_words(low: float, high: float, rates: Sequence[float]) -> str:
    if high == rates[-1]:
        return f"at least {low:g}"
    return f"at most {high:g}" if low == rates[0] else f"{low:g} to {high:g}"


def _listed_settings(names: Sequence[str], last: str) -> str:
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


# The settings in which claims about accuracies are tried: those whose runs can tell ---------------
# A data set of which there are several files counts once. A setting with a model that did not
# converge is left out: what such a model shows is where the solver stopped. Claims about accuracy
# leave out noise beyond recovery too.


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


# Points of accuracy that count as a difference: five images of a thousand, and more than a
# tolerance of a tenth would move.
MARGIN = 0.5

# The words of rules, as the statement `ahead` applies its margin.
CLEARLY_AHEAD = f"more than {MARGIN:g} points ahead of"
NOT_CLEARLY_BEHIND = f"less than {MARGIN:g} points behind"

Judged: TypeAlias = tuple[Mean | None, bool]  # the number to show, and whether the statement holds
Statement: TypeAlias = Callable[[list[Models]], Judged | None]  # of the draws of one setting

test_accuracy: Callable[[FittedModel], float] = attrgetter("test_accuracy")


def settings_claim(
    *,
    statement: Statement,
    value: str,
    advice: str = "",
    rates: Sequence[float] = NOISE_RATES[1:],
    corruptions: Sequence[str] = CORRUPTIONS,
    needed: Sequence[str] | None = None,
    claim: dict[str, Any],
    recoverable: bool = True,
    **grid: Any,
) -> Claim:
    """Return the claim that a statement about the draws of a setting holds in nearly all of them.

    Parameters
    ----------
    statement : callable
        Of the models of every draw; None where they do not tell.
    value : str
        What the number is that it returns: the title of the table.
    advice : str
        What a practitioner should do.
    rates, corruptions
        What the claim is about.
    needed : sequence of str, optional
        Of several corruptions those that must have settings; by default all. That others have
        none is said.
    claim : dict
        Other fields of `Claim`; its rule is what must hold in a setting, and the rule of settings
        is added.
    recoverable : bool
        Whether noise beyond recovery is left out, as for all claims about accuracy.
    **grid
        Other fields of `ProbeGrid`; draws are all that have results.
    """

    def judge(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        tried = settings_of(results, data, corruptions, rates, recoverable=recoverable, **grid)
        kinds = {setting.corruption for setting in tried.draws}
        without = [kind for kind in corruptions if kind not in kinds]
        lacks = f"there is no setting of {_listed(without)} noise" if without else ""
        if len(corruptions) > 1 and not kinds.issuperset(must_have):
            about = f"It is about {_listed(corruptions)} noise"
            return not_testable(f"{about}, and {lacks}.{tried.left_out_words(without)}")
        outcomes = {setting: statement([*draws.values()]) for setting, draws in tried.draws.items()}
        found = [JudgedSetting(place, *each) for place, each in outcomes.items() if each]
        absent = f" {lacks.capitalize()}." if lacks else ""
        left_out = absent + tried.left_out_words(corruptions)
        return judge_settings(found, value, advice, left_out=left_out)

    must_have = corruptions if needed is None else needed
    rule = claim["rule"]
    if needed is not None:
        others = [kind for kind in corruptions if kind not in needed]
        rule += f" Settings of {_listed(others)} noise count where there are any."
    shared = RULE + f" {RECOVERABLE_ONLY}" * recoverable
    return Claim(**claim | {"rule": rule, "shared_rule": shared, "judge": judge})


def ahead(
    betters: Sequence[str],
    rivals: Sequence[str],
    *,
    score: Callable[[FittedModel], float] = test_accuracy,
    margin: float = MARGIN,
) -> Statement:
    """Return the statement that the best of some models is ahead of the best of others, in points.

    Examples
    --------
    >>> draws = [{"a": 0.75, "b": 0.5}, {"a": 0.75, "b": 0.75}]  # models that are their own scores
    >>> ahead(["a"], ["b"], score=float)(draws)
    (Mean(mean=12.5, std=12.5, n=2), True)
    """

    def statement(draws: list[Models]) -> Judged | None:
        whole = [draw for draw in draws if draw.keys() >= {*betters, *rivals}]
        lead = mean_of(leads_of_best(whole, betters, rivals, score), factor=100)
        return None if lead is None else (lead, lead.mean > margin)

    return statement


def leads_of_best(
    draws: Sequence[Models],
    betters: Sequence[str],
    rivals: Sequence[str],
    score: Callable[[FittedModel], float] = test_accuracy,
) -> list[float]:
    """Return by how much the best of some models is ahead of the best of others, in every draw.

    The best is the one whose mean over the draws is.
    """

    def total(name: str) -> float:
        return sum(score(draw[name]) for draw in draws)

    better, rival = max(betters, key=total), max(rivals, key=total)
    return [score(draw[better]) - score(draw[rival]) for draw in draws]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
