"""Files of a check in the folder of an audit, and the certificate that follows from the check.

In a check, a person gives a verdict on the given label of each randomly drawn row: right, wrong or
unsure. The first draw is the first *attempt*. If its list is empty, the draw can be extended by
more rows, which is the next attempt.

    check.csv         id, item, given_label, verdict: a person fills in the last column
    check_1.csv       check.csv of the first attempt, if the check was extended; then check_2.csv
    check.html        the rows of check.csv as a page, which saves check_done.csv
    check.json        false discovery rate, number of rows, seed, digest of scores and labels
    certified.csv     the list: id, item, given_label, suggested_label
    certified.html    the guarantee, the list, and the bound at every threshold
    certificate.json  check.json, the verdicts and the result; `verify_certificate` recomputes it
    review.html       a review with a stopping rule; it saves a certificate.json too

The certificate of a review has the seed, the bound and all decisions. A decision has a row, how the
row was selected, and a verdict. The page and Python write the same JSON text: ASCII, with sorted
names and a sha256.

Theorem 1 of `guaranteed_list` requires some inputs to be fixed before the check. check.json has all
of them. If scores, labels, seed or rate change later, an error is raised.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.audit.checked_rows import Given, check_checked, is_keyed, read_checked
from twohot.audit.guaranteed_list import (
    POOL_PER_FLAGGED,
    CheckDraw,
    GuaranteedList,
    attempt_level,
    certify,
    draw_check,
    listable_doubt,
    rows_needed,
    smallest_list,
)
from twohot.base import (
    ArgumentError,
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
from twohot.review import ReviewRows, write_verdict_page
from twohot.tables import RowIds, csv_columns, frame_columns, guarded, unguarded, write_csv

CHECK_FILES = ("check.csv", "check.json", "check.html")
CERTIFICATE_FILES = ("certified.csv", "certificate.json", "certified.html")
REVIEW_FILE = "review.html"
FORMAT_VERSION = 1
# The browser stores verdicts under a key, which has this many digits of the digest of the audit.
KEY_DIGITS = 16
CHECK_COLUMNS = ("id", "item", "given_label", "verdict")
LIST_COLUMNS = ("id", "item", "given_label", "suggested_label")
UNSURE = "unsure"
# The three verdicts of a check, and how a list counts them: "unsure" counts as right.
WORDS = {"right": Given.RIGHT, "wrong": Given.WRONG, UNSURE: Given.RIGHT}


@dataclass(frozen=True, eq=False)
class FolderCheck:
    """A check in the folder of an audit: the drawn rows and the false discovery rate."""

    rows: ReviewRows  # all rows of the audit
    draw: CheckDraw
    fdr: float  # false discovery rate of the first attempt, fixed before its check
    n_checked: tuple[int, ...]  # for each attempt, the number of all rows drawn so far

    @property
    def attempt(self) -> int:
        """Number of the current attempt: 1, and 1 more for each extension."""
        return len(self.n_checked)

    @property
    def level(self) -> float:
        """False discovery rate of the current attempt: `fdr`, halved by each extension."""
        return attempt_level(self.fdr, self.attempt)

    def replaces(self, path: Path) -> bool:
        """Return whether the new certificate may replace the file at `path`.

        It may replace the certificate of the previous attempt, which gave an empty list, and no
        other file.
        """
        try:
            fields = read_signed(path)
        except (ArgumentError, OSError):
            return False
        return fields.get("n_checked") == list(self.n_checked[:-1]) and not fields["listed"]


# A draw of the rows of an audit -------------------------------------------------------------------


def plan_check(
    doubt: FloatArray, n_flagged: int, fdr: float, *, n_checked: int | None = None, seed: int = 0
) -> CheckDraw:
    """Draw the rows that a person checks for a guaranteed list; see `LabelIssues.draw_check`.

    `doubt` (n_rows,) are the scores that `listable_doubt` returns. By default, enough rows are
    drawn for a list of `n_flagged` rows.
    """
    if not n_flagged:
        problem = "needs flagged labels to list, and this audit flags none"
        raise ArgumentError({"fdr": fdr}, problem, "do not draw a check.")
    if n_checked is None:
        n_listable = int(np.count_nonzero(~np.isnan(doubt)))
        # The size of the pool per listed row, as an exact fraction.
        ratio = min(POOL_PER_FLAGGED, Fraction(n_listable, n_flagged))
        n_checked = rows_needed(ratio.numerator, fdr, ratio.denominator)
    check_count("n_checked", n_checked, 1)
    flagged = f"and only {counted(n_flagged, 'label')} are flagged"
    if n_checked >= n_flagged:
        problem = f"needs {counted(n_checked, 'checked row')}, {flagged}"
        advice = "review all flagged labels, or pass a larger false discovery rate."
        raise ArgumentError({"fdr": fdr}, problem, advice)
    draw = draw_check(doubt, n_flagged, n_checked, seed=seed)
    smallest = smallest_list(len(draw.pool), n_checked, fdr)
    if smallest > min(n_flagged, draw.n_left):
        most = f"but at most {min(n_flagged, draw.n_left)} can be listed"
        problem = f"cannot certify a list of fewer than {counted(smallest, 'label')}, {most}"
        advice = "check more rows, raise the false discovery rate, or review all flagged labels."
        raise ArgumentError({"n_checked": n_checked, "fdr": fdr}, problem, advice)
    return draw


def _plan_of(rows: ReviewRows, fdr: float, **asked: Any) -> CheckDraw:
    doubt = listable_doubt(rows.label_quality, rows.given_labels, rows.suggested_labels)
    return plan_check(doubt, int(rows.is_label_issue.sum()), fdr, **asked)


def verdicts_of_draw(
    checked: Any, draw: CheckDraw, given: IntArray, classes: NDArray[Any], ids: RowIds
) -> NDArray[np.str_]:
    """Return "right", "wrong" or "unsure" for each of the drawn rows; see `LabelIssues.certify`.

    `checked` must have verdicts on exactly these rows. The three words may have capitals, and
    blanks around them. If a class has one of the three words as its name, the word means the class
    in a mapping or series, but the verdict in a file or frame.
    """
    words = WORDS
    if is_keyed(checked):
        known = set(map(_plain_word, classes.tolist()))
        words = {word: meant for word, meant in WORDS.items() if word not in known}
    drawn = ids[draw.rows]
    pairs = [
        (as_text(row), verdict)
        for row, verdict in _pairs(checked, drawn)
        if isinstance(verdict, Given) or (not is_missing(verdict) and as_text(verdict).strip())
    ]
    said = [(row, words.get(_plain_word(verdict), verdict)) for row, verdict in pairs]
    found = check_checked(said, given, classes, ids=ids)
    if others := ids[np.setdiff1d(found.rows, draw.rows)]:
        problem = f"has {counted(len(others), 'row')} outside the draw ({first_few(others)})"
        advice = "pass verdicts on all drawn rows, and on no other rows."
        raise ArgumentError("checked", problem, advice)
    if missing := ids[draw.rows[~np.isin(draw.rows, found.rows)]]:
        n_missing = f"{len(missing)} of the {counted(len(draw.rows), 'row')} that were drawn"
        problem = f"has no verdict on {n_missing} ({first_few(missing)})"
        advice = 'check these rows, or pass "unsure" for them, which counts as right.'
        raise ArgumentError("checked", problem, advice)
    wrong = np.isin(draw.rows, found.rows[found.wrong])
    unsure = {row for row, verdict in pairs if UNSURE in words and _plain_word(verdict) == UNSURE}
    is_unsure = [row in unsure for row in drawn]
    return np.where(is_unsure, UNSURE, np.where(wrong, "wrong", "right"))


def _plain_word(verdict: Any) -> str:
    return as_text(verdict).strip().lower()


def _pairs(checked: Any, drawn: list[str]) -> list[tuple[Any, Any]]:
    """Return pairs (id, verdict) from a mapping or series, a file of verdicts, or decisions.

    In a file, ids may start with an apostrophe, which protects them in spreadsheets. The
    apostrophes are removed if more ids are then ids of drawn rows.
    """
    if is_keyed(checked):
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
    """Return a digest of the ids, classes, scores, labels, suggestions and flags of an audit."""
    digest = hashlib.sha256(repr((rows.id_texts(), rows.classes)).encode())
    digest.update(rows.label_quality.astype("<f8").tobytes())
    digest.update(rows.given_labels.astype("<i8").tobytes())
    digest.update(rows.suggested_labels.astype("<i8").tobytes())
    digest.update(rows.is_label_issue.tobytes())
    return digest.hexdigest()


def labels_of_rows(rows: ReviewRows) -> dict[str, Any]:
    """Return fields that identify the labels: a digest, the classes, and their other spellings."""
    merged = [list(pair) for pair in rows.spellings.items()]
    labels = rows.given_labels_digest()
    return {"labels": labels, "classes": list(rows.classes), "spellings": merged}


def check_no_draw(folder: Path) -> None:
    """Raise if a folder has a draw, because a second draw voids the guarantee of both draws.

    A check.json without a check.csv does not count as a draw: an interrupted command wrote it.
    """
    if (folder / "check.csv").exists():
        raise _drawn_already(folder)


def _drawn_already(folder: Path) -> FileThereError:
    there = " and ".join(name for name in CHECK_FILES[:2] if (folder / name).exists())
    effect = "a second draw would void the guarantee of both draws"
    advice = "finish the check of this folder, or choose another folder."
    return FileThereError("", f"{folder} already holds {there}, and {effect}", advice)


def write_check(
    folder: Path,
    rows: ReviewRows,
    fdr: float,
    *,
    seed: int = 0,
    image_root: Path | None = None,
) -> FolderCheck:
    """Draw rows to check and write check.json, check.html and check.csv, in this order.

    If an interrupted command wrote a check.json without a check.csv, both draws must be equal.
    """
    check_no_draw(folder)
    draw = _plan_of(rows, fdr, seed=seed)
    fields = {
        "fdr": fdr,
        "n_checked": [len(draw.rows)],
        "n_pool": len(draw.pool),
        "n_labelled": rows.n_rows - rows.n_unlabelled,
        "seed": seed,
        "digest": doubts_digest(rows),
        "checked": [],
        **labels_of_rows(rows),
    }
    fixed = folder / CHECK_FILES[1]
    if fixed.exists() and not fields.items() <= read_signed(fixed).items():
        raise _drawn_already(folder)
    return _write_draw(folder, rows, fields, image_root)


def extend_check(
    folder: Path, rows: ReviewRows, n_checked: int, *, image_root: Path | None = None
) -> FolderCheck:
    """Draw more rows after an empty list, until `n_checked` rows are drawn in total.

    The new files contain the verdicts so far. The next list has half the false discovery rate. The
    old check.csv becomes check_1.csv, or check_2.csv after a second extension. You can repeat an
    extension that was interrupted.
    """
    fields = read_signed(folder / CERTIFICATE_FILES[1])
    check = read_check(folder, rows)
    certified = tuple(fields.get("n_checked", ()))  # empty for the certificate of a review
    is_repeated = (*certified, n_checked) == check.n_checked
    if not certified or (certified != check.n_checked and not is_repeated):
        problem = f"{folder} has no certificate of its last draw"
        advice = "run twohot certify first, because only an empty list allows a larger draw."
        raise ArgumentError("", problem, advice)
    if fields["listed"]:
        problem = f"needs an empty list, and this list has {len(fields['listed'])} labels"
        advice = "keep this list, because a larger draw after it would void the guarantee."
        raise ArgumentError({"extend": n_checked}, problem, advice)
    if n_checked <= certified[-1]:
        advice = f"pass more than {certified[-1]}, the number of rows drawn so far."
        raise ArgumentError({"extend": n_checked}, "is not a larger draw", advice)
    drawn = read_signed(folder / CHECK_FILES[1])
    drawn |= {"n_checked": [*certified, n_checked], "checked": fields["checked"]}
    return _write_draw(folder, rows, drawn, image_root)


def kept_sheets(folder: Path) -> list[Path]:
    """Return the files check_1.csv, check_2.csv and so on: check.csv of earlier attempts."""
    numbered = (folder / f"check_{number}.csv" for number in itertools.count(1))
    return list(itertools.takewhile(Path.exists, numbered))


def _cells(rows: ReviewRows, chosen: IntArray) -> Iterator[tuple[str, str, str]]:
    """Yield the id, the item and the given label of the chosen rows."""
    ids = rows.id_texts()
    for row in chosen.tolist():
        yield ids[row], rows.item(row), rows.label_name(int(rows.given_labels[row]))


def _write_draw(
    folder: Path, rows: ReviewRows, fields: dict[str, Any], image_root: Path | None
) -> FolderCheck:
    check, known = check_of(fields, rows), dict(fields["checked"])
    table, made, page = (folder / name for name in CHECK_FILES)
    # Rows are shown in the order of the data, because an order by score would influence the person.
    drawn = np.sort(check.draw.rows)
    write_signed(made, fields)
    # Seed, rate and numbers of rows distinguish this draw from other draws of the same audit.
    drawn_by = (fields["seed"], fields["fdr"], *fields["n_checked"])
    task = {
        "mode": "check",
        "key": " ".join(map(str, ("check", fields["digest"][:KEY_DIGITS], *drawn_by))),
        "known": known,
        "next": {"check_done.csv": f"twohot certify {folder} check_done.csv"},
    }
    sentences = (
        f"Give each of the {len(drawn)} rows a verdict. “Not sure” counts as right.",
        "Verdicts are stored in this browser. When every row has one, Export saves check_done.csv.",
    )
    about: dict[str, Any] = {"title": "Check of the labels", "sentences": sentences}
    write_verdict_page(page, rows, drawn, task, **about, image_root=image_root)
    if table.exists():
        table.rename(folder / f"check_{len(kept_sheets(folder)) + 1}.csv")
    # A person may open the file in a spreadsheet, so no cell may be run as a formula.
    lines = (map(guarded, (*cells, known.get(cells[0], ""))) for cells in _cells(rows, drawn))
    write_csv(table, CHECK_COLUMNS, lines)
    return check


def read_check(folder: Path, rows: ReviewRows) -> FolderCheck:
    """Return the check of a folder; raise if the audit has changed since the draw."""
    path = folder / CHECK_FILES[1]
    fields = read_signed(path)
    check_digest(fields, path, rows)
    return check_of(fields, rows)


def check_digest(fields: Mapping[str, Any], path: Path, rows: ReviewRows) -> None:
    """Raise if a file was written for other scores or labels than those of `rows`."""
    if fields.get("digest") != doubts_digest(rows):
        why = "because labels or scores changed after the draw"
        problem = f"{path} belongs to another audit, {why}"
        advice = "pass the unchanged audit, or draw and check again in another folder."
        raise ArgumentError("", problem, advice)


def check_of(fields: Mapping[str, Any], rows: ReviewRows) -> FolderCheck:
    """Return the check that `fields` of check.json describe; draw its rows again from the seed."""
    first, *more = fields["n_checked"]
    draw = _plan_of(rows, fields["fdr"], n_checked=first, seed=fields["seed"])
    draw = draw.extended(more[-1]) if more else draw
    return FolderCheck(rows, draw, fields["fdr"], (first, *more))


def write_signed(path: Path, fields: Mapping[str, Any]) -> None:
    """Write fields as JSON, with the sha256 of these fields."""
    known = {"format_version": FORMAT_VERSION, **fields}
    write_json(path, known | {"sha256": _fields_digest(known)})


def _fields_digest(fields: Mapping[str, Any]) -> str:
    """Return the sha256 of all fields except `sha256` itself, to detect changes of the file."""
    content = {name: value for name, value in fields.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_signed(path: Path) -> dict[str, Any]:
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
        read = f"this version of twohot reads {FORMAT_VERSION}"
        problem = f"{path} has format_version {version!r}, but {read}"
        raise ArgumentError("", problem, "use the version of twohot that wrote the file.")
    if is_changed:
        problem = f"{path} was changed after it was written, or is incomplete"
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
    """Compute the list that a finished check certifies; write the list, certificate and page."""
    rows, draw = check.rows, check.draw
    classes = np.array(rows.classes, dtype=object)
    words = verdicts_of_draw(checked, draw, rows.given_labels, classes, rows.ids)
    ids, fields = rows.id_texts(), read_signed(folder / CHECK_FILES[1])
    pairs = [[ids[row], said] for row, said in zip(draw.rows, words.tolist(), strict=True)]
    for (row, before), (_, said) in zip(fields["checked"], pairs, strict=False):
        if before != said:
            problem = f"has another verdict on row {row!r} than the previous attempt"
            advice = f"pass {before!r}, the verdict in the certificate of that attempt."
            raise ArgumentError("checked", problem, advice)
    listed = certify(draw, words == "wrong", check.fdr, attempt=check.attempt)
    suggested = map(rows.label_name, rows.suggested_labels[listed.rows].tolist())
    cells = zip(_cells(rows, listed.rows), suggested, strict=True)
    lines = ((*known, name) for known, name in cells)
    path, made, page = (folder / name for name in CERTIFICATE_FILES)
    write_csv(path, LIST_COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)
    write_signed(made, fields | {"checked": pairs} | outcome_of(listed, ids))
    # The page has a slider, which shows the bound at every length of the list.
    is_left, bounds = ~np.isin(draw.pool, draw.rows), listed.bounds
    task = {
        "mode": "list",
        "mostRight": bounds.most_right[is_left],
        "length": len(listed.rows),
        "confidence": f"{bounds.confidence:.0%}",
    }
    title = "Certified list of wrong labels"
    about: dict[str, Any] = {"title": title, "sentences": [str(listed)], "image_root": image_root}
    write_verdict_page(page, rows, draw.pool[is_left], task, **about)
    return listed


def outcome_of(listed: GuaranteedList, ids: list[str]) -> dict[str, Any]:
    """Return the fields of certificate.json that contain the list and its bounds."""
    return {
        "listed": [ids[row] for row in listed.rows],
        "found_wrong": [ids[row] for row in listed.found_wrong],
        "confidence": listed.bounds.confidence,
        "most_right": listed.most_right,
        "says": str(listed),
    }
