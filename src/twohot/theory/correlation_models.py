"""Class-correlation models: the theory's description of a dataset.

    ⟨φ(x_i), φ(x_j)⟩ = correlation[a, b]     for i ≠ j of true classes a and b
    ⟨φ(x_i), φ(x_i)⟩ = squared_norms[a]      for i of true class a

The Gram matrix of such a dataset is P W Pᵀ plus δ_a on the diagonal entry of a sample of class a.
P has the one-hot true classes of the samples, and W is `correlation`. δ_a = squared_norms[a] - W_aa
is the squared norm minus the correlation with other samples of the class. The eigenvalues are

    δ_a, n_a - 1 times for every class a             (directions inside class a), and
    the K eigenvalues of  √n W √n + diag(δ)          (directions between class means),

so the cost is O(K³) for any number of samples.

Conventions: samples are rows; classes, labels and superclasses count from 0.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from twohot.base import FloatArray, IntArray, as_array, check_count, check_within
from twohot.theory import checks


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of a class model's Gram matrix; see `CorrelationModel.spectrum`."""

    between: FloatArray  # (n_classes,) eigenvalues between class means, largest first
    within: FloatArray  # (n_classes,) eigenvalue inside class a, class_sizes[a] - 1 times
    class_sizes: FloatArray  # (n_classes,)

    @property
    def eigengap(self) -> float:
        """Smallest of `between` minus largest of `within`: λ_K - λ_{K+1} in the paper."""
        return float(self.between.min() - self.within.max())

    def values(self) -> FloatArray:
        """Return all eigenvalues, largest first, one per sample; class sizes must be whole."""
        within = np.repeat(self.within, checks.whole_sizes(self.class_sizes) - 1)
        return np.sort(np.concatenate([self.between, within]))[::-1]


@dataclass(frozen=True, eq=False)
class CorrelationModel:
    """A dataset as described by the theory: correlations between classes, class sizes, norms.

    Use `from_correlation` for any symmetric correlation, and `case_1` … `case_5` for the paper's
    five cases. Class sizes may be imbalanced and real numbers. Correlations may be negative, but
    the Gram matrix of the dataset must be positive semidefinite.

    Examples
    --------
    >>> model = CorrelationModel.case_4(
    ...     superclass=[0, 0, 1, 1], same_class=0.4, same_superclass=0.1, n_per_class=100
    ... )
    >>> model.correlation[0].tolist()
    [0.4, 0.1, 0.0, 0.0]
    >>> round(model.spectrum().eigengap, 6)
    30.0
    """

    correlation: FloatArray  # (n_classes, n_classes) between different samples, symmetric
    class_sizes: FloatArray  # (n_classes,) samples per true class
    squared_norms: FloatArray  # (n_classes,) ‖φ(x)‖² of the samples of each class

    def __post_init__(self) -> None:
        correlation = checks.symmetric_matrix(self.correlation, "correlation")
        n_classes = correlation.shape[0]
        if n_classes < 2:
            raise ValueError(f"correlation must have at least 2 classes, got {n_classes}.")
        sizes = checks.per_class(self.class_sizes, "class_sizes", n_classes, above=0)
        norms = checks.per_class(self.squared_norms, "squared_norms", n_classes)
        checks.scale_number("class_sizes", float(sizes.max()))
        checks.scale_number("class_sizes", float(sizes.min()))
        checks.scale_number("squared_norms", float(norms.max()))
        vars(self).update(correlation=correlation, class_sizes=sizes, squared_norms=norms)
        if self.own_part.min() < 0:
            worst = int(self.own_part.argmin())
            raise ValueError(
                f"correlation[{worst}, {worst}] = {correlation[worst, worst]:g} must not exceed"
                f" squared_norms[{worst}] = {norms[worst]:g}, the product of a sample with itself."
            )
        advice = "(raise the diagonal of correlation or reduce the other entries)"
        problem = f"the Gram matrix of this correlation is not positive semidefinite {advice}"
        checks.psd_eigenvalues(np.linalg.eigvalsh(self.class_gram()), problem)

    @classmethod
    def from_correlation(
        cls, correlation: ArrayLike, *, class_sizes: ArrayLike, squared_norms: ArrayLike = 1.0
    ) -> Self:
        """Build a model from any symmetric class correlation.

        Examples
        --------
        >>> model = CorrelationModel.from_correlation(
        ...     [[0.5, -0.05], [-0.05, 0.3]], class_sizes=[200, 50], squared_norms=[1.0, 1.2]
        ... )
        >>> model.n_samples
        250.0
        """
        return cls(as_array(correlation), as_array(class_sizes), as_array(squared_norms))

    @classmethod
    def case_1(cls, *, n_classes: int, same_class: float, n_per_class: ArrayLike) -> Self:
        """Case I: samples correlate only within their class, and equally in all classes."""
        n_classes = check_count("n_classes", n_classes, 2)
        level = check_within("same_class", same_class, 0, 1)
        return cls.case_2(same_class=np.full(n_classes, level), n_per_class=n_per_class)

    @classmethod
    def case_2(cls, *, same_class: ArrayLike, n_per_class: ArrayLike) -> Self:
        """Case II: as Case I, but every class has its own correlation."""
        n_classes = len(checks.real_array(same_class, "same_class", ndim=1))
        levels = checks.per_class(same_class, "same_class", n_classes, above=0, below=1)
        sizes = checks.per_class(n_per_class, "n_per_class", n_classes, above=0)
        return cls.from_correlation(np.diag(levels), class_sizes=sizes)

    @classmethod
    def case_3(
        cls, *, n_classes: int, same_class: float, same_superclass: float, n_per_class: ArrayLike
    ) -> Self:
        """Case III: a single superclass; one correlation inside classes and one between them."""
        return cls.case_5(
            superclass=[0] * check_count("n_classes", n_classes, 2),
            same_class=same_class,
            same_superclass=same_superclass,
            elsewhere=same_superclass,  # no effect with a single superclass
            n_per_class=n_per_class,
        )

    @classmethod
    def case_4(
        cls,
        *,
        superclass: ArrayLike,
        same_class: float,
        same_superclass: float,
        n_per_class: ArrayLike,
    ) -> Self:
        """Case IV, the paper's main model: no correlation between superclasses."""
        return cls.case_5(
            superclass=superclass,
            same_class=same_class,
            same_superclass=same_superclass,
            elsewhere=0.0,
            n_per_class=n_per_class,
        )

    @classmethod
    def case_5(
        cls,
        *,
        superclass: ArrayLike,
        same_class: float,
        same_superclass: float,
        elsewhere: float,
        n_per_class: ArrayLike,
    ) -> Self:
        """Case V: one correlation inside classes, one inside superclasses, one elsewhere.

        The paper requires elsewhere >= 0. Here it may be negative, as for centred features, if the
        Gram matrix is positive semidefinite.
        """
        groups = checks.superclass_map(superclass)
        c, d, e = checks.ordered_levels(
            same_class=same_class, same_superclass=same_superclass, elsewhere=elsewhere
        )
        correlation = np.where(groups[:, None] == groups[None, :], d, e)
        np.fill_diagonal(correlation, c)
        sizes = checks.per_class(n_per_class, "n_per_class", groups.size, above=0)
        return cls.from_correlation(correlation, class_sizes=sizes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.correlation.shape[0])

    @property
    def n_samples(self) -> float:
        """Number of samples; real if the class sizes are."""
        return float(self.class_sizes.sum())

    @property
    def own_part(self) -> FloatArray:
        """(n_classes,) δ: squared norm minus correlation within the class."""
        return self.squared_norms - np.diag(self.correlation)

    def ridge(self, l2: float) -> float:
        """Return the ridge, n_classes * n_samples * l2: the penalty in units of the Gram matrix.

        To compare datasets of different norms, divide the ridge by the squared norm.
        """
        return self.n_classes * self.n_samples * checks.scale_number("l2", l2)

    def with_class_sizes(self, class_sizes: ArrayLike) -> Self:
        """Return the model with other class sizes; a single number means equal sizes."""
        return replace(self, class_sizes=as_array(class_sizes))

    def class_gram(self) -> FloatArray:
        """Return the Gram matrix √n W √n + diag(δ) of the scaled class means."""
        root = np.sqrt(self.class_sizes)
        return root[:, None] * self.correlation * root[None, :] + np.diag(self.own_part)

    def spectrum(self) -> Spectrum:
        """Return the eigenvalues of the Gram matrix, without computing this matrix."""
        between = np.asarray(np.linalg.eigvalsh(self.class_gram())[::-1], dtype=np.float64)
        return Spectrum(between, self.own_part, self.class_sizes)

    def true_labels(self) -> IntArray:
        """Return the sorted true classes (n_samples,); class sizes must be whole."""
        return np.repeat(np.arange(self.n_classes), checks.whole_sizes(self.class_sizes))

    def gram(self) -> FloatArray:
        """Return the Gram matrix (n_samples, n_samples) of samples sorted by class (eq. 7)."""
        labels = self.true_labels()
        gram = self.correlation[labels[:, None], labels[None, :]]
        np.fill_diagonal(gram, self.squared_norms[labels])
        return gram


def check_model(model: object, name: str = "model") -> None:
    """Raise unless `model` is a `CorrelationModel`."""
    hint = "build one with CorrelationModel.case_1 … case_5 or CorrelationModel.from_correlation"
    checks.instance(model, CorrelationModel, name, hint)


# Perturbed Gram matrices: rotation of the leading subspace, and repair ----------------------------
# The top K eigenvectors of a class model's Gram matrix represent its classes. A perturbation E
# rotates them by at most (Davis and Kahan)
#
#     sin θ ≤ 2 ‖E‖ / (λ_K - λ_{K+1}),
#
# where θ is the largest principal angle between the two leading subspaces, ‖·‖ the spectral norm,
# and λ are the eigenvalues without E. (The classical bound is ‖E‖ divided by the gap between λ_K
# and the *perturbed* λ_{K+1}. By Weyl's inequality it implies the bound above if this is below 1.
# Otherwise the bound is trivial.)


@dataclass(frozen=True)
class SubspaceShift:
    """Rotation of the leading eigenvectors by a perturbation; see `davis_kahan`."""

    eigengap: float  # λ_K - λ_{K+1} of the unperturbed Gram matrix
    perturbation_norm: float  # spectral norm of the perturbation
    sin_angle: float  # sine of the largest principal angle between the leading subspaces
    bound: float  # upper bound of `sin_angle` by Davis and Kahan; trivial if at least 1


def davis_kahan(gram: ArrayLike, perturbed: ArrayLike, *, n_leading: int) -> SubspaceShift:
    """Compare the leading eigenvectors of a Gram matrix with those of a perturbed one.

    Examples
    --------
    >>> gram = np.diag([5.0, 4.0, 1.0])
    >>> shift = davis_kahan(gram, gram + 0.1 * (1 - np.eye(3)), n_leading=2)
    >>> round(shift.eigengap, 6), shift.sin_angle < shift.bound
    (3.0, True)
    """
    before = checks.symmetric_matrix(gram, "gram")
    after = checks.symmetric_matrix(perturbed, "perturbed")
    if before.shape != after.shape:
        shapes = f"{before.shape} and {after.shape}"
        raise ValueError(f"gram and perturbed must have the same shape, got {shapes}.")
    leading = check_count("n_leading", n_leading, 1)
    if leading >= len(before):
        raise ValueError(f"n_leading must be below the matrix size {len(before)}, got {leading}.")
    values, vectors = np.linalg.eigh(before)
    gap = float(values[-leading] - values[-leading - 1])
    norm = float(np.abs(np.linalg.eigvalsh(after - before)).max())
    turned = np.linalg.eigh(after)[1][:, -leading:]
    angles = scipy.linalg.subspace_angles(vectors[:, -leading:], turned)
    bound = 2 * norm / gap if gap > 0 else np.inf
    return SubspaceShift(gap, norm, float(np.sin(angles.max())), bound)


def repair_gram(gram: ArrayLike) -> FloatArray:
    """Return a nearby matrix that has no negative eigenvalues and a unit diagonal.

    A perturbed Gram matrix is rarely positive semidefinite. But only a positive semidefinite matrix
    is a Gram matrix of features, for which every round has a unique solution.

    Examples
    --------
    >>> broken = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> repaired = repair_gram(broken)
    >>> np.linalg.eigvalsh(broken)[0].round(3), repaired.round(3).tolist()[0]
    (np.float64(-0.273), [1.0, 0.729, 0.064])
    """
    values, vectors = np.linalg.eigh(checks.symmetric_matrix(gram, "gram"))
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    root = np.sqrt(np.maximum(np.diag(clipped), 0.0))
    if root.min() == 0:
        worst = int(root.argmin())
        raise ValueError(f"gram cannot be repaired: sample {worst} has norm zero; remove it.")
    repaired = clipped / np.outer(root, root)
    np.fill_diagonal(repaired, 1.0)
    return np.asarray((repaired + repaired.T) / 2)
