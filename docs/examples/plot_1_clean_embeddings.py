"""
Clean a dataset of embeddings
=============================

After this page you can find and correct the wrong labels of a dataset, and train a classifier that
tolerates wrong labels.

The data are scikit-learn's digits: 1,797 small images. Their 64 grey values serve as embeddings.
We replace about 30 % of the labels by wrong ones, so we can count how many of them are found.
"""

# %%
# The data
# --------
# Each wrong label is one of the nine other digits, at random. A fifth of the rows keeps its clean
# labels for the test. No choice depends on these rows.

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
# Call ``find_label_issues``. It predicts each row with classifiers that were not trained on this
# row, because a classifier may memorise a wrong label.

from twohot import find_label_issues

issues = find_label_issues(embeddings, labels)
least, most = issues.noise_interval
print(f"flagged: {issues.n_issues}")
print(f"estimated wrong labels: {issues.noise_rate:.1%}, between {least:.1%} and {most:.1%}")

# %%
# The true labels are known here, so we can compute precision and recall.

flagged = issues.is_label_issue
print(f"of the flagged labels {noise.flipped[flagged].mean():.1%} are wrong")
print(f"of the wrong labels {flagged[noise.flipped].mean():.1%} are flagged")

# %%
# Look at the suspicious labels
# -----------------------------
# ``to_pandas`` returns one line per row of the data, in the same order. These labels are the most
# suspicious:

issues.to_pandas().sort_values("probability_wrong", ascending=False).head()

# %%
# The title of each image shows the given label and the suggestion.

import matplotlib.pyplot as plt
import numpy as np

doubtful = np.argsort(-issues.probability_wrong)[:12]
figure, axes = plt.subplots(2, 6, figsize=(8, 3.4), layout="constrained")
for row, axis in zip(doubtful, axes.flat, strict=True):
    axis.imshow(embeddings[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{issues.given_label[row]} → {issues.predicted_label[row]}")
    axis.axis("off")

# %%
# Correct the labels
# ------------------
# ``corrected_labels`` accepts the suggestion for every flagged row whose label is probably wrong,
# unless two suggestions are about equally probable. On your own data, review the labels first:
# ``issues.report("report.html")`` writes a page for the review, and
# ``issues.apply("decisions.csv")`` returns the reviewed labels.

corrected = issues.corrected_labels()
print(f"wrong before: {np.mean(labels != true_labels):.1%}")
print(f"wrong after:  {np.mean(np.asarray(corrected).astype(int) != true_labels):.1%}")

# %%
# Or train on the noisy labels
# ----------------------------
# ``AutoProbe`` tries several classifiers for noisy labels and combines those that predict held-out
# labels best. It needs no clean labels. Measure its accuracy on the clean test rows:

from sklearn.linear_model import LogisticRegression

from twohot import AutoProbe

probe = AutoProbe().fit(embeddings, labels)
plain = LogisticRegression(max_iter=1000).fit(embeddings, labels)
print(f"AutoProbe:          accuracy {probe.score(test_embeddings, test_labels):.1%}")
print(f"LogisticRegression: accuracy {plain.score(test_embeddings, test_labels):.1%}")

# %%
# The gain is large because the wrong labels are random. If few labels are wrong, there is no gain.
# Errors made by people are harder to find. :doc:`plot_5_will_it_help` shows how to check your data
# first. :doc:`/explanation/limits` lists the limits.
#
# ``choice_`` lists all classifiers that were tried. *Agreement* is the fraction of held-out labels
# that they predict.

print(probe.choice_)

# %%
# The probe is a scikit-learn classifier. ``probe.save("probe.safetensors")`` writes a file with
# numbers and no code. ``twohot.load`` reads it.
