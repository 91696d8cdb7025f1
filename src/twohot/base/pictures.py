"""The colours of all pictures and reports: the same method has the same colour everywhere."""

import colorsys
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from twohot.base.files import whole_file
from twohot.base.optional import load_extra

# Okabe and Ito's palette: colour-blind readers can distinguish it, and grey print by lightness.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)

# What is learnt by cross-entropy is blue, by a robust loss warm.
METHOD_COLOURS = {"teacher": BLUE, "robust": VERMILION, "discriminant": "#7A5195"}

# Hues beyond the palette: each as far from the ones before as the golden section puts it, and of
# another lightness than its neighbours.
GOLDEN, LIGHTNESS, SATURATION = 0.618034, (0.36, 0.62, 0.48), 0.55


def group_colour(number: int) -> str:
    """Return the colour of a class or another group, counted from 0; no two have the same.

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
    """Return the colour of each method; one that has none of its own gets one that is free."""
    named = list(dict.fromkeys(methods))
    taken = {METHOD_COLOURS[name] for name in named if name in METHOD_COLOURS}
    free = (colour for colour in map(group_colour, count()) if colour not in taken)
    return {name: METHOD_COLOURS.get(name) or next(free) for name in named}


# Pictures: begun empty, and written whole or not at all -------------------------------------------

# Dots an inch: names of classes in small print can be read, and files stay below half a MB.
DPI = 150

# By the end of the name: what would make two files of the same picture differ, left out.
METADATA = {".png": {"Software": None}, ".svg": {"Date": None}}


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of so many inches."""
    matplotlib = load_extra("matplotlib.figure", "plot", "figures")
    return matplotlib.Figure(figsize=(width, height), layout="constrained")


def write_figure(path: Path, figure: Any) -> None:
    """Write a figure of matplotlib in the format that the name says."""
    matplotlib = load_extra("matplotlib", "plot", "figures")
    # A salt of its own names the parts of an SVG at random.
    with whole_file(path) as file, matplotlib.rc_context({"svg.hashsalt": "twohot"}):
        figure.savefig(file, format=path.suffix[1:], dpi=DPI, metadata=METADATA[path.suffix])
