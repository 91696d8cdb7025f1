"""
In a notebook, with pandas
==========================

After this page you can audit the labels of a data frame, join the results to your rows, and
correct the label column. Everything that twohot returns has the index of your data frame.
"""

# %%
# A data frame
# ------------
# The data frame has scikit-learn's digits: 64 columns of grey values, a column of labels, and an
# index of names. A fifth of the labels is wrong, and some labels are missing.

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
# Pass the columns of features and the column of labels. In a notebook, the result shows the most
# suspicious rows.

from twohot import find_label_issues

features = frame.drop(columns="label")
issues = find_label_issues(features, frame["label"])
issues

# %%
# Join the results
# ----------------
# ``to_pandas`` returns a frame with your index, so you can ``join`` it. Rows without a label are
# never flagged, but they have a suggestion.

verdicts = frame[["label"]].join(issues.to_pandas())
verdicts[["label", "is_label_issue", "probability_wrong", "predicted_label", "confidence"]].head(8)

# %%
# Which labels are confused? Count given labels against suggestions:

flagged = verdicts[verdicts["is_label_issue"]]
pd.crosstab(flagged["given_label"], flagged["predicted_label"])

# %%
# Which classes have the most wrong labels? Average the probability by class:

verdicts.groupby("given_label")["probability_wrong"].mean().round(2)

# %%
# Most labels are almost certainly right or almost certainly wrong. Review the labels with
# probabilities in the middle:

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.hist(verdicts["probability_wrong"].dropna(), bins=40, color="#0072B2")
_ = axis.set(xlabel="probability that the label is wrong", ylabel="rows", yscale="log")

# %%
# The corrected column
# --------------------
# ``corrected_labels`` accepts the suggestions for flagged rows, unless two suggestions are about
# equally probable. With ``unlabelled=True`` it also fills missing labels.

frame["label"] = issues.corrected_labels(unlabelled=True)
right = frame["label"].astype(int) == truth[frame.index]
print(f"right after the correction: {right.mean():.1%} of all rows")

# %%
# Explain one label
# -----------------
# ``explain_label`` shows why a label is suspicious: each row votes for its own label, with a weight
# that depends on its similarity. ``neighbours`` are the rows with the largest weights.

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
