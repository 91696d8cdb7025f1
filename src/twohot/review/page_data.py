"""The data of a page: its rows as columns, with pictures, neighbours and findings.

A page may have 100,000 rows, so a row must take only a few bytes.
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
# Longest side of a thumbnail in pixels: sharp on a card even at two dots per pixel.
THUMBNAIL_SIZE = 192
# Longest side of a neighbour's thumbnail in pixels: three neighbours fit in a line.
NEIGHBOUR_SIZE = 96
# Maximum number of characters of a text on a card; issues.csv has the whole text.
TEXT_LIMIT = 2000
# Maximum number of characters of a neighbour's text.
NEIGHBOUR_TEXT_LIMIT = 300
# Maximum number of rows per finding in a page; findings.csv has all rows.
MOST_SHOWN = 1000

# Position of a row → list of neighbours, as (position, cosine in hundredths or None if unknown).
Near: TypeAlias = Mapping[int, list[tuple[int, int | None]]]


@dataclass(frozen=True)
class PictureFiles:
    """Where the pictures of a page are, and how many are embedded in which size."""

    folder: Path | None  # folder of the page, to which links are relative; None: no links
    root: Path  # folder to which the paths of pictures are relative
    limit: int = EMBED_LIMIT  # maximum number of embedded pictures of rows, and of neighbours
    size: int = THUMBNAIL_SIZE  # longest side of an embedded picture, in pixels


def rows_of_page(
    flagged: IntArray, findings: Sequence[RowFinding], labelled: BoolArray
) -> IntArray:
    """Return the rows of a page: flagged rows, then rows of other findings that have a label."""
    others = (finding.rows[labelled[finding.rows]][:MOST_SHOWN] for finding in findings)
    rows = dict.fromkeys(np.concatenate([flagged, *others]).tolist())
    return np.fromiter(rows, np.intp, len(rows))


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
    """Return the pictures of rows and links to them, and messages about missing pictures."""
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
    n_missing, n_first = small.count(None), counted(len(small), "picture")
    messages = [f"{n_missing} of the first {n_first} could not be read."] * bool(n_missing)
    return {"links": links, "thumbnails": small}, messages


def neighbours_by_row(evidence: Evidence | None, findings: Sequence[RowFinding]) -> dict[str, Near]:
    """Return the neighbours of rows by kind: with suggested label, with given label, copies."""
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
    listed = zip(rows.tolist(), nearest.rows.tolist(), nearest.alike.tolist(), strict=True)
    return {
        row: [
            (other, round(100 * cosine))
            for other, cosine in zip(others, cosines, strict=True)
            if other != NO_ROW
        ]
        for row, others, cosines in listed
    }


def neighbour_columns(
    rows: ReviewRows, shown: IntArray, near: Mapping[str, Near], files: PictureFiles
) -> dict[str, Any]:
    """Return the neighbours of each row of a page, and their ids, labels, items and pictures.

    Neighbours are numbered in the order of the page. Each kind of neighbours has one entry per row:
    a list of pairs (number of the neighbour, cosine in hundredths), or None if the neighbours of
    this kind are unknown for the row.
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
    pictures, _ = row_pictures(rows, others, small)  # drop messages: those of the rows are enough
    items = _items(rows, others, NEIGHBOUR_TEXT_LIMIT) if rows.item_kind != "image" else None
    about = {"id": _ids(rows, others), "label": rows.given_labels[others], "items": items}
    return {"neighbours": {**about, **pictures, **columns}}


def finding_columns(findings: Sequence[RowFinding], shown: IntArray) -> list[dict[str, Any]]:
    """Return each finding: name, meaning, number of rows, and positions of its rows in the page."""
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
    """Return for each row a list of pairs: a reviewer, and the label that this reviewer chose.

    The label is the code of a class, the name of a new class, or None for an excluded row.
    """
    if not verdicts:
        return None
    code: dict[str | None, int] = {name: number for number, name in enumerate(rows.classes)}
    chosen = (verdicts.get(row, ()) for row in shown.tolist())
    return [[(name, code.get(label, label)) for name, label in pairs] for pairs in chosen]


def spelling_columns(classes: Sequence[str], sizes: Sequence[int]) -> list[list[tuple[Any, ...]]]:
    """Return groups of classes that differ only in spelling, the most frequent class first.

    A class is a triple: code, name with visible blanks, number of rows.
    """
    codes = np.repeat(np.arange(len(classes)), sizes)
    groups = spelling_groups(Labels(codes, np.array(classes, dtype=object)))
    return [
        [(code, name, sizes[code]) for code, name in zip(group, names, strict=True)]
        for group in groups
        for names in [told_apart([classes[code] for code in group])]
    ]


def thousandths(values: FloatArray | None) -> list[int | None] | None:
    """Return values as rounded thousandths in one list, row by row; None for NaN."""
    if values is None:
        return None
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [None if math.isnan(value) else round(1000 * value) for value in flat]


def _ids(rows: ReviewRows, shown: IntArray) -> list[str]:
    return [readable(rows.ids[i]) for i in shown.tolist()]


def _items(rows: ReviewRows, shown: IntArray, limit: int) -> list[str] | None:
    """Return the items (texts or image paths) of rows; texts are cut after `limit` characters."""
    if rows.items is None:
        return None
    items = [rows.item(i) for i in shown.tolist()]
    if rows.item_kind == "image":
        return items
    return [item[:limit] + "…" * (len(item) > limit) for item in items]
