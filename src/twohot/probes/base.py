"""Base class of the probes: the shared parameters, and `fit`."""

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    IntArray,
    Matrix,
    check_choice,
    check_column_order,
    check_count,
    check_flag,
    check_penalty,
    check_positive,
    check_random_state,
    check_soft_targets,
    check_start,
    code_labels,
    named_columns,
)
from twohot.probes.checkpoint import checkpoint_at, digest_of, resumable
from twohot.probes.fitted import FittedProbe, prepare_as
from twohot.probes.inputs import (
    ClassWeight,
    check_class_names,
    check_features,
    check_rows_to_fit,
    check_same_rows,
    row_weights,
)
from twohot.probes.recipe import Recipe
from twohot.probes.rounds import SOFT, LabelTargets, StoredTargets, restore_on_failure, run_rounds
from twohot.rows import Rows, one_blas_thread
from twohot.solve import Loss, LossParameters, Settings, Targets, make_loss, softmax

# From this many outputs (rows times classes) on, a fit takes a minute or more on two cores.
MANY_OUTPUTS = 10**8
# Typical number of passes over the rows per round, at the default tolerance, on embeddings.
USUAL_PASSES = 10


def warn_of_long_fit(rows: Rows, n_rounds: int) -> None:
    """Warn if a fit has very many outputs; the warning estimates the time on this machine.

    There is no warning for Dask rows: Dask reports the progress of its workers.
    """
    if not rows.is_here or rows.n_samples * rows.n_classes < MANY_OUTPUTS:
        return
    block, coef = rows.block(0), np.zeros((rows.n_classes, rows.n_features), rows.dtype)
    start = time.perf_counter()
    outputs, _ = softmax(block.project(coef))
    block.gather(outputs)
    seconds_of_block = time.perf_counter() - start
    n_passes = USUAL_PASSES * n_rounds
    minutes = seconds_of_block * rows.n_blocks / rows.n_jobs * n_passes / 60
    warnings.warn(
        f"X has {rows.n_samples:,} rows and y {rows.n_classes:,} classes: the fit takes about "
        f"{n_passes} passes over the rows, at least {max(1, round(minutes))} min on this machine. "
        "Pass verbose=2 to see each step, or use DiscriminantProbe, which needs only one pass.",
        UserWarning,
        stacklevel=5,
    )


Penalty: TypeAlias = float | Sequence[float] | None

STARTS = ("teacher", "zero")

# Chosen: this ridge was the best for probes of several rounds, on embeddings with 10 to 80 % wrong
# labels, for any number of classes and rows. The default ridge of a single fit depends on its loss.
STUDENT_RIDGE = 10.0


@dataclass(kw_only=True, eq=False, repr=False)
class Probe(LossParameters, FittedProbe):
    """Base class of the probes that fit a softmax regression in each of several rounds.

    The fields are the parameters of all these probes; see `LinearProbe`.
    """

    loss: str = "ce"
    ridge: Penalty = None
    l2: Penalty = None
    start: str | ArrayLike = "teacher"
    class_weight: ClassWeight = None
    whiten: bool = False
    tol: float = 1e-6
    random_state: Any = None

    @abstractmethod
    def _rounds(self, n_classes: int) -> list[Recipe]:
        """Return one recipe per round; `_recipe` sets penalty, teacher and whitening."""

    def _default_ridge(self) -> float:
        """Return the default of `ridge`."""
        return STUDENT_RIDGE

    @restore_on_failure
    def fit(
        self,
        X: Matrix,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the probe on the given labels.

        Parameters
        ----------
        X : array, memory map, sparse matrix, data frame or Dask collection of shape \
        (n_samples, n_features)
        y : array, list or series of shape (n_samples,)
            Labels, numbers or text. `classes_` lists numbers in increasing order, then text. Text
            that is a whole number counts as a number.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows of weight 1.
        checkpoint : path, optional
            File for finished rounds, any fsspec path. It is written after every round. If the file
            exists and belongs to the same fit, the fit continues after the last finished round.
        """
        rows, labels = check_rows_to_fit(self, X, y, sample_weight)
        given, codes, names = LabelTargets(labels.n_classes), labels.codes, labels.classes
        with resumable(checkpoint):
            return self._fit(rows, given, codes, names, sample_weight, checkpoint=checkpoint)

    @restore_on_failure
    def fit_soft(
        self,
        X: Matrix,
        targets: Matrix,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the probe on soft labels.

        Parameters
        ----------
        X, sample_weight
            As for `fit`.
        targets : array, CSR matrix or data frame of shape (n_samples, n_classes)
            Probabilities of the classes, one row per row of X.
        classes : array of shape (n_classes,), optional
            Names of the columns of `targets`: numbers in increasing order, then text. By default,
            the column names of a data frame, which can be in any order; for an array, 0, 1, …
        """
        rows = check_features(self, X, reset=True)
        check_same_rows(X, targets=targets, sample_weight=sample_weight)
        soft = check_soft_targets(targets, rows.shape[0])
        named = named_columns(targets)
        if classes is None and named is not None:
            by_name = code_labels(named, name="targets")
            names, soft = by_name.classes, soft[:, np.argsort(by_name.codes)]
        else:
            names = check_class_names(classes, soft.shape[1])
            check_column_order("targets", named, names)
        return self._fit(rows, StoredTargets(SOFT), soft, names, sample_weight)

    def _fit(
        self,
        X: Matrix,
        given: Targets,
        column: IntArray | Matrix,
        classes: NDArray[Any],
        sample_weight: ArrayLike | None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the probe on the targets `given`; `column` are their class codes or soft labels."""
        recipe, verbosity = self._recipe(len(classes)), self._verbosity()
        settings = Settings(
            tol=check_positive("tol", self.tol), max_iter=check_count("max_iter", self.max_iter, 1)
        )
        start: Any = self.start
        if isinstance(start, str):
            settings = replace(settings, start=check_choice("start", start, STARTS))
        else:
            start = check_start(start, (len(classes), X.shape[1]))
        weights = row_weights(X, column, classes, self.class_weight, sample_weight)
        # Matrix products outside the passes are too small for BLAS threads to help.
        with one_blas_thread():
            preparation, plain = prepare_as(
                self,
                X,
                weights,
                len(classes),
                auto_intercept=self.class_weight is not None,
                exact_axes=recipe.whiten,
            )
            coordinates = recipe.coordinates(plain)
            rows = coordinates.rows
            rows.attach(given.name, column)
            steps = [step.to_json() for step in recipe.rounds]
            made = {"rounds": steps, "tol": settings.tol, "max_iter": settings.max_iter}
            if isinstance(start, str):
                made["start"] = start
            else:
                made["start"] = digest_of(start)
                coef = np.pad(start, ((0, 0), (0, rows.intercept)))
                settings = replace(settings, start=coordinates.from_features(coef))
            warn_of_long_fit(rows, len(recipe.rounds))
            file = checkpoint_at(
                checkpoint,
                coordinates,
                made=made,
                column=column,
                classes=classes,
                preparation=preparation,
            )
            say = self._say if verbosity > 1 else None
            rounds = run_rounds(coordinates, given, recipe, settings, say, checkpoint=file)
        self._take_rounds(rounds, classes, preparation)
        if verbosity > 0:
            for number, entry in enumerate(rounds, start=1):
                self._say(
                    f"round {number} ({entry.loss}, {entry.targets}): {entry.n_passes:g} passes, "
                    f"relative gradient {entry.gradient_norm:.1e}"
                )
        self._warn_of_early_ends(
            "raise max_iter, tol or the penalty (ridge or l2), or pass dtype='float64'.",
            stacklevel=5,
        )
        return self

    def _recipe(self, n_classes: int) -> Recipe:
        """Return the recipe of the last round; its `teacher` is the recipe of the round before."""
        check_random_state("random_state", self.random_state)
        steps, whiten = self._rounds(n_classes), check_flag("whiten", self.whiten)
        kind, strengths = check_penalty(self.l2, self.ridge, self._default_ridge(), len(steps))
        recipe: Recipe | None = None
        for step, strength in zip(steps, strengths, strict=True):
            l2, ridge = (strength, None) if kind == "l2" else (None, strength)
            recipe = replace(step, teacher=recipe, l2=l2, ridge=ridge, whiten=whiten)
        return recipe or steps[-1]

    def _loss(self, argument: str = "loss") -> Loss:
        """Return the loss selected by a parameter."""
        return make_loss(argument, getattr(self, argument), self)
