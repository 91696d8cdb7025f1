"""Run the paper's experiments; runs are recorded in a log, so that they can be resumed."""

from twohot_paper.runs import Log, Progress, Record, identity, run_plan, unfinished

__all__ = ["Log", "Progress", "Record", "identity", "run_plan", "unfinished"]
