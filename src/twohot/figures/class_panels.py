"""How the classes of several data sets correlate, one panel each: maps, histograms, dendrograms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from twohot._types import FloatArray
from twohot.figures.correlations import draw_dendrogram, draw_map, map_order
from twohot.figures.file import new_figure
from twohot.figures.palette import BLUE, GREEN, group_colour

if TYPE_CHECKING:
    from twohot.classes import Superclasses

N_COLUMNS = 3  # panels side by side

# Share of the correlations between classes that colours tell apart; the others are as dark as
# can be. A few pairs of near twins would leave all else white.
COLOURED = 0.995

KINDS = (("same class", BLUE), ("same superclass", GREEN), ("other superclass", "0.55"))
MARKERS = ("v", "o", "^")  # of a small, a base and a big penalty


@dataclass(frozen=True, eq=False)
class ClassPanel:
    """What is shown of the classes of one data set."""

    title: str
    classes: tuple[str, ...]
    means: FloatArray  # (n_classes, n_classes), mean correlations
    superclasses: "Superclasses"


@dataclass(frozen=True)
class HistogramPanel:
    """Shares of three kinds of pairs by their correlation: of a class, of a superclass, others."""

    title: str
    edges: tuple[float, ...]
    shares: tuple[tuple[float, ...], ...]  # (3, n_bins)
    means: tuple[float | None, ...]


@dataclass(frozen=True)
class FeatureSeparation:
    """q/p of one data set, and the penalties at which it was trained."""

    title: str
    l2: tuple[float, ...]
    separation: tuple[float, ...]
    marked: tuple[tuple[float, float], ...]  # small, base and big penalty, with their q/p


def correlation_maps_figure(panels: Sequence[ClassPanel]) -> Any:
    """Draw the map of every data set, classes in the order of their superclasses."""
    figure, all_axes = _grid(len(panels), 3.6, 3.7)
    between = [np.abs(each.means[~np.eye(len(each.means), dtype=bool)]) for each in panels]
    limit = max(*(float(np.quantile(each, COLOURED)) for each in between), 1e-12)
    for axes, panel in zip(all_axes, panels, strict=True):
        superclass = panel.superclasses.superclass
        order = map_order(panel.superclasses, superclass)
        image = draw_map(axes, panel.means, superclass, order, limit)
        n_classes = f"{len(order)} classes"
        axes.set_title(
            f"{panel.title}\n{n_classes}, superclasses: {_count(panel)}",
            fontsize=10,
            parse_math=False,
        )
        axes.set(xticks=[], yticks=[])
    figure.colorbar(image, ax=all_axes, extend="both", shrink=0.7, label="mean correlation")
    return figure


def dendrograms_figure(panels: Sequence[ClassPanel]) -> Any:
    """Draw the dendrogram of every data set, one below the other, superclasses coloured."""
    most = max(len(each.classes) for each in panels)
    figure = new_figure(min(max(8.0, 0.15 * most), 20.0), 4.0 * len(panels))
    for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw_dendrogram(axes, panel.superclasses, panel.classes, leaf_font_size=8)
        title = f"{panel.title}: {len(panel.classes)} classes, superclasses: {_count(panel)}"
        axes.set(ylabel="merge distance", title=title)
    return figure


def pair_histograms_figure(panels: Sequence[HistogramPanel]) -> Any:
    """Draw how often every correlation is found, for the three kinds of pairs of rows."""
    figure, all_axes = _grid(len(panels), 4.2, 2.6)
    for number, (axes, panel) in enumerate(zip(all_axes, panels, strict=True)):
        edges = np.array(panel.edges)
        for (name, colour), shares, mean in zip(KINDS, panel.shares, panel.means, strict=True):
            density = np.array(shares) / np.diff(edges)
            axes.stairs(density, edges, fill=True, color=colour, alpha=0.25)
            axes.stairs(density, edges, color=colour, linewidth=1.3, label=name)
            if mean is not None:
                axes.axvline(mean, color=colour, linestyle="--", linewidth=1)
        seen = edges[:-1][np.max(panel.shares, axis=0) > 1e-4]
        axes.set_xlim(seen.min(initial=-0.1), seen.max(initial=0.1) + np.diff(edges)[0])
        axes.set_title(panel.title, fontsize=11, parse_math=False)
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
        if number % N_COLUMNS == 0:
            axes.set_ylabel("density of pairs")
        if number + N_COLUMNS >= len(panels):
            axes.set_xlabel("correlation of two training rows")
    handles, names = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, frameon=False)
    return figure


def separations_figure(curves: Sequence[FeatureSeparation], *, target: float = 2.0) -> Any:
    """Draw q/p against the penalty on raw features, the penalties of the experiments marked."""
    figure = new_figure(7.0, 4.2)
    axes = figure.subplots()
    for number, curve in enumerate(curves):
        colour = group_colour(number)
        axes.plot(curve.l2, curve.separation, color=colour, label=curve.title)
        for (l2, separation), marker in zip(curve.marked, MARKERS, strict=True):
            axes.plot(l2, separation, marker, color=colour, markersize=6, markeredgecolor="w")
    axes.axhline(target, color="0.4", linestyle=":", linewidth=1)
    axes.text(curves[0].l2[0], target * 1.06, f"q/p = {target:g}", color="0.3")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="penalty λ on raw features (▾ small, ● base, ▴ big)",
        ylabel="separation q/p",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9)
    return figure


def _grid(n_panels: int, width: float, height: float) -> tuple[Any, list[Any]]:
    n_columns = min(n_panels, N_COLUMNS)
    n_rows = math.ceil(n_panels / n_columns)
    figure = new_figure(max(width * n_columns, 5.5), height * n_rows + 0.3)
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in grid[n_panels:]:
        axes.set_visible(False)
    return figure, list(grid[:n_panels])


def _count(panel: ClassPanel) -> int:
    return panel.superclasses.n_superclasses
