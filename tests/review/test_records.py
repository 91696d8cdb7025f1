"""Rows of a review: checks, order, and the name of their report."""

import numpy as np
import pytest

from audits import audit_rows
from twohot.base.labels import NO_LABEL
from twohot.tables.row_ids import RowIds


def test_flagged_rows_are_sorted_by_quality() -> None:
    rows = audit_rows(6, label_quality=np.array([0.3, 0.0, 0.1, 0.0, 0.1, 0.0]))
    assert rows.flagged.tolist() == [2, 4, 0]


def test_report_name_does_not_depend_on_scores() -> None:
    rows = audit_rows(12)
    same = audit_rows(12, label_quality=rows.label_quality / 2, confidence=rows.confidence / 2)
    assert same.report_id() == rows.report_id()
    # With another name, decisions of earlier reports would be refused.
    assert rows.report_id() == "rbdbf77a282e83f55316e"


@pytest.mark.parametrize(
    "change",
    [
        {"classes": ("cat", "dog", "fox", "yak")},
        {"ids": RowIds(range(1, 13))},
        {"given_labels": np.array([3, *[0] * 11])},
        {"suggested_labels": np.array([3, *[0] * 11])},
        {"second_labels": np.array([3, *[0] * 11])},
        {"is_label_issue": np.arange(12) % 4 == 0},
        {"items": tuple("abcdefghijkl")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_report_name_depends_on_the_rows(change) -> None:
    assert audit_rows(12, **change).report_id() != audit_rows(12).report_id()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ("cat", "dog", "cat", "owl")}, "classes has 'cat' 2 times: name every"),
        (
            {"classes": ("cat", "dog", "", "owl")},
            "classes has an empty name: name every class once",
        ),
        ({"classes": ("cat", "dog", "\ud83d", "owl")}, "in valid UTF-8"),
        ({"item_kind": "sound"}, "item_kind='sound' is not known"),
        ({"items": ("a",)}, "items has 1 entry, but ids has 12"),
        ({"confidence": np.ones(3)}, "confidence has 3 entries, but ids has 12"),
        (
            {"given_labels": np.full(12, 4)},
            r"given_labels\[0\]=4 is out of range: there are 4 names, so pass integers from -1",
        ),
        ({"suggested_labels": np.full(12, NO_LABEL)}, r"suggested_labels\[0\]=-1 .* from 0 to 3"),
        ({"second_labels": np.full(12, -2)}, r"second_labels\[0\]=-2 is out of range"),
        ({"second_labels": np.zeros(3, dtype=int)}, r"second_labels has shape \(3,\)"),
        ({"ids": RowIds(["a"] * 12)}, "ids has 'a' 12 times: pass a different id"),
        ({"given_labels": np.full(12, NO_LABEL)}, "is_label_issue flags row 0, which has no label"),
    ],
)
def test_rejects_rows(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        audit_rows(12, **change)
