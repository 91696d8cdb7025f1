"""The one checker of claims about accuracy: a statement about models, judged in all settings.

A claim says in its TOML file what is compared and where: the fields of `AccuracyRule`. A statement
is a function of the draws of one setting; it returns the number to show, and whether it holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from twohot_paper.claim import ClaimVerdict, not_testable
from twohot_paper.data_set import DataSet, of_backbone
from twohot_paper.exact_trainer import ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot_paper.grid import CORRUPTIONS, NOISE_RATES, Models
from twohot_paper.maker import Results
from twohot_paper.settings import (
    RECOVERABLE_ONLY,
    RULE,
    JudgedSetting,
    judge_settings,
    settings_of,
)
from twohot_paper.table import Mean, mean_of

# Points of accuracy that count as a difference: five images of a thousand, and more than a
# tolerance of a tenth would move.
MARGIN = 0.5

# Share of the noisy rows whose true label is among the teacher's two that counts as all of them.
ALL_ROWS = 0.99

# Share of the whole gain that the first two students must bring, and the gain to speak of.
NEARLY_ALL_GAIN = 0.9
SOME_GAIN = 1.0  # points

Judged: TypeAlias = tuple[Mean | None, bool]  # the number to show, and whether the statement holds
Draws: TypeAlias = Sequence[Models]  # of one setting


@dataclass(frozen=True, kw_only=True)
class AccuracyRule:
    """What a TOML file says of a claim about accuracy, beside its words."""

    statement: str  # a name in STATEMENTS
    arguments: dict[str, Any] = field(default_factory=dict)  # of the statement
    value: str  # what the number is that it returns: the title of the table
    corruptions: tuple[str, ...] = CORRUPTIONS  # what the claim is about
    needed: tuple[str, ...] | None = None  # of them, those that must have settings; None: all
    lowest_rate: float = NOISE_RATES[1]
    recoverable: bool = True  # noise beyond recovery is left out
    backbone: str = ""  # in the names of the files that are looked at; any if there is none
    grid: dict[str, Any] = field(default_factory=dict)  # other fields of `ProbeGrid`

    @property
    def shared_rule(self) -> str:
        """The part of the rule that all claims about accuracy have in common."""
        return RULE + f" {RECOVERABLE_ONLY}" * self.recoverable

    def judge(self, results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        """Return whether the statement holds in nearly all settings, or under which condition."""
        files = of_backbone(data, self.backbone)
        if self.backbone and not files:
            return not_testable(f"None of the feature files has {self.backbone} in its name.")
        rates = [rate for rate in NOISE_RATES[1:] if rate >= self.lowest_rate]
        tried = settings_of(
            results, files, self.corruptions, rates, recoverable=self.recoverable, **self._grid()
        )
        kinds = {setting.corruption for setting in tried.draws}
        without = [kind for kind in self.corruptions if kind not in kinds]
        lacks = f"there is no setting of {_listed(without)} noise" if without else ""
        needed = self.corruptions if self.needed is None else self.needed
        if len(self.corruptions) > 1 and not kinds.issuperset(needed):
            about = f"It is about {_listed(self.corruptions)} noise"
            return not_testable(f"{about}, and {lacks}.{tried.left_out_words(without)}")
        holds = partial(STATEMENTS[self.statement], **self.arguments)
        outcomes = {setting: holds([*draws.values()]) for setting, draws in tried.draws.items()}
        found = [JudgedSetting(place, *each) for place, each in outcomes.items() if each]
        absent = f" {lacks.capitalize()}." if lacks else ""
        left_out = absent + tried.left_out_words(self.corruptions)
        return judge_settings(found, self.value, left_out=left_out)

    def _grid(self) -> dict[str, Any]:
        """Return the fields of the grid, lists of TOML as tuples."""
        return {k: tuple(v) if isinstance(v, list) else v for k, v in self.grid.items()}


def ahead(
    draws: Draws,
    models: Sequence[str],
    rivals: Sequence[str],
    *,
    score: str = "test_accuracy",
    margin: float = MARGIN,
) -> Judged | None:
    """State that the best of some models is ahead of the best of others, in points.

    The best is the one whose mean over the draws is.
    """
    whole = [draw for draw in draws if draw.keys() >= {*models, *rivals}]

    def scores(names: Sequence[str]) -> np.ndarray:
        found = [[getattr(draw[name], score) for draw in whole] for name in names]
        return np.array(max(found, key=sum))

    lead = mean_of((scores(models) - scores(rivals)).tolist(), factor=100)
    return None if lead is None else (lead, lead.mean > margin)


def rises(draws: Draws) -> Judged | None:
    """State that the last student is above the teacher, and no round falls clearly."""
    judged = ahead(draws, ROUNDS[-1:], [TEACHER])
    steps = [ahead(draws, [new], [old]) for old, new in zip(ROUNDS[:-1], STUDENTS, strict=True)]
    means = [step[0].mean for step in steps if step is not None and step[0] is not None]
    return None if judged is None else (judged[0], judged[1] and min(means) > -MARGIN)


def two_are_enough(draws: Draws) -> Judged | None:
    """State that two candidates are ahead of more, of all numbers that there are labels for."""
    more = ("top-3", "top-5", "top-10")
    rivals = [name for name in more if any(name in draw for draw in draws)]
    return ahead(draws, [TWO_HOT], rivals) if rivals else None


def early_gain(draws: Draws) -> Judged | None:
    """State that two students bring nearly all of the gain of four."""
    gains = [
        [draw[name].test_accuracy - draw[TEACHER].test_accuracy for name in STUDENTS]
        for draw in draws
        if draw.keys() >= set(ROUNDS)
    ]
    early = mean_of([each[1] for each in gains], factor=100)
    late = mean_of([each[-1] for each in gains], factor=100)
    if early is None or late is None or late.mean < SOME_GAIN:
        return None
    share = mean_of([100 * early.mean / late.mean])
    return share, early.mean >= NEARLY_ALL_GAIN * late.mean


def truth_in_two(draws: Draws) -> Judged | None:
    """State that the teacher's two largest outputs hold the true label of mislabelled rows."""
    share = mean_of([shares["2"] for shares in _truth_in_top(draws)], factor=100)
    return None if share is None else (share, share.mean >= 100 * ALL_ROWS)


def truth_in_more(draws: Draws) -> Judged | None:
    """State that every larger set of the teacher's labels holds the truth more often."""
    found = _truth_in_top(draws)
    if not found:
        return None
    means = [np.mean([shares[size] for shares in found]) for size in found[0]]
    gain = mean_of([100 * float(means[-1] - means[0])])
    return gain, bool((np.diff(means) > 0).all())


def crosses(draws: Draws) -> Judged | None:
    """State that mislabelled rows have more output at the given label first, and less at last."""
    pairs = [
        (draw[name].noisy_true, draw[name].noisy_given)
        for draw in draws
        for name in (TEACHER, ROUNDS[-1])
    ]
    leads = [true.mean - given.mean for true, given in pairs if true and given]
    first, last = mean_of(leads[::2], factor=100), mean_of(leads[1::2], factor=100)
    return None if first is None or last is None else (last, first.mean < 0 < last.mean)


def moves(draws: Draws, output: str, moment: str, *, up: bool) -> Judged | None:
    """State that a mean or spread of outputs rises, or falls, in every round.

    The number shown is its change from the teacher to the last student, in hundredths.
    """
    spreads = [[getattr(draw[name], output) for name in ROUNDS] for draw in draws]
    values = np.array(
        [[getattr(each, moment) for each in row] for row in spreads if None not in row]
    )
    if not len(values):
        return None
    change = mean_of((values[:, -1] - values[:, 0]).tolist(), factor=100)
    steps = np.diff(values.mean(axis=0))
    return change, bool((steps > 0).all() if up else (steps < 0).all())


STATEMENTS: dict[str, Callable[..., Judged | None]] = {
    each.__name__: each
    for each in (
        *(ahead, rises, two_are_enough, early_gain),
        *(truth_in_two, truth_in_more, crosses, moves),
    )
}


def _truth_in_top(draws: Draws) -> list[dict[str, float]]:
    return [found for draw in draws if (found := draw[TEACHER].truth_in_top) is not None]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
