"""What a person checked, and the probabilities of wrong labels that agree with it.

With p the probability of a wrong label that the model gives and y whether it was wrong, of the
checked rows,

    q = sigmoid(a + b logit p),    a, log b maximise Σ log P(y | q) - a²/(2·9) - (log b)²/2

where few rows were checked. Where more were, q is the isotonic regression of y on p, of the
checked rows and of pseudo rows that hold the model's own p. Neither changes the order of the rows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    BoolArray,
    FloatArray,
    IntArray,
    as_text,
    counted,
    first_few,
    is_missing,
    plain,
)
from twohot.tables import RowIds

# From so many checked rows on the shape is learnt too, not only a shift and a slope. In simulated
# reviews both ways were as good there.
ISOTONIC_ROWS = 50
# Variance of a: a shift by three, odds times twenty, is no surprise. That of log b is one.
SHIFT_VARIANCE = 9.0
# Far outside of what fewer than 50 rows can move log b to; keeps trial steps finite.
MOST_LOG_SLOPE = 10.0
# The model's own p, at evenly spaced quantiles, weighs as much as so many checked rows.
PSEUDO_QUANTILES = np.linspace(0.02, 0.98, 25)
PSEUDO_WEIGHT = 20.0
# Probabilities of 0 and 1 have no logit; the nearest number beside 1 has one.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)

# What may be said of a row whose true label is not; True and False mean the same.
VERDICTS = {"right": True, "wrong": False}
ALLOWED = 'its true label, "right" (True) or "wrong" (False)'


@dataclass(frozen=True, eq=False)
class Checked:
    """The rows that a person checked."""

    rows: IntArray  # (n_checked,), positions in the data, ascending, each once
    wrong: BoolArray  # (n_checked,), whether the given label is; False where there is none
    labels: IntArray  # (n_checked,), the true class; NO_LABEL: known to be another than the given


def check_checked(
    checked: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    given: IntArray,
    classes: NDArray[Any],
    *,
    ids: RowIds | None = None,
) -> Checked:
    """Return what a user says of some rows, by their positions in the data.

    Parameters
    ----------
    checked : mapping or iterable of pairs
        From a row to its true label, or to "right" or True, "wrong" or False for its given label.
        What is the text of a class means that class, so that a class may be called "right". A row
        may occur twice if both say the same.
    given : array of shape (n_rows,)
        Codes of the given labels; NO_LABEL for none.
    classes : array of shape (n_classes,)
        What the codes stand for.
    ids : RowIds, optional
        What rows are called, compared as text; by default positions from 0.

    Returns
    -------
    Checked

    Raises
    ------
    ArgumentError
        If a row is not in the data, or has two verdicts, or one that is neither a class nor a
        verdict, or a verdict about a given label that is not there.

    Examples
    --------
    >>> given, classes = np.array([0, 1, 1]), np.array(["cat", "dog"])
    >>> found = check_checked({0: "dog", 2: "right"}, given, classes)
    >>> found.rows, found.wrong, found.labels
    (array([0, 2]), array([ True, False]), array([1, 1]))
    """
    ids = RowIds.by_position(len(given)) if ids is None else ids
    said = [(as_text(row), plain(verdict)) for row, verdict in _pairs(checked)]
    places = _places([row for row, _ in said], ids)
    code = {as_text(name): k for k, name in enumerate(classes.tolist())}
    outcomes: dict[int, tuple[bool, int]] = {}
    for row, verdict in said:
        place = places[row]
        outcome = _outcome(row, verdict, int(given[place]), code)
        before = outcomes.setdefault(place, outcome)
        if before != outcome:
            outcomes[place] = _both(row, before, outcome)
    rows = sorted(outcomes)
    return Checked(
        np.array(rows, dtype=np.intp),
        np.array([outcomes[row][0] for row in rows], dtype=bool),
        np.array([outcomes[row][1] for row in rows], dtype=np.intp),
    )


def _pairs(checked: Any) -> list[tuple[Any, Any]]:
    """Return rows and verdicts, or say what came instead."""
    if isinstance(checked, Mapping):
        return list(checked.items())
    pairs = list(checked) if isinstance(checked, Iterable) and not isinstance(checked, str) else []
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        problem = f"is a {type(checked).__name__} that does not say which row has which verdict"
        raise ArgumentError("checked", problem, f"pass a mapping from a row to {ALLOWED}.")
    return pairs


def _places(rows: list[str], ids: RowIds) -> dict[str, int]:
    """Return the position of each row that is named, which must be in the data, once."""
    wanted = set(rows)
    places: dict[str, int] = {}
    for place, text in enumerate(ids):
        if text in wanted and places.setdefault(text, place) != place:
            problem = f"names row {text!r}, and several rows of the data have this id"
            raise ArgumentError("checked", problem, "give each row an id of its own.")
    unknown = [row for row in dict.fromkeys(rows) if row not in places]
    if unknown:
        few = f"{counted(len(unknown), 'row')} that {'is' if len(unknown) == 1 else 'are'}"
        where = f"where ids are {ids.in_words()}"
        problem = f"names {few} not in the data ({first_few(unknown)}), {where}"
        raise ArgumentError("checked", problem, "leave them out, or pass the data they belong to.")
    return places


def _outcome(row: str, verdict: Any, given: int, code: Mapping[str, int]) -> tuple[bool, int]:
    """Return whether the given label of a row is wrong, and the code of the true one."""
    text = "" if is_missing(verdict) else as_text(verdict)
    if text in code:
        return given not in (NO_LABEL, code[text]), code[text]
    is_right = verdict if isinstance(verdict, bool) else VERDICTS.get(text)
    if is_right is None:
        known = f"none of the {counted(len(code), 'class', 'classes')} ({first_few(code)})"
        problem = f"says {verdict!r} of row {row!r}, {known}, and no verdict"
        raise ArgumentError("checked", problem, f"pass {ALLOWED}.")
    if given == NO_LABEL:
        problem = f"says {verdict!r} of row {row!r}, which has no given label"
        raise ArgumentError("checked", problem, "pass its true label, or leave the row out.")
    return (False, given) if is_right else (True, NO_LABEL)


def _both(row: str, before: tuple[bool, int], after: tuple[bool, int]) -> tuple[bool, int]:
    """Return two outcomes of a row as one, which must not contradict each other."""
    known = {label for _, label in (before, after)} - {NO_LABEL}
    if before[0] != after[0] or len(known) > 1:
        problem = f"names row {row!r} twice, with different verdicts"
        raise ArgumentError("checked", problem, "keep one of them.")
    return before[0], known.pop()


def recalibrate(
    probability_wrong: FloatArray, checked_rows: IntArray, wrong: BoolArray
) -> FloatArray:
    """Return probabilities of wrong labels that agree with rows that a person checked.

    Parameters
    ----------
    probability_wrong : array of shape (n_rows,)
        From a model that has not seen what was checked; NaN for rows without a label.
    checked_rows : array of shape (n_checked,)
        Positions of the rows that were checked, each once. Those without a label do not count.
    wrong : array of shape (n_checked,)
        Whether their labels are wrong.

    Returns
    -------
    array of shape (n_rows,)
        In the order of the probabilities before, except for the checked rows, which have 1 or 0.
        Isotonic regression gives several rows one probability. NaN stays NaN.

    Examples
    --------
    >>> probable = np.array([0.1, 0.2, 0.3, 0.4, np.nan])
    >>> recalibrate(probable, np.array([0, 2]), np.array([True, True])).round(2)
    array([1.  , 0.86, 1.  , 0.93,  nan])
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
    result[is_known] = fit(p, result[rows][by_p], y[by_p].astype(np.float64))
    result[rows] = y
    return result


def _platt(p: FloatArray, checked: FloatArray, y: FloatArray) -> FloatArray:
    """Return p with the shift and the slope of its logits that are most probable."""
    z = _logit(checked)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        a, log_b = parameters
        b = np.exp(log_b)
        logits = a + b * z
        value = np.sum(np.logaddexp(0, logits) - y * logits)
        residuals = expit(logits) - y
        gradient = [residuals.sum() + a / SHIFT_VARIANCE, b * (residuals @ z) + log_b]
        return value + a**2 / (2 * SHIFT_VARIANCE) + log_b**2 / 2, np.array(gradient)

    bounds = [(None, None), (-MOST_LOG_SLOPE, MOST_LOG_SLOPE)]
    exact = {"ftol": 0.0, "gtol": 1e-10}  # two parameters: the digits cost nothing
    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options=exact)
    a, log_b = found.x
    return np.asarray(expit(a + np.exp(log_b) * _logit(p)))


def _logit(p: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)))


def _isotonic(p: FloatArray, checked: FloatArray, y: FloatArray) -> FloatArray:
    """Return what isotonic regression of y, and of the model's own p, predicts at p."""
    own = np.quantile(p, PSEUDO_QUANTILES)
    weights = np.repeat([1.0, PSEUDO_WEIGHT / len(own)], [len(checked), len(own)])
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    regression.fit(np.append(checked, own), np.append(y, own), sample_weight=weights)
    return np.asarray(regression.predict(p))
