"""Label averaging between class means: the class form of `averaging`, K × K whatever n."""

import numpy as np
from numpy.typing import ArrayLike

from twohot.theory import _checks
from twohot.theory._checks import FloatArray
from twohot.theory.averaging import power_of_ratio, shrinkage_factors
from twohot.theory.correlation_models import CorrelationModel, check_model

# Eigenvalues of a K × K matrix come out within a few K ε of the largest.
EIGEN_ERROR = 8 * float(np.finfo(np.float64).eps)


class ClassReduction:
    """Label averaging between class means, at a cost that does not depend on n.

    Means of class targets M (n_classes, n_labels) become Fᵗ(M - 1/K) + 1/K with
    F = (x I + G)⁻¹ G, G = W diag(n) + diag(δ). G is similar to the symmetric class Gram matrix
    B = √n W √n + diag(δ), so Fᵗ = n^-½ f(B)ᵗ n^½ with f(z) = z/(x + z). What a sample's target
    has beyond its class mean shrinks by f(δ_a) per round and never mixes.

    Examples
    --------
    >>> model = CorrelationModel.case_1(n_classes=2, same_class=0.5, n_per_class=[10, 1e6])
    >>> reduction = ClassReduction(model, l2=1e-6)
    >>> deviations = np.array([[0.4, -0.4], [-0.4, 0.4]])
    >>> reduction.class_means(deviations, n_rounds=3).round(3).tolist()
    [[0.158, -0.158], [-0.4, 0.4]]
    """

    def __init__(self, model: CorrelationModel, *, l2: float) -> None:
        check_model(model)
        self.ridge = model.ridge(l2)
        self.own_part = model.own_part  # (n_classes,) δ
        self.own = shrinkage_factors(self.own_part, ridge=self.ridge)  # (n_classes,)
        self.class_sizes = model.class_sizes
        self.root = np.sqrt(model.class_sizes)
        self._correlation = model.correlation
        values, self.vectors = np.linalg.eigh(model.class_gram())
        # What an eigenvalue may be off by. One that is no larger may as well be zero, and is: at a
        # small ridge the rest of a singular correlation would pass for a class mean.
        self.error = EIGEN_ERROR * values.size * float(np.abs(values).max())
        self.values = np.where(values > self.error, values, 0.0)

    def class_means(self, deviations: ArrayLike, *, n_rounds: int = 1) -> FloatArray:
        """Deviations of class means from uniform after `n_rounds` rounds: Fᵗ deviations."""
        power = _checks.round_count(n_rounds)
        factors = power_of_ratio(self.values, ridge=self.ridge, n_rounds=power)
        return self.filtered(factors, deviations)

    def gained(self, deviations: ArrayLike, *, n_rounds: int = 1) -> FloatArray:
        """Return what class means keep beyond single labels: (Fᵗ - diag(f_aᵗ)) deviations.

        At a small ridge both keep nearly all, and the difference is taken where it is exact,
        between an eigenvalue and δ_a.
        """
        power = _checks.round_count(n_rounds)
        beyond = power_gaps(self.values, self.own_part[:, None], ridge=self.ridge, n_rounds=power)
        return self.filtered(beyond, deviations)

    def unseen(self, deviations: ArrayLike, *, n_rounds: int) -> FloatArray:
        """Deviations of an unseen sample of each class, from those of the given targets.

        It is W n (Ȳ⁽ᵗ⁻¹⁾ - Ȳ⁽ᵗ⁾)/x, with the difference of nearly equal means taken inside the
        eigenbasis, where (1 - f)/x = 1/(x + λ) exactly.
        """
        before = self.class_means(deviations, n_rounds=_checks.round_count(n_rounds, 1) - 1)
        change = self.filtered(1 / (self.ridge + self.values), before)
        return self._correlation @ (self.root[:, None] ** 2 * change)

    def filtered(self, factors: FloatArray, deviations: ArrayLike) -> FloatArray:
        """Scale eigendirections; factors are (n_classes,), or (n_classes, n_classes) by class."""
        rows = _checks.real_array(deviations, "deviations", ndim=2)
        if len(rows) != len(self.own):
            raise ValueError(f"deviations must have {len(self.own)} rows, got {len(rows)}.")
        scaled = self.vectors.T @ (self.root[:, None] * rows)
        return np.asarray((self.vectors * factors) @ scaled / self.root[:, None])


def power_gaps(
    values: FloatArray, others: FloatArray, *, ridge: float, n_rounds: int
) -> FloatArray:
    """Return f(values)ᵗ - f(others)ᵗ, f(z) = z/(ridge + z), however close they are."""
    if n_rounds == 0:
        return np.zeros(np.broadcast(values, others).shape)
    larger = np.maximum(values, others)
    kept = power_of_ratio(larger, ridge=ridge, n_rounds=n_rounds)
    return np.asarray(
        -np.sign(values - others) * kept * np.expm1(-n_rounds * log_gap(values, others, ridge))
    )


def log_gap(values: FloatArray, others: FloatArray, ridge: float) -> FloatArray:
    """Return |log f(values) - log f(others)|, f(z) = z/(ridge + z); infinite where one is zero."""
    smaller, larger = np.minimum(values, others), np.maximum(values, others)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ridge * (larger - smaller) / (smaller * (ridge + larger))
    return np.asarray(np.log1p(np.where(larger > smaller, ratio, 0.0)))
