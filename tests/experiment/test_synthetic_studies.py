"""The numbers of the theory's figures, against measured tables."""

import numpy as np
import pytest

from twohot.experiment import synthetic_studies as studies

SETTING = studies.SyntheticSetting()


def test_counts_are_whole_balanced_and_as_even_as_can_be() -> None:
    for rate in (0.0, 0.01, 0.1, 0.5, 0.9):
        counts = SETTING.counts(rate)
        assert (counts.sum(axis=0) == 100).all()
        assert (counts.sum(axis=1) == 100).all()
        assert np.trace(counts) == round(400 * (1 - rate))
    assert SETTING.counts(0.5)[0].tolist() == [50, 17, 17, 16]


def test_accuracy_against_noise_as_measured() -> None:
    """Entries of the measured table: exactly on the block, three seeds' mean on the perturbed."""
    block = {  # noise rate → rounds 1 … 6, partial-label student
        0.0: [1, 1, 1, 1, 1, 1, 1],
        0.3: [0.7, 1, 1, 1, 1, 1, 1],
        0.5: [0.5, 0.5, 1, 1, 1, 1, 1],
        0.7: [0.3, 0.3, 0.3, 0.3, 0.3, 1, 1],
        0.8: [0.2, 0.2, 0.2, 0.2, 0, 0, 0],
    }
    perturbed = {
        0.3: [0.702, 0.917, 0.999, 1, 1, 1, 0.943],
        0.5: [0.501, 0.621, 0.868, 0.984, 0.999, 1, 0.877],
        0.7: [0.300, 0.313, 0.345, 0.409, 0.533, 0.689, 0.405],
    }
    study = studies.accuracy_study(SETTING, noise_rates=[*block])
    for column, rate in enumerate(block):
        np.testing.assert_allclose(study.block[:, column], block[rate], atol=1e-12)
        if rate in perturbed:
            np.testing.assert_allclose(study.perturbed[:, column], perturbed[rate], atol=0.04)


def test_softmax_errors_by_size_at_fixed_penalty_and_fixed_ridge() -> None:
    study = studies.softmax_error_study(SETTING, n_per_class=(1e2, 1e6), n_rounds=2)
    np.testing.assert_allclose(study.fixed_l2, [[1.57e-2, 2.94e-4], [3.10e-2, 4.61e-4]], rtol=5e-3)
    np.testing.assert_allclose(study.fixed_ridge[:, 1], [3.9e-2, 4.7e-2], atol=6e-4)


def test_separation_curves_cross_two_where_the_penalty_says() -> None:
    study = studies.separation_study()
    crossing = {name: study.l2[np.argmax(curve > 2)] for name, curve in study.curves.items()}
    assert crossing["CIFAR-100"] == pytest.approx(1.52e-7, rel=0.08)
    assert crossing["Flowers-102"] == pytest.approx(1.09e-6, rel=0.08)
