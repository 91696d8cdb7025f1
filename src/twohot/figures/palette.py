"""The colours of all pictures."""

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


def round_colour(number: int) -> str:
    """Return the colour of a round, 1 being the teacher; rounds beyond the seventh share its."""
    return ROUND_COLOURS[min(number, len(ROUND_COLOURS)) - 1]


def round_marker(number: int) -> str:
    """Return the marker of a round."""
    return ROUND_MARKERS[min(number, len(ROUND_MARKERS)) - 1]
