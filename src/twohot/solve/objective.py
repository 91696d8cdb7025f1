"""The two losses, summed over blocks of rows.

With logits z_i = W x_i, outputs p_i = softmax(z_i), targets t_i (rows that sum to one) and row
weights v_i of mean one,

    cross-entropy               ℓ_i = -Σ_k t_ik log p_ik
    generalised cross-entropy   ℓ_i =  Σ_k t_ik (1 - p_ik^q) / q,    0 < q ≤ 1
    f(W) = mean_i v_i ℓ_i + ½·l2·‖W‖²,    no penalty on an intercept.

With respect to the logits, and with the agreement a_i = Σ_k t_ik p_ik^q,

    cross-entropy               ∂ℓ_i/∂z_ij = p_ij - t_ij
    generalised cross-entropy   ∂ℓ_i/∂z_ij = a_i p_ij - t_ij p_ij^q.

Cross-entropy is linear in the targets, so that they enter only through their moment:

    f(W) = mean_i v_i logsumexp(z_i) + ½·l2·‖W‖² - ⟨W, B⟩,    B = Tᵀ V X / N
    grad = M(W) + l2·W - B,                                   M(W) = Pᵀ V X / N.

All moments here are those of the deviation from the uniform output, (P - 1/K)ᵀ V X / N. It is
what late rounds consist of: there P - 1/K is small, and the rounding of 1/K would drown it.

Conventions
-----------
x (rows, d) a block of features, p (rows, K) outputs. Coefficients, moments and gradients (K, d)
are along the principal axes of the features (see features.spectrum). A pass is two matrix
products over all rows; a third one, where targets are outputs, counts half a pass.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from twohot._types import FloatArray
from twohot.rows.preparation import FeatureSet
from twohot.rows.principal_axes import Spectrum
from twohot.rows.threads import Terms, sum_over_blocks
from twohot.solve.terms import Targets, cross_entropy_terms, generalized_terms

# The curvature of a class that no row is predicted to be in; the preconditioner divides by it.
LEAST_CURVATURE = 1e-10

# A class with less than this share of the outputs has no mean to speak of.
LEAST_MASS = 1e-12


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit is given: the rows, their targets' moment, and the penalty."""

    features: FeatureSet
    spectrum: Spectrum
    target_moment: FloatArray  # (K, d), of the targets' deviation from uniform
    penalty: FloatArray  # (d,), l2, or zero for an intercept
    n_jobs: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one pass at `coef` tells."""

    coef: FloatArray  # (K, d)
    value: float  # the objective
    gradient: FloatArray  # (K, d)
    curvature: FloatArray  # (K,), mean second derivative with respect to the logit of a class
    means: FloatArray | None  # (K, d), mean row of each class, by the weights of its curvature
    moment: FloatArray | None = None  # (K, d), of the outputs' deviation (cross-entropy)
    log_partition: float = 0.0  # mean logsumexp of the logits (cross-entropy)


class Objective(Protocol):
    """A loss that can be minimised."""

    problem: Problem
    passes: float  # cost of one evaluation

    def evaluate(self, coef: FloatArray) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows."""
        ...

    def gradient_at_zero(self) -> FloatArray:
        """Return the gradient at zero coefficients, which takes no pass."""
        ...


class CrossEntropy:
    """Cross-entropy of any targets, given their moment."""

    passes = 1.0

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def evaluate(self, coef: FloatArray) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows."""
        features, spectrum = self.problem.features, self.problem.spectrum
        weights = spectrum.to_features(coef).astype(features.dtype)

        def terms_of(block: int) -> Terms:
            return cross_entropy_terms(features.block(block), weights)

        sums = sum_over_blocks(terms_of, features.n_blocks, self.problem.n_jobs)
        log_partition, moment, excess, squares = (term / features.n_samples for term in sums)
        moment = spectrum.from_features(moment)
        uniform = 1 / len(coef)
        mass = uniform + excess  # mean of p, from the mean of e = p - 1/K
        mean_square = squares + 2 * uniform * excess + uniform**2
        return self.evaluate_known(
            Evaluation(
                coef=coef,
                value=0.0,
                gradient=moment,
                curvature=np.maximum(mass - mean_square, LEAST_CURVATURE),
                means=class_means(moment + uniform * spectrum.mean_row, mass),
                moment=moment,
                log_partition=float(log_partition),
            )
        )

    def evaluate_known(self, known: Evaluation) -> Evaluation:
        """Return the evaluation where other targets were evaluated, without a pass."""
        problem, coef = self.problem, known.coef
        if known.moment is None:
            return self.evaluate(coef)
        fit = np.sum(coef * (problem.target_moment + problem.spectrum.mean_row / len(coef)))
        return replace(
            known,
            value=known.log_partition - float(fit) + penalty_value(problem.penalty, coef),
            gradient=known.moment + problem.penalty * coef - problem.target_moment,
        )

    def gradient_at_zero(self) -> FloatArray:
        """Return the gradient at zero coefficients, where outputs are uniform."""
        return -self.problem.target_moment


class GeneralizedCrossEntropy:
    """Generalised cross-entropy, which bounds what one wrong label can cost. Not convex."""

    def __init__(
        self, problem: Problem, targets: Targets, power: float, means: FloatArray | None
    ) -> None:
        self.problem = problem
        self.targets = targets
        self.power = power
        self.start_means = means  # of the classes; dense targets give no better ones
        self.passes = 1.0 + targets.extra_passes

    def evaluate(self, coef: FloatArray) -> Evaluation:
        """Return value, gradient and curvature, in one pass over the rows."""
        problem, features = self.problem, self.problem.features
        weights = problem.spectrum.to_features(coef).astype(features.dtype)

        def terms_of(block: int) -> Terms:
            return generalized_terms(features.block(block), weights, self.targets, self.power)

        sums = sum_over_blocks(terms_of, features.n_blocks, problem.n_jobs)
        agreement, moment, curvature, mass, *credited = (term / features.n_samples for term in sums)
        moment = problem.spectrum.from_features(moment)
        means = self.start_means
        if credited:
            means = class_means(moment + problem.spectrum.from_features(credited[0]), mass)
        return Evaluation(
            coef=coef,
            value=(1 - float(agreement)) / self.power + penalty_value(problem.penalty, coef),
            gradient=moment + problem.penalty * coef,
            curvature=np.maximum(curvature, LEAST_CURVATURE),
            means=means,
        )

    def gradient_at_zero(self) -> FloatArray:
        """Return the gradient at zero: p = 1/K, so K^-q times that of cross-entropy."""
        n_classes = len(self.problem.target_moment)
        gradient: FloatArray = -self.problem.target_moment * float(n_classes) ** -self.power
        return gradient


def class_means(moment: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the mean row of each class, from its weighted sum and weight."""
    means: FloatArray = moment / np.maximum(mass, LEAST_MASS)[:, np.newaxis]
    return means


def penalty_value(penalty: FloatArray, coef: FloatArray) -> float:
    """Return ½·l2·‖coef‖²."""
    return 0.5 * float(np.sum(penalty * coef**2))
