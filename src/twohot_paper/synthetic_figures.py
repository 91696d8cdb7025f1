"""Figures of the synthetic experiment and of the theory.

A panel shows one Gram matrix or one case. Outputs are softmax outputs on training samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import BLUE, COLOURS, GREEN, ORANGE, VERMILION, FloatArray, group_colour
from twohot_paper.real_figures import new_panels, round_lines, round_name

# Line styles that can be distinguished without colour.
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


@dataclass(frozen=True, eq=False)
class SeparationCurve:
    """The separation q/p of one dataset as a function of the penalty."""

    l2: FloatArray  # (n_penalties,)
    separation: FloatArray  # (n_penalties,)
    marked: dict[str, tuple[float, float]]  # penalty and q/p of the points in POINT_STYLES


# Styles of the points of a curve: at the penalty that the paper's text claims, and at the penalty
# that its experiments used.
POINT_STYLES = {"claimed": ("o", "w"), "used": ("s", None)}


def eigenvalue_figure(panels: Mapping[str, FloatArray], n_classes: int) -> Any:
    """Return a figure of the eigenvalues of the averaging matrix by rank, one line per round.

    The eigenvalues of a panel have the shape (n_rounds, n_samples), the largest first.
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
    """Return a figure of the error of the linear theory against samples per class.

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
    """Return a figure of q/p against the penalty; a line shows the recommended q/p, `target`."""
    figure, axes_row = new_panels(4.6 * len(panels) + 1.9, 4.1, 1, len(panels), share_y=True)
    for axes, (title, curves) in zip(axes_row[0], panels.items(), strict=True):
        styles = zip(cycle(COLOURS), cycle(LINES), strict=False)
        for (name, curve), (colour, line) in zip(curves.items(), styles, strict=False):
            axes.plot(curve.l2, curve.separation, color=colour, linestyle=line, label=name)
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
    for kind, (marker, face) in POINT_STYLES.items():
        last.plot([], [], marker, color="0.3", markerfacecolor=face or "0.3", label=f"λ {kind}")
    last.plot([], [], color="0.35", linestyle=":", label=f"q/p = {target:g}")
    last.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def corruption_figure(matrices: Mapping[str, FloatArray], noise_rate: float) -> Any:
    """Return a figure of corruption matrices, as coloured maps with the numbers in the cells."""
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


# Training accuracy against noise: rounds, and the two-hot student ---------------------------------


TWO_HOT_STYLE = {
    "color": ORANGE,
    "linestyle": "--",
    "marker": "o",
    "markersize": 4.5,
    "markeredgecolor": "w",
    "markeredgewidth": 0.5,
}


@dataclass(frozen=True, eq=False)
class NoiseCurves:
    """Accuracies by noise rate; the first axis of each array is the draw of the matrix."""

    noise_rates: list[float]
    rounds: list[FloatArray]  # by noise rate: accuracies (n_draws, n_rounds)
    two_hot: dict[str, list[FloatArray]]  # by rule for ties, then noise rate: accuracies (n_draws,)


def accuracy_figure(panels: Mapping[str, NoiseCurves]) -> Any:
    """Return a figure of training accuracy against the noise rate, one panel per matrix."""
    figure, axes_row = new_panels(4.1 * len(panels) + 1.7, 3.9, 1, len(panels), share_y=True)
    for axes, (title, curves) in zip(axes_row[0], panels.items(), strict=True):
        means, spreads = _over_draws(curves.rounds)
        for number, mean, style in round_lines(means):
            axes.plot(curves.noise_rates, mean, label=round_name(number), **style)
            _band(axes, curves.noise_rates, mean, spreads[number - 1], style["color"])
        mean, spread = _over_draws(curves.two_hot["spread"])
        label = "two-hot student\n(ties spread)"
        axes.plot(curves.noise_rates, mean, label=label, zorder=4, **TWO_HOT_STYLE)
        _band(axes, curves.noise_rates, mean, spread, TWO_HOT_STYLE["color"])
        axes.set(xlabel="noise rate η (symmetric)", title=title, ylim=(-3, 103))
    axes_row[0][0].set_ylabel("training accuracy (%)")
    axes_row[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def _over_draws(values: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation over draws in percent; the last axis is the noise rate."""
    means, spreads = (
        100 * np.array([function(each, axis=0) for each in values]).T
        for function in (np.mean, np.std)
    )
    return means, spreads


def _band(
    axes: Any, places: list[float], mean: FloatArray, spread: FloatArray, colour: Any
) -> None:
    if spread.any():
        axes.fill_between(
            places, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0
        )


# Outputs by round: in the plane between the labels, and at the true and given label ---------------


# Colour and marker by label, as in the paper's figure.
AT_LABEL = {
    "true label": (BLUE, "o"),
    "given label": (VERMILION, "s"),
    "other labels": (GREEN, "^"),
}


# Total area of the markers of one panel, in square points.
MARKER_AREA = 6400.0

# A panel with more markers than this is rasterised, because vector files would have megabytes.
MOST_VECTORS = 300

# Maximum radius of a cluster that gets a circle: half the distance from the centre of a square of
# labels to its side.
LARGEST_CLUSTER = 0.35


@dataclass(frozen=True, eq=False)
class LabelledOutputs:
    """Outputs of all samples in every round, with the labels of the samples."""

    outputs: FloatArray  # (n_rounds, n_samples, n_classes)
    true_labels: NDArray[np.integer[Any]]
    given_labels: NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class OutputBand:
    """Mean and standard deviation of an output over samples, in every round."""

    mean: FloatArray  # (n_rounds,)
    spread: FloatArray  # (n_rounds,)


def output_plane_figure(
    rows: Mapping[str, LabelledOutputs],
    *,
    rounds: Sequence[int],
    class_names: Sequence[str] | None = None,
    title: str = "",
) -> Any:
    """Return a figure of outputs as points in a polygon, coloured by true class.

    A corner of the polygon is a class, and an output of 1 for this class is a point in the corner.
    `rows` has the outputs for each row of panels, by title, and `rounds` has the round of each
    column; round 1 is the teacher. The corners show the class names, by default numbers. `title` is
    above all panels.
    """
    figure, panels = new_panels(2.3 * len(rounds), 2.45 * len(rows) + 0.5, len(rows), len(rounds))
    for place, (name, drawn) in enumerate(rows.items()):
        names = class_names or [str(k) for k in range(drawn.outputs.shape[2])]
        for axes, number in zip(panels[place], rounds, strict=True):
            outputs = drawn.outputs[number - 1]
            _plane(axes, outputs, drawn, names)
            right = np.mean(outputs.argmax(axis=1) == drawn.true_labels)
            axes.set_title(f"{round_name(number)}: {right:.0%} right", fontsize=10)
        panels[place][0].set_ylabel(name, fontsize=10)
    note = "colour: true class     ● label right     × label wrong     dotted: holds all of a class"
    figure.supxlabel(note, fontsize=10)
    if title:
        figure.suptitle(title, fontsize=11, parse_math=False)
    return figure


def label_output_figure(panels: Mapping[str, Mapping[str, Mapping[str, OutputBand]]]) -> Any:
    """Return a figure of mean ± std of the outputs at the true, given and other labels.

    The keys of `panels` are the matrix (a column of panels), then the kind of sample (a row of
    panels), then the label (a line).
    """
    kinds = list(next(iter(panels.values())))
    figure, drawn = new_panels(
        3.6 * len(panels) + 0.4, 2.8 * len(kinds), len(kinds), len(panels), share_y=True
    )
    for column, (title, by_kind) in enumerate(panels.items()):
        for row, kind in enumerate(kinds):
            axes = drawn[row][column]
            for label, band in by_kind[kind].items():
                colour, marker = AT_LABEL[label]
                rounds = np.arange(1, len(band.mean) + 1)
                axes.plot(rounds, band.mean, color=colour, marker=marker, label=label, markersize=5)
                low, high = band.mean - band.spread, band.mean + band.spread
                axes.fill_between(rounds, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.set_xticks(rounds)
            drawn[0][column].set_title(title)
            drawn[row][0].set_ylabel(f"{kind}:\nsoftmax output")
        drawn[-1][column].set_xlabel("round t (1 = teacher)")
    for row in range(len(kinds)):
        drawn[row][-1].legend(loc="upper right")
    return figure


def _corners(n_classes: int) -> FloatArray:
    """Return the corners (n_classes, 2) of a regular polygon; the first is at the upper right."""
    angles = np.pi / n_classes + 2 * np.pi * np.arange(n_classes) / n_classes
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _plane(
    axes: Any, outputs: FloatArray, labels: LabelledOutputs, class_names: Sequence[str]
) -> None:
    corners = _corners(outputs.shape[1])
    places = outputs @ corners
    axes.plot(*np.vstack([corners, corners[:1]]).T, color="0.75", linewidth=0.9)
    clean = labels.true_labels == labels.given_labels
    size = float(np.clip(MARKER_AREA / len(places), 3.0, 16.0))
    for k, name in enumerate(class_names):
        colour = group_colour(k)
        of_class = labels.true_labels == k
        right, wrong = places[of_class & clean], places[of_class & ~clean]
        style = {"s": size, "color": colour, "rasterized": len(places) > MOST_VECTORS}
        axes.scatter(*wrong.T, marker="x", linewidths=0.8, **style)
        axes.scatter(*right.T, marker="o", linewidths=0.3, edgecolors="w", **style)
        if of_class.any():
            _circle(axes, places[of_class], colour)
        # Place the name above or below the corner, and not wider than the panel.
        x, y = corners[k]
        side = "center" if len(name) < 4 else "left" if x < 0 else "right"
        text = name.replace("_", " ")
        axes.annotate(
            text, (x, 1.15 * y), parse_math=False, ha=side, va="center", fontsize=9, color=colour
        )
    axes.set(xlim=(-0.9, 0.9), ylim=(-0.9, 0.9), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)


def _circle(axes: Any, places: FloatArray, colour: str) -> None:
    """Draw a dotted circle around all samples of a class, if the circle is small enough."""
    centre = places.mean(axis=0)
    radius = np.linalg.norm(places - centre, axis=1).max() + 0.03
    if radius > LARGEST_CLUSTER:
        return
    turn = np.linspace(0, 2 * np.pi, 90)
    circle = centre + radius * np.column_stack([np.cos(turn), np.sin(turn)])
    axes.plot(*circle.T, color=colour, linestyle=":", linewidth=1.1)
