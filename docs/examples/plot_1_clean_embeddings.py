"""
From embeddings to a clean data set
===================================

You have embeddings and labels, and some of the labels are wrong. This page finds them, shows
them, corrects them, and trains a classifier that hardly notices that they were wrong.

The data are scikit-learn's digits: 1,797 small pictures, whose 64 grey values serve as
embeddings. We make 30 % of the labels wrong ourselves, so that we can count afterwards what was
found.
"""

# %%
# The data
# --------
# Labels are replaced at random, each wrong one by any of the nine others. A fifth of the rows is
# kept with clean labels, to test on; nothing is chosen by looking at it.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twohot.noise import corrupt_labels, symmetric

pixels, digits = load_digits(return_X_y=True)
embeddings, test_embeddings, true_labels, test_labels = train_test_split(
    pixels / 16, digits, test_size=0.2, stratify=digits, random_state=0
)
noise = corrupt_labels(true_labels, symmetric(10, 0.3), random_state=0)
labels = noise.given_labels
print(f"{len(labels)} rows, {noise.flipped.sum()} with a wrong label")

# %%
# Find the wrong labels
# ---------------------
# One call. It fits a linear classifier several times, each time without a part of the rows, and
# asks it about the rows that it has not seen: a label that it learnt by heart would look right
# otherwise.

from twohot import find_label_issues

issues = find_label_issues(embeddings, labels)
least, most = issues.noise_interval
print(f"flagged: {issues.n_issues}")
print(
    f"estimated share of wrong labels: {issues.noise_rate:.1%}, between {least:.1%} and {most:.1%}"
)

# %%
# How good is that? We know the truth here.

flagged = issues.is_label_issue
print(f"of the flagged labels {noise.flipped[flagged].mean():.1%} are wrong")
print(f"of the wrong labels {flagged[noise.flipped].mean():.1%} are flagged")

# %%
# Look at them
# ------------
# A table has one line for each row of the data, in the same order. These are the most doubtful
# ones.

issues.to_pandas().sort_values("probability_wrong", ascending=False).head()

# %%
# Beside every picture: the label it came with, and the one that is suggested.

import matplotlib.pyplot as plt
import numpy as np

doubtful = np.argsort(-issues.probability_wrong)[:12]
figure, axes = plt.subplots(2, 6, figsize=(8, 3.4), layout="constrained")
for row, axis in zip(doubtful, axes.flat, strict=True):
    axis.imshow(embeddings[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{issues.given_label[row]} → {issues.predicted_label[row]}")
    axis.axis("off")

# %%
# Correct them
# ------------
# ``corrected_labels`` takes the suggestion for every flagged row that is more probably wrong than
# right and no close call. In earnest a person should look first: ``issues.report("report.html")``
# writes a page to do it in, and ``issues.apply("decisions.csv")`` returns the labels that follow
# from what was decided there.

corrected = issues.corrected_labels()
print(f"wrong before: {np.mean(labels != true_labels):.1%}")
print(f"wrong after:  {np.mean(np.asarray(corrected).astype(int) != true_labels):.1%}")

# %%
# Or train on the labels as they are
# ----------------------------------
# ``AutoProbe`` tries several ways of learning from doubtful labels and takes what predicts labels
# best that it has not seen, wrong as some of them are.

from sklearn.linear_model import LogisticRegression

from twohot import AutoProbe

probe = AutoProbe().fit(embeddings, labels)
plain = LogisticRegression(max_iter=1000).fit(embeddings, labels)
print(f"AutoProbe:          {probe.score(test_embeddings, test_labels):.1%} right on clean labels")
print(f"LogisticRegression: {plain.score(test_embeddings, test_labels):.1%}")

# %%
# With labels drawn wrong at random that is a gain. With few wrong labels there is none, and people
# make other mistakes than dice do: :doc:`plot_5_will_it_help` asks beforehand, and
# :doc:`/explanation/limits` says where it does not work.
#
# What it tried, and how well each agreed with held-out labels:

print(probe.choice_)

# %%
# The probe is a scikit-learn classifier. ``probe.save("probe.safetensors")`` keeps it in a file
# that holds numbers and no code; ``twohot.load`` reads it.
