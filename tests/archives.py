"""The paper's data sets, tiny, in the on-disk format each was published in."""

import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
from scipy.io import savemat

from pictures import noise, write_picture
from twohot.extract.data_sets import COARSE_CLASSES

CIFAR_CLASSES = sorted(name for names in COARSE_CLASSES.values() for name in names.split())


def write_cifar100(root: Path, monkeypatch, n_train: int = 7, n_test: int = 3) -> dict[str, list]:
    """Write CIFAR-100's pickles, and tell torchvision their checksums; return the labels."""
    from torchvision.datasets import CIFAR100  # noqa: PLC0415 (only where it can be imported)

    folder = root / "cifar-100-python"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    labels = {name: rng.integers(0, 100, n).tolist() for name, n in sizes(n_train, n_test)}
    for seed, (name, n_images) in enumerate(sizes(n_train, n_test)):
        images = [noise(100 * seed + row, (32, 32)) for row in range(n_images)]
        content = {
            # One row an image: all of red, then green, then blue.
            "data": np.stack(images).transpose(0, 3, 1, 2).reshape(n_images, -1),
            "fine_labels": labels[name],
            "coarse_labels": [0] * n_images,
        }
        (folder / name).write_bytes(pickle.dumps(content))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": CIFAR_CLASSES}))
    files = {f"{name}_list": [[name, md5(folder / name)]] for name in ("train", "test")}
    for name, known in {**files, "meta": {**CIFAR100.meta, "md5": md5(folder / "meta")}}.items():
        monkeypatch.setattr(CIFAR100, name, known)
    return labels


def write_human_labels(root: Path, clean, noisy) -> Path:
    """Write the labels of CIFAR-100N as published: a dictionary of arrays, saved by torch."""
    import torch  # noqa: PLC0415 (slow to import)

    path = root / "CIFAR-100_human.pt"
    torch.save({"clean_label": np.array(clean), "noisy_label": np.array(noisy)}, path)
    return path


def sizes(n_train: int, n_test: int) -> list[tuple[str, int]]:
    return [("train", n_train), ("test", n_test)]


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def write_caltech101(root: Path) -> None:
    folder = root / "caltech101" / "101_ObjectCategories"
    for seed, (name, n_images) in enumerate([("BACKGROUND_Google", 3), ("Faces", 6), ("ant", 4)]):
        for number in range(1, n_images + 1):
            write_picture(folder / name / f"image_{number:04d}.jpg", 10 * seed + number)


def write_caltech256(root: Path) -> None:
    folder = root / "caltech256" / "256_ObjectCategories"
    for place, (name, n_images) in enumerate([("ak47", 6), ("dog", 4), ("clutter", 5)], start=1):
        class_folder = folder / f"{place:03d}.{name}"
        for number in range(1, n_images + 1):
            write_picture(class_folder / f"{place:03d}_{number:04d}.jpg", 10 * place + number)
    # As in the published archive: a folder and a file that are no images.
    (folder / "002.dog" / "greg").mkdir()
    (folder / "001.ak47" / "RENAME2").write_text("")


def write_flowers102(root: Path, monkeypatch) -> None:
    """Write ten flowers: images 1–2 to train on, 3–4 to validate, 5–10 to test on."""
    from torchvision.datasets import Flowers102  # noqa: PLC0415

    folder = root / "flowers-102"
    for number in range(1, 11):
        write_picture(folder / "jpg" / f"image_{number:05d}.jpg", number)
    savemat(folder / "imagelabels.mat", {"labels": [[1, 102, 3, 4, 5, 6, 7, 8, 9, 10]]})
    splits = {"trnid": [[2, 1]], "valid": [[3, 4]], "tstid": [[5, 6, 7, 8, 9, 10]]}
    savemat(folder / "setid.mat", splits)
    files = {
        "image": ("102flowers.tgz", ""),
        "label": ("imagelabels.mat", md5(folder / "imagelabels.mat")),
        "setid": ("setid.mat", md5(folder / "setid.mat")),
    }
    monkeypatch.setattr(Flowers102, "_file_dict", files)


def write_food101(root: Path) -> None:
    folder = root / "food-101"
    splits = {
        "train": {"pie": ["pie/11", "pie/12"], "cake": ["cake/21"]},
        "test": {"pie": ["pie/13"], "cake": ["cake/22"]},
    }
    (folder / "meta").mkdir(parents=True)
    for split, by_class in splits.items():
        (folder / "meta" / f"{split}.json").write_text(json.dumps(by_class))
        for name in (name for names in by_class.values() for name in names):
            write_picture(folder / "images" / f"{name}.jpg", int(name[-2:]))


def write_stanford_cars(root: Path) -> None:
    folder = root / "stanford_cars"
    (folder / "devkit").mkdir(parents=True)
    classes = np.array(["AM General Hummer", "Acura TL", "Audi S4"], dtype=object)
    savemat(folder / "devkit" / "cars_meta.mat", {"class_names": classes})
    fields = [("class", "O"), ("fname", "O")]
    for split, path, labels in (
        ("cars_train", "devkit/cars_train_annos.mat", [3, 1, 2]),
        ("cars_test", "cars_test_annos_withlabels.mat", [2, 2]),
    ):
        names = [f"{number:05d}.jpg" for number in range(1, len(labels) + 1)]
        annotations = np.array(list(zip(labels, names, strict=True)), dtype=fields)
        savemat(folder / path, {"annotations": annotations})
        for number, name in enumerate(names):
            write_picture(folder / split / name, number)
