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
# A suggestion is a close call if its probability is less than this many times the second largest.
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
        Features. None if `probabilities` are given.
    y : array, list, series or Labels of shape (n_samples,)
        Labels. Rows without a label (None, NaN, NA, empty or blank text) are predicted and never
        flagged. The classes of a `Labels` record keep their order, also those without rows.
    probe : fitted classifier, optional
        Classifier used to judge the labels: any object with `predict_proba` and `classes_`. Its
        classes are compared with the labels as text, so that 2 equals "2". If it was fitted on
        these rows, clones are fitted in cross-validation and judge held-out rows. By default an
        `AutoProbe` is fitted, which judges held-out rows as well.
    probabilities : array of shape (n_samples, n_classes), optional
        Class probabilities from your own model, used instead of a probe. They should be held-out:
        from a model that was not trained on the row.
    classes : array of shape (n_classes,), optional
        Classes of the columns of `probabilities`. By default, the column names of a data frame,
        else the sorted labels of `y`. Required if labels are text that reads as numbers.
    groups : array, list or series of shape (n_samples,), optional
        Rows of one group (a patient, a document, a video) are never in different folds. Copies
        always form one group. If an `AutoProbe` is fitted, near-duplicates do so too.
    checked : mapping, series, data frame or path, optional
        Rows that you have checked: a mapping from row id to the true label, or to "right" or
        "wrong"; a pandas series of these with the ids as index; a frame with the columns `id` and
        `label` or `true_label`; or the decisions that the review page exported. Ids are those of
        `ids`, else of the pandas index of X or y, else positions. Checked rows keep
        their verdict, train with their true label, and recalibrate `probability_wrong`.
    budget : int, optional
        Flag at most this many labels, the most suspicious ones.
    precision : float, optional
        Flag as many labels as possible while the expected share of wrong labels among them is at
        least this. This is an estimate, not a guarantee; see `LabelIssues.certify` for one.
    missing : collection of str
        Texts that mean "no label", such as "NA". By default they are classes.
    ids : array, list or RowIds of shape (n_samples,), optional
        Names of the rows, `table.ids` for instance. By default the index of a pandas X or y, else
        positions.
    n_jobs, random_state
        Passed to the `AutoProbe`.
    callback : callable, optional
        Called with one line of text per candidate. By default a notebook shows a progress bar.
    checkpoint : path, optional
        File in which the `AutoProbe` keeps its progress; see `AutoProbe.fit`.

    Returns
    -------
    LabelIssues
        One row per sample, in memory for every container: `is_label_issue`, `label_quality`,
        `probability_wrong`, `given_label`, `predicted_label`, `second_label`, `confidence`,
        `second_confidence`, `is_undecided`; and `noise_rate`, `noise_interval`, `corruption`.

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
    # The codes follow the columns of the probabilities. The result uses the codes of y.
    labels = given.present()
    if probabilities is not None:
        labels = given.among(column_classes(probabilities, y, given, classes=classes))
    elif probe is not None:
        labels = given.among(probe_classes(probe))
    check_two_classes(labels)
    known = None
    said: tuple[str, ...] = ()
    if checked is not None:
        known = check_checked(read_checked(checked), labels.codes, labels.classes, ids=row_ids)
    with naming_rows(rows, row_ids):
        if probabilities is not None:
            own = check_probabilities(probabilities, labels, NAME_COLUMNS, classes=...)
            verdict = judge_given(own, labels.codes)
        elif probe is not None:
            verdict, said = judge_by_probe(probe, rows, labels, groups=groups, n_jobs=n_jobs)
        else:
            probe = chosen
            how = {"groups": groups, "callback": callback, "checkpoint": checkpoint}
            verdict = _judge_unseen(probe, rows, labels, known, **how)
    if known is not None:
        verdict = with_checked(verdict, known)
    flagged = verdict.flag(budget, precision)
    if known is not None:
        flagged[known.rows] = known.wrong
    messages = (*flag_notes(verdict, flagged, precision), *said, *row_notes(labels, verdict, known))
    messages = (*messages, *label_notes(given), *repeated_index_note(row_ids))
    if probabilities is None:
        messages = (*leak_notes(rows, labels, getattr(X, "columns", ())), *messages)
    offered, place = offered_classes(given, labels.classes, in_order=isinstance(y, Labels))
    issues = _issues_of(_among(verdict, place, len(offered)), flagged, offered, row_ids)
    n_checked = 0 if known is None else len(known.rows)
    return replace(issues, messages=messages, probe=probe, n_checked=n_checked)


def _judge_unseen(
    probe: AutoProbe, X: Matrix, labels: Labels, checked: Checked | None, **how: Any
) -> LabelVerdict:
    """Fit a probe; return the verdict on held-out rows.

    Checked rows are fitted with their true label. Rows whose label is wrong and whose true label
    is unknown are left out of the fit.
    """
    rows = X if isinstance(X, ChunkedFeatures) else check_features(probe, X, reset=True)
    if checked is None:
        return probe.fit_coded(rows, labels, **how).verdict
    true = labels.codes.copy()
    true[checked.rows] = checked.labels
    judged = probe.fit_coded(rows, Labels(true, labels.classes), **how)
    verdict = reach_verdict(judged.anchored, labels.codes)
    # The interval holds for the fitted labels, in which every checked label is right.
    n_fitted, n_labels = np.count_nonzero(true != NO_LABEL), np.count_nonzero(labels.labelled)
    n_wrong = np.count_nonzero(checked.wrong)
    low, high = ((n_wrong + share * n_fitted) / n_labels for share in verdict.interval)
    return replace(verdict, interval=(low, min(high, 1.0)))


def _issues_of(
    verdict: LabelVerdict, flagged: BoolArray, classes: NDArray[Any], ids: RowIds
) -> LabelIssues:
    """Return a verdict as `LabelIssues`, which takes 26 bytes per row."""
    return LabelIssues(
        is_label_issue=flagged,
        label_quality=(1 - verdict.doubt).astype(np.float32),
        given=verdict.codes,
        predicted=verdict.first,
        second=verdict.second,
        confidence=verdict.confidence.astype(np.float32),
        second_confidence=verdict.runner_up.astype(np.float32),
        # If the features explain nothing, no suggestion is applied without a review.
        is_undecided=(verdict.runner_up * CLOSE > verdict.confidence) | (not verdict.learnt),
        classes=classes,
        noise_rate=verdict.share,
        noise_interval=verdict.interval,
        corruption=verdict.corruption,
        ids=ids,
    )


# Checks of the arguments --------------------------------------------------------------------------


def check_flagging(budget: int | None, precision: float | None) -> None:
    """Raise if both `budget` and `precision` are given, or one is out of range."""
    if budget is not None and precision is not None:
        both = {"budget": budget, "precision": precision}
        raise ArgumentError(both, "both set the number of flagged labels", "pass one.")
    if budget is not None:
        check_count("budget", budget, 0)
    if precision is not None:
        check_within("precision", precision, 0, 1)


def _check_request(
    X: Any, probe: Any, probabilities: ArrayLike | None, classes: ArrayLike | None, groups: Any
) -> None:
    """Raise if two arguments exclude each other, or one is passed without another it needs."""
    if probe is not None and probabilities is not None:
        raise ArgumentError("", "probe and probabilities are both given", "pass one of them.")
    if classes is not None and probabilities is None:
        problem = "names the columns of probabilities, which are not given"
        raise ArgumentError("classes", problem, "pass both or none.")
    if groups is not None and probabilities is not None:
        problem = "has no effect on probabilities, which were computed before"
        advice = "leave it out, and pass probabilities of a model not trained on the row's group."
        raise ArgumentError("groups", problem, advice)
    if X is None and probabilities is None:
        raise ArgumentError("", "X is None", "pass features or probabilities.")
    if is_dask(X) and not (probe is None and probabilities is None):
        name = "probabilities" if probe is None else "probe"
        problem = f"{name} is given, and X is in chunks of Dask"
        raise ArgumentError("", problem, "leave it out, or pass X as an array.")


def _check_indexes(**given: Any) -> None:
    """Raise if a pandas argument has another index than X or y."""
    known = {"X": ("y", "ids", "groups"), "y": ("ids", "groups", "probabilities")}
    for owner, names in known.items():
        for name in names:
            check_same_index(name, given[name], owner, pandas_index(given[owner]))


# Messages: limits of the result, and rows that are not counted ------------------------------------


def flag_notes(verdict: LabelVerdict, flagged: BoolArray, precision: float | None) -> list[str]:
    """Return warnings if no label is flagged, or if flagged labels are uncertain."""
    if not verdict.learnt:
        nothing = "The features explain these labels no better than the class frequencies alone"
        trust = "do not trust these verdicts, none is corrected automatically"
        return [f"{nothing}: {trust}. Other features may help; see forecast."]
    if precision is not None and not flagged.any():
        reason = "no row has a more probable class than its label"
        if verdict.eligible.any():
            highest = float(np.nanmax(verdict.doubt[verdict.eligible]))
            reason = f"the most suspicious label is wrong with probability {highest:.2f}"
        return [f"No label is flagged for an expected precision of {precision:g}: {reason}."]
    said = []
    if verdict.interval[0] == 0 and flagged.any():
        said.append(WHY_ZERO)
    if flagged.any() and not (verdict.doubt[flagged] > LIKELY_WRONG).any():
        said.append(
            "Each flagged label is more likely right than wrong: none is corrected automatically."
        )
    return said


def leak_notes(
    X: Matrix, labels: Labels, names: Sequence[Any], *, most_rows: int = 200
) -> list[str]:
    """Return a message if a column of X has one value per class, so that it may be the label.

    At most `most_rows` rows are read, from classes with two or more. Sparse X is not checked.
    """
    labelled = np.flatnonzero(labels.labelled)
    n_rows = min(most_rows, len(labelled))
    index = labelled[np.arange(n_rows) * len(labelled) // n_rows]
    given = labels.codes[index]
    index = index[np.bincount(given)[given] > 1]
    order = np.argsort(labels.codes[index], kind="stable")
    codes, starts = np.unique(labels.codes[index[order]], return_index=True)
    if len(codes) < 2:
        return []
    cells = take_rows(X, index)
    if sp.issparse(cells):
        return []
    values = np.asarray(cells)[order]
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        return []
    lowest, highest = (each.reduceat(values, starts) for each in (np.minimum, np.maximum))
    constant = np.flatnonzero((lowest == highest).all(axis=0))
    found = [place for place in constant.tolist() if len({*lowest[:, place]}) == len(codes)]
    if not found:
        return []
    said = first_few([str(names[place]) if len(names) else place for place in found])
    advice = "If they contain the labels, leave them out of X: they hide every label error."
    return [f"Features with one value for each label: {said}. {advice}"]


def row_notes(labels: Labels, verdict: LabelVerdict, checked: Checked | None) -> list[str]:
    """Return messages on rows without a label, copies, and classes with a single label."""
    said, unlabelled, label = [], ~labels.labelled, "label"
    if checked is not None:
        unlabelled[checked.rows[checked.labels != NO_LABEL]] = False
        label = "given or checked label"
    if n_unlabelled := np.count_nonzero(unlabelled):
        said.append(f"Rows without a {label}: {n_unlabelled}. They are predicted and not counted.")
    if verdict.n_copies:
        copies = f"Copies and near-duplicates: {counted(verdict.n_copies, 'row')}."
        said.append(f"{copies} Each is judged by a fit without its copies.")
    if verdict.n_split:
        said.append(
            f"Copies and near-duplicates: {counted(verdict.n_split, 'row')} with a copy in another "
            "fold, because the groups or folds that you passed separate them."
        )
    if single := labels.classes[labels.sizes == 1].tolist():
        said.append(
            f"Classes with one label only: {len(single)} ({first_few(single)}). They are kept and "
            "never flagged, because no other row shows what they look like."
        )
    return said


# The classes that an audit can suggest: those of the labels, and those that only the probe has ----


def offered_classes(
    labels: Labels, known: NDArray[Any], *, in_order: bool
) -> tuple[NDArray[Any], IntArray]:
    """Return the classes to choose from, and the positions of the probe's classes among them.

    Classes are compared by their text and named as in the labels. If `in_order`, the result lists
    the classes of the labels, even without rows, then those that only the probe has. Otherwise, it
    lists the probe's classes in the probe's order.
    """
    own = {as_text(label): label for label in labels.classes.tolist()}
    is_text = all(isinstance(label, str) for label in own.values())
    others = {as_text(label): label for label in known.tolist()}
    named = {text: text if is_text else label for text, label in others.items()} | own
    texts = dict.fromkeys([*own, *others] if in_order else others)
    place = {text: number for number, text in enumerate(texts)}
    names = [named[text] for text in texts]
    # Equal arrays keep their type. Numbers mixed with text stay numbers.
    same = [kept for kept in (labels.classes, known) if names == kept.tolist()]
    of_one_type = len({type(name) for name in names}) == 1 and not is_text
    offered = same[0] if same else np.array(names, dtype=None if of_one_type else object)
    return offered, np.array([place[text] for text in others])


def _among(verdict: LabelVerdict, place: IntArray, n_classes: int) -> LabelVerdict:
    """Return the verdict with class k renumbered as `place[k]`; added classes have no noise."""
    codes = np.append(place, NO_LABEL).astype(np.int32)
    moved = {name: codes[getattr(verdict, name)] for name in ("codes", "first", "second")}
    return replace(verdict, n_classes=n_classes, **moved)


# Ids of the audited rows -------------------------------------------------------------------------


def audited_ids(X: Any, y: Any, given: Any, n_rows: int) -> RowIds:
    """Return the given ids, else the index of X or y, else positions."""
    if given is None:
        found = [index for index in map(pandas_index, (X, y)) if index is not None]
        if not found:
            return RowIds.by_position(n_rows)
        # Prefer an index with names over a plain range.
        index = next((index for index in found if not counts_up(index)), found[0])
        return RowIds(index, COLUMN, str(index.name or "index"))
    if not isinstance(given, RowIds):
        cells = as_cells(given, "ids", "pass one id per row.")
        given = RowIds.of_column("id", cells, argument="ids")
    ids: RowIds = given
    if len(ids) != n_rows:
        problem = f"has {counted(len(ids), 'id')} for {n_rows} rows"
        raise ArgumentError("ids", problem, "pass one id per row.")
    return ids


def repeated_index_note(ids: RowIds) -> tuple[str, ...]:
    """Return a note if an index gives several rows the same name."""
    if not ids.are_index or ids.values.is_unique:
        return ()
    repeated = ids.values[ids.values.duplicated()].unique().tolist()
    said = (
        f"Rows share names: the index repeats {first_few(repeated)}, so a join on it "
        "multiplies rows, and no report can be written. Call reset_index(drop=True) on the data "
        "first, or pass ids."
    )
    return (said,)
