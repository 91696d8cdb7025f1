"""A data set in a file, small enough to run the paper's experiments on in a second."""

from pathlib import Path

import numpy as np

from twohot_paper.data_set import DataSet, read_data_set
from twohot_paper.probe_run import FittedModel, Spread

# Six classes in two groups.
CLASSES = ("ash", "elm", "fir", "carp", "pike", "tench")
N_FEATURES = 12

# What a run might have measured of a model.
MODEL = FittedModel(
    test_accuracy=0.5,
    train_accuracy=0.5,
    given_agreement=0.5,
    n_corrected=0,
    n_broken=0,
    truth_in_top={"1": 0.5, "2": 0.995, "3": 1.0},
    clean_true=Spread(0.6, 0.2),
    noisy_true=Spread(0.3, 0.2),
    noisy_given=Spread(0.4, 0.2),
    l2=1e-3,
    n_passes=10,
    cpu_seconds=1.0,
    gradient_norm=1e-4,
    converged=True,
)


def write_small_data(
    folder: Path,
    name: str = "pets",
    *,
    seed: int = 0,
    n_train: int = 120,
    classes: tuple[str, ...] = CLASSES,
) -> Path:
    """Write features of two splits, neither centred nor of unit norm; return the path."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(rng.normal(size=(2, N_FEATURES)), len(classes) // 2, axis=0)
    centres = 3.0 + 4 * groups + 2 * rng.normal(size=(len(classes), N_FEATURES))
    arrays = {}
    for split, count in (("train", n_train), ("test", 60)):
        labels = np.arange(count) % len(classes)
        arrays[f"X_{split}"] = centres[labels] + rng.normal(size=(count, N_FEATURES))
        arrays[f"y_{split}"] = labels
    path = folder / f"{name}.npz"
    np.savez(path, **arrays, classes=np.array(classes))
    return path


def small_data(
    folder: Path, name: str = "flowers102_small", *, seed: int = 0
) -> tuple[DataSet, dict[str, str]]:
    """Write such a file; return it as a data set, and its path by key."""
    path = write_small_data(folder, name, seed=seed)
    data = read_data_set(path)
    return data, {data.key: str(path)}
