"""Claims about accuracies: a statement about the models of a setting, judged in all settings."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from twohot.reproduce.claim import Claim, ClaimVerdict, not_testable
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import CORRUPTIONS, NOISE_RATES, Models
from twohot.reproduce.probe_run import FittedModel
from twohot.reproduce.setting_verdict import RECOVERABLE_ONLY, RULE, JudgedSetting, judge_settings
from twohot.reproduce.table import Mean, mean_of
from twohot.reproduce.tried_settings import settings_of

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
