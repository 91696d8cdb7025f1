"""
Will it help here?
==================

Not every data set needs a method for wrong labels, and some are beyond any. ``forecast`` looks at
features and noisy labels, without a clean label anywhere, and says which of the two it is.

Here it is asked about the same digits four times: with few wrong labels, many, very many, and
with labels that were shuffled.
"""

# %%
# Four cases
# ----------

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twohot.noise import corrupt_labels, symmetric

pixels, digits = load_digits(return_X_y=True)
features, test_features, truth, test_truth = train_test_split(
    pixels, digits, test_size=0.3, stratify=digits, random_state=0
)
cases = {
    f"{rate:.0%} wrong": corrupt_labels(truth, symmetric(10, rate), random_state=0).given_labels
    for rate in (0.05, 0.3, 0.7)
}
cases["shuffled"] = np.random.default_rng(0).permutation(truth)

# %%
# Ask
# ---

from twohot import forecast

answers = {name: forecast(features, labels) for name, labels in cases.items()}
for name, answer in answers.items():
    print(f"{name:>10}: {answer.advice.action.value}")

# %%
# Everything that is known of one case, in words:

from textwrap import fill

for line in str(answers["70% wrong"]).splitlines():
    print(fill(line, 95, subsequent_indent="  "))

# %%
# Was it right?
# -------------
# We have clean test labels, which the forecast has never seen. Beside each other: a plain probe,
# and what ``AutoProbe`` chooses by itself.

import matplotlib.pyplot as plt

from twohot import AutoProbe, LinearProbe

accuracy = {
    name: [
        probe.fit(features, labels).score(test_features, test_truth)
        for probe in (LinearProbe(ridge=10), AutoProbe())
    ]
    for name, labels in cases.items()
}
places = np.arange(len(cases))
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for number, (label, colour) in enumerate([("plain probe", "#56B4E9"), ("AutoProbe", "#D55E00")]):
    heights = [100 * row[number] for row in accuracy.values()]
    bars = axis.bar(places + 0.4 * number - 0.2, heights, 0.38, label=label, color=colour)
    axis.bar_label(bars, fmt="%.1f", padding=2)
axis.set_xticks(places, list(cases))
axis.set(ylabel="right on clean test rows, %", ylim=(0, 112))
_ = axis.legend(ncols=2, loc="upper right")

# %%
# With few wrong labels there is little to gain, with many there is much, and from shuffled labels
# nobody learns anything: one digit in ten is right by chance.
#
# What it cannot know
# -------------------
# If most labels of a class are moved to one other class, the data look like clean data with other
# names, and no method can tell from the labels alone. Features that say nothing about the classes
# look like labels that are wrong. :doc:`/explanation/limits` has these cases.
