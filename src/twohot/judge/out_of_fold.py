"""What a probe says of rows that it was not fitted on, for every row."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from twohot._checks.classes import RandomState
from twohot._checks.labels import Labels
from twohot._checks.messages import ArgumentError, counted
from twohot._checks.numbers import check_count
from twohot._types import Matrix
from twohot.distill._inputs import check_features, check_labels
from twohot.distill.base import Probe
from twohot.judge.folds import assign_folds, distance_from_mean
from twohot.judge.given import out_of_fold
from twohot.judge.sample import N_FOLDS


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
