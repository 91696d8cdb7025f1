"""Experiments that can be interrupted and resumed: runs, their records, one log."""

from twohot_paper.runs import Log, Progress, Record, identity, run_plan, unfinished

__all__ = ["Log", "Progress", "Record", "identity", "run_plan", "unfinished"]
