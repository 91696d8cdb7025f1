"""The picture of a choice: agreement with held-out labels against the ridge, by method and rows."""

from typing import TYPE_CHECKING, Any

from twohot.figures.file import new_figure
from twohot.figures.palette import COLOURS, METHOD_COLOURS

if TYPE_CHECKING:
    from twohot.select.result import Choice, Tried

# Factor between the places of two kinds of the same ridge in the picture.
ASIDE = 1.04

RIDGE_TICKS = (0.3, 1, 3, 10, 30, 100)  # all that is ever tried lies about here


def choice_figure(choice: "Choice") -> Any:
    """Draw agreement against ridge, one line per kind; open markers are half-whitened rows."""
    figure = new_figure(8.0, 4.0)
    axes = figure.subplots()
    kinds = dict.fromkeys(entry.kind for entry in choice.tried)
    for number, kind in enumerate(kinds):
        entries = sorted((e for e in choice.tried if e.kind == kind), key=lambda e: e.ridge)
        method, whiten = entries[0].method, entries[0].recipe.whiten
        # Kinds of the same ridge stand beside each other.
        places = [entry.ridge * ASIDE ** (number - len(kinds) // 2) for entry in entries]
        heights = [100 * entry.agreement for entry in entries]
        axes.errorbar(
            places,
            heights,
            [100 * entry.agreement_error for entry in entries],
            label=kind,
            color=METHOD_COLOURS.get(method, COLOURS[number % len(COLOURS)]),
            marker="o",
            markerfacecolor="white" if whiten else None,
            elinewidth=0.8,
            linestyle=_line(entries),
        )
        for entry, place, height in zip(entries, places, heights, strict=True):
            if entry.chosen:
                axes.plot(place, height, "o", ms=14, mfc="none", mec="0.2", label="chosen")
    axes.set(xscale="log", xlabel="ridge", ylabel="held-out labels predicted, % ± 1 s.e.")
    axes.set_xticks(RIDGE_TICKS, [f"{ridge:g}" for ridge in RIDGE_TICKS])
    axes.minorticks_off()
    axes.set_title(f"Chosen: {choice.chosen.name}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _line(entries: "list[Tried]") -> str:
    """Return the line of one kind: none for students, whose penalties are not a series."""
    if any(entry.recipe.teacher is not None for entry in entries):
        return ""
    return "--" if entries[0].recipe.whiten else "-"
