"""The charts of a review page: positions of dots, lines and axis ticks.

Positions are in percent of a chart's width and height, from its left and its top. So a chart
scales with the page while its text keeps its size.
"""

import math
from dataclasses import dataclass

from twohot.base import method_colours
from twohot.review.records import ChoiceCurve, Curve, Method

# Allowed distances between two ticks of an axis of agreement.
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
MOST_TICKS = 6
# Marks of the methods, in pairs: filled marks, and open marks for half-whitened features.
MARKS = ("●○", "■□", "▲△", "◆◇", "▼▽", "★☆")


@dataclass(frozen=True)
class Dot:
    """One method as a dot with an error bar."""

    name: str
    colour: str  # of the method
    place: float  # position on the axis
    low: float  # left end of the error bar: one standard error below the agreement
    high: float  # right end of the error bar
    text: str  # agreement and standard error
    chosen: bool


@dataclass(frozen=True)
class DotPlot:
    """The agreement of each method as a dot, and the ticks of the axis."""

    dots: tuple[Dot, ...]  # highest agreement first
    ticks: tuple[tuple[float, str], ...]  # position and text


@dataclass(frozen=True)
class DrawnLine:
    """One line of a chart."""

    name: str
    colour: str  # of the method
    points: tuple[tuple[float, float], ...]  # positions x and y, connected in this order
    mark: str  # a character of MARKS, drawn at each point
    style: str = "curve"  # "open": half-whitened; "level": horizontal; "chosen": chosen level


@dataclass(frozen=True)
class Plot:
    """The agreement (y) of each method against a parameter (x), and the ticks of the axes."""

    x_name: str
    lines: tuple[DrawnLine, ...]  # curves, then horizontal lines
    x_ticks: tuple[tuple[float, str], ...]  # position and text
    y_ticks: tuple[tuple[float, str], ...]  # position and text


def method_dots(methods: tuple[Method, ...]) -> DotPlot | None:
    """Return the chart of the methods' agreement, or None if no agreement is finite.

    The axis does not start at zero, so that small differences are visible.

    Examples
    --------
    >>> plot = method_dots((Method("teacher", 0.80, 0.005), Method("student", 0.82, 0.005)))
    >>> [(dot.name, dot.place) for dot in plot.dots]
    [('student', 75.0), ('teacher', 25.0)]
    >>> [text for _, text in plot.ticks]
    ['79 %', '80 %', '81 %', '82 %', '83 %']
    """
    known = [method for method in methods if math.isfinite(method.agreement)]
    if not known:
        return None
    ends = [end for method in known for end in _ends(method)]
    ticks, decimals = _round_ticks(min(ends), max(ends))

    def place(agreement: float) -> float:
        return _percent(agreement, ticks[0], ticks[-1])

    def dot(method: Method) -> Dot:
        low, high = map(place, _ends(method))
        text = f"{100 * method.agreement:.1f} ± {100 * method.standard_error:.1f} %"
        colour = colours[method.method or method.name]
        return Dot(method.name, colour, place(method.agreement), low, high, text, method.chosen)

    colours = method_colours(method.method or method.name for method in known)
    best_first = sorted(known, key=lambda method: -method.agreement)
    labels = ((place(tick), f"{100 * tick:.{decimals}f} %") for tick in ticks)
    return DotPlot(tuple(map(dot, best_first)), tuple(labels))


def _ends(method: Method) -> tuple[float, float]:
    """Return the ends of the error bar within [0, 1]; an unknown standard error counts as zero."""
    error = method.standard_error if math.isfinite(method.standard_error) else 0.0
    return max(method.agreement - error, 0.0), min(method.agreement + error, 1.0)


def choice_plot(choice: ChoiceCurve) -> Plot | None:
    """Return the chart of agreement by a parameter, or None if no point is finite."""
    # The finite points of each curve, with the logarithm of x.
    curves = [
        [(math.log10(x), y) for x, y in curve.points if 0 < x < math.inf and math.isfinite(y)]
        for curve in choice.curves
    ]
    marks = [mark for curve in curves for mark in curve]
    if not marks:
        return None
    levels = [level for level in choice.levels if math.isfinite(level.agreement)]
    xs = sorted({x for x, _ in marks})
    ys = [*(y for _, y in marks), *(level.agreement for level in levels)]
    y_ticks, decimals = _round_ticks(min(ys), max(ys))

    def place(mark: tuple[float, float]) -> tuple[float, float]:
        x, y = mark
        return _percent(x, xs[0], xs[-1]), round(100 - _percent(y, y_ticks[0], y_ticks[-1]), 2)

    def line(of: Curve | Method, points: list[tuple[float, float]], style: str) -> DrawnLine:
        method = of.method or of.name
        mark = MARKS[list(colours).index(method) % len(MARKS)][style == "open"]
        return DrawnLine(of.name, colours[method], tuple(points), mark, style)

    all_drawn: list[Curve | Method] = [*choice.curves, *levels]
    colours = method_colours(of.method or of.name for of in all_drawn)
    lines = [
        line(curve, list(map(place, sorted(drawn))), "open" if curve.whiten else "curve")
        for curve, drawn in zip(choice.curves, curves, strict=True)
    ]
    for level in levels:
        y = place((xs[0], level.agreement))[1]
        lines.append(line(level, [(0.0, y), (100.0, y)], "chosen" if level.chosen else "level"))
    # Every value of the parameter has a tick; if there are many values, every n-th one.
    shown = xs[:: math.ceil(len(xs) / MOST_TICKS)]
    x_labels = tuple((_percent(x, xs[0], xs[-1]), f"{10**x:.3g}") for x in shown)
    y_labels = tuple((place((xs[0], y))[1], f"{100 * y:.{decimals}f} %") for y in y_ticks)
    return Plot(choice.x_name, tuple(lines), x_labels, y_labels)


def _round_ticks(low: float, high: float) -> tuple[list[float], int]:
    """Return the ticks of an axis (round numbers), and how many decimals their percentages need."""
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS - 2), STEPS[-1])
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first >= last:  # all values are equal, and an axis needs two ticks between 0 and 1
        first, last = (0, 1) if last <= 0 else (last - 1, last)
    return [step * number for number in range(first, last + 1)], 1 if step < 0.01 else 0


def _percent(value: float, low: float, high: float) -> float:
    """Return the position of a value between two ends, in percent; 50 if the ends are equal."""
    return round(100 * (value - low) / (high - low), 2) if high > low else 50.0
