"""Claims about accuracies: in which settings they hold, and under which condition in nearly all.

A setting is a data set, a kind of noise and a noise rate; a data set of which there are several
files counts once. One rule serves all such claims. A claim is confirmed if its statement holds in
nine of ten settings. Otherwise it is confirmed only under the widest of these conditions under
which the statement does, if that covers 15 % of the settings: noise of at least, or at most, a
rate; one kind of noise; one data set.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, not_testable
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import CORRUPTIONS, NOISE_RATES, Models, ProbeGrid, titles
from twohot.reproduce.probe_run import FittedModel, ProbeRun
from twohot.reproduce.table import Mean, Table, mean_of

# Share of the settings in which a statement must hold, and share that a condition must cover.
NEARLY_ALL = 0.9
COVERED = 0.15
FEWEST = 4  # settings that a verdict takes

# Points of accuracy that count as a difference: five images of a thousand, and more than a
# tolerance of a tenth would move.
MARGIN = 0.5

# The words of rules, as the statement `ahead` applies its margin.
CLEARLY_AHEAD = f"more than {MARGIN:g} points ahead of"
NOT_CLEARLY_BEHIND = f"less than {MARGIN:g} points behind"

ONE_FILE = "Of several files of one data set, the one with most finished runs counts."
SETTINGS_RULE = (
    f"Confirmed if this holds in at least {NEARLY_ALL:.0%} of the settings (data set, kind of"
    " noise, rate; means over seeds); confirmed only under the widest condition on the noise rate,"
    f" the kind of noise or the data set under which it does, if that covers {COVERED:.0%} of the"
    f" settings; else not confirmed. {ONE_FILE}"
)
RULE = f"{SETTINGS_RULE} A verdict takes at least {FEWEST} settings."

Judged: TypeAlias = tuple[Mean | None, bool]  # the number to show, and whether the statement holds
Statement: TypeAlias = Callable[[list[Models]], Judged | None]  # of the draws of one setting

test_accuracy: Callable[[FittedModel], float] = attrgetter("test_accuracy")


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


def settings_claim(
    *,
    statement: Statement,
    value: str,
    advice: str = "",
    rates: Sequence[float] = NOISE_RATES[1:],
    corruptions: Sequence[str] = CORRUPTIONS,
    claim: dict[str, Any],
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
    claim : dict
        Other fields of `Claim`; its rule is what must hold in a setting.
    **grid
        Other fields of `ProbeGrid`; draws are all that have results.
    """

    def judge(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        found = []
        for setting, draws in settings_of(results, data, corruptions, rates, **grid):
            judged = statement([*draws.values()])
            if judged is not None:
                found.append(JudgedSetting(setting, *judged))
        return judge_settings(found, value, advice)

    return Claim(**claim | {"rule": f"{claim['rule']} {RULE}", "judge": judge})


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


def judge_settings(
    judged: Sequence[JudgedSetting], title: str, advice: str = "", *, fewest: int = FEWEST
) -> ClaimVerdict:
    """Return the verdict by the rule above; the table shows the number of every setting.

    Examples
    --------
    >>> judged = [JudgedSetting(Setting("pets", "symmetric", rate), None, rate > 0.4)
    ...           for rate in (0.1, 0.3, 0.5, 0.6, 0.8)]
    >>> print(judge_settings(judged, "Gain"))
    confirmed only when the noise rate is at least 0.5
    """
    if len(judged) < fewest:
        finished = f"{len(judged)} of the settings that it needs are finished"
        return not_testable(f"{finished}, and a verdict takes at least {fewest}.")
    held = sum(each.holds for each in judged)
    evidence = f"It holds in {held} of {len(judged)} settings."
    table = _table(judged, title)
    if held >= NEARLY_ALL * len(judged):
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    condition, covered = _widest(judged)
    if not condition:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    inside = f" Where {condition}: {sum(each.holds for each in covered)} of {len(covered)}."
    return ClaimVerdict(Answer.CONDITIONAL, evidence + inside, condition, table, advice)


def _widest(judged: Sequence[JudgedSetting]) -> tuple[str, list[JudgedSetting]]:
    """Return the condition that covers most, and the settings that it covers."""
    best: tuple[str, list[JudgedSetting]] = ("", [])
    for words, covered in _conditions(judged):
        enough = len(covered) >= COVERED * len(judged)
        if enough and sum(each.holds for each in covered) >= NEARLY_ALL * len(covered):
            best = max(best, (words, covered), key=lambda pair: len(pair[1]))
    return best


def _conditions(judged: Sequence[JudgedSetting]) -> Iterator[tuple[str, list[JudgedSetting]]]:
    """Yield every condition in words, with the settings that it covers."""
    settings = [each.setting for each in judged]
    for rate in sorted({each.noise_rate for each in settings}):
        above = [each for each in judged if each.setting.noise_rate >= rate]
        below = [each for each in judged if each.setting.noise_rate <= rate]
        yield f"the noise rate is at least {rate:g}", above
        yield f"the noise rate is at most {rate:g}", below
    for kind in sorted({each.corruption for each in settings}):
        yield f"noise is {kind}", [each for each in judged if each.setting.corruption == kind]
    for name in sorted({each.data for each in settings}):
        yield f"the data set is {name}", [each for each in judged if each.setting.data == name]


def _table(judged: Sequence[JudgedSetting], title: str) -> Table:
    rates = sorted({each.setting.noise_rate for each in judged})
    lines = dict.fromkeys((each.setting.data, each.setting.corruption) for each in judged)
    values = {each.setting: each.value for each in judged}
    rows = [
        (data, kind, *(values.get(Setting(data, kind, rate)) for rate in rates))
        for data, kind in lines
    ]
    return Table(title, ("data set", "noise", *(f"η = {rate:g}" for rate in rates)), tuple(rows))
