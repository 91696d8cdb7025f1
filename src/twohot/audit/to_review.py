"""From what was found about labels to what a review shows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import twohot
from twohot._checks.labels import as_text
from twohot._types import FloatArray, IntArray
from twohot.audit.label_issues import LabelIssues
from twohot.classes import class_correlation, cluster_classes
from twohot.review.records import ChoiceCurve, Curve, Method, ReviewRows, ReviewSummary
from twohot.select.result import Choice
from twohot.tables.table import FeatureTable

# Fewer classes than this have no structure to show.
FEWEST_CLASSES = 3

SHOWN_CLASSES = 5  # that a message names


def with_classes_of(table: FeatureTable, judge: NDArray[Any]) -> FeatureTable:
    """Return the table with the classes of a judge behind its own: they may be suggested.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(2), labels=np.array([1, 0]), classes=("2", "10"))
    >>> with_classes_of(table, np.array([1, 2, 10])).classes
    ('2', '10', '1')
    """
    names = (as_text(name) for name in judge.tolist())
    more = tuple(name for name in names if name not in table.classes)
    if not more:
        return table
    # Nothing says which superclass the others are of.
    return replace(table, classes=(*table.classes, *more), superclass=None, superclass_names=())


def labels_for(table: FeatureTable, judge: NDArray[Any]) -> NDArray[Any]:
    """Return the given labels as a judge knows them, whose classes may be numbers.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(2), labels=np.array([1, -1]), classes=("2", "10"))
    >>> labels_for(table, np.array([1, 2, 10])).tolist()
    [10, None]
    """
    known = {as_text(name): name for name in judge.tolist()}
    present = np.unique(table.labels[table.labels >= 0])
    unknown = [table.classes[code] for code in present if table.classes[code] not in known]
    if unknown:
        shown = ", ".join(map(repr, unknown[:SHOWN_CLASSES]))
        raise ValueError(
            f"{len(unknown)} of the classes that rows have ({shown}) are unknown to the probe, "
            f"which knows {len(known)} others: pass a probe that was fitted on such labels."
        )
    names = np.array([*(known.get(name) for name in table.classes), None], dtype=object)
    named: NDArray[Any] = names[table.labels]
    return named


def review_rows(
    table: FeatureTable, issues: LabelIssues, rows: NDArray[np.intp] | None = None
) -> ReviewRows:
    """Return the rows of a review.

    Parameters
    ----------
    table : FeatureTable
        The rows that were audited.
    issues : LabelIssues
        What was found; its labels are the table's classes, by name or as numbers.
    rows : array of shape (n_rows,), optional
        Their numbers in the user's data, if these were only some of it.
    """
    return ReviewRows(
        classes=table.classes,
        row=np.arange(table.n_rows) if rows is None else rows,
        given_labels=table.labels,
        suggested_labels=_codes(table, issues.predicted_label),
        second_labels=_codes(table, issues.second_label),
        label_quality=issues.label_quality,
        confidence=np.minimum(issues.confidence, 1),
        is_label_issue=issues.is_label_issue,
        is_undecided=issues.is_undecided,
        items=table.items,
        item_kind=table.item_kind,
    )


def review_summary(
    table: FeatureTable, issues: LabelIssues, *, title: str, details: Mapping[str, str]
) -> ReviewSummary:
    """Return what a review shows of the data as a whole."""
    choice: Choice | None = getattr(issues.probe, "choice_", None)
    correlation, order = _correlation(table, issues)
    return ReviewSummary(
        title=title,
        noise_rate=issues.noise_rate,
        noise_matrix=_in_order_of(table, issues),
        methods=() if choice is None else _methods(choice),
        choice=None if choice is None else _choice_curve(choice),
        correlation=correlation,
        class_order=order,
        messages=(*_messages(issues, choice), *issues.messages),
        details={"twohot": twohot.__version__, **details},
    )


def _codes(table: FeatureTable, names: NDArray[Any]) -> IntArray:
    place = {name: code for code, name in enumerate(table.classes)}
    return np.array([place[as_text(name)] for name in names.tolist()], dtype=np.intp)


def _in_order_of(table: FeatureTable, issues: LabelIssues) -> FloatArray:
    """Return the noise matrix by the classes of the table; one that no row has stays clean."""
    codes = _codes(table, issues.classes)
    matrix = np.eye(len(table.classes))
    matrix[np.ix_(codes, codes)] = issues.noise_matrix
    return matrix


def _correlation(
    table: FeatureTable, issues: LabelIssues
) -> tuple[FloatArray | None, IntArray | None]:
    """Return the correlation of the classes by the corrected labels, alike ones side by side.

    A class of fewer than two rows has none: it is NaN in the matrix and last in the order.
    """
    codes = _codes(table, issues.corrected_labels(undecided=True, unlabelled=True))
    n_classes = len(table.classes)
    has_pairs = np.bincount(codes, minlength=n_classes) > 1
    known = np.flatnonzero(has_pairs)
    if len(known) < FEWEST_CLASSES:
        return None, None
    place = np.where(has_pairs, np.cumsum(has_pairs) - 1, -1)
    means = class_correlation(table.features, place[codes], len(known)).means
    matrix = np.full((n_classes, n_classes), np.nan)
    matrix[np.ix_(known, known)] = means
    order = np.concatenate([known[cluster_classes(means).order], np.flatnonzero(~has_pairs)])
    return matrix, order


def _methods(choice: Choice) -> tuple[Method, ...]:
    """Return the best of every method, by agreement; the chosen one for its own method."""
    best = {
        entry.method: entry for entry in sorted(choice.tried, key=lambda entry: entry.agreement)
    }
    best[choice.chosen.method] = choice.chosen
    return tuple(
        Method(entry.name, entry.agreement, entry.agreement_error, chosen=entry.chosen)
        for entry in best.values()
    )


def _choice_curve(choice: Choice) -> ChoiceCurve:
    curves = []
    for method in dict.fromkeys(entry.method for entry in choice.tried):
        entries = sorted((e for e in choice.tried if e.method == method), key=lambda e: e.ridge)
        curves.append(
            Curve(method, tuple(e.ridge for e in entries), tuple(e.agreement for e in entries))
        )
    return ChoiceCurve("ridge", tuple(curves), (choice.chosen.ridge, choice.chosen.agreement))


def _messages(issues: LabelIssues, choice: Choice | None) -> tuple[str, ...]:
    labelled = int(np.count_nonzero(~np.isnan(issues.label_quality)))
    undecided = int(np.count_nonzero(issues.is_label_issue & issues.is_undecided))
    found = (
        f"About {issues.noise_rate:.1%} of {labelled:,} labels look wrong; {issues.n_issues:,} are "
        f"flagged, {undecided:,} of them with two candidates that are close."
    )
    if choice is None:
        return (found,)
    judged = (
        f"Judged by {choice.chosen.name}, which predicts {choice.chosen.agreement:.1%} ± "
        f"{choice.chosen.agreement_error:.1%} of {choice.n_held_out:,} given labels that it had "
        "not seen."
    )
    return found, judged
