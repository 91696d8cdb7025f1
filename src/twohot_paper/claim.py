"""A claim of the paper, and the verdict that a rule derives from the results.

The texts of the claims are in `claims/*.toml`. The rule of a claim about accuracy is an
`AccuracyRule`; the table `accuracy` in the TOML file has its fields. The rule of any other claim is
a function that is registered under the id of the claim.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Results
from twohot_paper.table import Table

# Value of `place` for additional questions, which the paper does not answer.
NOT_IN_PAPER = "not in the paper"


class Answer(StrEnum):
    """The possible verdicts on a claim."""

    CONFIRMED = "confirmed"
    CONDITIONAL = "confirmed only when"  # a condition follows
    REFUTED = "not confirmed"
    NOT_TESTABLE = "not testable with the data at hand"


@dataclass(frozen=True, eq=False)
class ClaimVerdict:
    """The verdict on a claim, with the numbers that determine it."""

    answer: Answer
    evidence: str  # one or two sentences with the numbers that determine the answer
    condition: str = ""  # the condition under which the claim holds, if the answer is CONDITIONAL
    table: Table | None = None  # the measured numbers
    advice: str = ""  # what a practitioner should do
    basis: str = ""  # the amount of data, for instance "18 of 20 settings, 1 draw"

    def __str__(self) -> str:
        return f"{self.answer} {self.condition}".strip()

    @property
    def in_short(self) -> str:
        """The condition, if any, and the basis; the report shows this text after a sign."""
        words = [f"when {self.condition}" if self.condition else "", self.basis]
        return "; ".join(filter(None, words)) or str(self.answer)

    @property
    def with_basis(self) -> str:
        """The answer, with its condition and its basis."""
        return f"{self} ({self.basis})" if self.basis else str(self)


Judge: TypeAlias = Callable[[Results, Sequence[DataSet]], ClaimVerdict]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper that can be tested."""

    id: str  # a short name: letters, digits and hyphens
    title: str  # a heading: the claim in a few words
    text: str  # the sentence of the paper, or an additional question in brackets
    place: str  # section, figure or theorem of the paper
    rule: str  # how the numbers determine the verdict, as text
    brief: str = ""  # the rule in a few words, for a list; default: the rule
    shared_rule: str = ""  # the rest of the rule, which is the same for many claims
    advice: str = ""  # what a practitioner should do
    exhibits: tuple[str, ...]  # ids of the figures that show the claim and provide its runs
    order: int  # position of its section in the report
    check: Judge = field(repr=False)

    @property
    def of_paper(self) -> bool:
        """Whether the claim is a sentence of the paper, and not an additional question."""
        return self.place != NOT_IN_PAPER

    @property
    def page(self) -> str:
        """The file name, without suffix, of the first exhibit that shows the claim."""
        return self.exhibits[0].replace(":", "-")

    @property
    def whole_rule(self) -> str:
        """The complete rule."""
        return f"{self.rule} {self.shared_rule}".strip()

    def judge(self, results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        """Return the verdict, with the advice of the claim if the claim could be tested."""
        verdict = self.check(results, data)
        known = verdict.answer is not Answer.NOT_TESTABLE
        return replace(verdict, advice=self.advice) if known else verdict


def not_testable(why: str) -> ClaimVerdict:
    """Return the verdict on a claim that cannot be tested; `why` is a sentence."""
    return ClaimVerdict(Answer.NOT_TESTABLE, why)


def verdict_if(condition: str, evidence: str, *, holds: bool, **more: Any) -> ClaimVerdict:
    """Return a verdict: confirmed, confirmed under a condition, or not confirmed.

    `condition` is empty if the claim does not hold under any condition. `more` has values for other
    fields of the verdict.
    """
    if holds:
        return ClaimVerdict(Answer.CONFIRMED, evidence, **more)
    answer = Answer.CONDITIONAL if condition else Answer.REFUTED
    return ClaimVerdict(answer, evidence, condition, **more)


def by_parts(
    confirmed: Sequence[str], n_parts: int, evidence: str, condition: str, **more: Any
) -> ClaimVerdict:
    """Return the verdict on a claim of `n_parts` parts; `confirmed` names the confirmed parts.

    `condition` says for which parts the claim is confirmed.
    """
    holds = len(confirmed) == n_parts
    return verdict_if(condition if confirmed else "", evidence, holds=holds, **more)


# Rules of claims that are not about accuracy, by the id of the claim.
RULES: dict[str, Judge] = {}


def rule(claim: str) -> Callable[[Judge], Judge]:
    """Register the rule of a claim."""
    return lambda judge: RULES.setdefault(claim, judge)
