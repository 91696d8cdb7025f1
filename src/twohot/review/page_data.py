"""The data of a page: its rows as columns, with pictures, neighbours and findings.

A row takes a few bytes, because a page may have 100,000 rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from twohot.base import (
    BoolArray,
    FloatArray,
    IntArray,
    Labels,
    counted,
    load_extra,
    on_other_host,
    spelling_groups,
    told_apart,
)
from twohot.review.records import NO_ROW, Evidence, NearestRows, ReviewRows, RowFinding, readable
from twohot.review.thumbnails import link, thumbnail

EMBED_LIMIT = 2000
# In pixels: sharp enough on a card, also on a screen with two dots per pixel.
THUMBNAIL_SIZE = 192
# Maximum characters of a text on a card; issues.csv has the whole text.
TEXT_LIMIT = 2000
# Maximum characters of a neighbour's text.
NEIGHBOUR_TEXT_LIMIT = 300
# In pixels: three neighbours fit in a line.
NEIGHBOUR_SIZE = 96
# Maximum rows per finding in a page; findings.csv has all rows.
MOST_SHOWN = 1000

# Maps a row's position to its neighbours: their positions, and cosines in hundredths or None.
Near: TypeAlias = Mapping[int, list[tuple[int, int | None]]]


@dataclass(frozen=True)
class PictureFiles:
    """Folders and sizes of pictures, and the number of embedded pictures."""

    folder: Path | None  # of the page, to which links are relative; None for no links
    root: Path  # folder that picture paths are relative to
    limit: int = EMBED_LIMIT  # maximum embedded pictures of rows, and the same for neighbours
    size: int = THUMBNAIL_SIZE  # longest side of a picture, in pixels


def rows_of_page(
    flagged: IntArray, findings: Sequence[RowFinding], labelled: BoolArray
) -> IntArray:
    """Return the rows of a page: the flagged ones, then those of other findings.

    Rows without a label are omitted, because they have no label to review.
    """
    rows = (finding.rows[labelled[finding.rows]][:MOST_SHOWN] for finding in findings)
    found = (row for part in rows for row in part.tolist())
    return np.array(list(dict.fromkeys([*flagged.tolist(), *found])), dtype=np.intp)


def row_columns(rows: ReviewRows, shown: IntArray) -> dict[str, Any]:
    """Return the rows of a page as columns."""
    ids = _ids(rows, shown)
    return {
        "classes": rows.classes,
        "row": shown,
        "id": None if ids == list(map(str, shown.tolist())) else ids,
        "idKind": rows.ids.kind,
        "given": rows.given_labels[shown],
        "suggested": rows.suggested_labels[shown],
        "second": rows.second_labels[shown],
        "wrong": thousandths(rows.probability_wrong[shown]),
        "confidence": thousandths(rows.confidence[shown]),
        "secondConfidence": thousandths(rows.second_confidence[shown]),
        "undecided": rows.is_undecided[shown].astype(int),
        "items": _items(rows, shown, TEXT_LIMIT),
        "kind": rows.item_kind,
    }


def row_pictures(
    rows: ReviewRows, shown: IntArray, files: PictureFiles
) -> tuple[dict[str, Any], list[str]]:
    """Return the pictures and links of rows, and messages about them."""
    if rows.items is None or rows.item_kind != "image":
        return {"links": None, "thumbnails": []}, []
    items = [rows.items[i] for i in shown.tolist()]
    folder = files.folder
    links = [] if folder is None else [link(item, files.root, folder) for item in items]
    try:
        load_extra("PIL.Image", "vision", "thumbnails")
    except ImportError as error:
        return {"links": links, "thumbnails": []}, [f"Pictures are linked, not embedded: {error}."]
    small = [
        None if on_other_host(item, files.root) else thumbnail(files.root / item, files.size)
        for item in items[: files.limit]
    ]
    n_missing, shown_first = small.count(None), counted(len(small), "picture")
    said = [f"{n_missing} of the first {shown_first} could not be read."] if n_missing else []
    return {"links": links, "thumbnails": small}, said


def neighbours_by_row(evidence: Evidence | None, findings: Sequence[RowFinding]) -> dict[str, Near]:
    """Return three maps from rows to neighbours: with suggested label, with given label, copies."""
    near: dict[str, Near] = {}
    if evidence is not None:
        near["nearSuggested"] = _by_row(evidence.rows, evidence.suggested)
        near["nearGiven"] = _by_row(evidence.rows, evidence.given)
    near["copies"] = {
        row: [(other, None) for other in others.tolist()]
        for finding in findings
        if finding.related
        for row, others in zip(finding.rows.tolist(), finding.related, strict=True)
    }
    return near


def _by_row(rows: IntArray, nearest: NearestRows) -> Near:
    found = zip(rows.tolist(), nearest.rows.tolist(), nearest.alike.tolist(), strict=True)
    return {
        row: [
            (other, round(100 * cosine))
            for other, cosine in zip(others, cosines, strict=True)
            if other != NO_ROW
        ]
        for row, others, cosines in found
    }


def neighbour_columns(
    rows: ReviewRows, shown: IntArray, near: Mapping[str, Near], files: PictureFiles
) -> dict[str, Any]:
    """Return the neighbours of each row of a page, and their ids, labels, items and pictures.

    For each kind there is one list per row of the page, or None if the row has no such neighbours.
    The list has pairs [number of the neighbour, cosine in hundredths or None]. Neighbours are
    numbered in the order of the page.
    """
    number: dict[int, int] = {}
    columns: dict[str, Any] = {kind: [] for kind in near}
    for row in shown.tolist():
        for kind, found in near.items():
            pairs = found.get(row)
            columns[kind].append(
                pairs and [(number.setdefault(other, len(number)), alike) for other, alike in pairs]
            )
    if not number:
        return {"neighbours": None}
    others = np.fromiter(number, np.intp, len(number))
    small = replace(files, size=min(files.size, NEIGHBOUR_SIZE))
    pictures, _ = row_pictures(rows, others, small)  # `row_pictures` has returned the same messages
    items = _items(rows, others, NEIGHBOUR_TEXT_LIMIT) if rows.item_kind != "image" else None
    labels = rows.given_labels[others]
    neighbours = {"id": _ids(rows, others), "label": labels, "items": items}
    return {"neighbours": {**neighbours, **pictures, **columns}}


def finding_columns(findings: Sequence[RowFinding], shown: IntArray) -> list[dict[str, Any]]:
    """Return, for each finding, its name, meaning, total, and positions of its rows in the page."""
    place = {row: number for number, row in enumerate(shown.tolist())}
    return [
        {
            "name": finding.name,
            "meaning": finding.meaning,
            "total": len(finding.rows),
            # A row beyond the limit of this finding may be in the page because of another finding.
            "rows": [place[row] for row in finding.rows.tolist() if row in place],
        }
        for finding in findings
    ]


def verdict_columns(
    rows: ReviewRows, verdicts: Mapping[int, Sequence[tuple[str, str | None]]], shown: IntArray
) -> list[list[tuple[str, int | str | None]]] | None:
    """Return the decisions of the reviewers for each row: pairs (name, code or new class)."""
    code: dict[str | None, int | None] = {name: number for number, name in enumerate(rows.classes)}
    code[None] = None  # excluded
    listed = (verdicts.get(row, ()) for row in shown.tolist())
    found = [[(name, code.get(label, label)) for name, label in row] for row in listed]
    return found if verdicts else None


def spelling_columns(classes: Sequence[str], sizes: Sequence[int]) -> list[list[tuple[Any, ...]]]:
    """Return groups of classes that differ only in spelling, the most frequent class first.

    A class is a triple: code, name with visible blanks, number of rows.
    """
    codes = np.repeat(np.arange(len(classes)), sizes)
    groups = spelling_groups(Labels(codes, np.array(classes, dtype=object)))
    told = [told_apart([classes[code] for code in group]) for group in groups]
    return [
        [(code, name, sizes[code]) for code, name in zip(group, names, strict=True)]
        for group, names in zip(groups, told, strict=True)
    ]


def thousandths(values: FloatArray | None) -> list[int | None] | None:
    """Return values in rounded thousandths, flattened row by row; None for NaN."""
    if values is None:
        return None
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [None if math.isnan(value) else round(1000 * value) for value in flat]


def _ids(rows: ReviewRows, shown: IntArray) -> list[str]:
    return [readable(rows.ids[i]) for i in shown.tolist()]


def _items(rows: ReviewRows, shown: IntArray, limit: int) -> list[str] | None:
    """Return the items (texts or image paths) of rows, with texts cut after `limit` characters."""
    if rows.items is None:
        return None
    items = [rows.item(i) for i in shown.tolist()]
    if rows.item_kind == "image":
        return items
    return [item[:limit] + "…" * (len(item) > limit) for item in items]
