import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twohot.noise import make_features

SMALL = {"n_classes": 6, "n_per_class": 20, "n_features": 16, "same_class": 0.4}


def gram_of_classes(superclass, same_class, same_superclass, elsewhere):
    superclass = np.asarray(superclass)
    gram = np.where(superclass[:, np.newaxis] == superclass, same_superclass, elsewhere)
    np.fill_diagonal(gram, same_class)
    return gram


def mean_correlations(made):
    """Mean inner product of two different samples, for each pair of classes."""
    sizes = np.bincount(made.labels)
    sums = np.zeros(made.class_means.shape)
    np.add.at(sums, made.labels, made.features.astype(np.float64))
    products = sums @ sums.T
    np.fill_diagonal(products, (np.diag(products) - sizes) * sizes / (sizes - 1))
    return products / np.outer(sizes, sizes)


@st.composite
def correlation_models(draw):
    n_classes = draw(st.integers(1, 8))
    names = draw(st.lists(st.integers(0, 3), min_size=n_classes, max_size=n_classes))
    elsewhere, same_superclass, same_class = sorted(
        draw(st.lists(st.floats(0, 1), min_size=3, max_size=3))
    )
    return {
        "n_classes": n_classes,
        "superclass": np.unique(names, return_inverse=True)[1],
        "same_class": same_class,
        "same_superclass": same_superclass,
        "elsewhere": elsewhere,
    }


@given(correlation_models(), st.integers(8, 20), st.integers(0, 2**32))
def test_class_means_have_the_gram_matrix_asked_for(model, n_features, seed):
    made = make_features(**model, n_per_class=2, n_features=n_features, random_state=seed)
    expected = gram_of_classes(
        model["superclass"], model["same_class"], model["same_superclass"], model["elsewhere"]
    )
    np.testing.assert_allclose(made.class_means @ made.class_means.T, expected, atol=1e-7)


@given(correlation_models(), st.integers(2, 20), st.integers(0, 2**32))
@settings(max_examples=50)
def test_rows_have_unit_norm_and_their_class_mean_as_projection(model, n_features, seed):
    made = make_features(
        **model, n_per_class=3, n_features=n_features, random_state=seed, dtype=np.float64
    )
    assert made.features.shape == (3 * model["n_classes"], n_features)
    np.testing.assert_allclose(np.linalg.norm(made.features, axis=1), 1, rtol=1e-7)
    along = np.sum(made.features * made.class_means[made.labels], axis=1)
    np.testing.assert_allclose(along, model["same_class"], atol=1e-7)


@pytest.mark.parametrize("elsewhere", [0.0, 0.05, -0.05])
def test_samples_correlate_as_asked(elsewhere):
    superclass = np.arange(12) % 3
    made = make_features(
        n_classes=12,
        n_per_class=400,
        n_features=64,
        same_class=0.3,
        same_superclass=0.1,
        elsewhere=elsewhere,
        superclass=superclass,
        random_state=0,
    )
    expected = gram_of_classes(superclass, 0.3, 0.1, elsewhere)
    np.testing.assert_allclose(mean_correlations(made), expected, atol=0.02)
    assert np.mean(mean_correlations(made) - expected) == pytest.approx(0, abs=0.002)


def test_more_classes_than_features_correlate_as_asked_on_average():
    superclass = np.arange(200) % 4
    made = make_features(
        n_classes=200,
        n_per_class=5,
        n_features=64,
        same_class=0.3,
        same_superclass=0.05,
        superclass=superclass,
        random_state=0,
    )
    error = made.class_means @ made.class_means.T - gram_of_classes(superclass, 0.3, 0.05, 0)
    np.testing.assert_allclose(np.diag(error), 0, atol=1e-12)
    apart = ~np.eye(200, dtype=bool)
    related = superclass[:, np.newaxis] == superclass
    assert error[apart & related].mean() == pytest.approx(0, abs=0.01)
    assert error[~related].mean() == pytest.approx(0, abs=0.01)
    # The docstring's estimate.
    assert error[apart].std() == pytest.approx(0.3 * np.sqrt(1 / 64 - 1 / 200), rel=0.25)


def test_few_features_are_exact_where_the_rank_allows():
    # Classes of one superclass share their mean: 3 directions serve 30 classes.
    superclass = np.arange(30) % 3
    made = make_features(
        n_classes=30,
        n_per_class=2,
        n_features=5,
        same_class=0.5,
        same_superclass=0.5,
        superclass=superclass,
        random_state=0,
    )
    np.testing.assert_allclose(
        made.class_means @ made.class_means.T, gram_of_classes(superclass, 0.5, 0.5, 0), atol=1e-10
    )


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_the_spectrum_within_classes_is_a_power_law(decay):
    made = make_features(
        n_classes=2, n_per_class=10_000, n_features=128, same_class=0.3, decay=decay, random_state=0
    )
    within = made.features - made.class_means[made.labels]
    eigenvalues = np.linalg.eigvalsh(within.T @ within / len(within))[::-1]
    assert eigenvalues.sum() == pytest.approx(0.7, rel=1e-3)
    # Away from both ends, where scaling to unit norm and two lost directions bend it.
    axis = np.arange(4, 100)
    slope = np.polyfit(np.log(axis), np.log(eigenvalues[axis - 1]), 1)[0]
    assert slope == pytest.approx(-decay, abs=0.15)


def test_blocks_leave_no_seam():
    made = make_features(
        n_classes=3, n_per_class=[2000, 1, 3000], n_features=8, same_class=0.2, random_state=0
    )
    assert np.bincount(made.labels).tolist() == [2000, 1, 3000]
    assert len(np.unique(made.features, axis=0)) == 5001
    np.testing.assert_allclose(np.linalg.norm(made.features, axis=1), 1, rtol=1e-5)


def test_a_seed_decides_everything():
    first = make_features(**SMALL, random_state=7)
    again = make_features(**SMALL, random_state=np.random.default_rng(7))
    other = make_features(**SMALL, random_state=8)
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.class_means, again.class_means)
    assert not np.array_equal(first.features, other.features)


def test_extremes():
    noise_only = make_features(**SMALL | {"same_class": 0.0}, random_state=0)
    assert not noise_only.class_means.any()
    no_noise = make_features(**SMALL | {"same_class": 1.0}, random_state=0)
    np.testing.assert_allclose(no_noise.features, no_noise.class_means[no_noise.labels], atol=1e-6)
    assert no_noise.superclass.tolist() == list(range(6))
    # Opposite classes: the most negative correlation there is.
    opposite = make_features(
        **SMALL | {"n_classes": 2, "same_class": 1.0}, elsewhere=-1.0, random_state=0
    )
    np.testing.assert_allclose(opposite.class_means[0], -opposite.class_means[1], atol=1e-9)


@pytest.mark.parametrize(
    ("superclass", "same_class", "same_superclass"),
    [
        (np.arange(100) % 3, 0.25, 0.02),  # three superclasses, as CIFAR-100 has in the paper
        ([0] * 7 + [1] * 2 + [2], 0.4, 0.1),
        ([0, 0, 0, 1, 1], 0.4, -0.05),
        (None, 0.3, 0.0),
    ],
)
def test_correlations_too_negative_name_the_lowest_that_works(
    superclass, same_class, same_superclass
):
    model = {
        "n_classes": 10 if superclass is None else len(superclass),
        "n_per_class": 1,
        "n_features": 100,
        "same_class": same_class,
        "same_superclass": same_superclass,
        "superclass": superclass,
    }
    with pytest.raises(
        ValueError, match=r"contradict each other.* the negative eigenvalue"
    ) as error:
        make_features(**model, elsewhere=-0.3)
    lowest = float(re.search(r"raise elsewhere to at least (-0\.\d+)\.", str(error.value))[1])
    make_features(**model, elsewhere=lowest)
    with pytest.raises(ValueError, match=r"raise elsewhere"):
        make_features(**model, elsewhere=lowest - 2e-6)
