"""Training accuracy of the synthetic experiment against noise: rounds, and the two-hot student."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot._types import FloatArray
from twohot.figures.palette import METHOD_COLOURS
from twohot.figures.panels import new_panels, round_lines, round_name

TWO_HOT_STYLE = {
    "color": METHOD_COLOURS["two-hot"],
    "linestyle": "--",
    "marker": "o",
    "markersize": 4.5,
    "markeredgecolor": "w",
    "markeredgewidth": 0.5,
}

# Marker, its size, line and face of the rules for ties; larger ones first, so that all are seen.
RULE_STYLES = {
    "spread": ("o", 10, "--", "w"),
    "random": ("s", 6, ":", METHOD_COLOURS["two-hot"]),
    "lowest": ("v", 5, "-.", "k"),
}

SMALL_NOISE = 0.1
SMALL_TICKS = (0, 0.0025, 0.01, 0.03, 0.05, 0.1)


@dataclass(frozen=True, eq=False)
class NoiseCurves:
    """Accuracies against noise; the first axis is that of draws of the matrix."""

    noise_rates: list[float]
    rounds: list[FloatArray]  # per rate, (n_draws, n_rounds)
    two_hot: dict[str, list[FloatArray]]  # by rule for ties: per rate, (n_draws,)


def accuracy_figure(panels: Mapping[str, NoiseCurves]) -> Any:
    """Draw training accuracy against the noise rate, one panel per matrix."""
    figure, axes_row = new_panels(4.1 * len(panels) + 1.7, 3.9, 1, len(panels), share_y=True)
    for axes, (title, curves) in zip(axes_row[0], panels.items(), strict=True):
        means, spreads = _over_draws(curves.rounds)
        for number, mean, style in round_lines(means):
            axes.plot(curves.noise_rates, mean, label=round_name(number), **style)
            _band(axes, curves.noise_rates, mean, spreads[number - 1], style["color"])
        mean, spread = _over_draws(curves.two_hot["spread"])
        axes.plot(
            curves.noise_rates,
            mean,
            label="two-hot student\n(ties spread)",
            zorder=4,
            **TWO_HOT_STYLE,
        )
        _band(axes, curves.noise_rates, mean, spread, TWO_HOT_STYLE["color"])
        axes.set(xlabel="noise rate η (symmetric)", title=title, ylim=(-3, 103))
    axes_row[0][0].set_ylabel("training accuracy (%)")
    axes_row[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def small_noise_figure(panels: Mapping[str, NoiseCurves], *, most: float = SMALL_NOISE) -> Any:
    """Draw the two-hot student where few labels are wrong and ties decide, one panel per matrix."""
    figure, axes_row = new_panels(4.1 * len(panels) + 1.7, 3.6, 1, len(panels), share_y=True)
    for axes, (title, curves) in zip(axes_row[0], panels.items(), strict=True):
        kept = [place for place, rate in enumerate(curves.noise_rates) if rate <= most]
        # Square roots spread the smallest rates, and leave a place for zero.
        places = [float(np.sqrt(curves.noise_rates[place])) for place in kept]
        teacher = _over_draws([curves.rounds[place] for place in kept])[0][:1]
        for _, mean, style in round_lines(teacher):
            axes.plot(places, mean, label="teacher", **style)
        for rule in RULE_STYLES:
            values = [curves.two_hot[rule][place] for place in kept]
            _draw_rule(axes, rule, places, *_over_draws(values))
        ticks = [rate for rate in SMALL_TICKS if rate <= most]
        axes.set_xticks(np.sqrt(ticks), [f"{rate:g}".lstrip("0") or "0" for rate in ticks])
        axes.set(xlabel="noise rate η (root scale)", title=title, ylim=(-3, 103))
    axes_row[0][0].set_ylabel("training accuracy (%)")
    axes_row[0][-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def _draw_rule(
    axes: Any, rule: str, places: list[float], mean: FloatArray, spread: FloatArray
) -> None:
    marker, size, line, face = RULE_STYLES[rule]
    colour = TWO_HOT_STYLE["color"]
    style = {"marker": marker, "markersize": size, "linestyle": line, "markerfacecolor": face}
    axes.plot(places, mean, color=colour, label=f"two-hot, ties: {rule}", **style)
    _band(axes, places, mean, spread, colour)


def _over_draws(values: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation over draws in per cent, the rate as the last axis."""
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
