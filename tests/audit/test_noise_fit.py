"""Noise models recover the noise that labels were drawn with, and keep their laws."""

import numpy as np
import pytest

from tests.audit.simulated_labels import simulate
from twohot._checks.messages import ArgumentError
from twohot.audit.flags import flag_for_precision
from twohot.audit.noise_fit import fit_noise_model
from twohot.noise.corruption import pair_flip, superclass_noise, symmetric

STRUCTURED = {
    "pair": pair_flip(20, 0.3),
    "superclass": superclass_noise(np.arange(20) // 4, 0.3),
}


@pytest.mark.parametrize("noise_rate", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", [1, 2])
def test_overlapping_classes_with_noise_alike_for_all(noise_rate, seed):
    data = simulate(4000, symmetric(5, noise_rate), seed=seed)
    model = fit_noise_model(data.log_probabilities, data.given)
    doubt = model.probability_wrong(data.log_probabilities, data.given)
    assert doubt.mean() == pytest.approx(data.wrong.mean(), abs=0.02)
    low, high = model.noise_rate_interval
    assert low <= noise_rate <= high
    assert high - low < 0.1
    for precision in (0.5, 0.8, 0.95):
        flagged = flag_for_precision(doubt, doubt > 0, precision, doubt)
        assert flagged.any() == (noise_rate > 0)
        if noise_rate:
            assert data.wrong[flagged].mean() > precision - 0.05


@pytest.mark.parametrize("too_sure", [3.0, 0.3])
def test_noise_alike_for_all_is_found_whatever_the_temperature(too_sure):
    data = simulate(4000, symmetric(20, 0.3), spread=0.8)
    model = fit_noise_model(too_sure * data.log_probabilities, data.given)
    assert model.noise_rate == pytest.approx(data.wrong.mean(), abs=0.02)
    # Noise that does not differ between classes is not said to.
    assert model.prior_rows == np.inf
    np.testing.assert_allclose(model.corruption, symmetric(20, 0.3), atol=0.01)


@pytest.mark.parametrize("kind", STRUCTURED)
@pytest.mark.parametrize("too_sure", [3.0, 0.3])
def test_noise_between_some_classes_is_found_whatever_the_temperature(kind, too_sure):
    data = simulate(4000, STRUCTURED[kind], spread=0.8)
    scores = too_sure * data.log_probabilities
    model = fit_noise_model(scores, data.given)
    assert np.isfinite(model.prior_rows)
    np.testing.assert_allclose(model.corruption.sum(axis=1), 1)
    np.testing.assert_allclose(model.corruption, STRUCTURED[kind], atol=0.1)
    assert np.abs(model.corruption - STRUCTURED[kind]).mean() < 0.01
    doubt = model.probability_wrong(scores, data.given)
    assert doubt.mean() == pytest.approx(data.wrong.mean(), abs=0.025)
    for precision in (0.5, 0.8, 0.95):
        flagged = flag_for_precision(doubt, doubt > 0, precision, doubt)
        assert data.wrong[flagged].mean() > precision - 0.05


def test_two_classes_of_which_one_has_the_noise():
    data = simulate(3000, np.array([[1.0, 0.0], [0.4, 0.6]]), spread=1.5)
    model = fit_noise_model(data.log_probabilities, data.given)
    assert model.corruption[1, 0] > 0.3
    assert model.corruption[0, 1] < 0.1


@pytest.mark.parametrize("kind", ["pair", "even"])
def test_permuted_classes_permute_the_answer(kind):
    data = simulate(1500, STRUCTURED["pair"] if kind == "pair" else symmetric(20, 0.2), seed=3)
    order = np.random.default_rng(0).permutation(20)
    model = fit_noise_model(data.log_probabilities, data.given)
    other = fit_noise_model(data.log_probabilities[:, order], np.argsort(order)[data.given])
    np.testing.assert_allclose(other.corruption, model.corruption[order][:, order], atol=1e-4)


def test_order_of_rows_and_unlabelled_rows_do_not_matter():
    data = simulate(1500, STRUCTURED["pair"], seed=3)
    order = np.random.default_rng(0).permutation(3000) % 1500
    missing = np.random.default_rng(1).permutation(3000) >= 0
    # Every row twice, in random order, and of each pair the second has no label.
    missing[np.unique(order, return_index=True)[1]] = False
    labels = np.where(missing, -1, data.given[order])
    model = fit_noise_model(data.log_probabilities, data.given)
    other = fit_noise_model(data.log_probabilities[order], labels)
    np.testing.assert_allclose(other.corruption, model.corruption, atol=1e-4)
    doubt = other.probability_wrong(data.log_probabilities[order], labels)
    np.testing.assert_array_equal(np.isnan(doubt), missing)
    expected = model.probability_wrong(data.log_probabilities, data.given)
    np.testing.assert_allclose(doubt[~missing], expected[order][~missing], atol=1e-3)


def test_a_constant_per_row_does_not_matter():
    data = simulate(500, symmetric(4, 0.2))
    shifted = data.log_probabilities + np.arange(500)[:, None] % 7
    first, second = (fit_noise_model(z, data.given) for z in (data.log_probabilities, shifted))
    assert first.noise_rate == pytest.approx(second.noise_rate, abs=1e-5)


def test_rows_twice_halve_the_variance_and_change_nothing_else(monkeypatch):
    monkeypatch.setattr("twohot.audit.noise_fit.BELIEVED_FROM", ())
    data = simulate(1500, symmetric(5, 0.2))
    once = fit_noise_model(data.log_probabilities, data.given)
    twice = fit_noise_model(np.tile(data.log_probabilities, (2, 1)), np.tile(data.given, 2))
    assert once.noise_rate == pytest.approx(twice.noise_rate, abs=1e-6)
    assert twice.log_likelihood == pytest.approx(2 * once.log_likelihood)
    width_once, width_twice = (np.diff(one.noise_rate_interval)[0] for one in (once, twice))
    assert width_twice == pytest.approx(width_once / np.sqrt(2), rel=0.1)


def test_rows_twice_and_prior_rows_twice_change_little(monkeypatch):
    data = simulate(1500, STRUCTURED["pair"], spread=0.5)
    monkeypatch.setattr("twohot.audit.noise_fit.BELIEVED_FROM", ((30.0, 0.0),))
    once = fit_noise_model(data.log_probabilities, data.given)
    monkeypatch.setattr("twohot.audit.noise_fit.BELIEVED_FROM", ((60.0, 0.0),))
    twice = fit_noise_model(np.tile(data.log_probabilities, (2, 1)), np.tile(data.given, 2))
    assert (once.prior_rows, twice.prior_rows) == (30, 60)
    # A row is judged without itself, and yet with its twin.
    np.testing.assert_allclose(twice.corruption, once.corruption, atol=0.02)


def test_many_rows_are_fitted_on_some_always_the_same():
    data = simulate(12_000, symmetric(4, 0.2))
    first, second = (fit_noise_model(data.log_probabilities, data.given) for _ in range(2))
    assert first.noise_rate == second.noise_rate == pytest.approx(0.2, abs=0.02)


def test_many_classes_have_noise_alike_for_all():
    rng = np.random.default_rng(0)
    n_classes, n_rows = 2500, 300
    true = rng.integers(n_classes, size=n_rows)
    given = np.where(rng.random(n_rows) < 0.3, rng.integers(n_classes, size=n_rows), true)
    scores = np.zeros((n_rows, n_classes), dtype=np.float32)
    scores[np.arange(n_rows), true] = rng.uniform(6, 16, n_rows)
    model = fit_noise_model(scores, given)
    assert model.prior_rows == np.inf
    assert model.counts.size == 0
    assert model.noise_rate == pytest.approx(np.mean(given != true), abs=0.06)


@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_labels_of_pure_chance_are_not_known_to_be_wrong(n_classes):
    rng = np.random.default_rng(n_classes)
    scores = 4 * rng.normal(size=(1000, n_classes))
    given = rng.integers(n_classes, size=1000)
    model = fit_noise_model(scores, given)
    assert model.probability_wrong(scores, given).max() < 0.05
    low, high = model.noise_rate_interval
    assert low < 0.01
    assert high == pytest.approx(1 - 1 / n_classes)


def test_labels_that_are_all_right():
    rng = np.random.default_rng(0)
    true = np.repeat(np.arange(10), 100)
    scores = rng.uniform(1, 12, (1000, 1)) * np.eye(10)[true]
    model = fit_noise_model(scores, true)
    assert model.noise_rate <= 0.001
    assert model.noise_rate_interval[1] < 0.01
    assert model.probability_wrong(scores, true).max() < 0.01


def test_one_class_of_nearly_all_rows():
    rng = np.random.default_rng(0)
    true = (np.arange(2000) % 100 == 0).astype(int)
    scores = np.log([0.99, 0.01]) + rng.uniform(2, 12, (2000, 1)) * np.eye(2)[true]
    given = true.copy()
    given[50] = 1 - given[50]
    doubt = fit_noise_model(scores, given).probability_wrong(scores, given)
    assert doubt.argmax() == 50
    # Rare, yet most of its labels are right.
    assert np.median(doubt[given == 1]) < 0.1


def test_classes_of_one_row_and_of_none():
    data = simulate(600, symmetric(6, 0.2), spread=0.5)
    kept = (data.given != 5) & (data.given != 4)
    kept[np.flatnonzero(data.given == 4)[0]] = True
    model = fit_noise_model(data.log_probabilities[kept], data.given[kept])
    doubt = model.probability_wrong(data.log_probabilities, data.given)
    assert np.isfinite(doubt).all()
    assert np.isfinite(model.corruption).all()


@pytest.mark.parametrize("labels", [[0, 1, 2, 0, 1, 2] * 20, [0] * 100 + [1] * 15 + [2] * 5])
def test_rows_that_are_all_alike_tell_nothing(labels):
    given = np.array(labels)
    model = fit_noise_model(np.zeros((120, 3)), given)
    assert model.probability_wrong(np.zeros((120, 3)), given).max() < 0.05
    assert model.noise_rate_interval[1] > 0.6


def test_alike_rows_with_other_labels_are_doubted_alike():
    data = simulate(800, symmetric(3, 0.2), spread=0.5)
    scores = np.concatenate([data.log_probabilities, data.log_probabilities[:1]])
    labels = np.concatenate([data.given, [(data.true[0] + 1) % 3]])
    labels[0] = data.true[0]
    doubt = fit_noise_model(scores, labels).probability_wrong(scores, labels)
    assert doubt[0] < 0.1
    assert doubt[-1] > 0.5


def test_impossible_classes_and_rows_without_any():
    data = simulate(900, symmetric(4, 0.2), spread=0.5)
    with np.errstate(divide="ignore"):
        probabilities = np.exp(data.log_probabilities - data.log_probabilities.max(axis=1)[:, None])
        scores = np.log(np.where(probabilities < 1e-3, 0, probabilities))
    scores[7] = -np.inf
    assert np.isneginf(scores[:, 0]).any()
    model = fit_noise_model(scores, data.given)
    doubt = model.probability_wrong(scores, data.given)
    assert ((doubt >= 0) & (doubt <= 1)).all()
    assert doubt.mean() == pytest.approx(data.wrong.mean(), abs=0.05)


def test_one_class_is_never_wrong():
    model = fit_noise_model(np.zeros((5, 1)), np.zeros(5, dtype=int))
    np.testing.assert_array_equal(model.probability_wrong(np.zeros((5, 1)), np.zeros(5, int)), 0)


def test_no_label_at_all_is_refused():
    with pytest.raises(ArgumentError, match="missing"):
        fit_noise_model(np.zeros((3, 2)), np.full(3, -1))


@pytest.mark.parametrize("n_rare", [1, 4])
def test_a_label_that_hardly_occurs_leaves_the_noise_of_the_others_as_it_is(n_rare):
    # Five classes that are sure, a fifth of the labels wrong, and a few labels of a sixth class,
    # which no row looks like.
    rng = np.random.default_rng(0)
    true = np.arange(600) % 5
    given = np.where(rng.random(600) < 0.2, (true + rng.integers(1, 5, 600)) % 5, true)
    given[:n_rare] = 5
    scores = np.where(np.arange(6) == true[:, np.newaxis], 4.0, 0.0) + rng.normal(size=(600, 6))
    scores[:, 5] -= 5
    wrong = np.mean(given != true)
    model = fit_noise_model(scores.astype(np.float32), given)
    assert model.noise_rate == pytest.approx(wrong, abs=0.04)
    assert model.corruption.shape == (6, 6)
    doubt = model.probability_wrong(scores.astype(np.float32), given)
    assert np.mean(doubt[given != true] > 0.5) > 0.8


def test_noise_that_differs_between_classes_must_explain_enough_of_each_label(monkeypatch):
    data = simulate(4000, STRUCTURED["pair"], spread=0.8)
    assert not fit_noise_model(data.log_probabilities, data.given).is_even
    monkeypatch.setattr("twohot.audit.noise_fit.GAIN_PER_LABEL", 2.0)
    assert fit_noise_model(data.log_probabilities, data.given).is_even


def test_few_prior_rows_say_how_noise_differs_once_it_is_believed(monkeypatch):
    data = simulate(4000, STRUCTURED["pair"], spread=0.8)
    # No gain per entry is enough for the smaller prior, and the larger one is believed.
    monkeypatch.setattr("twohot.audit.noise_fit.BELIEVED_FROM", ((100.0, 0.0), (30.0, 1e6)))
    assert fit_noise_model(data.log_probabilities, data.given).prior_rows == 30
    monkeypatch.setattr("twohot.audit.noise_fit.BELIEVED_FROM", ((100.0, 1e6), (30.0, 1e6)))
    assert fit_noise_model(data.log_probabilities, data.given).is_even
