"""`twohot certify` and `twohot verify`: a list of wrong labels with a guarantee, from a check."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from twohot.audit import (
    CERTIFICATE_FILES,
    CHECK_FILES,
    certify_folder,
    check_no_draw,
    read_audit_folder,
    read_check,
    rows_needed,
    verify_certificate,
    write_check,
)
from twohot.base import ArgumentError, check_output, counted
from twohot_command.sources import SpreadsheetSafe
from twohot_command.terminal import say, say_next


def check_draw(folder: Path, fdr: float | None) -> None:
    """Raise if a draw is asked for and cannot be made, before the work of an audit."""
    if fdr is not None:
        rows_needed(1, fdr, 1)  # raises for a rate that no list can have
        check_no_draw(folder)


def draw_for_check(folder: Path, fdr: float | None, seed: int, *, spreadsheet_safe: bool) -> None:
    """Draw rows of the audit in a folder to check, if they are asked for, and say what to do."""
    if fdr is None:
        return
    rows = read_audit_folder(folder)
    if not rows.is_label_issue.any():
        say("No row is drawn to check: no label is flagged.")
        return
    check = write_check(folder, rows, fdr, seed=seed, spreadsheet_safe=spreadsheet_safe)
    n_rows, n_pool = len(check.draw.rows), len(check.draw.pool)
    say(f"Drawn at random from the {n_pool} most doubtful rows: {counted(n_rows, 'row')} to check.")
    say(f"Next: fill in right, wrong or unsure in {folder / CHECK_FILES[0]}, then")
    say_next("certify", folder, folder / CHECK_FILES[0], first="  ")


def certify(
    audit: Annotated[Path, Argument(help="Folder of the audit, made with --draw-check.")],
    checked: Annotated[
        Path,
        Argument(help="Its check.csv, with every verdict filled in: right, wrong or unsure."),
    ],
    *,
    fdr: Annotated[
        float | None,
        Option(
            min=0,
            max=1,
            help="Allowed share of right labels in the list; by default that of the draw.",
        ),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[
        bool, Option("--force", help="Replace an existing list and certificate.")
    ] = False,
) -> None:
    """List wrong labels with a guarantee, from the rows that you checked."""
    check = read_check(audit, read_audit_folder(audit))
    if fdr not in (None, check.fdr):
        problem = f"is not the {check.fdr:g} that the rows were drawn for"
        advice = "leave it out: a rate that is chosen after the check has no guarantee."
        raise ArgumentError({"fdr": fdr}, problem, advice)
    for name in CERTIFICATE_FILES:
        check_output(audit / name, (checked,), force=force)
    listed = certify_folder(check, checked, audit, spreadsheet_safe=spreadsheet_safe)
    say(str(listed))
    if len(listed.rows):
        say(f"The list, most doubtful first: {audit / CERTIFICATE_FILES[0]}")
    found = counted(len(listed.found_wrong), "checked label")
    say(f"Certificate, with {found} found wrong besides: {audit / CERTIFICATE_FILES[1]}")


def verify(
    certificate: Annotated[Path, Argument(help="A certificate.json, of a list or of a review.")],
    audit: Annotated[
        Path | None, Argument(help="Folder of the audit; by default that of the certificate.")
    ] = None,
) -> None:
    """Compute a certificate again from its audit, and report any difference."""
    found = verify_certificate(certificate, read_audit_folder(audit or certificate.parent))
    say(f"Valid: {found}")
