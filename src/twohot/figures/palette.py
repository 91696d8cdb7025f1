"""The colours of all pictures and reports: the same method has the same one everywhere."""

import colorsys
from collections.abc import Iterable
from itertools import count

# Okabe and Ito's palette: told apart by colour-blind readers and, by lightness, in grey print.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)

# A blue that darkens from the teacher to its sixth student.
ROUND_COLOURS = ("#9fcbee", "#7bb2e0", "#5a97ce", "#3d7cb9", "#24609f", "#114581", "#082c5e")

# What is learnt by cross-entropy is blue, by a robust loss warm.
METHOD_COLOURS = {
    "teacher": BLUE,
    "rounds": SKY,
    "two-hot": ORANGE,
    "robust": VERMILION,
    "robust rounds": PINK,
    "discriminant": "#7A5195",
    "average": "#808080",
    "two-hot by cross-entropy": "#3F3F8F",
    "two-hot from zero": "#8C6D1F",
    "tuned teacher": GREEN,
    **{f"round {t}": colour for t, colour in enumerate(ROUND_COLOURS, start=1)},
    # Students of more or fewer candidates than two darken with their number.
    "top-1": "#C7E3C9",
    "top-3": "#7CBF8E",
    "top-5": "#2E8B6A",
    "top-10": "#0B4F45",
}

# As markers of their own, so that rounds are told apart in grey print too.
ROUND_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


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


def round_colour(number: int) -> str:
    """Return the colour of a round, 1 being the teacher; rounds beyond the seventh share its."""
    return ROUND_COLOURS[min(number, len(ROUND_COLOURS)) - 1]


def round_marker(number: int) -> str:
    """Return the marker of a round."""
    return ROUND_MARKERS[min(number, len(ROUND_MARKERS)) - 1]
