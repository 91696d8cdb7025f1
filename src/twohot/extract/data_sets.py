"""Data sets by name: scikit-learn's digits, and the paper's six with the paper's splits.

The six are read by torchvision's own classes from where torchvision puts them; nothing is
downloaded here. Splits of the paper: CIFAR-100, Food-101 and StanfordCars as published; Caltech
without its background or clutter, 80:20 at random with seed 42; Flowers-102 with train and test
swapped, because its test set is the larger.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_choice
from twohot.extract._torchvision import load_torchvision
from twohot.extract.cifar_classes import COARSE_CLASSES, coarse_of, read_human_labels
from twohot.extract.items import LabelledItems

NAMES = (
    *("digits", "cifar100", "caltech101", "caltech256", "flowers102", "food101", "stanfordcars"),
)
# Where a data set is looked for if no root is given.
DEFAULT_ROOT = "data"
# scikit-learn's digits have levels from 0 to 16. As bytes from 0 to 240 they stay proportional.
DIGITS_SCALE = 15


def load_data_set(
    name: str, root: str | os.PathLike[str] | None = None, *, labels: str = "clean"
) -> LabelledItems:
    """Return the images of a data set, with labels and splits.

    Parameters
    ----------
    name : str
        "digits", which needs no files, or "cifar100", "caltech101", "caltech256", "flowers102",
        "food101", "stanfordcars", which need twohot[vision].
    root : path, optional
        The root that was given to torchvision's class of the data set, by default "data".
    labels : {"clean", "human"}
        Which labels of CIFAR-100 are the given ones: its own, or those of CIFAR-100N
        (CIFAR-100_human.pt in the root), with its own ones kept as true labels.

    Returns
    -------
    LabelledItems
        What `extract` takes.

    Examples
    --------
    >>> digits = load_data_set("digits")
    >>> len(digits), digits.classes[:3], digits.images.shape
    (1797, ('0', '1', '2'), (1797, 8, 8))
    >>> load_data_set("flowers102", root="photos")
    Traceback (most recent call last):
    FileNotFoundError: flowers102 was not found: looked for flowers-102/setid.mat in ...
    """
    loaders: dict[str, Callable[[Path], LabelledItems]] = {
        "caltech101": _caltech101,
        "caltech256": _caltech256,
        "cifar100": lambda folder: _cifar100(folder, labels),
        "flowers102": _flowers102,
        "food101": _food101,
        "stanfordcars": _stanford_cars,
    }
    check_choice("name", name, NAMES)
    check_choice("labels", labels, ("clean", "human"))
    if labels == "human" and name != "cifar100":
        raise ArgumentError({"labels": labels}, f"is for 'cifar100', not {name!r}", "leave it out.")
    if name == "digits":
        return _digits()
    return loaders[name](Path(DEFAULT_ROOT if root is None else root))


def _digits() -> LabelledItems:
    digits = load_digits()
    return LabelledItems(
        kind="image",
        items=tuple(f"digits/{row}" for row in range(len(digits.target))),
        labels=digits.target,
        classes=tuple(str(name) for name in digits.target_names),
        source="digits (scikit-learn)",
        images=(DIGITS_SCALE * digits.images).astype(np.uint8),
    )


def _cifar100(root: Path, labels: str) -> LabelledItems:
    train, test = (
        _opened("cifar100", "CIFAR100", root, "cifar-100-python/train", train=is_train)
        for is_train in (True, False)
    )
    classes = tuple(train.classes)
    clean = np.array([*train.targets, *test.targets])
    given = clean
    if labels == "human":
        human = read_human_labels(root, clean[: len(train)], len(classes))
        given = np.concatenate([human, clean[len(train) :]])
    return LabelledItems(
        kind="image",
        items=tuple(
            f"cifar100/{split}/{row}"
            for split, part in (("train", train), ("test", test))
            for row in range(len(part))
        ),
        labels=given,
        classes=classes,
        source=f"cifar100 ({labels} labels)",
        superclass=coarse_of(classes),
        superclass_names=tuple(COARSE_CLASSES),
        split=np.repeat([0, 1], [len(train), len(test)]),
        split_names=("train", "test"),
        true_labels=clean if labels == "human" else None,
        images=np.concatenate([train.data, test.data]),
    )


def _caltech101(root: Path) -> LabelledItems:
    # torchvision leaves the background out itself.
    found = _opened("caltech101", "Caltech101", root, "caltech101/101_ObjectCategories")
    folder = Path(found.root) / "101_ObjectCategories"
    paths = [
        folder / found.categories[label] / f"image_{number:04d}.jpg"
        for label, number in zip(found.y, found.index, strict=True)
    ]
    return _caltech("caltech101", paths, np.array(found.y), tuple(found.categories))


def _caltech256(root: Path) -> LabelledItems:
    found = _opened("caltech256", "Caltech256", root, "caltech256/256_ObjectCategories")
    folder = Path(found.root) / "256_ObjectCategories"
    # The last of all classes, "257.clutter", has anything in it.
    classes = tuple(name for name in found.categories if not name.endswith("clutter"))
    paths = [
        folder / classes[label] / f"{label + 1:03d}_{number:04d}.jpg"
        for label, number in zip(found.y, found.index, strict=True)
        if label < len(classes)
    ]
    labels = np.array([label for label in found.y if label < len(classes)])
    return _caltech("caltech256", paths, labels, classes)


def _caltech(
    name: str, paths: Sequence[Path], labels: NDArray[np.intp], classes: tuple[str, ...]
) -> LabelledItems:
    """Return images with the paper's split: every fifth to test on, drawn with seed 42."""
    split = np.zeros(len(paths), dtype=np.intp)
    _, test_rows = train_test_split(np.arange(len(paths)), test_size=0.2, random_state=42)
    split[test_rows] = 1
    return LabelledItems(
        kind="image",
        items=tuple(str(path) for path in paths),
        labels=labels,
        classes=classes,
        source=name,
        split=split,
        split_names=("train", "test"),
    )


def _flowers102(root: Path) -> LabelledItems:
    # The name in the paper's split ← the name in the published one.
    published = {"train": "test", "test": "train", "val": "val"}
    parts = [
        _opened("flowers102", "Flowers102", root, "flowers-102/setid.mat", split=split, loader=str)
        for split in published.values()
    ]
    return _of_parts("flowers102", parts, tuple(published), tuple(parts[0].classes))


def _food101(root: Path) -> LabelledItems:
    parts = [
        _opened("food101", "Food101", root, f"food-101/meta/{split}.json", split=split, loader=str)
        for split in ("train", "test")
    ]
    return _of_parts("food101", parts, ("train", "test"), tuple(parts[0].classes))


def _stanford_cars(root: Path) -> LabelledItems:
    annotations = {"train": "devkit/cars_train_annos.mat", "test": "cars_test_annos_withlabels.mat"}
    parts = [
        _opened(
            "stanfordcars", "StanfordCars", root, f"stanford_cars/{file}", split=split, loader=str
        )
        for split, file in annotations.items()
    ]
    return _of_parts("stanfordcars", parts, tuple(annotations), tuple(parts[0].classes))


def _opened(name: str, class_name: str, root: Path, file: str, **options: Any) -> Any:
    """Return torchvision's data set, or say where it was looked for and how to get it."""
    datasets = load_torchvision(f"the files of {name}").datasets
    get = f'torchvision.datasets.{class_name}("{root}", download=True)'
    if name == "stanfordcars":
        get = "a copy of the archives: its site is gone, so torchvision cannot download it"
    # Looked for first: some of torchvision's classes make an empty folder where there is none.
    if not (root / file).exists():
        raise FileNotFoundError(
            f"{name} was not found: looked for {file} in {root.resolve()}. Name the root folder "
            f"that it is in, or get it by {get}."
        )
    try:
        return getattr(datasets, class_name)(root, download=False, **options)
    except (RuntimeError, OSError) as error:
        raise FileNotFoundError(
            f"{name} in {root.resolve()} is not whole, or not the published one ({error}). Remove "
            f"it, and get it by {get}."
        ) from error


def _of_parts(
    name: str, parts: Sequence[Any], split_names: tuple[str, ...], classes: tuple[str, ...]
) -> LabelledItems:
    """Return data sets of torchvision, one per split, whose loader returns the path alone."""
    rows = [part[row] for part in parts for row in range(len(part))]
    return LabelledItems(
        kind="image",
        items=tuple(path for path, _ in rows),
        labels=np.array([label for _, label in rows], dtype=np.intp),
        classes=classes,
        source=name,
        split=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        split_names=split_names,
    )
