"""Accuracy of models that are trained epoch by epoch, beside where they would end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot.figures.file import new_figure
from twohot.figures.panels import row_first

SIZE = 3.0, 2.2  # of a panel, in inches
DARK = "0.25"


@dataclass(frozen=True, eq=False)
class EpochPanel:
    """One model: test accuracy in % after every epoch, the first being 1."""

    curve: Sequence[float]
    picked_curve: Sequence[float]  # of the same model, learnt from models picked on the test set
    picked_epoch: int
    optimum: float | None  # where the exact solver ends, if that is known


def epochs_figure(
    panels: Sequence[Sequence[EpochPanel | None]],
    row_names: Sequence[str],
    column_names: Sequence[str],
    colours: Sequence[str],
    *,
    title: str = "",
) -> Any:
    """Draw a grid of panels, one colour a row; panels of one column have one scale.

    `title` tells data and noise.
    """
    n_rows, n_columns = len(row_names), len(column_names)
    figure = new_figure(SIZE[0] * n_columns + 0.5, SIZE[1] * n_rows + 0.7)
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey="col", squeeze=False)
    for line, row, colour in zip(grid, panels, colours, strict=True):
        for axes, panel in zip(line, row, strict=True):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(visible=True, color="0.92", linewidth=0.6)
            if panel is not None:
                _draw_panel(axes, panel, colour)
    for axes, name in zip(grid[0], column_names, strict=True):
        axes.set_title(name, fontsize=11)
    for axes in grid[-1]:
        axes.set(xlabel="epoch", xscale="log")
        ticks = [tick for tick in (1, 3, 10, 30, 100, 200) if tick <= axes.get_xlim()[1]]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
    for axes, name in zip(grid[:, 0], row_names, strict=True):
        axes.set_ylabel(f"{name}\ntest accuracy, %")
    figure.suptitle(title, fontsize=11, parse_math=False)
    _legend(figure, grid)
    return figure


def _draw_panel(axes: Any, panel: EpochPanel, colour: str) -> None:
    epochs = np.arange(1, len(panel.curve) + 1)
    if list(panel.picked_curve) != list(panel.curve):
        style = {"color": colour, "linewidth": 1, "linestyle": ":"}
        label = "SGD, learnt from models picked on the test set"
        axes.plot(epochs, panel.picked_curve, label=label, **style)
    axes.plot(epochs, panel.curve, color=colour, linewidth=1.8, label="SGD")
    if panel.optimum is not None:
        axes.axhline(
            panel.optimum, color=DARK, linestyle=(0, (5, 2)), linewidth=1.2, label="exact optimum"
        )
    last = {"markersize": 6, "markeredgecolor": "white", "color": colour, "clip_on": False}
    axes.plot(epochs[-1], panel.curve[-1], "o", label="SGD, last epoch", zorder=4, **last)
    best = panel.picked_epoch, panel.picked_curve[panel.picked_epoch - 1]
    star = {"markersize": 11, "markerfacecolor": "white", "markeredgecolor": DARK}
    axes.plot(*best, "*", zorder=5, label="the paper's way: best epoch on the test set", **star)


def _legend(figure: Any, grid: Any) -> None:
    handles = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    n_columns = min(3, grid.shape[1])
    handles = row_first(handles, n_columns)
    legend = figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=n_columns,
        frameon=False,
        fontsize=9,
    )
    for handle in legend.legend_handles:
        handle.set_color(DARK)  # the rows have colours of their own
