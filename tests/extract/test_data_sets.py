"""The data sets are read from small archives in their original formats, with the paper's splits."""

import re
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from sklearn.datasets import load_digits

import archives
from pictures import noise
from twohot.extract import load_data_set
from twohot.extract.backbones import load_torchvision
from twohot.extract.data_sets import COARSE_CLASSES, READERS


@pytest.fixture(autouse=True)
def _torchvision_is_importable():
    load_torchvision("tests")


def test_digits_equal_those_of_scikit_learn():
    items, digits = load_data_set("digits"), load_digits()
    assert items.item_kind == ""
    np.testing.assert_array_equal(items.images, 15 * digits.images)
    np.testing.assert_array_equal(items.labels, digits.target)
    assert items.classes == tuple("0123456789")


@pytest.fixture
def cifar100(tmp_path, monkeypatch):
    """The folder of a small CIFAR-100, and its labels by split."""
    return tmp_path, archives.write_cifar100(tmp_path, monkeypatch)


def test_cifar100(cifar100):
    root, labels = cifar100
    items = load_data_set("cifar100", root)
    assert items.labels.tolist() == labels["train"] + labels["test"]
    assert items.split.tolist() == [0] * 7 + [1] * 3
    assert items.items[6:8] == ("cifar100/train/6", "cifar100/test/0")
    assert items.true_labels is None
    np.testing.assert_array_equal(items.images[6], noise(6, (32, 32)))
    np.testing.assert_array_equal(items.images[7], noise(100, (32, 32)))
    assert np.bincount(items.superclass).tolist() == [5] * 20
    coarse = dict(zip(items.classes, items.superclass, strict=True))
    assert items.superclass_names[coarse["whale"]] == "aquatic_mammals"
    assert items.superclass_names[coarse["tractor"]] == "vehicles_2"
    assert items.superclass_names == tuple(COARSE_CLASSES)


def test_cifar100_that_was_changed_is_not_unpickled(cifar100):
    root, _ = cifar100
    with (root / "cifar-100-python" / "train").open("ab") as file:
        file.write(b" ")
    with pytest.raises(FileNotFoundError, match=r"missing or changed files .*delete these"):
        load_data_set("cifar100", root)


HUMAN = [3, 99, 0, 1, 2, 3, 4]


def test_human_labels_are_given_labels_also_from_numpy_1(cifar100):
    root, labels = cifar100
    path = archives.write_human_labels(root, labels["train"], HUMAN)
    items = load_data_set("cifar100", root, labels="human")
    assert items.labels.tolist() == HUMAN + labels["test"]
    assert items.true_labels.tolist() == labels["train"] + labels["test"]
    # In numpy 1, the module that restores an array had another name.
    new = path.rename(root / "new.pt")
    with ZipFile(new) as file, ZipFile(root / "CIFAR-100_human.pt", "w") as old:
        content = {name: file.read(name) for name in file.namelist()}
        assert sum(b"numpy._core" in data for data in content.values()) == 1
        for name, data in content.items():
            old.writestr(name, data.replace(b"numpy._core", b"numpy.core"))
    assert load_data_set("cifar100", root, labels="human").labels.tolist()[:7] == HUMAN


class Trap:
    """Unpickling it would create a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.mkdir, (self.path,)


def test_rejects_human_labels_that_do_not_fit(cifar100):
    import torch  # noqa: PLC0415

    root, labels = cifar100
    clean, path = labels["train"], root / "CIFAR-100_human.pt"

    def rejected(message, content=None):
        if content is not None:
            torch.save(content, path)
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            load_data_set("cifar100", root, labels="human")

    rejected(r"has no file CIFAR-100_human.pt: .*cifar-10-100n")
    path.write_bytes(b"PK\x03\x04")
    rejected("is not a file of arrays that torch saved")
    # No code of the file is run.
    trap = {"noisy_label": Trap(root / "sprung"), "clean_label": clean}
    rejected("is not a file of arrays that torch saved", trap)
    assert not (root / "sprung").exists()
    rejected(
        r"needs entries clean_label and noisy_label, but has \['label'\]", {"label": np.arange(7)}
    )
    for given, noisy, message in (
        (clean, HUMAN[1:], "noisy labels that are not 7 integers from 0 to 99: download the file"),
        (clean, [*HUMAN[1:], 100], "noisy labels that are not 7 integers from 0 to 99"),
        (HUMAN, HUMAN, "clean labels that differ from CIFAR-100's: use CIFAR-100_human"),
    ):
        archives.write_human_labels(root, given, noisy)
        rejected(message)


@pytest.mark.parametrize(
    ("name", "classes", "first", "last"),
    [
        ("caltech101", ("Faces", "ant"), "Faces/image_0001.jpg", "ant/image_0004.jpg"),
        ("caltech256", ("001.ak47", "002.dog"), "001.ak47/001_0001.jpg", "002.dog/002_0004.jpg"),
    ],
)
def test_caltech_has_no_background_and_is_split_with_seed_42(tmp_path, name, classes, first, last):
    getattr(archives, f"write_{name}")(tmp_path)
    items = load_data_set(name, tmp_path)
    assert items.classes == classes
    assert items.labels.tolist() == [0] * 6 + [1] * 4
    assert items.items[0].endswith(first)
    assert items.items[9].endswith(last)
    assert all(Path(path).is_file() for path in items.items)
    # The first fifth of numpy's permutation with that seed, as scikit-learn draws it.
    test_rows = np.random.RandomState(42).permutation(10)[:2]
    assert np.flatnonzero(items.split == 1).tolist() == sorted(test_rows.tolist())
    assert items.split_names == ("train", "test")


# Data set → by split, the ends of its paths and some of its class names.
PUBLISHED_SPLITS = {
    "flowers102": {
        "train": ([f"image_{n:05d}.jpg" for n in range(5, 11)], ["english marigold", "tiger lily"]),
        "test": (["image_00002.jpg", "image_00001.jpg"], ["blackberry lily", "pink primrose"]),
        "val": (["image_00003.jpg", "image_00004.jpg"], []),
    },
    "food101": {
        "train": (["pie/11.jpg", "pie/12.jpg", "cake/21.jpg"], ["pie", "pie", "cake"]),
        "test": (["pie/13.jpg", "cake/22.jpg"], ["pie", "cake"]),
    },
    "stanford_cars": {
        "train": (
            [f"cars_train/0000{number}.jpg" for number in (1, 2, 3)],
            ["Audi S4", "AM General Hummer", "Acura TL"],
        ),
        "test": (["cars_test/00001.jpg", "cars_test/00002.jpg"], ["Acura TL"] * 2),
    },
}


@pytest.mark.parametrize("name", PUBLISHED_SPLITS)
def test_splits_are_as_published_with_flowers_swapped(name, tmp_path, monkeypatch):
    arguments = (tmp_path, monkeypatch) if name == "flowers102" else (tmp_path,)
    getattr(archives, f"write_{name}")(*arguments)
    items = load_data_set(name.replace("_", ""), tmp_path)
    assert items.split_names == tuple(PUBLISHED_SPLITS[name])
    for code, (paths, names) in enumerate(PUBLISHED_SPLITS[name].values()):
        rows = np.flatnonzero(items.split == code)
        for row, end in zip(rows, paths, strict=True):
            assert items.items[row].endswith(end)
        assert [items.classes[items.labels[row]] for row in rows[: len(names)]] == names
    assert all(Path(path).is_file() for path in items.items)


@pytest.mark.parametrize("name", READERS)
def test_error_says_where_to_put_missing_data(tmp_path, name):
    advice = rf'run torchvision\.datasets\.{READERS[name]}\("'
    if name == "stanfordcars":
        advice = "can no longer download"
    words = rf"^{name} was not found, because {re.escape(str(tmp_path))} has no.*{advice}"
    with pytest.raises(FileNotFoundError, match=words):
        load_data_set(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_rejects_incomplete_data_set(tmp_path):
    archives.write_food101(tmp_path)
    (tmp_path / "food-101" / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(
        FileNotFoundError, match=r"has missing or changed files.*Food101\(.*download=True"
    ):
        load_data_set("food101", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "imagenet"}, "name='imagenet' is not known: pass one of 'digits'"),
        ({"name": "digits", "labels": "noisy"}, "labels='noisy' is not known"),
        ({"name": "digits", "labels": "human"}, "labels='human' exists only for 'cifar100'"),
    ],
)
def test_rejects_unknown_names(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_data_set(**arguments)
