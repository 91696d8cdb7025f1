"""AutoProbe and a plain probe, compared on the same held-out rows.

The *agreement* of a classifier is the share of held-out labels that it predicts. It ranks
classifiers as accuracy does, if right labels are the most frequent ones in each class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from twohot.base import ArgumentError, FloatArray, IntArray, Labels, Matrix
from twohot.judge import (
    Anchored,
    AutoProbe,
    Choice,
    LabelVerdict,
    Stage,
    Tried,
    check_rows_and_labels,
    combine,
    judge_rows,
    labelled_rows,
    linear_model,
    naming_rows,
    own_likelihoods,
    row_likelihoods,
    standard_error,
    z_score,
)
from twohot.probes import TEACHER, FittedProbe, check_features
from twohot.rows import one_blas_thread


@dataclass(frozen=True, eq=False)
class Comparison:
    """Agreement and likelihood of AutoProbe and of a plain probe on the same held-out rows."""

    choice: Choice  # all candidates, as `AutoProbe.choice_`
    plain: Tried | None  # the plain probe of largest likelihood; None: too few rows
    n_rows: int  # rows that both predicted
    agreement: float  # share of labels that AutoProbe predicts
    plain_agreement: float  # share that the plain probe predicts
    gain_error: float  # standard error of the difference
    likelier: float  # gain in log-likelihood by AutoProbe, divided by its standard error
    likelihood: float  # mean log-likelihood of the labels under the label model
    frequency_likelihood: float  # mean log-likelihood under the class frequencies alone
    looks_like: IntArray  # (n_classes,), class predicted most often for each label

    @property
    def gain(self) -> float:
        """Agreement of AutoProbe minus that of the plain probe."""
        return self.agreement - self.plain_agreement


def compare_on(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels,
    *,
    groups: Any = None,
    callback: Callable[[str], None] | None = None,
) -> tuple[Comparison, LabelVerdict]:
    """Fit the label model of an AutoProbe; return the comparison and the verdict."""
    with naming_rows(X), one_blas_thread():
        rows = check_features(probe, X, reset=True)
        judged = judge_rows(probe, rows, labels, callback=callback, groups=groups)
    return compare(judged.anchored, judged.choice), judged.verdict


def compare(anchored: Anchored, choice: Choice) -> Comparison:
    """Return the comparison on held-out rows, from fits of the label model.

    For AutoProbe, the linear classifiers of its label model predict the rows, before and after the
    rounds; the smaller agreement counts. After the rounds, a prediction depends on the row's own
    label, which has leaked through other folds. So a larger agreement after the rounds is no
    evidence, but a smaller one is. Likelihoods are those before the rounds.
    """
    sample, first = anchored.sample, anchored.first
    codes, n_classes = sample.codes, sample.n_classes
    logits = _predict(anchored, first)
    predicted = min(
        (each.argmax(axis=1) for each in (logits, _predict(anchored, anchored.last))),
        key=lambda said: np.mean(said == codes),
    )
    plain, plain_logits = None, logits
    if any(entry.method == TEACHER for entry in choice.tried):
        plain = choice.best(TEACHER)
        plain_logits = anchored.library.members[plain.recipe].logits
    rights, plain_rights = predicted == codes, plain_logits.argmax(axis=1) == codes
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    likelihoods, plain_likelihoods = (
        own_likelihoods(each, codes, first.model.noise) for each in (logits, plain_logits)
    )
    gain_error = standard_error(rights.astype(np.float64) - plain_rights, sample.groups)
    return Comparison(
        choice=choice,
        plain=plain,
        n_rows=len(codes),
        agreement=float(rights.mean()),
        plain_agreement=float(plain_rights.mean()),
        gain_error=gain_error,
        likelier=z_score(likelihoods - plain_likelihoods, sample.groups),
        likelihood=float(row_likelihoods(first.model, first.logits, codes).mean()),
        frequency_likelihood=float(np.log(shares[codes]).mean()),
        looks_like=_looks_like(codes, predicted, n_classes),
    )


def _predict(anchored: Anchored, stage: Stage) -> FloatArray:
    """Return held-out logits: the weighted linear classifiers of a stage, without nearest rows."""
    members, model = linear_model(anchored.sample, stage)
    return combine([each.logits for each in members], model.weights)


def _looks_like(codes: IntArray, predicted: IntArray, n_classes: int) -> IntArray:
    """Return for each label the class that is predicted most often for the rows with this label.

    The result differs from the label only if that class is predicted significantly more often than
    the label: by a one-sided sign test, at level 5 % over all pairs of classes (Bonferroni).
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (codes, predicted), 1)
    most, own = counts.argmax(axis=1), np.diag(counts)
    other = counts[np.arange(n_classes), most]
    surely = ndtri(1 - 0.05 / (n_classes * (n_classes - 1)))
    return np.where(other - own > surely * np.sqrt(other + own), most, np.arange(n_classes))


def fit_plain(
    X: Matrix,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
) -> tuple[FittedProbe, Choice]:
    """Fit the plain probe with which a forecast with the same arguments compares AutoProbe.

    Return the probe, and all candidates as `AutoProbe.choice_`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import forecast
    >>> X, y = load_digits(return_X_y=True)
    >>> probe, choice = fit_plain(X, y)
    >>> str(probe) == forecast(X, y).advice.code
    True
    """
    X, labels = check_rows_and_labels(X, y, ())
    probe = AutoProbe(cv=cv, random_state=random_state)
    found, _ = compare_on(probe, X, labels, groups=groups, callback=callback)
    if found.plain is None:
        raise ArgumentError("y", "has fewer than two rows per class", "pass more rows.")
    X, labels = labelled_rows(X, labels), labels.take(labels.labelled)
    return found.plain.probe().fit(X, labels), found.choice
