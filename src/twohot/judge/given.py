"""Labels judged by probabilities that a user brings, or by a classifier that was fitted before.

The same label model with one member. A classifier that has seen the labels of the rows would vouch
for every wrong one: it is compared with a clone that has not, and if it agrees with more labels
than chance explains, clones that are fitted without each fold judge in its place.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    RandomState,
    as_text,
    check_classes,
    check_column_order,
    check_count,
    check_soft_targets,
    counted,
    first_few,
    named_columns,
)
from twohot.judge.anchored import Anchored, Stage, read_noise
from twohot.judge.folds import assign_folds, distance_from_mean
from twohot.judge.label_model import fit_even_noise
from twohot.judge.library import Library, Member, VotesRecipe
from twohot.judge.sample import N_FOLDS, Sample
from twohot.judge.verdict import LabelVerdict, judge_logits, verdict_of
from twohot.probes import Probe, check_features, check_labels
from twohot.rows import take_rows

# Share of given probabilities that goes to all classes alike: of ten neighbours none may have the
# right label, and no temperature mends a zero.
UNCERTAIN = 1e-3

# Standard normal quantile of a one-sided test at level 1 %: a classifier is seldom called biased.
SEEN = 2.326


def log_probabilities(probabilities: FloatArray) -> FloatArray:
    """Return logarithms of probabilities, none of which is taken to be certain."""
    n_classes = probabilities.shape[1]
    certain = (1 - UNCERTAIN) * probabilities + UNCERTAIN / n_classes
    return np.asarray(np.log(certain), dtype=np.float32)


def judge_given(log_p: FloatArray, codes: IntArray) -> LabelVerdict:
    """Return the verdict on labels (n_rows,) by given log-probabilities (n_rows, n_classes)."""
    labelled = np.flatnonzero(codes >= 0)
    anchored = _anchored(log_p[labelled], codes[labelled])
    stage = anchored.last
    return verdict_of(anchored, judge_logits([log_p], stage.model, codes), codes)


def _anchored(logits: FloatArray, codes: IntArray) -> Anchored:
    """Return the label model of one member."""
    n_rows, n_classes = logits.shape
    nowhere: Any = None  # there are no rows beside these numbers
    sample = Sample(
        index=np.arange(n_rows),
        codes=codes,
        all_codes=codes,
        weights=None,
        groups=np.arange(n_rows),
        folds=np.arange(n_rows) % N_FOLDS,
        n_classes=n_classes,
        whole=nowhere,
        wide=nowhere,
        searched=nowhere,
    )
    fit = fit_even_noise(logits, codes, None)
    scale = 1 / fit.temperature
    model, noise = read_noise(sample, [logits], np.array([scale]), scale * logits)
    agreement = float(np.mean(logits.argmax(axis=1) == codes))
    member = Member(VotesRecipe(0), logits, np.arange(n_rows), fit, agreement, 0.0, 0.0)
    stage = Stage([member], model, model.posterior([logits], codes), noise)
    return Anchored(sample, Library(sample, nowhere), [stage])


# A classifier that was fitted before -------------------------------------------------------------


@dataclass(frozen=True)
class SeenLabels:
    """How a fitted classifier compares with a clone that has not seen the labels it predicts."""

    given: float  # share of the labels that the classifier predicts
    unseen: float  # share of the same labels that the clone predicts


def can_be_cloned(probe: Any) -> bool:
    """Return whether a classifier can be fitted again on other rows."""
    return hasattr(probe, "get_params") and hasattr(probe, "fit")


def has_seen(
    probe: Any, X: Any, codes: IntArray, order: FloatArray, groups: IntArray | None = None
) -> SeenLabels | None:
    """Return what tells that a classifier was fitted on these labels; None if nothing does.

    A clone is fitted on four fifths of the rows, of no group of the others, and both predict these.
    The classifier has seen them if it is right more often, by a one-sided test at level 1 %. Labels
    of one class alone cannot be fitted, and tell nothing.
    """
    fold = assign_folds(order, codes, N_FOLDS, groups=groups, random_state=0)
    held_out, others = np.flatnonzero(fold == 0), np.flatnonzero(fold > 0)
    if len(np.unique(codes[others])) < 2:
        return None
    fresh, rows = fit_clone(probe, X, codes, others), take_rows(X, held_out)
    agrees = names_of(probe.predict(rows), np.asarray(probe.classes_)) == codes[held_out]
    unseen = predicted_codes(fresh, rows) == codes[held_out]
    gain = agrees.astype(np.float64) - unseen
    error = float(gain.std()) / np.sqrt(len(gain))
    if gain.mean() <= SEEN * error:
        return None
    return SeenLabels(float(agrees.mean()), float(unseen.mean()))


def names_of(predicted: Any, names: Any) -> IntArray:
    """Return predictions as positions among the classes of a classifier."""
    place = {name: number for number, name in enumerate(names.tolist())}
    return np.array([place[name] for name in np.asarray(predicted).tolist()])


def predicted_codes(fitted: Any, X: Any) -> IntArray:
    """Return predictions of a classifier that was fitted on codes."""
    return np.asarray(fitted.predict(X)).astype(np.intp)


def fit_clone(probe: Any, X: Any, codes: IntArray, rows: IntArray) -> Any:
    """Return a clone that is fitted on some rows and their codes."""
    return clone(probe).fit(take_rows(X, rows), codes[rows])


def out_of_fold(probe: Any, X: Any, codes: IntArray, fold: IntArray, n_classes: int) -> FloatArray:
    """Return the probabilities (n_rows, n_classes) of rows by clones fitted without their fold.

    Rows without a label (code -1, fold -1) are predicted by the clone without the first fold.
    """
    probabilities = np.zeros((len(codes), n_classes))
    for number in range(int(fold.max()) + 1):
        fitted = fit_clone(probe, X, codes, np.flatnonzero((fold >= 0) & (fold != number)))
        columns = np.asarray(fitted.classes_).astype(np.intp)  # the labels are codes
        rows = np.flatnonzero((fold == number) | ((fold < 0) & (number == 0)))
        if len(rows):
            probabilities[np.ix_(rows, columns)] = fitted.predict_proba(take_rows(X, rows))
    return probabilities


# How likely each class is at every row: by a probe, or as a user says; one block at a time --------


# Rows whose probabilities are held at once.
BLOCK_ROWS = 10_000


def probe_classes(probe: Any) -> NDArray[Any]:
    """Return the classes of a fitted classifier."""
    if not (hasattr(probe, "classes_") and hasattr(probe, "predict_proba")):
        problem = "is not a fitted classifier with classes_ and predict_proba"
        advice = "fit it first, or pass None to have an AutoProbe fitted."
        raise ArgumentError({"probe": probe}, problem, advice)
    return np.asarray(probe.classes_)


def column_classes(
    probabilities: ArrayLike,
    y: Any,
    labels: Labels,
    *,
    classes: ArrayLike | None = None,
    advice: str = "name the columns by {classes}, model.classes_ for instance.",
) -> NDArray[Any]:
    """Return the class of each column of a user's probabilities: named, or those that rows have.

    Text that is a whole number is refused where nobody names the columns: scikit-learn has it in
    alphabetical order, and we by value. A `Labels` record as `y` is an order that somebody chose.
    """
    present = labels.present().classes
    named = named_columns(probabilities, present)
    if classes is not None:
        given = check_classes(classes)
        check_column_order("probabilities", named, given)
        return given
    values = present.tolist()
    if named is None:
        if not isinstance(y, Labels) and values != sorted(values):
            numbers = f"has text that is a number ({first_few(values)})"
            problem = f"{numbers}, and columns may be sorted by its value or as text"
            raise ArgumentError("y", problem, advice, classes=...)
        return present
    if not {*map(as_text, values)} <= {*map(as_text, named.tolist())}:
        problem = f"has the columns {first_few(named.tolist())}, which are not the labels of y"
        raise ArgumentError("probabilities", problem, advice, classes=...)
    return named


def predict_in_blocks(probe: Any, X: Matrix, n_rows: int) -> FloatArray:
    """Return what a probe says, calibrated if it can do that; few rows are read at once."""
    predict = getattr(probe, "predict_calibrated_proba", probe.predict_proba)
    blocks = []
    for first in range(0, n_rows, BLOCK_ROWS):
        size = min(BLOCK_ROWS, n_rows - first)
        block = np.asarray(predict(take_rows(X, slice(first, first + size))), dtype=np.float64)
        _check_block(block, (size, len(probe.classes_)), first)
        blocks.append(block)
    return np.concatenate(blocks)


def _check_block(block: FloatArray, shape: tuple[int, int], first: int) -> None:
    """Raise unless a probe has given probabilities, one for each row and class."""
    advice = "pass a classifier whose predict_proba gives a probability of each of its classes_."
    if block.shape != shape:
        problem = f"gives probabilities of shape {block.shape} where {shape} are due"
        raise ArgumentError("probe", problem, advice)
    wrong = np.flatnonzero(~((block >= 0) & np.isfinite(block)).all(axis=1))
    if wrong.size:
        problem = f"gives row {first + wrong[0]} a probability that is no number or below zero"
        raise ArgumentError("probe", problem, advice)


def check_probabilities(
    probabilities: ArrayLike,
    labels: Labels,
    advice: str = "pass one column per class that rows have, in order.",
    **mentions: object,
) -> Matrix:
    """Return a user's own probabilities, dense or CSR, one column per class."""
    rows = check_soft_targets(probabilities, len(labels.codes), name="probabilities", beside="y")
    if rows.shape[1] != labels.n_classes:
        problem = f"has {counted(rows.shape[1], 'column')} for {labels.n_classes} classes"
        raise ArgumentError("probabilities", problem, advice, **mentions)
    return rows


def check_own_probabilities(probabilities: ArrayLike, labels: Labels) -> FloatArray:
    """Return a user's own probabilities of an audit, dense, one column per class."""
    advice = "pass one column per class, and name them by {classes} if y does not have them all."
    rows = check_probabilities(probabilities, labels, advice, classes=...)
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


# What a probe says of rows that it was not fitted on, for every row -------------------------------


def out_of_fold_probabilities(
    probe: Probe,
    X: Matrix,
    y: ArrayLike | Labels,
    *,
    n_folds: int = N_FOLDS,
    random_state: RandomState = None,
) -> NDArray[np.float64]:
    """Return the probabilities of every row by a probe fitted without its fold.

    Parameters
    ----------
    probe : LinearProbe, DistilledProbe or PartialLabelProbe
        It is cloned and stays as it is.
    X : array or sparse array of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,)
        One label for every row.
    n_folds : int, default 5
        Each has its share of every label.
    random_state : int, numpy.random.Generator or None
        Draws the folds.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Classes in order. A class whose rows are all in one fold has probability zero there.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import LinearProbe
    >>> X, y = load_digits(return_X_y=True)
    >>> probabilities = out_of_fold_probabilities(LinearProbe(ridge=4), X, y, random_state=0)
    >>> print(f"{(probabilities.argmax(axis=1) == y).mean():.2f}")
    0.96
    """
    features = check_features(clone(probe), X, reset=True)
    labels = check_labels(probe, y, features)
    n_rows = len(labels.codes)
    if check_count("n_folds", n_folds, 2) > n_rows:
        problem = f"is more than {counted(n_rows, 'row')}"
        raise ArgumentError({"n_folds": n_folds}, problem, f"pass at most {n_rows}.")
    order = distance_from_mean(features, n_jobs=1)
    fold = assign_folds(order, labels.codes, n_folds, random_state=random_state)
    return np.asarray(
        out_of_fold(probe, features, labels.codes, fold, labels.n_classes), dtype=np.float64
    )
