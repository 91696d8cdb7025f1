"""Gaussian classes have the means and covariances asked for."""

import numpy as np
import pytest

from twohot.noise import make_gaussians

MEANS = [[3, 2], [7, 7], [0, 8]]
COVARIANCES = [[[5, -1.5], [-1.5, 1]], [[1, 0.5], [0.5, 4]], [[5, 1], [1, 5]]]


def test_classes_have_their_means_and_covariances():
    made = make_gaussians(MEANS, COVARIANCES, [40_000, 20_000, 20_000], random_state=0)
    assert np.bincount(made.labels).tolist() == [40_000, 20_000, 20_000]
    assert made.superclass.tolist() == [0, 1, 2]
    for k in range(3):
        rows = made.features[made.labels == k].astype(np.float64)
        # Four standard errors: of a mean √(5 / 20,000), of a covariance 5 · √(2 / 20,000).
        np.testing.assert_allclose(rows.mean(axis=0), MEANS[k], atol=0.064)
        np.testing.assert_allclose(np.cov(rows.T), COVARIANCES[k], atol=0.2)


def test_whitened_rows_are_standard_normal_in_all_directions():
    """The fourth moment of a Gaussian is three times its squared variance."""
    made = make_gaussians(MEANS, COVARIANCES, 50_000, random_state=1, dtype="float64")
    for k, covariance in enumerate(COVARIANCES):
        root = np.linalg.cholesky(covariance)
        white = np.linalg.solve(root, (made.features[made.labels == k] - MEANS[k]).T)
        np.testing.assert_allclose((white**4).mean(axis=1), 3, atol=0.2)


def test_one_covariance_serves_all_classes_and_may_be_singular():
    flat = np.diag([4.0, 0.0, 1.0])
    made = make_gaussians(np.eye(3), flat, 10, random_state=0, dtype=np.float64)
    same = make_gaussians(np.eye(3), [flat] * 3, 10, random_state=0, dtype=np.float64)
    np.testing.assert_array_equal(made.features, same.features)
    np.testing.assert_allclose(made.features[:, 1], np.eye(3)[made.labels, 1])
    still = make_gaussians(np.eye(3), np.zeros((3, 3)), 2, dtype=np.float64)
    np.testing.assert_array_equal(still.features, np.repeat(np.eye(3), 2, axis=0))


def test_a_seed_decides_everything():
    first, again, other = (make_gaussians(MEANS, COVARIANCES, 5, random_state=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.features, again.features)
    assert not np.array_equal(first.features, other.features)
    assert first.features.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_means": [1, 2]}, r"class_means has shape \(2,\) .* pass one row of numbers"),
        ({"class_means": []}, r"class_means has shape \(0,\)"),
        ({"class_means": [[1, 2], [3]]}, r"class_means has shape \(\) and dtype object"),
        ({"class_means": [["a", "b"]]}, r"class_means has shape \(1, 2\) and dtype <U1"),
        ({"class_means": [[0, np.nan]] * 3}, r"class_means contains NaN or infinity"),
        ({"covariances": np.eye(3)}, r"covariances has shape \(3, 3\) .* \(3, 2, 2\), or \(2, 2\)"),
        ({"covariances": COVARIANCES[:2]}, r"covariances has shape \(2, 2, 2\)"),
        ({"covariances": [[1, np.inf], [np.inf, 1]]}, r"covariances contains NaN or infinity"),
        ({"covariances": [[1, 0.5], [0, 1]]}, r"covariances is not symmetric"),
        ({"covariances": [[1, 2], [2, 1]]}, r"covariances has the eigenvalue -1 for class 0"),
        ({"covariances": -np.eye(2)}, r"covariances has the eigenvalue -1 for class 0"),
        ({"n_per_class": 0}, r"n_per_class=0 is not allowed"),
        ({"n_per_class": [1, 2]}, r"n_per_class has shape \(2,\) .* pass 3 integers"),
        ({"random_state": -3}, r"random_state=-3 seeds nothing"),
        ({"dtype": np.float16}, r"pass float32 or float64"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"class_means": MEANS, "covariances": COVARIANCES, "n_per_class": 5}
    with pytest.raises(ValueError, match=message):
        make_gaussians(**arguments | change)
