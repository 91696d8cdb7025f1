"""A data set small enough to be measured in a test: two superclasses of classes around centres."""

from pathlib import Path

import numpy as np

from twohot.reproduce.data_set import DataSet, read_data_set

NAMES = ("ash", "elm", "carp", "pike")


def tiny_data(
    folder: Path, name: str = "flowers102_tiny", *, seed: int = 0, names: tuple[str, ...] = NAMES
) -> tuple[DataSet, dict[str, str]]:
    """Write a feature file of 4 classes; return it as a data set, and its path by key."""
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(2, 20))
    centres = kinds.repeat(2, axis=0) + 0.7 * rng.normal(size=(4, 20))
    arrays = {}
    for split, n_rows in (("train", 15), ("test", 10)):
        labels = np.arange(4).repeat(n_rows)
        arrays[f"y_{split}"] = labels
        arrays[f"X_{split}"] = centres[labels] + rng.normal(size=(len(labels), 20))
    path = folder / f"{name}.npz"
    np.savez(path, classes=np.array(names), **arrays)
    data = read_data_set(path)
    return data, {data.key: str(path)}
