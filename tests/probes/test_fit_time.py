"""A fit that takes long says so before it, and no other does."""

import numpy as np
import pytest

from twohot import DistilledProbe, LinearProbe
from twohot.probes import base as fit_time

X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.arange(120) % 40


@pytest.mark.parametrize(("probe", "n_passes"), [(LinearProbe(), 10), (DistilledProbe(), 30)])
def test_a_fit_of_many_outputs_says_how_long_it_takes(monkeypatch, probe, n_passes):
    monkeypatch.setattr(fit_time, "MANY_OUTPUTS", X.shape[0] * 40)
    monkeypatch.setattr(fit_time, "seconds_of_block", lambda rows: 60 * rows.n_jobs / rows.n_blocks)
    message = rf"X has 120 rows and y 40 classes: .* {n_passes} passes, and {n_passes} min"
    with pytest.warns(UserWarning, match=message) as found:
        probe.fit(X, Y)
    assert found[0].filename.endswith("test_fit_time.py")


def test_the_time_of_a_block_is_measured_and_changes_nothing(monkeypatch):
    plain = LinearProbe().fit(X, Y)
    monkeypatch.setattr(fit_time, "MANY_OUTPUTS", 1)
    with pytest.warns(UserWarning, match="1 min or more here"):
        timed = LinearProbe().fit(X, Y)
    np.testing.assert_array_equal(timed.coef_, plain.coef_)
    assert timed.rounds_[0].n_passes == plain.rounds_[0].n_passes
