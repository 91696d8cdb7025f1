"""Find wrong labels, suggest corrections, and estimate their probabilities."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from twohot.audit.checked_rows import Checked, check_checked, read_checked, with_checked
from twohot.audit.issues import LabelIssues
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
    IntArray,
    Labels,
    Matrix,
    as_cells,
    as_text,
    check_count,
    check_generator,
    check_two_classes,
    check_within,
    code_labels,
    counted,
    first_few,
    label_notes,
)
from twohot.judge import (
    LIKELY_WRONG,
    WHY_ZERO,
    AutoProbe,
    LabelVerdict,
    check_probabilities,
    check_sliceable,
    column_classes,
    judge_by_probe,
    judge_given,
    naming_rows,
    probe_classes,
    reach_verdict,
)
from twohot.probes import check_features
from twohot.rows import ChunkedFeatures, column_here, count_threads, is_dask, take_rows
from twohot.tables import COLUMN, RowIds, check_same_index, counts_up, pandas_index

NAME_COLUMNS = "pass one column per class; if y lacks a class, name the columns by {classes}."
# A suggestion is a close call if its probability is less than CLOSE times the probability of the
# second class.
CLOSE = 2.0


def find_label_issues(
    X: Matrix,
    y: Any,
    *,
    probe: Any = None,
    probabilities: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    groups: Any = None,
    checked: Any = None,
    budget: int | None = None,
    precision: float | None = None,
    missing: Collection[str] = (),
    ids: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> LabelIssues:
    """Find wrong labels and suggest corrections.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame or Dask collection of shape \
    (n_samples, n_features)
        Features. Pass None if you pass `probabilities`.
    y : array, list, series or Labels of shape (n_samples,)
        Labels. Rows without a label (None, NaN, NA, empty or blank text) are predicted and never
        flagged. The classes of a `Labels` record keep their order, even if they have no rows.
    probe : fitted classifier, optional
        Classifier that gives the class probabilities: any object with `predict_proba` and
        `classes_`. Its classes are compared with the labels as text, so that 2 equals "2". If the
        classifier was fitted on these rows, clones of it are fitted by cross-validation, and
        predict only held-out rows. By default, an `AutoProbe` is fitted by cross-validation.
    probabilities : array of shape (n_samples, n_classes), optional
        Class probabilities from your own model, used instead of a probe. The model should not have
        been trained on the rows that it predicts: use cross-validation.
    classes : array of shape (n_classes,), optional
        Class of each column of `probabilities`. By default, the column names of a data frame, else
        the sorted labels of `y`. Pass `classes` if the labels are numbers as text, such as "10".
    groups : array, list or series of shape (n_samples,), optional
        Group of each row, for instance a patient, a document or a video. Rows of one group are
        always in the same fold of the cross-validation. So are exact copies, and near-duplicates if
        an `AutoProbe` is fitted.
    checked : mapping, series, data frame or path, optional
        Verdicts on rows that you have checked. A verdict is the true label, "right" or "wrong".
        Pass a mapping from row id to verdict; a pandas series of verdicts with the ids as index; a
        frame with the columns `id` and `label` or `true_label`; or the decisions that the review
        page exported. Row ids are those in `ids`, else the pandas index of X or y, else positions.
        The result contains your verdicts on these rows. The probe is fitted on their true labels,
        and `probability_wrong` of the other rows is recalibrated.
    budget : int, optional
        Flag at most this many labels, the most suspicious ones.
    precision : float, optional
        Flag as many labels as possible while the expected fraction of wrong labels among the
        flagged labels is at least `precision`. This fraction is only an estimate; for a guarantee,
        see `LabelIssues.certify`.
    missing : collection of str
        Texts that mean "no label", such as "NA". Any other text is a class.
    ids : array, list or RowIds of shape (n_samples,), optional
        Names of the rows, for instance `table.ids`. By default the index of a pandas X or y, else
        positions.
    n_jobs, random_state
        Passed to the `AutoProbe`.
    callback : callable, optional
        Called with one line of text per candidate of the `AutoProbe`. By default a notebook shows a
        progress bar.
    checkpoint : path, optional
        File in which the `AutoProbe` saves its progress; see `AutoProbe.fit`.

    Returns
    -------
    LabelIssues
        It has the columns `is_label_issue`, `label_quality`, `probability_wrong`, `given_label`,
        `predicted_label`, `second_label`, `confidence`, `second_confidence` and `is_undecided`,
        and the attributes `noise_rate`, `noise_interval` and `corruption`. The result is in memory
        even if X is not.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import find_label_issues
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.3), random_state=0)
    >>> issues = find_label_issues(X, noisy.given_labels)
    >>> found = issues["is_label_issue"]
    >>> bool(found[noisy.flipped].mean() > 0.95)  # of the wrong labels are found
    True
    >>> bool(noisy.flipped[found].mean() > 0.93)  # of the flagged labels are wrong
    True
    """
    _check_request(X, probe, probabilities, classes, groups)
    _check_indexes(X=X, y=y, ids=ids, probabilities=probabilities, groups=groups)
    check_flagging(budget, precision)
    check_generator(random_state)
    count_threads(n_jobs)
    chosen = AutoProbe(n_jobs=n_jobs, random_state=random_state)
    rows = check_features(chosen, X, reset=True) if is_dask(X) else X
    given = code_labels(column_here("y", y), missing=missing)
    if probabilities is None:
        rows = check_sliceable(rows, given)
    row_ids = audited_ids(X, y, ids, len(given.codes))
    # From here on, the code of a label is its column in the probabilities. At the end, codes are
    # converted to positions in `offered`.
    labels = given.present()
    if probabilities is not None:
        labels = given.among(column_classes(probabilities, y, given, classes=classes))
    elif probe is not None:
        labels = given.among(probe_classes(probe))
    check_two_classes(labels)
    known = None
    notes: tuple[str, ...] = ()
    if checked is not None:
        known = check_checked(read_checked(checked), labels.codes, labels.classes, ids=row_ids)
    with naming_rows(rows, row_ids):
        if probabilities is not None:
            outputs = check_probabilities(probabilities, labels, NAME_COLUMNS, classes=...)
            verdict = judge_given(outputs, labels.codes)
        elif probe is not None:
            verdict, notes = judge_by_probe(probe, rows, labels, groups=groups, n_jobs=n_jobs)
        else:
            probe = chosen
            how = {"groups": groups, "callback": callback, "checkpoint": checkpoint}
            verdict = _judge_unseen(probe, rows, labels, known, **how)
    if known is not None:
        verdict = with_checked(verdict, known)
    flagged = verdict.flag(budget, precision)
    if known is not None:
        flagged[known.rows] = known.wrong
    leaks = leak_notes(rows, labels, getattr(X, "columns", ())) if probabilities is None else []
    notes = (*leaks, *flag_notes(verdict, flagged, precision), *notes)
    notes = (*notes, *row_notes(labels, verdict, known), *label_notes(given), *id_notes(row_ids))
    offered, place = offered_classes(given, labels.classes, in_order=isinstance(y, Labels))
    codes = np.append(place, NO_LABEL).astype(np.int32)  # NO_LABEL is -1, so it stays NO_LABEL
    moved = {name: codes[getattr(verdict, name)] for name in ("codes", "first", "second")}
    verdict = replace(verdict, n_classes=len(offered), **moved)
    n_checked = 0 if known is None else len(known.rows)
    about = {"messages": notes, "probe": probe, "n_checked": n_checked}
    return _issues_of(verdict, flagged, offered, row_ids, **about)


def _judge_unseen(
    probe: AutoProbe, X: Matrix, labels: Labels, checked: Checked | None, **how: Any
) -> LabelVerdict:
    """Fit a probe by cross-validation; return its verdict on every row, by fits without this row.

    Checked rows are fitted with their true label. If a checked label is wrong and the true label is
    unknown, the row is left out of the fit.
    """
    rows = X if isinstance(X, ChunkedFeatures) else check_features(probe, X, reset=True)
    if checked is None:
        return probe.fit_coded(rows, labels, **how).verdict
    true = labels.codes.copy()
    true[checked.rows] = checked.labels
    judged = probe.fit_coded(rows, Labels(true, labels.classes), **how)
    verdict = reach_verdict(judged.anchored, labels.codes)
    # The interval is for the labels that were fitted, in which the checked labels are right. Add
    # the given labels that the check found wrong.
    n_fitted, n_labels = np.count_nonzero(true != NO_LABEL), np.count_nonzero(labels.labelled)
    n_wrong = np.count_nonzero(checked.wrong)
    low, high = ((n_wrong + share * n_fitted) / n_labels for share in verdict.interval)
    return replace(verdict, interval=(low, min(high, 1.0)))


def _issues_of(
    verdict: LabelVerdict, flagged: BoolArray, classes: NDArray[Any], ids: RowIds, **about: Any
) -> LabelIssues:
    """Return a verdict as `LabelIssues`, which take 26 bytes per row."""
    return LabelIssues(
        is_label_issue=flagged,
        label_quality=(1 - verdict.doubt).astype(np.float32),
        given=verdict.codes,
        predicted=verdict.first,
        second=verdict.second,
        confidence=verdict.confidence.astype(np.float32),
        second_confidence=verdict.runner_up.astype(np.float32),
        # If the features do not predict the labels, all rows are undecided, so that no suggestion
        # is applied without a review.
        is_undecided=(verdict.runner_up * CLOSE > verdict.confidence) | (not verdict.learnt),
        classes=classes,
        noise_rate=verdict.share,
        noise_interval=verdict.interval,
        corruption=verdict.corruption,
        ids=ids,
        **about,
    )


# Checks of the arguments --------------------------------------------------------------------------


def check_flagging(budget: int | None, precision: float | None) -> None:
    """Raise if both `budget` and `precision` are given, or one is out of range."""
    if budget is not None and precision is not None:
        both = {"budget": budget, "precision": precision}
        raise ArgumentError(both, "both set the number of flagged labels", "pass one of them.")
    if budget is not None:
        check_count("budget", budget, 0)
    if precision is not None:
        check_within("precision", precision, 0, 1)


def _check_request(
    X: Any, probe: Any, probabilities: ArrayLike | None, classes: ArrayLike | None, groups: Any
) -> None:
    """Raise if two arguments exclude each other, or if an argument needs another one."""
    if probe is not None and probabilities is not None:
        raise ArgumentError("", "probe and probabilities are both given", "pass one of them.")
    if classes is not None and probabilities is None:
        problem = "names the columns of probabilities, which are not given"
        raise ArgumentError("classes", problem, "pass probabilities too, or leave classes out.")
    if groups is not None and probabilities is not None:
        problem = "has no effect on probabilities, which were computed before"
        advice = "leave groups out, and predict each row by a model not trained on its group."
        raise ArgumentError("groups", problem, advice)
    if X is None and probabilities is None:
        raise ArgumentError("", "X is None", "pass features or probabilities.")
    if is_dask(X) and not (probe is None and probabilities is None):
        name = "probabilities" if probe is None else "probe"
        problem = f"{name} is given, and X is in chunks of Dask"
        raise ArgumentError("", problem, f"leave {name} out, or pass X as an array.")


def _check_indexes(**given: Any) -> None:
    """Raise if a pandas argument has another index than X or y."""
    compared = {"X": ("y", "ids", "groups"), "y": ("ids", "groups", "probabilities")}
    for owner, names in compared.items():
        for name in names:
            check_same_index(name, given[name], owner, pandas_index(given[owner]))


# Messages on limits of the result, and on rows that are not counted -------------------------------


def flag_notes(verdict: LabelVerdict, flagged: BoolArray, precision: float | None) -> list[str]:
    """Return warnings if no label is flagged, or if flagged labels are uncertain."""
    if not verdict.learnt:
        nothing = "The features predict these labels no better than the class frequencies alone"
        trust = "Do not trust the results of single rows. No label is corrected automatically"
        return [f"{nothing}. {trust}. Try other features, and test them with forecast."]
    if precision is not None and not flagged.any():
        reason = "no row has a more probable class than its label"
        if verdict.eligible.any():
            highest = float(np.nanmax(verdict.doubt[verdict.eligible]))
            reason = f"the most suspicious label is wrong with probability {highest:.2f}"
        return [f"No label is flagged for an expected precision of {precision:g}: {reason}."]
    notes = []
    if verdict.interval[0] == 0 and flagged.any():
        notes.append(WHY_ZERO)
    if flagged.any() and not (verdict.doubt[flagged] > LIKELY_WRONG).any():
        unsure = "All flagged labels are more likely right than wrong"
        notes.append(f"{unsure}, so none of them is corrected automatically.")
    return notes


def leak_notes(
    X: Matrix, labels: Labels, names: Sequence[Any], *, most_rows: int = 200
) -> list[str]:
    """Return a message if a column of X has one value per class, so that it is perhaps the label.

    At most `most_rows` rows are read. Classes with only one of these rows are ignored. A sparse X
    is not checked.
    """
    labelled = np.flatnonzero(labels.labelled)
    n_rows = min(most_rows, len(labelled))
    index = labelled[np.arange(n_rows) * len(labelled) // n_rows]
    given = labels.codes[index]
    index = index[np.bincount(given)[given] > 1]
    codes, first, code = np.unique(labels.codes[index], return_index=True, return_inverse=True)
    if len(codes) < 2:
        return []
    cells = take_rows(X, index)
    values = np.zeros(0) if sp.issparse(cells) else np.asarray(cells)
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        return []
    of_class = values[first]  # (n_classes, n_features), the values of one row per class
    constant = np.flatnonzero((values == of_class[code]).all(axis=0))
    columns = [column for column in constant.tolist() if len({*of_class[:, column]}) == len(codes)]
    if not columns:
        return []
    listed = first_few([str(names[column]) if len(names) else column for column in columns])
    advice = "If they contain the labels, remove these features from X: they hide all label errors."
    return [f"Features with one value for each label: {listed}. {advice}"]


def row_notes(labels: Labels, verdict: LabelVerdict, checked: Checked | None) -> list[str]:
    """Return messages on rows without a label, copies, and classes with only one labelled row."""
    notes, unlabelled, label = [], ~labels.labelled, "label"
    if checked is not None:
        unlabelled[checked.rows[checked.labels != NO_LABEL]] = False
        label = "given or checked label"
    if n_unlabelled := np.count_nonzero(unlabelled):
        counts = "They are predicted, but not counted as right or wrong."
        notes.append(f"Rows without a {label}: {n_unlabelled}. {counts}")
    if verdict.n_copies:
        copies = f"Copies and near-duplicates: {counted(verdict.n_copies, 'row')}."
        notes.append(f"{copies} Each row is judged by a fit without its copies.")
    if verdict.n_split:
        notes.append(
            f"Copies and near-duplicates: {counted(verdict.n_split, 'row')} with a copy in another "
            "fold, because the groups or folds that you passed separate copies."
        )
    if single := labels.classes[labels.sizes == 1].tolist():
        notes.append(
            f"Classes with only one labelled row: {len(single)} ({first_few(single)}). Their "
            "labels are never flagged, because no other row shows what these classes look like."
        )
    return notes


def id_notes(ids: RowIds) -> list[str]:
    """Return a note if a pandas index gives several rows the same name."""
    if not ids.are_index or ids.values.is_unique:
        return []
    repeated = first_few(ids.values[ids.values.duplicated()].unique().tolist())
    problem = "A join on this index multiplies rows, and no report can be written."
    advice = "Call reset_index(drop=True) on the data before the audit, or pass ids."
    same = f"Several rows have the same name, because the index repeats {repeated}."
    return [f"{same} {problem} {advice}"]


# Classes that an audit can suggest: classes of the labels, and classes that only the probe has ----


def offered_classes(
    labels: Labels, known: NDArray[Any], *, in_order: bool
) -> tuple[NDArray[Any], IntArray]:
    """Return the classes that an audit can suggest, and the position of each known class there.

    `known` are the classes of the probe. Classes are compared as text and named as in the labels.
    If `in_order` is True, the result has all classes of the labels, also those without rows, and
    then the classes that only the probe has. Otherwise, it has the classes of the probe, in their
    order.
    """
    of_labels = {as_text(label): label for label in labels.classes.tolist()}
    is_text = all(isinstance(label, str) for label in of_labels.values())
    of_probe = {as_text(label): label for label in known.tolist()}
    named = {text: text if is_text else label for text, label in of_probe.items()} | of_labels
    texts = list(dict.fromkeys([*of_labels, *of_probe] if in_order else of_probe))
    names = [named[text] for text in texts]
    # If the names equal one of the arrays, its type is kept. Numbers mixed with text stay numbers.
    same = [array for array in (labels.classes, known) if names == array.tolist()]
    of_one_type = len({type(name) for name in names}) == 1 and not is_text
    offered = same[0] if same else np.array(names, dtype=None if of_one_type else object)
    place = {text: number for number, text in enumerate(texts)}
    return offered, np.array([place[text] for text in of_probe])


# Ids of the audited rows -------------------------------------------------------------------------


def audited_ids(X: Any, y: Any, given: Any, n_rows: int) -> RowIds:
    """Return the given ids, else the index of X or y, else positions."""
    if given is None:
        indexes = [index for index in map(pandas_index, (X, y)) if index is not None]
        if not indexes:
            return RowIds.by_position(n_rows)
        # Prefer an index with names to an index that only counts the rows.
        index = min(indexes, key=counts_up)
        return RowIds(index, COLUMN, str(index.name or "index"))
    if not isinstance(given, RowIds):
        cells = as_cells(given, "ids", "pass one id per row.")
        given = RowIds.of_column("id", cells, argument="ids")
    ids: RowIds = given
    if len(ids) != n_rows:
        problem = f"has {counted(len(ids), 'id')} for {n_rows} rows"
        raise ArgumentError("ids", problem, "pass one id per row.")
    return ids
