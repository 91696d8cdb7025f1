"""
Two reviewers
=============

After this page you can merge the decisions of two reviewers, measure their agreement, and settle
the disagreements.

On the command line, ``twohot apply anna.csv ben.csv`` does the same with files that the review page
exports.
"""

# %%
# Labels to review
# ----------------
# Give 8 % of scikit-learn's digits a wrong label, and write a report of the suspicious ones.

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from twohot import find_label_issues
from twohot.noise import corrupt_labels, symmetric

digits = load_digits()
noise = corrupt_labels(digits.target, symmetric(10, 0.08), random_state=0)
issues = find_label_issues(digits.data, noise.given_labels)
with tempfile.TemporaryDirectory() as folder:
    rows = issues.report(Path(folder) / "report.html", X=digits.data)
print(f"{rows.n_rows} rows, {issues.n_issues} labels flagged")

# %%
# Two sets of decisions
# ---------------------
# Each reviewer opens the report, types a name on its first screen, and exports the decisions.
# ``read_decisions("anna.csv")`` reads them as a list. The two lists below are simulated. Anna
# makes no errors. Ben decides one row in eight by chance: he keeps the given label or accepts the
# suggestion.

from twohot.review import Decision


def review(reviewer: str, careless: float, seed: int) -> list[Decision]:
    """Return the decisions of a person, who decides a fraction of the rows by chance."""
    rng = np.random.default_rng(seed)
    made = []
    for row in rows.flagged.tolist():
        label = str(digits.target[row])
        if rng.random() < careless:
            label = str(rng.choice([rows.given_labels[row], rows.suggested_labels[row]]))
        name = rows.report_id()
        made.append(Decision(name, str(row), "relabel", label, reviewer=reviewer))
    return made


anna, ben = review("Anna", 0, seed=1), review("Ben", 1 / 8, seed=2)

# %%
# Where they agree
# ----------------
# ``merge_reviews`` compares the labels after the decisions. Cohen's kappa corrects the fraction
# of equal labels for chance: 1 is full agreement, 0 is agreement by chance. Apply the decisions on
# which both reviewers agree:

from twohot.review import apply_decisions, merge_reviews

merged = merge_reviews(rows, {"anna.csv": anna, "ben.csv": ben})
print(merged.agreement)
applied = apply_decisions(rows, merged.decisions)
print(f"{applied.n_changed} labels have another class, {len(merged.disputed)} rows to settle")

# %%
# Where they disagree
# -------------------
# These rows keep their given label until you settle them.

import matplotlib.pyplot as plt

shown = list(merged.disputed.items())[:12]
figure, axes = plt.subplots(2, 6, figsize=(8, 4), layout="constrained")
for axis in axes.flat:
    axis.set_axis_off()
for axis, (row, verdicts) in zip(axes.flat, shown, strict=False):
    axis.imshow(digits.images[row], cmap="gray_r")
    said = [f"{name}: {label}" for name, label in verdicts.items()]
    axis.set_title("\n".join([*said, f"given: {rows.given_labels[row]}"]), fontsize=9)

# %%
# Settle them
# -----------
# ``write_settle_page`` writes a review page of the disputed rows, with the label of each reviewer.
# In its decisions, the name of the report ends in "-settled". These decisions replace those of both
# reviewers. Here, the settled labels are the true ones:

settled = f"{rows.report_id()}-settled"
final = [Decision(settled, str(row), "relabel", str(digits.target[row])) for row in merged.disputed]
files = {"anna.csv": anna, "ben.csv": ben, "settled.csv": final}
applied = apply_decisions(rows, merge_reviews(rows, files).decisions)
before, after = (
    np.mean(labels == digits.target) for labels in (noise.given_labels, applied.labels)
)
print(f"labels that are right: {before:.1%} before the review, {after:.1%} after it")
