"""Bar figures show the given numbers; missing ones leave a gap."""

from dataclasses import replace

import numpy as np
import pytest

from twohot_paper.real_figures import MethodCurve, NoisePanel, gain_bars_figure

NAN = float("nan")


def panel(title="Flowers-102"):
    curves = (
        MethodCurve("student", "#0072B2", (1.0, NAN, 3.0), (0.2, NAN, NAN)),
        MethodCurve("two-hot", "#E69F00", (-2.0, 1.0, 4.0), (NAN, NAN, NAN)),
    )
    return NoisePanel(title, (0.0, 0.5, 0.9), ("0", "0.5", "0.9"), curves)


def test_bars_show_the_means_side_by_side():
    figure = gain_bars_figure([panel()], ylabel="gain")
    (axes,) = figure.axes
    bars = [each for each in axes.containers if type(each).__name__ == "BarContainer"]
    student, two_hot = bars
    np.testing.assert_array_equal([bar.get_height() for bar in student], [1.0, np.nan, 3.0])
    np.testing.assert_array_equal([bar.get_height() for bar in two_hot], [-2.0, 1.0, 4.0])
    assert student[2].get_x() + student[2].get_width() == pytest.approx(two_hot[2].get_x())
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "0.5", "0.9"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["student", "two-hot"]
    # Only the student has a spread.
    assert sum(type(each).__name__ == "ErrorbarContainer" for each in axes.containers) == 1


def test_every_panel_has_a_title_and_empty_panels_are_hidden():
    figure = gain_bars_figure([panel(f"data {i}") for i in range(4)], ylabel="gain")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == [f"data {i}" for i in range(4)]
    assert [bool(axes.get_ylabel()) for axes in shown] == [True, False, False, True]
    assert [bool(axes.get_xlabel()) for axes in shown] == [False, True, True, True]


def test_marks_of_noise_rates_are_explained():
    marked = replace(panel(), rate_names=("0", "0.5†", "0.9"))
    (axes,) = gain_bars_figure([marked], ylabel="gain").axes
    assert [tick.get_text()[-1] for tick in axes.get_xticklabels()][1] == "†"
    assert axes.get_xlabel().endswith("\n† beyond recovery")
    (plain,) = gain_bars_figure([panel()], ylabel="gain").axes
    assert "\n" not in plain.get_xlabel()
