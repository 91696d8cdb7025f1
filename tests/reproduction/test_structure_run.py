"""What is recorded of the classes is what a plain Gram matrix of all training rows says."""

import numpy as np
import pytest

from small_data import small_data
from twohot_paper.structure import StructureRun, measure_structure


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    data, paths = small_data(tmp_path_factory.mktemp("features"))
    return data, measure_structure(StructureRun(data.key), paths)


@pytest.fixture(scope="module")
def gram(measured):
    data, _ = measured
    rows = data.X - data.X.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def pairs_by_kind(data, superclass, gram):
    first, second = np.triu_indices(len(gram), k=1)
    same_class = data.labels[first] == data.labels[second]
    groups = np.array(superclass)[data.labels]
    same_superclass = groups[first] == groups[second]
    pairs = gram[first, second]
    return [pairs[same_class], pairs[same_superclass & ~same_class], pairs[~same_superclass]]


def test_kinds_of_pairs_have_the_mean_and_spread_of_the_gram_matrix(measured, gram):
    data, found = measured
    assert found.n_superclasses == 2
    expected = pairs_by_kind(data, found.superclass, gram)
    for kind, pairs in zip(found.kinds, expected, strict=True):
        assert kind.n_pairs == len(pairs)
        np.testing.assert_allclose((kind.mean, kind.std), (pairs.mean(), pairs.std()), atol=1e-9)


def test_class_means_are_the_blocks_of_the_gram_matrix(measured, gram):
    data, found = measured
    blocks = [
        [gram[np.ix_(data.labels == k, data.labels == j)].mean() for j in (0, 1)] for k in (2, 3)
    ]
    np.testing.assert_allclose(np.array(found.means)[2:4, :2], blocks, atol=1e-4)
