"""Recalibrate probabilities of wrong labels with the rows that a person checked.

Let p be the model's probability that a label is wrong. A checked row has weight w = 1, and y = 1 if
its label was wrong, else 0. Pseudo rows have weight w < 1 and y = p. The recalibrated probability
is q. If few rows were checked,

    q = sigmoid(a + b logit p),    a, log b maximise Σ w log P(y | q) - a²/(2·9) - (log b)²/2

with P(y | q) = q^y (1 - q)^(1 - y). If more were checked, q is the isotonic regression of y on p.
Both methods keep the ranking of the rows. People check the most suspicious rows. The pseudo rows
represent the unchecked rows, so that one surprising check does not change all probabilities.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from twohot.base import BoolArray, FloatArray, IntArray

# Chosen: with at least this many checked rows, use isotonic regression instead of a shift and a
# slope. At this number, both were equally good in simulated reviews.
ISOTONIC_ROWS = 50
# Prior, chosen: variance of a, so that shifts of three (odds times twenty) are plausible. The
# variance of log b is one.
SHIFT_VARIANCE = 9.0
# A safeguard that keeps steps finite: fewer than 50 rows cannot move log b so far.
MOST_LOG_SLOPE = 10.0
# Prior, chosen: pseudo rows at evenly spaced quantiles of p. Together they count as PSEUDO_WEIGHT
# checked rows.
PSEUDO_QUANTILES = np.linspace(0.02, 0.98, 25)
PSEUDO_WEIGHT = 20.0
# Probabilities are clipped to this distance from 0 and 1, so that logits are finite.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


def recalibrate(
    probability_wrong: FloatArray, checked_rows: IntArray, wrong: BoolArray
) -> FloatArray:
    """Return probabilities of wrong labels, recalibrated with rows that a person checked.

    `probability_wrong` (n_rows,) is from a model that was not fitted on the checks; it is NaN for
    rows without a label, and stays NaN. `checked_rows` (n_checked,) are unique positions, and
    `wrong` (n_checked,) whether their labels are wrong. Rows without a label are ignored.

    The ranking does not change, except for the checked rows, which get 1 or 0. Isotonic regression
    may give several rows the same probability.

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
    # Sort, so that the order of the rows does not change the rounding of sums.
    by_p = np.lexsort((y, result[rows]))
    own = np.quantile(p, PSEUDO_QUANTILES)
    x, targets = np.append(result[rows][by_p], own), np.append(y[by_p].astype(np.float64), own)
    weights = np.append(np.ones(len(rows)), np.full(len(own), PSEUDO_WEIGHT / len(own)))
    result[is_known] = fit(p, x, targets, weights)
    result[rows] = y
    return result


def _platt(p: FloatArray, x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit the shift a and the slope b on x, y and weights; return the recalibrated p."""
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
    exact = {"ftol": 0.0, "gtol": 1e-10}  # two parameters: full precision is cheap
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options=exact)
    a, log_b = found.x
    return np.asarray(expit(a + np.exp(log_b) * bounded_logit(p)))


def bounded_logit(p: FloatArray) -> FloatArray:
    """Return the logits of probabilities; 0 and 1 are clipped."""
    return np.asarray(logit(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def _isotonic(p: FloatArray, x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the prediction of the isotonic regression of y on x at p."""
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    regression.fit(x, y, sample_weight=weights)
    return np.asarray(regression.predict(p))
