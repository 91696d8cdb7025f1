"""The picture of a choice: agreement with held-out labels against the ridge, by method and rows."""

from textwrap import fill
from typing import TYPE_CHECKING, Any

from twohot.figures.file import new_figure
from twohot.figures.palette import method_colours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twohot.judge.choice import Choice, Tried

# Factor between the places of two kinds of the same ridge in the picture.
ASIDE = 1.04

TITLE_WIDTH = 64  # characters

RIDGE_TICKS = (0.3, 1, 3, 10, 30, 100)  # all that is ever tried lies about here


def choice_figure(choice: "Choice") -> Any:
    """Draw agreement against ridge, one line per kind; open markers are half-whitened rows.

    What has no ridge is a level line.
    """
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    with_ridge = [entry for entry in choice.tried if entry.ridge is not None]
    kinds = dict.fromkeys(entry.kind for entry in with_ridge)
    colours = method_colours(entry.method for entry in choice.tried)
    for number, kind in enumerate(kinds):
        entries = sorted((e for e in with_ridge if e.kind == kind), key=lambda e: e.ridge or 0.0)
        method, whiten = entries[0].method, entries[0].whiten
        # Kinds of the same ridge stand beside each other.
        places = [(entry.ridge or 0.0) * ASIDE ** (number - len(kinds) // 2) for entry in entries]
        heights = [100 * entry.agreement for entry in entries]
        axes.errorbar(
            places,
            heights,
            [100 * entry.agreement_error for entry in entries],
            label=kind,
            color=colours[method],
            marker="o",
            markerfacecolor="white" if whiten else None,
            elinewidth=0.8,
            linestyle="--" if whiten else "-",
        )
        for entry, place, height in zip(entries, places, heights, strict=True):
            if entry.chosen:
                _ring(axes, place, height)
    _draw_without_ridge(axes, choice, colours)
    axes.set(xscale="log", xlabel="ridge", ylabel="held-out labels predicted, % ± 1 s.e.")
    axes.set_xticks(RIDGE_TICKS, [f"{ridge:g}" for ridge in RIDGE_TICKS])
    axes.minorticks_off()
    axes.axhline(100 * choice.agreement, color="0.2", label="label model")
    axes.set_title(fill(choice.name, TITLE_WIDTH, break_on_hyphens=False), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _draw_without_ridge(axes: Any, choice: "Choice", colours: "Mapping[str, str]") -> None:
    """Draw a level line for the best of each method that has no ridge."""
    best: dict[str, Tried] = {}
    for entry in sorted(choice.tried, key=lambda e: e.agreement):
        if entry.ridge is None:
            best[entry.method] = entry
    for entry in best.values():
        height = 100 * entry.agreement
        axes.axhline(height, color=colours[entry.method], linestyle=":", label=entry.method)


def _ring(axes: Any, place: float, height: float) -> None:
    """Mark a member of the label model."""
    axes.plot(place, height, "o", ms=14, mfc="none", mec="0.2")
