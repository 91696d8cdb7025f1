"""The picture of a forecast: what every candidate gains, what the theory promises each class."""

from typing import Any

import numpy as np

from twohot._extras import load_extra
from twohot._palette import BLUE, SKY
from twohot.audit.forecast import Forecast
from twohot.report.forecast_record import candidate_rows, class_rows

FIRST, LAST = SKY, BLUE  # round

# Classes whose names fit below the bars.
NAMED_CLASSES = 40


def forecast_figure(found: Forecast) -> Any:
    """Draw the gain of every candidate, and the margin of every class in theory."""
    plt = load_extra("matplotlib.figure", "plot", "figures")
    figure = plt.Figure(figsize=(12.0, 4.0), layout="constrained", dpi=150)
    gains, margins = figure.subplots(1, 2, width_ratios=(1, 1.6))
    _draw_gains(gains, found)
    _draw_margins(margins, found)
    return figure


def _draw_gains(axes: Any, found: Forecast) -> None:
    rows = candidate_rows(found)
    places = np.arange(len(rows))[::-1]
    points = [100 * row["gain"] for row in rows]
    axes.errorbar(
        points,
        places,
        xerr=[100 * row["gain_error"] for row in rows],
        fmt="o",
        color=LAST,
        capsize=3,
    )
    axes.axvline(0, color="0.5", linewidth=1)
    axes.set_yticks(places, [row["candidate"] for row in rows])
    for row, name in zip(rows, axes.get_yticklabels(), strict=True):
        name.set_fontweight("bold" if row["chosen"] else "normal")
    axes.set(xlabel="points of accuracy over plain", title="Rows held out (±1 s.e.)")


def _draw_margins(axes: Any, found: Forecast) -> None:
    rows = class_rows(found)
    places = np.arange(len(rows))
    last = len(found.theory.guarantees)
    for number, colour, width in ((1, FIRST, 0.8), (last, LAST, 0.4)):
        heights = [row["margin_by_round"][number - 1] for row in rows]
        axes.bar(places, heights, width, color=colour, label=f"round {number}")
    axes.axhline(0, color="0.3", linewidth=1)
    axes.set(
        ylabel="smallest margin of the true label",
        title=f"Theory, ridge {found.theory.ridge:g}: below 0 a label stays wrong",
    )
    if len(rows) <= NAMED_CLASSES:
        axes.set_xticks(places, [str(row["class"]) for row in rows], rotation=90)
    else:
        axes.set_xlabel(f"{len(rows)} classes, weakest first")
    axes.legend()
