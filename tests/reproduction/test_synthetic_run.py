"""The synthetic experiment against earlier measurements, and by hand."""

import numpy as np
import pytest

from twohot.base.messages import ArgumentError
from twohot_paper.synthetic_setting import (
    TIE_RULES,
    SyntheticMatrix,
    SyntheticResult,
    SyntheticRun,
    SyntheticSetting,
    measure_synthetic,
    summarise,
)

SETTING = SyntheticSetting()

# Noise rate → accuracy of rounds 1 … 6 on the block model, and of the two-hot student, ties spread.
BLOCK = {
    0.0: [1, 1, 1, 1, 1, 1, 1],
    0.1: [0.9, 1, 1, 1, 1, 1, 1],
    0.2: [0.8, 1, 1, 1, 1, 1, 1],
    0.3: [0.7, 1, 1, 1, 1, 1, 1],
    0.4: [0.6, 0.6, 1, 1, 1, 1, 1],
    0.5: [0.5, 0.5, 1, 1, 1, 1, 1],
    0.6: [0.4, 0.4, 0.4, 1, 1, 1, 1],
    0.7: [0.3, 0.3, 0.3, 0.3, 0.3, 1, 1],
    0.8: [0.2, 0.2, 0.2, 0.2, 0, 0, 0],
    0.9: [0.1, 0.1, 0, 0, 0, 0, 0],
}
# Half of the labels wrong, mean of three draws: rounds 1 … 6, two-hot student.
PERTURBED = {
    "raw": [0.503, 0.632, 0.818, 0.941, 0.994, 1, 0.762],
    "repaired": [0.501, 0.621, 0.868, 0.984, 0.999, 1, 0.877],
}


def accuracies(result: SyntheticResult) -> list[float]:
    return [each.accuracy for each in (*result.rounds, result.two_hot["spread"])]


def test_counts_are_whole_and_even() -> None:
    for rate in (0.0, 0.0025, 0.005, 0.01, 0.1, 0.5, 0.75, 0.9):
        counts = SETTING.counts(rate)
        assert (counts.sum(axis=1) == 100).all()
        assert np.trace(counts) == round(400 * (1 - rate))
        assert np.ptp(np.diag(counts)) <= 1
        if round(400 * rate) % 4 == 0:
            assert (counts.sum(axis=0) == 100).all()
    assert SETTING.counts(0.5)[0].tolist() == [50, 17, 17, 16]
    assert SETTING.counts(0.0025).tolist()[0] == [99, 1, 0, 0]
    true, given = SETTING.labels(0.3)
    assert (true != given).mean() == pytest.approx(0.3)


@pytest.mark.parametrize("rate", BLOCK)
def test_accuracies_on_the_block_model(rate: float) -> None:
    result = measure_synthetic(SyntheticRun(SyntheticMatrix(SETTING), rate, n_rounds=6))
    np.testing.assert_allclose(accuracies(result), BLOCK[rate], atol=1e-12)
    assert result.truth_leads == (rate < 0.75)
    assert result.converged
    assert result.residual < 1e-15


def test_ties_on_the_block_model() -> None:
    """With one wrong label per class, all samples have the same two candidates."""
    found = {
        rate: measure_synthetic(SyntheticRun(SyntheticMatrix(SETTING), rate, n_rounds=1))
        for rate in (0.0, 0.01)
    }
    assert [found[0.01].two_hot[rule].tied for rule in TIE_RULES] == [1, 1, 1]
    assert [found[0.01].two_hot[rule].accuracy for rule in TIE_RULES] == [0, 0, 0]
    assert [found[0.0].two_hot[rule].accuracy for rule in TIE_RULES] == [0.25, 1, 1]
    assert found[0.0].truth_in_top_two == 1
    assert found[0.0].truth_in_top_two_noisy is None
    assert found[0.0].rounds[0].noisy_true is None


def test_accuracies_on_perturbed_matrices() -> None:
    """The two-hot student is below 100 % on both perturbed matrices."""
    for kind, measured in PERTURBED.items():
        results = [
            measure_synthetic(SyntheticRun(SyntheticMatrix(SETTING, kind, seed=seed), 0.5, 6))
            for seed in (0, 1)
        ]
        found = np.mean([accuracies(result) for result in results], axis=0)
        np.testing.assert_allclose(found, measured, atol=0.03)
        assert all(result.converged and result.residual < 1e-15 for result in results)
        assert all(result.truth_in_top_two < 0.95 for result in results)


def test_a_summary_by_hand() -> None:
    outputs = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    true, given = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    found = summarise(outputs, true, given)
    assert (found.accuracy, found.tied) == (0.25, 0.25)
    assert (found.clean_true.mean, found.clean_true.std) == pytest.approx((0.5, 0.1))
    assert found.clean_other.mean == pytest.approx((0.3 + 0.1 + 0.4 + 0.2) / 4)
    assert found.noisy_true.mean == pytest.approx(0.2)
    assert found.noisy_given.mean == pytest.approx(0.6)
    assert found.noisy_other.mean == pytest.approx((0.3 + 0.1) / 2)
    means = np.array([[0.4, 0.4, 0.2], [0.25, 0.3, 0.45]])
    within = np.square(outputs - means[true]).sum(axis=1).mean()
    between = np.square(means - means.mean(axis=0)).sum(axis=1).mean()
    assert found.scatter == pytest.approx(np.sqrt(within / between), abs=1e-6)


def test_rejects_unknown_kinds_of_matrix() -> None:
    with pytest.raises(ArgumentError, match="repaird"):
        SyntheticMatrix(kind="repaird")
