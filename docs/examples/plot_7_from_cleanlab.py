"""
From cleanlab to twohot
=======================

If you know cleanlab: the same question, asked of embeddings. This page has both on the same data,
and a table of what is called what.
"""

# %%
# The data
# --------
# Digits with 30 % of the labels wrong, half of them in pairs (each digit taken for the next), half
# at random.

import numpy as np
from sklearn.datasets import load_digits

from twohot.noise import corrupt_labels, pair_flip, symmetric

pixels, truth = load_digits(return_X_y=True)
embeddings = pixels / 16
mixed = (symmetric(10, 0.3) + pair_flip(10, 0.3)) / 2
noise = corrupt_labels(truth, mixed, random_state=0)
labels = noise.given_labels

# %%
# cleanlab
# --------
# It asks for probabilities of a model that has not seen the row, so that you cross-validate first.

from cleanlab.filter import find_label_issues as cleanlab_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

model = LogisticRegression(max_iter=1000)
probabilities = cross_val_predict(model, embeddings, labels, cv=5, method="predict_proba")
cleanlab_flags = cleanlab_issues(labels, probabilities)
cleanlab_quality = get_label_quality_scores(labels, probabilities)

# %%
# twohot
# ------
# It takes the embeddings. Which model, which penalty, and what is held out is its own business.

from twohot import find_label_issues

issues = find_label_issues(embeddings, labels)

# %%
# Or bring your probabilities along, as for cleanlab:

same_probabilities = find_label_issues(None, labels, probabilities=probabilities)

# %%
# Beside each other
# -----------------
# Precision and recall of the flags, and average precision of the ranking, on labels of which we
# know which are wrong. This is one draw of one data set; :doc:`/audit_benchmark` has many, losses
# among them.

import pandas as pd
from sklearn.metrics import average_precision_score, precision_score, recall_score

wrong = noise.flipped
verdicts = {
    "cleanlab": (cleanlab_flags, cleanlab_quality),
    "twohot, same probabilities": (
        same_probabilities.is_label_issue,
        same_probabilities.label_quality,
    ),
    "twohot": (issues.is_label_issue, issues.label_quality),
}
pd.DataFrame(
    {
        name: {
            "flagged": int(np.sum(flags)),
            "precision": precision_score(wrong, flags),
            "recall": recall_score(wrong, flags),
            "average precision": average_precision_score(wrong, 1 - quality),
        }
        for name, (flags, quality) in verdicts.items()
    }
).T.round(3)

# %%
# The same as curves: what share of the flagged labels is wrong, if more and more are flagged.

import matplotlib.pyplot as plt
from sklearn.metrics import precision_recall_curve

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, (_, quality)), colour in zip(
    verdicts.items(), ("#000000", "#E69F00", "#D55E00"), strict=True
):
    precision, recall, _ = precision_recall_curve(wrong, 1 - quality)
    axis.plot(recall, precision, label=name, color=colour)
axis.set(
    xlabel="share of the wrong labels that are flagged",
    ylabel="share of the flagged that are wrong",
)
_ = axis.legend(loc="lower left")

# %%
# What is called what
# -------------------
#
# .. list-table::
#    :header-rows: 1
#
#    * - cleanlab
#      - twohot
#    * - ``find_label_issues(labels, pred_probs)``
#      - ``find_label_issues(None, y, probabilities=…)``, or ``find_label_issues(X, y)``
#    * - ``CleanLearning(clf).fit(X, labels)``
#      - ``AutoProbe().fit(X, y)``
#    * - ``is_label_issue``, ``label_quality``, ``given_label``, ``predicted_label``
#      - the same columns of ``issues``
#    * - ``return_indices_ranked_by="self_confidence"``
#      - ``issues.rows``, the most doubtful first
#    * - ``noise_matrix[given, true]``, columns sum to one
#      - ``issues.corruption[true, given]``, rows sum to one: the transpose
#    * - ``Datalab(data, label_name).find_issues(features=X)``
#      - ``find_data_issues(X, issues)``: near-duplicates, outliers, classes alike
#    * - labels are 0 … K − 1
#      - labels are anything: numbers, texts, with gaps
#
# What cleanlab has and twohot does not: multi-label and token labels, object detection,
# segmentation, regression, several annotators, and any model at all. twohot is for one label per
# row, on features of a frozen model.
