"""The base of makers that need no data."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Made, Maker, Results


class SyntheticMaker(Maker):
    """A maker whose runs are the same whatever data sets are at hand."""

    @abstractmethod
    def plan(self) -> list[Any]:
        """Return the runs."""

    @abstractmethod
    def draw(self, results: Results) -> Made:
        """Return figures and tables, of the runs that are finished; there is at least one."""

    def runs(self, data: Sequence[DataSet]) -> list[Any]:
        """Return the plan."""
        del data
        return self.plan()

    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Draw what is finished, and say how much is missing."""
        del data
        plan = self.plan()
        missing = sum(run not in results for run in plan)
        notes = (f"{missing} of {len(plan)} runs are missing.",) if missing else ()
        if plan and missing == len(plan):
            return Made(notes=notes)
        made = self.draw(results)
        return replace(made, notes=notes + made.notes)
