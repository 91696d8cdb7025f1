"""Figures of real datasets: correlation maps, dendrograms, and bars against the noise rate."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twohot.base import GREEN, METHOD_COLOURS, ORANGE, SKY, FloatArray, new_figure
from twohot.describe import draw_dendrogram, draw_map, map_order

if TYPE_CHECKING:
    from twohot.describe import Superclasses


# The colours of rounds darken from the teacher to the sixth student. The markers of rounds differ
# too, so that rounds can be distinguished in grey print.
ROUND_COLOURS = ("#9fcbee", "#7bb2e0", "#5a97ce", "#3d7cb9", "#24609f", "#114581", "#082c5e")
ROUND_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MODEL_COLOURS = {
    **METHOD_COLOURS,
    "rounds": SKY,
    "two-hot": ORANGE,
    "two-hot by cross-entropy": "#3F3F8F",
    "two-hot from zero": "#8C6D1F",
    "tuned teacher": GREEN,
    **{f"round {t}": colour for t, colour in enumerate(ROUND_COLOURS, start=1)},
    # The colours of students with another number of candidates than two darken with this number.
    "top-1": "#C7E3C9",
    "top-3": "#7CBF8E",
    "top-5": "#2E8B6A",
    "top-10": "#0B4F45",
}

N_COLUMNS = 3  # panels side by side

# Quantile of the correlations between classes at which the colour is darkest. Larger correlations
# have the same colour. If the darkest colour were that of the maximum, a few pairs of similar
# classes would make all other pairs white.
COLOURED = 0.995


@dataclass(frozen=True, eq=False)
class ClassPanel:
    """Class correlations and clustering of one dataset, for figures."""

    title: str
    classes: tuple[str, ...]
    means: FloatArray  # (n_classes, n_classes), mean correlations
    superclasses: "Superclasses"


def correlation_maps_figure(panels: Sequence[ClassPanel]) -> Any:
    """Return a figure of the maps of all datasets, classes ordered by superclass."""
    figure, all_axes = _grid(len(panels), 3.6, 3.7)
    between = [np.abs(each.means[~np.eye(len(each.means), dtype=bool)]) for each in panels]
    limit = max(*(float(np.quantile(each, COLOURED)) for each in between), 1e-12)
    for axes, panel in zip(all_axes, panels, strict=True):
        superclass = panel.superclasses.superclass
        order = map_order(panel.superclasses, superclass)
        image = draw_map(axes, panel.means, superclass, order, limit)
        n_groups = panel.superclasses.n_superclasses
        title = f"{panel.title}\n{len(order)} classes, superclasses: {n_groups}"
        axes.set_title(title, fontsize=10, parse_math=False)
        axes.set(xticks=[], yticks=[])
    figure.colorbar(image, ax=all_axes, extend="both", shrink=0.7, label="mean correlation")
    return figure


def dendrograms_figure(panels: Sequence[ClassPanel]) -> Any:
    """Return a figure of the dendrograms of all datasets, with coloured superclasses."""
    most = max(len(each.classes) for each in panels)
    figure = new_figure(min(max(8.0, 0.15 * most), 20.0), 4.0 * len(panels))
    for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw_dendrogram(axes, panel.superclasses, panel.classes, leaf_font_size=8)
        n_groups = panel.superclasses.n_superclasses
        title = f"{panel.title}: {len(panel.classes)} classes, superclasses: {n_groups}"
        axes.set(ylabel="merge distance", title=title)
    return figure


def _grid(
    n_panels: int, width: float, height: float, *, legend: float = 0.3, share_y: bool = False
) -> tuple[Any, list[Any]]:
    """Return a figure and its `n_panels` panels of a given size, with a legend's height above."""
    n_columns = min(n_panels, N_COLUMNS)
    n_rows = math.ceil(n_panels / n_columns)
    figure = new_figure(max(width * n_columns, 5.5), height * n_rows + legend)
    share = "row" if share_y else "none"
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharey=share).ravel()
    for axes in grid[n_panels:]:
        axes.set_visible(False)
    return figure, list(grid[:n_panels])


# Helpers of figures with several panels: empty panels, lines of rounds and their names ------------


def new_panels(
    width: float, height: float, n_rows: int, n_columns: int, *, share_y: bool = False
) -> tuple[Any, Any]:
    """Return an empty figure, whose size is in inches, and its panels (n_rows, n_columns)."""
    figure = new_figure(width, height)
    panels = figure.subplots(n_rows, n_columns, sharey=share_y, squeeze=False)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, panels


def round_name(number: int) -> str:
    """Return the name of a round in legends."""
    return "teacher (t = 1)" if number == 1 else f"student (t = {number})"


def round_lines(rows: FloatArray) -> Iterator[tuple[int, FloatArray, dict[str, Any]]]:
    """Yield the number, the values and the line style of every round; round 1 is the teacher.

    The rounds after round 7 have the style of round 7.
    """
    styles = list(zip(ROUND_COLOURS, ROUND_MARKERS, strict=True))
    for number, row in enumerate(rows, start=1):
        colour, marker = styles[min(number, len(styles)) - 1]
        yield number, row, {"color": colour, "marker": marker, "markersize": 4}


# Numbers against the noise rate, one panel per dataset: grouped bars ------------------------------


PANEL_SIZE = 4.3, 2.9  # inches
BARS_WIDTH = 0.84  # width of all bars of one noise rate; the next noise rate is at distance 1

NOISE_RATE = "noise rate η (share of wrong labels)"
MARKS = {"†": "beyond recovery", "‡": "a model did not converge"}


@dataclass(frozen=True)
class MethodCurve:
    """The values of one method at every noise rate, for a group of bars."""

    label: str
    colour: str
    means: tuple[float, ...]  # by noise rate; NaN if there is no result
    stds: tuple[float, ...]  # by noise rate; NaN if there is a single draw


@dataclass(frozen=True)
class NoisePanel:
    """The curves and labels of one dataset in a figure."""

    title: str
    noise_rates: tuple[float, ...]
    rate_names: tuple[str, ...]  # noise rates as text, with the marks in MARKS
    curves: tuple[MethodCurve, ...]
    subtitle: str = ""  # the noise, the penalty and the number of draws


def gain_bars_figure(panels: Sequence[NoisePanel], *, ylabel: str, share_y: bool = False) -> Any:
    """Return a figure with a group of bars per noise rate; bars of losses point down.

    If `share_y`, the panels in one row of the figure have the same scale.
    """
    figure, all_axes = _grid(len(panels), *PANEL_SIZE, legend=0.5, share_y=share_y)
    for axes, panel in zip(all_axes, panels, strict=True):
        places = np.arange(len(panel.noise_rates))
        width = BARS_WIDTH / max(len(panel.curves), 1)
        for number, curve in enumerate(panel.curves):
            aside = (number - (len(panel.curves) - 1) / 2) * width
            bars = axes.bar(places + aside, curve.means, width, color=curve.colour)
            bars.set_label(curve.label)
            _error_bars(axes, places + aside, curve)
        axes.axhline(0, color="0.3", linewidth=0.8)
        axes.set_xticks(places, panel.rate_names)
        axes.set_xlim(-0.6, len(places) - 0.4)
    _finish(figure, all_axes, panels, ylabel)
    return figure


def _error_bars(axes: Any, places: Any, curve: MethodCurve) -> None:
    if any(std > 0 for std in curve.stds):
        axes.errorbar(
            places, curve.means, curve.stds, fmt="none", ecolor="0.15", elinewidth=0.8, capsize=1.5
        )


def _finish(figure: Any, all_axes: list[Any], panels: Sequence[NoisePanel], ylabel: str) -> None:
    """Label the axes, and add one legend."""
    n_columns = min(len(panels), N_COLUMNS)
    names: dict[str, Any] = {}
    for number, (axes, panel) in enumerate(zip(all_axes, panels, strict=True)):
        title = "\n".join(filter(None, (panel.title, panel.subtitle)))
        axes.set_title(title, fontsize=10, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        if number % n_columns == 0:
            axes.set_ylabel(ylabel)
        if number + n_columns >= len(panels):
            axes.set_xlabel("\n".join([NOISE_RATE, *_meanings(panels)]))
        handles, labels = axes.get_legend_handles_labels()
        names |= dict(zip(labels, handles, strict=True))
    if names:
        # Approximate width of a legend entry in inches; more entries start another line.
        key_width = 0.8 + 0.08 * max(map(len, names))
        n_keys = max(1, min(len(names), int(figure.get_figwidth() / key_width)))
        legend = {"loc": "outside upper center", "ncols": n_keys, "frameon": False}
        figure.legend(names.values(), names.keys(), fontsize=10, **legend)


def _meanings(panels: Sequence[NoisePanel]) -> list[str]:
    """Return one line with the meanings of the marks that the panels have; [] without marks."""
    found = "".join(name for panel in panels for name in panel.rate_names)
    words = [f"{mark} {meaning}" for mark, meaning in MARKS.items() if mark in found]
    return [", ".join(words)] if words else []
