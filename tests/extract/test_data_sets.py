"""The data sets, read from tiny archives in each original format, with the paper's splits."""

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


def of_split(items, name):
    rows = np.flatnonzero(items.split == items.split_names.index(name))
    return [items.items[row] for row in rows], [items.classes[items.labels[row]] for row in rows]


def endings(paths, n_parts=2):
    return ["/".join(Path(path).parts[-n_parts:]) for path in paths]


def test_digits_are_scikit_learns():
    items, digits = load_data_set("digits"), load_digits()
    assert items.item_kind == ""
    np.testing.assert_array_equal(items.images, 15 * digits.images)
    np.testing.assert_array_equal(items.labels, digits.target)
    assert items.classes == tuple("0123456789")


def test_cifar100(tmp_path, monkeypatch):
    labels = archives.write_cifar100(tmp_path, monkeypatch)
    items = load_data_set("cifar100", tmp_path)
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
    assert set(items.superclass_names) == set(COARSE_CLASSES)


def test_cifar100_that_was_changed_is_not_unpickled(tmp_path, monkeypatch):
    archives.write_cifar100(tmp_path, monkeypatch)
    with (tmp_path / "cifar-100-python" / "train").open("ab") as file:
        file.write(b" ")
    with pytest.raises(FileNotFoundError, match=r"incomplete, or not as published .*Delete it"):
        load_data_set("cifar100", tmp_path)


HUMAN = [3, 99, 0, 1, 2, 3, 4]


def write_human(path, clean, human=HUMAN):
    columns = {"clean_label": np.array(clean), "noisy_label": np.array(human)}
    if path.suffix == ".pt":
        import torch  # noqa: PLC0415 (slow to import, and used here only)

        torch.save(columns, path)
    elif path.suffix == ".npz":
        np.savez(path, **columns)
    elif path.suffix == ".npy":
        np.save(path, columns["noisy_label"])
    else:
        rows = [f"{right},{given}" for right, given in zip(clean, human, strict=True)]
        path.write_text("\n".join(["clean_label,noisy_label", *rows]))


@pytest.mark.parametrize("suffix", ["pt", "npz", "npy", "csv"])
def test_human_labels_are_given_and_the_others_true(tmp_path, monkeypatch, suffix):
    labels = archives.write_cifar100(tmp_path, monkeypatch)
    write_human(tmp_path / f"CIFAR-100_human.{suffix}", labels["train"])
    items = load_data_set("cifar100", tmp_path, labels="human")
    assert items.labels.tolist() == HUMAN + labels["test"]
    assert items.true_labels.tolist() == labels["train"] + labels["test"]


def test_human_labels_that_numpy_1_wrote(tmp_path, monkeypatch):
    labels = archives.write_cifar100(tmp_path, monkeypatch)
    write_human(tmp_path / "new.pt", labels["train"])
    # The only difference: the module of numpy that restores an array had another name.
    with (
        ZipFile(tmp_path / "new.pt") as new,
        ZipFile(tmp_path / "CIFAR-100_human.pt", "w") as old,
    ):
        content = {name: new.read(name) for name in new.namelist()}
        assert sum(b"numpy._core" in data for data in content.values()) == 1
        for name, data in content.items():
            old.writestr(name, data.replace(b"numpy._core", b"numpy.core"))
    assert load_data_set("cifar100", tmp_path, labels="human").labels.tolist()[:7] == HUMAN


def test_human_labels_are_read_without_running_code(tmp_path, monkeypatch):
    import torch  # noqa: PLC0415

    labels = archives.write_cifar100(tmp_path, monkeypatch)
    # A pickle that would make a folder.
    content = {"noisy_label": Trap(tmp_path / "sprung"), "clean_label": labels["train"]}
    torch.save(content, tmp_path / "CIFAR-100_human.pt")
    with pytest.raises(ValueError, match="is not a file of arrays that torch saved"):
        load_data_set("cifar100", tmp_path, labels="human")
    assert not (tmp_path / "sprung").exists()


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.mkdir, (self.path,)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("npy", {"human": HUMAN[1:]}, r"noisy_label of shape \(6,\) for 7 training images"),
        ("npy", {"human": [*HUMAN[1:], 100]}, "labels from 0 to 100: they must be from 0 to 99"),
        ("npz", {"clean": HUMAN}, "clean labels that differ from CIFAR-100's for 7 images"),
        ("csv", {"human": [*HUMAN[1:], "cat"]}, "noisy_label that is not an integer"),
    ],
)
def test_human_labels_that_do_not_fit(tmp_path, monkeypatch, file, content, message):
    labels = archives.write_cifar100(tmp_path, monkeypatch)
    path = tmp_path / f"CIFAR-100_human.{file}"
    write_human(path, content.get("clean", labels["train"]), content.get("human", HUMAN))
    with pytest.raises(ValueError, match=message):
        load_data_set("cifar100", tmp_path, labels="human")


def test_human_labels_that_are_not_there_or_damaged(tmp_path, monkeypatch):
    archives.write_cifar100(tmp_path, monkeypatch)
    with pytest.raises(FileNotFoundError, match=r"looked for CIFAR-100_human.pt, .*cifar-10-100n"):
        load_data_set("cifar100", tmp_path, labels="human")
    for suffix in ("npz", "npy", "pt"):
        path = tmp_path / f"CIFAR-100_human.{suffix}"
        path.write_bytes(b"PK\x03\x04")
        with pytest.raises(ValueError, match=rf"human\.{suffix} is "):
            load_data_set("cifar100", tmp_path, labels="human")
        path.unlink()
    (tmp_path / "CIFAR-100_human.csv").write_text("label\n1\n")
    with pytest.raises(ValueError, match=r"has no 'noisy_label' but \['label'\]"):
        load_data_set("cifar100", tmp_path, labels="human")


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
    assert endings([items.items[0], items.items[9]]) == [first, last]
    assert all(Path(path).is_file() for path in items.items)
    # The first fifth of numpy's permutation with that seed, as scikit-learn draws it.
    test_rows = np.random.RandomState(42).permutation(10)[:2]
    assert np.flatnonzero(items.split == 1).tolist() == sorted(test_rows.tolist())
    assert items.split_names == ("train", "test")


def test_flowers102_has_train_and_test_swapped(tmp_path, monkeypatch):
    archives.write_flowers102(tmp_path, monkeypatch)
    items = load_data_set("flowers102", tmp_path)
    train, names = of_split(items, "train")
    assert endings(train, 1) == [f"image_{number:05d}.jpg" for number in range(5, 11)]
    assert names[:2] == ["english marigold", "tiger lily"]
    test, names = of_split(items, "test")
    assert endings(test, 1) == ["image_00002.jpg", "image_00001.jpg"]
    assert names == ["blackberry lily", "pink primrose"]
    assert endings(of_split(items, "val")[0], 1) == ["image_00003.jpg", "image_00004.jpg"]
    assert len(items.classes) == 102
    assert all(Path(path).is_file() for path in items.items)


def test_food101_has_its_published_splits(tmp_path):
    archives.write_food101(tmp_path)
    items = load_data_set("food101", tmp_path)
    assert items.classes == ("cake", "pie")
    train, names = of_split(items, "train")
    assert endings(train) == ["pie/11.jpg", "pie/12.jpg", "cake/21.jpg"]
    assert names == ["pie", "pie", "cake"]
    assert endings(of_split(items, "test")[0]) == ["pie/13.jpg", "cake/22.jpg"]
    assert all(Path(path).is_file() for path in items.items)


def test_stanford_cars_has_its_published_splits(tmp_path):
    archives.write_stanford_cars(tmp_path)
    items = load_data_set("stanfordcars", tmp_path)
    train, names = of_split(items, "train")
    assert endings(train) == [f"cars_train/0000{number}.jpg" for number in (1, 2, 3)]
    assert names == ["Audi S4", "AM General Hummer", "Acura TL"]
    assert of_split(items, "test")[1] == ["Acura TL"] * 2
    assert all(Path(path).is_file() for path in items.items)


@pytest.mark.parametrize("name", READERS)
def test_missing_data_says_where_and_how(tmp_path, name):
    advice = rf'get it by torchvision\.datasets\.{READERS[name]}\("'
    if name == "stanfordcars":
        advice = "its site is gone"
    words = rf"^{name} was not found: looked for .* in {re.escape(str(tmp_path))}.*{advice}"
    with pytest.raises(FileNotFoundError, match=words):
        load_data_set(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_data_of_which_a_part_is_missing(tmp_path):
    archives.write_food101(tmp_path)
    (tmp_path / "food-101" / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match=r"is incomplete.*Food101\(.*download=True"):
        load_data_set("food101", tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "imagenet"}, "name='imagenet' is not known: pass one of 'digits'"),
        ({"name": "digits", "labels": "noisy"}, "labels='noisy' is not known"),
        ({"name": "digits", "labels": "human"}, "labels='human' is for 'cifar100', not 'digits'"),
    ],
)
def test_bad_names(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_data_set(**arguments)
