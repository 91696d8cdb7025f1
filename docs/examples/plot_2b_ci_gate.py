"""
A gate for continuous integration
=================================

After this page you can stop a build if too many labels are wrong. This page runs the same command
before and after the labels are corrected. :doc:`/howto/ci_gate` has the files for GitHub Actions
and pre-commit.
"""

# %%
# The labels of a project
# -----------------------
# A repository contains ``features.npy`` and ``labels.csv``. Here they are scikit-learn's digits.
# About 13 % of the labels are made wrong.

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from twohot.noise import corrupt_labels, symmetric

folder = Path(tempfile.mkdtemp())
pixels, truth = load_digits(return_X_y=True)
noise = corrupt_labels(truth, symmetric(10, 0.12), random_state=0)
np.save(folder / "features.npy", pixels.astype(np.float32))
with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
    csv.writer(file).writerows([["label"], *noise.given_labels.reshape(-1, 1).tolist()])
print(f"{len(truth)} labels, {noise.flipped.mean():.1%} of them wrong")

# %%
# The gate
# --------
# The audit estimates a range for the fraction of wrong labels. If the lower end of the range is
# above 5 %, ``--fail-above 5%`` exits with code 3, and the build stops. ``run`` executes a command.
# On your command line, type the command itself.


def run(command):
    """Run a command, print its verdict, and return its exit code."""
    words = command.split()
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    printed = (done.stdout + done.stderr).splitlines()
    print(f"$ {command}\n{printed[-1]}\nexit code {done.returncode}\n")
    return done.returncode


code = run("twohot audit features.npy --labels labels.csv -o before --quiet --fail-above 5%")
assert code == 3

# %%
# Correct the labels, and run the gate again
# ------------------------------------------
# Review ``before/report.html``, or accept all suggestions with a high probability. Then the build
# passes.

run("twohot apply --accept-all 0.9 --audit before --to labels.csv -o fixed.csv")
code = run("twohot audit features.npy --labels fixed.csv -o after --quiet --fail-above 5%")
assert code == 0

# %%
# Why it passes
# -------------
# By default, the gate compares the lower end of the range with the limit, so that it does not fail
# by chance. ``--fail-on upper`` is stricter: it passes only if the upper end is at most the limit.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(7, 2.2), layout="constrained")
for place, name in enumerate(["before", "after"]):
    found = json.loads((folder / name / "summary.json").read_text(encoding="utf-8"))
    least, most = (100 * share for share in found["noise_interval"])
    colour = "#D55E00" if least > 5 else "#009E73"
    axis.plot([least, most], [place, place], color=colour, linewidth=8, solid_capstyle="butt")
    axis.plot(100 * found["noise_rate"], place, "o", color="k")
axis.axvline(5, color="#888888", linestyle=":")
axis.set(xlabel="wrong labels, % (dot: estimate; bar: range; dotted: limit)", xlim=(0, None))
axis.set_yticks([0, 1], ["before: fails", "after: passes"])
_ = axis.set_ylim(1.6, -0.6)
