"""A data set in a file, small enough to run the paper's experiments on in a second."""

from pathlib import Path

import numpy as np

N_CLASSES, N_FEATURES = 6, 12


def write_small_data(
    folder: Path, name: str = "pets", *, seed: int = 0, n_train: int = 120
) -> Path:
    """Write features of two splits, six classes in two groups, neither centred nor of unit norm."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(rng.normal(size=(2, N_FEATURES)), N_CLASSES // 2, axis=0)
    centres = 3.0 + 2 * groups + 2 * rng.normal(size=(N_CLASSES, N_FEATURES))
    arrays = {}
    for split, count in (("train", n_train), ("test", 60)):
        labels = np.arange(count) % N_CLASSES
        arrays[f"X_{split}"] = centres[labels] + rng.normal(size=(count, N_FEATURES))
        arrays[f"y_{split}"] = labels
    path = folder / f"{name}.npz"
    np.savez(path, **arrays, classes=np.array([f"class {k}" for k in range(N_CLASSES)]))
    return path
