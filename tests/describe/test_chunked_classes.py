"""Correlations of classes in Dask collections are those in memory, and rows stay where they are."""

from dataclasses import replace

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import given, settings
from labelled_rows import labelled_rows

from stored import memory_map
from twohot.describe import class_correlation, cluster_classes, pair_statistics, row_pairs
from twohot.describe.description import describe_table
from twohot.tables import FeatureTable

GENERATOR = np.random.default_rng(0)
N_CLASSES, N_FEATURES = 12, 10
LABELS = GENERATOR.integers(-1, N_CLASSES, 900)
CENTRES = GENERATOR.normal(size=(N_CLASSES + 1, N_FEATURES))
X = (CENTRES[LABELS] + GENERATOR.normal(size=(900, N_FEATURES))).astype(np.float32)
SUPERCLASS = np.arange(N_CLASSES) % 3
# One without rows, one with two, and more than are added up at once.
SKEWED = (300, 2, 0, *(50,) * 11, 48)
CASES = ("same_class", "same_superclass", "elsewhere")


def chunked(values, rows=SKEWED):
    return da.from_array(values, chunks=(rows, *((-1,) * (values.ndim - 1))))


def in_two(values):
    return chunked(values, (1, len(values) - 1))


@given(labelled_rows())
@settings(max_examples=25)
def test_a_collection_has_the_correlations_of_its_rows(drawn):
    rows, labels, superclass = drawn
    found = class_correlation(in_two(rows), in_two(labels))
    expected = class_correlation(rows, labels)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-12)
    np.testing.assert_allclose(found.class_means, expected.class_means, atol=1e-12)
    assert found.class_sizes.tolist() == expected.class_sizes.tolist()
    # All of so few rows are looked at.
    pairs = pair_statistics(in_two(rows), in_two(labels), superclass)
    same = pair_statistics(rows, labels, superclass)
    assert pairs.n_sampled is None
    for case in CASES:
        one, other = getattr(pairs, case), getattr(same, case)
        assert one.n_pairs == other.n_pairs
        assert (one.mean, one.std**2) == pytest.approx(
            (other.mean, other.std**2), abs=1e-9, nan_ok=True
        )


@pytest.mark.usefixtures("client")
def test_workers_of_a_cluster_add_up_the_classes():
    found = class_correlation(chunked(X), LABELS)  # labels are sent to their chunks
    np.testing.assert_allclose(found.means, class_correlation(X, LABELS).means, atol=1e-12)
    expected = cluster_classes(class_correlation(X, LABELS).means)
    assert cluster_classes(found.means).superclass.tolist() == expected.superclass.tolist()
    frame = pd.DataFrame(X, columns=[f"e{place}" for place in range(N_FEATURES)])
    rows, labels = (dd.from_pandas(each, npartitions=4) for each in (frame, pd.Series(LABELS)))
    found = class_correlation(rows, labels)
    np.testing.assert_allclose(found.means, class_correlation(X, LABELS).means, atol=1e-12)


def test_means_are_exact_and_the_spread_is_that_of_a_sample(monkeypatch, tmp_path):
    exact = pair_statistics(X, LABELS, SUPERCLASS)
    monkeypatch.setattr(row_pairs, "PAIR_ROWS", 600)
    found = pair_statistics(chunked(X), chunked(LABELS), SUPERCLASS)
    assert found.n_sampled == 600
    for case in CASES:
        one, other = getattr(found, case), getattr(exact, case)
        assert one.n_pairs == other.n_pairs
        assert one.mean == pytest.approx(other.mean, abs=1e-12)
        assert one.std != other.std
        assert one.std == pytest.approx(other.std, rel=0.05)
    # Files that are read in parts are not read once for each class either; memory maps are.
    stored = zarr.create_array(tmp_path / "rows.zarr", data=X, chunks=(100, N_FEATURES))
    in_parts = pair_statistics(stored, LABELS, SUPERCLASS)
    assert in_parts.n_sampled == 600
    assert in_parts.elsewhere.std == pytest.approx(found.elsewhere.std)  # the same sample
    assert pair_statistics(memory_map(X, tmp_path), LABELS, SUPERCLASS).n_sampled is None


@pytest.mark.parametrize("split", ["train", "all"])
def test_a_table_with_features_of_dask_is_described(split):
    table = FeatureTable(
        features=X,
        labels=LABELS,
        classes=tuple("abcdefghijkl"),
        split=np.arange(900) % 2,
        split_names=("train", "test"),
    )
    found = describe_table(replace(table, features=chunked(X)), split=split)
    expected = describe_table(table, split=split)
    np.testing.assert_allclose(
        found.structure.correlation.means, expected.structure.correlation.means, atol=1e-12
    )
    assert found.structure.superclass.tolist() == expected.structure.superclass.tolist()
    assert found.structure.statistics.elsewhere.std == pytest.approx(
        expected.structure.statistics.elsewhere.std
    )


def test_features_that_cannot_be_used():
    rows = np.eye(4)
    rows[2, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN at row 2, column 1"):
        class_correlation(in_two(rows), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="X has 1 dimension"):
        class_correlation(in_two(rows[0]), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="X has dtype complex128: pass real numbers"):
        class_correlation(in_two(rows * 1j), [0, 1, 0, 1])
