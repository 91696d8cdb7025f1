"""Experiments that can be stopped and taken up again: runs, their records, one log."""

from twohot.experiment.log import Log, unfinished
from twohot.experiment.record import Record, identity
from twohot.experiment.runner import Progress, run_plan

__all__ = ["Log", "Progress", "Record", "identity", "run_plan", "unfinished"]
