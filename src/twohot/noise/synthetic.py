"""Unit-norm features with given correlations between classes.

A sample of class k is its class mean plus a residual that is orthogonal to this mean,

    x = m_k + r,    ‖m_k‖² = same_class,    ‖r‖² = 1 - same_class,    r · m_k = 0,

so that ‖x‖ = 1. Residuals are independent and have mean zero. So the expected inner product of two
different samples, of classes k and l, is exactly m_k · m_l. The means are built to have

    m_k · m_l = W[k, l] = same_class        k = l
                          same_superclass   k ≠ l of one superclass
                          elsewhere         otherwise.

With h the size of a superclass, W = (same_class - same_superclass) I
+ (same_superclass - elsewhere) (blocks of ones) + elsewhere (all ones). For a negative
`elsewhere`, W is positive semidefinite if and only if

    -elsewhere · Σ_superclasses h / (same_class - same_superclass
                                     + (same_superclass - elsewhere) h)  ≤  1.

A residual is drawn from a Gaussian, then made orthogonal to m_k and scaled. The variance of the
Gaussian is ∝ i^(-decay) along the i-th of n_features random axes, which all classes share.
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
    RandomState,
    check_class_sizes,
    check_count,
    check_generator,
    check_precision,
    check_superclass,
    check_within,
)

# Number of rows generated at once, so that products are fast and temporary arrays take a few MB.
BLOCK_ROWS = 2048

# Eigenvalues of W below this share of its trace are rounding errors.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True, eq=False)
class SyntheticFeatures:
    """Synthetic features with known classes, class means and superclasses."""

    features: NDArray[np.floating[Any]]  # (n_samples, n_features)
    labels: NDArray[np.int64]  # (n_samples,), 0 … n_classes - 1, class after class
    class_means: NDArray[np.float64]  # (n_classes, n_features), expectation of each class
    superclass: NDArray[np.intp]  # (n_classes,)


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
    """Return unit-norm features with given correlations between classes.

    With at least as many features as classes (or as the rank of the correlations), the expected
    inner products are exact. With fewer features, no such class means exist. The means then have
    the right length and random directions. The inner product of two of them differs from the
    requested value by about same_class · sqrt(1 / n_features - 1 / n_classes). In both cases,
    the inner products of `class_means` are the expected ones of the samples.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    n_per_class : int or sequence of n_classes int
        Samples of each class.
    n_features : int
        Number of features, at least 2.
    same_class, same_superclass, elsewhere : float
        Expected inner product of two different samples of the same class, of two classes in one
        superclass, and of two superclasses, in non-increasing order. `elsewhere` may be negative if
        vectors with such inner products exist.
    superclass : array of shape (n_classes,), optional
        The superclass of each class, numbered 0, 1, … without gaps. By default every class is its
        own superclass, and `same_superclass` must not be passed.
    decay : float, default 0.8
        The variance within a class decreases as i^(-decay) along its i-th principal axis; with 0 it
        is the same in all directions. The default resembles the variances of ImageNet features of
        CIFAR-100.
    random_state : int, numpy.random.Generator or None
        The same seed gives the same features.
    dtype : {float32, float64}, default float32
        Type of the features.

    Returns
    -------
    SyntheticFeatures
        `features`, `labels`, `class_means`, `superclass`.

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
    asked = {"same_class": same_class, "same_superclass": same_superclass, "elsewhere": elsewhere}
    correlations = _check_correlations(asked, grouped=superclass is not None)
    groups = np.arange(n_classes) if superclass is None else superclass
    superclass = check_superclass(groups, n_classes)
    generator = check_generator(random_state)

    class_means = _class_means(correlations, superclass, n_features, generator)
    labels = np.repeat(np.arange(n_classes), class_sizes)
    spread = np.arange(1.0, n_features + 1) ** (-decay / 2)
    mixing = spread[:, np.newaxis] * _orthonormal(n_features, n_features, generator)
    length = correlations["same_class"]
    features = _sample(class_means.astype(kind), length, labels, mixing.astype(kind), generator)
    return SyntheticFeatures(features, labels, class_means, superclass)


def _sample(
    class_means: NDArray[np.floating[Any]],
    same_class: float,
    labels: NDArray[np.int64],
    mixing: NDArray[np.floating[Any]],
    generator: np.random.Generator,
) -> NDArray[np.floating[Any]]:
    """Draw m_k + r for each label, block by block into one array."""
    features = np.empty((len(labels), class_means.shape[1]), dtype=class_means.dtype)
    for start in range(0, len(labels), BLOCK_ROWS):
        rows = features[start : start + BLOCK_ROWS]
        mean = class_means[labels[start : start + BLOCK_ROWS]]
        noise = generator.standard_normal(rows.shape, dtype=rows.dtype)
        np.matmul(noise, mixing, out=rows)
        # If same_class is zero, the means are zero too, and any divisor works.
        along = np.einsum("ij,ij->i", rows, mean) / (same_class or 1.0)
        rows -= along[:, np.newaxis] * mean
        rows *= (math.sqrt(1 - same_class) / np.linalg.norm(rows, axis=1))[:, np.newaxis]
        rows += mean
    return features


def _class_means(
    correlations: Mapping[str, float],
    superclass: NDArray[np.intp],
    n_features: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return class means in random directions with inner products W, exact if features suffice."""
    same_class, same_superclass, elsewhere = correlations.values()
    gram = np.where(superclass[:, np.newaxis] == superclass, same_superclass, elsewhere)
    np.fill_diagonal(gram, same_class)
    eigenvalues, axes = np.linalg.eigh(gram)
    negligible = NEGLIGIBLE * np.trace(gram)
    if eigenvalues[0] < -negligible:
        raise _not_semidefinite(correlations, superclass, eigenvalues[0])
    kept = eigenvalues > negligible
    root = axes[:, kept] * np.sqrt(eigenvalues[kept])  # (n_classes, rank), root @ root.T = W
    means: NDArray[np.float64] = root @ _orthonormal(root.shape[1], n_features, generator)
    if root.shape[1] > n_features:
        means *= math.sqrt(same_class) / np.linalg.norm(means, axis=1, keepdims=True)
    return means


def _orthonormal(
    n_rows: int, n_columns: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return a random matrix with orthonormal rows, or columns if there are more rows."""
    gaussian = generator.standard_normal((max(n_rows, n_columns), min(n_rows, n_columns)))
    basis, triangle = np.linalg.qr(gaussian)
    # Fixing the signs makes the matrix uniform over all rotations.
    basis *= np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return basis.T if n_rows <= n_columns else basis


def _not_semidefinite(
    correlations: Mapping[str, float], superclass: NDArray[np.intp], eigenvalue: float
) -> ArgumentError:
    """Return the error for impossible correlations; its message advises a possible `elsewhere`."""
    sizes = np.bincount(superclass)
    c, d, elsewhere = correlations.values()

    def excess(minus_elsewhere: float) -> float:  # the condition in the module docstring, ≤ 0
        shares = sizes / (c - d + (d + minus_elsewhere) * sizes)
        return minus_elsewhere * float(shares.sum()) - 1

    # The excess increases with -elsewhere. The message has six digits of the bound, rounded to the
    # allowed side.
    start = max(1e-6, -d)
    advice = "raise same_superclass or same_class."
    if excess(start) < 0:
        lowest = brentq(excess, start, -elsewhere)
        advice = f"raise elsewhere to at least {-math.floor(lowest * 1e6) / 1e6:g}."
    problem = f"contradict each other for {len(superclass)} classes in {len(sizes)} superclasses"
    why = f"their matrix has the negative eigenvalue {eigenvalue:.3g}"
    return ArgumentError(correlations, problem, f"{why}; {advice}")


def _check_correlations(asked: Mapping[str, float], *, grouped: bool) -> dict[str, float]:
    """Return the three correlations; raise unless they are valid and in non-increasing order."""
    lowest = {"same_class": 0}
    given = {name: check_within(name, asked[name], lowest.get(name, -1), 1) for name in asked}
    if not grouped:
        if given["same_superclass"] != 0:
            problem = "needs superclasses"
            advice = "also pass {superclass}, the superclass of each class."
            argument = {"same_superclass": given["same_superclass"]}
            raise ArgumentError(argument, problem, advice, superclass=...)
        # Each class is its own superclass, so that same_superclass has no effect.
        given["same_superclass"] = max(0.0, given["elsewhere"])
    # Round to twelve digits, because the squares of tiny numbers would underflow.
    found = {name: round(value, 12) for name, value in given.items()}
    if list(found.values()) != sorted(found.values(), reverse=True):
        advice = "pass same_class ≥ same_superclass ≥ elsewhere."
        raise ArgumentError(found, "are out of order", advice)
    return found
