"""`twohot apply`: the labels that follow from a review."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from twohot._checks.messages import counted
from twohot._checks.outputs import check_output
from twohot.audit.audit_folder import read_audit_folder
from twohot.audit.decisions import Applied, apply_decisions, read_decisions
from twohot.audit.issue_files import write_labels
from twohot.cli._table_options import SpreadsheetSafe
from twohot.cli._terminal import say

# In the audit's folder, beside corrected.csv, which holds the labels that nobody reviewed.
DEFAULT_OUTPUT = "reviewed.csv"
# Of the audit, needed to apply decisions again: never replaced.
AUDIT_FILES = ("report.html", "issues.csv", "summary.json")


def apply(
    decisions: Annotated[Path, Argument(help="Decisions exported from the report, a CSV.")],
    *,
    audit: Annotated[
        Path | None,
        Option(help="Folder of the audit; else that of the decisions, then the current one."),
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help=f"Corrected labels, CSV; else the audit's {DEFAULT_OUTPUT}."),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[bool, Option("--force", help="Replace the output.")] = False,
) -> None:
    """Write the labels that follow from the decisions of a review."""
    beside = decisions.parent
    folder = audit or (beside if (beside / "summary.json").exists() else Path())
    target = output or folder / DEFAULT_OUTPUT
    made = read_decisions(decisions)
    rows = read_audit_folder(folder)
    check_output(target, (decisions, *(folder / name for name in AUDIT_FILES)), force=force)
    applied = apply_decisions(rows, made)
    write_labels(target, rows, applied.labels, spreadsheet_safe=spreadsheet_safe)
    say(_account(applied, rows.n_rows))
    say(f"Written to {target}")


def _account(applied: Applied, n_rows: int) -> str:
    """Return what happened, in words."""
    counts = applied.n_decided
    kept = "keeps its given label" if applied.n_open == 1 else "keep their given label"
    return (
        f"{counted(sum(counts.values()), 'row')} decided: "
        f"{counted(counts['accept'], 'suggestion')} accepted, "
        f"{counted(counts['second'], 'second candidate')} taken, {counts['relabel']} relabelled, "
        f"{counted(counts['reject'], 'given label')} kept.\n"
        f"{applied.n_changed} of {counted(n_rows, 'label')} changed; "
        f"{counted(applied.n_open, 'flagged row')} without a decision {kept}."
    )
