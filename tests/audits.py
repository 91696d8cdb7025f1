"""Small audits to test with."""

from typing import Any

import numpy as np

from twohot.audit.data_issues import AuditedRows
from twohot.base.labels import NO_LABEL
from twohot.review.decisions import DECISIONS, Applied
from twohot.review.records import ReviewRows
from twohot.rows.open import fit_preparation
from twohot.tables.row_ids import RowIds

ANIMALS = ("cat", "dog", "fox", "owl")

# What a user's data may hold: markup, formulas, names that objects have, marks that reorder or
# break lines, half an emoji's worth of trouble, and length.
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1">',
    "\"><svg onload='window.hacked = 1'>",
    "]]><!-- {{ 7 * 7 }} ${alert(1)} --><b>&amp;&lt;",
    "javascript:window.hacked=1",
    '=HYPERLINK("http://example.invalid", "x")',
    "'=1+1",
    "-1",
    "@sum, \"quoted\", 'single'",
    "line\nbreak\rand\r\nboth\u2028and\u2029these",
    "\u202eright to left\u202c שלום",
    "__proto__",
    "constructor",
    " blank before and after ",
    "\ttab",
    "\u0000 and \ufeff",
    "😀 é 漢字",
    "long " * 3000,
)


def audit_rows(n_rows: int = 12, **changes: Any) -> ReviewRows:
    """Return rows whose even ones are flagged: given label k, suggested k + 1, second k + 2."""
    position = np.arange(n_rows)
    n_classes = len(changes.get("classes", ANIMALS))
    given = (position // 2) % n_classes
    flagged = position % 2 == 0
    fields: dict[str, Any] = {
        "classes": ANIMALS,
        "ids": RowIds.by_position(n_rows),
        "given_labels": given,
        "suggested_labels": np.where(flagged, (given + 1) % n_classes, given),
        "second_labels": (given + 2) % n_classes,
        # The last flagged row is the most suspicious; confidences run through in a third order.
        "label_quality": np.where(flagged, 0.5 - 0.5 * position / n_rows, 0.9),
        "confidence": 0.5 + 0.5 * ((7 * position) % n_rows) / n_rows,
        "second_confidence": 0.5 - 0.5 * ((7 * position) % n_rows) / n_rows,
        "is_label_issue": flagged,
        "is_undecided": position % 6 == 0,
    }
    return ReviewRows(**{**fields, **changes})


def prepared_once(X: Any) -> AuditedRows:
    """Return rows as a review reads them."""
    preparation = fit_preparation(X, center=True, normalize=True, weights=None, n_jobs=1)
    return AuditedRows(X, preparation, 1)


def applied_labels(
    rows: ReviewRows, labels: Any, *, new_classes: tuple[str, ...] = (), excluded: Any = ()
) -> Applied:
    """Return a review that led to these labels, and took some rows out."""
    now, is_excluded = np.array(labels), np.zeros(rows.n_rows, dtype=bool)
    is_excluded[list(excluded)] = True
    now[is_excluded] = NO_LABEL
    return Applied(
        classes=(*rows.classes, *new_classes),
        labels=now,
        excluded=is_excluded,
        notes={},
        n_decided=dict.fromkeys(DECISIONS, 0),
        n_changed=int(np.sum((now != rows.given_labels) & ~is_excluded)),
        n_open=0,
    )
