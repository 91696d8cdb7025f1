"""The label model: true labels estimated from given labels, classifiers and a noise matrix.

    P(given label g | x) = Σ_k p_k(x) Q[k, g],  p(x) = softmax(Σ_m w_m z_m(x)),  w_m ≥ 0

A member m is a classifier with held-out logits z_m: it was not fitted on the row x. Its weight is
w_m. Q[k, g] = P(given label g | true class k) is estimated from anchor rows (see `anchors`). With Q
fixed, the weights maximise the likelihood of the given labels. A member that mistakes noise for
overlapping classes gets a small weight.

Conventions
-----------
logits (n, K). codes (n,): given labels as numbers. weights (n,) of rows, or None. groups (n,): the
group of each row, or None; rows of one group can be dependent. Q (K, K): one row per true class,
one column per given label; rows sum to one. Memory holds about six K × K matrices at once, in
single precision if there are many classes: 10 GB for 20,000 classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, logit

from twohot.base import FloatArray, IntArray
from twohot.solve import softmax

# Test level: standard normal quantile of a one-sided test at level 5 %.
REFUTED = 1.645

# Safeguard: bound of logits before they are divided by their temperature. Above it, single
# precision loses differences of 0.001. With a smaller bound, the most probable classes of a
# confident discriminant would tie.
LARGEST_LOGIT = 1e4

# Safeguard: added to likelihoods, so that their logarithms are finite.
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class LabelModel:
    """The weights of the members, and the noise matrix Q."""

    weights: FloatArray  # (M,), the factor of each member's logits
    noise: FloatArray  # (K, K), Q: probability of each given label (column) of a true class (row)
    log_likelihood: float  # log-likelihood of the given labels, mean over the rows

    def log_probabilities(self, members: Sequence[FloatArray]) -> FloatArray:
        """Return log P(true class | row) (n, K), which does not use the given label."""
        return log_softmax(combine(members, self.weights))

    def posterior(self, members: Sequence[FloatArray], codes: IntArray) -> FloatArray:
        """Return the probability (n, K) of each true class, given the row and its label."""
        return posterior(self.log_probabilities(members), codes, self.noise)


def centre(logits: FloatArray) -> FloatArray:
    """Return logits with mean zero in every row, bounded by LARGEST_LOGIT."""
    centred = logits - logits.mean(axis=1, keepdims=True)
    return np.asarray(np.clip(centred, -LARGEST_LOGIT, LARGEST_LOGIT, out=centred))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Convert logits (n, K) to log-probabilities, in place; return them."""
    logits -= logits.max(axis=1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logits


def combine(members: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Return the weighted sum of the logits of several members."""
    total = np.zeros(members[0].shape, np.float64)
    for each, weight in zip(members, weights.tolist(), strict=True):
        total += weight * each
    return total


def posterior(log_p: FloatArray, codes: IntArray, noise: FloatArray) -> FloatArray:
    """Return P(true class | row, given label) (n, K), given log P(true class | row) (n, K).

    For a row without a label (code -1), the two probabilities are equal.
    """
    joint = np.exp(log_p)
    labelled = codes >= 0
    joint[labelled] *= noise.T[codes[labelled]]
    joint /= np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(joint)


# One member alone ------------------------------------------------------------------------------


@dataclass(frozen=True)
class UniformNoiseFit:
    """The label model with one member and uniform noise, fitted to the given labels."""

    log_likelihood: float  # mean over the rows
    temperature: float  # divisor of the logits
    noise_rate: float  # probability that a label is replaced by another class, all equally likely


def fit_uniform_noise(
    logits: FloatArray, codes: IntArray, weights: FloatArray | None
) -> UniformNoiseFit:
    """Return the temperature and the rate of uniform noise that maximise the likelihood.

    P(g | x) = (1 - ε) p_g + ε (1 - p_g)/(K - 1) with p = softmax(z/t), temperature t and noise
    rate ε. The search is over log t and logit ε, and starts at ε = 0.1.
    """
    n_classes = logits.shape[1]
    # Single precision suffices: likelihoods are compared to three digits.
    centred, rows = centre(logits).astype(np.float32), np.arange(len(codes))
    unit = unit_weights(weights, len(codes))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        inverse, rate = np.exp(-parameters[0]), expit(parameters[1])
        p, _ = softmax(centred * np.float32(inverse))
        of_label = p[rows, codes].astype(np.float64)
        # The logit of the given class minus the mean logit: the derivative of log p_g by 1/t.
        gain = inverse * (centred[rows, codes] - np.einsum("ij,ij->i", p, centred))
        likelihood = (1 - rate) * of_label + rate * (1 - of_label) / (n_classes - 1) + SMALLEST
        by_log_t = (1 - rate * n_classes / (n_classes - 1)) * of_label * -gain
        by_rate = ((1 - of_label) / (n_classes - 1) - of_label) * rate * (1 - rate)
        gradient = [unit @ (by_log_t / likelihood), unit @ (by_rate / likelihood)]
        return -float(unit @ np.log(likelihood)), -np.array(gradient)

    # At the upper bound of the noise rate, the label does not depend on the row. Beyond the other
    # bounds, the likelihood changes little.
    bounds = [(-12.0, 12.0), (-9.0, logit(1 - 1 / n_classes))]
    size = max(float(centred.std()), SMALLEST)
    start = np.array([np.clip(np.log(size), *bounds[0]), logit(0.1)])
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    temperature, rate = np.exp(result.x[0]), expit(result.x[1])
    return UniformNoiseFit(-float(result.fun), float(temperature), float(rate))


def unit_weights(weights: FloatArray | None, n_rows: int) -> FloatArray:
    """Return weights of rows that sum to one."""
    if weights is None:
        return np.full(n_rows, 1 / n_rows)
    return np.asarray(weights / weights.sum())


# Memory: up to this many classes, K × K matrices are dense and in double precision: 32 MB.
MOST_DENSE = 2_000


def pair_precision(n_classes: int) -> np.dtype[Any]:
    """Return the dtype of a matrix with an entry for each pair of classes."""
    return np.dtype(np.float64 if n_classes <= MOST_DENSE else np.float32)


# The weights -----------------------------------------------------------------------------------


def weigh(
    members: Sequence[FloatArray],
    codes: IntArray,
    noise: FloatArray,
    scales: FloatArray,
    weights: FloatArray | None = None,
) -> LabelModel:
    """Return the model whose member weights maximise the likelihood of the given labels.

    `noise` is Q, which stays fixed. `scales` (M,) are the weights 1 / temperature, which members
    have alone. With the posterior r = p Q[:, g] / P(g | x), the derivative of log P(g | x) by the
    logits z is r - p. The search starts at the single member of largest likelihood. The sum of all
    members would be a bad start, because it is overconfident: noise would explain every label that
    differs from the prediction, and the gradient would be nearly zero.
    """
    pairs = zip(members, scales.tolist(), strict=True)
    logits = np.stack([centre(each) * np.float32(scale) for each, scale in pairs])
    by_label = noise.T[codes].astype(np.float32, copy=False)
    unit = unit_weights(weights, len(codes))
    flat = logits.reshape(len(logits), -1)

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        p, _ = softmax((w.astype(np.float32) @ flat).reshape(by_label.shape))
        joint = p * by_label
        total = joint.sum(axis=1, dtype=np.float64) + SMALLEST
        joint *= (unit / total).astype(np.float32)[:, np.newaxis]
        joint -= p * unit.astype(np.float32)[:, np.newaxis]
        return -float(unit @ np.log(total)), -(flat @ joint.ravel()).astype(np.float64)

    bounds = [(0.0, None)] * len(logits)
    start = min(np.eye(len(logits)), key=lambda alone: loss(alone)[0])
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return LabelModel(result.x * scales, noise, -float(result.fun))


# Likelihoods, standard errors --------------------------------------------------------------------


def row_likelihoods(model: LabelModel, logits: list[FloatArray], codes: IntArray) -> FloatArray:
    """Return the log-likelihood (n,) of each given label."""
    p = np.exp(model.log_probabilities(logits))
    return np.asarray(np.log(np.einsum("ij,ij->i", p, model.noise.T[codes]) + SMALLEST))


def own_likelihoods(logits: FloatArray, codes: IntArray, noise: FloatArray) -> FloatArray:
    """Return the log-likelihood (n,) of each given label, if these logits are the only member."""
    temperature = fit_uniform_noise(logits, codes, None).temperature
    model = weigh([logits], codes, noise, np.array([1 / temperature]))
    return row_likelihoods(model, [logits], codes)


def z_score(differences: FloatArray, groups: IntArray | None = None) -> float:
    """Return the z-score of the mean, which tests whether the expected difference is zero.

    If the expected difference is zero, the z-score has about the standard normal distribution. Rows
    of one group can be dependent.
    """
    error, mean = standard_error(differences, groups), float(differences.mean())
    if error > 0:
        return normal_quantile(mean / error, groups)
    return float(np.copysign(np.inf, mean)) if mean else 0.0


def normal_quantile(statistic: float, groups: IntArray | None) -> float:
    """Convert a t statistic to the quantile of the standard normal with the same p-value.

    With G groups, the statistic has Student's t distribution with G - 1 degrees of freedom.

    Examples
    --------
    >>> round(normal_quantile(2.0, np.repeat(np.arange(5), 20)), 2)
    1.57
    """
    n_groups = 0 if groups is None else len(np.unique(groups))
    if groups is None or n_groups in (1, len(groups)):
        return float(statistic)
    size = min(abs(statistic), float(stats.norm.isf(stats.t.sf(abs(statistic), n_groups - 1))))
    return float(np.copysign(size, statistic))


def standard_error(
    values: FloatArray, groups: IntArray | None = None, weights: FloatArray | None = None
) -> float:
    """Return the standard error of a weighted mean over rows; rows of one group can be dependent.

    Examples
    --------
    >>> values = np.tile([0.0, 1.0], 50)
    >>> round(standard_error(values), 4)
    0.05
    >>> round(standard_error(np.repeat(values, 4), np.arange(400) // 4), 4)
    0.0502
    """
    unit = unit_weights(weights, len(values))
    scores = unit * (values - unit @ values)
    return float(np.sqrt(scores @ scores * design_effect(scores, groups)))


def design_effect(scores: FloatArray, groups: IntArray | None) -> float:
    """Return the factor by which groups raise the variance of a sum of scores over rows.

    The scores s_i of the rows have mean zero. With G groups, the variance of the sum is estimated
    by Σ_c (Σ_{i in c} s_i)² G/(G - 1); with n independent rows, by Σ_i s_i² n/(n - 1). The factor
    is the ratio of these two variances, but at least one. It is one if each row is a group. If a
    group consists of copies of one row, the copies count as one row.
    """
    if groups is None:
        return 1.0
    _, group = np.unique(groups, return_inverse=True)
    sums, n_rows = np.bincount(group, scores), len(scores)
    if len(sums) == n_rows or not scores.any():
        return 1.0
    if len(sums) == 1:
        return float("inf")
    factor = len(sums) / (len(sums) - 1) * (n_rows - 1) / n_rows
    return max(1.0, float(factor * (sums @ sums) / (scores @ scores)))
