"""What a probe says of rows that it was not fitted on, for every row."""

from typing import Any

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
from twohot.select.splits import N_FOLDS, choose_splits


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
    probabilities = np.zeros((n_rows, labels.n_classes))
    for train, held_out in choose_splits(n_folds, labels.codes, None, random_state):
        fitted: Any = clone(probe).fit(features[train], labels.codes[train])
        columns = fitted.classes_  # the labels are codes
        probabilities[np.ix_(held_out, columns)] = fitted.predict_proba(features[held_out])
    return probabilities
