"""A dataset for the paper's experiments: features of two splits, with true labels.

The paper trains on raw backbone features, and computes correlations of centred features of unit
norm. Superclasses follow the paper: the classes are merged by complete linkage. Where superclasses
define label noise, the dendrogram is cut at .8 of its largest merge distance. For the statistics in
`structure`, it is cut at .9.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import NO_LABEL, ArgumentError, IntArray, check_finite, counted, first_few
from twohot.describe import class_correlation, cluster_classes
from twohot.tables import FeatureTable, read_table

# The paper's six datasets, with the base penalty λ on raw features. A file belongs to a dataset if
# the name of the file starts with the name of the dataset; see `file_prefix`.
PAPER_PENALTIES = {
    "CIFAR-100": 5e-5,
    "Caltech-101": 5e-4,
    "Caltech-256": 5e-5,
    "Flowers-102": 5e-4,
    "Food-101": 5e-5,
    "StanfordCars": 5e-4,
}

# Ridge of Flowers-102: K·N·l2/‖φ‖² = 102 · 6,149 · 5e-4 / 1,222, with K classes, N rows and mean
# squared norm ‖φ‖² of the rows. The penalty of a dataset that is not in the paper has this ridge.
FLOWERS_RIDGE = 0.2566

# The penalties of the paper's tables, as multiples of its base penalty.
STRENGTHS = {"small": 0.4, "base": 1.0, "big": 2.0}


FEWEST_CLASSES = 3
FEWEST_ROWS = 2  # minimum number of rows per class: a correlation needs a pair of rows
BLOCK_ROWS = 4096  # number of rows that are checked at once


@dataclass(frozen=True, eq=False)
class DataSet:
    """Features and true labels of training and test rows."""

    name: str  # file name without suffix
    X: NDArray[Any]  # (n_samples, n_features), features of the backbone without any scaling
    labels: IntArray  # (n_samples,), true labels as positions in `classes`
    X_test: NDArray[Any]
    test_labels: IntArray
    classes: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def paper_name(self) -> str | None:
        """The dataset of the paper that the file name starts with, or None."""
        prefix = file_prefix(self.name)
        names = [name for name in PAPER_PENALTIES if prefix.startswith(file_prefix(name))]
        return names[0] if names else None

    @cached_property
    def key(self) -> str:
        """The name with a digest of the contents; it identifies the dataset in runs."""
        digest = hashlib.sha256()
        for array in (self.X, self.labels, self.X_test, self.test_labels):
            digest.update(f"{array.shape}{array.dtype}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return f"{self.name}:{digest.hexdigest()[:8]}"

    @cached_property
    def mean_square(self) -> float:
        """Mean squared norm of the training rows."""
        return float(np.einsum("ij,ij->", self.X, self.X, dtype=np.float64) / len(self.X))

    @cached_property
    def superclass(self) -> IntArray:
        """Superclass of every class, from the features and the true labels."""
        means = class_correlation(self.X, self.labels).means
        return np.asarray(cluster_classes(means).superclass)

    def l2(self, strength: str) -> float:
        """Return the penalty on raw features; `strength` is a key of `STRENGTHS`.

        For a dataset that is not in the paper, the base penalty has the ridge of Flowers-102.
        """
        ridge_one = self.mean_square / (self.n_classes * len(self.X))
        base = PAPER_PENALTIES[self.paper_name] if self.paper_name else FLOWERS_RIDGE * ridge_one
        return float(f"{base * STRENGTHS[strength]:.6g}")


def read_data_set(path: str | os.PathLike[str]) -> DataSet:
    """Return the dataset in a feature file that `read_table` reads, with the splits train and test.

    The labels of the file are assumed to be true; a run adds noise to them.

    Examples
    --------
    >>> labels = [0, 1, 2, 0, 1, 2]
    >>> np.savez("pets.npz", X_train=np.eye(6), y_train=labels, X_test=np.eye(6), y_test=labels)
    >>> data = read_data_set("pets.npz")
    >>> data.name, data.n_classes, data.X_test.shape
    ('pets', 3, (6, 6))
    """
    file = os.fspath(path)
    try:
        table = read_table(path)
    except ValueError as error:
        if Path(path).name in str(error):
            raise
        raise ArgumentError("features", f"{file} cannot be read: {error}") from error
    name = Path(path).stem
    train, test = (_split(file, table, split) for split in ("train", "test"))
    _check_classes(file, table, train, test)
    return DataSet(
        name,
        _finite(file, "train", train),
        _true_labels(train),
        _finite(file, "test", test),
        _true_labels(test),
        tuple(table.classes),
    )


def file_prefix(name: str) -> str:
    """Return a file name, or the name of a dataset, in lower case with only letters and digits.

    So Flowers-102_resnet.npz starts with the name of the paper's dataset Flowers-102.

    Examples
    --------
    >>> file_prefix("Flowers-102")
    'flowers102'
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def two_backbones(data: Sequence[DataSet]) -> list[list[DataSet]]:
    """Return groups of files that have features of the same rows, from different backbones.

    Files are in one group if their training labels and class names are equal, and if they belong to
    the same dataset of the paper or to none. Numbers do not count as class names outside of the
    paper. A file with only some of the rows is in another group.
    """
    groups: dict[Any, list[DataSet]] = {}
    for each in data:
        if each.paper_name is not None or not all(name.isdigit() for name in each.classes):
            labels = hashlib.sha256(each.labels.tobytes()).hexdigest()
            groups.setdefault((each.paper_name, each.classes, labels), []).append(each)
    return [group for group in groups.values() if len(group) > 1]


def of_backbone(data: Sequence[DataSet], name: str) -> list[DataSet]:
    """Return the files whose name contains the name of a backbone; all files if it is empty."""
    return [each for each in data if re.search(f"(^|[^a-z]){name.lower()}", each.name.lower())]


def _split(file: str, table: FeatureTable, split: str) -> FeatureTable:
    if split not in table.split_names:
        names = first_few(table.split_names)
        has = f"has the splits {names}" if names else "has no splits"
        problem = f"{file} {has}, and not {split!r}"
        advice = (
            "write train or test for every row in a column split; an .npz has the arrays X_train,"
            " y_train, X_test and y_test."
        )
        raise ArgumentError("features", problem, advice)
    part = table.take(table.rows_of_split(split))
    labelled = np.flatnonzero(_true_labels(part) != NO_LABEL)
    return part if len(labelled) == len(part.labels) else part.take(labelled)


def _true_labels(table: FeatureTable) -> IntArray:
    known = table.labels if table.true_labels is None else table.true_labels
    return np.asarray(known, dtype=np.int64)


def _finite(file: str, split: str, part: FeatureTable) -> NDArray[Any]:
    """Return the features of a split; raise an error that names a row with NaN or infinity."""
    features = np.asarray(part.features)
    for start in range(0, len(features), BLOCK_ROWS):
        block = features[start : start + BLOCK_ROWS]
        check_finite(f"{file}, split {split!r},", block, start)
    return features


def _check_classes(file: str, table: FeatureTable, train: FeatureTable, test: FeatureTable) -> None:
    """Raise if there are too few classes, or too few training rows of a class."""
    counts, test_counts = (
        np.bincount(_true_labels(part), minlength=len(table.classes)) for part in (train, test)
    )
    named = list(zip(table.classes, counts, test_counts, strict=True))
    untrained = [name for name, count, in_test in named if not count and in_test]
    few = [name for name, count, _ in named if count < FEWEST_ROWS]
    if len(counts) < FEWEST_CLASSES:
        problem = f"{file} has {counted(len(counts), 'class', 'classes')}"
        advice = f"pass at least {FEWEST_CLASSES}, because two-hot targets need a third class."
    elif untrained:
        problem = f"{file} has classes that occur only in the split test: {first_few(untrained)}"
        advice = "remove the rows of these classes, or add some to the split train."
    elif few:
        problem = f"{file} has fewer than {FEWEST_ROWS} training rows of classes {first_few(few)}"
        advice = "remove these classes, or add rows."
    else:
        return
    raise ArgumentError("features", problem, advice)


# Files of features that can hold two splits with labels.
SUFFIXES = (".features", ".npz", ".parquet")


def find_feature_files(folder: Path) -> list[Path]:
    """Return the feature files in a folder, sorted by name; raise if there are none."""
    if not folder.is_dir():
        advice = "pass a folder of feature files."
        raise ArgumentError({"features_dir": folder}, "is not a folder", advice)
    found = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    if not found:
        problem = f"has no feature files ({', '.join(SUFFIXES)})"
        advice = "make files with the splits train and test, as by `twohot extract flowers102`."
        raise ArgumentError({"features_dir": folder}, problem, advice)
    return found


def read_data_sets(paths: Iterable[Path]) -> dict[str, DataSet]:
    """Return the datasets in the files at `paths`, by absolute path."""
    found: dict[str, DataSet] = {}
    for path in dict.fromkeys(path.resolve() for path in paths):
        data = read_data_set(path)
        same = [other for other, each in found.items() if each.name == data.name]
        if same:
            problem = f"{first_few([*same, str(path)], write=str)} have the same name"
            advice = "rename one of these files, because file names identify results."
            raise ArgumentError("features", problem, advice)
        found[str(path)] = data
    return found
