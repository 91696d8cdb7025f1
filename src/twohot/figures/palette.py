"""The colours of all pictures."""

# Okabe and Ito's palette: told apart by colour-blind readers and, by lightness, in grey print.
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY)

# What is learnt by cross-entropy is blue, by a robust loss warm.
METHOD_COLOURS = {
    "teacher": BLUE,
    "rounds": SKY,
    "two-hot": PINK,
    "robust": VERMILION,
    "robust rounds": ORANGE,
}
