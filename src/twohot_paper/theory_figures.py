"""The theory's figures: eigenvalues, error of the linear theory, q/p, corruption matrices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from twohot.base import COLOURS, FloatArray
from twohot_paper.real_figures import new_panels, round_lines

# Lines that are told apart without their colour.
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


@dataclass(frozen=True, eq=False)
class SeparationCurve:
    """q/p of one data set against the penalty."""

    l2: FloatArray  # (n_penalties,)
    separation: FloatArray  # (n_penalties,)
    marked: dict[str, tuple[float, float]]  # penalty and q/p of points with a name


# Marker and face of penalties: those that the text claims, that were used, and of the experiments.
POINT_STYLES = {
    "claimed": ("o", "w"),
    "used": ("s", None),
    "small": ("v", None),
    "base": ("o", None),
    "big": ("^", None),
}


def eigenvalue_figure(panels: Mapping[str, FloatArray], n_classes: int) -> Any:
    """Draw the eigenvalues of the averaging matrix by rank, one line per round and panel.

    The values of a panel are (n_rounds, n_samples), largest first.
    """
    figure, axes_row = new_panels(3.9 * len(panels) + 0.8, 3.7, 1, len(panels), share_y=True)
    for axes, (title, values) in zip(axes_row[0], panels.items(), strict=True):
        rank = np.arange(1, values.shape[1] + 1)
        for number, row, style in round_lines(values):
            axes.plot(rank, row, color=style["color"], linewidth=1.8, label=str(number))
            axes.plot(rank[:n_classes], row[:n_classes], linestyle="", **style)
        axes.axvline(n_classes + 0.5, color="0.5", linestyle=":", linewidth=1)
        axes.set(xscale="log", xlabel="rank of the eigenvalue", title=title, ylim=(-0.02, 1.03))
        axes.set_xticks([1, n_classes, 10, 100], ["1", str(n_classes), "10", "100"])
    axes_row[0][0].set_ylabel(r"eigenvalue of $\Phi^{(t)}$ (modulus)")
    axes_row[0][0].legend(title="round t", loc="upper right", ncols=2)
    return figure


def softmax_error_figure(panels: Mapping[str, tuple[FloatArray, FloatArray]]) -> Any:
    """Draw the error of the linear theory against samples per class.

    A panel has the samples per class (n_sizes,) and the errors (n_rounds, n_sizes).
    """
    figure, axes_row = new_panels(4.2 * len(panels), 3.7, 1, len(panels), share_y=True)
    for axes, (title, (sizes, errors)) in zip(axes_row[0], panels.items(), strict=True):
        for number, row, style in round_lines(errors):
            axes.plot(sizes, row, label=str(number), **style)
        axes.set(xscale="log", yscale="log", xlabel="samples per class n", title=title)
    axes_row[0][0].set_ylabel("largest |linear − exact| output")
    axes_row[0][-1].legend(title="round t", loc="lower right", ncols=2)
    return figure


def separation_figure(
    panels: Mapping[str, Mapping[str, SeparationCurve]], *, target: float = 2.0
) -> Any:
    """Draw q/p against the penalty, one line per data set, with points and the target marked."""
    figure, axes_row = new_panels(4.6 * len(panels) + 1.9, 4.1, 1, len(panels), share_y=True)
    kinds: dict[str, None] = {}
    for axes, (title, curves) in zip(axes_row[0], panels.items(), strict=True):
        styles = zip(cycle(COLOURS), cycle(LINES), strict=False)
        for (name, curve), (colour, line) in zip(curves.items(), styles, strict=False):
            axes.plot(curve.l2, curve.separation, color=colour, linestyle=line, label=name)
            kinds |= dict.fromkeys(curve.marked)
            for kind, (l2, separation) in curve.marked.items():
                marker, face = POINT_STYLES[kind]
                fill = face or colour
                axes.plot(l2, separation, marker, color=colour, markerfacecolor=fill, markersize=6)
        axes.axhline(target, color="0.35", linestyle=":", linewidth=1.2)
        axes.set(xscale="log", yscale="log", xlabel=r"penalty $\lambda$", title=title)
        ticks = [1, 2, 5, 10, 20, 50, 100]
        axes.set_yticks(ticks, [str(each) for each in ticks])
        axes.set_yticks([], minor=True)
    axes_row[0][0].set_ylabel("separation q/p")
    last = axes_row[0][-1]
    for kind in kinds:
        marker, face = POINT_STYLES[kind]
        last.plot([], [], marker, color="0.3", markerfacecolor=face or "0.3", label=f"λ {kind}")
    last.plot([], [], color="0.35", linestyle=":", label=f"q/p = {target:g}")
    last.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def corruption_figure(matrices: Mapping[str, FloatArray], noise_rate: float) -> Any:
    """Draw corruption matrices as maps with their numbers."""
    figure, axes_row = new_panels(3.1 * len(matrices), 3.4, 1, len(matrices))
    for axes, (title, matrix) in zip(axes_row[0], matrices.items(), strict=True):
        axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
        for (row, column), share in np.ndenumerate(matrix):
            dark = "w" if share > 0.5 else "0.15"
            text = f"{share:.2f}" if share else "0"
            axes.text(column, row, text, ha="center", va="center", color=dark, fontsize=10)
        ticks: Sequence[int] = range(len(matrix))
        axes.set(title=title, xlabel="given label", xticks=ticks, yticks=ticks)
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)
    axes_row[0][0].set_ylabel("true class")
    figure.suptitle(f"Share of given labels by true class, noise rate η = {noise_rate:g}")
    return figure
