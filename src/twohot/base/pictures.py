"""Colours and files of figures: a method has the same colour in all figures and reports."""

import colorsys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from twohot.base.files import whole_file
from twohot.base.optional import load_extra

# The palette of Okabe and Ito: colour-blind readers can tell the colours apart.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)

# Methods with cross-entropy are blue, those with a robust loss red, discriminant analysis purple.
METHOD_COLOURS = {"teacher": BLUE, "robust": VERMILION, "discriminant": "#7A5195"}

# Each further hue is a step of the golden section from the last hue, so it is far from all earlier
# hues. Consecutive colours differ in lightness.
GOLDEN, LIGHTNESS, SATURATION = 0.618034, (0.36, 0.62, 0.48), 0.55


def group_colour(number: int) -> str:
    """Return the colour of a group by its number, counted from 0; all colours differ.

    Examples
    --------
    >>> group_colour(0) == BLUE, len({group_colour(number) for number in range(300)})
    (True, 300)
    """
    if number < len(COLOURS):
        return COLOURS[number]
    lightness = LIGHTNESS[number % len(LIGHTNESS)]
    channels = colorsys.hls_to_rgb(number * GOLDEN % 1, lightness, SATURATION)
    return "#" + "".join(f"{round(255 * channel):02X}" for channel in channels)


def method_colours(methods: Iterable[str]) -> dict[str, str]:
    """Return the colour of each method; methods without a fixed colour get unused colours."""
    named = list(dict.fromkeys(methods))
    taken = {METHOD_COLOURS[name] for name in named if name in METHOD_COLOURS}
    free = (colour for colour in map(group_colour, count()) if colour not in taken)
    return {name: METHOD_COLOURS.get(name) or next(free) for name in named}


# Figures of matplotlib: an empty one, and writing to a file ---------------------------------------

# Dots per inch: small class names are readable, and files stay below 0.5 MB.
DPI = 150

# Metadata to omit, by file ending. With this metadata, two files of the same figure would differ.
METADATA = {".png": {"Software": None}, ".svg": {"Date": None}}


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure; `width` and `height` are in inches."""
    matplotlib = load_extra("matplotlib.figure", "plot", "figures")
    return matplotlib.Figure(figsize=(width, height), layout="constrained")


def write_figure(path: Path, figure: Any) -> None:
    """Write a matplotlib figure in the format given by the file name."""
    matplotlib = load_extra("matplotlib", "plot", "figures")
    # matplotlib gives the parts of an SVG random ids by default; a fixed salt makes them constant.
    with whole_file(path) as file, matplotlib.rc_context({"svg.hashsalt": "twohot"}):
        figure.savefig(file, format=path.suffix[1:], dpi=DPI, metadata=METADATA[path.suffix])
