"""The plain probe that a forecast compares with and may advise, fitted."""

from collections.abc import Callable
from typing import Any

from twohot._checks.messages import ArgumentError
from twohot._types import Matrix
from twohot.audit.partly_labelled import check_rows_and_labels, labelled_rows
from twohot.distill._inputs import check_features
from twohot.distill.fitted import FittedProbe
from twohot.forecast.gains import compare
from twohot.judge.auto_probe import AutoProbe, anchor, choice_of, probe_parts
from twohot.judge.choice import Choice
from twohot.judge.verdict import reach_verdict
from twohot.rows.threads import one_blas_thread


def fit_plain(
    X: Matrix,
    y: Any,
    *,
    cv: Any = None,
    groups: Any = None,
    random_state: Any = 0,
    callback: Callable[[str], None] | None = None,
) -> tuple[FittedProbe, Choice]:
    """Fit the plain probe that AutoProbe would take if there were no student.

    Parameters
    ----------
    X, y, cv, groups, random_state, callback
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
    auto = AutoProbe(cv=cv, random_state=random_state)
    checked = check_features(auto, rows, reset=True)
    with one_blas_thread():
        _, anchored, _ = anchor(auto, checked, labels, callback=callback, groups=groups)
        verdict = reach_verdict(anchored, labels.codes)
    comparison = compare(anchored, choice_of(anchored, verdict, probe_parts(anchored)))
    if comparison.plain is None:
        raise ArgumentError("y", "has fewer than two rows per class", "pass more rows.")
    rows, labels = labelled_rows(rows, labels), labels.take(labels.labelled)
    return comparison.plain.probe().fit(rows, labels), comparison.choice
