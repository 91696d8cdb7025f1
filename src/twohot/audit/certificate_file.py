"""Files of a check and its certificate, in the folder of the audit.

    check.csv         id, item, given_label, verdict: a person fills in the last column
    check_1.csv       the sheet of the first attempt, and so on, if the check was extended
    check.html        the same as a page, which saves check_done.csv
    check.json        settings of the draw: rate, rows, seed, digest of scores and labels
    certified.csv     the list: id, item, given_label, suggested_label
    certified.html    the guarantee, the list, and the bound at every threshold
    certificate.json  check.json, the verdicts and the result; `verify_certificate` recomputes it
    review.html       a review with a stopping rule, which saves its own certificate.json

The certificate of a review has the seed, the log of rows, kinds and verdicts, and the bound. The
page and Python write the same text: sorted names, ASCII, with the sha256 of all other fields.

check.json has all that theorem 1 needs to be fixed before the check. A later change of scores,
labels, seed or rate raises an error.
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
# Digits of an audit's digest in the key under which a page stores verdicts.
KEY_DIGITS = 16
SHARE_ALPHA = 0.05  # error probability of each bound on the share of wrong labels
KINDS = {False: "list", True: "random"}  # names of the kinds of looks
CHECK_COLUMNS = ("id", "item", "given_label", "verdict")
LIST_COLUMNS = ("id", "item", "given_label", "suggested_label")
UNSURE = "unsure"
# Verdicts in check.csv; "unsure" counts as right in a list.
WORDS = {"right": Given.RIGHT, "wrong": Given.WRONG, UNSURE: Given.RIGHT}


@dataclass(frozen=True, eq=False)
class FolderCheck:
    """The check of an audit in a folder."""

    rows: ReviewRows
    draw: CheckDraw
    fdr: float  # fixed with the draw
    n_checked: tuple[int, ...]  # rows drawn in each attempt; all attempts but the last gave no list

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
        Scores; smaller is more suspicious. NaN for rows without a label.
    n_flagged : int
        Number of flagged labels, which is about the length of the list.
    fdr : float
        Largest mean share of right labels in the list.
    n_checked : int, optional
        Rows to draw. By default, enough to certify most of the flagged labels.
    seed : int
        Seed of the draw.
    """
    if not n_flagged:
        problem = "is the rate of a list, but this audit flags no label"
        raise ArgumentError({"fdr": fdr}, problem, "leave it out: there is nothing to list.")
    if n_checked is not None:
        check_count("n_checked", n_checked, 1)
    else:
        n_checked = rows_needed(
            math.ceil(POOL_PER_FLAGGED * n_flagged), fdr, list_size=n_flagged
        ).advised
    if n_checked >= n_flagged:
        problem = (
            f"needs {counted(n_checked, 'checked row')}, and only "
            f"{counted(n_flagged, 'label')} are flagged"
        )
        raise ArgumentError(
            {"fdr": fdr}, problem, "review all flagged labels, or pass a larger rate."
        )
    draw = draw_check(-label_quality, n_flagged, n_checked, seed=seed)
    smallest = smallest_list(len(draw.pool), n_checked, fdr)
    if smallest > min(n_flagged, draw.n_left):
        problem = (
            f"certifies no list of fewer than {counted(smallest, 'label')}, and only "
            f"{n_flagged} are flagged"
        )
        advice = "pass a larger number or rate, or review all flagged labels."
        raise ArgumentError({"n_checked": n_checked, "fdr": fdr}, problem, advice)
    return draw


def verdicts_of_draw(
    checked: Any,
    draw: CheckDraw,
    given: IntArray,
    classes: NDArray[Any],
    ids: RowIds,
) -> NDArray[np.str_]:
    """Return "right", "wrong" or "unsure" for each of the drawn rows.

    Parameters
    ----------
    checked : mapping, path or data frame
        A mapping from row id to "right", "wrong", "unsure" or the true label; a file or frame with
        the columns `id` and `verdict`, as in check.csv; or the decisions of a review. Case and
        blanks around the three words are ignored. In a file or frame, the words are verdicts; in a
        mapping, they mean a class if one has this name. Ids may be guarded against spreadsheets.
    draw : CheckDraw
        The rows to check: these and no others.
    given, classes, ids
        Labels, classes and ids of the audit, as for `check_checked`.
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
        problem = f"has {counted(len(others), 'row')} outside the draw ({names})"
        advice = "pass verdicts on all drawn rows, and no others."
        raise ArgumentError("checked", problem, advice)
    missing = draw.rows[~np.isin(draw.rows, found.rows)]
    if len(missing):
        n_drawn = counted(len(draw.rows), "row")
        names = first_few([ids[row] for row in missing])
        problem = f"has no verdict on {len(missing)} of the {n_drawn} that were drawn ({names})"
        advice = 'check them, or pass "unsure", which counts as right.'
        raise ArgumentError("checked", problem, advice)
    wrong = found.wrong[np.searchsorted(found.rows, draw.rows)]
    unsure = {row for row, verdict in pairs if UNSURE in words and _plain_word(verdict) == UNSURE}
    is_unsure = [row in unsure for row in drawn]
    return np.where(is_unsure, UNSURE, np.where(wrong, "wrong", "right"))


def _plain_word(verdict: Any) -> str:
    return as_text(verdict).strip().lower()


def _pairs(checked: Any, drawn: list[str]) -> list[tuple[Any, Any]]:
    """Return pairs (row, verdict) from a mapping, a file of verdicts, or decisions of a review.

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
    """Return a digest of the ids, classes, scores, labels and flags of an audit."""
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
    """Raise if a folder has a draw: a second draw voids the guarantee of both.

    A check.json without a check.csv is left by an interrupted command, which may be repeated.
    """
    if (folder / "check.csv").exists():
        raise _drawn_already(folder)


def _drawn_already(folder: Path) -> FileThereError:
    there = " and ".join(name for name in CHECK_FILES[:2] if (folder / name).exists())
    problem = f"{folder} already holds {there}, and a second draw voids both"
    return FileThereError("", problem, "fill in that check, or choose another folder.")


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

    An existing check.json without a check.csv must have the same draw.
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
    """Draw more rows after a check that gave no list; the files keep the verdicts so far.

    The next list is certified at half the rate. The sheet with the verdicts is kept under another
    name. An extension that was stopped can be repeated.
    """
    fields = _read(folder / CERTIFICATE_FILES[1])
    check = read_check(folder, rows)
    certified = tuple(fields.get("n_checked", ()))  # none in the certificate of a review
    is_repeated = (*certified, n_checked) == check.n_checked
    if not certified or (certified != check.n_checked and not is_repeated):
        problem = f"{folder} has no certificate of its last draw"
        raise ArgumentError(
            "", problem, "run certify first: more rows can follow an empty list only."
        )
    if fields["listed"]:
        problem = f"needs an empty list, and this list has {len(fields['listed'])} labels"
        advice = "leave it out: a list that was seen cannot be certified again."
        raise ArgumentError({"extend": n_checked}, problem, advice)
    if n_checked <= certified[-1]:
        advice = f"pass more than {certified[-1]}, the number of rows so far."
        raise ArgumentError({"extend": n_checked}, "is not a larger draw", advice)
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
    # In the order of the data: another order would tell the reviewer about the scores.
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
        f"Give each of the {len(drawn)} rows a verdict. “Not sure” counts as right.",
        "Verdicts are stored in this browser. When all are given, save them as check_done.csv.",
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
    """Return the check of a folder; raise if the audit has changed."""
    fields = _read(folder / CHECK_FILES[1])
    _check_digest(fields, folder / CHECK_FILES[1], rows)
    return _check_of(fields, rows)


def _check_digest(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> None:
    if fields.get("digest") != doubts_digest(rows):
        problem = f"{path} belongs to another audit: labels or scores changed after the draw"
        advice = "pass the unchanged audit, or draw and check again in another folder."
        raise ArgumentError("", problem, advice)


def _check_of(fields: Mapping[str, Any], rows: ReviewRows) -> FolderCheck:
    """Return the check of some fields, with its rows drawn again."""
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
    """Return the sha256 of all fields except `sha256`, to detect changes of the file."""
    content = {name: value for name, value in fields.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    """Return the fields of a check or certificate; raise if the file was changed."""
    if not path.is_file():
        advice = "draw rows first, with twohot audit --draw-check."
        raise FileNotFoundError(f"{path} does not exist: {advice}")
    try:
        fields: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        version, is_changed = fields["format_version"], fields["sha256"] != _fields_digest(fields)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"{path} was not written by twohot ({cause_of(error)})"
        raise ArgumentError("", problem, "pass the original file.") from error
    if version != FORMAT_VERSION:
        problem = f"{path} has format_version {version!r}, and this twohot reads {FORMAT_VERSION}"
        raise ArgumentError("", problem, "use the version of twohot that wrote it.")
    if is_changed:
        problem = f"{path} was changed after it was written, or a part of it is missing"
        raise ArgumentError("", problem, "pass the original file.")
    return fields


def certify_folder(
    check: FolderCheck,
    checked: Any,
    folder: Path,
    *,
    spreadsheet_safe: bool = False,
    image_root: Path | None = None,
) -> GuaranteedList:
    """Certify the list of a finished check; write the list, its certificate and its page."""
    rows, draw = check.rows, check.draw
    classes = np.array(rows.classes, dtype=object)
    words = verdicts_of_draw(checked, draw, rows.given_labels, classes, rows.ids)
    ids, fields = rows.id_texts(), _read(folder / CHECK_FILES[1])
    pairs = [[ids[row], said] for row, said in zip(draw.rows, words.tolist(), strict=True)]
    for (row, before), (_, said) in zip(fields["checked"], pairs, strict=False):
        if before != said:
            advice = "pass the verdict of the first attempt, which is part of its certificate."
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
    """Write a page with the guarantee and a slider for the bound at every length."""
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
        title="Certified list of wrong labels",
        sentences=[str(listed)],
        image_root=image_root,
    )


def _outcome(listed: GuaranteedList, ids: list[str]) -> dict[str, Any]:
    """Return the result of a check, as in certificate.json."""
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
    """Return a review that stops when at most a share `until` of the labels is wrong."""
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
    """Write the page of a review that stops when at most a share `until` of the labels is wrong.

    Parameters
    ----------
    folder : path
        Folder of the audit.
    rows : ReviewRows
        Its rows.
    until : float
        Share of the labels that may stay wrong.
    seed : int
        Seed of the random rows.
    twice : float
        Share of the rows that are shown a second time if their label is kept. If it is not 0,
        repairs are shown again too.
    n_wrong : float, optional
        Estimated number of wrong labels, shown before the first random row. By default the sum of
        `probability_wrong`.
    image_root : path, optional
        Folder that picture paths are relative to.

    Returns
    -------
    Path
        The file of the page.
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
        "“Not sure” counts as wrong and still remaining.",
        "The page shows no scores, because a verdict must depend on its row alone.",
        "Verdicts are stored in this browser.",
        "Export saves certificate.json; Decisions saves the labels.",
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
    """Write the certificate of a review that `review_of` made for these rows."""
    ids = rows.id_texts()
    fields: dict[str, Any] = {"until": review.until, "alpha": review.alpha, "seed": review.seed}
    fields |= {"digest": doubts_digest(rows), **_labels_of_rows(rows)}
    fields |= {"id_column": rows.ids.column, "twice": 0, "again": [], "corrected": None}
    looks = [[ids[look.row], KINDS[look.is_random], look.verdict] for look in review.looks]
    _write(path, fields | {"bound": review.bound, "looks": looks})


# Verification -------------------------------------------------------------------------------------


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the fields of a certificate, of a list or of a review."""
    if not path.is_file():
        advice = "pass the certificate.json that twohot certify or a review page saved."
        raise FileNotFoundError(f"{path} does not exist: {advice}")
    fields = _read(path)
    if not {"looks", "listed"} & fields.keys():
        raise ArgumentError(
            "", f"{path} is a draw, not a certificate", "pass the certificate.json made from it."
        )
    return fields


def verify_certificate(
    path: Path, rows: ReviewRows | None = None, *, data: Path | None = None
) -> GuaranteedList | CertifiedReview:
    """Compute a certificate again; raise if anything differs.

    Parameters
    ----------
    path : path
        A certificate.json, of a list or of a review.
    rows : ReviewRows, optional
        The rows of the audit. Without them, a review is verified with the labels of `data` only:
        everything except which rows are in the list, which theorem 3 does not need.
    data : path, optional
        The file with the audited labels.

    Returns
    -------
    GuaranteedList or CertifiedReview
        The recomputed list or review.
    """
    fields = read_certificate(path)
    if rows is not None:
        _check_digest(fields, path, rows)
    try:
        labels = None if data is None else _labels_of(data, fields, path)
        if "looks" in fields:
            return _verified_review(fields, path, rows, labels)
        if rows is None:
            problem = f"{path} certifies a list, which needs the order of its audit"
            raise ArgumentError("", problem, "pass the folder of the audit.")
        return _verified_list(fields, path, rows)
    except (LookupError, TypeError, AttributeError) as error:
        problem = f"{path} is not a certificate of twohot ({cause_of(error)})"
        raise ArgumentError("", problem, "pass the original file.") from error


@dataclass(frozen=True, eq=False)
class _LabelsOfData:
    """The ids of a file's rows, and which rows have a label."""

    ids: RowIds
    is_labelled: BoolArray


def _labels_of(data: Path, fields: Mapping[str, Any], path: Path) -> _LabelsOfData:
    """Return the labels of a file, from the column with the digest of the certificate.

    A cell that names no class, nor a spelling of one, was read as a missing label.
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
    problem = f"{data} does not have the labels of {path}: labels or rows were changed"
    advice = "pass the audited file, or the folder of the audit."
    raise ArgumentError("", problem, advice)


def share_wrong_bounds(path: Path, rows: ReviewRows) -> tuple[float, float]:
    """Return a lower and an upper bound on the share of wrong labels, each with 95 % confidence.

    A list bounds the share from below, because its draw has only the most suspicious rows. A review
    bounds it from both sides. The labels must be the checked ones; scores may differ in the last
    digit, as they do between machines.
    """
    fields = read_certificate(path)
    if fields.get("labels") != rows.given_labels_digest():
        problem = f"{path} belongs to other labels: they changed after the check"
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
        problem = f"{path} has verdicts on other rows than its seed draws"
        raise ArgumentError("", problem, "pass the file that twohot certify wrote.")
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
        problem = f"{path} cannot be verified without its labels"
        raise ArgumentError(
            "", problem, "pass the folder of the audit, or the file with its labels."
        )
    place = {name: row for row, name in enumerate(ids)}
    kinds = {kind: is_random for is_random, kind in KINDS.items()}
    looks = [Look(place.get(row, -1), kinds[kind], said) for row, kind, said in fields["looks"]]
    if rows is None:  # the list in its order; the scores of other rows do not matter
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
        advice = "a verdict or the bound was changed: pass the original file."
        raise ArgumentError("", problem, advice)
    return review
