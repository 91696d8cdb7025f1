"""Datasets of the experiments: valid files, and their penalties."""

import numpy as np
import pytest

from small_data import write_small_data
from twohot_paper.data_set import (
    FLOWERS_RIDGE,
    find_feature_files,
    read_data_set,
    read_data_sets,
    two_backbones,
)


@pytest.mark.parametrize(
    ("name", "paper", "l2"),
    [
        ("cifar100_resnet34", "CIFAR-100", 2e-5),
        ("Flowers-102", "Flowers-102", 2e-4),
        ("stanford_cars", "StanfordCars", 2e-4),
    ],
)
def test_paper_datasets_have_the_paper_penalties(tmp_path, name, paper, l2):
    data = read_data_set(write_small_data(tmp_path, name))
    assert data.paper_name == paper
    assert data.l2("small") == pytest.approx(l2)
    assert data.l2("big") == pytest.approx(5 * l2)


def test_other_datasets_have_the_ridge_of_flowers(tmp_path):
    data = read_data_set(write_small_data(tmp_path))
    assert data.paper_name is None
    mean_square = (data.X.astype(float) ** 2).sum(axis=1).mean()
    ridge = data.l2("base") * data.n_classes * len(data.X) / mean_square
    assert ridge == pytest.approx(FLOWERS_RIDGE, rel=1e-5)


def test_key_depends_on_the_rows(tmp_path):
    first = read_data_set(write_small_data(tmp_path))
    again = read_data_set(write_small_data(tmp_path))
    other = read_data_set(write_small_data(tmp_path, seed=1))
    assert first.key == again.key != other.key


def two_splits(**others):
    """Return the arrays of two splits of three classes, some of them changed."""
    n_rows = len(others.get("y_train", range(6)))
    arrays = {"X_train": np.eye(n_rows), "y_train": [0, 1, 2] * 2}
    arrays |= {"X_test": np.eye(n_rows), "y_test": ([0, 1, 2] * 2)[:n_rows]}
    return arrays | others


def with_nan():
    features = np.eye(6)
    features[4, 1] = np.nan
    return features


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(4), "y": [0, 1, 2, 0]}, "has no splits, and not 'train'"),
        ({"X": np.eye(4), "y": [0, 1, 2, 0]}, "arrays X_train, y_train, X_test and y_test"),
        ({"X_train": np.eye(4), "y_train": [0, 1, 2, 0]}, "and not 'test'"),
        (two_splits(y_train=[0, 1, 2, 0]), "has fewer than 2 training rows of classes '1', '2'"),
        (two_splits(y_train=[0, 1] * 2, y_test=[0] * 4), "has 2 classes: pass at least 3"),
        (two_splits(y_test=[0, 1, 2, 7, 0, 1]), "only in the split test: '7'"),
        (two_splits(X_test=np.eye(6)[:, :5]), "'X_train' has 6 columns and 'X_test' has 5 columns"),
        (two_splits(X_train=with_nan()), "split 'train', contains NaN at row 4, column 1"),
        (two_splits(X_test=with_nan()), "split 'test', contains NaN at row 4, column 1"),
    ],
)
def test_rejects_unusable_files(tmp_path, arrays, message):
    np.savez(tmp_path / "pets.npz", **arrays)
    with pytest.raises(ValueError, match=r"pets\.npz") as raised:
        read_data_set(tmp_path / "pets.npz")
    assert message in str(raised.value)


def test_rejects_two_files_with_one_name(tmp_path):
    (tmp_path / "other").mkdir()
    paths = [write_small_data(tmp_path), write_small_data(tmp_path / "other", seed=1)]
    with pytest.raises(ValueError, match="have the same name"):
        read_data_sets(paths)
    assert len(read_data_sets([paths[0], paths[0]])) == 1


def test_rejects_folders_without_feature_files(tmp_path):
    with pytest.raises(ValueError, match="has no feature files"):
        find_feature_files(tmp_path)
    with pytest.raises(ValueError, match="is not a folder"):
        find_feature_files(tmp_path / "none")
    path = write_small_data(tmp_path)
    (tmp_path / "notes.txt").touch()
    assert find_feature_files(tmp_path) == [path]


def test_finds_two_backbones_of_the_same_rows(tmp_path):
    first = read_data_set(write_small_data(tmp_path, "cifar100_resnet"))
    second = read_data_set(write_small_data(tmp_path, "cifar100_vit", seed=1))
    fewer = read_data_set(write_small_data(tmp_path, "cifar100_few", n_train=60))
    assert two_backbones([first, second, fewer]) == [[first, second]]
    assert two_backbones([first, fewer]) == []
