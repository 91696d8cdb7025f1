"""Findings in the page: which rows it shows for them, and where these stand."""

import numpy as np

from twohot.review import records as findings
from twohot.review.records import RowFinding, copies_by_row, finding_columns, rows_of_page

COPIES = RowFinding(
    "copies", "twice there", np.array([5, 2]), np.zeros(2), (np.array([2]), np.array([5, 9]))
)
LABELLED = np.ones(10, dtype=bool)
OUTLIERS = RowFinding("outliers", "alone", np.array([7, 3, 2]), np.zeros(3))


def test_flagged_rows_come_first_and_every_row_once() -> None:
    shown = rows_of_page(np.array([4, 2]), (COPIES, OUTLIERS), LABELLED)
    assert shown.tolist() == [4, 2, 5, 7, 3]
    copies, outliers = finding_columns((COPIES, OUTLIERS), shown)
    assert copies == {"name": "copies", "meaning": "twice there", "total": 2, "rows": [2, 1]}
    assert outliers["rows"] == [3, 4, 1]
    assert copies_by_row((COPIES, OUTLIERS)) == {5: [(2, None)], 2: [(5, None), (9, None)]}


def test_a_page_shows_the_first_rows_of_many_and_says_how_many_there_are(monkeypatch) -> None:
    monkeypatch.setattr(findings, "MOST_SHOWN", 2)
    shown = rows_of_page(np.array([4]), (OUTLIERS,), LABELLED)
    assert shown.tolist() == [4, 7, 3]
    assert finding_columns((OUTLIERS,), shown)[0]["total"] == 3
    # One beyond the first ones is there if it is flagged.
    flagged = rows_of_page(np.array([2]), (OUTLIERS,), LABELLED)
    assert finding_columns((OUTLIERS,), flagged)[0]["rows"] == [1, 2, 0]
