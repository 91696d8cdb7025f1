"""Leaving a row out in float32 is as exact as the rows are."""

import numpy as np

from twohot import DiscriminantProbe


def test_a_row_that_is_all_of_its_classes_spread_is_left_out_right():
    rows = np.repeat(np.eye(4), 30, axis=0)
    labels = np.repeat(np.arange(4), 30)
    labels[0] = 1
    for dtype in (np.float32, np.float64):
        probe = DiscriminantProbe(shrinkage=0.003)
        logits = probe.fit_leave_one_out(rows.astype(dtype), labels)
        assert logits[0].argmax() == 0, dtype
    generator = np.random.default_rng(0)
    wide, codes = generator.normal(size=(60, 100)), np.arange(60) % 3
    found, exact = (
        DiscriminantProbe(shrinkage=0.1).fit_leave_one_out(wide.astype(dtype), codes)
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(found, exact, rtol=1e-2, atol=1e-2)
