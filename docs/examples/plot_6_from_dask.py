"""
Features in Dask
================

After this page you can fit a probe and find wrong labels in a Dask collection. Use one if the
features do not fit into memory, or are on a cluster. The chunks stay on their workers. The results
are the same as in memory, up to rounding.

Run ``pip install "twohot[dask]"`` first.
"""

# %%
# A Dask array
# ------------
# Make an array of 12,000 rows, in chunks of 2,000 rows. For your own data, use
# ``dask.dataframe.read_parquet`` or ``dask.array.from_zarr``.

import dask.array as da
import numpy as np

from twohot.noise import corrupt_labels, make_features, symmetric

made = make_features(n_classes=8, n_per_class=1500, n_features=48, same_class=0.1, random_state=0)
order = np.random.default_rng(0).permutation(len(made.labels))
rows, truth = made.features[order], made.labels[order]
noise = corrupt_labels(truth, symmetric(8, 0.4), random_state=0)
features = da.from_array(rows, chunks=(2000, -1))
labels = da.from_array(noise.given_labels, chunks=2000)
features

# %%
# Fit a probe
# -----------
# The call is the same as for an array in memory. If a ``distributed.Client`` is active, its workers
# are used. Otherwise, Dask uses threads.

from twohot import LinearProbe

probe = LinearProbe(loss="gce").fit(features, labels)
print(f"accuracy on the true labels: {(probe.predict(rows) == truth).mean():.1%}")

in_memory = LinearProbe(loss="gce").fit(rows, noise.given_labels)
difference = np.abs(probe.coef_ - in_memory.coef_).max()
print(f"largest difference from the coefficients in memory: {difference:.0e}")

# %%
# Predictions are lazy Dask arrays.

probe.predict_proba(features)

# %%
# Find the wrong labels
# ---------------------
# The label model is fitted to a sample that contains every label. The result is in memory, and
# takes 26 bytes per row. ``issues.to_pandas().to_parquet(path)`` writes it.

from twohot import find_label_issues

issues = find_label_issues(features, labels)
flagged = issues["is_label_issue"]
print(f"flagged: {flagged.sum()}, of which {noise.flipped[flagged].mean():.1%} are wrong")
issues

# %%
# The histogram shows ``probability_wrong`` of right and of wrong labels:

import matplotlib.pyplot as plt

doubt = issues["probability_wrong"]
figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
axis.hist(
    [doubt[~noise.flipped], doubt[noise.flipped]],
    bins=30,
    color=["#56B4E9", "#D55E00"],
    stacked=True,
)
axis.set(xlabel="probability that the label is wrong", ylabel="rows")
_ = axis.legend(["right", "wrong"], loc="upper center")

# %%
# :doc:`/scale` lists all kinds of storage, and what is not supported.
