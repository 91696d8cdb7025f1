"""
A list and a review with a guarantee
====================================

Which labels are wrong can be estimated. What an estimate is worth can be guaranteed, if a person
checks a few rows that are drawn at random. Here the whole way is run on the digits, with a
simulated reviewer: a list of wrong labels, then a review that says when to stop.
"""

# %%
# Digits with wrong labels
# ------------------------

import numpy as np
from sklearn.datasets import load_digits

from twohot import find_label_issues
from twohot.noise import corrupt_labels, symmetric

pixels, truth = load_digits(return_X_y=True)
given = corrupt_labels(truth, symmetric(10, 0.2), random_state=0).given_labels
issues = find_label_issues(pixels, given)
print(issues.share_in_words())

# %%
# Which rows to check
# -------------------
# Choose the share of right labels that the list may have, before anything is checked. The audit
# then draws rows at random, from the most doubtful ones.

draw = issues.draw_check(fdr=0.1)
print(f"{len(draw.rows)} rows of the {len(draw.pool)} most doubtful ones:", draw.rows[:8], "…")

# %%
# Check them
# ----------
# A person says of each row what it is. Rows that nobody is sure of are "unsure", which counts as
# right: leaving them out would void the guarantee.


def person(row):
    return truth[row]


checked = {row: person(row) for row in draw.rows}

# %%
# The list
# --------

listed = issues.certify(checked, fdr=0.1)
print(listed)

# %%
# The first number is a mean over draws, the second holds for this draw, with 95 % certainty. The
# truth is known here:

right = given[listed.rows] == truth[listed.rows]
print(f"{right.sum()} of the {len(right)} listed labels are right")

# %%
# The same bound holds at every other threshold, so you may choose one after you have seen it.

import matplotlib.pyplot as plt

bounds = listed.bounds
is_left = ~np.isin(draw.pool, draw.rows)
is_right = given[draw.pool] == truth[draw.pool]
share = np.cumsum(is_left & is_right) / np.maximum(bounds.unchecked, 1)
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(bounds.unchecked, 100 * bounds.most_share, color="#D55E00", label="at most, 95 % sure")
axis.plot(bounds.unchecked, 100 * share, color="#0072B2", label="truth")
axis.axvline(len(listed.rows), color="#888888", linestyle=":", label="the list")
axis.set(xlabel="labels in the list", ylabel="of them right, %", ylim=(0, 100))
_ = axis.legend()

# %%
# A review that knows when to stop
# --------------------------------
# To repair all labels, review the most doubtful ones. When few of them are wrong any more, rows are
# drawn at random from those that are left: they alone say how many wrong labels remain.

from twohot.audit import CertifiedReview

review = CertifiedReview(issues.probability_wrong, until=0.01, seed=0)
wrong = given != truth
at_most, still = [review.bound], [wrong.sum()]
while review.bound > review.target:
    row = review.next().row
    review.decide("wrong" if person(row) != given[row] else "right")
    at_most.append(review.bound)
    still.append(still[-1] - wrong[row])
print(f"{len(review.looks)} of {len(given)} rows were looked at, {review.remaining.found} repaired")
print(f"at most {review.bound} wrong labels remain, 95 % sure; in truth {still[-1]}")

# %%
# The bound holds after each look, so you may watch it and stop when you like. It says nothing until
# the first random row, then falls in steps, and is never below the truth here.

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(at_most, color="#D55E00", label="at most, 95 % sure")
axis.plot(still, color="#0072B2", label="truth")
axis.axhline(review.target, color="#888888", linestyle=":", label="target, 1 %")
axis.set(xlabel="rows looked at", ylabel="labels still wrong", yscale="log")
_ = axis.legend()
assert np.all(np.array(at_most) >= still)

# %%
# What voids a certificate
# ------------------------
# A second draw because the first list was short; rows that were left out; labels or doubts that
# changed after the draw; a reviewer who sees the doubts. :doc:`/explanation/certificates` has all
# of them, with what is guaranteed and what is not.
