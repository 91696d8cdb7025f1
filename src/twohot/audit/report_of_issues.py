"""The review page of a table of issues, written from Python in one call."""

import os
from collections.abc import Sequence
from pathlib import Path

from twohot._checks.messages import ArgumentError, counted
from twohot._types import Matrix
from twohot.audit.issue_ids import check_rows_of_issues
from twohot.audit.issue_table import LabelIssues
from twohot.audit.review_content import review_summary, rows_of_issues
from twohot.review.page import write_review
from twohot.review.records import ReviewRows

# What to do with the decisions of a page that has no audit folder.
APPLY_IN_PYTHON = 'labels = issues.apply("{file}")'


def write_issue_report(
    issues: LabelIssues,
    path: str | os.PathLike[str],
    *,
    texts: Sequence[str] | None,
    images: Sequence[str | os.PathLike[str]] | None,
    X: Matrix | None,
    title: str,
) -> ReviewRows:
    """Write the page and return its rows; see `LabelIssues.report`."""
    _check_page_path(path)
    if texts is not None and images is not None:
        problem = "texts and images both say what the rows came from"
        raise ArgumentError("", problem, "pass one of them.")
    name, kind, given = ("texts", "text", texts) if images is None else ("images", "image", images)
    shape = getattr(given, "shape", (0,))
    if len(shape) != 1:
        advice = "pass one column, that of a frame by its name: df['text']."
        raise ArgumentError(name, f"has shape {tuple(shape)}", advice)
    if given is not None and len(given) != len(issues):
        problem = f"has {counted(len(given), 'entry', 'entries')} and issues has {len(issues)} rows"
        raise ArgumentError(name, problem, "pass one per row, in the same order.")
    check_rows_of_issues(name, given, issues.ids)
    items = None if given is None else tuple(map(str, given))
    rows = rows_of_issues(issues, items, "" if items is None else kind)
    summary = review_summary(X, issues, title=title, details={})
    write_review(path, rows, summary, next_step=APPLY_IN_PYTHON)
    return rows


def _check_page_path(path: str | os.PathLike[str]) -> None:
    """Raise unless a page can be written there, before anything is computed for it."""
    target, text = Path(path), os.fspath(path)
    if target.is_dir() or text.endswith(("/", os.sep)):
        advice = f"pass the file to write, {str(target / 'report.html')!r} for instance."
        raise ArgumentError({"path": text}, "is a folder", advice)
    if not target.parent.is_dir():
        raise ArgumentError({"path": text}, "is in a folder that is not there", "make it first.")
