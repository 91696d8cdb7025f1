"""What belongs to CIFAR-100 and is not in torchvision: coarse classes and human labels."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._extras import load_extra
from twohot.tables.csv_file import csv_columns

# The official 20 coarse classes, each with its five fine ones.
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
# CIFAR-100N as its authors publish it, and the plain forms that hold the same.
HUMAN_FILES = tuple(f"CIFAR-100_human.{suffix}" for suffix in ("pt", "npz", "npy", "csv"))


def coarse_of(classes: tuple[str, ...]) -> NDArray[np.intp]:
    """Return the coarse class of each fine class."""
    fine_classes = [names.split() for names in COARSE_CLASSES.values()]
    return np.array([[name in fine for fine in fine_classes].index(True) for name in classes])


def read_human_labels(
    root: Path, clean_labels: NDArray[np.intp], n_classes: int
) -> NDArray[np.intp]:
    """Return CIFAR-100N's labels of the training images, in the order of CIFAR-100."""
    path = next((root / name for name in HUMAN_FILES if (root / name).is_file()), None)
    if path is None:
        looked = f"looked for {', '.join(HUMAN_FILES)} in {root.resolve()}"
        get = "Put CIFAR-100_human.pt of the repository UCSC-REAL/cifar-10-100n there."
        raise FileNotFoundError(f"CIFAR-100N's labels were not found: {looked}. {get}")
    content, n_images = _label_columns(path), len(clean_labels)
    noisy = _as_labels(path, "noisy_label", content, n_images)
    clean = _as_labels(path, "clean_label", {"clean_label": clean_labels, **content}, n_images)
    n_other = np.count_nonzero(clean != clean_labels)
    if n_other:
        problem = f"{path} has other clean labels than CIFAR-100 at {n_other} images"
        raise ValueError(f"{problem}: take the file of CIFAR-100, not of CIFAR-10.")
    if noisy.min() < 0 or noisy.max() >= n_classes:
        problem = f"{path} has labels from {noisy.min()} to {noisy.max()}"
        raise ValueError(f"{problem}: they must be from 0 to {n_classes - 1}.")
    return noisy


def _label_columns(path: Path) -> dict[str, Any]:
    """Return what a file of human labels holds, by name; nothing in it is executed."""
    if path.suffix == ".pt":
        return _read_torch(path)
    if path.suffix == ".npy":
        return {"noisy_label": np.load(path, allow_pickle=False)}
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    return dict(csv_columns(path))


def _read_torch(path: Path) -> dict[str, Any]:
    """Return a dict of arrays that torch pickled, by a reader that builds nothing but arrays."""
    torch = load_extra("torch", "vision", "files of torch")
    # numpy's own way to restore an array, under its name in numpy 1 as well.
    restore = np.array(0).__reduce__()[0]
    allowed = [np.ndarray, np.dtype, type(np.dtype("int64")), type(np.dtype("int32")), restore]
    named = [(restore, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals([*allowed, *named]):
            content = torch.load(path, weights_only=True)
    except Exception as error:
        problem = f"{path} is not a file of arrays that torch saved ({type(error).__name__})"
        advice = "fetch it again, or save its labels as CIFAR-100_human.npz."
        raise ValueError(f"{problem}: {advice}") from error
    return dict(content)


def _as_labels(path: Path, name: str, content: dict[str, Any], n_labels: int) -> NDArray[np.intp]:
    """Return one column as integers, one for each training image."""
    if name not in content:
        raise ValueError(f"{path} has no {name!r} but {sorted(content)}: it is not CIFAR-100N.")
    try:
        labels = np.asarray(content[name]).astype(np.intp)
    except ValueError as error:
        raise ValueError(f"{path} has a {name} that is no integer ({error}).") from error
    if labels.shape != (n_labels,):
        images = f"{n_labels} training images"
        raise ValueError(f"{path} has {name} of shape {labels.shape} for {images}.")
    return labels
