"""The content of a review page: the rows of an audit, and their summary."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import twohot
from twohot.audit.data_issues import FEW, AuditedRows, audited_rows, look_for_issues
from twohot.audit.issues import LabelIssues, check_rows_of_issues, rows_of_issues
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    as_text,
    code_labels,
    counted,
)
from twohot.describe import center_labelled, cluster_classes, correlate, products_at
from twohot.judge import Choice, Tried
from twohot.review import (
    NO_ROW,
    ChoiceCurve,
    Curve,
    Evidence,
    Method,
    NearestRows,
    ReviewRows,
    ReviewSummary,
    RowCounts,
    WrongShare,
    check_map,
    map_embeddings,
)
from twohot.rows import column_here
from twohot.tables import FeatureTable

# If there are more classes, matrices of all pairs of classes are left out.
MOST_CLASSES = 400
# Maximum number of flagged rows for which the page shows nearest rows. It is more than a person
# reviews in a day, and keeps the page small.
EXPLAINED_ROWS = 2000
# Maximum number of labels, and of groups, that the page lists. It lists those with the largest
# fractions of wrong labels.
MOST_LISTED = 8
# Name of the entry in the details of a page that says how well labels are predicted.
MODEL = "label model"


def review_rows(table: FeatureTable, issues: LabelIssues) -> ReviewRows:
    """Return the rows of a review from a table and the result of its audit."""
    with_ids = replace(issues, ids=table.ids)
    return rows_of_issues(with_ids, table.items, table.item_kind, table.spellings)


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
    """Return the summary of a review; if X is None, omit everything that needs features.

    `details` are shown after the version of twohot and the fraction of held-out labels that the
    label model predicts. `groups` has the group of each row, such as its annotator. If `issues` has
    only a selection of the rows, pass the `counts` of all rows. `map_method` is "pca", "umap", or
    None for no map.
    """
    choice: Choice | None = getattr(issues.probe, "choice_", None)
    has_matrices, messages = len(issues.classes) <= MOST_CLASSES, [*issues.messages]
    if counts is not None:
        messages.append(
            f"The report has the {len(issues):,} most suspicious of the flagged rows. It has no "
            "nearest rows and no map, because the data have too many rows."
        )
    if not has_matrices:
        table = "issues.csv" if counts is None else counts.full_table
        messages.append(
            f"Matrices of {len(issues.classes):,} classes are left out of the report and "
            f"summary.json, because they are too large: see {table} for confused labels."
        )
    about: dict[str, Any] = {"details": {"twohot": twohot.__version__}}
    if choice is not None:
        share = f"{choice.agreement:.1%} ± {choice.agreement_error:.1%} (standard error)"
        labels = "given or checked labels" if issues.n_checked else "given labels"
        about["details"][MODEL] = f"predicts {share} of {choice.n_rows:,} held-out {labels}"
        about["methods"] = _methods(choice)
        about["choice"] = _choice_curve(choice, about["methods"])
    about["details"] |= details
    # Check groups before the slow search of nearest rows.
    about["group_shares"] = group_shares(issues, groups)
    if X is not None:
        rows = audited_rows(X, issues)
        if has_matrices:
            about["correlation"], about["class_order"] = _correlation(rows, issues)
        other = look_for_issues(rows, issues)
        about |= {"findings": other.findings(), "alike_classes": other.alike_classes}
        messages += other.messages
        if map_method is not None:
            opened, flagged = rows.open(np.dtype(np.float32)), issues.is_label_issue
            embedding_map = map_embeddings(opened, flagged, method=map_method, groups=groups)
            about["embedding_map"] = embedding_map
        about["evidence"] = label_evidence(rows, issues)
    return ReviewSummary(
        title=title,
        noise_rate=issues.noise_rate,
        noise_interval=issues.noise_interval,
        corruption=issues.corruption if has_matrices else None,
        counts=counts,
        label_shares=label_shares(issues),
        messages=tuple(messages),
        **about,
    )


def row_counts(issues: LabelIssues) -> RowCounts:
    """Return the number of all, unlabelled, flagged and undecided rows, and of rows per class."""
    labels = Labels(issues.given, issues.classes)
    return RowCounts(
        n_rows=len(issues),
        n_unlabelled=int(np.count_nonzero(~labels.labelled)),
        n_flagged=issues.n_issues,
        n_undecided=int(np.count_nonzero(issues.is_label_issue & issues.is_undecided)),
        class_sizes=tuple(labels.sizes.tolist()),
    )


def _correlation(
    rows: AuditedRows, issues: LabelIssues
) -> tuple[FloatArray | None, IntArray | None]:
    """Return the correlation matrix of the classes by corrected labels, and an order of classes.

    Similar classes are neighbours in the order. A class with fewer than two rows has NaN in the
    matrix and comes last in the order. If fewer than three classes have two rows, the matrix and
    the order are None.
    """
    labels = issues.corrected(undecided=True, unlabelled=True)
    n_classes, has_pairs = labels.n_classes, labels.sizes > 1
    known = np.flatnonzero(has_pairs)
    if len(known) < 3:
        return None, None
    place = np.where(has_pairs, np.cumsum(has_pairs) - 1, NO_LABEL)
    shown = Labels(place[labels.codes], np.arange(len(known)))
    preparation = rows.preparation
    if not shown.labelled.all():  # centre by the mean of the rows in `shown` only
        preparation = center_labelled(rows.X, shown, rows.n_threads)
    means = correlate(rows.X, shown, preparation, rows.n_threads).means
    matrix = np.full((n_classes, n_classes), np.nan)
    matrix[np.ix_(known, known)] = means
    order = np.concatenate([known[cluster_classes(means).order], np.flatnonzero(~has_pairs)])
    return matrix, order


def label_evidence(
    rows: AuditedRows, issues: LabelIssues, *, n_rows: int = EXPLAINED_ROWS
) -> Evidence:
    """Return the nearest rows of the `n_rows` most suspicious rows, within two classes.

    The two classes are the suggested and the given label of the suspicious row. The nearest rows
    have the largest cosine similarity, after rows are centred and scaled to unit norm. Flagged rows
    are not used as nearest rows, because their labels are suspicious.
    """
    suspicious = issues.rows[:n_rows]
    classes = np.stack([issues.predicted[suspicious], issues.given[suspicious]], axis=1)
    members = {
        k: np.flatnonzero((issues.given == k) & ~issues.is_label_issue)
        for k in np.unique(classes).tolist()
    }
    nearest = np.full((*classes.shape, FEW), NO_ROW)
    alike = np.full(nearest.shape, np.nan)
    for place, cosines in enumerate(products_at(rows.open(), suspicious)):
        for column, k in enumerate(classes[place].tolist()):
            # A stable sort: of rows with equal cosines, the earlier row comes first.
            first = members[k][np.argsort(-cosines[members[k]], kind="stable")[:FEW]]
            nearest[place, column, : len(first)] = first
            alike[place, column, : len(first)] = cosines[first]
    of_suggested, of_given = (NearestRows(nearest[:, k], alike[:, k]) for k in (0, 1))
    return Evidence(rows=suspicious, suggested=of_suggested, given=of_given)


def _methods(choice: Choice) -> tuple[Method, ...]:
    """Return the label model, then the best candidate of each method, sorted by agreement."""
    model = Method(MODEL, choice.agreement, choice.agreement_error, chosen=True, method=MODEL)
    return model, *(
        Method(entry.name, entry.agreement, entry.agreement_error, method=entry.method)
        for entry in choice.best_by_agreement()
    )


def _choice_curve(choice: Choice, methods: Sequence[Method]) -> ChoiceCurve:
    """Return the agreement as curves over the ridge, and as one value for methods without one."""
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
    with_ridge = {curve.method for curve in curves}
    levels = tuple(method for method in methods if method.method not in with_ridge)
    return ChoiceCurve("ridge", curves, levels)


# Labels and groups with many wrong labels ---------------------------------------------------------


def label_shares(issues: LabelIssues) -> tuple[WrongShare, ...]:
    """Return the given labels with the largest fractions of wrong labels."""
    return _most_wrong(issues, Labels(issues.given, issues.classes))


def group_shares(issues: LabelIssues, groups: Any) -> tuple[WrongShare, ...]:
    """Return the groups with the largest fractions of wrong labels; empty if `groups` is None."""
    if groups is None:
        return ()
    _check_column("groups", groups, issues)
    return _most_wrong(issues, code_labels(column_here("groups", groups)))


def _most_wrong(issues: LabelIssues, groups: Labels) -> tuple[WrongShare, ...]:
    """Return at most MOST_LISTED groups of rows, sorted by their fraction of wrong labels.

    The largest fraction comes first. The sort key is the Wilson lower bound of the fraction, at one
    standard error. If the fraction itself were the key, small groups would come first by chance.
    """
    known = (groups.codes != NO_LABEL) & (issues.given != NO_LABEL)
    codes, doubt = groups.codes[known], issues.probability_wrong[known]
    sizes = np.bincount(codes, minlength=len(groups.classes))
    wrong = np.bincount(codes, weights=doubt, minlength=len(groups.classes))
    n = np.maximum(sizes, 1)
    share = wrong / n
    error = np.sqrt(np.maximum(share * (1 - share), 0) / n + 1 / (4 * n**2))
    lower = (share + 1 / (2 * n) - error) / (1 + 1 / n)
    order = [k for k in np.argsort(-lower, kind="stable").tolist() if sizes[k]]
    return tuple(
        WrongShare(as_text(groups.classes[k]), int(sizes[k]), float(wrong[k]))
        for k in order[:MOST_LISTED]
    )


# The review page of `LabelIssues.report` ----------------------------------------------------------


def page_content(
    issues: LabelIssues,
    texts: Sequence[str] | None,
    images: Sequence[str | os.PathLike[str]] | None,
    X: Matrix | None,
    groups: Any,
    *,
    title: str,
    map_method: str | None,
) -> tuple[ReviewRows, ReviewSummary]:
    """Return the rows and the summary of a page; see `LabelIssues.report`."""
    check_map(map_method)
    if texts is not None and images is not None:
        raise ArgumentError("", "texts and images are both given", "pass one of them.")
    items: tuple[str, ...] | None = None
    kind = ""
    for name, column in {"texts": texts, "images": images}.items():
        if column is not None:
            _check_column(name, column, issues)
            items, kind = tuple(map(str, column)), name.removesuffix("s")
    rows, how = rows_of_issues(issues, items, kind), {"map_method": map_method, "groups": groups}
    return rows, review_summary(X, issues, title=title, details={}, **how)


def _check_column(name: str, column: Any, issues: LabelIssues) -> None:
    """Raise unless a column has one entry per row, in the order of the data."""
    shape = getattr(column, "shape", (0,))
    if len(shape) != 1:
        advice = "pass one column, such as df['text']."
        raise ArgumentError(name, f"has shape {tuple(shape)}", advice)
    if len(column) != len(issues):
        entries = counted(len(column), "entry", "entries")
        problem = f"has {entries}, but issues has {len(issues)} rows"
        raise ArgumentError(name, problem, "pass one entry per row, in the same order.")
    check_rows_of_issues(name, column, issues)
