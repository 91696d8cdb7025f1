"""
From cleanlab to twohot
=======================

After this page you can replace cleanlab by twohot for classification on embeddings. The page runs
both on the same data, and ends with a table of equivalent calls.
"""

# %%
# The data
# --------
# Digits with 30 % wrong labels. Half of them are the next digit, the other half are random.

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
# cleanlab needs out-of-sample probabilities, so you cross-validate a model first.

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
# twohot takes the embeddings. It chooses the models and the penalties, and cross-validates them.

from twohot import find_label_issues

issues = find_label_issues(embeddings, labels)

# %%
# Or pass your own probabilities, as to cleanlab:

same_probabilities = find_label_issues(None, labels, probabilities=probabilities)

# %%
# Compare the results
# -------------------
# The wrong labels are known here, so compute precision and recall of the flags, and average
# precision of the ranking. This is one draw of one dataset. :doc:`/audit_benchmark` compares many
# datasets, and lists losses too.

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
# Precision and recall, if more and more labels are flagged:

import matplotlib.pyplot as plt
from sklearn.metrics import precision_recall_curve

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, (_, quality)), colour in zip(
    verdicts.items(), ("#000000", "#E69F00", "#D55E00"), strict=True
):
    precision, recall, _ = precision_recall_curve(wrong, 1 - quality)
    axis.plot(recall, precision, label=name, color=colour)
axis.set(
    xlabel="recall: share of the wrong labels that are flagged",
    ylabel="precision: share of the flagged labels that are wrong",
)
_ = axis.legend(loc="lower left")

# %%
# Equivalent calls
# ----------------
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
# cleanlab also supports multi-label and token labels, object detection, segmentation, regression,
# several annotators, and training any model. twohot supports one label per row, on features of a
# frozen model.
