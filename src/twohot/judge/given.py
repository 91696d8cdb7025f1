"""Labels judged by probabilities that a user brings, or by a classifier that was fitted before.

The same label model with one member. A classifier that has seen the labels of the rows would vouch
for every wrong one: it is compared with a clone that has not, and if it agrees with more labels
than chance explains, clones that are fitted without each fold judge in its place.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from twohot._types import FloatArray, IntArray
from twohot.judge.anchored import Anchored, Stage, read_noise
from twohot.judge.folds import assign_folds
from twohot.judge.label_model import fit_even_noise
from twohot.judge.library import Library, Member, VotesRecipe
from twohot.judge.sample import N_FOLDS, Sample
from twohot.judge.verdict import LabelVerdict, judge_logits, verdict_of
from twohot.rows.parted import take_rows

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
