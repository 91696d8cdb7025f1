"""
A list and a review with a guarantee
====================================

After this page you can make a list of wrong labels with a guaranteed error rate. You can also
review a dataset until at most 1 % of its labels are wrong, with a guarantee. Both need a person who
checks a few random rows. This page simulates this person.
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
# First choose the largest mean fraction of right labels that you allow in the list (``fdr``).
# ``draw_check`` then draws rows at random from the most suspicious rows whose suggestion differs
# from their label.

draw = issues.draw_check(fdr=0.1)
print(f"{len(draw.rows)} rows of the {len(draw.pool)} most suspicious ones:", draw.rows[:8], "…")

# %%
# Check the rows
# --------------
# The reviewer gives the true label of each row, or answers "unsure", which counts as right. If rows
# are left out, the guarantee is void.


def person(row):
    return truth[row]


checked = {row: person(row) for row in draw.rows}

# %%
# The list
# --------

from textwrap import fill

listed = issues.certify(checked, fdr=0.1)
print(fill(str(listed), 95))

# %%
# The first number is the mean fraction of right labels over draws. The second number is a bound for
# this list, with 95 % confidence. The true labels are known here, so compare:

right = given[listed.rows] == truth[listed.rows]
print(f"{right.sum()} of the {len(right)} listed labels are right")

# %%
# There is such a bound for every length of the list. You may look at all bounds and then choose a
# length.

import matplotlib.pyplot as plt

bounds = listed.bounds
is_left = ~np.isin(draw.pool, draw.rows)
is_right = given[draw.pool] == truth[draw.pool]
share = np.cumsum(is_left & is_right) / np.maximum(bounds.unchecked, 1)
figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(bounds.unchecked, 100 * bounds.most_share, color="#D55E00", label="upper bound, 95 %")
axis.plot(bounds.unchecked, 100 * share, color="#0072B2", label="truth")
axis.axvline(len(listed.rows), color="#888888", linestyle=":", label="the list")
axis.set(xlabel="labels in the list", ylabel="fraction of right labels, %", ylim=(0, 100))
_ = axis.legend()

# %%
# A review with a stopping rule
# -----------------------------
# To correct all labels, first review the most suspicious ones. When few of these are wrong, the
# review draws rows at random from the rest. Only these random rows show how many wrong labels
# remain.

from twohot.audit import CertifiedReview

review = CertifiedReview(issues.probability_wrong, until=0.01, seed=0)
wrong = given != truth
at_most, still = [review.bound], [wrong.sum()]
while review.bound > review.target:
    row = review.next().row
    review.decide("wrong" if person(row) != given[row] else "right")
    at_most.append(review.bound)
    still.append(still[-1] - wrong[row])
print(f"{len(review.looks)} of {len(given)} rows reviewed, {review.remaining.found} corrected")
print(
    f"at most {review.bound} wrong labels remain (95 % confidence); the true number is {still[-1]}"
)

# %%
# The bound holds after each decision, so you may stop at any time. Until the first random row, the
# bound is not informative. After it, the bound falls in steps. Here it is never below the true
# number.

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(at_most, color="#D55E00", label="upper bound, 95 %")
axis.plot(still, color="#0072B2", label="truth")
axis.axhline(review.target, color="#888888", linestyle=":", label="target, 1 %")
axis.set(xlabel="rows reviewed", ylabel="wrong labels", yscale="log")
_ = axis.legend()
assert np.all(np.array(at_most) >= still)

# %%
# To do the same review in a browser, run ``twohot review audit/ --until 1%``. It writes a page that
# shows the bound above each row, and saves ``certificate.json``. ``twohot verify certificate.json
# labels.csv`` checks the certificate.

# %%
# A reviewer who errs
# -------------------
# The certificate holds for the verdicts of the reviewer. Suppose that 2 % of the verdicts are
# wrong. Show every changed row and some of the kept rows again (``--twice 10%``), and correct the
# bound.

from twohot.audit import SecondLooks, corrected_bound

rng = np.random.default_rng(0)


def look(row):
    return bool(wrong[row] != (rng.random() < 0.02))


first = {decision.row: look(decision.row) for decision in review.looks}
kept = [row for row, said in first.items() if not said]
repaired = [row for row, said in first.items() if said]
again = rng.choice(kept, 100, replace=False)
corrected = corrected_bound(
    review.bound,
    SecondLooks(len(kept), len(again), sum(look(row) for row in again)),
    SecondLooks(len(repaired), len(repaired), sum(not look(row) for row in repaired)),
)
mistakes = sum(wrong[row] != said for row, said in first.items()) + still[-1]
print(f"second looks differ in {corrected.disagreement:.1%}")
print(f"at most {corrected.bound} labels are wrong; the true number is {mistakes}")
assert mistakes <= corrected.bound

# %%
# What voids a certificate
# ------------------------
# * You draw again because the first list was short.
# * You leave out checked rows.
# * Labels or probabilities change after the draw.
# * The reviewer sees the probabilities.
#
# :doc:`/explanation/certificates` has the complete list.
