"""The plain probe of a forecast, fitted alone."""

import numpy as np

import problems
from twohot import forecast
from twohot.forecast.plain_probe import fit_plain


def test_the_same_rows_are_held_out_as_in_the_forecast():
    data = problems.synthetic()
    y = data.given_labels.astype(object)
    y[:100] = None
    cv = [(np.arange(100, 200), np.arange(200, 250))]
    expected = forecast(data.X, y, cv=cv, n_jobs=1).comparison
    probe, choice = fit_plain(data.X, y, cv=cv)
    assert choice == expected.choice
    assert repr(probe) == repr(expected.plain.probe())
