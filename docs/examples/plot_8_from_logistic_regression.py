"""
From LogisticRegression to twohot
=================================

A probe is a scikit-learn classifier: put it where ``LogisticRegression`` was. This page shows
that it is the same fit where you ask for the same, what the parameters are called, and what
changes if labels are wrong.
"""

# %%
# The same fit
# ------------
# scikit-learn divides by nothing and weighs the loss by C; here the loss is a mean and the penalty
# is ``l2``. For more than two classes l2 = 1 / (C · rows). Rows are centred and scaled to unit norm
# by default, which can be left out.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from twohot import LinearProbe

pixels, digits = load_digits(return_X_y=True)
X = pixels / 16
C = 1.0
theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, digits)
ours = LinearProbe(l2=1 / (C * len(X)), center=False, normalize=False, tol=1e-8).fit(X, digits)
difference = np.abs(theirs.predict_proba(X) - ours.predict_proba(X)).max()
print(f"largest difference of a probability: {difference:.0e}")

# %%
# Every fit says how well it ended: the norm of the gradient, relative to that at zero.

ours.rounds_[0].gradient_norm, ours.rounds_[0].converged, ours.rounds_[0].n_passes

# %%
# In pipelines and searches
# -------------------------

from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pipeline = make_pipeline(StandardScaler(), LinearProbe())
print(f"five folds: {cross_val_score(pipeline, X, digits).mean():.3f}")
search = GridSearchCV(LinearProbe(), {"ridge": [3, 30, 300]}, cv=3).fit(X, digits)
print(f"best ridge: {search.best_params_['ridge']}")

# %%
# What is called what
# -------------------
#
# .. list-table::
#    :header-rows: 1
#
#    * - LogisticRegression
#      - LinearProbe
#    * - ``C``
#      - ``l2`` = 1 / (C · rows), or ``ridge``, without units and for any number of rows
#    * - ``fit_intercept=True``
#      - none by default, as in the paper; pass True if classes differ much in size
#    * - ``class_weight``, ``sample_weight``
#      - the same
#    * - ``tol``: change of the largest gradient
#      - ``tol``: norm of the gradient, relative to that at zero
#    * - ``StandardScaler`` before it
#      - ``center`` and ``normalize`` inside, on by default
#    * - probabilities as labels: not possible
#      - ``fit_soft(X, probabilities)``
#    * - pickle
#      - ``probe.save("probe.safetensors")``, ``twohot.load``
#
# If labels are wrong
# -------------------
# Now the labels get worse, from none wrong to 80 %, and four classifiers are asked about clean test
# rows. The C of ``LogisticRegression`` is chosen by cross-validation, by the noisy labels, as
# ``AutoProbe`` chooses all that it chooses.

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from twohot import AutoProbe, PartialLabelProbe
from twohot.noise import corrupt_labels, symmetric

train, test, truth, test_truth = train_test_split(X, digits, stratify=digits, random_state=0)
rates = [0, 0.1, 0.3, 0.5, 0.7, 0.8]
methods = {
    "LogisticRegression, C by 5 folds": GridSearchCV(
        LogisticRegression(max_iter=500), {"C": [0.01, 0.1, 1, 10]}
    ),
    "LinearProbe": LinearProbe(),
    "PartialLabelProbe (two-hot)": PartialLabelProbe(),
    "AutoProbe": AutoProbe(),
}
accuracy = {name: [] for name in methods}
for rate in rates:
    labels = corrupt_labels(truth, symmetric(10, rate), random_state=0).given_labels
    for name, method in methods.items():
        accuracy[name].append(100 * method.fit(train, labels).score(test, test_truth))

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
styles = zip(("#000000", "#0072B2", "#E69F00", "#D55E00"), "osD^", strict=True)
for (name, values), (colour, marker) in zip(accuracy.items(), styles, strict=True):
    axis.plot(100 * np.array(rates), values, color=colour, marker=marker, label=name)
axis.set(xlabel="labels made wrong, %", ylabel="right on clean test rows, %")
axis.grid(alpha=0.3)
_ = axis.legend()

# %%
# With clean labels plain regression is as good, and simpler: use it. With many wrong labels a loss
# that bounds what one of them can cost, or labels that are averaged first, is worth several points.
# At 80 % a thousand labels say so little that the choice itself is a guess. These are labels made
# wrong at random; people's mistakes are harder, and :doc:`/audit_benchmark` has them too.
