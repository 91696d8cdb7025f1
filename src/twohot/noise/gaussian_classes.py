"""Rows of Gaussian classes, which may overlap.

A row of class k is x = m_k + L_k z: z is standard normal, L_k L_kᵀ the covariance of the class.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from twohot.base import (
    ArgumentError,
    RandomState,
    as_array,
    check_class_sizes,
    check_generator,
    check_precision,
)
from twohot.noise.synthetic import SyntheticFeatures

# An eigenvalue below zero by at most this share of the largest one is a rounding error of zero.
NEGLIGIBLE = 1e-10


def make_gaussians(
    class_means: ArrayLike,
    covariances: ArrayLike,
    n_per_class: int | Sequence[int],
    *,
    random_state: RandomState = None,
    dtype: DTypeLike = np.float32,
) -> SyntheticFeatures:
    """Make rows of Gaussian classes, neither centred nor of unit norm.

    Where the classes overlap, no probe can tell them apart and no label there is known to be wrong.

    Parameters
    ----------
    class_means : array of shape (n_classes, n_features)
        The mean of each class.
    covariances : array of shape (n_classes, n_features, n_features) or (n_features, n_features)
        The covariance of each class, or one for all of them.
    n_per_class : int or sequence of n_classes int
        Samples of each class.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same rows.
    dtype : {float32, float64}, default float32
        Type of the features.

    Returns
    -------
    SyntheticFeatures
        `features`, `labels`, `class_means`, and `superclass`, each class by itself.

    Examples
    --------
    >>> made = make_gaussians([[0, 0], [3, 0]], np.eye(2), [200, 100], random_state=0)
    >>> made.features.shape
    (300, 2)
    >>> nearer = np.linalg.norm(made.features[:, np.newaxis] - made.class_means, axis=2)
    >>> print(f"{(nearer.argmin(axis=1) == made.labels).mean():.2f}")
    0.94
    """
    means = _checked_means(class_means)
    n_classes, n_features = means.shape
    roots = _roots(_checked_covariances(covariances, n_classes, n_features))
    labels = np.repeat(np.arange(n_classes), check_class_sizes(n_per_class, n_classes))
    kind = check_precision(dtype)
    rows = check_generator(random_state).standard_normal((len(labels), n_features))
    for k in range(n_classes):
        rows[labels == k] = means[k] + rows[labels == k] @ roots[k].T
    return SyntheticFeatures(rows.astype(kind), labels, means, np.arange(n_classes))


def _roots(covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return matrices L with L Lᵀ = covariance; a covariance may be singular."""
    variances, axes = np.linalg.eigh(covariances)
    smallest, largest = variances[:, 0], variances[:, -1]
    negative = np.flatnonzero(smallest < -NEGLIGIBLE * np.maximum(largest, -smallest))
    if negative.size:
        k = negative[0]
        problem = f"has the eigenvalue {smallest[k]:.3g} for class {k}, and no variance is negative"
        raise ArgumentError("covariances", problem, "pass positive semidefinite matrices.")
    spreads = np.sqrt(np.maximum(variances, 0.0))
    return np.asarray(axes * spreads[:, np.newaxis, :])


def _checked_means(class_means: ArrayLike) -> NDArray[np.float64]:
    means = as_array(class_means)
    if means.ndim != 2 or means.size == 0 or means.dtype.kind not in "fiu":
        problem = f"has shape {means.shape} and dtype {means.dtype}"
        raise ArgumentError("class_means", problem, "pass one row of numbers per class.")
    return _finite("class_means", means)


def _checked_covariances(
    covariances: ArrayLike, n_classes: int, n_features: int
) -> NDArray[np.float64]:
    """Return one symmetric matrix per class."""
    found = as_array(covariances)
    one = (n_features, n_features)
    if found.shape not in (one, (n_classes, *one)) or found.dtype.kind not in "fiu":
        problem = f"has shape {found.shape} and dtype {found.dtype}"
        advice = f"pass numbers of shape {(n_classes, *one)}, or {one} for all classes alike."
        raise ArgumentError("covariances", problem, advice)
    matrices = np.broadcast_to(_finite("covariances", found), (n_classes, *one))
    if not np.allclose(matrices, matrices.transpose(0, 2, 1)):
        advice = "entry (i, j) and entry (j, i) are the same covariance."
        raise ArgumentError("covariances", "is not symmetric", advice)
    return matrices


def _finite(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise ArgumentError(name, "contains NaN or infinity", "pass finite numbers.")
    return values.astype(np.float64)
