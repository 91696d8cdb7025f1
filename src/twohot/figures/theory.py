"""The theory's six figures, one function each: a study in, a matplotlib figure out."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from twohot._types import FloatArray
from twohot.figures.file import new_figure
from twohot.figures.palette import COLOURS

if TYPE_CHECKING:
    from twohot.experiment import synthetic_studies as studies

PANELS = ("Block model", "Perturbed, repaired to PSD")


def eigenvalue_figure(study: "studies.EigenvalueStudy") -> Any:
    """Draw the eigenvalues of the averaging matrix by rank, one line per round."""
    figure, panels = _figure(width=8.0, height=3.4)
    for axes, title, values in zip(panels, PANELS, (study.block, study.perturbed), strict=True):
        _draw_rounds(axes, np.arange(1, values.shape[1] + 1), values)
        axes.axvline(study.n_classes + 0.5, color="0.5", linestyle=":", linewidth=1)
        axes.set(xscale="log", xlabel="rank of the eigenvalue", title=title)
    panels[0].set_ylabel(r"eigenvalue of $\Phi^{(t)}$")
    note = f"{study.n_classes} class directions\nleft of the line"
    panels[1].text(study.n_classes + 0.9, 0.85, note, color="0.3")
    panels[0].legend(title="round t", loc="upper right", ncols=2)
    return figure


def output_plane_figure(
    study: "studies.OutputStudy", *, rounds: tuple[int, ...] = (1, 2, 3, 6)
) -> Any:
    """Draw outputs in the plane, the corners being the labels, coloured by true class."""
    corners = _corners(study.block.shape[2])
    figure, panels = _figure(width=2.3 * len(rounds), height=5.0, shape=(2, len(rounds)))
    for row, (name, outputs) in enumerate(zip(PANELS, (study.block, study.perturbed), strict=True)):
        for axes, t in zip(panels[row], rounds, strict=True):
            _plane(axes, outputs[t - 1], study, corners)
            if row == 0:
                axes.set_title(_round_name(t))
        panels[row][0].set_ylabel(name)
        panels[row][0].yaxis.label.set_visible(True)
    figure.suptitle(
        f"Outputs in the plane, {study.noise_rate:.0%} of labels wrong: colour = true class,"
        " circle = label right, cross = label wrong",
        fontsize=10,
    )
    return figure


def accuracy_figure(study: "studies.AccuracyStudy") -> Any:
    """Draw training accuracy against the noise rate: every round and the partial-label student."""
    figure, panels = _figure(width=8.4, height=3.5, share_y=True)
    for axes, title, accuracy in zip(panels, PANELS, (study.block, study.perturbed), strict=True):
        _draw_rounds(axes, study.noise_rates, 100 * accuracy[:-1], _round_name)
        style = {"color": COLOURS[1], "linestyle": "--", "marker": "o", "markersize": 3.5}
        axes.plot(study.noise_rates, 100 * accuracy[-1], label="partial-label student", **style)
        axes.set(xlabel="noise rate (symmetric)", title=title)
    panels[0].set_ylabel("training accuracy (%)")
    panels[0].legend(loc="lower left", fontsize=7.5)
    return figure


def label_output_figure(study: "studies.OutputStudy") -> Any:
    """Draw mean ± one standard deviation of outputs at the true, given and other labels."""
    figure, panels = _figure(width=8.0, height=5.6, shape=(2, 2), share_y=True)
    clean = study.true_labels == study.given_labels
    rounds = np.arange(1, len(study.block) + 1)
    for row, (name, outputs) in enumerate(zip(PANELS, (study.block, study.perturbed), strict=True)):
        kinds = {"right": clean, "wrong": ~clean}
        for axes, (kind, chosen) in zip(panels[row], kinds.items(), strict=True):
            for colour, marker, label, values in _by_label(outputs, study, chosen, kind):
                mean, spread = values.mean(axis=1), values.std(axis=1)
                axes.plot(rounds, mean, color=colour, marker=marker, markersize=4, label=label)
                axes.fill_between(rounds, mean - spread, mean + spread, color=colour, alpha=0.2)
            axes.set_title(f"{name}: label {kind}", fontsize=9)
            axes.legend(loc="upper right", fontsize=7.5)
        panels[row][0].set_ylabel("output")
    for axes in panels[1]:
        axes.set_xlabel("round t")
    return figure


def softmax_error_figure(study: "studies.SoftmaxErrorStudy") -> Any:
    """Draw the error of the linear theory against samples per class, at fixed penalty and ridge."""
    figure, panels = _figure(width=8.0, height=3.5, share_y=True)
    titles = (
        rf"Constant penalty, $\lambda$ = {study.l2:g}",
        rf"Constant ridge, $K^2n\lambda$ = {study.ridge:g}",
    )
    both = (study.fixed_l2, study.fixed_ridge)
    for axes, title, errors in zip(panels, titles, both, strict=True):
        _draw_rounds(axes, study.n_per_class, errors, markers=("o", "s", "^", "D", "v", "P"))
        axes.set(xscale="log", yscale="log", xlabel="samples per class n", title=title)
    panels[0].set_ylabel("largest |linear − exact| output")
    panels[1].legend(title="round t", loc="lower right", ncols=2)
    return figure


def separation_figure(study: "studies.SeparationStudy", *, target: float = 2.0) -> Any:
    """Draw q/p against the penalty, one line per data set, with the target ratio marked."""
    figure, (axes,) = _figure(width=6.0, height=3.8, shape=(1, 1))
    for (name, curve), colour in zip(study.curves.items(), cycle(COLOURS), strict=False):
        axes.plot(study.l2, curve, color=colour, label=name)
    axes.axhline(target, color="0.4", linestyle=":", linewidth=1)
    axes.text(study.l2[-1], target * 1.06, f"q/p = {target:g}", color="0.3", ha="right")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel=r"penalty $\lambda$ (unit-norm features)",
        ylabel="separation q/p",
        title="How much faster a round forgets single labels than class means",
    )
    axes.legend(loc="upper left", fontsize=8)
    return figure


def _figure(
    *, width: float, height: float, shape: tuple[int, int] = (1, 2), share_y: bool = False
) -> tuple[Any, Any]:
    """Return an empty figure and its panels; a grid as nested rows, a single row as one list."""
    figure = new_figure(width, height)
    panels = figure.subplots(*shape, sharey=share_y, squeeze=False)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, panels if shape[0] > 1 else panels[0]


def _draw_rounds(
    axes: Any,
    places: FloatArray,
    rows: FloatArray,
    name: Callable[[int], str] = str,
    markers: Sequence[str] = ("",),
) -> None:
    """Draw one line per round, in a blue that darkens with the round."""
    shades = np.linspace((0.62, 0.79, 0.92), (0.03, 0.19, 0.42), len(rows))
    for t, (row, colour) in enumerate(zip(rows, shades, strict=True), start=1):
        marker = markers[(t - 1) % len(markers)]
        axes.plot(places, row, color=colour, marker=marker, markersize=4, label=name(t))


def _round_name(t: int) -> str:
    return "teacher (t = 1)" if t == 1 else f"student (t = {t})"


def _corners(n_classes: int) -> FloatArray:
    """(n_classes, 2) corners of a regular polygon, the first to the upper right."""
    angles = np.pi / n_classes + 2 * np.pi * np.arange(n_classes) / n_classes
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _plane(
    axes: Any, outputs: FloatArray, study: "studies.OutputStudy", corners: FloatArray
) -> None:
    places = outputs @ corners
    closed = np.vstack([corners, corners[:1]])
    axes.plot(*closed.T, color="0.7", linewidth=0.8)
    clean = study.true_labels == study.given_labels
    for k in range(len(corners)):
        colour = COLOURS[k % len(COLOURS)]
        of_class = study.true_labels == k
        right, wrong = places[of_class & clean], places[of_class & ~clean]
        axes.scatter(*wrong.T, s=11, marker="x", linewidths=0.7, color=colour)
        axes.scatter(*right.T, s=11, marker="o", linewidths=0.4, color=colour, edgecolors="w")
        axes.annotate(f"{k}", 1.16 * corners[k], ha="center", va="center", fontsize=8)
    axes.set(xlim=(-1.0, 1.0), ylim=(-1.0, 1.0), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)


def _by_label(
    outputs: FloatArray, study: "studies.OutputStudy", chosen: Any, kind: str
) -> list[tuple[str, str, str, FloatArray]]:
    """Return outputs (n_rounds, values) at the true, the given and the other labels."""
    rows = outputs[:, chosen]
    true, given = study.true_labels[chosen], study.given_labels[chosen]
    samples = np.arange(true.size)
    others = np.ones(rows.shape[1:], dtype=bool)
    others[samples, true] = others[samples, given] = False
    series = [(COLOURS[0], "o", "true label", rows[:, samples, true])]
    if kind == "wrong":
        series.append((COLOURS[1], "s", "given label", rows[:, samples, given]))
    series.append((COLOURS[2], "^", "other labels", rows[:, others]))
    return series
