"""Experiments that can be stopped and taken up again: runs, their records, one log."""

from twohot_paper.runs import Log, Progress, Record, identity, run_plan, unfinished

__all__ = ["Log", "Progress", "Record", "identity", "run_plan", "unfinished"]
