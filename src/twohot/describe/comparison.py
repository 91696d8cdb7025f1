"""AutoProbe and a plain probe, compared on the same held-out rows.

A *held-out* row was not used to fit the classifier that predicts it. The *agreement* of a
classifier is the fraction of held-out given labels that it predicts. If the right label is the most
frequent one in each class, agreement ranks classifiers as accuracy does. A *plain probe* is a
linear probe that is fitted on the given labels as they are.
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

    choice: Choice  # all candidates of the label model, as `AutoProbe.choice_`
    plain: Tried | None  # the plain probe with the largest likelihood; None: too few rows for one
    n_rows: int  # number of held-out rows that both probes predicted
    agreement: float  # agreement of AutoProbe
    plain_agreement: float  # agreement of the plain probe, if there is one
    gain_error: float  # standard error of the difference in agreement
    likelier: float  # gain in log-likelihood by AutoProbe, divided by its standard error
    likelihood: float  # mean log-likelihood of the held-out labels under the label model
    frequency_likelihood: float  # the same under the class frequencies alone
    looks_like: IntArray  # (n_classes,), the class that rows with each label are predicted as

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
    """Fit the label model of an AutoProbe; return the comparison and the verdict on all labels."""
    with naming_rows(X), one_blas_thread():
        rows = check_features(probe, X, reset=True)
        judged = judge_rows(probe, rows, labels, callback=callback, groups=groups)
    return compare(judged.anchored, judged.choice), judged.verdict


def compare(anchored: Anchored, choice: Choice) -> Comparison:
    """Return the comparison on held-out rows, from fits of the label model.

    For AutoProbe, the linear classifiers of its label model predict the rows, before and after the
    rounds of self-distillation. The smaller agreement of the two is used. After the rounds, the
    prediction of a row depends on its label, because this label was used in the fits of other
    folds. So a larger agreement after the rounds is no evidence for AutoProbe, but a smaller
    agreement is evidence against it. Likelihoods are computed before the rounds.
    """
    sample, first = anchored.sample, anchored.first
    codes, n_classes = sample.codes, sample.n_classes
    logits = _linear_logits(anchored, first)
    stages = (logits.argmax(axis=1), _linear_logits(anchored, anchored.last).argmax(axis=1))
    predicted = min(stages, key=lambda each: np.mean(each == codes))
    plain, plain_logits = None, logits
    if any(entry.method == TEACHER for entry in choice.tried):
        plain = choice.best(TEACHER)
        plain_logits = anchored.library.members[plain.recipe].logits
    right, plain_right = predicted == codes, plain_logits.argmax(axis=1) == codes
    gains = own_likelihoods(logits, codes, first.model.noise)
    gains = gains - own_likelihoods(plain_logits, codes, first.model.noise)
    frequencies = np.bincount(codes, minlength=n_classes) / len(codes)
    return Comparison(
        choice=choice,
        plain=plain,
        n_rows=len(codes),
        agreement=float(right.mean()),
        plain_agreement=float(plain_right.mean()),
        gain_error=standard_error(right.astype(np.float64) - plain_right, sample.groups),
        likelier=z_score(gains, sample.groups),
        likelihood=float(row_likelihoods(first.model, first.logits, codes).mean()),
        frequency_likelihood=float(np.log(frequencies[codes]).mean()),
        looks_like=_looks_like(codes, predicted, n_classes),
    )


def _linear_logits(anchored: Anchored, stage: Stage) -> FloatArray:
    """Return held-out logits of the linear classifiers of a fit, combined by their weights.

    `stage` is the fit before or after the rounds. Its classifier by nearest rows is not used.
    """
    members, model = linear_model(anchored.sample, stage)
    return combine([each.logits for each in members], model.weights)


def _looks_like(codes: IntArray, predicted: IntArray, n_classes: int) -> IntArray:
    """Return for each label the class that is predicted most often for the rows with this label.

    If this class is not predicted significantly more often than the label itself, the label is
    returned. The test is a one-sided sign test, at level 5 % for all pairs of classes together
    (Bonferroni correction).
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (codes, predicted), 1)
    most, n_most, n_label = counts.argmax(axis=1), counts.max(axis=1), np.diag(counts)
    quantile = ndtri(1 - 0.05 / (n_classes * (n_classes - 1)))
    differs = n_most - n_label > quantile * np.sqrt(n_most + n_label)
    return np.where(differs, most, np.arange(n_classes))


def fit_plain(
    X: Matrix,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
) -> tuple[FittedProbe, Choice]:
    """Fit the plain probe with which `forecast` compares AutoProbe, for the same arguments.

    Return the fitted probe, and all candidates in the format of `AutoProbe.choice_`.

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
        problem = "has too few rows per class to compare plain probes on held-out rows"
        raise ArgumentError("y", problem, "pass more rows of each class.")
    X, labels = labelled_rows(X, labels), labels.take(labels.labelled)
    return found.plain.probe().fit(X, labels), found.choice
