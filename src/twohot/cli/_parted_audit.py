"""An audit whose rows stay on workers: a table in parts, and a report that shows some rows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot._checks.messages import ArgumentError
from twohot.audit.audit_folder import (
    ISSUE_PARTS,
    begin_audit_parts,
    check_audit_parts,
    write_parts_report,
)
from twohot.audit.find_issues import find_label_issues
from twohot.audit.issue_parts import labels_digest, write_issue_parts
from twohot.audit.issue_table import LabelIssues
from twohot.audit.review_content import review_summary, row_counts, rows_of_issues
from twohot.cli._cluster import workers_of
from twohot.cli._part_outputs import writing_parts
from twohot.cli._resumed_fit import fit_with_checkpoint
from twohot.cli._terminal import choosing
from twohot.judge.sample import SAMPLE_CELLS
from twohot.review.records import ReviewSummary
from twohot.tables import FeatureTable
from twohot.tables.dask_features import as_dask
from twohot.tables.part_folder import parts_in_words
from twohot.tables.source_parts import known_by, source_parts

# In the folder of an audit until it is finished: what is finished of the choice and the fit.
CHECKPOINT = ".fit.checkpoint"
# Arrays of logits that the label model holds: members, their targets and its posteriors.
HELD_MEMBERS = 16
# Rows of a report: more than a person looks at in a day, and few enough for a small page.
MOST_SHOWN = 2000


def held_bytes(table: FeatureTable) -> int:
    """Return about how much an audit in memory holds: logits of a sample, prepared features."""
    cells = min(table.n_rows * len(table.classes), SAMPLE_CELLS)
    return int(4 * (HELD_MEMBERS * cells + table.n_rows * table.n_features))


def check_enough_rows(table: FeatureTable, source: Path, scheduler: str | None) -> None:
    """Raise if there are no more rows than features, which are not audited in parts."""
    if table.n_rows > table.n_features:
        return
    problem = f"{source} has {table.n_rows} rows of {table.n_features} features"
    if scheduler is None:
        advice = "an audit of so few needs them in memory: run it where there is more."
        raise ArgumentError("", problem, advice)
    raise ArgumentError("", problem, "audit so few without {scheduler}.", scheduler=...)


def audit_in_parts(
    table: FeatureTable,
    source: Path,
    output: Path,
    asked: Mapping[str, Any],
    *,
    client: Any,
    about: Mapping[str, Any],
    pictures: Mapping[str, Any],
    force: bool,
    quiet: bool,
) -> tuple[LabelIssues, ReviewSummary, str, str]:
    """Find the wrong labels on the workers of a client, and write the folder of the audit.

    `asked` is what `find_label_issues` is asked for: budget, precision, random_state. Returns what
    was found of every row and overall, the name of the report, and where the rows are, in words.
    """
    workers_of(client)  # or there is nobody to do it
    parts = source_parts(table.features)
    known = {**known_by(table, parts), "labels": labels_digest(table.coded), **asked}
    bounds = np.unique(parts.bounds)  # of the parts that have rows of the split
    where: dict[str, Any] = {"about": known, "n_parts": len(bounds) - 1, "force": force}
    # Nothing is computed for nobody, and an earlier audit stays until there is another.
    check_audit_parts(output, **where)
    output.mkdir(parents=True, exist_ok=True)
    features = as_dask(table.features, source, parts=parts)

    def find(path: Path) -> LabelIssues:
        rows: dict[str, Any] = {"ids": table.ids, "checkpoint": path, **asked}
        with choosing(quiet=quiet) as callback:
            return find_label_issues(features, table.coded, callback=callback, **rows)

    checkpoint = output / CHECKPOINT
    issues = fit_with_checkpoint(find, checkpoint)
    folder = begin_audit_parts(output, **where)
    n_missing = len(folder.missing())
    n_there = folder.n_parts - n_missing
    with writing_parts(folder.n_parts, n_there=n_there, quiet=quiet) as done:
        write_issue_parts(issues, folder, bounds, items=table.items, done=done)
    chosen = np.sort(issues.rows[:MOST_SHOWN])
    shown, items = issues[chosen], None
    if table.items is not None:
        items = [table.items[row] for row in chosen.tolist()]
    counts = replace(row_counts(issues), full_table=ISSUE_PARTS)
    summary = review_summary(None, shown, counts=counts, **about)
    rows = rows_of_issues(shown, items, table.item_kind)
    name = write_parts_report(output, rows, summary, **pictures)
    checkpoint.unlink()
    return issues, summary, name, f"{output / ISSUE_PARTS} ({parts_in_words(folder, n_missing)})."
