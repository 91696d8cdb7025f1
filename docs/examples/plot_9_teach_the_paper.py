"""
The paper in pictures
=====================

After this page you can explain why a model may become more accurate if you train it again on its
own outputs. The paper is *Rethinking Self-Distillation: Label Averaging and Enhanced Soft Label
Refinement with Partial Labels* (Jeong and Chung, ICLR 2025). Its answer: **every round averages
labels over similar rows**. This page compares its theory with measurements.
"""

# %%
# The setting
# -----------
# There are four classes of 100 rows. The inner product of two rows is .4 if they have the same
# class, and .1 otherwise. Half of the labels are wrong. The theory needs only these numbers.

import matplotlib.pyplot as plt
import numpy as np

from twohot import theory
from twohot.noise import corrupt_labels, make_features, symmetric

K, N_PER_CLASS, L2, N_ROUNDS = 4, 100, 3.125e-4, 6
model = theory.CorrelationModel.case_3(
    n_classes=K, same_class=0.4, same_superclass=0.1, n_per_class=N_PER_CLASS
)
corruption = symmetric(K, 0.5)

# %%
# For the measurements, make rows with these inner products:

made = make_features(
    n_classes=K,
    n_per_class=N_PER_CLASS,
    n_features=2000,
    same_class=0.4,
    same_superclass=0.1,
    superclass=[0] * K,
    elsewhere=0.1,
    decay=0,
    random_state=0,
)
noise = corrupt_labels(made.labels, corruption, exact=True, random_state=0)
given = noise.given_labels

# %%
# Rounds
# ------
# Round 1, the teacher, is fitted to the given labels. Every later round is fitted to the outputs of
# the round before. The figure shows rows of class 0 that are labelled 0 or 1. Bars are the outputs
# that the theory predicts. Dots are the mean outputs of probes on these rows.

from twohot import DistilledProbe

probe = DistilledProbe(n_rounds=N_ROUNDS, l2=L2, center=False, normalize=False, tol=1e-8)
probe.fit(made.features.astype(float), given)
measured = list(probe.staged_predict_proba(made.features.astype(float)))
predicted = theory.outputs_by_round(model, corruption, l2=L2, n_rounds=N_ROUNDS)

kinds = {"labelled 0 (right)": (0, 0), "labelled 1 (wrong)": (0, 1)}
figure, axes = plt.subplots(
    2, N_ROUNDS, figsize=(9, 4.2), sharex=True, sharey=True, layout="constrained"
)
for axis, number in zip(axes[0], range(1, N_ROUNDS + 1), strict=True):
    axis.set_title("teacher" if number == 1 else f"round {number}")
for line, (kind, (true, label)) in zip(axes, kinds.items(), strict=True):
    rows = (made.labels == true) & (given == label)
    for axis, says, found in zip(line, predicted, measured, strict=True):
        axis.bar(range(K), says.outputs[true, label], color=["#0072B2", "#D55E00", "0.75", "0.75"])
        axis.plot(range(K), found[rows].mean(axis=0), "o", color="k", markersize=4)
        axis.set_xticks(range(K))
    line[0].set_ylabel(f"class 0,\n{kind}")
figure.supxlabel("label")
_ = figure.suptitle("Outputs: theory (bars; blue the true label) and measurement (dots)")

# %%
# The teacher repeats the wrong label. Each round shrinks a row's own label more than the mean of
# its class, so the output at the wrong label (vermilion) falls. From round 3 on, the true label
# (blue) has the largest output. The dots differ a little from the bars, because the theory assumes
# a linear softmax and equal inner products inside a class. The theory also gives the number of
# rounds:

theory.rounds_until_right(model, corruption, l2=L2).overall

# %%
# Two-hot
# -------
# If many labels are wrong, many rounds are needed. The paper has a second idea. In this setting the
# true label is always one of the teacher's two most probable labels. Give both labels the same
# weight, and train once. On real features, the true label is often one of the two, but not always.

teacher = predicted[0].outputs[0]
student = theory.partial_label_outputs(model, corruption, l2=L2).outputs[0]
figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
two_hot = np.zeros(K)
two_hot[np.argsort(-teacher[1])[:2]] = 0.5
panels = {
    "the teacher's output": teacher[1],
    "two-hot target": two_hot,
    "the student's output": student[1],
}
for axis, (title, values) in zip(axes, panels.items(), strict=True):
    axis.bar(range(K), values, color=["#0072B2", "#D55E00", "0.75", "0.75"])
    axis.set(title=title, xlabel="label", xticks=range(K))
_ = axes[0].set_ylabel("row of class 0, labelled 1")

# %%
# How much noise?
# ---------------
# The figure shows the training accuracy by the fraction of wrong labels. Lines are the theory, dots
# are probes. The lines fall in steps. The dots fall gradually, because real rows of a class differ.
# Above 75 % wrong labels, the true label is no longer the most frequent of the four in its class.
# Then no method can recover it.

from twohot import PartialLabelProbe

rates = np.linspace(0, 0.74, 38)
rounds = (1, 2, 3, 6)
figure, axes = plt.subplots(1, 5, figsize=(10, 2.6), sharex=True, sharey=True, layout="constrained")
for axis, number in zip(axes, rounds, strict=False):
    line = [
        theory.type_outputs(model, symmetric(K, rate), l2=L2, n_rounds=number).accuracy()
        for rate in rates
    ]
    axis.plot(rates, line, color="#0072B2")
    axis.set_title("teacher" if number == 1 else f"round {number}")
axes[-1].plot(
    rates,
    [theory.partial_label_outputs(model, symmetric(K, rate), l2=L2).accuracy() for rate in rates],
    color="#E69F00",
)
axes[-1].set_title("two-hot")
features = made.features.astype(float)
same = {"l2": L2, "center": False, "normalize": False, "tol": 1e-6}
for rate in (0.1, 0.3, 0.4, 0.5, 0.6, 0.7):
    labels = corrupt_labels(
        made.labels, symmetric(K, rate), exact=True, random_state=0
    ).given_labels
    staged = list(
        DistilledProbe(n_rounds=6, **same).fit(features, labels).staged_predict_proba(features)
    )
    found = [np.mean(staged[number - 1].argmax(axis=1) == made.labels) for number in rounds]
    two_hot = PartialLabelProbe(loss="ce", **same).fit(features, labels)
    for axis, value in zip(
        axes, [*found, np.mean(two_hot.predict(features) == made.labels)], strict=True
    ):
        axis.plot(rate, value, "ko", markersize=4)
figure.supxlabel("fraction of wrong labels")
_ = axes[0].set_ylabel("training accuracy")

# %%
# On real features, the rows of a class differ even more. :doc:`/reproduction` repeats every
# figure and claim of the paper on real features. :doc:`/theory` lists the formulas and errata.
