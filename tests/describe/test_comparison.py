"""Comparisons on held-out rows agree with counts by hand."""

import numpy as np
import pytest
from scipy.special import softmax

from problems import digits, synthetic
from twohot import AutoProbe, forecast
from twohot.base.labels import code_labels
from twohot.describe.comparison import compare, compare_on, fit_plain
from twohot.judge.auto_probe import judge_rows
from twohot.judge.distillation import fit_weights
from twohot.judge.label_model import combine
from twohot.judge.nearest import VotesRecipe
from twohot.probes.inputs import check_features
from twohot.probes.recipe import TEACHER


@pytest.fixture(scope="module")
def judged():
    """Return the anchored label model of noisy rows, and its comparison with a plain probe."""
    data = synthetic(noise_rate=0.5)
    probe = AutoProbe(n_jobs=1)
    rows = check_features(probe, data.X, reset=True)
    judged = judge_rows(probe, rows, code_labels(data.given_labels))
    return judged.anchored, compare(judged.anchored, judged.choice)


def linear_logits(anchored, stage):
    linear = [each for each in stage.members if not isinstance(each.recipe, VotesRecipe)]
    logits = [each.logits for each in linear]
    scales = np.array([1 / each.temperature for each in linear])
    weights = fit_weights(anchored.sample, logits, stage.model.noise, scales).weights
    return combine(logits, weights)


def test_plain_probe_is_the_likeliest_teacher(judged):
    _, found = judged
    teachers = [entry for entry in found.choice.tried if entry.method == TEACHER]
    assert found.plain == max(teachers, key=lambda entry: entry.likelihood)
    assert found.plain_agreement == pytest.approx(found.plain.agreement)


def test_auto_probe_is_the_stage_that_agrees_less_without_voters(judged):
    anchored, found = judged
    codes = anchored.sample.codes
    stages = (anchored.first, anchored.last)
    right = [linear_logits(anchored, stage).argmax(axis=1) == codes for stage in stages]
    worse = min(right, key=np.mean)
    plain = anchored.library.members[found.plain.recipe].logits.argmax(axis=1) == codes
    assert found.n_rows == len(codes)
    assert found.agreement == pytest.approx(worse.mean())
    assert found.plain_agreement == pytest.approx(plain.mean())
    # The difference is paired.
    difference = worse.astype(float) - plain
    assert found.gain == pytest.approx(difference.mean())
    assert found.gain_error == pytest.approx(difference.std() / np.sqrt(len(codes)))


def test_compares_likelihoods_with_the_same_noise(judged):
    """Temperatures come from a grid here, not from a search."""
    anchored, found = judged
    codes, noise = anchored.sample.codes, anchored.first.model.noise
    rows = np.arange(len(codes))
    auto = linear_logits(anchored, anchored.first)
    both = auto, anchored.library.members[found.plain.recipe].logits
    best = []
    for each in both:
        tried = [
            np.log((softmax(each * scale, axis=1) @ noise)[rows, codes])
            for scale in np.geomspace(0.01, 100, 400)
        ]
        best.append(max(tried, key=np.mean))
    difference = best[0] - best[1]
    expected = difference.mean() / difference.std() * np.sqrt(len(codes))
    assert found.likelier == pytest.approx(expected, abs=0.1)


def test_likelihood_is_that_of_the_label_model(judged):
    anchored, found = judged
    codes, first = anchored.sample.codes, anchored.first
    p = np.exp(first.model.log_probabilities(first.logits))
    given = (p @ first.model.noise)[np.arange(len(codes)), codes]
    assert found.likelihood == pytest.approx(np.log(given).mean(), abs=1e-6)
    shares = np.bincount(codes) / len(codes)
    assert found.frequency_likelihood == pytest.approx(shares @ np.log(shares))


@pytest.mark.parametrize("noise_rate", [0.3, 0.6, 0.7])
def test_gain_on_true_labels_is_within_its_error(noise_rate):
    """If labels leaked through rounds, the gain at 70 % noise would be twice as large."""
    data = digits(noise_rate)
    expected = forecast(data.X, data.given_labels, n_jobs=1)
    gain, error = (
        expected.noise.as_accuracy(each)
        for each in (expected.comparison.gain, expected.comparison.gain_error)
    )
    test = data.X_test, data.test_labels
    probe = AutoProbe(n_jobs=1).fit(data.X, data.given_labels)
    plain = expected.comparison.plain.probe().fit(data.X, data.given_labels)
    assert gain < probe.score(*test) - plain.score(*test) + 3 * error


def test_plain_probe_is_that_of_a_forecast_on_the_same_folds():
    data = synthetic()
    y = data.given_labels.astype(object)
    y[:100] = None
    groups = np.arange(len(y)) // 2
    options = {"cv": 3, "groups": groups, "random_state": 1}
    expected = forecast(data.X, y, n_jobs=1, **options).comparison
    probe, choice = fit_plain(data.X, y, **options)
    assert choice == expected.choice
    assert repr(probe) == repr(expected.plain.probe())


def test_no_label_looks_like_another_by_chance(judged):
    np.testing.assert_array_equal(judged[1].looks_like, np.arange(5))


def test_groups_are_held_out_together():
    """Labels of copied rows are predicted well only if copies are in several folds."""
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((30, 40))
    groups = np.repeat(np.arange(30), 10)
    X = centres[groups] + 0.3 * generator.standard_normal((300, 40))
    labels = code_labels((np.arange(30) % 3)[groups])
    apart, together = (
        compare_on(AutoProbe(n_jobs=1), X, labels, groups=each)[0] for each in (None, groups)
    )
    assert apart.agreement > 0.9
    assert together.agreement < 0.6
