"""The one rule of all claims about accuracies: in which settings they hold, and when in nearly all.

A setting is a data set, a kind of noise and a noise rate. A claim is confirmed if its statement
holds in nine of ten settings. Otherwise it is confirmed only under the widest of these conditions
under which the statement does, if that covers 15 % of the settings, and three of them: noise of at
least, or at most, a rate; one kind of noise; one data set.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from twohot._checks.messages import counted
from twohot.reproduce.claim import Answer, ClaimVerdict, not_testable
from twohot.reproduce.probe_run import MOST_LOST
from twohot.reproduce.table import Mean, Table

# Share of the settings in which a statement must hold, and share that a condition must cover.
NEARLY_ALL = 0.9
COVERED = 0.15
FEWEST_COVERED = 3  # settings: a condition that one or two of them make may be chance
FEWEST = 4  # settings that a verdict takes

ONE_FILE = "Of several files of one data set, the one with most finished runs counts."
CONVERGED_ONLY = "Settings with a model that did not converge are left out."
RECOVERABLE_ONLY = (
    "So are settings with noise beyond recovery, in which the true label is not the most frequent"
    f" one of its class for more than {MOST_LOST:.0%} of the training rows (symmetric noise of K"
    " classes beyond 1 − 1/K, superclass noise among s classes beyond 1 − 1/s)."
)
SETTINGS_RULE = (
    f"Confirmed if this holds in at least {NEARLY_ALL:.0%} of the settings (data set, kind of"
    " noise, rate; means over seeds); confirmed only under the widest condition on the noise rate,"
    f" the kind of noise or the data set under which it does, if that covers {COVERED:.0%} of the"
    f" settings, and {FEWEST_COVERED} of them; else not confirmed. {ONE_FILE} {CONVERGED_ONLY}"
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
    condition, covered = _widest(judged)
    if not condition:
        return shown(Answer.REFUTED, evidence)
    inside = f" Where {condition}: {sum(each.holds for each in covered)} of {len(covered)}."
    return shown(Answer.CONDITIONAL, evidence + inside, condition)


def _basis(judged: Sequence[JudgedSetting]) -> str:
    """Return in how many settings a statement holds, and of how many draws they are."""
    held = f"{sum(each.holds for each in judged)} of {counted(len(judged), 'setting')}"
    draws = {each.value.n for each in judged if each.value is not None}
    if not draws:
        return held
    fewest = f"{min(draws)} to " if len(draws) > 1 else ""
    return f"{held}, {fewest}{counted(max(draws), 'draw')}"


def _widest(judged: Sequence[JudgedSetting]) -> tuple[str, list[JudgedSetting]]:
    """Return the condition that covers most, and the settings that it covers."""
    best: tuple[str, list[JudgedSetting]] = ("", [])
    for words, covered in _conditions(judged):
        enough = len(covered) >= max(COVERED * len(judged), FEWEST_COVERED)
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
