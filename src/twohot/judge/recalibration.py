"""Probabilities of wrong labels that agree with the rows that a person checked.

With p the probability of a wrong label that the model gives and y whether it was wrong, of the
checked rows and of pseudo rows of weight w < 1, whose y is the model's own p,

    q = sigmoid(a + b logit p),    a, log b maximise Σ w log P(y | q) - a²/(2·9) - (log b)²/2

where few rows were checked, with P(y | q) = q^y (1 - q)^(1 - y). Where more were, q is the isotonic
regression of y on p. Neither changes the order of the rows. People check the most doubtful rows:
only the pseudo rows speak for the others, so that one surprise there does not move all of them.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from twohot.base import BoolArray, FloatArray, IntArray

# Chosen: from so many checked rows on, the shape is learnt and not only a shift and a slope. In
# simulated reviews both ways were equally good there.
ISOTONIC_ROWS = 50
# Prior, chosen: variance of a. A shift by three, odds times twenty, is no surprise. That of log b
# is one.
SHIFT_VARIANCE = 9.0
# A guard: far outside of what fewer than 50 rows can move log b to; keeps trial steps finite.
MOST_LOG_SLOPE = 10.0
# Prior, chosen: the model's own p, at evenly spaced quantiles, weighs as much as so many checked
# rows.
PSEUDO_QUANTILES = np.linspace(0.02, 0.98, 25)
PSEUDO_WEIGHT = 20.0
# Probabilities of 0 and 1 have no logit; the nearest number beside 1 has one.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


def recalibrate(
    probability_wrong: FloatArray, checked_rows: IntArray, wrong: BoolArray
) -> FloatArray:
    """Return probabilities of wrong labels that agree with rows that a person checked.

    `probability_wrong` (n_rows,) is from a model that has not seen what was checked; it is NaN for
    rows without a label, and stays NaN. `checked_rows` (n_checked,) are positions, each once, and
    `wrong` (n_checked,) says whether their labels are wrong; rows without a label do not count.

    The order of the probabilities stays, except for the checked rows, which have 1 or 0. Isotonic
    regression gives several rows one probability.

    Examples
    --------
    >>> probable = np.array([0.1, 0.2, 0.3, 0.4, np.nan])
    >>> recalibrate(probable, np.array([0, 2]), np.array([True, True])).round(2)
    array([1.  , 0.28, 1.  , 0.44,  nan])
    """
    is_known = ~np.isnan(probability_wrong)
    counts = is_known[checked_rows]
    rows, y = checked_rows[counts], wrong[counts]
    result = probability_wrong.astype(np.float64)
    if not len(rows):
        return result
    fit = _platt if len(rows) < ISOTONIC_ROWS else _isotonic
    p = result[is_known]
    # In one order, so that the order of the rows does not change a bit of the sums.
    by_p = np.lexsort((y, result[rows]))
    own = np.quantile(p, PSEUDO_QUANTILES)
    x, targets = np.append(result[rows][by_p], own), np.append(y[by_p].astype(np.float64), own)
    weights = np.append(np.ones(len(rows)), np.full(len(own), PSEUDO_WEIGHT / len(own)))
    result[is_known] = fit(p, x, targets, weights)
    result[rows] = y
    return result


def _platt(p: FloatArray, x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return p with the shift and the slope of its logits that are most probable."""
    z = bounded_logit(x)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        a, log_b = parameters
        b = np.exp(log_b)
        logits = a + b * z
        value = np.sum(weights * (np.logaddexp(0, logits) - y * logits))
        residuals = weights * (expit(logits) - y)
        gradient = [residuals.sum() + a / SHIFT_VARIANCE, b * (residuals @ z) + log_b]
        return value + a**2 / (2 * SHIFT_VARIANCE) + log_b**2 / 2, np.array(gradient)

    bounds = [(None, None), (-MOST_LOG_SLOPE, MOST_LOG_SLOPE)]
    exact = {"ftol": 0.0, "gtol": 1e-10}  # two parameters: the digits cost nothing
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options=exact)
    a, log_b = found.x
    return np.asarray(expit(a + np.exp(log_b) * bounded_logit(p)))


def bounded_logit(p: FloatArray) -> FloatArray:
    """Return the logits of probabilities, of 0 and 1 those of the numbers beside them."""
    return np.asarray(logit(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def _isotonic(p: FloatArray, x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what isotonic regression of y on x predicts at p."""
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    regression.fit(x, y, sample_weight=weights)
    return np.asarray(regression.predict(p))
