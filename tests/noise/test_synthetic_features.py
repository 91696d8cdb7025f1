"""Synthetic features have the requested correlations between classes."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.noise import make_features


def gram_of(model):
    """Return the requested inner products of classes."""
    superclass = np.asarray(model["superclass"])
    related = superclass[:, np.newaxis] == superclass
    gram = np.where(related, model["same_superclass"], model.get("elsewhere", 0))
    np.fill_diagonal(gram, model["same_class"])
    return gram


def made_of(model, **others):
    n_classes = len(model["superclass"])
    return make_features(**{"n_classes": n_classes, "random_state": 0} | model | others)


def small(same_class=0.4, **options):
    size = {"n_classes": 6, "n_per_class": 20, "n_features": 16}
    return make_features(**size | {"random_state": 0} | options, same_class=same_class)


def mean_correlations(made):
    """Return the mean inner product of two different samples, for each pair of classes."""
    sizes = np.bincount(made.labels)
    sums = np.zeros(made.class_means.shape)
    np.add.at(sums, made.labels, made.features.astype(np.float64))
    products = sums @ sums.T
    np.fill_diagonal(products, (np.diag(products) - sizes) * sizes / (sizes - 1))
    return products / np.outer(sizes, sizes)


@st.composite
def correlation_models(draw):
    names = draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    values = sorted(draw(st.lists(st.floats(0, 1), min_size=3, max_size=3)))
    model = dict(zip(("elsewhere", "same_superclass", "same_class"), values, strict=True))
    return model | {"superclass": np.unique(names, return_inverse=True)[1]}


@given(correlation_models(), st.integers(8, 20), st.integers(0, 2**32))
def test_class_means_have_the_requested_gram_matrix(model, n_features, seed):
    made = made_of(model, n_per_class=2, n_features=n_features, random_state=seed)
    np.testing.assert_allclose(made.class_means @ made.class_means.T, gram_of(model), atol=1e-7)


@given(correlation_models(), st.integers(2, 20), st.integers(0, 2**32))
@settings(max_examples=50)
def test_rows_have_unit_norm_and_project_to_their_class_mean(model, n_features, seed):
    size = {"n_per_class": 3, "n_features": n_features}
    made = made_of(model, **size, random_state=seed, dtype=np.float64)
    assert made.features.shape == (3 * len(model["superclass"]), n_features)
    np.testing.assert_allclose(np.linalg.norm(made.features, axis=1), 1, rtol=1e-7)
    along = np.sum(made.features * made.class_means[made.labels], axis=1)
    np.testing.assert_allclose(along, model["same_class"], atol=1e-7)


@pytest.mark.parametrize("elsewhere", [0.0, 0.05, -0.05])
def test_samples_have_the_requested_correlations(elsewhere):
    model = {"same_class": 0.3, "same_superclass": 0.1, "elsewhere": elsewhere}
    model["superclass"] = np.arange(12) % 3
    found = mean_correlations(made_of(model, n_per_class=400, n_features=64))
    np.testing.assert_allclose(found, gram_of(model), atol=0.02)
    assert np.mean(found - gram_of(model)) == pytest.approx(0, abs=0.002)


def test_more_classes_than_features_have_the_correlations_on_average():
    superclass = np.arange(200) % 4
    model = {"superclass": superclass, "same_class": 0.3, "same_superclass": 0.05}
    made = made_of(model, n_per_class=5, n_features=64)
    error = made.class_means @ made.class_means.T - gram_of(model)
    np.testing.assert_allclose(np.diag(error), 0, atol=1e-12)
    apart = ~np.eye(200, dtype=bool)
    related = superclass[:, np.newaxis] == superclass
    assert error[apart & related].mean() == pytest.approx(0, abs=0.01)
    assert error[~related].mean() == pytest.approx(0, abs=0.01)
    # The docstring's estimate.
    assert error[apart].std() == pytest.approx(0.3 * np.sqrt(1 / 64 - 1 / 200), rel=0.25)


def test_few_features_are_exact_if_the_rank_allows():
    # Classes of one superclass share their mean: 3 directions are enough for 30 classes.
    model = {"superclass": np.arange(30) % 3, "same_class": 0.5, "same_superclass": 0.5}
    made = made_of(model, n_per_class=2, n_features=5)
    np.testing.assert_allclose(made.class_means @ made.class_means.T, gram_of(model), atol=1e-10)


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_spectrum_within_classes_is_a_power_law(decay):
    size = {"n_classes": 2, "n_per_class": 10_000, "n_features": 128}
    made = make_features(**size, same_class=0.3, decay=decay, random_state=0)
    within = made.features - made.class_means[made.labels]
    eigenvalues = np.linalg.eigvalsh(within.T @ within / len(within))[::-1]
    assert eigenvalues.sum() == pytest.approx(0.7, rel=1e-3)
    # Both ends deviate, because rows are scaled and two directions are lost.
    axis = np.arange(4, 100)
    slope = np.polyfit(np.log(axis), np.log(eigenvalues[axis - 1]), 1)[0]
    assert slope == pytest.approx(-decay, abs=0.15)


def test_rows_of_all_blocks_differ():
    sizes = [2000, 1, 3000]
    made = make_features(
        n_classes=3, n_per_class=sizes, n_features=8, same_class=0.2, random_state=0
    )
    assert np.bincount(made.labels).tolist() == sizes
    assert len(np.unique(made.features, axis=0)) == 5001
    np.testing.assert_allclose(np.linalg.norm(made.features, axis=1), 1, rtol=1e-5)


def test_seed_decides_the_features():
    states = (7, np.random.default_rng(7), 8)
    first, again, other = (small(random_state=state) for state in states)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.class_means, again.class_means)
    assert not np.array_equal(first.features, other.features)


def test_extreme_correlations():
    assert not small(same_class=0.0).class_means.any()
    no_noise = small(same_class=1.0)
    np.testing.assert_allclose(no_noise.features, no_noise.class_means[no_noise.labels], atol=1e-6)
    assert no_noise.superclass.tolist() == list(range(6))
    opposite = small(n_classes=2, same_class=1.0, elsewhere=-1.0)
    np.testing.assert_allclose(opposite.class_means[0], -opposite.class_means[1], atol=1e-9)


@pytest.mark.parametrize(
    ("superclass", "same_class", "same_superclass"),
    [
        (np.arange(100) % 3, 0.25, 0.02),  # three superclasses, as CIFAR-100 has in the paper
        ([0] * 7 + [1] * 2 + [2], 0.4, 0.1),
        ([0, 0, 0, 1, 1], 0.4, -0.05),
        (range(10), 0.3, 0.0),
    ],
)
def test_impossible_correlations_name_the_lowest_possible(superclass, same_class, same_superclass):
    model = {"superclass": superclass, "n_per_class": 1, "n_features": 100}
    model |= {"same_class": same_class, "same_superclass": same_superclass}
    with pytest.raises(ValueError, match=r"contradict each other.* negative eigenvalue") as error:
        made_of(model, elsewhere=-0.3)
    lowest = float(re.search(r"raise elsewhere to at least (-0\.\d+)\.", str(error.value))[1])
    made_of(model, elsewhere=lowest)
    with pytest.raises(ValueError, match=r"raise elsewhere"):
        made_of(model, elsewhere=lowest - 2e-6)
