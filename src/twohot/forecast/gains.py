"""What a finished search says about its candidates: what each gains over a plain probe.

How often a probe agrees with the given labels of rows it was not fitted on ranks probes as their
accuracy does, wherever the labels of a class are right more often than they are any one other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twohot._types import IntArray
from twohot.distill.recipe import TEACHER
from twohot.select.result import Choice, Tried, choice_of
from twohot.select.selection import Selection


@dataclass(frozen=True, eq=False)
class Comparison:
    """All candidates on the same rows, which none of them was fitted on."""

    choice: Choice  # what was tried and chosen, as `AutoProbe.choice_`
    given: IntArray  # (n,), labels of the held-out rows
    predicted: Mapping[Tried, IntArray]  # (n,) of every candidate, positions in the classes
    plain: Tried  # of the teachers the one that would be chosen
    n_rows: int  # fitted on or held out, in the largest split

    def gain(self, entry: Tried) -> tuple[float, float]:
        """Return what a candidate agrees more than the plain probe, and the standard error."""
        rights = (self.predicted[entry] == self.given).astype(np.float64)
        difference = rights - (self.predicted[self.plain] == self.given)
        return float(difference.mean()), float(difference.std() / np.sqrt(len(self.given)))


def compare(selection: Selection) -> Comparison:
    """Return what is known about held-out rows; nothing is fitted or predicted."""
    choice, search = choice_of(selection), selection.search
    entries = dict(zip(selection.tried, choice.tried, strict=True))
    classes = search.classes.astype(np.int32)  # kept for every candidate, so in four bytes a row
    return Comparison(
        choice,
        given=classes[search.held_out_labels],
        predicted={entry: classes[scored.predicted] for scored, entry in entries.items()},
        plain=entries[search.best(TEACHER)],
        n_rows=max(
            split.fitted.rows.n_samples + split.held_out.rows.n_samples for split in search.splits
        ),
    )
