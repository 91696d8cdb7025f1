"""The data of a page: columns of the rows that it shows, their pictures, and their neighbours.

A row costs a few bytes, since a page may show a hundred thousand of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import FloatArray, IntArray, counted, load_extra
from twohot.review.records import Near, ReviewRows, neighbour_numbers, readable
from twohot.review.thumbnails import link, thumbnail

# Characters of a text that a card carries; nobody reads more there, and issues.csv has it all.
TEXT_LIMIT = 2000
# Of a neighbour's text: enough to see what it is about.
NEIGHBOUR_TEXT_LIMIT = 300
# In pixels: neighbours stand three in a line.
NEIGHBOUR_SIZE = 96


@dataclass(frozen=True)
class PictureFiles:
    """Where pictures are, and how many of them a page carries."""

    folder: Path  # of the page, from which links start
    root: Path  # of relative paths of pictures
    limit: int  # pictures of rows that are embedded, and as many of neighbours; others are linked
    size: int  # largest side of one, in pixels


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
    """Return the pictures of rows and their addresses, and what to say about them."""
    if rows.items is None or rows.item_kind != "image":
        return {"links": None, "thumbnails": []}, []
    items = [rows.items[i] for i in shown.tolist()]
    links = [link(item, files.root, files.folder) for item in items]
    try:
        load_extra("PIL.Image", "vision", "thumbnails")
    except ImportError as error:
        return {"links": links, "thumbnails": []}, [f"Pictures are linked, not embedded: {error}."]
    small = [thumbnail(files.root / item, files.size) for item in items[: files.limit]]
    n_missing, shown_first = small.count(None), counted(len(small), "picture")
    said = [f"{n_missing} of the first {shown_first} could not be read."] if n_missing else []
    return {"links": links, "thumbnails": small}, said


def neighbour_columns(
    rows: ReviewRows, shown: IntArray, near: Mapping[str, Near], files: PictureFiles
) -> dict[str, Any]:
    """Return the neighbours of each row of a page, and what there is to show of these."""
    columns, others = neighbour_numbers(near, shown)
    if not len(others):
        return {"neighbours": None}
    small = replace(files, size=min(files.size, NEIGHBOUR_SIZE))
    pictures, _ = row_pictures(rows, others, small)  # of the same files: what fails was said
    items = _items(rows, others, NEIGHBOUR_TEXT_LIMIT) if rows.item_kind != "image" else None
    labels = rows.given_labels[others]
    neighbours = {"id": _ids(rows, others), "label": labels, "items": items}
    return {"neighbours": {**neighbours, **pictures, **columns}}


def thousandths(values: FloatArray | None) -> list[int | None] | None:
    """Return whole numbers, which are short in a page, row by row; None for NaN."""
    if values is None:
        return None
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [None if math.isnan(value) else round(1000 * value) for value in flat]


def _ids(rows: ReviewRows, shown: IntArray) -> list[str]:
    return [readable(rows.ids[i]) for i in shown.tolist()]


def _items(rows: ReviewRows, shown: IntArray, limit: int) -> list[str] | None:
    """Return what rows came from, texts cut where they are long."""
    if rows.items is None:
        return None
    items = [rows.item(i) for i in shown.tolist()]
    if rows.item_kind == "image":
        return items
    return [item[:limit] + "…" * (len(item) > limit) for item in items]
