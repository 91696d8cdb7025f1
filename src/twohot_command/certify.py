"""Commands for reviews with a guarantee: `twohot certify`, `twohot review` and `twohot verify`.

`twohot certify` lists wrong labels, with a bound on the fraction of right labels in the list.
`twohot review` shows a bound on the number of wrong labels that remain during a review. Both write
a certificate, which `twohot verify` verifies.
"""

import webbrowser
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from twohot.audit import (
    CERTIFICATE_FILES,
    CHECK_FILES,
    CertifiedReview,
    certify_folder,
    check_no_draw,
    check_seed,
    extend_check,
    kept_sheets,
    read_audit_folder,
    read_check,
    read_summary,
    rows_needed,
    verify_certificate,
    write_check,
    write_review_page,
)
from twohot.base import ArgumentError, check_output, counted
from twohot.review import ReviewRows
from twohot_command.gate import fraction_of
from twohot_command.sources import ImageFolder, SpreadsheetSafe, image_root
from twohot_command.terminal import Force, fraction, say, say_next


def check_draw(folder: Path, fdr: float | None, seed: int, n_flagged: int) -> None:
    """Raise if no draw of rows to check is possible, even if `n_flagged` labels are flagged."""
    if fdr is None:
        return
    check_seed(seed)
    # The rows are drawn from a pool, which has at least as many rows as are flagged.
    needed = rows_needed(max(n_flagged, 1), fdr, max(n_flagged, 1))
    check_no_draw(folder)
    if 0 < n_flagged <= needed:
        most = f"at most {counted(n_flagged, 'label')} can be flagged"
        problem = f"needs {counted(needed, 'checked row')}, but {most}"
        advice = "review all flagged labels, or pass a larger number."
        raise ArgumentError({"fdr": fdr}, problem, advice)


def draw_for_check(folder: Path, fdr: float | None, seed: int, image_root: Path | None) -> None:
    """Draw rows to check if `fdr` is given, and print the next command."""
    if fdr is None:
        return
    rows = read_audit_folder(folder)
    if not rows.is_label_issue.any():
        say("No rows are drawn to check, because no label is flagged.")
        return
    check = write_check(folder, rows, fdr, seed=seed, image_root=image_root)
    n_rows, n_pool = len(check.draw.rows), len(check.draw.pool)
    pool = f"the {n_pool} most suspicious rows whose suggestion differs from their label"
    say(f"Drawn from {pool}: {counted(n_rows, 'row')} to check.")
    _say_how_to_check(folder)


def _say_how_to_check(folder: Path) -> None:
    """Print what to do with the rows that were drawn."""
    table, _, page = (folder / name for name in CHECK_FILES)
    say(f"Next: give verdicts in {page}, which saves check_done.csv,")
    say(f"or write `right`, `wrong` or `unsure` in each row of {table}, then run")
    say_next("certify", folder, table, first="  ")


def _image_root(audit: Path, rows: ReviewRows, images: Path | None) -> Path | None:
    """Return the folder that image paths of an audit are relative to."""
    return image_root(audit, rows, [Path(), audit, audit / "images", audit.parent], images)


EXAMPLES = (
    "twohot certify checked/ check_done.csv",
    "twohot review checked/ --until 1% --no-open",
    "twohot verify checked/certificate.json",
)


def certify(
    audit: Annotated[Path, Argument(help="Folder of the audit, made with --draw-check.")],
    checked: Annotated[
        Path | None,
        Argument(
            help="Your file of verdicts: check_done.csv, or check.csv with the verdicts in its "
            "last column."
        ),
    ] = None,
    *,
    extend: Annotated[
        int | None,
        Option(
            min=1,
            help="After an empty list: draw more rows, up to this total number of rows to check. "
            "The next list has half the false discovery rate.",
        ),
    ] = None,
    fdr: Annotated[
        float | None,
        fraction("False discovery rate of the list; it must equal --draw-check of the audit."),
    ] = None,
    images: ImageFolder = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """List wrong labels with a guarantee, based on your verdicts on a few rows."""
    if (checked is None) == (extend is None):
        problem = "this command needs either verdicts or an extension"
        advice = "pass the file of your verdicts, or {extend} to draw more rows."
        raise ArgumentError("", problem, advice, extend=...)
    rows = read_audit_folder(audit)
    root = _image_root(audit, rows, images)
    if extend is not None:
        extended = extend_check(audit, rows, extend, image_root=root)
        more = counted(extend - extended.n_checked[-2], "more row")
        rate = f"{extended.level:.4g}"
        say(f"Drawn: {more}. The next list has a false discovery rate of at most {rate}.")
        for sheet in kept_sheets(audit)[-1:]:
            say(f"The check file so far is kept as {sheet}")
        _say_how_to_check(audit)
        return
    check = read_check(audit, rows)
    if fdr not in (None, check.fdr):
        problem = f"differs from {check.fdr:g}, for which the rows were drawn"
        advice = "leave this option out. A rate that is chosen after the draw has no guarantee."
        raise ArgumentError({"fdr": fdr}, problem, advice)
    table, made, page = (audit / name for name in CERTIFICATE_FILES)
    # The next attempt may replace the certificate of an empty list.
    is_replaced = force or check.replaces(made)
    for path in (table, made, page):
        check_output(path, (checked,), force=is_replaced)
    how: dict[str, Any] = {"spreadsheet_safe": spreadsheet_safe, "image_root": root}
    listed = certify_folder(check, checked, audit, **how)
    say(str(listed))
    if len(listed.rows):
        say(f"List, most suspicious first: {table}")
    say(f"Bounds for lists of other lengths: {page}")
    found = counted(len(listed.found_wrong), "checked label")
    say(f"Certificate of the list, which also has {found} found to be wrong: {made}")


def verify(
    certificate: Annotated[
        Path, Argument(help="File certificate.json of `twohot certify` or `twohot review`.")
    ],
    source: Annotated[
        Path | None,
        Argument(
            help="Folder of the audit or file of labels; by default the certificate's folder."
        ),
    ] = None,
) -> None:
    """Verify a certificate: compute it again from the audit, and report differences."""
    data = source if source is not None and source.is_file() else None
    folder = certificate.parent if data is not None or source is None else source
    has_audit = data is None or (folder / "summary.json").exists()
    rows = read_audit_folder(folder) if has_audit else None
    found = verify_certificate(certificate, rows, data=data)
    say(f"Valid: {found}")
    if not isinstance(found, CertifiedReview):
        return
    if rows is None:
        say("The order of the list was not compared; the bound holds for any order.")
    if found.corrected is None:
        say("The bound assumes that all verdicts are right.")
    else:
        rate, most = found.corrected.disagreement, found.corrected.bound
        say(
            f"Of the rows that were shown twice, {rate:.1%} have two different verdicts. If the "
            "reviewer errs equally often on all rows, the bound corrected for such errors is "
            f"{counted(most, 'wrong label')}."
        )


def review(
    audit: Annotated[Path, Argument(help="Folder of the audit.")],
    *,
    until: Annotated[
        str,
        Option(
            metavar="<fraction>", help="Fraction of the labels that may remain wrong, such as 1%."
        ),
    ],
    twice: Annotated[
        str,
        Option(
            metavar="<fraction>",
            help="Fraction of the rows that you review twice, to estimate how often you err.",
        ),
    ] = "0%",
    images: ImageFolder = None,
    seed: Annotated[int, Option(min=0, help="Random seed of the rows that are drawn.")] = 0,
    no_open: Annotated[
        bool, Option("--no-open", help="Do not open the page in a browser.")
    ] = False,
) -> None:
    """Review until few labels are still wrong; the page shows an upper bound on how many are."""
    rows = read_audit_folder(audit)
    noise_rate = read_summary(audit / "summary.json")["noise_rate"]
    page = write_review_page(
        audit,
        rows,
        until=fraction_of("until", until),
        seed=seed,
        twice=fraction_of("twice", twice),
        n_wrong=None if noise_rate is None else noise_rate * (rows.n_rows - rows.n_unlabelled),
        image_root=_image_root(audit, rows, images),
    )
    percent = f"{100 * fraction_of('until', until):.4g}%"
    say(f"Review until at most {percent} of the labels are wrong: {page}")
    say("Save certificate.json and the decisions there, then run")
    say_next("verify", "certificate.json", audit, first="  ")
    if not no_open:
        webbrowser.open(page.resolve().as_uri())
