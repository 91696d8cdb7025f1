"""AutoProbe and a plain probe on the same held-out rows.

The share of held-out labels that a classifier predicts, its agreement, ranks classifiers as their
accuracy does, if the labels of each class are right more often than they are any one other class.
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
    VotesRecipe,
    anchor,
    check_rows_and_labels,
    choice_of,
    combine,
    fit_even_noise,
    fit_weights,
    labelled_rows,
    naming_rows,
    probe_parts,
    reach_verdict,
    row_likelihoods,
    weigh,
    z_score,
)
from twohot.probes import TEACHER, FittedProbe, check_features
from twohot.rows import one_blas_thread


@dataclass(frozen=True, eq=False)
class Comparison:
    """AutoProbe and a plain probe on rows that neither was fitted on."""

    choice: Choice  # what was tried, as `AutoProbe.choice_`
    plain: Tried | None  # the teacher by which labels are likeliest; None: too few rows for a fit
    n_rows: int  # that both predicted
    agreement: float  # share of the labels that AutoProbe predicts
    plain_agreement: float  # and the plain probe
    gain_error: float  # standard error of the difference
    likelier: float  # by how many standard errors labels are likelier by AutoProbe, with one noise
    likelihood: float  # mean log-likelihood of the labels by the label model
    frequency_likelihood: float  # and by the class frequencies alone
    looks_like: IntArray  # (n_classes,), what rows of each label are predicted as, if not as it

    @property
    def gain(self) -> float:
        """What AutoProbe predicts more than the plain probe."""
        return self.agreement - self.plain_agreement


def judge_rows(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels,
    *,
    groups: Any = None,
    callback: Callable[[str], None] | None = None,
) -> tuple[Comparison, LabelVerdict]:
    """Fit the label model of an AutoProbe, and compare; nothing is fitted on all rows."""
    with naming_rows(X), one_blas_thread():
        rows = check_features(probe, X, reset=True)
        _, anchored, _ = anchor(probe, rows, labels, callback=callback, groups=groups)
        verdict = reach_verdict(anchored, labels.codes)
    return compare(anchored, choice_of(anchored, verdict, probe_parts(anchored))), verdict


def compare(anchored: Anchored, choice: Choice) -> Comparison:
    """Return what is known about held-out rows; no probe is fitted.

    AutoProbe is judged by the linear members of its label model, before the rounds or after them,
    whichever agrees less: after rounds, a row's own label has leaked into its prediction through
    other folds, so that their gain is no evidence, but a loss is. Likelihoods are those before.
    """
    codes, first = anchored.sample.codes, anchored.first
    logits, predicted = _predict(anchored, first)
    _, after = _predict(anchored, anchored.last)
    rows: IntArray = np.arange(len(codes))
    plain, plain_logits = None, logits
    if any(entry.method == TEACHER for entry in choice.tried):
        plain = choice.best(TEACHER)
        member = anchored.library.members[plain.recipe]
        # A member that is not chosen may have been compared on some folds alone.
        rows = rows if len(member.logits) == len(codes) else member.scored
        plain_logits = member.logits
    given = codes[rows]
    rights, rights_after = predicted[rows] == given, after[rows] == given
    if rights_after.mean() < rights.mean():
        predicted, rights = after, rights_after
    plain_rights = plain_logits.argmax(axis=1) == given
    n_classes = anchored.sample.n_classes
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    likelihoods, plain_likelihoods = (
        _likelihoods(each, given, first.model.noise) for each in (logits[rows], plain_logits)
    )
    return Comparison(
        choice=choice,
        plain=plain,
        n_rows=len(rows),
        agreement=float(rights.mean()),
        plain_agreement=float(plain_rights.mean()),
        gain_error=float(np.std(rights.astype(np.float64) - plain_rights) / np.sqrt(len(rows))),
        likelier=z_score(likelihoods - plain_likelihoods),
        likelihood=float(row_likelihoods(first.model, first.logits, codes).mean()),
        frequency_likelihood=float(np.log(shares[codes]).mean()),
        looks_like=_looks_like(codes, predicted, n_classes),
    )


def _looks_like(codes: IntArray, predicted: IntArray, n_classes: int) -> IntArray:
    """Return what rows of each label are predicted as more often than as it; itself if nothing.

    By a one-sided sign test at level 5 % for all pairs of two classes together (Bonferroni).
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (codes, predicted), 1)
    most, own = counts.argmax(axis=1), np.diag(counts)
    other = counts[np.arange(n_classes), most]
    surely = ndtri(1 - 0.05 / (n_classes * (n_classes - 1)))
    return np.where(other - own > surely * np.sqrt(other + own), most, np.arange(n_classes))


def _predict(anchored: Anchored, stage: Stage) -> tuple[FloatArray, IntArray]:
    """Return logits and predictions of a stage's linear members alone: AutoProbe has no voters."""
    linear = [each for each in stage.members if not isinstance(each.recipe, VotesRecipe)]
    logits = [each.logits for each in linear]
    scales = np.array([1 / each.temperature for each in linear])
    model = fit_weights(anchored.sample, logits, stage.model.noise, scales)
    total = combine(logits, model.weights)
    return total, total.argmax(axis=1)


def _likelihoods(logits: FloatArray, codes: IntArray, noise: FloatArray) -> FloatArray:
    """Return the log-likelihood of each label, with given noise and the best temperature."""
    temperature = fit_even_noise(logits, codes, None).temperature
    model = weigh([logits], codes, noise, np.array([1 / temperature]))
    return row_likelihoods(model, [logits], codes)


def fit_plain(
    X: Matrix,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
) -> tuple[FittedProbe, Choice]:
    """Fit the plain probe that a forecast with the same arguments compares with, and may advise.

    Also return all that was tried, as `AutoProbe.choice_`.

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
    found, _ = judge_rows(probe, X, labels, groups=groups, callback=callback)
    if found.plain is None:
        raise ArgumentError("y", "has fewer than two rows per class", "pass more rows.")
    X, labels = labelled_rows(X, labels), labels.take(labels.labelled)
    return found.plain.probe().fit(X, labels), found.choice
