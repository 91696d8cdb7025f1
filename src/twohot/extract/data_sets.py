"""Load datasets by name: scikit-learn's digits, or one of the six datasets of the paper.

The six datasets have the splits of the paper. The classes of torchvision (such as
`torchvision.datasets.Food101`) read the files that they downloaded before; nothing is downloaded
here. CIFAR-100, Food-101 and StanfordCars have their published splits. Caltech-101 and Caltech-256,
without their images of background or clutter, are split 80:20 at random with seed 42. The train
and test sets of Flowers-102 are swapped, because the published test set is larger.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from twohot.base import ArgumentError, check_choice, load_extra
from twohot.extract.backbones import load_torchvision
from twohot.extract.items import LabelledItems

# CIFAR-100's coarse classes and human labels, which torchvision does not contain ------------------

# The 20 official coarse classes, each with its five fine classes.
COARSE_CLASSES = {
    "aquatic_mammals": "beaver dolphin otter seal whale",
    "fish": "aquarium_fish flatfish ray shark trout",
    "flowers": "orchid poppy rose sunflower tulip",
    "food_containers": "bottle bowl can cup plate",
    "fruit_and_vegetables": "apple mushroom orange pear sweet_pepper",
    "household_electrical_devices": "clock keyboard lamp telephone television",
    "household_furniture": "bed chair couch table wardrobe",
    "insects": "bee beetle butterfly caterpillar cockroach",
    "large_carnivores": "bear leopard lion tiger wolf",
    "large_man-made_outdoor_things": "bridge castle house road skyscraper",
    "large_natural_outdoor_scenes": "cloud forest mountain plain sea",
    "large_omnivores_and_herbivores": "camel cattle chimpanzee elephant kangaroo",
    "medium_mammals": "fox porcupine possum raccoon skunk",
    "non-insect_invertebrates": "crab lobster snail spider worm",
    "people": "baby boy girl man woman",
    "reptiles": "crocodile dinosaur lizard snake turtle",
    "small_mammals": "hamster mouse rabbit shrew squirrel",
    "trees": "maple_tree oak_tree palm_tree pine_tree willow_tree",
    "vehicles_1": "bicycle bus motorcycle pickup_truck train",
    "vehicles_2": "lawn_mower rocket streetcar tank tractor",
}
# Name of the file of CIFAR-100N, as its authors published it.
HUMAN_FILE = "CIFAR-100_human.pt"


def coarse_of(classes: tuple[str, ...]) -> NDArray[np.intp]:
    """Return the position of the coarse class of each fine class of CIFAR-100."""
    fine_classes = [names.split() for names in COARSE_CLASSES.values()]
    return np.array([[name in fine for fine in fine_classes].index(True) for name in classes])


def read_human_labels(
    root: Path, clean_labels: NDArray[np.intp], n_classes: int
) -> NDArray[np.intp]:
    """Return the human labels (CIFAR-100N) of the training images, in the order of CIFAR-100."""
    path = root / HUMAN_FILE
    if not path.is_file():
        problem = f"the labels of CIFAR-100N were not found, because {root.resolve()} has no file "
        get = "download this file from the GitHub repository UCSC-REAL/cifar-10-100n."
        raise FileNotFoundError(f"{problem}{HUMAN_FILE}: {get}")
    content = _read_torch(path)
    if not {"clean_label", "noisy_label"} <= content.keys():
        problem = f"{path} needs entries clean_label and noisy_label, but has {sorted(content)}"
        raise ValueError(f"{problem}: use the file {HUMAN_FILE} of CIFAR-100N.")
    clean, noisy = (np.asarray(content[name], np.intp) for name in ("clean_label", "noisy_label"))
    if not np.array_equal(clean, clean_labels):
        problem = f"{path} has clean labels that differ from CIFAR-100's"
        raise ValueError(f"{problem}: use {HUMAN_FILE}, not the file of CIFAR-10.")
    if noisy.shape != clean.shape or noisy.min() < 0 or noisy.max() >= n_classes:
        needed = f"{len(clean)} integers from 0 to {n_classes - 1}"
        problem = f"{path} has noisy labels that are not {needed}"
        raise ValueError(f"{problem}: download the file again.")
    return noisy


def _read_torch(path: Path) -> dict[str, Any]:
    """Return a dict of arrays that torch pickled; for safety, only arrays are unpickled."""
    torch = load_extra("torch", "vision", "files of torch")
    # The function of numpy that restores a pickled array. It is in the module numpy.core in
    # numpy 1, and in numpy._core in numpy 2.
    restore = np.array(0).__reduce__()[0]
    allowed = [np.ndarray, np.dtype, type(np.dtype("int64")), type(np.dtype("int32")), restore]
    named = [(restore, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals([*allowed, *named]):
            content = torch.load(path, weights_only=True)
    except Exception as error:
        problem = f"{path} is not a file of arrays that torch saved ({type(error).__name__})"
        raise ValueError(f"{problem}: download the file again.") from error
    return dict(content)


# The classes of torchvision that read the six datasets.
READERS = {
    "cifar100": "CIFAR100",
    "caltech101": "Caltech101",
    "caltech256": "Caltech256",
    "flowers102": "Flowers102",
    "food101": "Food101",
    "stanfordcars": "StanfordCars",
}
NAMES = ("digits", *READERS)
# For each dataset: name of a split in the paper → published name, and a file that must exist.
SPLITS = {
    "flowers102": {
        split: (published, "flowers-102/setid.mat")
        for split, published in (("train", "test"), ("test", "train"), ("val", "val"))
    },
    "food101": {split: (split, f"food-101/meta/{split}.json") for split in ("train", "test")},
    "stanfordcars": {
        "train": ("train", "stanford_cars/devkit/cars_train_annos.mat"),
        "test": ("test", "stanford_cars/cars_test_annos_withlabels.mat"),
    },
}
# scikit-learn's digits have grey levels from 0 to 16. This factor gives levels from 0 to 240.
DIGITS_SCALE = 15


def load_data_set(
    name: str, root: str | os.PathLike[str] = "data", *, labels: str = "clean"
) -> LabelledItems:
    """Return the images of a dataset, with labels and splits.

    Parameters
    ----------
    name : str
        One of "digits", "cifar100", "caltech101", "caltech256", "flowers102", "food101" and
        "stanfordcars". All but "digits" need twohot[vision] and their files in `root`.
    root : path
        The folder of the downloaded files: the `root` of the class in `torchvision.datasets`.
    labels : {"clean", "human"}
        The given labels of CIFAR-100; other datasets have only "clean" labels. "clean" means the
        labels of CIFAR-100. "human" means the labels of CIFAR-100N (the file CIFAR-100_human.pt in
        `root`); then the true labels are those of CIFAR-100.

    Returns
    -------
    LabelledItems
        The input of `extract`.

    Examples
    --------
    >>> digits = load_data_set("digits")
    >>> len(digits), digits.classes[:3], digits.images.shape
    (1797, ('0', '1', '2'), (1797, 8, 8))
    >>> load_data_set("flowers102", root="photos")
    Traceback (most recent call last):
    FileNotFoundError: flowers102 was not found, because ... has no flowers-102/setid.mat: ...
    """
    check_choice("name", name, NAMES)
    check_choice("labels", labels, ("clean", "human"))
    if labels == "human" and name != "cifar100":
        problem = f"exists only for 'cifar100', not for {name!r}"
        raise ArgumentError({"labels": labels}, problem, "pass {labels}.", labels="clean")
    if name == "digits":
        digits = load_digits()
        return LabelledItems(
            kind="image",
            items=tuple(f"digits/{row}" for row in range(len(digits.target))),
            labels=digits.target,
            classes=tuple(map(str, digits.target_names)),
            source="digits (scikit-learn)",
            images=(DIGITS_SCALE * digits.images).astype(np.uint8),
        )
    if name == "cifar100":
        return _cifar100(Path(root), labels)
    return _of_splits(name, Path(root)) if name in SPLITS else _caltech(name, Path(root))


def _cifar100(root: Path, labels: str) -> LabelledItems:
    file = "cifar-100-python/train"
    train, test = (_opened("cifar100", root, file, train=is_train) for is_train in (True, False))
    classes, n_train = tuple(train.classes), len(train)
    clean = np.array([*train.targets, *test.targets])
    given = clean.copy()
    if labels == "human":
        given[:n_train] = read_human_labels(root, clean[:n_train], len(classes))
    return LabelledItems(
        kind="image",
        items=(
            *(f"cifar100/train/{row}" for row in range(n_train)),
            *(f"cifar100/test/{row}" for row in range(len(test))),
        ),
        labels=given,
        classes=classes,
        source=f"cifar100 ({labels} labels)",
        superclass=coarse_of(classes),
        superclass_names=tuple(COARSE_CLASSES),
        split=np.repeat([0, 1], [n_train, len(test)]),
        split_names=("train", "test"),
        true_labels=clean if labels == "human" else None,
        images=np.concatenate([train.data, test.data]),
    )


def _caltech(name: str, root: Path) -> LabelledItems:
    """Return images with the split of the paper: a random fifth is the test set."""
    folder = f"{name}/{name[-3:]}_ObjectCategories"
    data = _opened(name, root, folder)
    # torchvision leaves out the background of Caltech-101. The last class of Caltech-256,
    # "257.clutter", contains arbitrary images.
    classes = tuple(entry for entry in data.categories if not entry.endswith("clutter"))
    file = "image_{number:04d}.jpg" if name == "caltech101" else "{place:03d}_{number:04d}.jpg"
    rows = [
        (str(root / folder / classes[label] / file.format(place=label + 1, number=number)), label)
        for label, number in zip(data.y, data.index, strict=True)
        if label < len(classes)
    ]
    _, test_rows = train_test_split(np.arange(len(rows)), test_size=0.2, random_state=42)
    split = np.isin(np.arange(len(rows)), test_rows).astype(np.intp)
    return _image_files(name, rows, classes, split, ("train", "test"))


def _of_splits(name: str, root: Path) -> LabelledItems:
    """Return the paths and labels of a dataset that torchvision reads split by split."""
    parts = [
        _opened(name, root, file, split=published, loader=str)
        for published, file in SPLITS[name].values()
    ]
    rows = [part[row] for part in parts for row in range(len(part))]
    codes = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return _image_files(name, rows, tuple(parts[0].classes), codes, tuple(SPLITS[name]))


def _image_files(
    name: str,
    rows: Sequence[tuple[str, int]],  # path and label
    classes: tuple[str, ...],
    split: NDArray[np.intp],
    split_names: tuple[str, ...],
) -> LabelledItems:
    paths, labels = zip(*rows, strict=True)
    return LabelledItems(
        kind="image",
        items=paths,
        labels=np.array(labels, dtype=np.intp),
        classes=classes,
        source=name,
        split=split,
        split_names=split_names,
    )


def _opened(name: str, root: Path, file: str, **options: Any) -> Any:
    """Return a dataset of torchvision; if files are missing, the error says how to get them.

    `file` is a file or folder in `root` that the dataset needs.
    """
    reader = getattr(load_torchvision(f"the files of {name}").datasets, READERS[name])
    get = f'run torchvision.datasets.{READERS[name]}("{root}", download=True)'
    if name == "stanfordcars":
        get = "copy the archives of this dataset: torchvision can no longer download them"
    # Check the file first, because some classes of torchvision create an empty folder.
    if not (root / file).exists():
        problem = f"{name} was not found, because {root.resolve()} has no {file}"
        raise FileNotFoundError(f"{problem}: pass the folder that contains {file}, or {get}.")
    try:
        return reader(root, download=False, **options)
    except (RuntimeError, OSError) as error:
        problem = f"{name} in {root.resolve()} has missing or changed files ({error})"
        raise FileNotFoundError(f"{problem}: delete these files, and {get}.") from error
