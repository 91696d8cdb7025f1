"""
I come from cleanlab
====================

After this page you can replace cleanlab by twohot for classification on embeddings. The page runs
both on the same data, and ends with a table of equivalents.
"""

# %%
# The data
# --------
# The data are digits with 30 % wrong labels. Half of the wrong labels are the next digit, and the
# other half are random.

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
# cleanlab needs held-out probabilities, so you cross-validate a model first.

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
# The curves show precision and recall for every number of flagged labels:

import matplotlib.pyplot as plt
from sklearn.metrics import precision_recall_curve

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, (_, quality)), colour in zip(
    verdicts.items(), ("#000000", "#E69F00", "#D55E00"), strict=True
):
    precision, recall, _ = precision_recall_curve(wrong, 1 - quality)
    axis.plot(recall, precision, label=name, color=colour)
axis.set(
    xlabel="recall: fraction of the wrong labels that are flagged",
    ylabel="precision",
)
_ = axis.legend(loc="lower left")

# %%
# How many labels are wrong?
# --------------------------
# cleanlab estimates the number of wrong labels. twohot estimates their fraction, with a range.

from cleanlab.count import estimate_py_and_noise_matrices_from_probabilities, num_label_issues

print(f"true:     {wrong.mean():.1%}")
print(f"cleanlab: {num_label_issues(labels, probabilities) / len(labels):.1%}")
least, most = issues.noise_interval
print(f"twohot:   {issues.noise_rate:.1%}, between {least:.1%} and {most:.1%}")

# %%
# Both packages estimate which classes are confused. The matrix of twohot corresponds to the
# transpose of cleanlab's matrix.

_, noise_matrix, *_ = estimate_py_and_noise_matrices_from_probabilities(labels, probabilities)
print("fraction of the threes that are labelled 4")
print(f"true:     {np.mean(labels[truth == 3] == 4):.2f}")
print(f"cleanlab: {noise_matrix[4, 3]:.2f}")
print(f"twohot:   {issues.corruption[3, 4]:.2f}")

# %%
# Equivalents
# -----------
#
# .. list-table::
#    :header-rows: 1
#    :widths: 20 40 40
#
#    * - task
#      - cleanlab
#      - twohot
#    * - flags from features
#      - ``cross_val_predict(…)``, then the next row
#      - ``find_label_issues(X, y)``
#    * - flags from your probabilities
#      - ``find_label_issues(labels, pred_probs)``
#      - ``find_label_issues(None, y, probabilities=…)``
#    * - ranking
#      - ``return_indices_ranked_by="self_confidence"``
#      - ``issues.rows``, the most suspicious first
#    * - quality scores
#      - ``get_label_quality_scores(labels, pred_probs)``
#      - ``issues.label_quality``
#    * - suggested labels
#      - ``pred_probs.argmax(axis=1)``
#      - ``issues.predicted_label``
#    * - a table
#      - ``CleanLearning(clf).find_label_issues(X, labels)``
#      - ``issues.to_pandas()``, with the same column names
#    * - flag 100 labels
#      - take the first 100 of the ranking
#      - ``find_label_issues(X, y, budget=100)``
#    * - fraction of wrong labels
#      - ``num_label_issues(labels, pred_probs)``
#      - ``issues.noise_rate``, ``issues.noise_interval``
#    * - confused classes
#      - ``noise_matrix[given, true]``, columns sum to one
#      - ``issues.corruption[true, given]``, rows sum to one
#    * - train on noisy labels
#      - ``CleanLearning(clf).fit(X, labels)``
#      - ``AutoProbe().fit(X, y)``
#    * - near-duplicates, outliers
#      - ``Datalab(data, label_name).find_issues(features=X)``
#      - ``find_data_issues(X, issues)``
#    * - report
#      - ``Datalab.report()`` prints it
#      - ``issues.report("report.html")``, to review in a browser
#    * - corrected data
#      - replace labels yourself
#      - ``issues.corrected_labels()``, ``twohot apply``
#    * - allowed labels
#      - integers 0 … K − 1
#      - any numbers or texts
#
# cleanlab also supports multi-label and token labels, object detection, segmentation, regression,
# several annotators, and any model. twohot only supports one label per row, and features of a
# frozen model.
