"""The picture of a forecast: what classifiers predict, and the margin of each class in theory."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from twohot.figures.file import new_figure
from twohot.figures.palette import BLUE, SKY

Row: TypeAlias = dict[str, Any]

FIRST, LAST = SKY, BLUE  # round

# Classes whose names fit below the bars.
NAMED_CLASSES = 40


def forecast_figure(candidates: Sequence[Row], classes: Sequence[Row], ridge: float) -> Any:
    """Draw the agreement of every classifier, and the margin of every class in theory at a ridge.

    The rows are those of `twohot.forecast.as_json`.
    """
    figure = new_figure(12.0, 4.0)
    agreement, margins = figure.subplots(1, 2, width_ratios=(1, 1.6))
    _draw_agreement(agreement, candidates)
    _draw_margins(margins, classes, ridge)
    return figure


def _draw_agreement(axes: Any, rows: Sequence[Row]) -> None:
    places = np.arange(len(rows))[::-1]
    points, errors = (
        [100 * row[name] for row in rows] for name in ("agreement", "agreement_error")
    )
    axes.errorbar(points, places, xerr=errors, fmt="o", color=LAST, capsize=3)
    axes.axvline(points[0], color="0.5", linewidth=1)
    axes.set_yticks(places, [row["candidate"] for row in rows])
    for row, name in zip(rows, axes.get_yticklabels(), strict=True):
        name.set_fontweight("bold" if row["chosen"] else "normal")
    axes.set(xlabel="held-out labels predicted, %", title="Held-out rows (±1 s.e.)")


def _draw_margins(axes: Any, rows: Sequence[Row], ridge: float) -> None:
    places = np.arange(len(rows))
    last = len(rows[0]["margin_by_round"])
    for number, colour, width in ((1, FIRST, 0.8), (last, LAST, 0.4)):
        heights = [row["margin_by_round"][number - 1] for row in rows]
        axes.bar(places, heights, width, color=colour, label=f"round {number}")
    axes.axhline(0, color="0.3", linewidth=1)
    title = f"Theory, ridge {ridge:g}: below 0 a label stays wrong"
    axes.set(ylabel="smallest margin of the true label", title=title)
    if len(rows) <= NAMED_CLASSES:
        axes.set_xticks(places, [str(row["class"]) for row in rows], rotation=90)
    else:
        axes.set_xlabel(f"{len(rows)} classes, weakest first")
    axes.legend()
