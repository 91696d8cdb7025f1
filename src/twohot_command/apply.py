"""`twohot apply`: apply the decisions of a review to labels."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from shlex import join
from typing import Annotated, Any

from typer import Argument, Option

from twohot.audit import FILES, ISSUE_PARTS, read_audit_folder, read_summary, write_reviewed
from twohot.base import (
    ArgumentError,
    as_url,
    check_output,
    counted,
    file_digest,
    first_few,
    other_spellings,
)
from twohot.review import (
    BEFORE,
    SETTLED,
    Applied,
    CorrectedFile,
    MergedReviews,
    ReviewRows,
    accept_above,
    apply_decisions,
    merge_reviews,
    open_own_parts,
    read_decisions,
    write_corrected_file,
    write_disputed,
    write_settle_page,
    write_sorted_folder,
)
from twohot.tables import (
    CORRECTABLE_ENDINGS,
    PATH,
    SUFFIX,
    begin_parts,
    is_parquet_source,
    open_files,
    parts_in_words,
    read_record,
)
from twohot_command.parts import check_apart, writing_parts
from twohot_command.sources import SpreadsheetSafe, image_root, option_words, spellings_in_words
from twohot_command.terminal import Force, Quiet, fraction, note, say, say_next

# Default output in the folder of the audit. There, `twohot audit` wrote corrected.csv before the
# review.
DEFAULT_OUTPUT = "reviewed.csv"
# Endings of two files next to the output: a table of the rows on which reviewers disagree, and a
# page for their final decisions.
DISPUTED = ".disagreements.csv"
SETTLE_PAGE = ".settle.html"
# Files of the audit that a later `twohot apply` needs, so they are never replaced.
AUDIT_FILES = tuple(name for name in FILES if name != "corrected.csv")

EXAMPLES = (
    "twohot apply decisions.csv --audit audit/ --to tickets.csv -o tickets_clean.csv",
    "twohot apply --accept-all 0.9 --audit audit/ -o labels.csv",
)


def apply(
    decisions: Annotated[
        list[Path] | None,
        Argument(
            help="CSV files of decisions that the report exported, one file per reviewer; optional "
            "with --accept-all."
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="File or folder to write. Without --to, it is a CSV file of labels, by default "
            f"{DEFAULT_OUTPUT} in the folder of the audit.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        Option(
            help="Folder of the audit; by default the folder of the first file of decisions if an "
            "audit is there, else the current folder."
        ),
    ] = None,
    accept_all: Annotated[
        float | None,
        fraction(
            "Also accept the suggestions of rows without a decision, if the probability that the "
            "label is wrong and the probability that the suggestion is right are both at least "
            "this number."
        ),
    ] = None,
    to: Annotated[
        Path | None,
        Option(
            help=f"Your data, of which a corrected copy is written: a {CORRECTABLE_ENDINGS} file, "
            "a folder of images or a folder of Parquet files."
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        Option(help="Column of labels in the --to file; by default the column that was audited."),
    ] = None,
    drop_excluded: Annotated[
        bool,
        Option(
            "--drop-excluded",
            help="Leave out the rows that a reviewer excluded; by default they stay, without a "
            "label.",
        ),
    ] = False,
    quiet: Quiet = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Write the decisions of a review into a copy of your data."""
    files = decisions or []
    _check_asked(files, accept_all, to, output, spreadsheet_safe=spreadsheet_safe)
    beside = files[0].parent if files else Path()
    folder = audit or (beside if (beside / "summary.json").exists() else Path())
    target = output or folder / DEFAULT_OUTPUT
    reviews = {str(file): read_decisions(file) for file in files}
    fields = read_summary(folder / "summary.json")
    container = _container_of(to, fields)
    inputs = (*files, to, *(folder / name for name in AUDIT_FILES))
    if container == "parts":
        check_apart(target, [to, folder / ISSUE_PARTS])
    elif container != "images":
        check_output(target, inputs, force=force)
    rows = read_audit_folder(folder)
    merged = merge_reviews(rows, reviews)
    # Write the disagreements next to the output; if the output is a URL, in the audit's folder.
    place = folder / target.name if "://" in as_url(target) else target
    disputed = [place.with_name(f"{place.stem}{end}") for end in (DISPUTED, SETTLE_PAGE)]
    for path in disputed if merged.disputed else []:
        check_output(path, inputs, force=force)
    made = list(merged.decisions)
    if accept_all is not None:
        made += accept_above(rows, accept_all, chain.from_iterable(reviews.values()))
    applied = apply_decisions(rows, made)
    columns: dict[str, Any] = {"label_column": label_column, "drop_excluded": drop_excluded}
    done = ""
    if to is None:
        guard = {"spreadsheet_safe": spreadsheet_safe}
        write_reviewed(target, rows, applied, drop_excluded=drop_excluded, **guard)
    elif container == "parts":
        about = {"report": fields["report"], "accept_all": accept_all}
        about["decisions"] = [file_digest(file) for file in files]
        # A report on a table in parts shows only some rows, and its name depends on them alone. The
        # record of the table identifies the whole audit.
        about["audit"] = read_record(folder / ISSUE_PARTS) if fields["issues"] else None
        how: dict[str, Any] = {"force": force, "quiet": quiet}
        done = _correct_parts(to, target, (rows, applied), about, columns, **how)
    elif container == "images":
        done = _sort_folder(to, target, rows, applied)
    else:
        done = _columns(write_corrected_file(to, target, rows, applied, **columns), applied, rows)
    say(_counts(applied, rows, left_out=drop_excluded or container == "images"))
    say(f"Written to {target}{done}")
    if container == "images":  # an existing copy of an image folder is never replaced
        target = target.with_name(f"{target.name}_settled")
    asked = {"audit": folder, "to": to, "output": target, "force": container != "images", **columns}
    asked |= {"accept_all": accept_all, "spreadsheet_safe": spreadsheet_safe}
    _say_merged(disputed, rows, merged, files, asked)
    _say_spellings(applied, rows)
    if drop_excluded and to is None and applied.excluded.any():
        kept = "excluded rows keep their label if you pass this file as --labels, because it has no"
        note(f"{kept} line for them. Without --drop-excluded, they lose their label.")


def _check_asked(
    files: Sequence[Path],
    accept_all: float | None,
    to: Path | None,
    output: Path | None,
    *,
    spreadsheet_safe: bool,
) -> None:
    """Raise if there are no decisions to apply, or if an option contradicts --to."""
    if not files and accept_all is None:
        problem, advice = "there is nothing to apply", "pass a decisions file or {accept_all}."
        raise ArgumentError("", problem, advice, accept_all=...)
    if to is None:
        return
    if spreadsheet_safe:
        problem, advice = "changes only labels in the copy", "leave {spreadsheet_safe} out."
        raise ArgumentError({"to": to}, problem, advice, spreadsheet_safe=True)
    if not to.exists() and "://" not in as_url(to):
        raise ArgumentError({"to": to}, "does not exist", "check the path of your data.")
    if output is None:
        problem, advice = "needs another path for the corrected copy", "pass {output}."
        raise ArgumentError({"to": to}, problem, advice, output=...)


def _container_of(to: Path | None, fields: Mapping[str, Any]) -> str:
    """Return the kind of data at `to`: "images", "parts" (Parquet) or "file"; "" without `to`."""
    if to is None:
        return ""
    # If ids are paths, the source is a folder of images, even if it has Parquet files.
    is_large = fields["issues"] != "" and to.suffix == SUFFIX
    if fields["id_kind"] != PATH and (is_parquet_source(to) or is_large):
        return "parts"
    return "images" if to.is_dir() else "file"


def _correct_parts(
    to: Path,
    target: Path,
    reviewed: tuple[ReviewRows, Applied],
    about: Mapping[str, Any],
    columns: Mapping[str, Any],
    *,
    force: bool,
    quiet: bool,
) -> str:
    """Write copies of a user's Parquet files with corrected labels; return text on the result.

    `about` identifies the run, so that only the same run continues an interrupted copy.
    """
    rows, applied = reviewed
    source = open_files([to])
    parts = CorrectedFile(open_own_parts(source, to), rows, applied, **columns)
    about = {"kind": "corrected", "source": source.digest(), **columns, **about}
    folder = begin_parts(target, about, len(parts.parts), force=force)
    n_missing = len(folder.missing())
    with writing_parts(folder, quiet=quiet) as done:
        parts.write_missing(folder, done)
    return f" ({parts_in_words(folder, n_missing)}){_columns(parts, applied, rows)}"


def _columns(written: CorrectedFile, applied: Applied, rows: ReviewRows) -> str:
    """Return text on the columns of the new and old labels, and on rows that were not audited."""
    done = f": labels in column {written.label_column!r}, old labels in {written.before_column!r}"
    if written.before_column != BEFORE:
        done += f" ({BEFORE!r} already exists, perhaps from an earlier correction)"
    new = applied.classes[len(rows.classes) :]
    if written.new_classes != new:  # for a file with label positions
        numbers = zip(new, written.new_classes, strict=True)
        written_as = ", ".join(f"{name!r} is written as {number}" for name, number in numbers)
        done += f". New classes in this column: {written_as}"
    if written.n_not_audited:
        keep = "keeps its label" if written.n_not_audited == 1 else "keep their labels"
        done += f". {counted(written.n_not_audited, 'row')} not in the audit {keep}"
    return done


def _sort_folder(to: Path, target: Path, rows: ReviewRows, applied: Applied) -> str:
    """Link or copy the user's images into a folder per class; return text on the result."""
    made = write_sorted_folder(to, target, rows, applied)
    how = "linked" if not made.n_copied else f"{made.n_copied} of them copied, the others linked"
    done = f": {counted(made.n_images, 'image')}, {how}"
    if made.left_out:
        done += f". Left out (no label, excluded, or not audited): {first_few(made.left_out)}"
    if made.unusual:
        done += f". Windows does not allow folders named {first_few(made.unusual)}"
    return done


def _say_merged(
    disputed: Sequence[Path],
    rows: ReviewRows,
    merged: MergedReviews,
    files: Sequence[Path],
    asked: Mapping[str, Any],
) -> None:
    """Print the agreement of the reviewers, and write their disagreements to two files."""
    if len(merged.agreement.reviewers) > 1:
        say(str(merged.agreement))
    if not merged.disputed:
        # Keep the page of an earlier run: a user can read and change final decisions in it.
        stale = [str(path) for path in disputed if path.exists()]
        if stale:
            are = "is" if len(stale) == 1 else "are"
            old = f"{' and '.join(stale)} of an earlier run {are} out of date"
            note(f"the reviewers have no disagreement that is left to settle, so {old}.")
        return
    table, page = disputed
    settled = f"decisions-{rows.report_id()}{SETTLED}.csv"
    # A later export of the page has the same name and includes the earlier decisions.
    others = [str(file) for file in files if file.name != settled]
    words = ["apply", *others, settled, *option_words(asked)]
    # Double the braces, because the page formats this text.
    next_step = f"twohot {join(words)}".replace("{", "{{").replace("}", "}}")
    to, folder = asked["to"], asked["audit"]
    places = [*([] if to is None else [to, to.parent]), Path(), folder.parent]
    root = image_root(folder, rows, places, default=Path())
    write_disputed(table, rows, merged)
    write_settle_page(page, rows, merged, image_root=root, next_step=next_step)
    keep = "keeps its given label" if len(merged.disputed) == 1 else "keep their given labels"
    say(f"Reviewers disagree on {counted(len(merged.disputed), 'row')}, which {keep}: {table}")
    say(f"Settle the disagreements in {page}, export the decisions, then run")
    say_next(*words, first="  ")


def _say_spellings(applied: Applied, rows: ReviewRows) -> None:
    """Print a note on each new class that is possibly another spelling of a known class."""
    for group in other_spellings(applied.classes):
        *others, last = (applied.classes[code] for code in group)
        if group[-1] >= len(rows.classes):  # new classes come last
            likely = f"is possibly another spelling of {first_few(others)}"
            note(f"the new class {last!r} {likely}.")


def _counts(applied: Applied, rows: ReviewRows, *, left_out: bool) -> str:
    """Return text that counts the applied decisions, changed labels and undecided rows."""
    counts, new = applied.n_decided, applied.classes[len(rows.classes) :]
    relabelled = f"{counts['relabel'] + counts['new_class']} relabelled"
    done = [
        f"{counted(counts['accept'], 'suggestion')} accepted",
        f"{counted(counts['second'], 'second candidate')} taken",
        f"{relabelled}, new classes {first_few(new)}" if new else relabelled,
        f"{counted(counts['reject'], 'given label')} kept",
    ]
    if counts["exclude"]:
        where = "left out" if left_out else "without a label now"
        done.append(f"{counted(counts['exclude'], 'row')} excluded, {where}")
    kept = "keeps its given label" if applied.n_open == 1 else "keep their given label"
    spelled = spellings_in_words({**rows.spellings, **applied.spellings}, {})
    respelt = f" ({counted(applied.n_respelt, 'undecided row')})" if applied.spellings else ""
    merged = f"Spellings merged: {spelled}{respelt}.\n" if spelled else ""
    now = "has" if applied.n_changed == 1 else "have"
    return merged + (
        f"{counted(sum(counts.values()), 'row')} decided: {', '.join(done)}.\n"
        f"{applied.n_changed} of {counted(rows.n_rows, 'row')} {now} a label of another class now; "
        f"{counted(applied.n_open, 'flagged row')} without a decision {kept}."
    )
