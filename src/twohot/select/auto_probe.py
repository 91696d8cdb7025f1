"""AutoProbe: penalty, loss, rounds and student chosen from the noisy labels alone."""

import sys
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.exceptions import ConvergenceWarning

from twohot._checks.numbers import check_count, check_positive
from twohot._types import FloatArray, IntArray, Matrix
from twohot.distill._inputs import check_features, check_labels, row_weights
from twohot.distill.fitted import FittedProbe
from twohot.distill.targets import one_hot
from twohot.rows.coordinates import prepare
from twohot.rows.preparation import Preparation
from twohot.rows.threads import count_jobs, one_blas_thread
from twohot.select.result import Choice, Tried, choice_of
from twohot.select.search import Search, Trial
from twohot.select.splits import choose_splits
from twohot.solve.fit import Settings

# The power of the robust loss: .5 and .9 were never clearly better, at any ridge and noise.
GCE_POWER = 0.7

# What the largest label has beyond its share of the rows, from which on there is an intercept. The
# mean of all rows is then near the rows of one class: centred, they point nowhere in particular,
# and nothing but an intercept says that they are the many.
UNBALANCED = 0.05


class AutoProbe(FittedProbe):
    """The probe that predicts held-out labels best, though many of them are wrong.

    Teachers, students of several rounds, the two-hot student, robust probes and robust rounds are
    fitted on part of the rows, at coarse tolerances and each from where another one ended, and
    judged on the rest by their agreement with the given labels. The best is fitted on all rows.
    Nothing but the noisy labels is used; a plain teacher may win.

    Parameters
    ----------
    cv : None, int, splitter or pairs of row numbers
        How rows are left out. By default a fifth of every label at a time, until about 2,000 rows
        are judged on: once for 10,000 rows, five times for 2,000. Above 50,000 rows the choice is
        made on so many.
    center, normalize : bool
        As for `LinearProbe`.
    fit_intercept : bool or "auto"
        "auto" fits an intercept where one label has much more than its share of the rows.
    tol : float
        Relative gradient at which the chosen probe is finished.
    max_iter : int
        Most steps of a fit.
    dtype, n_jobs
        As for `LinearProbe`.
    random_state : int, generator or None
        Which rows are left out.
    verbose : int
        1 says what was tried, as it is tried.

    Attributes
    ----------
    choice_ : Choice
        What was tried, with standard errors: `print(probe.choice_)`, `probe.choice_.figure()`.
    temperature_, noise_rate_ : float
        What the logits are divided by, and the share of labels drawn at random, at which held-out
        labels are likeliest.
    classes_, coef_, intercept_, rounds_, n_features_in_, n_iter_
        Of the chosen probe, see `LinearProbe`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import AutoProbe
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y[:1200], symmetric(10, 0.5), random_state=0).given_labels
    >>> probe = AutoProbe().fit(X[:1200], noisy)
    >>> probe.choice_.chosen.method
    'robust rounds'
    >>> probe.score(X[1200:], y[1200:]) > 0.85
    True
    """

    choice_: Choice
    temperature_: float
    noise_rate_: float

    def __init__(
        self,
        *,
        cv: Any = None,
        center: bool = True,
        normalize: bool = True,
        fit_intercept: bool | str = "auto",
        tol: float = 3e-2,
        max_iter: int = 500,
        dtype: DTypeLike | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.cv = cv
        self.center = center
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Matrix,
        y: Any,
        sample_weight: ArrayLike | None = None,
        callback: Callable[[str], None] | None = None,
    ) -> Self:
        """Choose a probe and fit it.

        Parameters
        ----------
        X : array, memory map, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels of any type that sorts: numbers, strings. Many may be wrong.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        callback : callable, optional
            Is called with a line for every candidate that was tried.
        """
        report = self._say if callback is None and self.verbose > 0 else callback
        return self._fit(X, y, sample_weight, report)

    def predict_calibrated_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities as sharp as held-out labels ask for.

        The logits of a robust probe are smaller than its hits warrant. They are divided by
        `temperature_`, the one place where it is applied, if that makes them larger.
        """
        outputs = self.predict_proba(X)
        if self.temperature_ >= 1:
            return outputs
        sharp = outputs ** (1 / self.temperature_)
        sharper: FloatArray = sharp / sharp.sum(axis=1, keepdims=True)
        return sharper

    def _fit(
        self,
        X: Matrix,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        report: Callable[[str], None] | None,
    ) -> Self:
        rows = check_features(self, X, reset=True)
        classes, labels = check_labels(self, y, rows.shape[0])
        targets = one_hot(labels, len(classes))
        weights = row_weights(rows, targets.matrix, classes, None, sample_weight)
        with one_blas_thread():
            preparation, search = self.prepare_search(rows, labels, len(classes), weights, report)
            best = search.run()
            rounds = search.refit(best)
        self._take_rounds(rounds, classes, preparation)
        self._take_choice(choice_of(search, best))
        for number, entry in enumerate(rounds, start=1):
            if not entry.converged:
                warnings.warn(
                    f"round {number} of the chosen probe stopped after {entry.n_iter} steps at a "
                    f"relative gradient of {entry.gradient_norm:.1e}, too early: raise max_iter "
                    "or tol.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
        return self

    def prepare_search(
        self,
        X: Matrix,
        labels: IntArray,
        n_classes: int,
        weights: FloatArray | None,
        report: Callable[[str], None] | None,
    ) -> tuple[Preparation, Search]:
        """Return how rows are prepared, and the search over them, which has not begun.

        Labels are numbers from 0 to n_classes - 1; that of a row without weight may be anything.
        """
        settings = Settings(
            tol=check_positive("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter, 1),
            gce_power=GCE_POWER,
            start="teacher",
        )
        splits = choose_splits(self.cv, labels, weights, self.random_state)
        preparation, coordinates = prepare(
            X,
            center=self.center,
            normalize=self.normalize,
            weights=weights,
            intercept=self._has_intercept(auto=_is_unbalanced(labels, n_classes, weights)),
            n_classes=n_classes,
            dtype=self._precision(X),
            n_jobs=count_jobs(self.n_jobs),
        )
        told = None if report is None else lambda trial: report(_in_words(trial))
        return preparation, Search(coordinates, labels, splits, settings, told)

    def _take_choice(self, choice: Choice) -> None:
        self.choice_ = choice
        self.temperature_ = choice.chosen.temperature
        self.noise_rate_ = choice.chosen.noise_rate

    def _notes(self) -> dict[str, Any]:
        return {
            "tried": self.choice_.records(),
            "n_held_out": self.choice_.n_held_out,
            "n_splits": self.choice_.n_splits,
        }

    def _take_notes(self, notes: dict[str, Any]) -> None:
        tried = tuple(Tried(**entry) for entry in notes["tried"])
        self._take_choice(Choice(tried, notes["n_held_out"], notes["n_splits"]))

    def _say(self, line: str) -> None:
        print(f"AutoProbe: {line}", file=sys.stderr)  # noqa: T201


def _is_unbalanced(labels: IntArray, n_classes: int, weights: FloatArray | None) -> bool:
    """Return whether one label has much more than its share of the rows."""
    if weights is not None:
        labels, weights = labels[weights > 0], weights[weights > 0]
    counts = np.bincount(labels, weights, n_classes)
    return bool(counts.max() / counts.sum() > 1 / n_classes + UNBALANCED)


def _in_words(trial: Trial) -> str:
    return (
        f"{trial.candidate}: predicts {trial.agreement:.1%} ± {trial.agreement_error:.1%} of the "
        "held-out labels"
    )
