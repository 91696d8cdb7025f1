"""Describe a dataset by the inner products of its features, for every two classes.

The inner product of two different samples is called their *correlation*. In the theory, it depends
only on the true classes a and b of the samples i and j:

    ⟨φ(x_i), φ(x_j)⟩ = correlation[a, b]     if i ≠ j
    ⟨φ(x_i), φ(x_i)⟩ = squared_norms[a]

Let the rows of P be the one-hot true classes of the samples, and let W be `correlation`. The Gram
matrix of such a dataset is P W Pᵀ, plus δ_a on the diagonal entry of a sample of class a. Here
δ_a = squared_norms[a] - W_aa is the squared norm of a sample minus its inner product with another
sample of the class. With n_a samples in class a, the eigenvalues of the Gram matrix are

    δ_a, n_a - 1 times for every class a             (differences inside class a), and
    the K eigenvalues of  √n W √n + diag(δ)          (differences between class means).

Computing them takes O(K³) operations for any number of samples.

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
    """Eigenvalues of the Gram matrix of a `CorrelationModel`; see its method `spectrum`."""

    between: FloatArray  # (n_classes,) eigenvalues between class means, largest first
    within: FloatArray  # (n_classes,) eigenvalue inside class a; it occurs class_sizes[a] - 1 times
    class_sizes: FloatArray  # (n_classes,) samples per true class

    @property
    def eigengap(self) -> float:
        """Smallest of `between` minus largest of `within`: λ_K - λ_{K+1} in the paper."""
        return float(self.between.min() - self.within.max())

    def values(self) -> FloatArray:
        """Return all eigenvalues, one per sample, largest first; class sizes must be integers."""
        within = np.repeat(self.within, checks.whole_sizes(self.class_sizes) - 1)
        return np.sort(np.concatenate([self.between, within]))[::-1]


@dataclass(frozen=True, eq=False)
class CorrelationModel:
    """A dataset as the theory describes it: correlations between classes, class sizes and norms.

    Use `from_correlation` for any symmetric correlation, and `case_1` … `case_5` for the paper's
    five cases. Class sizes can be unequal, and need not be whole numbers. Correlations can be
    negative, but the Gram matrix of the dataset must be positive semidefinite.

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

    correlation: FloatArray  # (n_classes, n_classes) inner product of two different samples
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
                f" squared_norms[{worst}] = {norms[worst]:g}; lower the first or raise the second."
            )
        advice = "raise the diagonal of correlation, or move its other entries towards 0"
        problem = "the Gram matrix of this correlation is not positive semidefinite"
        checks.psd_eigenvalues(np.linalg.eigvalsh(self.class_gram()), problem, advice)

    @classmethod
    def from_correlation(
        cls, correlation: ArrayLike, *, class_sizes: ArrayLike, squared_norms: ArrayLike = 1.0
    ) -> Self:
        """Build a model from any symmetric matrix of correlations between classes.

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
        """Build a model of Case I: one correlation inside all classes, none between classes."""
        n_classes = check_count("n_classes", n_classes, 2)
        level = check_within("same_class", same_class, 0, 1)
        return cls.case_2(same_class=np.full(n_classes, level), n_per_class=n_per_class)

    @classmethod
    def case_2(cls, *, same_class: ArrayLike, n_per_class: ArrayLike) -> Self:
        """Build a model of Case II: as Case I, but every class has its own correlation."""
        n_classes = len(checks.real_array(same_class, "same_class", ndim=1))
        levels = checks.per_class(same_class, "same_class", n_classes, above=0, below=1)
        sizes = checks.per_class(n_per_class, "n_per_class", n_classes, above=0)
        return cls.from_correlation(np.diag(levels), class_sizes=sizes)

    @classmethod
    def case_3(
        cls, *, n_classes: int, same_class: float, same_superclass: float, n_per_class: ArrayLike
    ) -> Self:
        """Build a model of Case III: one correlation inside classes, one between all classes."""
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
        """Build a model of Case IV, the paper's main model: superclasses are not correlated.

        There is one correlation inside classes, and one between classes of a superclass.
        """
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
        """Build a model of Case V: as Case IV, plus a correlation between superclasses.

        The paper requires elsewhere >= 0. Here `elsewhere` can be negative, as for centred
        features, if the Gram matrix is positive semidefinite.
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
        """Number of samples: the sum of the class sizes, which need not be a whole number."""
        return float(self.class_sizes.sum())

    @property
    def own_part(self) -> FloatArray:
        """(n_classes,) δ: squared norm minus correlation inside the class."""
        return self.squared_norms - np.diag(self.correlation)

    def ridge(self, l2: float) -> float:
        """Return the ridge n_classes * n_samples * l2, which label averaging adds to the diagonal.

        To compare datasets of different norms, divide the ridge by the squared norm.
        """
        return self.n_classes * self.n_samples * checks.scale_number("l2", l2)

    def with_class_sizes(self, class_sizes: ArrayLike) -> Self:
        """Return a copy with other class sizes; a single number is the size of every class."""
        return replace(self, class_sizes=as_array(class_sizes))

    def class_gram(self) -> FloatArray:
        """Return √n W √n + diag(δ) (n_classes, n_classes); see the module docstring."""
        root = np.sqrt(self.class_sizes)
        return root[:, None] * self.correlation * root[None, :] + np.diag(self.own_part)

    def spectrum(self) -> Spectrum:
        """Return the eigenvalues of the Gram matrix of all samples, without this large matrix."""
        between = np.asarray(np.linalg.eigvalsh(self.class_gram())[::-1], dtype=np.float64)
        return Spectrum(between, self.own_part, self.class_sizes)

    def true_labels(self) -> IntArray:
        """Return the sorted true classes (n_samples,); class sizes must be integers."""
        return np.repeat(np.arange(self.n_classes), checks.whole_sizes(self.class_sizes))

    def gram(self) -> FloatArray:
        """Return the Gram matrix (n_samples, n_samples) of samples sorted by true class (eq. 7)."""
        labels = self.true_labels()
        gram = self.correlation[labels[:, None], labels[None, :]]
        np.fill_diagonal(gram, self.squared_norms[labels])
        return gram


def check_model(model: object, name: str = "model") -> None:
    """Raise unless `model` is a `CorrelationModel`."""
    hint = "build one with CorrelationModel.case_1 … case_5 or CorrelationModel.from_correlation"
    checks.instance(model, CorrelationModel, name, hint)


# Perturbed Gram matrices: rotation of the leading subspace, and repair ----------------------------
# In the Gram matrix of a class model, the K leading eigenvectors (with the largest eigenvalues)
# separate the classes. If a perturbation E is added to the matrix, they span another subspace. Let
# θ be the largest principal angle between the two subspaces. By Davis and Kahan,
#
#     sin θ ≤ 2 ‖E‖ / (λ_K - λ_{K+1}),
#
# where ‖·‖ is the spectral norm, and λ are the eigenvalues without E. (The classical bound is ‖E‖
# divided by the gap between λ_K and the *perturbed* λ_{K+1}. If the bound above is below 1, it
# follows from the classical bound by Weyl's inequality. If not, it is true for every sine.)


@dataclass(frozen=True)
class SubspaceShift:
    """Rotation of the leading eigenvectors by a perturbation; see `davis_kahan`."""

    eigengap: float  # λ_K - λ_{K+1} of the unperturbed Gram matrix
    perturbation_norm: float  # spectral norm of the perturbation
    sin_angle: float  # sine of the largest principal angle between the leading subspaces
    bound: float  # upper bound of `sin_angle` by Davis and Kahan; useless if at least 1


def davis_kahan(gram: ArrayLike, perturbed: ArrayLike, *, n_leading: int) -> SubspaceShift:
    """Measure and bound how far a perturbation rotates the leading eigenvectors of a matrix.

    Parameters
    ----------
    gram, perturbed : (n_samples, n_samples)
        Gram matrix without and with the perturbation.
    n_leading : int
        Number of leading eigenvectors: those with the largest eigenvalues.

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
    is the Gram matrix of some features. For other matrices, a round can have several solutions.

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
        problem = f"without negative eigenvalues, sample {worst} has norm zero"
        raise ValueError(f"gram cannot be repaired: {problem}; remove row and column {worst}.")
    repaired = clipped / np.outer(root, root)
    np.fill_diagonal(repaired, 1.0)
    return np.asarray((repaired + repaired.T) / 2)
