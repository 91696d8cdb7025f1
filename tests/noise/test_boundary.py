"""Rows near class boundaries get other labels as often as the definition says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import softmax

from twohot.noise import boundary_noise
from twohot.noise.boundary import flip_probabilities


@st.composite
def probable_labels(draw):
    """Rows of probabilities, some of them certain to the last digit, labels and a rate."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_classes = draw(st.integers(1, 40)), draw(st.integers(2, 5))
    spread = draw(st.sampled_from([0.1, 1.0, 20.0]))
    probabilities = softmax(spread * generator.normal(size=(n_rows, n_classes)), axis=1)
    return probabilities, generator.integers(0, n_classes, n_rows), draw(st.floats(0, 0.9499))


def plain_flip_probabilities(probabilities, codes, noise_rate):
    """The definition, its c by bisection."""
    ambiguity = 1.05 - probabilities[np.arange(len(codes)), codes]
    # From 0.95 / 0.05 on every row is at the bound.
    c = brentq(lambda c: np.minimum(0.95, c * ambiguity).mean() - noise_rate, 0, 19.5, xtol=1e-13)
    return np.minimum(0.95, c * ambiguity)


@given(probable_labels())
def test_rows_flip_as_often_as_the_definition_says(problem):
    np.testing.assert_allclose(
        flip_probabilities(*problem), plain_flip_probabilities(*problem), atol=1e-9
    )


def test_at_the_largest_rate_every_row_is_at_the_bound():
    probabilities = np.random.default_rng(0).dirichlet(np.full(3, 0.1), size=1000)
    flip = flip_probabilities(probabilities, np.arange(1000) % 3, 0.95)
    np.testing.assert_allclose(flip, 0.95, rtol=1e-9)


def test_labels_follow_the_probabilities_of_their_row():
    """Ten kinds of rows, each a thousand times: how often they get which label."""
    generator = np.random.default_rng(1)
    kinds = generator.dirichlet(np.ones(4), size=10)
    kinds[0] = [0.0, 0.0, 0.4, 0.6]
    codes = np.repeat(np.arange(10) % 4, 1000)
    probabilities = np.repeat(kinds, 1000, axis=0)
    noisy = boundary_noise(codes, probabilities, 0.5, random_state=0)
    flip = plain_flip_probabilities(probabilities, codes, 0.5)[::1000]
    for kind, label in enumerate(codes[::1000]):
        expected = flip[kind] * np.where(np.arange(4) == label, 0.0, kinds[kind])
        expected /= 1 - kinds[kind, label]
        expected[label] = 1 - flip[kind]
        rows = slice(1000 * kind, 1000 * (kind + 1))
        drawn = np.bincount(noisy.given_labels[rows], minlength=4) / 1000
        # Four standard errors of a fraction of a thousand draws are at most 0.063.
        np.testing.assert_allclose(drawn, expected, atol=0.063)
        assert not drawn[expected == 0].any()
    assert noisy.noise_rate == pytest.approx(0.5, abs=0.02)


def test_certain_rows_keep_their_label_at_the_same_rate():
    probabilities = np.array([[1.0, 0.0]] * 50 + [[0.6, 0.4]] * 50)
    codes = np.zeros(100, dtype=int)
    flip = flip_probabilities(probabilities, codes, 0.3)
    np.testing.assert_allclose(flip, [0.0] * 50 + [0.6] * 50)
    with pytest.raises(ValueError, match=r"=0\.5 cannot be reached because 50 rows .* 0\.475"):
        flip_probabilities(probabilities, codes, 0.5)
    assert not boundary_noise([0, 1], np.eye(2), 0.0).flipped.any()


def test_tiny_probability_counts():
    probabilities = np.array([[1.0, 1e-30, 0.0]] * 200)
    noisy = boundary_noise(np.zeros(200, int), probabilities, 0.9, random_state=0, classes=range(3))
    assert noisy.noise_rate == pytest.approx(0.9, abs=0.07)
    assert set(noisy.given_labels.tolist()) == {0, 1}
