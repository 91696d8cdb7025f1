"""Label averaging: a round replaces labels by averages over similar samples (Theorem 3.1).

If the softmax is replaced by its linear approximation at zero logits, σ(v) ≈ 1/K + v/K, the outputs
of round t are

    Y⁽ᵗ⁾ - 1/K = [Φ (x I + Φ)⁻¹]ᵗ (Y⁽⁰⁾ - 1/K),     x = ridge = n_classes * n_samples * l2,

which is kernel ridge regression, repeated t times. K is the number of classes, l2 the weight of the
penalty and Φ the Gram matrix of the samples. Y⁽⁰⁾ is the matrix of given labels, with one row of
targets per sample. Round 1 is called the teacher, and later rounds are called students. There are
four ways to compute the outputs:

    `average_labels`                 the inverse form: one factorisation, then t linear systems
    `LabelAveraging.from_gram`       the eigen form: Φ = V diag(λ) Vᵀ, factors (λ/(x + λ))ᵗ
    `LabelAveraging.from_features`   the feature form: features = U diag(s) Vᵀ, with λ = s²
    `ClassReduction`                 the class form: a K × K matrix, for a `CorrelationModel`

The outputs of a sample sum to one. With some Gram matrices, single outputs are below 0 or above 1.
The functions do not clip outputs, because clipped outputs would not satisfy the formula.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from twohot.base import FloatArray, check_positive
from twohot.theory import checks
from twohot.theory.correlation_models import CorrelationModel, check_model

NOT_A_GRAM_MATRIX = "gram is not positive semidefinite"
USE_REPAIR = "pass repair_gram(gram), which has no negative eigenvalues"
# The rounding error of an eigenvalue of a K × K matrix is about K times this fraction of the
# largest eigenvalue.
EIGEN_ERROR = 8 * float(np.finfo(np.float64).eps)


def shrinkage_factors(eigenvalues: ArrayLike, *, ridge: float, n_rounds: int = 1) -> FloatArray:
    """Return (λ / (ridge + λ))ᵗ, the eigenvalues of the averaging matrix of round t = `n_rounds`.

    The λ are the eigenvalues of the Gram matrix.

    Examples
    --------
    >>> shrinkage_factors([30.6, 0.6], ridge=0.5).round(4).tolist()
    [0.9839, 0.5455]
    """
    given = checks.real_array(eigenvalues, "eigenvalues")
    problem, advice = "eigenvalues are not those of a Gram matrix", "pass numbers of at least 0"
    checks.psd_eigenvalues(np.sort(given, axis=None), problem, advice)
    values, ridge = np.maximum(given, 0.0), check_positive("ridge", ridge)
    return power_of_ratio(values, ridge=ridge, n_rounds=checks.round_count(n_rounds))


def power_of_ratio(values: FloatArray, *, ridge: float, n_rounds: int) -> FloatArray:
    """Return (values / (ridge + values)) ** n_rounds to full precision, for any number of rounds.

    A power multiplies the relative rounding error of the ratio by `n_rounds`. So the function
    computes exp(-n_rounds log(1 + ridge/values)), which equals the power and avoids the ratio.
    """
    if n_rounds <= 1:
        return np.asarray((values / (ridge + values)) ** n_rounds)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.exp(-n_rounds * np.log1p(ridge / values)))


def average_labels(gram: ArrayLike, targets: ArrayLike, *, l2: float, n_rounds: int) -> FloatArray:
    """Return the outputs of round `n_rounds` on the training samples, from their Gram matrix.

    Parameters
    ----------
    gram : (n_samples, n_samples)
        Gram matrix of the features, positive semidefinite.
    targets : (n_samples, n_classes)
        Given labels, one-hot or soft.
    l2 : float
        Weight of the penalty in the objective: mean cross-entropy + ½ l2 ‖coef‖².
    n_rounds : int
        The round: 0 for the targets, 1 for the teacher, 2 or more for a student.

    Examples
    --------
    >>> gram = [[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]]
    >>> one_hot = [[1, 0], [1, 0], [0, 1]]
    >>> average_labels(gram, one_hot, l2=0.1, n_rounds=2).round(3).tolist()
    [[0.667, 0.333], [0.667, 0.333], [0.461, 0.539]]
    """
    matrix = checks.symmetric_matrix(gram, "gram")
    checks.psd_eigenvalues(np.linalg.eigvalsh(matrix), NOT_A_GRAM_MATRIX, USE_REPAIR)
    rows = checks.target_rows(targets, matrix.shape[0])
    n_samples, n_classes = rows.shape
    ridge = n_classes * n_samples * checks.scale_number("l2", l2)
    factor = scipy.linalg.cho_factor(matrix + ridge * np.eye(n_samples))
    deviations = rows - 1 / n_classes
    for _ in range(checks.round_count(n_rounds)):
        # Φ(xI + Φ)⁻¹ = I - x(xI + Φ)⁻¹, but only the left side is accurate for small deviations.
        deviations = matrix @ scipy.linalg.cho_solve(factor, deviations)
    return np.asarray(1 / n_classes + deviations)


def sample_coefficients(
    targets: ArrayLike, outputs: ArrayLike, *, l2: float, temperature: float = 1.0
) -> FloatArray:
    """Return the coefficients α (n_samples, n_classes) of a round: coef = αᵀ features (eq. 3).

    `targets` are the targets that the round was trained on, and `outputs` are its outputs. For the
    exact softmax and for its linear approximation, α = (targets - outputs) / (n_samples * l2). If
    the softmax has the temperature τ and the loss is scaled by τ², outputs do not change and the
    coefficients are multiplied by τ (see the paper's appendix on temperature).

    Examples
    --------
    >>> sample_coefficients([[1, 0], [0, 1]], [[0.8, 0.2], [0.3, 0.7]], l2=0.1).round(6).tolist()
    [[1.0, -1.0], [-1.5, 1.5]]
    """
    given = checks.real_array(targets, "targets", ndim=2)
    fitted = checks.real_array(outputs, "outputs", ndim=2)
    if given.shape != fitted.shape:
        shapes = f"{given.shape} and {fitted.shape}"
        raise ValueError(f"targets and outputs must have the same shape, but have {shapes}.")
    scale = check_positive("temperature", temperature)
    return np.asarray(scale * (given - fitted) / (given.shape[0] * checks.scale_number("l2", l2)))


@dataclass(frozen=True, eq=False)
class LabelAveraging:
    """The linear theory of one dataset; one eigendecomposition serves all penalties and rounds.

    Build the object with `from_gram` or `from_features`.

    Examples
    --------
    >>> features = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> averaging = LabelAveraging.from_features(features)
    >>> one_hot = [[1, 0], [1, 0], [0, 1]]
    >>> averaging.outputs(one_hot, l2=0.1, n_rounds=1).round(3).tolist()
    [[0.947, 0.053], [0.731, 0.269], [0.288, 0.712]]
    >>> averaging.unseen_outputs([[0.9, 0.1]], one_hot, l2=0.1, n_rounds=1).round(3).tolist()
    [[0.881, 0.119]]
    """

    eigenvalues: FloatArray  # (rank,) eigenvalues of the Gram matrix, largest first
    eigenvectors: FloatArray  # (n_samples, rank)
    # (n_features, rank); features @ directions are the eigenvectors times √λ; None after from_gram.
    directions: FloatArray | None

    @classmethod
    def from_gram(cls, gram: ArrayLike) -> Self:
        """Build from a Gram matrix; to predict unseen samples, use `from_features` instead."""
        values, vectors = np.linalg.eigh(checks.symmetric_matrix(gram, "gram"))
        values = checks.psd_eigenvalues(values, NOT_A_GRAM_MATRIX, USE_REPAIR)
        return cls(values[::-1], vectors[:, ::-1], None)

    @classmethod
    def from_features(cls, features: ArrayLike) -> Self:
        """Build from features, by a singular value decomposition and without a Gram matrix."""
        rows = checks.real_array(features, "features", ndim=2)
        left, singular, right = np.linalg.svd(rows, full_matrices=False)
        return cls(singular**2, left, right.T)

    def matrix(self, *, ridge: float, n_rounds: int) -> FloatArray:
        """Return the averaging matrix [Φ (x I + Φ)⁻¹]ᵗ, (n_samples, n_samples), of a round."""
        factors = shrinkage_factors(self.eigenvalues, ridge=ridge, n_rounds=n_rounds)
        if n_rounds == 0:  # the identity
            return np.eye(self.eigenvectors.shape[0])
        return np.asarray((self.eigenvectors * factors) @ self.eigenvectors.T)

    def outputs(self, targets: ArrayLike, *, l2: float, n_rounds: int) -> FloatArray:
        """Return the outputs of round `n_rounds` on the training samples; 0 returns the targets."""
        deviations = self.deviations(targets, l2=l2, n_rounds=n_rounds)
        return np.asarray(deviations + 1 / deviations.shape[1])

    def deviations(self, targets: ArrayLike, *, l2: float, n_rounds: int) -> FloatArray:
        """Return the outputs minus 1/n_classes; in late rounds, predict labels from the result.

        After many rounds, outputs equal 1/n_classes up to rounding, so their order is lost. The
        deviations have full precision.
        """
        rows, ridge = self._rows_and_ridge(targets, l2)
        given: FloatArray = rows - 1 / rows.shape[1]
        if checks.round_count(n_rounds) == 0:
            return given
        factors = shrinkage_factors(self.eigenvalues, ridge=ridge, n_rounds=n_rounds)
        return np.asarray(self.eigenvectors @ (factors[:, None] * (self.eigenvectors.T @ given)))

    def coef(
        self, targets: ArrayLike, *, l2: float, n_rounds: int, temperature: float = 1.0
    ) -> FloatArray:
        """Return the coefficients (n_classes, n_features) of round `n_rounds`, 1 or later."""
        if self.directions is None:
            advice = "build the object with LabelAveraging.from_features(features)"
            raise ValueError(f"coefficients and unseen outputs need the features; {advice}.")
        rows, ridge = self._rows_and_ridge(targets, l2)
        before = checks.round_count(n_rounds, 1) - 1
        # coefᵀ = K V diag(s/(x + s²) fᵗ⁻¹) Uᵀ(Y⁽⁰⁾ - 1/K), because logits are K (y - 1/K).
        filters = np.sqrt(self.eigenvalues) / (ridge + self.eigenvalues)
        filters *= shrinkage_factors(self.eigenvalues, ridge=ridge, n_rounds=before)
        n_classes = rows.shape[1]
        shrunk = filters[:, None] * (self.eigenvectors.T @ (rows - 1 / n_classes))
        scale = n_classes * check_positive("temperature", temperature)
        return np.asarray(scale * (self.directions @ shrunk).T)

    def unseen_outputs(
        self, features: ArrayLike, targets: ArrayLike, *, l2: float, n_rounds: int
    ) -> FloatArray:
        """Return the outputs of round `n_rounds` for unseen samples."""
        coef = self.coef(targets, l2=l2, n_rounds=n_rounds)
        rows = checks.real_array(features, "features", ndim=2)
        if rows.shape[1] != coef.shape[1]:
            needed = f"{coef.shape[1]} columns, as in training"
            raise ValueError(f"features must have {needed}, but have {rows.shape[1]}.")
        return np.asarray((1 + rows @ coef.T) / coef.shape[0])

    def _rows_and_ridge(self, targets: ArrayLike, l2: float) -> tuple[FloatArray, float]:
        rows = checks.target_rows(targets, self.eigenvectors.shape[0])
        return rows, rows.size * checks.scale_number("l2", l2)


class ClassReduction:
    """Label averaging of class means, at a cost that does not depend on the class sizes n.

    Let M (n_classes, n_labels) be the mean targets of the classes. After t rounds, the mean outputs
    are Fᵗ(M - 1/K) + 1/K with F = (x I + G)⁻¹ G, G = W diag(n) + diag(δ). Here x is the ridge, W
    the `correlation` of the model and δ its `own_part`. G is similar to the symmetric class Gram
    matrix B = √n W √n + diag(δ), so Fᵗ = n^-½ f(B)ᵗ n^½ with f(z) = z/(x + z). A round multiplies
    the deviation of a sample's target from the mean of its class a by f(δ_a).

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
        self.model = model
        self.own_part = model.own_part  # (n_classes,) δ
        self.own = shrinkage_factors(self.own_part, ridge=self.ridge)  # (n_classes,) f(δ)
        self.root = np.sqrt(model.class_sizes)
        values, self.vectors = np.linalg.eigh(model.class_gram())
        # Eigenvalues below their rounding error are set to zero. Otherwise, at a small ridge, the
        # rounding error of a zero eigenvalue would act like a real difference of class means.
        self.error = EIGEN_ERROR * values.size * float(np.abs(values).max())
        self.values = np.where(values > self.error, values, 0.0)

    def class_means(self, deviations: ArrayLike, *, n_rounds: int = 1) -> FloatArray:
        """Return Fᵗ deviations: the mean outputs of the classes minus 1/K after t = `n_rounds`."""
        power = checks.round_count(n_rounds)
        factors = power_of_ratio(self.values, ridge=self.ridge, n_rounds=power)
        return self.filtered(factors, deviations)

    def gained(self, deviations: ArrayLike, *, n_rounds: int = 1) -> FloatArray:
        """Return (Fᵗ - diag(f(δ)ᵗ)) deviations, the term that all samples of a class share.

        At a small ridge, Fᵗ and diag(f(δ)ᵗ) are nearly equal, and a subtraction would lose digits.
        So the difference is computed from the eigenvalues and δ.
        """
        power, own = checks.round_count(n_rounds), self.own_part[:, None]
        if power == 0:
            return self.filtered(np.zeros_like(self.values), deviations)
        larger = power_of_ratio(np.maximum(self.values, own), ridge=self.ridge, n_rounds=power)
        relative = np.expm1(-power * log_gap(self.values, own, self.ridge))
        return self.filtered(-np.sign(self.values - own) * larger * relative, deviations)

    def unseen(self, deviations: ArrayLike, *, n_rounds: int) -> FloatArray:
        """Return the outputs of an unseen sample minus 1/K, for every true class.

        The result is W n (Ȳ⁽ᵗ⁻¹⁾ - Ȳ⁽ᵗ⁾)/x, where Ȳ⁽ᵗ⁾ are the mean outputs of the classes in round
        t. Means of successive rounds are nearly equal. So the difference is computed from the
        eigenvalues λ, where (1 - f)/x = 1/(x + λ) loses no digits.
        """
        before = self.class_means(deviations, n_rounds=checks.round_count(n_rounds, 1) - 1)
        change = self.filtered(1 / (self.ridge + self.values), before)
        return self.model.correlation @ (self.root[:, None] ** 2 * change)

    def filtered(self, factors: FloatArray, deviations: ArrayLike) -> FloatArray:
        """Multiply the components of `deviations` along the eigenvectors by `factors`.

        There is one factor per eigenvalue (n_values,), or one per true class and eigenvalue
        (n_classes, n_values).
        """
        rows = checks.real_array(deviations, "deviations", ndim=2)
        if len(rows) != len(self.own):
            needed = f"{len(self.own)} rows, one per class"
            raise ValueError(f"deviations must have {needed}, but have {len(rows)}.")
        scaled = self.vectors.T @ (self.root[:, None] * rows)
        return np.asarray((self.vectors * factors) @ scaled / self.root[:, None])


def log_gap(values: FloatArray, others: FloatArray, ridge: float) -> FloatArray:
    """Return |log f(values) - log f(others)|, f(z) = z/(ridge + z); infinite if only one is 0."""
    smaller, larger = np.minimum(values, others), np.maximum(values, others)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ridge * (larger - smaller) / (smaller * (ridge + larger))
    return np.asarray(np.log1p(np.where(larger > smaller, ratio, 0.0)))
