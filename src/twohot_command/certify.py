"""`twohot certify` and `twohot verify`: a list of wrong labels with a guarantee, from a check."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from twohot.audit import (
    CERTIFICATE_FILES,
    certify_folder,
    read_audit_folder,
    read_check,
    verify_certificate,
)
from twohot.base import ArgumentError, check_output, counted
from twohot_command.sources import SpreadsheetSafe
from twohot_command.terminal import say


def certify(
    audit: Annotated[Path, Argument(help="Folder of the audit, made with --draw-check.")],
    checked: Annotated[
        Path,
        Argument(help="Its check.csv, each verdict filled in: right, wrong or unsure."),
    ],
    *,
    fdr: Annotated[
        float | None,
        Option(min=0, max=1, help="Share of right labels in the list; that of the draw."),
    ] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[bool, Option("--force", help="Replace the list and certificate.")] = False,
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
    certificate: Annotated[Path, Argument(help="A certificate.json of `twohot certify`.")],
    audit: Annotated[
        Path | None, Argument(help="Folder of the audit; else that of the certificate.")
    ] = None,
) -> None:
    """Compute a certificate again from its audit, and say whether all of it agrees."""
    listed = verify_certificate(certificate, read_audit_folder(audit or certificate.parent))
    say(f"Valid: {listed}")
