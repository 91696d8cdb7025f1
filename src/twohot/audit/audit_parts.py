"""The folder of an audit that is larger than memory: the full table is a folder of Parquet files.

    report.html       the most doubtful of the flagged rows, for a browser
    issues.parquet/   one file for each part of the source, one line per row
    summary.json      the numbers of the report and its name, as those of any audit

Files appear in this order: the parts, the report, the summary. An audit that was stopped goes on
with the parts that are there.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twohot._checks.labels import Labels
from twohot._files import json_safe, write_json
from twohot.audit.audit_folder import FILES, ISSUE_PARTS, UNFINISHED, summary_fields
from twohot.review.page import write_review
from twohot.review.records import ReviewRows, ReviewSummary
from twohot.tables.part_folder import PartFolder, begin_parts, check_parts


def check_audit_parts(folder: Path, about: Mapping[str, Any], n_parts: int, *, force: bool) -> None:
    """Raise if `begin_audit_parts` would, and leave what is there."""
    check_parts(folder / ISSUE_PARTS, {"kind": "issues", **about}, n_parts, force=force)


def begin_audit_parts(
    folder: Path, about: Mapping[str, Any], n_parts: int, *, force: bool
) -> PartFolder:
    """Return where the parts of an audit are written; what else an earlier audit left is gone."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = begin_parts(folder / ISSUE_PARTS, {"kind": "issues", **about}, n_parts, force=force)
    (folder / UNFINISHED).touch()
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    return parts


def write_parts_report(
    folder: Path, rows: ReviewRows, summary: ReviewSummary, **pictures: Any
) -> str:
    """Write the report on rows whose parts are written, and the summary; return its name."""
    report = write_review(folder / "report.html", rows, summary, **pictures)
    fields = summary_fields(rows, summary, report) | {"issues": ISSUE_PARTS}
    write_json(folder / "summary.json", json_safe(fields))
    (folder / UNFINISHED).unlink()
    return report


def labels_digest(labels: Labels) -> str:
    """Return what labels are known by."""
    names = json.dumps([str(name) for name in labels.classes.tolist()])
    return hashlib.sha256(names.encode() + labels.codes.astype("<i8").tobytes()).hexdigest()
