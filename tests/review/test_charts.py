"""Positions of the marks in charts agree with their numbers."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from twohot.base.pictures import METHOD_COLOURS
from twohot.review.charts import choice_plot, method_dots
from twohot.review.records import ChoiceCurve, Curve, Method


def test_methods_are_sorted_and_inside_the_drawing() -> None:
    plot = method_dots((Method("a", 0.25, 0.5), Method("b", 0.9, 0.2, chosen=True)))
    high, low = plot.dots
    assert (low.low, low.place, low.high, low.chosen) == (0, 25, 75, False)
    assert (high.low, high.place, high.high, high.chosen) == (70, 90, 100, True)
    assert high.text == "90.0 ± 20.0 %"
    assert (plot.ticks[0], plot.ticks[-1]) == ((0, "0 %"), (100, "100 %"))


@given(st.floats(0.1, 0.9), st.floats(0, 0.01))
def test_two_points_of_difference_are_visible(agreement, error) -> None:
    better, worse = method_dots((Method("a", agreement, error), Method("b", agreement + 0.02))).dots
    assert (better.name, worse.name) == ("b", "a")
    assert better.place - worse.place > 30


def test_leaves_out_agreement_that_is_not_finite() -> None:
    (dot,) = method_dots((Method("a", math.nan), Method("b", 0.5, math.nan))).dots
    assert (dot.name, dot.low == dot.place == dot.high) == ("b", True)
    assert method_dots((Method("a", math.nan),)) is None
    assert method_dots(()) is None
    curve = Curve("a", ((0, 0.5), (1, math.nan), (10, 0.6), (math.inf, 0.7)))
    assert len(choice_plot(ChoiceCurve("ridge", (curve,))).lines[0].points) == 1
    assert choice_plot(ChoiceCurve("ridge", (Curve("a", ((0, 0.5),)),))) is None
    assert choice_plot(ChoiceCurve("ridge", ())) is None


def test_logarithmic_axis_spaces_factors_evenly() -> None:
    curve = Curve("a", ((100, 0.7), (1, 0.6), (10, 0.8)))
    level = Method("average of two", 0.75, method="average", chosen=True)
    plot = choice_plot(ChoiceCurve("ridge", (curve,), levels=(level,)))
    assert plot.lines[0].points == ((0, 100), (50, 0), (100, 50))
    assert plot.x_ticks == ((0, "1"), (50, "10"), (100, "100"))
    assert (plot.y_ticks[0], plot.y_ticks[-1]) == ((100, "60 %"), (0, "80 %"))
    # A method without ridge is a horizontal line.
    assert plot.lines[1].points == ((0, 25), (100, 25))
    assert plot.lines[1].style == "chosen"


def test_methods_have_the_same_colour_in_all_charts() -> None:
    choice = ChoiceCurve(
        "ridge",
        (
            Curve("robust", ((1, 0.6),), method="robust"),
            Curve("robust, half-whitened", ((1, 0.7),), method="robust", whiten=True),
            Curve("mine", ((1, 0.5),)),
            Curve("teacher", ((1, 0.5),)),
        ),
        levels=(Method("discriminant (shrinkage 0.1)", 0.65, method="discriminant"),),
    )
    plot = choice_plot(choice)
    colours = {line.name: line.colour for line in plot.lines}
    assert colours["robust"] == colours["robust, half-whitened"] == METHOD_COLOURS["robust"]
    assert [line.mark for line in plot.lines] == ["●", "○", "■", "▲", "◆"]
    assert colours["teacher"] == METHOD_COLOURS["teacher"]
    assert len(set(colours.values())) == 4
    (dot,) = method_dots((Method("robust (ridge 1)", 0.6, method="robust"),)).dots
    assert dot.colour == METHOD_COLOURS["robust"]
    many = ChoiceCurve("ridge", tuple(Curve(f"k{k}", ((1, 0.5),)) for k in range(30)))
    assert len({line.colour for line in choice_plot(many).lines}) == 30


@given(st.lists(st.tuples(st.floats(1e-9, 1e9), st.floats(0, 1)), min_size=1))
@example([(1.0, 1.0)])
@example([(1.0, 0.0)])
@example([(1.0, 0.5), (2.0, 0.5 + 1e-12)])
def test_marks_are_inside_the_drawing_and_ticks_are_few(points) -> None:
    ys = [y for _, y in points]
    plot = choice_plot(ChoiceCurve("ridge", (Curve("a", tuple(points)),)))
    for x, y in plot.lines[0].points:
        assert 0 <= x <= 100
        assert 0 <= y <= 100
    assert 2 <= len(plot.y_ticks) <= 7
    assert 1 <= len(plot.x_ticks) <= 6
    # The ticks around a mark give its number.
    (bottom, low), (top, high) = plot.y_ticks[0], plot.y_ticks[-1]
    low, high = float(low.split()[0]) / 100, float(high.split()[0]) / 100
    assert 0 <= low < high <= 1
    marks = sorted(y for _, y in plot.lines[0].points)
    assert marks[0] == pytest.approx(
        bottom - (max(ys) - low) / (high - low) * (bottom - top), abs=0.1
    )
