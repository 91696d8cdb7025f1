"""The theory's figures, by what they show."""

import sys

import numpy as np
import pytest

from twohot.experiment import synthetic_studies as studies
from twohot.figures import theory as figures

SETTING = studies.SyntheticSetting()


@pytest.fixture(scope="module")
def outputs() -> studies.OutputStudy:
    return studies.output_study(SETTING, n_rounds=3)


def test_eigenvalue_figure_has_one_line_per_round_and_panel() -> None:
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
    assert labels == ["teacher (t = 1)", "student (t = 2)", "partial-label student"]
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
