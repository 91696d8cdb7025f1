"""
Will it help on my data?
========================

After this page you can find out, before you train or review anything, whether a method for noisy
labels helps on your data. ``forecast`` needs features and noisy labels, but no clean labels.

This page runs it on the same digits four times: with few, many and very many wrong labels, and
with shuffled labels.
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
# Run the forecast
# ----------------

from twohot import forecast

answers = {name: forecast(features, labels) for name, labels in cases.items()}
for name, answer in answers.items():
    print(f"{name:>10}: {answer.advice.action.value}")

# %%
# Print the evidence for one case:

from textwrap import fill

for line in str(answers["70% wrong"]).splitlines():
    print(fill(line, 95, subsequent_indent="  "))

# %%
# Compare with the test accuracy
# ------------------------------
# The forecast did not use the clean test labels. Compare a plain probe with ``AutoProbe`` on them.

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
axis.set(ylabel="accuracy on clean test rows, %", ylim=(0, 112))
_ = axis.legend(ncols=2, loc="upper right")

# %%
# With few wrong labels, the gain is small. With many, it is large. With shuffled labels, the
# accuracy is about one in ten, which is chance.
#
# What the forecast cannot detect
# -------------------------------
# If most labels of a class are changed to one other class, the data look like clean data with
# other class names. No method can detect this from the labels alone. If the features contain no
# information about the classes, right labels look wrong. :doc:`/explanation/limits` shows both
# cases.
