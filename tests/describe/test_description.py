"""A description has what the parts of the library measure on the requested rows."""

import json
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from twohot.describe import class_correlation, cluster_classes, pair_statistics
from twohot.describe.description import describe_table
from twohot.noise import make_features
from twohot.tables import FeatureTable

CLASSES = ("ant", "bee", "cow", "dog", "elk", "fly")


@pytest.fixture(scope="module")
def table():
    """Six classes in three superclasses; ten rows without a label; a small test split."""
    size = {"n_classes": 6, "n_per_class": 40, "n_features": 32, "superclass": [0, 0, 1, 1, 2, 2]}
    levels = {"same_class": 0.4, "same_superclass": 0.2, "elsewhere": -0.1}
    made = make_features(**size, **levels, random_state=0)
    labels = made.labels.copy()
    labels[::24] = -1
    return FeatureTable(
        features=made.features,
        labels=labels,
        classes=CLASSES,
        superclass=np.array([1, 1, 0, 0, 0, 1]),
        superclass_names=("mammal", "insect"),
        split=(np.arange(240) % 5 == 0).astype(int),
        split_names=("train", "test"),
        provenance={"backbone": "none"},
    )


def test_describes_the_training_split_by_default(table):
    in_chunks = replace(table, features=da.from_array(table.features, chunks=(50, -1)))
    for described, split, name in (
        (table, None, "train"),
        (table, "test", "test"),
        (in_chunks, "train", "train"),
    ):
        found = describe_table(described, split=split)
        rows = table.take(table.rows_of_split(name))
        assert found.split == name
        assert found.split_sizes == {"train": 192, "test": 48}
        assert found.class_sizes.tolist() == np.bincount(rows.labels[rows.labels >= 0]).tolist()
        assert found.n_without_label == (rows.labels == -1).sum()
        known = class_correlation(rows.features, rows.labels)
        np.testing.assert_allclose(found.structure.correlation.means, known.means, atol=1e-12)
    whole = replace(table, split=None, split_names=())
    for found in (describe_table(whole), describe_table(table, split="all")):
        assert found.split is None
        assert found.class_sizes.sum() + found.n_without_label == table.n_rows == found.n_rows


def test_superclasses_of_the_file_are_used_unless_a_clustering_is_requested(table):
    rows = table.take(table.rows_of_split("train"))
    named = describe_table(table).structure
    assert named.superclass_names == ("mammal", "insect")
    assert named.source == "named in the file"
    assert named.superclass.tolist() == table.superclass.tolist()
    known = pair_statistics(rows.features, rows.labels, table.superclass)
    assert named.statistics.elsewhere.std == pytest.approx(known.elsewhere.std)
    means = class_correlation(rows.features, rows.labels).means
    for options in ({"n_superclasses": 3}, {"cut": 0.5}):
        found = describe_table(table, **options).structure
        expected = cluster_classes(means, **options).superclass
        assert found.superclass.tolist() == expected.tolist()
        assert found.source.startswith("complete linkage, ")
    unnamed = replace(table, superclass=None, superclass_names=())
    found = describe_table(unnamed).structure
    assert found.source == "complete linkage, cut at 0.8"
    assert found.superclass.tolist() == cluster_classes(means).superclass.tolist()


def test_classes_without_rows_are_left_out_of_the_correlations(table):
    labels = np.where(table.labels == 2, -1, table.labels)
    found = describe_table(replace(table, labels=labels))
    assert found.class_sizes[2] == 0
    assert found.structure.classes == ("ant", "bee", "dog", "elk", "fly")
    assert found.structure.superclass.tolist() == [1, 1, 0, 0, 1]
    full = describe_table(table)
    assert found.n_without_label == full.n_without_label + full.class_sizes[2]
    # Superclasses without rows are left out too.
    labels = np.where(np.isin(table.labels, (2, 3, 4)), -1, table.labels)
    found = describe_table(replace(table, labels=labels))
    assert found.structure.superclass_names == ("insect",)


@pytest.mark.parametrize("n_labels", [0, 1])
def test_fewer_than_two_classes_have_no_correlations(n_labels):
    labels = np.full(5, n_labels - 1)
    found = describe_table(FeatureTable(features=np.eye(5), labels=labels, classes=("cat",)))
    assert found.structure is None
    assert found.class_sizes.tolist() == [5 * n_labels]
    assert found.to_json()["structure"] is None


def test_many_features_have_means_without_a_spread(table):
    wide = np.pad(table.features, ((0, 0), (0, 8193 - table.n_features)))
    found = describe_table(replace(table, features=wide)).structure
    assert found.statistics is None
    assert found.to_json()["pairs"] is None
    assert found.to_json()["same_class"] == pytest.approx(0.4, abs=0.05)


def test_json_has_all_numbers_and_no_nan(table):
    labels = np.where(table.labels == 5, -1, table.labels)
    labels[np.flatnonzero(table.labels == 5)[1]] = 5
    found = describe_table(replace(table, labels=labels, split=None, split_names=()))
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["class_sizes"][5] == 1
    assert content["structure"]["means"][5][5] is None
    assert content["structure"]["pairs"]["same_class"]["n_pairs"] > 0
    assert content["provenance"] == {"backbone": "none"}
