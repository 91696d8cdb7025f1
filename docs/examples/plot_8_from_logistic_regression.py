"""
From LogisticRegression to twohot
=================================

After this page you can replace ``LogisticRegression`` by a probe, translate its parameters, and
decide whether it helps for your fraction of wrong labels. A probe is a scikit-learn classifier.
"""

# %%
# The same fit
# ------------
# scikit-learn multiplies the sum of the losses by C. A probe takes the mean of the losses, and the
# penalty is ``l2``. For more than two classes, l2 = 1 / (C · rows). By default a probe centres rows
# and scales them to unit norm. Turn this off to get the same fit.

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
# Every fit reports the final norm of the gradient, relative to the norm at zero. It also reports
# whether it converged, and how often it read the rows (*passes*).

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
# Equivalent parameters
# ---------------------
#
# .. list-table::
#    :header-rows: 1
#
#    * - LogisticRegression
#      - LinearProbe
#    * - ``C``
#      - ``l2`` = 1 / (C · rows), or ``ridge``, whose effect does not depend on the number of rows
#    * - ``fit_intercept=True``
#      - False by default, as in the paper; pass True if class sizes differ a lot
#    * - ``class_weight``, ``sample_weight``
#      - the same
#    * - ``tol``: largest entry of the gradient
#      - ``tol``: norm of the gradient, relative to the norm at zero
#    * - a ``StandardScaler`` in front
#      - ``center`` and ``normalize``, on by default
#    * - probabilities as labels: not possible
#      - ``fit_soft(X, probabilities)``
#    * - pickle
#      - ``probe.save("probe.safetensors")``, ``twohot.load``
#
# If labels are wrong
# -------------------
# Increase the fraction of wrong labels from 0 to 80 %, and measure four classifiers on clean test
# rows. ``GridSearchCV`` chooses C by cross-validation on the noisy labels. ``AutoProbe`` also uses
# only the noisy labels.

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
axis.set(xlabel="wrong labels, %", ylabel="accuracy on clean test rows, %")
axis.grid(alpha=0.3)
_ = axis.legend()

# %%
# With clean labels, use plain regression: it is as accurate, and simpler. With many wrong labels, a
# robust loss or averaged labels gain several points of accuracy. With 80 % wrong labels, a thousand
# labels are too few to choose a method reliably. Here the wrong labels are random.
# :doc:`/audit_benchmark` also has errors made by people, which are harder to find.
