"""The colours of all pictures."""

# Okabe and Ito's palette: told apart by colour-blind readers and, by lightness, in grey print.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)

# A blue that darkens from the teacher, round 1, to the sixth student, round 7.
ROUND_COLOURS = ("#C6DBEF", "#9ECAE1", "#6BAED6", "#4292C6", "#2171B5", "#08519C", "#08306B")

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
    # Two candidates are the paper's two-hot student; the others darken with their number.
    "top-1": "#C7E3C9",
    "top-3": "#7CBF8E",
    "top-5": "#2E8B6A",
    "top-10": "#0B4F45",
}
