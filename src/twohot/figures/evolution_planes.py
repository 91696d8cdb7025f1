"""Outputs of many rows in the plane between the labels, one panel per round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot._types import FloatArray, IntArray
from twohot.figures.file import new_figure
from twohot.figures.palette import COLOURS

PANEL = 2.5  # inches
MARKER_AREA = 4000.0  # of all markers of one panel, in square points: more of them are smaller


@dataclass(frozen=True, eq=False)
class RoundOutputs:
    """Outputs of rows on which the models were fitted."""

    outputs: FloatArray  # (n_rounds, n_rows, n_classes)
    true_labels: IntArray
    given_labels: IntArray


def evolution_figure(
    rows: Mapping[str, RoundOutputs], *, rounds: Sequence[int], class_names: Sequence[str]
) -> Any:
    """Draw a row of panels for each of some fits, a panel for each of some rounds."""
    figure = new_figure(PANEL * len(rounds) + 0.4, PANEL * len(rows) + 0.7)
    grid = figure.subplots(len(rows), len(rounds), squeeze=False)
    for axes_row, (name, fits) in zip(grid, rows.items(), strict=True):
        for axes, t in zip(axes_row, rounds, strict=True):
            _plane(axes, fits, t, class_names)
            accuracy = np.mean(fits.outputs[t - 1].argmax(axis=1) == fits.true_labels)
            who = "teacher" if t == 1 else f"student t = {t}"
            axes.set_title(f"{who}: {accuracy:.0%} right", fontsize=10)
        axes_row[0].set_ylabel(name, fontsize=10)
    note = "colour: true class     ● label right     × label wrong"
    figure.supxlabel(note, fontsize=10)
    return figure


def _plane(axes: Any, fits: RoundOutputs, t: int, class_names: Sequence[str]) -> None:
    angles = np.pi / len(class_names) * (1 + 2 * np.arange(len(class_names)))
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    places = fits.outputs[t - 1] @ corners
    axes.plot(*np.vstack([corners, corners[:1]]).T, color="0.75", linewidth=0.9)
    size = float(np.clip(MARKER_AREA / len(places), 2.0, 14.0))
    clean = fits.true_labels == fits.given_labels
    for k, name in enumerate(class_names):
        style = {"s": size, "color": COLOURS[k % len(COLOURS)], "alpha": 0.7}
        of_class = fits.true_labels == k
        axes.scatter(*places[of_class & ~clean].T, marker="x", linewidths=0.6, **style)
        axes.scatter(*places[of_class & clean].T, marker="o", linewidths=0, **style)
        # Above or below the square, and no wider than it.
        x, y = corners[k]
        side = "left" if x < 0 else "right"
        text = name.replace("_", " ")
        colour = COLOURS[k % len(COLOURS)]
        axes.annotate(text, (x, 1.13 * y), ha=side, va="center", fontsize=9, color=colour)
    reach = 1.2 * np.abs(corners).max()
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
