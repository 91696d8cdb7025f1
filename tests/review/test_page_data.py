"""The rows of a page, and its columns for findings and neighbours."""

import numpy as np
from page_script import data_of
from PIL import Image

from audits import HOSTILE, audit_rows
from twohot.review.page_data import finding_columns, neighbours_by_row, rows_of_page
from twohot.review.records import NO_ROW, Evidence, NearestRows, ReviewSummary, RowFinding

COPIES = RowFinding(
    "copies", "twice there", np.array([5, 2]), np.zeros(2), (np.array([2]), np.array([5, 9]))
)
LABELLED = np.ones(10, dtype=bool)
OUTLIERS = RowFinding("outliers", "alone", np.array([7, 3, 2]), np.zeros(3))


def evidence_of(rows, suggested, given) -> Evidence:
    """Return neighbours by position, with cosines 0.9, 0.8, …"""

    def nearest(near) -> NearestRows:
        cosines = 0.9 - 0.1 * np.arange(len(near[0]))
        return NearestRows(np.array(near), np.where(np.array(near) != NO_ROW, cosines, np.nan))

    return Evidence(rows=np.array(rows), suggested=nearest(suggested), given=nearest(given))


def test_neighbours_are_numbered_in_the_order_of_the_page(tmp_path) -> None:
    flagged = np.isin(np.arange(12), [2, 4, 6])
    rows = audit_rows(12, is_label_issue=flagged, label_quality=np.arange(12) / 12)
    evidence = evidence_of([6, 2], [[9, 7], [7, 3]], [[1, NO_ROW], [NO_ROW, NO_ROW]])
    found = data_of(tmp_path, rows, ReviewSummary(evidence=evidence))["neighbours"]
    assert found["id"] == ["7", "3", "9", "1"]
    assert found["nearSuggested"] == [[[0, 90], [1, 80]], None, [[2, 90], [0, 80]]]
    assert found["nearGiven"] == [[], None, [[3, 90]]]


def test_texts_of_neighbours_are_cut(tmp_path) -> None:
    rows = audit_rows(12, items=tuple(HOSTILE[-12:]), item_kind="text")
    evidence = evidence_of([10], [[11, 1]], [[3, NO_ROW]])
    neighbours = data_of(tmp_path, rows, ReviewSummary(evidence=evidence))["neighbours"]
    assert neighbours["id"] == ["11", "1", "3"]
    assert neighbours["items"] == [rows.items[11][:300] + "…", rows.items[1], rows.items[3]]
    assert neighbours["thumbnails"] == []


def test_pictures_of_neighbours_are_small_and_limited(tmp_path) -> None:
    items = tuple(f"{i}.png" for i in range(12))
    for item in items:
        Image.effect_noise((300, 200), 50).save(tmp_path / item)
    rows = audit_rows(12, items=items, item_kind="image")
    summary = ReviewSummary(evidence=evidence_of([10, 8], [[11, 1], [9, 7]], [[3, 5], [3, 5]]))
    data = data_of(tmp_path, rows, summary, image_root=tmp_path, embed_limit=4)
    assert len(data["neighbours"]["thumbnails"]) == len(data["thumbnails"]) == 4
    assert data["neighbours"]["label"] == [rows.given_labels[i] for i in (11, 1, 3, 5, 9, 7)]
    assert data["neighbours"]["links"] == [f"{i}.png" for i in (11, 1, 3, 5, 9, 7)]
    shortest = min(map(len, data["thumbnails"]))
    assert all(len(uri) < shortest / 2 for uri in data["neighbours"]["thumbnails"])


def test_flagged_rows_come_first_and_no_row_twice() -> None:
    shown = rows_of_page(np.array([4, 2]), (COPIES, OUTLIERS), LABELLED)
    assert shown.tolist() == [4, 2, 5, 7, 3]
    copies, outliers = finding_columns((COPIES, OUTLIERS), shown)
    assert copies == {"name": "copies", "meaning": "twice there", "total": 2, "rows": [2, 1]}
    assert outliers["rows"] == [3, 4, 1]
    near = neighbours_by_row(None, (COPIES, OUTLIERS))
    assert near == {"copies": {5: [(2, None)], 2: [(5, None), (9, None)]}}


def test_page_has_the_first_rows_of_a_long_finding() -> None:
    many = RowFinding("outliers", "alone", np.arange(1500, 0, -1), np.zeros(1500))
    shown = rows_of_page(np.array([4]), (many,), np.ones(2000, dtype=bool))
    assert shown.tolist() == [4, *range(1500, 500, -1)]
    (found,) = finding_columns((many,), shown)
    # A row beyond the limit is in the page if it is flagged.
    assert (found["total"], found["rows"]) == (1500, [*range(1, 1001), 0])
