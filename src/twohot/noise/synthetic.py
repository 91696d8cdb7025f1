"""Features of unit norm with given correlations between classes.

A sample of class k is the mean m_k of its class, plus a residual r that is orthogonal to this mean,

    x = m_k + r,    ‖m_k‖² = same_class,    ‖r‖² = 1 - same_class,    r · m_k = 0,

so that ‖x‖ = 1. Residuals are independent and have mean zero. So the expected inner product of two
different samples, of classes k and l, is exactly m_k · m_l. The means are built to have

    m_k · m_l = W[k, l] = same_class        k = l
                          same_superclass   k ≠ l of one superclass
                          elsewhere         otherwise.

Let h be the number of classes of a superclass. W is the sum of three matrices:
(same_class - same_superclass) I, (same_superclass - elsewhere) times a block of ones for each
superclass, and `elsewhere` times a matrix of ones. If `elsewhere` is negative, W is positive
semidefinite if and only if

    -elsewhere · Σ_superclasses h / (same_class - same_superclass
                                     + (same_superclass - elsewhere) h)  ≤  1.

A residual is drawn from a Gaussian distribution, then made orthogonal to m_k, and scaled. The
Gaussian has n_features random axes, which are the same for all classes. Its variance along axis i
is proportional to i^(-decay).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.optimize import brentq

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    RandomState,
    check_class_sizes,
    check_count,
    check_generator,
    check_precision,
    check_superclass,
    check_within,
)

# Number of rows that are generated at once. Products are then fast, and temporary arrays small.
BLOCK_ROWS = 2048

# Eigenvalues of W below this fraction of its trace are rounding errors.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True, eq=False)
class SyntheticFeatures:
    """Synthetic features with known classes, class means and superclasses."""

    features: NDArray[np.floating[Any]]  # (n_samples, n_features)
    labels: NDArray[np.int64]  # (n_samples,), 0 … n_classes - 1, sorted
    class_means: NDArray[np.float64]  # (n_classes, n_features), expected features of each class
    superclass: NDArray[np.intp]  # (n_classes,), superclass of each class


def make_features(
    *,
    n_classes: int,
    n_per_class: int | Sequence[int],
    n_features: int,
    same_class: float,
    same_superclass: float = 0.0,
    elsewhere: float = 0.0,
    superclass: ArrayLike | None = None,
    decay: float = 0.8,
    random_state: RandomState = None,
    dtype: DTypeLike = np.float32,
) -> SyntheticFeatures:
    """Return features of unit norm with given correlations between classes.

    If there are at least as many features as classes, the expected inner products of samples are
    the requested values. (If the matrix of these values has a lower rank, as many features as its
    rank suffice.) With fewer features, class means with these inner products do not exist. Then the
    means have the right length, but random directions. The inner product of two means then differs
    from the requested value by about same_class · sqrt(1 / n_features - 1 / n_classes). In both
    cases, the expected inner products of samples are the inner products of `class_means`.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    n_per_class : int or sequence of n_classes int
        Number of samples of each class.
    n_features : int
        Number of features, at least 2.
    same_class, same_superclass, elsewhere : float
        Expected inner product of two different samples: of the same class, of different classes in
        one superclass, and of different superclasses. Pass same_class ≥ same_superclass ≥
        elsewhere. `elsewhere` can be negative, unless no vectors have such inner products.
    superclass : array of shape (n_classes,), optional
        The superclass of each class, numbered 0, 1, … without gaps. By default each superclass has
        one class; do not pass `same_superclass` then.
    decay : float, default 0.8
        The variance within a class along its i-th principal axis is proportional to i^(-decay). If
        `decay` is 0, the variance is equal in all directions. The default is similar to the
        features of CIFAR-100 from an ImageNet backbone.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same features.
    dtype : {float32, float64}, default float32
        Type of the features.

    Returns
    -------
    SyntheticFeatures
        It has the fields `features`, `labels`, `class_means` and `superclass`.

    Examples
    --------
    >>> made = make_features(
    ...     n_classes=10, n_per_class=50, n_features=32, same_class=0.4, random_state=0
    ... )
    >>> made.features.shape, made.features.dtype
    ((500, 32), dtype('float32'))
    >>> bool(np.allclose(made.class_means @ made.class_means.T, 0.4 * np.eye(10)))
    True
    """
    n_classes = check_count("n_classes", n_classes, 1)
    n_features = check_count("n_features", n_features, 2)
    class_sizes = check_class_sizes(n_per_class, n_classes)
    decay = check_within("decay", decay, 0, 10)
    kind = check_precision(dtype)
    given = {"same_class": same_class, "same_superclass": same_superclass, "elsewhere": elsewhere}
    correlations = _check_correlations(given, grouped=superclass is not None)
    groups = check_superclass(range(n_classes) if superclass is None else superclass, n_classes)
    generator = check_generator(random_state)

    class_means = _class_means(correlations, groups, n_features, generator)
    labels = np.repeat(np.arange(n_classes), class_sizes)
    spread = np.arange(1.0, n_features + 1) ** (-decay / 2)
    mixing = (spread[:, np.newaxis] * _orthonormal(n_features, n_features, generator)).astype(kind)
    features, stored_means = np.empty((len(labels), n_features), kind), class_means.astype(kind)
    norm_squared = correlations["same_class"]  # of the class means
    for start in range(0, len(labels), BLOCK_ROWS):
        rows = features[start : start + BLOCK_ROWS]
        means = stored_means[labels[start : start + BLOCK_ROWS]]
        np.matmul(generator.standard_normal(rows.shape, dtype=kind), mixing, out=rows)
        # If same_class is zero, the class means are zero too, and any divisor works.
        along = np.einsum("ij,ij->i", rows, means) / (norm_squared or 1.0)
        rows -= along[:, np.newaxis] * means
        rows *= (math.sqrt(1 - norm_squared) / np.linalg.norm(rows, axis=1))[:, np.newaxis]
        rows += means
    return SyntheticFeatures(features, labels, class_means, groups)


def _class_means(
    correlations: Mapping[str, float],
    superclass: IntArray,
    n_features: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return class means in random directions, with inner products W if features suffice."""
    same_class, same_superclass, elsewhere = correlations.values()
    gram = np.where(superclass[:, np.newaxis] == superclass, same_superclass, elsewhere)
    np.fill_diagonal(gram, same_class)
    eigenvalues, axes = np.linalg.eigh(gram)
    negligible = NEGLIGIBLE * np.trace(gram)
    if eigenvalues[0] < -negligible:
        raise _not_semidefinite(correlations, superclass, eigenvalues[0])
    positive = eigenvalues > negligible
    root = axes[:, positive] * np.sqrt(eigenvalues[positive])  # root @ root.T = W
    means: NDArray[np.float64] = root @ _orthonormal(root.shape[1], n_features, generator)
    if root.shape[1] > n_features:
        means *= math.sqrt(same_class) / np.linalg.norm(means, axis=1, keepdims=True)
    return means


def _orthonormal(n_rows: int, n_columns: int, generator: np.random.Generator) -> FloatArray:
    """Return a random matrix with orthonormal rows; with more rows than columns, columns are so."""
    gaussian = generator.standard_normal((max(n_rows, n_columns), min(n_rows, n_columns)))
    basis, triangle = np.linalg.qr(gaussian)
    # With these signs, the distribution of the matrix is uniform over all rotations.
    basis *= np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return np.asarray(basis.T if n_rows <= n_columns else basis)


def _not_semidefinite(
    correlations: Mapping[str, float], superclass: IntArray, eigenvalue: float
) -> ArgumentError:
    """Return the error for impossible correlations; its message advises a possible `elsewhere`."""
    sizes = np.bincount(superclass)
    same_class, same_superclass, elsewhere = correlations.values()

    def excess(low: float) -> float:
        """Return the left side of the condition in the module docstring, minus 1, at -low."""
        divisors = same_class - same_superclass + (same_superclass + low) * sizes
        return low * float((sizes / divisors).sum()) - 1

    # The excess increases with `low`. The message has six digits of the bound, rounded so that the
    # rounded value is allowed.
    start = max(1e-6, -same_superclass)
    advice = "raise same_superclass or same_class."
    if excess(start) < 0:
        lowest = brentq(excess, start, -elsewhere)
        advice = f"raise elsewhere to at least {-math.floor(lowest * 1e6) / 1e6:g}."
    problem = f"contradict each other for {len(superclass)} classes in {len(sizes)} superclasses"
    why = f"their matrix has the negative eigenvalue {eigenvalue:.3g}"
    return ArgumentError(correlations, problem, f"{why}; {advice}")


def _check_correlations(given: Mapping[str, float], *, grouped: bool) -> dict[str, float]:
    """Return the three correlations; raise unless they are valid and in non-increasing order."""
    # Values are rounded to twelve digits, because the squares of tiny numbers would underflow to 0.
    found = {
        name: round(check_within(name, value, 0 if name == "same_class" else -1, 1), 12)
        for name, value in given.items()
    }
    if not grouped:
        if found["same_superclass"] != 0:
            advice = "also pass {superclass}, the superclass of each class."
            argument = {"same_superclass": given["same_superclass"]}
            raise ArgumentError(argument, "needs superclasses", advice, superclass=...)
        # Each superclass has one class, so that same_superclass has no effect.
        found["same_superclass"] = max(0.0, found["elsewhere"])
    if list(found.values()) != sorted(found.values(), reverse=True):
        advice = "pass same_class ≥ same_superclass ≥ elsewhere."
        raise ArgumentError(found, "are out of order", advice)
    return found
