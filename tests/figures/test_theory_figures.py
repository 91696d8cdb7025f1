"""The theory's figures: their numbers against measured tables, their drawing by what it shows."""

import sys

import numpy as np
import pytest

from twohot.figures import theory as figures
from twohot.figures import theory_studies as studies

SETTING = studies.SyntheticSetting()


@pytest.fixture(scope="module")
def outputs() -> studies.OutputStudy:
    return studies.output_study(SETTING, n_rounds=3)


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


def test_eigenvalue_figure_has_a_line_a_round_and_panel() -> None:
    study = studies.eigenvalue_study(SETTING, n_rounds=3)
    assert study.block.shape == study.perturbed.shape == (3, 400)
    np.testing.assert_allclose(study.block[:, 4], 0.5454545454545454 ** np.arange(1, 4))
    drawn = figures.eigenvalue_figure(study)
    for axes, values in zip(drawn.axes, (study.block, study.perturbed), strict=True):
        lines = axes.get_lines()[:3]
        np.testing.assert_array_equal([line.get_ydata() for line in lines], values)


def test_output_plane_places_samples_between_the_corners(outputs: studies.OutputStudy) -> None:
    drawn = figures.output_plane_figure(outputs, rounds=(1, 3))
    assert len(drawn.axes) == 4
    teacher = drawn.axes[0]
    assert teacher.get_title() == "teacher (t = 1)"
    # wrong and right samples of class 0, in this order; the right ones sit near corner 0
    wrong, right = (part.get_offsets() for part in teacher.collections[:2])
    assert len(wrong) == len(right) == 50
    corner = np.sqrt([0.5, 0.5])
    assert (
        np.linalg.norm(right - corner, axis=1).max() < np.linalg.norm(wrong - corner, axis=1).min()
    )


def test_label_outputs_cross_at_the_third_round(outputs: studies.OutputStudy) -> None:
    drawn = figures.label_output_figure(outputs)
    by_label = {line.get_label(): line.get_ydata() for line in drawn.axes[1].get_lines()}
    ahead = by_label["true label"] > by_label["given label"]
    assert ahead.tolist() == [False, False, True]
    assert [line.get_label() for line in drawn.axes[0].get_lines()] == [
        "true label",
        "other labels",
    ]


def test_remaining_figures_name_their_axes() -> None:
    accuracy = studies.AccuracyStudy(np.array([0.0, 0.5]), np.ones((3, 2)), np.ones((3, 2)))
    drawn = figures.accuracy_figure(accuracy)
    assert drawn.axes[0].get_ylabel() == "training accuracy (%)"
    labels = [text.get_text() for text in drawn.axes[0].get_legend().get_texts()]
    assert labels == ["teacher (t = 1)", "student t = 2", "partial-label student"]
    errors = studies.SoftmaxErrorStudy(
        np.array([1e2, 1e4]), np.full((2, 2), 0.1), np.full((2, 2), 0.1), 1e-4, 0.5
    )
    assert figures.softmax_error_figure(errors).axes[1].get_xlabel() == "samples per class n"
    curves = studies.SeparationStudy(np.array([1e-6, 1e-4]), {"a": np.array([1.5, 3.0])})
    assert figures.separation_figure(curves).axes[0].get_ylabel() == "separation q/p"


def test_missing_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    study = studies.SeparationStudy(np.array([1e-6]), {})
    with pytest.raises(ImportError, match=r'pip install "twohot\[plot\]"'):
        figures.separation_figure(study)
