"""
In a notebook, with pandas
==========================

Your rows are in a data frame, with an index of their own, and you want the verdicts beside them.
Everything that twohot returns keeps the index, so that nothing has to be put in order again.
"""

# %%
# A data frame
# ------------
# scikit-learn's digits: 64 columns of grey values, a column of labels, and an index of names. A
# fifth of the labels is made wrong, and some are taken away.

import pandas as pd
from sklearn.datasets import load_digits

from twohot.noise import corrupt_labels, symmetric

pixels, digits = load_digits(return_X_y=True, as_frame=True)
names = [f"scan-{number:04d}" for number in range(len(pixels))]
truth = digits.set_axis(names)
frame = pixels.set_axis(names)
noise = corrupt_labels(digits, symmetric(10, 0.2), random_state=0)
frame["label"] = pd.Series(noise.given_labels, index=names, dtype="Int64")
frame.loc[frame.index[::50], "label"] = pd.NA
frame = frame.sample(frac=1, random_state=0)  # in any order
frame["label"].value_counts(dropna=False).sort_index()

# %%
# The audit
# ---------
# Columns in, columns out. In a notebook the result shows its most doubtful rows.

from twohot import find_label_issues

features = frame.drop(columns="label")
issues = find_label_issues(features, frame["label"])
issues

# %%
# Beside your rows
# ----------------
# ``to_pandas`` has the index of the data, so that ``join`` is right. Rows without a label are never
# flagged; they have a suggestion all the same.

verdicts = frame[["label"]].join(issues.to_pandas())
verdicts[["label", "is_label_issue", "probability_wrong", "predicted_label", "confidence"]].head(8)

# %%
# Questions are asked as of any data frame. Which labels are given for which?

flagged = verdicts[verdicts["is_label_issue"]]
pd.crosstab(flagged["given_label"], flagged["predicted_label"])

# %%
# How wrong are the labels of each class?

verdicts.groupby("given_label")["probability_wrong"].mean().round(2)

# %%
# A histogram tells how clear the cases are: most labels are almost certainly right or almost
# certainly wrong, and what lies between is worth a look.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.hist(verdicts["probability_wrong"].dropna(), bins=40, color="#0072B2")
_ = axis.set(xlabel="probability that the label is wrong", ylabel="rows", yscale="log")

# %%
# The corrected column
# --------------------
# Suggestions are taken for flagged rows that are not close calls, and, because we ask for it, for
# rows without a label.

frame["label"] = issues.corrected_labels(unlabelled=True)
right = frame["label"].astype(int) == truth[frame.index]
print(f"right now: {right.mean():.1%} of all rows")

# %%
# Why this one?
# -------------
# The rows that outvoted the label, the strongest first.

from twohot import explain_label

row = int(issues.rows[0])
(why,) = explain_label(features, issues.given_label, [row], n_neighbours=5)
print(why)
pd.DataFrame(
    {
        "row": [features.index[neighbour.row] for neighbour in why.neighbours],
        "label": [neighbour.label for neighbour in why.neighbours],
    }
)
