"""
Features in Dask
================

Features that do not fit into memory, or live on a cluster, are passed as Dask collections. The
chunks stay where they are; coefficients go to them, and sums come back. Results are those of
arrays in memory, up to rounding.

For this you need ``pip install "twohot[dask]"``.
"""

# %%
# A collection
# ------------
# Here it is made from arrays, 12,000 rows in chunks of 2,000. Yours would come from
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
# A fit
# -----
# The same call. With a ``distributed.Client`` active its workers do the work; without one, Dask's
# threads do.

from twohot import LinearProbe

probe = LinearProbe(loss="gce").fit(features, labels)
print(f"right on the true labels: {(probe.predict(rows) == truth).mean():.1%}")

in_memory = LinearProbe(loss="gce").fit(rows, noise.given_labels)
print(f"largest difference to the fit in memory: {np.abs(probe.coef_ - in_memory.coef_).max():.0e}")

# %%
# Predictions are lazy, chunk by chunk.

probe.predict_proba(features)

# %%
# An audit
# --------
# A probe is chosen on a sample in which every label occurs, and judges rows that it has not seen.
# The result is that of an audit in memory, 26 bytes for each row. ``issues.to_parquet(folder)``
# writes it in parts.

from twohot import find_label_issues

issues = find_label_issues(features, labels)
flagged = issues["is_label_issue"]
print(f"flagged: {flagged.sum()}, of which {noise.flipped[flagged].mean():.1%} are wrong")
issues

# %%
# How doubtful the labels are, the wrong ones apart:

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
# :doc:`/scale` says what each kind of store costs, and what is not there yet.
