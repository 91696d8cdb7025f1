"""Which labels are wrong, what they should be, and how sure that is."""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twohot.audit.checked_rows import Checked, check_checked, read_checked, with_checked
from twohot.audit.issues import (
    SURELY,
    LabelIssues,
    audited_ids,
    offered_classes,
    repeated_index_note,
)
from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
    Labels,
    Matrix,
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
from twohot.rows import ChunkedFeatures, column_here, count_threads, is_dask
from twohot.tables import check_same_index, pandas_index

NAME_COLUMNS = "pass one column per class, and name them by {classes} if y does not have them all."

# Of two candidates whose probabilities differ by less than this factor neither is sure.
CLOSE = 2.0


NOTHING_LEARNT = (
    "The features explain these labels no better than the class frequencies alone: do not trust "
    "these verdicts, none is corrected automatically. Other features may help; see forecast."
)


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
    """Find the labels that are wrong, and what they should be.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame or Dask collection of shape \
    (n_samples, n_features)
        None if `probabilities` are given. Labelled rows of an array are not copied.
    y : array, list, series or Labels of shape (n_samples,)
        Labels. Rows without one (None, NaN, NA, empty or blank text) are predicted and never
        counted. Classes of a `Labels` record keep their order, with rows or without.
    probe : fitted classifier, optional
        Classifier used to judge the labels: anything with `predict_proba` and `classes_`, matched
        with labels by their text, so that 2 is "2". If it was fitted on these rows, clones that
        have not seen each row judge in its place. By default an `AutoProbe` is fitted, and every
        row is judged without its label.
    probabilities : array of shape (n_samples, n_classes), optional
        A user's own probabilities, in the place of a probe: best those of a model that has not
        seen the row.
    classes : array of shape (n_classes,), optional
        The labels of the columns of `probabilities`; by default the names that a data frame gives
        them, else the labels of `y` in order. For text that is a number one of these is needed.
    groups : array, list or series of shape (n_samples,), optional
        Rows of one group (a patient, a document, a video) are never in different folds. Copies are
        one group anyway; where an `AutoProbe` is fitted, near-duplicates too.
    checked : mapping, data frame or path, optional
        What is known of some rows: row id (position by default) to its true label, or to "right" or
        "wrong"; or the decisions that the review page exported. Checked rows keep their verdict,
        are fitted with their true label, and recalibrate `probability_wrong`.
    budget : int, optional
        Flag at most this many labels, the most doubtful ones.
    precision : float, optional
        Flag as many labels as keep the expected share of wrong ones among them at this. It is an
        estimate of the label model and no guarantee.
    missing : collection of str
        Texts that mean no label, as "NA": they are classes otherwise.
    ids : array, list or RowIds of shape (n_samples,), optional
        What the rows are called, `table.ids` for instance; by default the index of a pandas X or y,
        else their positions.
    n_jobs, random_state
        Of the `AutoProbe`.
    callback : callable, optional
        Called with one line of text per classifier that was tried. By default a notebook shows a
        bar.
    checkpoint : path, optional
        File of what the `AutoProbe` has finished, as for its `fit`.

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
    check_flagging(budget, precision)
    check_generator(random_state)
    count_threads(n_jobs)
    chosen = AutoProbe(n_jobs=n_jobs, random_state=random_state)
    rows = check_features(chosen, X, reset=True) if is_dask(X) else X
    given = code_labels(column_here("y", y), missing=missing)
    if probabilities is None:
        rows = check_sliceable(rows, given)
    row_ids = audited_ids(X, y, ids, len(given.codes))
    check_same_index("probabilities", probabilities, "y", pandas_index(y))
    for owner, data in (("X", X), ("y", y)):
        check_same_index("groups", groups, owner, pandas_index(data))
    # Coded as the columns of the probabilities are; the result is coded as the labels came.
    labels = given.present()
    if probabilities is not None:
        labels = given.among(column_classes(probabilities, y, given, classes=classes))
    elif probe is not None:
        labels = given.among(probe_classes(probe))
    check_two_classes(labels)
    known = None
    if checked is not None:
        known = check_checked(read_checked(checked), labels.codes, labels.classes, ids=row_ids)
    said: tuple[str, ...] = ()
    with naming_rows(rows, row_ids):
        if probabilities is not None:
            own = check_probabilities(probabilities, labels, NAME_COLUMNS, classes=...)
            verdict = judge_given(own, labels.codes)
        elif probe is not None:
            verdict, said = judge_by_probe(probe, rows, labels, groups=groups, n_jobs=n_jobs)
        else:
            probe = chosen
            verdict = _judge_unseen(
                probe, rows, labels, known, groups=groups, callback=callback, checkpoint=checkpoint
            )
    if known is not None:
        verdict = with_checked(verdict, known)
    flagged = verdict.flag(budget, precision)
    if known is not None:
        flagged[known.rows] = known.wrong  # and of checked rows no others
    offered = offered_classes(given, labels.classes, in_order=isinstance(y, Labels))
    notes = (*label_notes(given), *repeated_index_note(row_ids))
    return LabelIssues(
        is_label_issue=flagged,
        # 26 bytes a row, whatever the container.
        label_quality=(1 - verdict.doubt).astype(np.float32),
        given=offered.codes(verdict.codes).astype(np.int32),
        predicted=offered.codes(verdict.first).astype(np.int32),
        second=offered.codes(verdict.second).astype(np.int32),
        confidence=verdict.confidence.astype(np.float32),
        second_confidence=verdict.runner_up.astype(np.float32),
        # Where nothing was learnt no suggestion is sure, and none is taken without a review.
        is_undecided=(verdict.runner_up * CLOSE > verdict.confidence) | (not verdict.learnt),
        classes=offered.names,
        noise_rate=verdict.share,
        noise_interval=verdict.interval,
        corruption=offered.corruption(verdict.corruption),
        messages=(
            *flag_notes(verdict, flagged, precision),
            *said,
            *row_notes(labels, verdict),
            *notes,
        ),
        probe=probe,
        ids=row_ids,
    )


def _judge_unseen(
    probe: AutoProbe, X: Matrix, labels: Labels, checked: Checked | None, **how: Any
) -> LabelVerdict:
    """Fit a probe; return the verdict by fits that have not seen each row's label.

    Checked rows are fitted with their true label; of those that are only known to be wrong, none.
    """
    rows = X if isinstance(X, ChunkedFeatures) else check_features(probe, X, reset=True)
    if checked is None:
        return probe.fit_coded(rows, labels, **how).verdict
    true = labels.codes.copy()
    true[checked.rows] = checked.labels
    judged = probe.fit_coded(rows, Labels(true, labels.classes), **how)
    verdict = reach_verdict(judged.anchored, labels.codes)
    # The interval is of the labels that were fitted, in which what was checked is right.
    n_fitted, n_labels = np.count_nonzero(true != NO_LABEL), np.count_nonzero(labels.labelled)
    n_wrong = np.count_nonzero(checked.wrong)
    low, high = ((n_wrong + share * n_fitted) / n_labels for share in verdict.interval)
    return replace(verdict, interval=(low, min(high, 1.0)))


def check_flagging(budget: int | None, precision: float | None) -> None:
    """Raise if how many rows to flag is not said once, or not in numbers that make sense."""
    if budget is not None and precision is not None:
        both = {"budget": budget, "precision": precision}
        raise ArgumentError(both, "both say how many to flag", "pass one.")
    if budget is not None:
        check_count("budget", budget, 0)
    if precision is not None:
        check_within("precision", precision, 0, 1)


def _check_request(
    X: Any, probe: Any, probabilities: ArrayLike | None, classes: ArrayLike | None, groups: Any
) -> None:
    """Raise if who judges is said twice or not at all, or something is said of what nobody has."""
    if probe is not None and probabilities is not None:
        raise ArgumentError("", "probe and probabilities both say who judges", "pass one of them.")
    if classes is not None and probabilities is None:
        problem = "names the columns of probabilities, which are not given"
        raise ArgumentError("classes", problem, "pass both or none.")
    if groups is not None and probabilities is not None:
        problem = "keeps rows out of the fit that judges them, and probabilities come from no fit"
        advice = "leave it out: pass probabilities of a model that has not seen the group."
        raise ArgumentError("groups", problem, advice)
    if X is None and probabilities is None:
        raise ArgumentError("", "X is None", "pass features, or probabilities in their place.")
    for name, value in {"probe": probe, "probabilities": probabilities}.items():
        if value is not None and is_dask(X):
            problem = f"{name} is given, and X is in chunks of Dask"
            raise ArgumentError("", problem, "leave it out, or pass X as an array.")


# What an audit says in words: what the labels cannot tell, and which rows do not count ------------


def flag_notes(verdict: LabelVerdict, flagged: BoolArray, precision: float | None) -> list[str]:
    """Say what the labels cannot tell of those that are flagged."""
    if not verdict.learnt:
        return [NOTHING_LEARNT]
    if precision is not None and not flagged.any():
        reason = "no other class is likelier for any row"
        if verdict.eligible.any():
            highest = float(np.nanmax(verdict.doubt[verdict.eligible]))
            reason = f"the most doubtful label is wrong with a probability of {highest:.2f}"
        return [f"No label is flagged for an expected precision of {precision:g}: {reason}."]
    said = []
    if verdict.interval[0] == 0 and flagged.any():
        said.append(
            "The labels are about as likely without any noise: what is flagged may be overlap of "
            "the classes. Check some of the flagged rows first."
        )
    if flagged.any() and not (verdict.doubt[flagged] > SURELY).any():
        said.append(
            "Each flagged label is more probably right than wrong: none is corrected automatically."
        )
    return said


def row_notes(labels: Labels, verdict: LabelVerdict) -> list[str]:
    """Say which rows were not counted, and which were kept together."""
    said = []
    n_unlabelled = np.count_nonzero(~labels.labelled)
    if n_unlabelled:
        said.append(f"Rows without a label: {n_unlabelled}, predicted and not counted.")
    if verdict.n_copies:
        rows = counted(verdict.n_copies, "row")
        said.append(f"Copies and near-duplicates: {rows}, judged without each other.")
    if verdict.n_split:
        rows = counted(verdict.n_split, "row")
        said.append(
            f"Copies and near-duplicates: {rows} with copies in other folds, because the groups or "
            "folds that you passed divide them."
        )
    single = labels.classes[labels.sizes == 1].tolist()
    if single:
        said.append(
            f"Classes with one label only: {len(single)} ({first_few(single)}), kept and never "
            "flagged, because nothing else says what they look like."
        )
    return said
