"""The picture of a forecast: what classifiers predict, and the margin of each class in theory."""

from typing import Any

import numpy as np

from twohot.figures.file import new_figure
from twohot.figures.palette import BLUE, SKY

FIRST, LAST = SKY, BLUE  # round

# Classes whose names fit below the bars.
NAMED_CLASSES = 40


def forecast_figure(found: Any) -> Any:
    """Draw the agreement of every classifier, and the margin of every class in theory.

    `found` is a `Forecast`.
    """
    figure = new_figure(12.0, 4.0)
    agreement, margins = figure.subplots(1, 2, width_ratios=(1, 1.6))
    _draw_agreement(agreement, found.comparison)
    _draw_margins(margins, found.classes.tolist(), found.theory)
    return figure


def _draw_agreement(axes: Any, comparison: Any) -> None:
    share = comparison.agreement
    error = np.sqrt(share * (1 - share) / comparison.n_rows)
    rows = [("AutoProbe", True, share, error)]
    rows += [(e.name, e.chosen, e.agreement, e.agreement_error) for e in comparison.choice.tried]
    names, chosen, agreements, errors = zip(*rows, strict=True)
    places = np.arange(len(rows))[::-1]
    points, bars = (100 * np.array(each) for each in (agreements, errors))
    axes.errorbar(points, places, xerr=bars, fmt="o", color=LAST, capsize=3)
    axes.axvline(points[0], color="0.5", linewidth=1)
    axes.set_yticks(places, names)
    for used, name in zip(chosen, axes.get_yticklabels(), strict=True):
        name.set_fontweight("bold" if used else "normal")
    axes.set(xlabel="held-out labels predicted, %", title="Held-out rows (±1 s.e.)")


def _draw_margins(axes: Any, classes: list[Any], theory: Any) -> None:
    places, last = np.arange(len(classes)), len(theory.guarantees)
    weakest = np.argsort(theory.guarantees[-1].margins, kind="stable")
    for number, colour, width in ((1, FIRST, 0.8), (last, LAST, 0.4)):
        heights = theory.guarantees[number - 1].margins[weakest]
        axes.bar(places, heights, width, color=colour, label=f"round {number}")
    axes.axhline(0, color="0.3", linewidth=1)
    title = f"Theory, ridge {theory.ridge:g}: below 0 a label stays wrong"
    axes.set(ylabel="smallest margin of the true label", title=title)
    if len(classes) <= NAMED_CLASSES:
        axes.set_xticks(places, [str(classes[k]) for k in weakest], rotation=90)
    else:
        axes.set_xlabel(f"{len(classes)} classes, weakest first")
    axes.legend()
