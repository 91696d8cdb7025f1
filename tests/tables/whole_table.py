"""A table that has all that a table may have, but ids of its own."""

import numpy as np

GOOD = {
    "features": np.arange(8.0).reshape(4, 2),
    "labels": np.array([1, -1, 0, 1]),
    "classes": ("cat", "dog"),
    "superclass": np.array([0, 0]),
    "superclass_names": ("pet",),
    "split": np.array([0, 1, 0, 1]),
    "split_names": ("train", "test"),
    "items": ["a", "b", "c", "d"],
    "true_labels": np.array([1, 1, 0, 0]),
}
