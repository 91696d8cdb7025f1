"""The content of a review page: the audited rows and a summary."""

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
    code_labels,
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
    ReviewWidget,
    RowCounts,
    WrongShare,
    apply_decisions,
    check_map,
    map_embeddings,
    read_decisions,
    write_review,
)
from twohot.rows import column_here
from twohot.tables import FeatureTable

# Above this many classes, matrices of all pairs of classes are left out.
MOST_CLASSES = 400
# Number of labels and groups listed, those with the largest shares of wrong labels.
MOST_PARTS = 8
# Name of the detail on how well labels are predicted.
MODEL = "label model"
NO_MATRICES = (
    "Matrices of {n_classes:,} classes are left out of the report and summary.json: see {table} "
    "for confused labels."
)
SOME_ROWS = (
    "The report has the {n_shown:,} most suspicious of the flagged rows, without nearest rows and "
    "without a map, because the data have so many rows."
)


def review_rows(table: FeatureTable, issues: LabelIssues) -> ReviewRows:
    """Return the rows of a review.

    Parameters
    ----------
    table : FeatureTable
        The audited rows.
    issues : LabelIssues
        The result of the audit. Its classes are offered: all classes of the table if the labels
        were `table.coded`.
    """
    named = replace(issues, ids=table.ids)
    return rows_of_issues(named, table.items, table.item_kind, table.spellings)


def rows_of_issues(
    issues: LabelIssues,
    items: Sequence[str] | None = None,
    item_kind: str = "",
    spellings: Mapping[str, str] | None = None,
) -> ReviewRows:
    """Return the rows of a review, with their texts or image paths."""
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
    groups: Any = None,
    counts: RowCounts | None = None,
    map_method: str | None = "pca",
) -> ReviewSummary:
    """Return the summary of a review; if X is None, without anything that needs features.

    `groups` has a group per row, such as the annotator. `counts` are those of all rows, if `issues`
    has only some of them. `map_method` is "pca", "umap", or None for no map.
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
        label_shares=label_shares(issues),
        group_shares=group_shares(issues, groups),
        messages=(*issues.messages, *left_out),
        details={"twohot": twohot.__version__, **_agreement(choice), **details},
    )
    if X is None:
        return summary
    rows = audited_rows(X, issues)
    correlation, order = _correlation(rows, issues)
    found = look_for_issues(rows, issues)
    plan = None
    if map_method is not None:
        opened, flagged = rows.open(np.dtype(np.float32)), issues.is_label_issue
        plan = map_embeddings(opened, flagged, method=map_method, groups=groups)
    return replace(
        summary,
        correlation=correlation,
        class_order=order,
        evidence=label_evidence(rows, issues),
        findings=found.findings(),
        alike_classes=found.alike_classes,
        embedding_map=plan,
        messages=(*summary.messages, *found.messages),
    )


def row_counts(issues: LabelIssues) -> RowCounts:
    """Return the numbers of rows: all, unlabelled, flagged, close calls, and by class."""
    n_undecided = int(np.count_nonzero(issues.is_label_issue & issues.is_undecided))
    n_unlabelled = int(np.count_nonzero(issues.given == NO_LABEL))
    sizes = tuple(Labels(issues.given, issues.classes).sizes.tolist())
    n_rows, n_flagged = len(issues), issues.n_issues
    return RowCounts(n_rows, n_unlabelled, n_flagged, n_undecided, class_sizes=sizes)


def _has_matrices(issues: LabelIssues) -> bool:
    """Return whether there are few enough classes for matrices of all pairs."""
    return len(issues.classes) <= MOST_CLASSES


def _correlation(
    rows: AuditedRows, issues: LabelIssues
) -> tuple[FloatArray | None, IntArray | None]:
    """Return correlations of the classes by corrected labels, and an order by similarity.

    A class with fewer than two rows is NaN in the matrix and last in the order.
    """
    labels = issues.corrected(undecided=True, unlabelled=True)
    n_classes, has_pairs = labels.n_classes, labels.sizes > 1
    known = np.flatnonzero(has_pairs)
    if len(known) < 3 or not _has_matrices(issues):
        return None, None
    place = np.where(has_pairs, np.cumsum(has_pairs) - 1, NO_LABEL)
    shown = Labels(place[labels.codes], np.arange(len(known)))
    preparation = rows.preparation
    if not shown.labelled.all():  # rows that are alone in their class do not count in the mean
        preparation = center_labelled(rows.X, shown, rows.n_threads)
    means = correlate(rows.X, shown, preparation, rows.n_threads).means
    matrix = np.full((n_classes, n_classes), np.nan)
    matrix[np.ix_(known, known)] = means
    order = np.concatenate([known[cluster_classes(means).order], np.flatnonzero(~has_pairs)])
    return matrix, order


def _methods(choice: Choice) -> tuple[Method, ...]:
    """Return the label model, then the best candidate of each method by agreement."""
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


def _agreement(choice: Choice | None) -> dict[str, str]:
    """Return the agreement of the label model as a detail."""
    if choice is None:
        return {}
    share = f"{choice.agreement:.1%} ± {choice.agreement_error:.1%}"
    return {MODEL: f"predicts {share} of {choice.n_rows:,} held-out given labels"}


# Where the wrong labels are -----------------------------------------------------------------------


def label_shares(issues: LabelIssues) -> tuple[WrongShare, ...]:
    """Return the given labels with the largest shares of wrong labels.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> predicted = np.repeat([0, 1, 1, 0], [16, 4, 19, 1])
    >>> issues = find_label_issues(
    ...     None, ["cat"] * 20 + ["dog"] * 20, probabilities=np.eye(2)[predicted]
    ... )
    >>> [(each.name, each.n_rows, round(each.n_wrong)) for each in label_shares(issues)]
    [('cat', 20, 4), ('dog', 20, 1)]
    """
    return _most_wrong(issues, Labels(issues.given, issues.classes))


def group_shares(issues: LabelIssues, groups: Any) -> tuple[WrongShare, ...]:
    """Return the groups with the largest shares of wrong labels; empty if `groups` is None."""
    if groups is None:
        return ()
    _check_column("groups", groups, issues)
    return _most_wrong(issues, code_labels(column_here("groups", groups)))


def _most_wrong(issues: LabelIssues, parts: Labels) -> tuple[WrongShare, ...]:
    """Return parts of the rows, the largest share of wrong labels first.

    Parts are sorted by the Wilson lower bound at one standard error. Otherwise small parts would
    come first by chance.
    """
    known = (parts.codes != NO_LABEL) & (issues.given != NO_LABEL)
    codes, doubt = parts.codes[known], issues.probability_wrong[known]
    sizes = np.bincount(codes, minlength=len(parts.classes))
    wrong = np.bincount(codes, weights=doubt, minlength=len(parts.classes))
    n = np.maximum(sizes, 1)
    share = wrong / n
    error = np.sqrt(np.maximum(share * (1 - share), 0) / n + 1 / (4 * n**2))
    lower = (share + 1 / (2 * n) - error) / (1 + 1 / n)
    order = [k for k in np.argsort(-lower, kind="stable").tolist() if sizes[k]]
    return tuple(
        WrongShare(as_text(parts.classes[k]), int(sizes[k]), float(wrong[k]))
        for k in order[:MOST_PARTS]
    )


# The review page, written from Python -------------------------------------------------------------


# The next step for a page without an audit folder.
APPLY_IN_PYTHON = 'labels = issues.apply("{file}")'


def write_issue_report(
    issues: LabelIssues, path: str | os.PathLike[str], **shown: Any
) -> ReviewRows:
    """Write the page and return its rows; see `LabelIssues.report`."""
    _check_page_path(path)
    rows, summary = _page_content(issues, **shown)
    write_review(path, rows, summary, next_step=APPLY_IN_PYTHON)
    return rows


def open_issue_review(issues: LabelIssues, *, height: int, **shown: Any) -> ReviewWidget:
    """Return the page as a widget; see `LabelIssues.review`."""
    load_extra("anywidget", "notebook", "reviews in a notebook")  # before anything is computed
    rows, summary = _page_content(issues, **shown)
    return ReviewWidget(rows, summary, height=height)


def _page_content(
    issues: LabelIssues,
    *,
    texts: Sequence[str] | None,
    images: Sequence[str | os.PathLike[str]] | None,
    X: Matrix | None,
    groups: Any,
    title: str,
    map_method: str | None,
) -> tuple[ReviewRows, ReviewSummary]:
    """Return the rows and the summary of a page."""
    check_map(map_method)
    if texts is not None and images is not None:
        problem = "texts and images are both given"
        raise ArgumentError("", problem, "pass one of them.")
    name, kind, given = ("texts", "text", texts) if images is None else ("images", "image", images)
    items = None
    if given is not None:
        _check_column(name, given, issues)
        items = tuple(map(str, given))
    rows = rows_of_issues(issues, items, "" if items is None else kind)
    how = {"map_method": map_method, "groups": groups}
    return rows, review_summary(X, issues, title=title, details={}, **how)


def _check_column(name: str, given: Any, issues: LabelIssues) -> None:
    """Raise unless a column has one entry per row, in the order of the data."""
    shape = getattr(given, "shape", (0,))
    if len(shape) != 1:
        advice = "pass one column, such as df['text']."
        raise ArgumentError(name, f"has shape {tuple(shape)}", advice)
    if len(given) != len(issues):
        problem = f"has {counted(len(given), 'entry', 'entries')} and issues has {len(issues)} rows"
        raise ArgumentError(name, problem, "pass one per row, in the same order.")
    check_rows_of_issues(name, given, issues.ids)


def _check_page_path(path: str | os.PathLike[str]) -> None:
    """Raise unless a page can be written to a path."""
    target, text = Path(path), os.fspath(path)
    if target.is_dir() or text.endswith(("/", os.sep)):
        advice = f"pass a file, such as {str(target / 'report.html')!r}."
        raise ArgumentError({"path": text}, "is a folder", advice)
    if not target.parent.is_dir():
        raise ArgumentError(
            {"path": text}, "is in a folder that does not exist", "create the folder."
        )
    check_writable(target.parent, {"path": text})


# The labels after a review -----------------------------------------------------------------------


def reviewed_labels(
    issues: LabelIssues, decided: str | os.PathLike[str] | Sequence[Decision]
) -> Any:
    """Return the labels as a pandas series; see `LabelIssues.apply`."""
    pandas = load_extra("pandas", "frames", "data frames")
    rows, name = rows_of_issues(issues), "decisions"
    if isinstance(decided, str | os.PathLike):
        name, decisions = os.fspath(decided), read_decisions(decided)
    else:
        decisions = list(decided)
    _check_seen_labels(name, decisions)
    # Each line has the labels that its reviewer saw, which are checked. The report's name is not:
    # it depends on the texts of the page, and no label does.
    applied = apply_decisions(
        rows, [replace(decision, report=rows.report_id()) for decision in decisions]
    )
    new = applied.classes[len(rows.classes) :]
    labels = Labels(applied.labels, _with_new(issues.classes, new))
    return pandas.Series(pandas_labels(labels), index=issues.to_pandas().index, name="label")


def _check_seen_labels(name: str, decisions: Sequence[Decision]) -> None:
    """Raise unless every line has the labels that its reviewer saw."""
    for column in ("given_label", "suggested_label"):
        if any(getattr(decision, column) is None for decision in decisions):
            problem = f"{name} has no column {column}, which is needed to check the rows"
            raise ValueError(f"{problem}: export the decisions again from their page.")


def _with_new(classes: NDArray[Any], new: Sequence[str]) -> NDArray[Any]:
    """Return the classes with the new ones; numbers if all classes are numbers."""
    if not new:
        return classes
    if classes.dtype.kind in "iu" and all(WHOLE_NUMBER.fullmatch(name) for name in new):
        return np.array([*classes.tolist(), *map(int, new)])
    return np.array([*classes.tolist(), *new], dtype=object)
