"""The labels of a table of issues after its page was reviewed, in the index of the user's data."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.column_cells import WHOLE_NUMBER
from twohot._checks.labels import Labels
from twohot._extras import load_extra
from twohot.audit.decision_file import read_decisions
from twohot.audit.decisions import Decision, apply_decisions
from twohot.audit.issue_table import LabelIssues, pandas_labels
from twohot.audit.review_content import rows_of_issues


def reviewed_labels(issues: LabelIssues, path: str | os.PathLike[str]) -> Any:
    """Return the labels as a pandas series; see `LabelIssues.apply`."""
    pandas = load_extra("pandas", "frames", "data frames")
    rows, decisions = rows_of_issues(issues), read_decisions(path)
    _check_seen_labels(path, decisions)
    # Each line says what its reviewer saw of the row, and that is checked. The name of the page
    # would ask for its texts again, on which no label depends.
    applied = apply_decisions(
        rows, [replace(decision, report=rows.report_id()) for decision in decisions]
    )
    new = applied.classes[len(rows.classes) :]
    labels = Labels(applied.labels, _with_new(issues.classes, new))
    return pandas.Series(pandas_labels(labels), index=issues.to_pandas().index, name="label")


def _check_seen_labels(path: str | os.PathLike[str], decisions: Sequence[Decision]) -> None:
    """Raise unless every line says which labels its reviewer saw."""
    for name in ("given_label", "suggested_label"):
        if any(getattr(decision, name) is None for decision in decisions):
            problem = f"{path} has no column {name}, by which rows are checked"
            raise ValueError(f"{problem}: export the decisions again from their page.")


def _with_new(classes: NDArray[Any], new: Sequence[str]) -> NDArray[Any]:
    """Return the classes and those that a reviewer typed, numbers if all others are."""
    if not new:
        return classes
    if classes.dtype.kind in "iu" and all(WHOLE_NUMBER.fullmatch(name) for name in new):
        return np.array([*classes.tolist(), *map(int, new)])
    return np.array([*classes.tolist(), *new], dtype=object)
