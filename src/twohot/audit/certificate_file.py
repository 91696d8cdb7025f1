"""A check and its certificate as files: what was drawn, the verdicts, and the list that follows.

    check.csv         id, item, given_label, verdict: a person fills the last column in
    check.json        what fixes the draw: rate, rows, seed, digest of the doubts and labels
    certified.csv     the list: id, item, given_label, suggested_label
    certificate.json  check.json, the verdicts, and what follows; `verify_certificate` redoes it

The certificate of a review has its seed, its log of row, kind and verdict, and the bound.

The files are in the folder of the audit. All that theorem 1 needs to be fixed before the check is
in check.json, so that a change of doubts, labels, seed or rate afterwards is refused.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.audit.checked_rows import Given, check_checked, read_checked
from twohot.audit.guaranteed_list import (
    POOL_PER_FLAGGED,
    CheckDraw,
    GuaranteedList,
    certify,
    draw_check,
    rows_needed,
    smallest_list,
)
from twohot.audit.remaining import CertifiedReview, Look
from twohot.base import (
    ArgumentError,
    BoolArray,
    FileThereError,
    FloatArray,
    IntArray,
    as_text,
    cause_of,
    check_count,
    counted,
    first_few,
    is_missing,
    parse_json,
    write_json,
)
from twohot.review import ReviewRows
from twohot.tables import RowIds, csv_columns, frame_columns, unguarded, write_csv

CHECK_FILES = ("check.csv", "check.json")
CERTIFICATE_FILES = ("certified.csv", "certificate.json")
FORMAT_VERSION = 1
CHECK_COLUMNS = ("id", "item", "given_label", "verdict")
LIST_COLUMNS = ("id", "item", "given_label", "suggested_label")
# What check.csv asks for; "unsure" counts as right.
WORDS = {"right": Given.RIGHT, "wrong": Given.WRONG, "unsure": Given.RIGHT}


@dataclass(frozen=True, eq=False)
class FolderCheck:
    """The check of an audit in a folder."""

    rows: ReviewRows
    draw: CheckDraw
    fdr: float  # fixed with the draw


# A draw of the rows of an audit -------------------------------------------------------------------


def plan_check(
    label_quality: FloatArray,
    n_flagged: int,
    fdr: float,
    *,
    n_checked: int | None = None,
    seed: int = 0,
) -> CheckDraw:
    """Draw the rows of an audit to check for a list with a guarantee.

    Parameters
    ----------
    label_quality : array of shape (n_rows,)
        The smaller, the more doubtful; NaN for rows without a label.
    n_flagged : int
        How many labels the audit flags, which is about the length of the list.
    fdr : float
        The mean share of right labels that the list may have.
    n_checked : int, optional
        Rows to draw; by default as many as most of the list needs.
    seed : int
        Of the draw.
    """
    if not n_flagged:
        problem = "is the rate of a list, and this audit flags no label"
        raise ArgumentError({"fdr": fdr}, problem, "leave it out: there is nothing to list.")
    if n_checked is not None:
        check_count("n_checked", n_checked, 1)
    else:
        n_checked = rows_needed(
            math.ceil(POOL_PER_FLAGGED * n_flagged), fdr, list_size=n_flagged
        ).advised
    if n_checked >= n_flagged:
        problem = (
            f"needs {counted(n_checked, 'checked row')}, no less than the "
            f"{counted(n_flagged, 'label')} that are flagged"
        )
        raise ArgumentError({"fdr": fdr}, problem, "review all of these, or pass a larger rate.")
    draw = draw_check(-label_quality, n_flagged, n_checked, seed=seed)
    smallest = smallest_list(len(draw.pool), n_checked, fdr)
    if smallest > min(n_flagged, draw.n_left):
        problem = (
            f"certifies no list of fewer than {counted(smallest, 'label')}, and {n_flagged} are "
            "flagged"
        )
        advice = "pass a larger number or rate, or review all that are flagged."
        raise ArgumentError({"n_checked": n_checked, "fdr": fdr}, problem, advice)
    return draw


def verdicts_of_draw(
    checked: Any,
    draw: CheckDraw,
    given: IntArray,
    classes: NDArray[Any],
    ids: RowIds,
) -> BoolArray:
    """Return which labels of the drawn rows are wrong, of whatever a user passes.

    Parameters
    ----------
    checked : mapping, path or data frame
        From the id of a row to "right", "wrong", "unsure" or its true label; or a file or frame
        with the columns `id` and `verdict`, as check.csv has them; or the decisions of a review.
        "unsure" counts as right. Case and blanks around the three words do not matter. They mean
        no class in a file or frame. In a mapping they do where a class is called so.
    draw : CheckDraw
        The rows that were to be checked: these, and no others.
    given, classes, ids
        Of the rows of the audit, as for `check_checked`.
    """
    words = WORDS
    if isinstance(checked, Mapping):
        known = set(map(_plain_word, classes.tolist()))
        words = {word: meant for word, meant in WORDS.items() if word not in known}
    said = [
        (row, words.get(_plain_word(verdict), verdict))
        for row, verdict in _pairs(checked)
        if isinstance(verdict, Given) or (not is_missing(verdict) and as_text(verdict).strip())
    ]
    found = check_checked(said, given, classes, ids=ids)
    others = found.rows[~np.isin(found.rows, draw.rows)]
    if len(others):
        names = first_few([ids[row] for row in others])
        problem = f"has {counted(len(others), 'row')} that the draw does not have ({names})"
        advice = "pass the rows that were drawn, all of them and no others."
        raise ArgumentError("checked", problem, advice)
    missing = draw.rows[~np.isin(draw.rows, found.rows)]
    if len(missing):
        n_drawn = counted(len(draw.rows), "row")
        names = first_few([ids[row] for row in missing])
        problem = f"has no verdict on {len(missing)} of the {n_drawn} that were drawn ({names})"
        advice = 'check them, or say "unsure", which counts as right.'
        raise ArgumentError("checked", problem, advice)
    return np.asarray(found.wrong[np.searchsorted(found.rows, draw.rows)])


def _plain_word(verdict: Any) -> str:
    return as_text(verdict).strip().lower()


def _pairs(checked: Any) -> list[tuple[Any, Any]]:
    """Return rows and verdicts: of a mapping, a file with verdicts, or decisions of a review."""
    if isinstance(checked, Mapping):
        return list(checked.items())
    is_path = isinstance(checked, str | os.PathLike)
    columns = csv_columns(Path(checked)) if is_path else frame_columns(checked)
    if not {"id", "verdict"} <= set(columns):
        return read_checked(checked)
    cells = zip(columns["id"].tolist(), columns["verdict"].tolist(), strict=True)
    return [(unguarded(as_text(row)), verdict) for row, verdict in cells]


# The files of a folder ----------------------------------------------------------------------------


def doubts_digest(rows: ReviewRows) -> str:
    """Return what the order of the rows, their labels and what they are called are known by."""
    known = hashlib.sha256(repr((rows.id_texts(), rows.classes)).encode())
    known.update(rows.label_quality.astype("<f8").tobytes())
    known.update(rows.given_labels.astype("<i8").tobytes())
    known.update(rows.is_label_issue.tobytes())
    return known.hexdigest()


def check_no_draw(folder: Path) -> None:
    """Raise if a folder has a draw: a second one voids the guarantee of both.

    A check.json alone was left by a command that was stopped, which may be repeated.
    """
    if (folder / "check.csv").exists():
        raise _drawn_already(folder)


def _drawn_already(folder: Path) -> FileThereError:
    there = " and ".join(name for name in CHECK_FILES if (folder / name).exists())
    problem = f"{folder} already holds {there}, and a second draw voids both"
    return FileThereError("", problem, "fill that one in, or choose another folder.")


def write_check(
    folder: Path,
    rows: ReviewRows,
    fdr: float,
    *,
    n_checked: int | None = None,
    seed: int = 0,
    spreadsheet_safe: bool = False,
) -> FolderCheck:
    """Draw rows to check and write check.json and check.csv, in this order.

    A check.json that is there alone must be of the same draw.
    """
    check_no_draw(folder)
    quality, n_flagged = rows.label_quality, int(rows.is_label_issue.sum())
    draw = plan_check(quality, n_flagged, fdr, n_checked=n_checked, seed=seed)
    fields = {"fdr": fdr, "n_checked": len(draw.rows), "seed": seed, "digest": doubts_digest(rows)}
    fixed = folder / "check.json"
    if fixed.exists() and not fields.items() <= _read(fixed).items():
        raise _drawn_already(folder)
    _write(fixed, fields)
    ids = rows.id_texts()
    # In the order of the rows: that of the draw, or of the doubts, would tell the reviewer more.
    lines = (
        (ids[row], rows.item(row), rows.label_name(int(rows.given_labels[row])), "")
        for row in np.sort(draw.rows).tolist()
    )
    write_csv(folder / "check.csv", CHECK_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)
    return FolderCheck(rows, draw, fdr)


def read_check(folder: Path, rows: ReviewRows) -> FolderCheck:
    """Return the check of a folder, which must be of its audit as it is now."""
    fields = _read(folder / "check.json")
    _check_digest(fields, folder / "check.json", rows)
    return _check_of(fields, rows)


def _check_digest(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> None:
    if fields.get("digest") != doubts_digest(rows):
        problem = f"{path} is of another audit: labels or doubts changed after the draw"
        advice = "pass the audit as it was, or draw and check again in another folder."
        raise ArgumentError("", problem, advice)


def _check_of(fields: Mapping[str, Any], rows: ReviewRows) -> FolderCheck:
    """Draw the rows of a check again."""
    n_flagged = int(rows.is_label_issue.sum())
    asked = {"n_checked": fields["n_checked"], "seed": fields["seed"]}
    draw = plan_check(rows.label_quality, n_flagged, fields["fdr"], **asked)
    return FolderCheck(rows, draw, fields["fdr"])


def _write(path: Path, fields: Mapping[str, Any]) -> None:
    known = {"format_version": FORMAT_VERSION, **fields}
    write_json(path, {**known, "sha256": _fields_digest(known)})


def _fields_digest(fields: Mapping[str, Any]) -> str:
    """Return the sha256 of all fields but itself, by which a change of the file is seen."""
    content = {name: value for name, value in fields.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """Return the fields of a file of ours, as they were written."""
    if not path.is_file():
        advice = "draw rows first, by twohot audit --draw-check."
        raise FileNotFoundError(f"{path} is not there: {advice}")
    try:
        fields: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        version, is_changed = fields["format_version"], fields["sha256"] != _fields_digest(fields)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"{path} is none that twohot wrote ({cause_of(error)})"
        raise ArgumentError("", problem, "pass it as it was written.") from error
    if version != FORMAT_VERSION:
        problem = f"{path} has format_version {version!r}, and this twohot reads {FORMAT_VERSION}"
        raise ArgumentError("", problem, "use the twohot that wrote it.")
    if is_changed:
        problem = f"{path} was changed after it was written, or a part of it is missing"
        raise ArgumentError("", problem, "pass it as it was written.")
    return fields


def certify_folder(
    check: FolderCheck, checked: Any, folder: Path, *, spreadsheet_safe: bool = False
) -> GuaranteedList:
    """Certify the list of a check that was done, and write certified.csv and certificate.json."""
    rows, draw = check.rows, check.draw
    classes = np.array(rows.classes, dtype=object)
    wrong = verdicts_of_draw(checked, draw, rows.given_labels, classes, rows.ids)
    listed = certify(draw, wrong, check.fdr)
    ids = rows.id_texts()
    lines = (
        (
            ids[row],
            rows.item(row),
            rows.label_name(int(rows.given_labels[row])),
            rows.label_name(int(rows.suggested_labels[row])),
        )
        for row in listed.rows.tolist()
    )
    write_csv(folder / "certified.csv", LIST_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)
    pairs = zip(draw.rows.tolist(), wrong.tolist(), strict=True)
    fields = _read(folder / "check.json")
    fields |= {"checked": [[ids[row], is_wrong] for row, is_wrong in pairs]}
    _write(folder / "certificate.json", fields | _outcome(listed, ids))
    return listed


def _outcome(listed: GuaranteedList, ids: list[str]) -> dict[str, Any]:
    """Return what follows from a check, as certificate.json holds it."""
    return {
        "listed": [ids[row] for row in listed.rows],
        "found_wrong": [ids[row] for row in listed.found_wrong],
        "confidence": listed.bounds.confidence,
        "most_right": listed.most_right,
        "says": str(listed),
    }


def write_review_certificate(path: Path, rows: ReviewRows, review: CertifiedReview) -> None:
    """Write the certificate of a review of the rows of an audit, `review_of` these rows."""
    ids = rows.id_texts()
    fields: dict[str, Any] = {"until": review.until, "alpha": review.alpha, "seed": review.seed}
    fields |= {"digest": doubts_digest(rows), "bound": review.bound, "says": str(review)}
    looks = [[ids[look.row], look.is_random, look.verdict] for look in review.looks]
    _write(path, fields | {"looks": looks})


def review_of(
    rows: ReviewRows, *, until: float, seed: int = 0, alpha: float = 0.05
) -> CertifiedReview:
    """Return the review of an audit that stops when at most a share of its labels is wrong."""
    return CertifiedReview(-rows.label_quality, until=until, seed=seed, alpha=alpha)


def verify_certificate(path: Path, rows: ReviewRows) -> GuaranteedList | CertifiedReview:
    """Redo a certificate from the audit that it is of, and raise unless all of it agrees.

    Parameters
    ----------
    path : path
        A certificate.json, of a list or of a review.
    rows : ReviewRows
        The rows of the audit.

    Returns
    -------
    GuaranteedList or CertifiedReview
        What it certifies, computed again.
    """
    fields = _read(path)
    _check_digest(fields, path, rows)
    if "looks" in fields:
        return _verified_review(fields, path, rows)
    if "checked" not in fields:
        raise ArgumentError("", f"{path} is a draw", "pass the certificate.json made from it.")
    return _verified_list(fields, path, rows)


def _verified_list(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> GuaranteedList:
    check = _check_of(fields, rows)
    ids = rows.id_texts()
    if [row for row, _ in fields["checked"]] != [ids[row] for row in check.draw.rows]:
        problem = f"{path} has verdicts on other rows than those that its seed draws"
        raise ArgumentError("", problem, "pass it as twohot certify wrote it.")
    listed = certify(check.draw, np.array([wrong for _, wrong in fields["checked"]]), check.fdr)
    again = _outcome(listed, ids)
    changed = [name for name in again if again[name] != fields.get(name)]
    if changed:
        problem = f"{path} does not follow from its verdicts ({', '.join(changed)} differ)"
        advice = "a verdict or the list was changed: certify again."
        raise ArgumentError("", problem, advice)
    return listed


def _verified_review(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> CertifiedReview:
    place = {name: row for row, name in enumerate(rows.id_texts())}
    asked = {name: fields[name] for name in ("until", "seed", "alpha")}
    review = review_of(rows, **asked)
    review.replay(Look(place.get(name, -1), *said) for name, *said in fields["looks"])
    if (review.bound, str(review)) != (fields["bound"], fields["says"]):
        problem = f"{path} claims a bound of {fields['bound']}, and its log gives {review.bound}"
        advice = "a verdict or the bound was changed: pass it as it was written."
        raise ArgumentError("", problem, advice)
    return review
