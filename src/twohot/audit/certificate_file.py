"""A check and its certificate as files: what was drawn, the verdicts, and the list that follows.

    check.csv         id, item, given_label, verdict: a person fills the last column in
    check_1.csv       the sheet of the first attempt, and so on, if the check was extended
    check.html        the same as a page, which saves check_done.csv
    check.json        what fixes the draw: rate, rows, seed, digest of the doubts and labels
    certified.csv     the list: id, item, given_label, suggested_label
    certified.html    the guarantee, the list, and the bound at every threshold
    certificate.json  check.json, the verdicts, and what follows; `verify_certificate` redoes it
    review.html       a review with a stopping rule, which saves its own certificate.json

The certificate of a review has its seed, its log of row, kind and verdict, and the bound. The page
writes it, so that its text is fixed: names sorted, in ASCII, with the sha256 of all other fields.

The files are in the folder of the audit. All that theorem 1 needs to be fixed before the check is
in check.json, so that a change of doubts, labels, seed or rate afterwards is refused.
"""

import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
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
    attempt_level,
    certify,
    doubt_order,
    draw_check,
    rows_needed,
    smallest_list,
)
from twohot.audit.remaining import (
    CertifiedReview,
    Look,
    SecondLooks,
    corrected_bound,
    most_marked,
    rows_again,
    second_looks,
)
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
    FileThereError,
    FloatArray,
    IntArray,
    as_text,
    cause_of,
    check_count,
    check_within,
    counted,
    first_few,
    is_missing,
    parse_json,
    write_json,
)
from twohot.review import ReviewRows, label_names_digest, write_verdict_page
from twohot.tables import (
    RowIds,
    csv_columns,
    file_cells,
    frame_columns,
    guarded,
    unguarded,
    write_csv,
)

CHECK_FILES = ("check.csv", "check.json", "check.html")
CERTIFICATE_FILES = ("certified.csv", "certificate.json", "certified.html")
REVIEW_FILE = "review.html"
FORMAT_VERSION = 1
# Of the digest of an audit, by which a page keeps its verdicts.
KEY_DIGITS = 16
SHARE_ALPHA = 0.05  # of each end of the share of wrong labels
KINDS = {False: "list", True: "random"}  # of the looks of a review
CHECK_COLUMNS = ("id", "item", "given_label", "verdict")
LIST_COLUMNS = ("id", "item", "given_label", "suggested_label")
UNSURE = "unsure"
# What check.csv asks for; "unsure" counts as right in a list.
WORDS = {"right": Given.RIGHT, "wrong": Given.WRONG, UNSURE: Given.RIGHT}


@dataclass(frozen=True, eq=False)
class FolderCheck:
    """The check of an audit in a folder."""

    rows: ReviewRows
    draw: CheckDraw
    fdr: float  # fixed with the draw
    n_checked: tuple[int, ...]  # rows of the draw in each attempt; all but the last gave no list

    @property
    def attempt(self) -> int:
        """Which attempt this is."""
        return len(self.n_checked)

    @property
    def level(self) -> float:
        """The rate of this attempt."""
        return attempt_level(self.fdr, self.attempt)

    def replaces(self, path: Path) -> bool:
        """Return whether a certificate is of an earlier attempt of this check, which gave no list.

        One that cannot be read is not.
        """
        try:
            fields = _read(path)
        except (ArgumentError, OSError):
            return False
        return fields.get("n_checked") == list(self.n_checked[:-1]) and not fields["listed"]


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
) -> NDArray[np.str_]:
    """Return "right", "wrong" or "unsure" for each drawn row, of whatever a user passes.

    Parameters
    ----------
    checked : mapping, path or data frame
        From the id of a row to "right", "wrong", "unsure" or its true label; or a file or frame
        with the columns `id` and `verdict`, as check.csv has them; or the decisions of a review.
        Case and blanks around the three words do not matter. They mean no class in a file or
        frame. In a mapping they do where a class is called so. Ids may be guarded against
        spreadsheets.
    draw : CheckDraw
        The rows that were to be checked: these, and no others.
    given, classes, ids
        Of the rows of the audit, as for `check_checked`.
    """
    words = WORDS
    if isinstance(checked, Mapping):
        known = set(map(_plain_word, classes.tolist()))
        words = {word: meant for word, meant in WORDS.items() if word not in known}
    drawn = [ids[row] for row in draw.rows]
    pairs = [
        (as_text(row), verdict)
        for row, verdict in _pairs(checked, drawn)
        if isinstance(verdict, Given) or (not is_missing(verdict) and as_text(verdict).strip())
    ]
    said = [(row, words.get(_plain_word(verdict), verdict)) for row, verdict in pairs]
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
    wrong = found.wrong[np.searchsorted(found.rows, draw.rows)]
    unsure = {row for row, verdict in pairs if UNSURE in words and _plain_word(verdict) == UNSURE}
    is_unsure = [row in unsure for row in drawn]
    return np.where(is_unsure, UNSURE, np.where(wrong, "wrong", "right"))


def _plain_word(verdict: Any) -> str:
    return as_text(verdict).strip().lower()


def _pairs(checked: Any, drawn: list[str]) -> list[tuple[Any, Any]]:
    """Return rows and verdicts: of a mapping, a file with verdicts, or decisions of a review.

    Ids of a file are guarded against spreadsheets if more of the drawn rows are found so.
    """
    if isinstance(checked, Mapping):
        return list(checked.items())
    is_path = isinstance(checked, str | os.PathLike)
    columns = csv_columns(Path(checked)) if is_path else frame_columns(checked)
    if not {"id", "verdict"} <= set(columns):
        return read_checked(checked)
    named = [as_text(row) for row in columns["id"].tolist()]
    readings = (named, [unguarded(row) for row in named])
    rows = max(readings, key=lambda reading: len({*drawn} & {*reading}))
    return list(zip(rows, columns["verdict"].tolist(), strict=True))


# The files of a folder ----------------------------------------------------------------------------


def doubts_digest(rows: ReviewRows) -> str:
    """Return what the order of the rows, their labels and what they are called are known by."""
    known = hashlib.sha256(repr((rows.id_texts(), rows.classes)).encode())
    known.update(rows.label_quality.astype("<f8").tobytes())
    known.update(rows.given_labels.astype("<i8").tobytes())
    known.update(rows.is_label_issue.tobytes())
    return known.hexdigest()


def _labels_of_rows(rows: ReviewRows) -> dict[str, Any]:
    """Return what tells the labels in a file: their digest, and how cells become classes."""
    merged = [list(pair) for pair in rows.spellings.items()]
    return {
        "labels": rows.given_labels_digest(),
        "classes": list(rows.classes),
        "spellings": merged,
    }


def check_no_draw(folder: Path) -> None:
    """Raise if a folder has a draw: a second one voids the guarantee of both.

    A check.json alone was left by a command that was stopped, which may be repeated.
    """
    if (folder / "check.csv").exists():
        raise _drawn_already(folder)


def _drawn_already(folder: Path) -> FileThereError:
    there = " and ".join(name for name in CHECK_FILES[:2] if (folder / name).exists())
    problem = f"{folder} already holds {there}, and a second draw voids both"
    return FileThereError("", problem, "fill that one in, or choose another folder.")


def write_check(
    folder: Path,
    rows: ReviewRows,
    fdr: float,
    *,
    n_checked: int | None = None,
    seed: int = 0,
    image_root: Path | None = None,
) -> FolderCheck:
    """Draw rows to check and write check.json, check.html and check.csv, in this order.

    A check.json without a check.csv must be of the same draw.
    """
    check_no_draw(folder)
    quality, n_flagged = rows.label_quality, int(rows.is_label_issue.sum())
    draw = plan_check(quality, n_flagged, fdr, n_checked=n_checked, seed=seed)
    fields = {
        "fdr": fdr,
        "n_checked": [len(draw.rows)],
        "n_pool": len(draw.pool),
        "n_labelled": rows.n_rows - rows.n_unlabelled,
        "seed": seed,
        "digest": doubts_digest(rows),
        "checked": [],
        **_labels_of_rows(rows),
    }
    fixed = folder / CHECK_FILES[1]
    if fixed.exists() and not fields.items() <= _read(fixed).items():
        raise _drawn_already(folder)
    return _write_draw(folder, rows, fields, image_root)


def extend_check(
    folder: Path, rows: ReviewRows, n_checked: int, *, image_root: Path | None = None
) -> FolderCheck:
    """Draw more rows after a check that gave no list; the verdicts so far are in the files.

    The next list is certified at half the rate of this one. The sheet that was filled in is kept
    under another name. An extension that was stopped may be repeated.
    """
    fields = _read(folder / CERTIFICATE_FILES[1])
    check = read_check(folder, rows)
    certified = tuple(fields.get("n_checked", ()))  # none in the certificate of a review
    is_repeated = (*certified, n_checked) == check.n_checked
    if not certified or (certified != check.n_checked and not is_repeated):
        problem = f"{folder} has no certificate of its last draw"
        raise ArgumentError("", problem, "certify that first: more rows follow an empty list.")
    if fields["listed"]:
        problem = f"is for an empty list, and this one has {len(fields['listed'])} labels"
        advice = "leave it out: a list that was seen is not certified again."
        raise ArgumentError({"extend": n_checked}, problem, advice)
    if n_checked <= certified[-1]:
        advice = f"pass more than {certified[-1]}, the number of rows so far."
        raise ArgumentError({"extend": n_checked}, "is no larger draw", advice)
    check.draw.extended(n_checked)  # raises if the pool has fewer rows
    known = _read(folder / CHECK_FILES[1])
    known |= {"n_checked": [*certified, n_checked], "checked": fields["checked"]}
    known = {name: value for name, value in known.items() if name != "sha256"}
    return _write_draw(folder, rows, known, image_root)


def kept_sheets(folder: Path) -> list[Path]:
    """Return the sheets of earlier attempts, check_1.csv and so on."""
    numbered = (folder / f"check_{number}.csv" for number in itertools.count(1))
    return list(itertools.takewhile(Path.exists, numbered))


def _write_draw(
    folder: Path,
    rows: ReviewRows,
    fields: dict[str, Any],
    image_root: Path | None,
) -> FolderCheck:
    check, ids = _check_of(fields, rows), rows.id_texts()
    known = dict(fields["checked"])
    # In the order of the rows: that of the draw, or of the doubts, would tell the reviewer more.
    drawn = np.sort(check.draw.rows)
    lines = (
        (
            ids[row],
            rows.item(row),
            rows.label_name(int(rows.given_labels[row])),
            known.get(ids[row], ""),
        )
        for row in drawn.tolist()
    )
    _write(folder / CHECK_FILES[1], fields)
    # What tells the draw from another one of this audit.
    drawn_by = (fields["seed"], fields["fdr"], *fields["n_checked"])
    task = {
        "mode": "check",
        "key": " ".join(map(str, ("check", fields["digest"][:KEY_DIGITS], *drawn_by))),
        "known": known,
        "next": {"check_done.csv": f"twohot certify {folder} check_done.csv"},
    }
    sentences = (
        f"Give each of the {len(drawn)} rows a verdict. Not sure counts as right.",
        "Verdicts are kept in this browser. Save them as check_done.csv when all are given.",
    )
    write_verdict_page(
        folder / CHECK_FILES[2],
        rows,
        drawn,
        task,
        title="Check of the labels",
        sentences=sentences,
        image_root=image_root,
    )
    sheet = folder / CHECK_FILES[0]
    if sheet.exists():
        sheet.rename(folder / f"check_{len(kept_sheets(folder)) + 1}.csv")
    # Guarded, as the decisions that a page exports: a person fills it in, in a spreadsheet.
    write_csv(sheet, CHECK_COLUMNS, (map(guarded, line) for line in lines))
    return check


def read_check(folder: Path, rows: ReviewRows) -> FolderCheck:
    """Return the check of a folder, which must be of its audit as it is now."""
    fields = _read(folder / CHECK_FILES[1])
    _check_digest(fields, folder / CHECK_FILES[1], rows)
    return _check_of(fields, rows)


def _check_digest(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> None:
    if fields.get("digest") != doubts_digest(rows):
        problem = f"{path} is of another audit: labels or doubts changed after the draw"
        advice = "pass the audit as it was, or draw and check again in another folder."
        raise ArgumentError("", problem, advice)


def _check_of(fields: Mapping[str, Any], rows: ReviewRows) -> FolderCheck:
    """Draw the rows of a check again."""
    first, *more = fields["n_checked"]
    n_flagged = int(rows.is_label_issue.sum())
    asked = {"n_checked": first, "seed": fields["seed"]}
    draw = plan_check(rows.label_quality, n_flagged, fields["fdr"], **asked)
    draw = draw.extended(more[-1]) if more else draw
    return FolderCheck(rows, draw, fields["fdr"], (first, *more))


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
    check: FolderCheck,
    checked: Any,
    folder: Path,
    *,
    spreadsheet_safe: bool = False,
    image_root: Path | None = None,
) -> GuaranteedList:
    """Certify the list of a check that was done, and write it with its certificate and page."""
    rows, draw = check.rows, check.draw
    classes = np.array(rows.classes, dtype=object)
    words = verdicts_of_draw(checked, draw, rows.given_labels, classes, rows.ids)
    ids, fields = rows.id_texts(), _read(folder / CHECK_FILES[1])
    pairs = [[ids[row], said] for row, said in zip(draw.rows, words.tolist(), strict=True)]
    for (row, before), (_, said) in zip(fields["checked"], pairs, strict=False):
        if before != said:
            advice = "pass the verdict of the first attempt: it is part of that certificate."
            raise ArgumentError("checked", f"has another verdict on row {row!r}", advice)
    listed = certify(draw, words == "wrong", check.fdr, attempt=check.attempt)
    lines = (
        (
            ids[row],
            rows.item(row),
            rows.label_name(int(rows.given_labels[row])),
            rows.label_name(int(rows.suggested_labels[row])),
        )
        for row in listed.rows.tolist()
    )
    path, made, page = (folder / name for name in CERTIFICATE_FILES)
    write_csv(path, LIST_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)
    _write(made, fields | {"checked": pairs} | _outcome(listed, ids))
    _write_list_page(page, check, listed, image_root)
    return listed


def _write_list_page(
    path: Path, check: FolderCheck, listed: GuaranteedList, image_root: Path | None
) -> None:
    """Write the guarantee with the bound of every length of the list, for a slider."""
    pool, bounds = check.draw.pool, listed.bounds
    is_left = ~np.isin(pool, check.draw.rows)
    task = {
        "mode": "list",
        "mostRight": bounds.most_right[is_left],
        "length": len(listed.rows),
        "confidence": f"{bounds.confidence:.0%}",
    }
    write_verdict_page(
        path,
        check.rows,
        pool[is_left],
        task,
        title="A list of wrong labels",
        sentences=[str(listed)],
        image_root=image_root,
    )


def _outcome(listed: GuaranteedList, ids: list[str]) -> dict[str, Any]:
    """Return what follows from a check, as certificate.json holds it."""
    return {
        "listed": [ids[row] for row in listed.rows],
        "found_wrong": [ids[row] for row in listed.found_wrong],
        "confidence": listed.bounds.confidence,
        "most_right": listed.most_right,
        "says": str(listed),
    }


# A review of a folder -----------------------------------------------------------------------------


def review_of(
    rows: ReviewRows, *, until: float, seed: int = 0, alpha: float = 0.05
) -> CertifiedReview:
    """Return the review of an audit that stops when at most a share of its labels is wrong."""
    return CertifiedReview(-rows.label_quality, until=until, seed=seed, alpha=alpha)


def write_review_page(
    folder: Path,
    rows: ReviewRows,
    *,
    until: float,
    seed: int = 0,
    twice: float = 0.0,
    n_wrong: float | None = None,
    image_root: Path | None = None,
) -> Path:
    """Write the page of a review that stops when at most a share of the labels is wrong.

    Parameters
    ----------
    folder : path
        Of the audit.
    rows : ReviewRows
        Its rows.
    until : float
        Share of the labels that may stay wrong.
    seed : int
        Of the random rows.
    twice : float
        Share of the rows that are shown a second time if their label is kept; repairs then are,
        too. By default no row is.
    n_wrong : float, optional
        Estimate of the wrong labels, which the page shows before the first random row; by default
        the sum of `probability_wrong`.
    image_root : path, optional
        Where relative paths of pictures start.
    """
    check_within("twice", twice, 0, 1)
    review = review_of(rows, until=until, seed=seed)
    fixed: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "until": until,
        "alpha": review.alpha,
        "seed": seed,
        "twice": twice,
        "digest": doubts_digest(rows),
        "id_column": rows.ids.column,
        **_labels_of_rows(rows),
    }
    known = ("until", "alpha", "seed", "twice")
    task = {
        "mode": "review",
        "key": f"review {fixed['digest'][:KEY_DIGITS]} {seed} {twice}",
        "target": review.target,
        "estimate": np.nansum(rows.probability_wrong) if n_wrong is None else n_wrong,
        "certificate": fixed,
        "known": {},
        "next": {"certificate.json": f"twohot verify certificate.json {folder}"},
        **{name: fixed[name] for name in known},
    }
    sentences = (
        "Not sure counts as wrong and still remaining.",
        "Neither the doubt nor how a row was drawn is shown: a verdict must depend on its row.",
        "Verdicts are kept in this browser. Export saves certificate.json, Decisions the labels.",
    )
    write_verdict_page(
        folder / REVIEW_FILE,
        rows,
        doubt_order(-rows.label_quality),
        task,
        title="Review with a certificate",
        sentences=sentences,
        image_root=image_root,
    )
    return folder / REVIEW_FILE


def write_review_certificate(path: Path, rows: ReviewRows, review: CertifiedReview) -> None:
    """Write the certificate of a review of the rows of an audit, `review_of` these rows."""
    ids = rows.id_texts()
    fields: dict[str, Any] = {"until": review.until, "alpha": review.alpha, "seed": review.seed}
    fields |= {"digest": doubts_digest(rows), **_labels_of_rows(rows)}
    fields |= {"id_column": rows.ids.column, "twice": 0, "again": [], "corrected": None}
    looks = [[ids[look.row], KINDS[look.is_random], look.verdict] for look in review.looks]
    _write(path, fields | {"bound": review.bound, "looks": looks})


# Verification -------------------------------------------------------------------------------------


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the fields of a certificate, of a list or of a review, as they were written."""
    if not path.is_file():
        advice = "pass the certificate.json that twohot certify or the page of a review saved."
        raise FileNotFoundError(f"{path} is not there: {advice}")
    fields = _read(path)
    if not {"looks", "listed"} & fields.keys():
        raise ArgumentError("", f"{path} is a draw", "pass the certificate.json made from it.")
    return fields


def verify_certificate(
    path: Path, rows: ReviewRows | None = None, *, data: Path | None = None
) -> GuaranteedList | CertifiedReview:
    """Redo a certificate from what it is of, and raise unless all of it agrees.

    Parameters
    ----------
    path : path
        A certificate.json, of a list or of a review.
    rows : ReviewRows, optional
        The rows of the audit. Without them the certificate of a review is redone from the labels
        of `data` alone: all of it but which rows the list holds, which theorem 3 does not need.
    data : path, optional
        The file with the labels that were audited.

    Returns
    -------
    GuaranteedList or CertifiedReview
        What it certifies, computed again.
    """
    fields = read_certificate(path)
    if rows is not None:
        _check_digest(fields, path, rows)
    try:
        labels = None if data is None else _labels_of(data, fields, path)
        if "looks" in fields:
            return _verified_review(fields, path, rows, labels)
        if rows is None:
            problem = f"{path} is of a list, whose order is that of its audit"
            raise ArgumentError("", problem, "pass the folder of the audit.")
        return _verified_list(fields, path, rows)
    except (LookupError, TypeError, AttributeError) as error:
        problem = f"{path} is no certificate that twohot wrote ({cause_of(error)})"
        raise ArgumentError("", problem, "pass it as it was written.") from error


@dataclass(frozen=True, eq=False)
class _LabelsOfData:
    """The labels of a file, which are those of a certificate."""

    ids: RowIds
    is_labelled: BoolArray


def _labels_of(data: Path, fields: Mapping[str, Any], path: Path) -> _LabelsOfData:
    """Return the labels of a file: the column whose digest is that of the certificate.

    A cell that names no class, nor a spelling of one, was read as no label.
    """
    columns = file_cells(data)
    name_of = {name: name for name in fields["classes"]} | dict(fields["spellings"])
    for cells in columns.values():
        texts = ("" if is_missing(cell) else as_text(cell) for cell in cells.tolist())
        names = [name_of.get(text, "") for text in texts]
        if label_names_digest(names) != fields.get("labels"):
            continue
        column = fields.get("id_column", "")
        if column not in ("", *columns):
            problem = f"{data} has no column {column!r}, which names the rows in {path}"
            raise ArgumentError("", problem, "pass the file that was audited.")
        ids = (
            RowIds.of_column(column, columns[column]) if column else RowIds.by_position(len(names))
        )
        return _LabelsOfData(ids, np.array([bool(name) for name in names]))
    problem = f"{data} does not hold the labels of {path}: they were changed, or are other rows"
    advice = "pass the file as it was audited, or the folder of the audit."
    raise ArgumentError("", problem, advice)


def share_wrong_bounds(path: Path, rows: ReviewRows) -> tuple[float, float]:
    """Return the least and the most share of wrong labels by a certificate, each 95 % sure.

    The draw for a list is of the most doubtful rows, and says nothing about the others. It bounds
    the share from below. A review bounds it from both sides. The labels must be those that were
    checked; the doubts may differ in the last digit, as they do between two machines.
    """
    fields = read_certificate(path)
    if fields.get("labels") != rows.given_labels_digest():
        problem = f"{path} is of other labels: they changed after the check"
        raise ArgumentError("", problem, "draw and check again, or leave it out.")
    n_labelled = rows.n_rows - rows.n_unlabelled
    if "looks" in fields:
        labels = _LabelsOfData(rows.ids, rows.given_labels != NO_LABEL)
        review = _verified_review(fields, path, None, labels)
        least = review.remaining.found - review.remaining.unsure
        return least / n_labelled, (least + review.bound) / n_labelled
    n_pool, words = fields["n_pool"], [said for _, said in fields["checked"]]
    # What is not sure may be right, for the least share, and wrong, for the most.
    right, wrong = (
        most_marked(SecondLooks(n_pool, len(words), len(words) - words.count(other)), SHARE_ALPHA)
        for other in ("wrong", "right")
    )
    return (n_pool - right) / n_labelled, (n_labelled - n_pool + wrong) / n_labelled


def _verified_list(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> GuaranteedList:
    check = _check_of(fields, rows)
    ids = rows.id_texts()
    if [row for row, _ in fields["checked"]] != [ids[row] for row in check.draw.rows]:
        problem = f"{path} has verdicts on other rows than those that its seed draws"
        raise ArgumentError("", problem, "pass it as twohot certify wrote it.")
    wrong = np.array([WORDS[said] is Given.WRONG for _, said in fields["checked"]])
    listed = certify(check.draw, wrong, check.fdr, attempt=check.attempt)
    again = _outcome(listed, ids)
    changed = [name for name in again if again[name] != fields.get(name)]
    if changed:
        problem = f"{path} does not follow from its verdicts ({', '.join(changed)} differ)"
        advice = "a verdict or the list was changed: certify again."
        raise ArgumentError("", problem, advice)
    return listed


def _verified_review(
    fields: Mapping[str, Any], path: Path, rows: ReviewRows | None, labels: _LabelsOfData | None
) -> CertifiedReview:
    if rows is not None:
        ids: Iterable[str] = rows.id_texts()
        doubt = -rows.label_quality
    elif labels is not None:
        ids = labels.ids
        doubt = np.where(labels.is_labelled, 0.0, np.nan)
    else:
        problem = f"{path} says nothing without the labels that it is of"
        raise ArgumentError("", problem, "pass the folder of the audit, or the file of its labels.")
    place = {name: row for row, name in enumerate(ids)}
    kinds = {kind: is_random for is_random, kind in KINDS.items()}
    looks = [Look(place.get(row, -1), kinds[kind], said) for row, kind, said in fields["looks"]]
    if rows is None:  # the rows of the list, in their order; of others the doubt does not matter
        chosen = [look.row for look in looks if not look.is_random and look.row >= 0]
        doubt[chosen] += np.arange(len(chosen), 0, -1)
    asked = {name: fields[name] for name in ("until", "seed", "alpha")}
    review = CertifiedReview(doubt, **asked)
    review.replay(looks)
    again = {place.get(row, -1): said for row, *said in fields["again"]}
    sample = rows_again(doubt_order(doubt), review.seed, fields["twice"])
    found = second_looks(review.looks, again, sample) if fields["twice"] else None
    with suppress(ArgumentError):  # too few second looks for a bound
        review.corrected = None if found is None else corrected_bound(review.bound, *found)
    corrected = None if review.corrected is None else review.corrected.bound
    if (review.bound, corrected) != (fields["bound"], fields["corrected"]):
        claimed = f"{fields['bound']} (corrected: {fields['corrected']})"
        problem = f"{path} claims a bound of {claimed}, and its log gives {review.bound}"
        problem += f" (corrected: {corrected})"
        advice = "a verdict or the bound was changed: pass it as it was written."
        raise ArgumentError("", problem, advice)
    return review
