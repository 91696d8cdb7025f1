"""AutoProbe: penalty, loss, rounds and student chosen from the noisy labels alone."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from twohot._checks.labels import Labels
from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_count, check_positive
from twohot._notebooks import notebook_bar
from twohot._types import FloatArray, Matrix
from twohot.distill._inputs import check_features, check_labels, row_weights
from twohot.distill.checkpoint import checkpoint_at, digest_of
from twohot.distill.fitted import FittedProbe, prepare_as
from twohot.distill.targets import LABELS
from twohot.distill.whole_fit import whole_or_not_at_all
from twohot.rows.chunked import is_dask
from twohot.rows.chunked_labels import ChunkedLabels
from twohot.rows.coordinates import Coordinates
from twohot.rows.preparation import Preparation
from twohot.rows.threads import one_blas_thread
from twohot.select.result import Choice, choice_from_json, choice_of
from twohot.select.row_length import choose_unit_norm
from twohot.select.scored import Scored
from twohot.select.search import SEARCH_AXES, Search
from twohot.select.searched_rows import searched_rows
from twohot.select.selection import MOST_TRIED, Selection, decide
from twohot.select.splits import Splits
from twohot.select.unseen import unseen_logits
from twohot.solve.solver import Settings

# What the largest label has beyond its share of the rows, from which on there is an intercept. The
# mean of all rows is then near the rows of one class: centred, they point nowhere in particular,
# and nothing but an intercept says that they are the many.
UNBALANCED = 0.05


@dataclass(kw_only=True, eq=False, repr=False)
class AutoProbe(FittedProbe):
    """The probe that predicts held-out labels best, though many of them are wrong.

    Teachers, students of several rounds, the two-hot student, robust probes and robust rounds, on
    prepared rows and on half-whitened ones, are fitted on part of the rows, at coarse tolerances
    and each from where another one ended, and scored on the rest by their agreement with the given
    labels; so is a linear discriminant analysis. The best is fitted on all rows, or, where the
    best of several kinds cannot be told apart, an average of two or three (`AveragedProbe`), a
    linear probe too. Nothing but the noisy labels is used; a plain teacher may win.

    Candidates are compared on at most 256 leading principal axes, a discriminant on 512. Memory
    beside X: a number for each of these axes and each row that is searched, and half of that again
    for the rows fitted on where they take no more than 64 MB. What is chosen is fitted along all
    axes, unless it is half-whitened (`whiten` of `LinearProbe`) or a discriminant.

    Parameters
    ----------
    cv : None, int, splitter or pairs of row numbers
        Which rows are held out. By default a fifth of every label at a time, and a third from 6,000
        rows and 120 for each class on, until about 2,000 rows are scored on: once for 10,000 rows,
        five times for 2,000. Above 25,000 rows the choice is made on so many; where rows times
        classes are more than 5,000,000, on those of some classes.
    fit_intercept : bool or "auto"
        "auto" fits an intercept where one label has much more than its share of the rows, or rows
        keep their length; a discriminant always has one, and is left out where it is False.
    tol : float
        Relative gradient at which the chosen probe is finished; less where that is a teacher of a
        small penalty, whose gradient is small long before it is finished, and ten times as much
        where it is robust and rows times classes are more than 500,000. (A two-hot student is left
        where it was compared.)
    normalize : bool or "auto"
        Whether rows get unit norm. "auto" does so from 64 features on; of fewer, if more of the
        held-out labels are predicted so, by a standard error. Rows that keep their length have an
        intercept. (Features in units of their own are better brought to one scale before.)
    center, max_iter, dtype, n_jobs
        As for `LinearProbe`.
    random_state : int, RandomState, Generator or None
        Which rows are held out, and the folds of `fit_out_of_fold`.
    verbose : int
        1 says what was tried, as it is tried.

    Attributes
    ----------
    choice_ : Choice
        What was tried, with standard errors: `print(probe.choice_)`, `probe.choice_.figure()`.
    temperature_ : float
        What the logits are divided by where held-out labels are likeliest. Applied by
        `predict_calibrated_proba` alone.
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
    >>> "robust rounds" in probe.choice_.chosen.name
    True
    >>> probe.score(X[1200:], y[1200:]) > 0.85
    True
    """

    cv: Any = None
    normalize: bool | str = "auto"
    tol: float = 3e-2
    random_state: Any = 0

    choice_: Choice = field(init=False)

    def fit(
        self,
        X: Matrix,
        y: Any,
        sample_weight: ArrayLike | None = None,
        callback: Callable[[str], None] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Choose a probe and fit it.

        Parameters
        ----------
        X : array, memory map, sparse matrix, data frame or Dask collection of shape \
        (n_samples, n_features)
        y : array, list or series of shape (n_samples,)
            Labels, numbers or text, many of which may be wrong.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        callback : callable, optional
            Is called with a line for every candidate that was tried.
        checkpoint : path, optional
            File of what is finished, any path of fsspec: candidates that were tried, and rounds
            of the chosen one. It is written after each; a fit that finds its own goes on there.
        """
        self.search_and_fit(X, y, sample_weight, callback, checkpoint=checkpoint)
        return self

    def fit_out_of_fold(
        self,
        X: Matrix,
        y: Any,
        callback: Callable[[str], None] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> FloatArray:
        """Choose a probe and fit it; return what is said of each row without its label.

        Five times the best candidate that is no average is fitted on all but a fifth of the rows,
        up to 50,000 (three times on all but a third where rows times classes are many), and what
        that says of the others is kept: four bytes for each row and class.

        Parameters
        ----------
        X, y, callback, checkpoint
            As for `fit`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Logits, columns in the order of `classes_`.
        """
        if is_dask(X):
            problem = "is in chunks of Dask, and logits of all rows would come here"
            raise ArgumentError("X", problem, "use find_label_issues, or pass X.compute().")
        search = self.search_and_fit(X, y, None, callback, checkpoint=checkpoint).search
        with one_blas_thread():
            return unseen_logits(search, search.best(), self.random_state)

    @whole_or_not_at_all
    def search_and_fit(
        self,
        X: Matrix,
        y: Any,
        sample_weight: ArrayLike | None,
        callback: Callable[[str], None] | None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Selection:
        """Choose a probe and fit it; return the search that chose it."""
        report = self._say if callback is None and self._verbosity() > 0 else callback
        rows = check_features(self, X, reset=True)
        labels = check_labels(self, y, rows)
        weights = row_weights(rows, labels.codes, labels.classes, None, sample_weight)
        with one_blas_thread():
            preparation, selection = search_probe(
                self, rows, labels, weights, report, checkpoint=checkpoint
            )
            rounds = selection.refit()
        self._take_rounds(rounds, labels.classes, preparation)
        self.choice_ = choice_of(selection)
        self._warn_of_early_ends("raise max_iter or tol.", stacklevel=5)
        return selection

    @property
    def temperature_(self) -> float:
        """What the logits are divided by where held-out labels are likeliest."""
        return self.choice_.chosen.temperature

    def predict_calibrated_proba(self, X: Matrix) -> FloatArray:
        """Return probabilities as sharp as held-out labels ask for.

        The logits of a robust probe are smaller than its hits warrant. They are divided by
        `temperature_`, the one place where it is applied, if that makes them larger.
        """
        outputs = self.predict_proba(X)
        if self.temperature_ >= 1:
            return outputs
        sharp = outputs ** (1 / self.temperature_)
        return np.asarray(sharp / sharp.sum(axis=1, keepdims=True))

    def _notes(self) -> dict[str, Any]:
        return self.choice_.to_json()

    def _take_notes(self, notes: dict[str, Any]) -> None:
        self.choice_ = choice_from_json(notes)


def search_probe(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels | ChunkedLabels,
    weights: Any = None,
    callback: Callable[[str], None] | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
) -> tuple[Preparation, Selection]:
    """Search as a probe's parameters say, on checked rows that all have a label; nothing is kept.

    Return how the rows were prepared, and what was decided. `callback` gets a line for every
    candidate.
    """
    settings = Settings(
        tol=check_positive("tol", probe.tol), max_iter=check_count("max_iter", probe.max_iter, 1)
    )
    searched = searched_rows(labels, weights, probe.cv, probe.random_state)
    splits = searched.splits(probe.cv, probe.random_state)
    unbalanced = _is_unbalanced(labels, weights)

    @cache  # what was compared is not prepared again
    def prepared(*, normalize: bool) -> tuple[Preparation, Coordinates]:
        # Classes that are told apart by length do not meet at the mean.
        about = {"normalize": normalize, "auto_intercept": unbalanced or not normalize}
        preparation, coordinates = prepare_as(probe, X, weights, labels.n_classes, **about)
        coordinates.rows.attach(LABELS, labels.codes)
        return preparation, coordinates

    def search_on(coordinates: Coordinates, **others: Any) -> Search:
        about = {"n_axes": SEARCH_AXES, "n_features": X.shape[1]}
        return Search(searched.of(coordinates), splits, settings, **about, **others)

    normalize = choose_unit_norm(
        probe.normalize, X.shape[1], lambda **way: search_on(prepared(**way)[1])
    )
    preparation, coordinates = prepared(normalize=normalize)
    with notebook_bar(callback, "Choosing a probe", MOST_TRIED) as say:
        said = None if say is None else lambda scored: say(_in_words(scored))
        file = None
        if checkpoint is not None:
            file = checkpoint_at(
                checkpoint,
                coordinates,
                made=_choice_known_by(settings, splits),
                column=labels.codes,
                classes=labels.classes,
                preparation=preparation,
            )
        search = search_on(coordinates, callback=said, checkpoint=file)
        search.run()
        search.end_on(coordinates, searched.classes)
        intercept = probe.fit_intercept is not False
        return preparation, decide(search, intercept=intercept, normalize=normalize)


def _choice_known_by(settings: Settings, splits: Splits) -> dict[str, Any]:
    """Return what tells a choice from others, as JSON has it: rows that are held out are drawn."""
    drawn = [digest_of(rows) for pair in splits for rows in pair]
    return {"tol": settings.tol, "max_iter": settings.max_iter, "splits": drawn}


def _is_unbalanced(labels: Labels | ChunkedLabels, weights: Any) -> bool:
    """Return whether one label has much more than its share of the rows."""
    counts: Any = labels.sizes
    if weights is not None and isinstance(labels, Labels):
        counts = np.bincount(labels.codes, weights, labels.n_classes)
    return bool(counts.max() / counts.sum() > 1 / labels.n_classes + UNBALANCED)


def _in_words(scored: Scored) -> str:
    return (
        f"{scored.recipe}: predicts {scored.agreement:.1%} ± {scored.agreement_error:.1%} "
        "of the held-out labels"
    )
