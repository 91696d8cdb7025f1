"""Figures of class correlations (a map and a dendrogram) and of a forecast."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.cluster import hierarchy

from twohot.base import (
    BLUE,
    SKY,
    FloatArray,
    IntArray,
    counted,
    group_colour,
    load_extra,
    new_figure,
)
from twohot.describe.superclasses import Superclasses

# Maximum number of classes whose names are drawn: in maps and bar charts, and in dendrograms.
MAP_NAMES = 40
DENDROGRAM_NAMES = 150

# Maximum number of characters of a drawn class name.
NAME_LENGTH = 24


def map_order(superclasses: Superclasses, superclass: IntArray) -> IntArray:
    """Return the classes sorted by superclass, then in the order of the dendrogram."""
    along = superclasses.order
    return np.asarray(along[np.argsort(superclass[along], kind="stable")])


def correlation_map_figure(
    means: FloatArray, superclass: IntArray, order: IntArray, classes: Sequence[str]
) -> Any:
    """Draw the mean correlation of all pairs of classes, with a frame around each superclass.

    `order` has the classes from top to bottom, as `map_order` returns them. If a mean is NaN, its
    cell is blank.
    """
    n_classes = len(order)
    figure = new_figure(6.4, 5.4)
    axes = figure.subplots()
    between = np.abs(means[~np.eye(n_classes, dtype=bool)])
    # The largest values are on the diagonal. So only pairs of different classes set the colour
    # scale.
    image = draw_map(axes, means, superclass, order, max(float(between.max()), 1e-12))
    figure.colorbar(image, ax=axes, extend="max", shrink=0.85, label="mean correlation")
    name_classes(axes, [classes[k] for k in order])
    n_superclasses = len(np.unique(superclass))
    frames = counted(n_superclasses, "superclass", "superclasses")
    axes.set_title(f"Class correlations, with frames around {frames}")
    return figure


def draw_map(
    axes: Any, means: FloatArray, superclass: IntArray, order: IntArray, limit: float
) -> Any:
    """Draw a map of correlations with a frame around each superclass; return the matplotlib image.

    Colours range from -limit to limit. Classes of one superclass are consecutive in `order`.
    """
    # Colour-blind readers can distinguish red from blue.
    image = axes.imshow(means[np.ix_(order, order)], cmap="RdBu_r", vmin=-limit, vmax=limit)
    starts = np.flatnonzero(np.diff(superclass[order], prepend=-1))
    rectangle = load_extra("matplotlib.patches", "plot", "figures").Rectangle
    for first, size in zip(starts, np.diff(starts, append=len(order)), strict=True):
        corner = (first - 0.5, first - 0.5)
        axes.add_patch(rectangle(corner, size, size, fill=False, edgecolor="black", linewidth=1.1))
    return image


def name_classes(axes: Any, classes: Sequence[str]) -> None:
    """Write class names on both sides of a map, unless there are too many."""
    n_classes = len(classes)
    if n_classes <= MAP_NAMES:
        names = [_short(name) for name in classes]
        size = 9 if n_classes <= 20 else 6
        axes.set_xticks(range(n_classes), names, rotation=90, fontsize=size)
        axes.set_yticks(range(n_classes), names, fontsize=size)
    else:
        axes.set(xticks=[], yticks=[], xlabel=f"{n_classes} classes", ylabel="the same classes")


def dendrogram_figure(superclasses: Superclasses, classes: Sequence[str]) -> Any:
    """Draw the merges of complete linkage, with one colour per superclass."""
    n_classes = len(classes)
    figure = new_figure(min(max(6.4, 0.13 * n_classes), 16.0), 4.4)
    axes = figure.subplots()
    draw_dendrogram(axes, superclasses, classes, leaf_font_size=9 if n_classes <= 40 else 6)
    colours = counted(superclasses.n_superclasses, "superclass", "superclasses")
    axes.set(ylabel="merge distance", title=f"Complete linkage; colours show {colours}")
    return figure


def draw_dendrogram(
    axes: Any, superclasses: Superclasses, classes: Sequence[str], leaf_font_size: float
) -> None:
    """Draw a dendrogram with class names, unless there are too many."""
    colours = _node_colours(superclasses)
    hierarchy.dendrogram(
        superclasses.linkage,
        ax=axes,
        labels=[_short(name) for name in classes],
        no_labels=len(classes) > DENDROGRAM_NAMES,
        leaf_rotation=90,
        leaf_font_size=leaf_font_size,
        link_color_func=lambda node: colours[node],
    )
    axes.spines[["top", "right", "bottom"]].set_visible(False)


def _node_colours(superclasses: Superclasses) -> list[str]:
    """Return a colour for each leaf and merge: of its superclass, or grey if it joins several."""
    groups = superclasses.superclass.tolist()
    for left, right in superclasses.linkage[:, :2].astype(int).tolist():
        groups.append(groups[left] if groups[left] == groups[right] else -1)
    return ["0.6" if group < 0 else group_colour(group) for group in groups]


def _short(name: str) -> str:
    """Return a shortened name, in which matplotlib does not read "$" as mathematics."""
    shown = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
    return shown.replace("$", r"\$")


# The figure of a forecast -------------------------------------------------------------------------


def forecast_figure(found: Any) -> Any:
    """Draw the agreement of each candidate, and the margin of each class that the theory predicts.

    `found` is a `Forecast`. The agreement of a candidate is the fraction of held-out given labels
    that it predicts. The margin of a row is the output at its true label minus the largest other
    output. The margin of a class is the smallest margin of its rows.
    """
    figure = new_figure(12.0, 4.0)
    agreement, margins = figure.subplots(1, 2, width_ratios=(1, 1.6))
    _draw_agreement(agreement, found.comparison)
    _draw_margins(margins, found.classes.tolist(), found.theory)
    return figure


def _draw_agreement(axes: Any, comparison: Any) -> None:
    agreement = comparison.agreement
    error = np.sqrt(agreement * (1 - agreement) / comparison.n_rows)
    rows = [("AutoProbe", True, agreement, error)]
    rows += [(e.name, e.chosen, e.agreement, e.agreement_error) for e in comparison.choice.tried]
    names, chosen, agreements, errors = zip(*rows, strict=True)
    heights = np.arange(len(rows))[::-1]
    points, bars = (100 * np.array(each) for each in (agreements, errors))
    axes.errorbar(points, heights, xerr=bars, fmt="o", color=BLUE, capsize=3)
    axes.axvline(points[0], color="0.5", linewidth=1)
    axes.set_yticks(heights, names)
    for used, name in zip(chosen, axes.get_yticklabels(), strict=True):
        name.set_fontweight("bold" if used else "normal")
    title = "Held-out rows (bars: ± one standard error)"
    axes.set(xlabel="given labels that are predicted, %", title=title)


def _draw_margins(axes: Any, classes: list[Any], theory: Any) -> None:
    places, last = np.arange(len(classes)), len(theory.guarantees)
    weakest = np.argsort(theory.guarantees[-1].margins, kind="stable")
    for number, colour, width in ((1, SKY, 0.8), (last, BLUE, 0.4)):
        margins = theory.guarantees[number - 1].margins[weakest]
        axes.bar(places, margins, width, color=colour, label=f"round {number}")
    axes.axhline(0, color="0.3", linewidth=1)
    title = f"Theory (ridge {theory.ridge:g}): below 0, some rows are predicted wrongly"
    axes.set(ylabel="smallest margin of the true label", title=title)
    if len(classes) <= MAP_NAMES:
        axes.set_xticks(places, [str(classes[k]) for k in weakest], rotation=90)
    else:
        axes.set_xlabel(f"{len(classes)} classes, smallest margin first")
    axes.legend()
