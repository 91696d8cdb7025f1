"""The plain probe that a forecast compares with and may advise, fitted."""

from collections.abc import Callable
from typing import Any

from twohot._types import Matrix
from twohot.audit.partly_labelled import check_rows_and_labels, labelled_rows
from twohot.distill.fitted import FittedProbe
from twohot.forecast.gains import compare
from twohot.rows.threads import one_blas_thread
from twohot.select.auto_probe import AutoProbe, search_probe
from twohot.select.result import Choice
from twohot.select.splits import labelled_splits


def fit_plain(
    X: Matrix,
    y: Any,
    *,
    cv: Any = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
) -> tuple[FittedProbe, Choice]:
    """Fit the plain probe that AutoProbe would take if there were no student.

    Parameters
    ----------
    X, y, cv, random_state, callback
        As for `forecast`: with the same, it is the plain probe of that forecast.

    Returns
    -------
    LinearProbe
        With the penalty that was chosen.
    Choice
        All that was tried, as `AutoProbe.choice_`: what is marked there is what AutoProbe takes.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import forecast
    >>> X, y = load_digits(return_X_y=True)
    >>> probe, choice = fit_plain(X, y)
    >>> str(probe) == forecast(X, y).advice.code
    True
    """
    rows, labels = check_rows_and_labels(X, y, ())
    auto = AutoProbe(cv=labelled_splits(cv, labels), random_state=random_state)
    rows, labels = labelled_rows(rows, labels), labels.take(labels.labelled)
    with one_blas_thread():
        _, selection = search_probe(auto, rows, labels, callback=callback)
    comparison = compare(selection)
    return comparison.plain.probe().fit(rows, labels), comparison.choice
