"""What a review shows: the rows of an audit, and what was found overall."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import twohot
from twohot.audit.data_issues import look_for_issues
from twohot.audit.issues import LabelIssues, check_rows_of_issues, pandas_labels
from twohot.audit.neighbours import AuditedRows, audited_rows, label_evidence
from twohot.base import (
    NO_LABEL,
    WHOLE_NUMBER,
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    as_text,
    check_writable,
    counted,
    load_extra,
)
from twohot.describe import center_labelled, cluster_classes, correlate
from twohot.judge import Choice, Tried
from twohot.review import (
    ChoiceCurve,
    Curve,
    Decision,
    Method,
    ReviewRows,
    ReviewSummary,
    RowCounts,
    apply_decisions,
    read_decisions,
    write_review,
)
from twohot.tables import FeatureTable

# A matrix has an entry for each pair of classes: of more nobody can see it.
MOST_CLASSES = 400


NO_MATRICES = (
    "Matrices of {n_classes:,} classes are left out, here and in summary.json: {table} says "
    "which labels are confused."
)
SOME_ROWS = (
    "Of the flagged rows, the {n_shown:,} most doubtful are here; what the features say of their "
    "neighbours is not looked for in so many rows."
)


def review_rows(table: FeatureTable, issues: LabelIssues) -> ReviewRows:
    """Return the rows of a review.

    Parameters
    ----------
    table : FeatureTable
        The rows that were audited.
    issues : LabelIssues
        What was found. Of the table's classes those are offered that it knows: all of them if
        the labels were `table.coded`.
    """
    named = replace(issues, ids=table.ids)
    return rows_of_issues(named, table.items, table.item_kind, table.spellings)


def rows_of_issues(
    issues: LabelIssues,
    items: Sequence[str] | None = None,
    item_kind: str = "",
    spellings: Mapping[str, str] | None = None,
) -> ReviewRows:
    """Return the rows of a review, with the texts or paths of images that they came from."""
    return ReviewRows(
        classes=tuple(as_text(name) for name in issues.classes.tolist()),
        ids=issues.ids,
        given_labels=issues.given,
        suggested_labels=issues.predicted,
        second_labels=issues.second,
        label_quality=issues.label_quality,
        confidence=np.minimum(issues.confidence, 1),
        second_confidence=issues.second_confidence,
        is_label_issue=issues.is_label_issue,
        is_undecided=issues.is_undecided,
        items=items,
        item_kind=item_kind,
        spellings=spellings or {},
    )


def review_summary(
    X: Matrix | None,
    issues: LabelIssues,
    *,
    title: str,
    details: Mapping[str, str],
    counts: RowCounts | None = None,
) -> ReviewSummary:
    """Return what a review shows of the data as a whole; without features, of the labels alone.

    `counts` are those of all rows, where `issues` has only some of them.
    """
    choice: Choice | None = getattr(issues.probe, "choice_", None)
    n_classes, known = len(issues.classes), counts or row_counts(issues)
    table = known.full_table or "issues.csv"
    left_out = [] if counts is None else [SOME_ROWS.format(n_shown=len(issues))]
    if not _has_matrices(issues):
        left_out.append(NO_MATRICES.format(n_classes=n_classes, table=table))
    summary = ReviewSummary(
        title=title,
        noise_rate=issues.noise_rate,
        noise_interval=issues.noise_interval,
        corruption=issues.corruption if _has_matrices(issues) else None,
        methods=() if choice is None else _methods(choice),
        choice=None if choice is None else _choice_curve(choice),
        counts=counts,
        messages=(*_messages(issues, choice, known), *issues.messages, *left_out),
        details={"twohot": twohot.__version__, **details},
    )
    if X is None:
        return summary
    rows = audited_rows(X, issues)
    correlation, order = _correlation(rows, issues)
    found = look_for_issues(rows, issues)
    return replace(
        summary,
        correlation=correlation,
        class_order=order,
        evidence=label_evidence(rows, issues),
        findings=found.findings(),
        alike_classes=found.alike_classes,
        messages=(*summary.messages, *found.messages),
    )


def row_counts(issues: LabelIssues) -> RowCounts:
    """Return how many rows there are of each kind."""
    n_undecided = int(np.count_nonzero(issues.is_label_issue & issues.is_undecided))
    n_unlabelled = int(np.count_nonzero(issues.given == NO_LABEL))
    sizes = tuple(Labels(issues.given, issues.classes).sizes.tolist())
    n_rows, n_flagged = len(issues), issues.n_issues
    return RowCounts(n_rows, n_unlabelled, n_flagged, n_undecided, class_sizes=sizes)


def _has_matrices(issues: LabelIssues) -> bool:
    """Return whether there are few enough classes for an entry for each pair of them."""
    return len(issues.classes) <= MOST_CLASSES


def _correlation(
    rows: AuditedRows, issues: LabelIssues
) -> tuple[FloatArray | None, IntArray | None]:
    """Return the correlation of the classes by the corrected labels, alike ones side by side.

    A class of fewer than two rows has none: it is NaN in the matrix and last in the order.
    """
    labels = issues.corrected(undecided=True, unlabelled=True)
    n_classes, has_pairs = labels.n_classes, labels.sizes > 1
    known = np.flatnonzero(has_pairs)
    if len(known) < 3 or not _has_matrices(issues):
        return None, None
    place = np.where(has_pairs, np.cumsum(has_pairs) - 1, NO_LABEL)
    shown = Labels(place[labels.codes], np.arange(len(known)))
    preparation = rows.preparation
    if not shown.labelled.all():  # rows that are alone in their class take no part in the mean
        preparation = center_labelled(rows.X, shown, rows.n_threads)
    means = correlate(rows.X, shown, preparation, rows.n_threads).means
    matrix = np.full((n_classes, n_classes), np.nan)
    matrix[np.ix_(known, known)] = means
    order = np.concatenate([known[cluster_classes(means).order], np.flatnonzero(~has_pairs)])
    return matrix, order


def _methods(choice: Choice) -> tuple[Method, ...]:
    """Return the label model, and the best of every method by agreement."""
    model = Method(
        "label model", choice.agreement, choice.agreement_error, chosen=True, method="label model"
    )
    return model, *(
        Method(entry.name, entry.agreement, entry.agreement_error, method=entry.method)
        for entry in choice.best_by_agreement()
    )


def _choice_curve(choice: Choice) -> ChoiceCurve:
    kinds: dict[str, list[Tried]] = {}
    for entry in choice.tried:
        if entry.ridge is not None:
            kinds.setdefault(entry.kind, []).append(entry)
    curves = tuple(
        Curve(
            kind,
            tuple(sorted((entry.ridge or 0.0, entry.agreement) for entry in entries)),
            method=entries[0].method,
            whiten=entries[0].whiten,
        )
        for kind, entries in kinds.items()
    )
    with_ridge = {entry.method for entry in choice.tried if entry.ridge is not None}
    levels = tuple(method for method in _methods(choice) if method.method not in with_ridge)
    return ChoiceCurve("ridge", curves, levels)


def _messages(issues: LabelIssues, choice: Choice | None, counts: RowCounts) -> tuple[str, ...]:
    labelled = counts.n_rows - counts.n_unlabelled
    close = f", {counts.n_undecided:,} of them with two candidates that are close"
    found = (
        f"Of {labelled:,} labels, {issues.share_in_words()}; {counts.n_flagged:,} are flagged"
        f"{close if counts.n_flagged else ''}."
    )
    if choice is None:
        return (found,)
    judged = (
        f"The label model predicts {choice.agreement:.1%} ± {choice.agreement_error:.1%} of "
        f"{choice.n_rows:,} given labels that it had not seen."
    )
    return found, judged


# The review page of a table of issues, written from Python in one call ----------------------------


# What to do with the decisions of a page that has no audit folder.
APPLY_IN_PYTHON = 'labels = issues.apply("{file}")'


def write_issue_report(
    issues: LabelIssues,
    path: str | os.PathLike[str],
    *,
    texts: Sequence[str] | None,
    images: Sequence[str | os.PathLike[str]] | None,
    X: Matrix | None,
    title: str,
) -> ReviewRows:
    """Write the page and return its rows; see `LabelIssues.report`."""
    _check_page_path(path)
    if texts is not None and images is not None:
        problem = "texts and images both say what the rows came from"
        raise ArgumentError("", problem, "pass one of them.")
    name, kind, given = ("texts", "text", texts) if images is None else ("images", "image", images)
    shape = getattr(given, "shape", (0,))
    if len(shape) != 1:
        advice = "pass one column, that of a frame by its name: df['text']."
        raise ArgumentError(name, f"has shape {tuple(shape)}", advice)
    if given is not None and len(given) != len(issues):
        problem = f"has {counted(len(given), 'entry', 'entries')} and issues has {len(issues)} rows"
        raise ArgumentError(name, problem, "pass one per row, in the same order.")
    check_rows_of_issues(name, given, issues.ids)
    items = None if given is None else tuple(map(str, given))
    rows = rows_of_issues(issues, items, "" if items is None else kind)
    summary = review_summary(X, issues, title=title, details={})
    write_review(path, rows, summary, next_step=APPLY_IN_PYTHON)
    return rows


def _check_page_path(path: str | os.PathLike[str]) -> None:
    """Raise unless a page can be written there, before anything is computed for it."""
    target, text = Path(path), os.fspath(path)
    if target.is_dir() or text.endswith(("/", os.sep)):
        advice = f"pass the file to write, {str(target / 'report.html')!r} for instance."
        raise ArgumentError({"path": text}, "is a folder", advice)
    if not target.parent.is_dir():
        raise ArgumentError({"path": text}, "is in a folder that is not there", "make it first.")
    check_writable(target.parent, {"path": text})


# The labels of a table of issues after its page was reviewed, in the index of the user's data -----


def reviewed_labels(issues: LabelIssues, path: str | os.PathLike[str]) -> Any:
    """Return the labels as a pandas series; see `LabelIssues.apply`."""
    pandas = load_extra("pandas", "frames", "data frames")
    rows, decisions = rows_of_issues(issues), read_decisions(path)
    _check_seen_labels(path, decisions)
    # Each line says what its reviewer saw of the row, and that is checked. The name of the page
    # would ask for its texts again, on which no label depends.
    applied = apply_decisions(
        rows, [replace(decision, report=rows.report_id()) for decision in decisions]
    )
    new = applied.classes[len(rows.classes) :]
    labels = Labels(applied.labels, _with_new(issues.classes, new))
    return pandas.Series(pandas_labels(labels), index=issues.to_pandas().index, name="label")


def _check_seen_labels(path: str | os.PathLike[str], decisions: Sequence[Decision]) -> None:
    """Raise unless every line says which labels its reviewer saw."""
    for name in ("given_label", "suggested_label"):
        if any(getattr(decision, name) is None for decision in decisions):
            problem = f"{path} has no column {name}, by which rows are checked"
            raise ValueError(f"{problem}: export the decisions again from their page.")


def _with_new(classes: NDArray[Any], new: Sequence[str]) -> NDArray[Any]:
    """Return the classes and those that a reviewer typed, numbers if all others are."""
    if not new:
        return classes
    if classes.dtype.kind in "iu" and all(WHOLE_NUMBER.fullmatch(name) for name in new):
        return np.array([*classes.tolist(), *map(int, new)])
    return np.array([*classes.tolist(), *new], dtype=object)
