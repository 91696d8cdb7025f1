"""Two opinions on each row become one, by how well they predict the labels."""

import numpy as np
import pytest

from twohot.audit.opinions import BETTER_SHARE, label_temperature, mean_opinion, opinion_scales

CODES = np.arange(600) % 3


def opinion(n_right, seed):
    """Log-probabilities that are right about so many rows, and sure of all."""
    rng = np.random.default_rng(seed)
    said = CODES.copy()
    wrong = rng.permutation(len(CODES))[n_right:]
    said[wrong] = (CODES[wrong] + 1) % 3
    return np.float32(3 * np.eye(3)[said] + 0.1 * rng.normal(size=(len(CODES), 3)))


@pytest.mark.parametrize(
    ("n_by_probe", "n_by_discriminant", "share"),
    [(560, 460, BETTER_SHARE), (500, 498, 0.5), (460, 560, 0.5)],
)
def test_a_probe_that_predicts_clearly_more_counts_for_more(n_by_probe, n_by_discriminant, share):
    logits, density = opinion(n_by_probe, 0), opinion(n_by_discriminant, 1)
    scales = opinion_scales(logits, density, CODES)
    temperatures = label_temperature(logits, CODES), label_temperature(density, CODES)
    assert scales == pytest.approx((temperatures[0] / share, temperatures[1] / (1 - share)))
    expected = share * logits / temperatures[0] + (1 - share) * density / temperatures[1]
    np.testing.assert_allclose(mean_opinion(logits, density, scales), expected, rtol=1e-5)
