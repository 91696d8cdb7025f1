"""The label model and anchors: against enumeration, numerical derivatives, twins and simulation."""

from itertools import product
from math import log

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit

from twohot.judge import label_model
from twohot.judge.anchors import agreement_rises, anchor_counts, confusions, shrink, surest_rate
from twohot.judge.label_model import (
    LARGEST_LOGIT,
    REFUTED,
    SMALLEST,
    centre,
    combine,
    fit_uniform_noise,
    posterior,
    standard_error,
    weigh,
    z_score,
)
from twohot.noise import corrupt_labels, pair_flip, symmetric


def simulated(corruption, *, n_rows=3000, size=3.0, spread=0.5, seed=0):
    """Return calibrated logits, true labels drawn from them, and noisy given labels."""
    rng = np.random.default_rng(seed)
    n_classes = len(corruption)
    logits = spread * rng.normal(size=(n_rows, n_classes))
    logits[np.arange(n_rows), rng.integers(0, n_classes, n_rows)] += size
    p = np.exp(log_softmax(logits, axis=1))
    true = (p.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)
    given = corrupt_labels(true, corruption, random_state=seed).given_labels
    return centre(logits), true, given


def doubts(p, codes):
    """Return the probability that each label is wrong, given the posterior (n, K)."""
    return 1 - p[np.arange(len(codes)), codes]


def numerical_gradient(loss, at, step=1e-3):
    """Return central differences; the step is large, because logits are in single precision."""
    at = np.array(at)
    return [(loss(at + h)[0] - loss(at - h)[0]) / (2 * step) for h in step * np.eye(len(at))]


def minimised(monkeypatch):
    """Record the losses that are minimised in a list."""
    losses = []

    def record(loss, start, **options):
        losses.append(loss)
        return minimize(loss, start, **options)

    monkeypatch.setattr(label_model, "minimize", record)
    return losses


# The posterior -----------------------------------------------------------------------------------


def test_posterior_matches_enumeration():
    rng = np.random.default_rng(0)
    log_p = log_softmax(rng.normal(size=(20, 4)), axis=1)
    noise, codes = rng.dirichlet(np.ones(4), 4), rng.integers(-1, 4, 20)
    found = posterior(log_p, codes, noise)
    for row, label in enumerate(codes):
        # The probability of each true class with each label that is possible.
        joint = np.exp(log_p[row])[:, None] * noise * [label in (-1, g) for g in range(4)]
        np.testing.assert_allclose(found[row], joint.sum(axis=1) / joint.sum())


def test_posterior_without_noise_and_with_uniform_noise():
    log_p = log_softmax(np.random.default_rng(0).normal(size=(8, 3)), axis=1)
    codes = np.arange(8) % 3
    np.testing.assert_array_equal(posterior(log_p, codes, np.eye(3)), np.eye(3)[codes])
    np.testing.assert_allclose(posterior(log_p, codes, np.full((3, 3), 1 / 3)), np.exp(log_p))


def test_impossible_label_gives_no_nan():
    log_p = np.log(np.array([[1.0, 1e-300, 1e-300]]))
    assert np.isfinite(posterior(log_p, np.array([2]), np.eye(3))).all()


def test_logits_are_centred_bounded_and_summed():
    logits = np.array([[1e6, 0.0, 2.0], [1.0, 2.0, 3.0]])
    centred = centre(logits)
    assert np.abs(centred).max() <= LARGEST_LOGIT
    np.testing.assert_allclose(centred[1], [-1, 0, 1])
    found = combine([centred, 2 * centred], np.array([0.5, 0.25]))
    np.testing.assert_allclose(found, centred)
    large = np.array([[300.0, 200.0, 100.0, -600.0], [70.0, 90.0, -80.0, -80.0]])
    assert centre(large).argmax(axis=1).tolist() == [0, 1]
    np.testing.assert_array_equal(np.argsort(centre(large)[0]), np.argsort(large[0]))


# One member --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5])
def test_recovers_temperature_and_rate_of_uniform_noise(rate):
    logits, true, given = simulated(symmetric(5, rate), n_rows=6000, size=4.0)
    found = fit_uniform_noise(3 * logits, given, None)
    assert found.temperature == pytest.approx(3, rel=0.2)
    assert found.noise_rate == pytest.approx(np.mean(given != true), abs=0.04)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("scale", [1e-3, 0.2, 8.0])
def test_scale_of_logits_changes_only_the_temperature(rate, scale):
    # If logits are overconfident, the likelihood is flat where the temperature is one.
    logits, _, given = simulated(symmetric(5, rate), n_rows=1500, size=4.0)
    plain, found = (fit_uniform_noise(each, given, None) for each in (logits, scale * logits))
    assert found.temperature == pytest.approx(scale * plain.temperature, rel=0.03)
    assert found.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-5)
    assert found.noise_rate == pytest.approx(plain.noise_rate, abs=0.01)


def even_likelihood(logits, codes, weights, temperature, rate):
    """Return the mean log-likelihood by a loop over rows."""
    total = 0.0
    for z, g, w in zip(logits, codes, weights, strict=True):
        p = np.exp(z / temperature) / np.exp(z / temperature).sum()
        total += w * np.log((1 - rate) * p[g] + rate * (1 - p[g]) / (len(z) - 1) + SMALLEST)
    return total / weights.sum()


def test_uniform_noise_fit_beats_a_grid():
    logits, _, given = simulated(symmetric(4, 0.3), n_rows=300)
    weights = np.random.default_rng(1).integers(1, 4, 300).astype(float)
    found = fit_uniform_noise(logits, given, weights)
    own = even_likelihood(logits, given, weights, found.temperature, found.noise_rate)
    assert found.log_likelihood == pytest.approx(own)
    grid = product(np.geomspace(0.3, 3, 12), np.linspace(0.01, 0.74, 12))
    best = max(even_likelihood(logits, given, weights, t, rate) for t, rate in grid)
    assert found.log_likelihood >= best - 1e-6


def test_row_weights_equal_repetition():
    logits, _, given = simulated(symmetric(4, 0.3), n_rows=200)
    times = np.random.default_rng(0).integers(0, 4, 200)
    weighted = fit_uniform_noise(logits, given, times.astype(float))
    repeated = fit_uniform_noise(np.repeat(logits, times, axis=0), np.repeat(given, times), None)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood)
    assert weighted.temperature == pytest.approx(repeated.temperature, rel=1e-3)


def test_uninformative_logits_of_two_classes():
    codes = np.arange(40) % 2
    found = fit_uniform_noise(np.zeros((40, 2)), codes, None)
    assert found.log_likelihood == pytest.approx(np.log(0.5))


# Anchors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_anchor_counts_match_a_loop(share, weighted):
    rng = np.random.default_rng(0)
    sure, codes = rng.normal(size=(203, 5)), rng.integers(0, 5, 203)
    sure[:, 4] -= 9  # a class that is never predicted
    weights = rng.random(203) if weighted else None
    expected = np.zeros((5, 5))
    for k in range(5):
        margins = {
            row: sure[row, k] - np.delete(sure[row], k).max()
            for row in range(203)
            if sure[row].argmax() == k
        }
        surest = sorted(margins, key=margins.__getitem__, reverse=True)
        for row in surest[: max(1, int(share * len(surest)))]:
            expected[k, codes[row]] += 1 if weights is None else weights[row]
    np.testing.assert_allclose(anchor_counts(sure, codes, weights, share), expected)
    assert not expected[4].any()


def test_confusions_are_fractions_of_other_classes():
    sure = np.random.default_rng(0).normal(size=(60, 4))
    found, p = confusions(sure), np.exp(log_softmax(sure, axis=1))
    for k in range(4):
        spread = p[sure.argmax(axis=1) == k].sum(axis=0)
        spread[k] = 0
        np.testing.assert_allclose(found[k], spread / spread.sum(), atol=1e-5)
    absent = confusions(sure - np.array([0, 0, 0, 99.0]))
    np.testing.assert_allclose(absent[3], [1 / 3, 1 / 3, 1 / 3, 0])


# Shrinkage ---------------------------------------------------------------------------------------

ALIKE = np.array([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.2, 0.8, 0]])
COUNTS = [
    np.array([[8.0, 2, 0], [1, 9, 0], [0, 0, 3]]),
    np.array([[5.0, 4, 1], [3, 6, 1], [0, 2, 0]]),
    np.array([[14.0, 5, 4], [6, 12, 5], [5, 3, 15]]),
]


def prior_of(rate, share, alike):
    prior = rate * ((1 - share) / (len(alike) - 1) + share * alike)
    np.fill_diagonal(prior, 1 - rate)
    return prior


def evidence_of(counts, prior, strength):
    """Return the Dirichlet-multinomial evidence: labels are drawn one by one from an urn."""
    total = 0.0
    for row, expected in zip(counts.astype(int).tolist(), prior.tolist(), strict=True):
        drawn = 0
        for n, q in zip(row, expected, strict=True):
            for before in range(n):
                total += log((before + strength * q) / (drawn + strength))
                drawn += 1
    return total


@pytest.mark.parametrize("counts", COUNTS)
def test_shrinkage_maximises_the_evidence(counts):
    grid = product(
        expit(np.linspace(logit(0.02), logit(0.7), 14)),
        expit(np.linspace(-4, 4, 7)),
        np.geomspace(1, 1e4, 13),
    )
    rate, share, strength = max(
        grid, key=lambda each: evidence_of(counts, prior_of(*each[:2], ALIKE), each[2])
    )
    prior = prior_of(rate, share, ALIKE)
    expected = (counts + strength * prior) / (counts.sum(axis=1, keepdims=True) + strength)
    found = shrink(counts, ALIKE)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found > 0).all()
    np.testing.assert_allclose(found, expected, atol=0.06)


def test_class_without_anchors_gets_the_noise_of_others():
    alike = confusions(np.zeros((3, 4)))
    counts = np.diag([70.0, 70, 70, 0])
    counts[:3, :3] += 10
    found = shrink(counts, alike)
    assert found[3, 3] == pytest.approx(0.8, abs=0.1)
    assert found[:3, :3].diagonal() == pytest.approx(np.full(3, 70 / 90), abs=0.03)


def test_many_counts_are_not_shrunk():
    rng = np.random.default_rng(0)
    noise = 0.5 * np.eye(4) + 0.5 * rng.dirichlet(np.ones(4), 4)
    counts = np.array([rng.multinomial(200_000, row) for row in noise]).astype(float)
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shrink(counts, np.full((4, 4), 1 / 4)), shares, atol=2e-3)


@pytest.mark.parametrize("counts", [np.eye(3), 50 * np.eye(3), np.ones((3, 3)) - np.eye(3)])
def test_extreme_counts_give_a_valid_matrix(counts):
    found = shrink(counts, (1 - np.eye(3)) / 2)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert ((found > 0) & (found < 1)).all()


def test_permuted_classes_permute_the_noise():
    order = np.array([2, 0, 1])
    found = shrink(COUNTS[0], ALIKE)
    renamed = shrink(COUNTS[0][np.ix_(order, order)], ALIKE[np.ix_(order, order)])
    np.testing.assert_allclose(renamed, found[np.ix_(order, order)], atol=1e-4)


# Weights of the members --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["one member", "weights"])
def test_gradients_are_numerical(loss, monkeypatch):
    losses = minimised(monkeypatch)
    rng, row_weights = np.random.default_rng(0), np.arange(1.0, 41.0)
    members, codes = [rng.normal(size=(40, 4)) for _ in range(3)], rng.integers(0, 4, 40)
    if loss == "one member":
        fit_uniform_noise(members[0], codes, row_weights)
        places = [[0.0, -2.0], [0.7, 0.5], [-1.0, -4.0]]
    else:
        scales = np.array([1.0, 2.0, 0.5])
        weigh(members, codes, rng.dirichlet(np.ones(4), 4), scales, row_weights)
        places = [[1.0, 0.0, 0.0], [0.3, 0.2, 0.9], [2.0, 1.0, 3.0]]
    (found,) = losses
    for at in places:
        expected = numerical_gradient(found, at)
        np.testing.assert_allclose(found(np.array(at))[1], expected, rtol=1e-3, atol=1e-5)


def test_weights_are_nonnegative_and_likelihood_is_exact():
    logits, _, given = simulated(symmetric(4, 0.3), n_rows=500)
    misleading = -logits
    noise = symmetric(4, 0.3)
    model = weigh([logits, misleading], given, noise, np.ones(2))
    assert model.weights[0] == pytest.approx(1, abs=0.25)
    assert model.weights[1] == 0
    p = np.exp(model.log_probabilities([logits, misleading]))
    own = np.log([p[row] @ noise[:, g] for row, g in enumerate(given)]).mean()
    assert model.log_likelihood == pytest.approx(own, abs=1e-6)


def test_scales_do_not_change_the_optimum():
    logits, _, given = simulated(symmetric(4, 0.2), n_rows=500)
    other = logits + np.random.default_rng(1).normal(size=logits.shape)
    noise = symmetric(4, 0.2)
    one, same = (
        weigh([logits, 100 * other], given, noise, scales)
        for scales in (np.array([1.0, 0.01]), np.array([0.5, 0.02]))
    )
    assert one.log_likelihood == pytest.approx(same.log_likelihood, abs=1e-4)
    np.testing.assert_allclose(one.weights * [1, 100], same.weights * [1, 100], atol=0.03)


def test_member_that_explains_noise_as_overlap_gets_less_weight():
    # The first member predicts the true classes, the second one the given labels. With the noise of
    # the labels, the first explains the labels best; with almost no noise, the second.
    corruption = pair_flip(4, 0.4)
    logits, true, given = simulated(corruption, size=6.0)
    p = np.exp(log_softmax(logits, axis=1))
    overlap = centre(np.log(p @ corruption))
    noisy, clean = (
        weigh([logits, overlap], given, noise, np.ones(2))
        for noise in (corruption, symmetric(4, 1e-3))
    )
    assert noisy.weights[0] > 3 * noisy.weights[1]
    assert clean.weights[1] > 3 * clean.weights[0]
    doubt = doubts(noisy.posterior([logits, overlap], given), given)
    assert ((doubt > 0.5) == (given != true)).mean() > 0.95


# Recovery of the noise ---------------------------------------------------------------------------

STRUCTURED = np.array(
    [[0.6, 0.4, 0, 0], [0, 0.9, 0.1, 0], [0.1, 0.1, 0.7, 0.1], [0, 0, 0.05, 0.95]]
)


@pytest.mark.parametrize(
    "corruption", [symmetric(4, 0.3), pair_flip(4, 0.4), STRUCTURED], ids=["even", "pair", "own"]
)
def test_anchor_rows_recover_the_noise(corruption):
    logits, true, given = simulated(corruption, n_rows=8000, size=5.0)
    noise = shrink(anchor_counts(logits, given, None), confusions(logits))
    np.testing.assert_allclose(noise, corruption, atol=0.06)
    model = weigh([logits], given, noise, np.ones(1))
    doubt = doubts(model.posterior([logits], given), given)
    assert doubt.mean() == pytest.approx(np.mean(given != true), abs=0.02)
    assert ((doubt > 0.5) == (given != true)).mean() > 0.95


@pytest.mark.parametrize("corruption", [symmetric(4, 0.3), pair_flip(4, 0.4)])
def test_doubt_is_calibrated_if_the_noise_is_known(corruption):
    logits, true, given = simulated(corruption, n_rows=8000, size=2.0)
    doubt = doubts(posterior(log_softmax(logits, axis=1), given, corruption), given)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        rows = (doubt >= low) & (doubt <= high)
        assert np.mean((given != true)[rows]) == pytest.approx(doubt[rows].mean(), abs=0.04)


def rows_that_agree(likely: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logits of two classes with decreasing margins, and labels that agree by chance."""
    random = np.random.default_rng(seed)
    margin = np.repeat(np.linspace(4, 1, len(likely) // 2), 2)
    predicted = np.arange(len(likely)) % 2
    agrees = random.random(len(likely)) < likely
    return margin[:, None] * np.eye(2)[predicted], np.where(agrees, predicted, 1 - predicted)


def test_noise_alone_has_the_same_agreement_at_every_margin():
    found = [agreement_rises(*rows_that_agree(np.full(2000, 0.7), seed)) for seed in range(40)]
    assert abs(np.mean(found)) < 0.6
    assert 0.6 < np.std(found) < 1.4
    rates = [surest_rate(*rows_that_agree(np.full(2000, 0.7), seed)) for seed in range(40)]
    assert np.mean(rates) == pytest.approx(0.3, abs=0.02)


def test_overlap_has_less_agreement_at_smaller_margins():
    likely = np.linspace(1.0, -1.2, 2000).clip(0.5)  # from 1 to .78 in the first fifth
    found = [agreement_rises(*rows_that_agree(likely, seed)) for seed in range(20)]
    assert np.mean(found) > 2.5
    rates = [surest_rate(*rows_that_agree(likely, seed)) for seed in range(20)]
    assert np.mean(rates) < 0.08  # in the first fifth it is .11


def test_different_noise_per_class_is_not_overlap():
    """All rows of the noisier class have smaller margins. Only rows of one class are compared."""
    random = np.random.default_rng(0)
    margin = np.r_[np.linspace(4, 3, 1000), np.linspace(2, 1, 1000)]
    predicted = np.repeat([0, 1], 1000)
    agrees = np.r_[np.ones(1000, bool), random.random(1000) < 0.6]
    labels = np.where(agrees, predicted, 1 - predicted)
    assert abs(agreement_rises(margin[:, None] * np.eye(2)[predicted], labels)) < 2


# Groups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_copies", [2, 6])
def test_copies_of_rows_are_not_additional_evidence(n_copies):
    """All copies of a row have the same label."""
    likely = np.linspace(1.0, 0.4, 2000).clip(0.5)
    sure, labels = rows_that_agree(likely, 0)
    order = np.random.default_rng(0).permutation(2000 * n_copies)
    groups = np.repeat(np.arange(2000), n_copies)[order]
    copied = np.repeat(sure, n_copies, axis=0)[order], np.repeat(labels, n_copies)[order]
    once = agreement_rises(sure, labels)
    assert once > 0.5
    assert agreement_rises(*copied, groups) == pytest.approx(once, rel=0.05)
    assert agreement_rises(*copied) > 1.3 * once
    # Without groups, copies would make a difference by chance significant.
    sure, labels = rows_that_agree(np.full(2000, 0.7), 3)
    copied = np.repeat(sure, n_copies, axis=0), np.repeat(labels, n_copies)
    found = surest_rate(*copied, np.repeat(np.arange(2000), n_copies))
    assert found == pytest.approx(surest_rate(sure, labels), abs=0.01)


def test_standard_error_with_groups():
    values = np.random.default_rng(0).normal(0.1, size=200)
    groups = np.repeat(np.arange(200), 5)
    repeated = standard_error(np.repeat(values, 5), groups)
    assert repeated == pytest.approx(standard_error(values), rel=0.01)
    assert z_score(np.repeat(values, 5), groups) == pytest.approx(z_score(values), rel=0.01)
    assert z_score(np.repeat(values, 5)) > 2 * z_score(values)
    assert standard_error(values, np.arange(200)) == standard_error(values)
    assert z_score(values, np.zeros(200, dtype=int)) == 0  # one group is no evidence
    # Even if the rows of a group differ more than others, the error is that of independent rows.
    assert standard_error(np.tile([0.0, 1.0], 50), np.arange(100) // 2) == pytest.approx(0.05)


@pytest.mark.parametrize("heavy", [60, 840])
def test_standard_error_with_weights_and_groups(heavy):
    """Compare with the standard deviation of the mean over draws. The first rows have groups."""
    rng = np.random.default_rng(0)
    weights = np.where(np.arange(900) < 60, 100.0, 0.01 if heavy == 60 else 1000.0)
    groups = np.where(np.arange(900) < 60, np.arange(900) // 4, np.arange(900))
    means, errors = [], []
    for _ in range(400):
        values = rng.normal(size=900)
        values[:60] = np.repeat(rng.normal(size=15), 4)
        means.append(np.average(values, weights=weights))
        errors.append(standard_error(values, groups, weights))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means), rel=0.15)


@pytest.mark.parametrize("n_groups", [3, 5, 10])
def test_z_score_keeps_its_level_with_few_groups(n_groups):
    rng = np.random.default_rng(0)
    groups = np.arange(200) % n_groups
    draws = rng.normal(size=(3000, n_groups))[:, groups] + 0.3 * rng.normal(size=(3000, 200))
    refuted = np.mean([z_score(each, groups) > REFUTED for each in draws])
    assert refuted < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 3000)
