"""Recalibrate the probabilities that labels are wrong, with rows that a person checked.

Let p be the probability of a model that a label is wrong, and q the recalibrated probability. A
checked row has weight w = 1; its y is 1 if the label was wrong, else 0. People check the most
suspicious rows. So pseudo rows represent the unchecked rows: they have y = p and a weight w < 1.
With pseudo rows, one surprising check does not change all probabilities. If fewer than
ISOTONIC_ROWS rows were checked,

    q = sigmoid(a + b logit p),    a, log b maximise Σ w log P(y | q) - a²/(2·9) - (log b)²/2

with P(y | q) = q^y (1 - q)^(1 - y). Otherwise q is the isotonic regression of y on p.
Both methods keep the ranking of the rows.
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
# Safeguard: keeps steps finite; fewer than 50 rows cannot move log b so far.
MOST_LOG_SLOPE = 10.0
# Prior, chosen: pseudo rows at evenly spaced quantiles of p. Together they count as PSEUDO_WEIGHT
# checked rows.
PSEUDO_QUANTILES = np.linspace(0.02, 0.98, 25)
PSEUDO_WEIGHT = 20.0
# Safeguard: probabilities are at least this far from 0 and 1, so that logits are finite.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


def recalibrate(
    probability_wrong: FloatArray, checked_rows: IntArray, wrong: BoolArray
) -> FloatArray:
    """Return the probabilities that labels are wrong, recalibrated with rows that a person checked.

    `probability_wrong` (n_rows,) is from a model that was not fitted on the checked labels. It is
    NaN for rows without a label, and stays NaN. `checked_rows` (n_checked,) are unique positions;
    `wrong` (n_checked,) says whether their labels are wrong. Checked rows without a label are
    ignored.

    A checked row gets the probability 1 or 0. The ranking of the other rows does not change, but
    several of them can get the same probability.

    Examples
    --------
    >>> probable = np.array([0.1, 0.2, 0.3, 0.4, np.nan])
    >>> recalibrate(probable, np.array([0, 2]), np.array([True, True])).round(2)
    array([1.  , 0.28, 1.  , 0.44,  nan])
    """
    is_known = ~np.isnan(probability_wrong)
    has_label = is_known[checked_rows]
    rows, y = checked_rows[has_label], wrong[has_label]
    result = probability_wrong.astype(np.float64)
    if not len(rows):
        return result
    fit = _platt if len(rows) < ISOTONIC_ROWS else _isotonic
    p = result[is_known]
    # Sort, so that the order of the rows does not change the rounding of sums.
    by_p = np.lexsort((y, result[rows]))
    pseudo = np.quantile(p, PSEUDO_QUANTILES)
    x = np.append(result[rows][by_p], pseudo)
    targets = np.append(y[by_p].astype(np.float64), pseudo)
    weights = np.append(np.ones(len(rows)), np.full(len(pseudo), PSEUDO_WEIGHT / len(pseudo)))
    result[is_known] = fit(p, x, targets, weights)
    result[rows] = y
    return result


def _platt(p: FloatArray, x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit a and b to rows with probabilities x and verdicts y; return p, recalibrated by them."""
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
    a, log_b = minimize(
        loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options=exact
    ).x
    return np.asarray(expit(a + np.exp(log_b) * bounded_logit(p)))


def bounded_logit(p: FloatArray) -> FloatArray:
    """Return the finite logits of probabilities, which can be 0 or 1."""
    return np.asarray(logit(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def _isotonic(p: FloatArray, x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the isotonic regression of y on x, evaluated at p."""
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    regression.fit(x, y, sample_weight=weights)
    return np.asarray(regression.predict(p))
