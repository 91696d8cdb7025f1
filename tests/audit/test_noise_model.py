"""A noise model is Bayes' rule: that of a slow plain twin, for a row that was not counted."""

import numpy as np
import pytest

from twohot.audit.noise_model import NoiseModel, corruption_without, even_corruption
from twohot.audit.tempered import less_the_largest, tempered, tempered_at

TEMPERATURES = np.array([0.5, 1.0, 3.0])
WEIGHTS = np.array([0.2, 0.5, 0.3])


def a_model(prior_rows, counts):
    return NoiseModel(
        temperatures=TEMPERATURES,
        weights=WEIGHTS,
        noise_rate=0.3,
        noise_rate_interval=(0.2, 0.4),
        log_likelihood=-1.0,
        prior_rows=prior_rows,
        counts=counts,
        n_classes=4,
    )


def plain_mixture(scores):
    powers = [np.exp(scores / temperature) for temperature in TEMPERATURES]
    return sum(w * p / p.sum() for w, p in zip(WEIGHTS, powers, strict=True))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)) * 3, np.arange(60) % 4


def test_noise_alike_for_all_is_a_plain_sum(rows):
    scores, labels = rows
    model = a_model(np.inf, np.zeros((0, 0)))
    doubt = model.probability_wrong(scores, labels)
    for z, label, found in zip(scores, labels, doubt, strict=True):
        joint = plain_mixture(z) * model.corruption[:, label]
        assert found == pytest.approx(1 - joint[label] / joint.sum(), abs=1e-6)


def test_rows_are_judged_without_their_own_count(rows):
    scores, labels = rows
    counts = np.random.default_rng(1).uniform(1, 40, (4, 4))
    model = a_model(10.0, counts)
    doubt = model.probability_wrong(scores, labels)
    prior = 10 * even_corruption(4, 0.3)
    for z, label, found in zip(scores, labels, doubt, strict=True):
        share = np.zeros(4)
        # The share that a row has in the counts from which it is taken out, by small steps.
        for _ in range(300):
            column = counts[:, label] - share + prior[:, label]
            joint = plain_mixture(z) * column / (counts.sum(axis=1) - share + 10)
            share = 0.9 * share + 0.1 * joint / joint.sum()
        assert found == pytest.approx(1 - share[label], abs=0.01)


def test_a_confusion_that_was_seen_once_does_not_explain_itself():
    # Only this row is thought to be of class 0 and labelled 1.
    counts = np.diag([50.0, 50.0, 50.0, 50.0])
    counts[0, 1] = 1.0
    own = np.array([[1.0, 0.0, 0.0, 0.0]], dtype=np.float32)
    label = np.array([1])
    seen = corruption_without(own, label, counts, noise_rate=0.3, prior_rows=10.0)
    never = corruption_without(
        np.zeros_like(own), label, np.diag([50.0, 50.0, 50.0, 50.0]), 0.3, 10.0
    )
    np.testing.assert_allclose(seen, never, rtol=1e-6)


def test_corruption_is_counts_and_prior_rows():
    counts = np.array([[90.0, 10, 0, 0], [0, 0, 0, 0], [0, 0, 50, 50], [0, 5, 5, 90]])
    corruption = a_model(100.0, counts).corruption
    np.testing.assert_allclose(corruption.sum(axis=1), 1)
    # Half by count, half by the rate; a class of no row by the rate alone.
    np.testing.assert_allclose(corruption[0], [0.8, 0.1, 0.05, 0.05])
    np.testing.assert_allclose(corruption[1], [0.1, 0.7, 0.1, 0.1])


def test_rows_may_come_in_blocks(rows, monkeypatch):
    scores, labels = rows
    labels = np.where(labels == 3, -1, labels)
    model = a_model(10.0, np.diag([50.0, 50.0, 50.0, 50.0]))
    whole = model.probability_wrong(scores, labels)
    monkeypatch.setattr("twohot.audit.tempered.BLOCK_ENTRIES", 28)
    np.testing.assert_array_equal(model.probability_wrong(scores, labels), whole)
    np.testing.assert_array_equal(np.isnan(whole), labels < 0)


def test_tempered_probabilities_sum_to_one_and_are_those_at_the_labels(rows):
    scores, labels = less_the_largest(rows[0]), rows[1]
    at_label = tempered_at(scores, labels, np.array([0.5, np.inf]))
    sharp = tempered(scores, 0.5)
    np.testing.assert_allclose(sharp.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(at_label[0], sharp[np.arange(60), labels], rtol=1e-5)
    np.testing.assert_allclose(at_label[1], 0.25)
