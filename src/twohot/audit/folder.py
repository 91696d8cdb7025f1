"""The folder of an audit: `twohot audit` writes it and `twohot apply` reads it.

    report.html     the review page, for a browser
    issues.csv      one line per row of the data: the given label and the results of the audit
    findings.csv    other issues: one line per row, copy or pair of classes
    corrected.csv   id, item, label: labels with the suggestions that need no review
    summary.json    the numbers of the report, its name, and the sha256 of the given labels

Every file is written atomically. summary.json is written last and contains the name of the report.
This name is a digest of the rows in issues.csv, so that files of two different audits in one folder
are detected.

If the data is larger than memory, the folder has other files, written in this order:

    issues.parquet/  report.html  summary.json

issues.parquet is a folder with one Parquet file, or *part*, for each file of the data. The report
has only the most suspicious of the flagged rows. An interrupted audit continues with the parts that
are missing.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from twohot.audit.issue_files import audit_tables, read_issue_parts, read_issues
from twohot.base import (
    ArgumentError,
    FileThereError,
    cause_of,
    check_choice,
    check_names,
    check_regular,
    check_writable,
    final_path,
    json_safe,
    parse_json,
    write_json,
)
from twohot.review import ReviewRows, ReviewSummary, write_review
from twohot.tables import (
    COLUMN,
    ID_KINDS,
    PartFolder,
    begin_parts,
    check_parts,
    remove_parts,
    write_csv,
)

FORMAT_VERSION = 3
FILES = ("report.html", "issues.csv", "findings.csv", "corrected.csv", "summary.json")
# A folder that is written instead of issues.csv if the data is larger than memory.
ISSUE_PARTS = "issues.parquet"
# This file exists until an audit is finished. If it exists, files are replaced without `force`.
UNFINISHED = ".unfinished_audit"
DIGEST = "given_labels_sha256"
# Required fields of summary.json, and their types.
FIELD_TYPES = {
    **dict.fromkeys(("report", DIGEST, "item_kind", "id_kind", "id_column"), str),
    "classes": list,
    "has_items": bool,
    "spellings": dict,
}
# Optional fields of a summary, and their default values. Version 0.1 wrote no spellings.
ABSENT: dict[str, Any] = {"issues": "", "noise_rate": None, "spellings": {}}


def write_audit_folder(
    folder: str | os.PathLike[str],
    rows: ReviewRows,
    summary: ReviewSummary,
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
    **pictures: Any,
) -> str:
    """Write the folder of an audit whose rows are in memory; return the name of the report.

    If `force` is True, the files of an earlier audit are replaced. If `spreadsheet_safe` is True,
    CSV cells that a spreadsheet would run as a formula are protected. `pictures` are the arguments
    `image_root` and `embed_limit` of `write_review`.
    """
    target = Path(folder)
    check_audit_folder(target, force=force)
    target.mkdir(parents=True, exist_ok=True)
    (target / UNFINISHED).touch()
    report = write_review(target / "report.html", rows, summary, **pictures)
    for name, (columns, lines) in audit_tables(rows, summary).items():
        write_csv(target / name, columns, lines, spreadsheet_safe=spreadsheet_safe)
    write_json(target / "summary.json", json_safe(summary_fields(rows, summary, report)))
    if (target / ISSUE_PARTS).is_dir():
        remove_parts(target / ISSUE_PARTS)
    (target / UNFINISHED).unlink()
    return report


def check_audit_folder(folder: Path, inputs: Iterable[Path | None] = (), *, force: bool) -> None:
    """Raise if an audit cannot be written to `folder`, or would replace one of the `inputs`."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError("", f"{folder} is a file", "pass the name of a folder.")
    written = [(folder / name).resolve() for name in (*FILES, ISSUE_PARTS)]
    for path in filter(None, inputs):
        if any(path.resolve().is_relative_to(output) for output in written):
            problem = f"{path} is an input and would be replaced by the audit in {folder}"
            raise ArgumentError("", problem, "choose another folder.")
    present = [name for name in FILES if (folder / name).exists()]
    for name in present:
        final_path(folder / name)  # raises if the path cannot be replaced by a file
    if present and not force and not (folder / UNFINISHED).exists():
        problem = f"{folder} already holds {', '.join(present)}"
        advice = "choose another folder, or pass {force} to replace these files."
        raise FileThereError("", problem, advice, force=True)
    check_writable(folder, {"output": folder})


def read_audit_folder(folder: str | os.PathLike[str]) -> ReviewRows:
    """Return the rows in the folder of an audit; raise unless they are the rows of its report.

    Text that is not valid UTF-8 is escaped.
    """
    source = Path(folder)
    fields = read_summary(source / "summary.json")
    if fields["issues"] == ISSUE_PARTS:
        return read_issue_parts(str(source / ISSUE_PARTS), fields)
    rows = read_issues(source / "issues.csv", fields)
    if (rows.report_id(), rows.given_labels_digest()) != (fields["report"], fields[DIGEST]):
        problem = f"{source / 'issues.csv'} and summary.json have different rows or given labels"
        raise ValueError(f"{problem}: a file was changed, so run the audit again.")
    return rows


def check_audit_parts(folder: Path, about: Mapping[str, Any], n_parts: int, *, force: bool) -> None:
    """Raise the errors that `begin_audit_parts` would raise, but change no file."""
    check_parts(folder / ISSUE_PARTS, {"kind": "issues", **about}, n_parts, force=force)


def begin_audit_parts(
    folder: Path, about: Mapping[str, Any], n_parts: int, *, force: bool
) -> PartFolder:
    """Return the folder for the parts of an audit; remove the other files of an earlier audit."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = begin_parts(folder / ISSUE_PARTS, {"kind": "issues", **about}, n_parts, force=force)
    (folder / UNFINISHED).touch()
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    return parts


def write_parts_report(
    folder: Path, rows: ReviewRows, summary: ReviewSummary, *, checkpoint: Path, **pictures: Any
) -> str:
    """Write the report and the summary of an audit in parts; return the name of the report.

    The `checkpoint` of the fit is removed before the audit is marked as finished.
    """
    report = write_review(folder / "report.html", rows, summary, **pictures)
    fields = summary_fields(rows, summary, report) | {"issues": ISSUE_PARTS}
    write_json(folder / "summary.json", json_safe(fields))
    checkpoint.unlink(missing_ok=True)  # an audit of few rows writes no checkpoint
    (folder / UNFINISHED).unlink()
    return report


def summary_fields(rows: ReviewRows, summary: ReviewSummary, report: str) -> dict[str, Any]:
    """Return the content of summary.json."""
    counts = summary.counts or rows.counts()
    return {
        "format_version": FORMAT_VERSION,
        "report": report,
        DIGEST: rows.given_labels_digest(),
        "title": summary.title,
        "n_rows": counts.n_rows,
        "n_unlabelled": counts.n_unlabelled,
        "n_issues": counts.n_flagged,
        "n_undecided": counts.n_undecided,
        "noise_rate": summary.noise_rate,
        "noise_interval": summary.noise_interval,
        "classes": rows.classes,
        "spellings": rows.spellings,
        "has_items": rows.items is not None,
        "item_kind": rows.item_kind,
        "id_kind": rows.ids.kind,
        "id_column": rows.ids.column,
        "corruption": summary.corruption,
        "methods": [asdict(method) for method in summary.methods],
        "choice": None if summary.choice is None else asdict(summary.choice),
        "messages": summary.messages,
        "details": summary.details,
    }


def read_summary(path: Path) -> dict[str, Any]:
    """Return the fields of summary.json; raise if the file is damaged.

    If the table of all rows is in parts, the field `issues` is the name of their folder.
    """
    if not path.exists():
        advice = "pass the folder that `twohot audit` wrote."
        raise FileNotFoundError(f"{path} does not exist: {advice}")
    check_regular(path)
    try:
        written = parse_json(path.read_text(encoding="utf-8"))
        version = written["format_version"]
        fields = {**ABSENT, **written}
        for name, kind in FIELD_TYPES.items():
            if not isinstance(fields[name], kind):
                raise ArgumentError({name: fields[name]}, "has a type that twohot does not write")
        check_names("classes", fields["classes"])
        check_choice("id_kind", fields["id_kind"], ID_KINDS)
        if bool(fields["id_column"]) != (fields["id_kind"] == COLUMN):
            named = {"id_column": fields["id_column"], "id_kind": fields["id_kind"]}
            raise ArgumentError(named, "contradict each other")
    except (ValueError, LookupError, TypeError) as error:
        problem = f"{path} is not the summary of an audit ({cause_of(error)})"
        raise ValueError(f"{problem}: run the audit again.") from error
    if version != FORMAT_VERSION:
        other = f"format_version {version!r}, but this version of twohot reads {FORMAT_VERSION}"
        raise ValueError(f"{path} has {other}: run the audit again.")
    return fields
