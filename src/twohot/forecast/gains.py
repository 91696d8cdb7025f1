"""What AutoProbe predicts beyond a plain probe, on rows that neither was fitted on.

How often held-out labels are predicted ranks classifiers as their accuracy does, wherever the
labels of a class are right more often than they are any one other.
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import IntArray
from twohot.distill.recipe import TEACHER
from twohot.judge.anchored import Anchored
from twohot.judge.auto_probe import linear_model
from twohot.judge.choice import Choice, Tried
from twohot.judge.label_model import combine


@dataclass(frozen=True, eq=False)
class Comparison:
    """AutoProbe and a plain probe on the same rows, which neither was fitted on."""

    choice: Choice  # what was tried, as `AutoProbe.choice_`
    given: IntArray  # (n,), labels of the held-out rows
    predicted: IntArray  # (n,), by the linear members of the label model
    predicted_plain: IntArray  # (n,), by the plain probe
    plain: Tried | None  # of the teachers the one by which labels are likeliest

    @property
    def gain(self) -> tuple[float, float]:
        """What AutoProbe predicts more than the plain probe, and the standard error."""
        rights = (self.predicted == self.given).astype(np.float64)
        difference = rights - (self.predicted_plain == self.given)
        return float(difference.mean()), float(difference.std() / np.sqrt(len(self.given)))


def compare(anchored: Anchored, choice: Choice) -> Comparison:
    """Return what is known about held-out rows; nothing is fitted or predicted."""
    codes = anchored.sample.codes
    members, model = linear_model(anchored)
    predicted = combine([each.logits for each in members], model.weights).argmax(axis=1)
    if not any(entry.method == TEACHER for entry in choice.tried):  # too few rows for a fit
        return Comparison(choice, codes, predicted, predicted, None)
    plain = choice.best(TEACHER)
    member = anchored.library.members[plain.recipe]
    # A member that is not chosen was compared on some folds alone.
    whole = len(member.logits) == len(codes)
    rows = np.arange(len(codes)) if whole else member.scored
    return Comparison(choice, codes[rows], predicted[rows], member.logits.argmax(axis=1), plain)
