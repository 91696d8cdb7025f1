"""Superclasses agree with scipy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy

from twohot.describe import cluster_classes


def blocks_of(superclass, *, same=0.4, near=0.1, far=-0.1):
    """Return class correlations of the theory's shape."""
    means = np.where(superclass[:, np.newaxis] == superclass, near, far)
    np.fill_diagonal(means, same)
    return means


def same_partition(one, other):
    return np.array_equal(one[:, np.newaxis] == one, other[:, np.newaxis] == other)


@given(st.lists(st.integers(0, 3), min_size=4, max_size=12), st.permutations(range(4)))
def test_recovers_known_superclasses(drawn, order):
    # At least two classes in each of four superclasses.
    superclass = np.array([*order, *drawn, *range(4)])
    found = cluster_classes(blocks_of(superclass), n_superclasses=4)
    assert found.n_superclasses == 4
    assert same_partition(found.superclass, superclass)


@given(st.integers(2, 15), st.integers(0, 2**32 - 1), st.floats(0.01, 1))
def test_groups_are_those_of_scipy_in_the_order_of_the_dendrogram(n_classes, seed, cut):
    means = np.random.default_rng(seed).uniform(-0.5, 0.5, size=(n_classes, n_classes))
    means = (means + means.T) / 2
    found = cluster_classes(means, cut=cut)
    assert sorted(found.order) == list(range(n_classes))
    linkage = hierarchy.linkage(1 - means, method="complete")
    np.testing.assert_array_equal(found.linkage, linkage)
    height = cut * linkage[:, 2].max()
    assert same_partition(found.superclass, hierarchy.fcluster(linkage, height, "distance"))
    for n_superclasses in range(1, n_classes + 1):
        chosen = cluster_classes(means, n_superclasses=n_superclasses)
        assert chosen.n_superclasses == n_superclasses
        # fcluster of scipy 1.13 may return another number of clusters.
        known = hierarchy.cut_tree(linkage, n_superclasses).ravel()
        assert same_partition(chosen.superclass, known)
        along = chosen.superclass[found.order]
        assert along[0] == 0
        assert set(np.diff(along)) <= {0, 1}


def test_equal_classes_form_the_requested_number_of_superclasses():
    found = cluster_classes(np.full((5, 5), 0.2), n_superclasses=3)
    assert found.n_superclasses == 3
    assert cluster_classes(np.full((5, 5), 0.2)).n_superclasses == 1


def test_class_of_one_row_counts_as_an_average_class():
    superclass = np.array([0, 0, 0, 1, 1, 1])
    means = blocks_of(superclass)
    unknown = means.copy()
    unknown[2, 2] = np.nan
    np.testing.assert_allclose(cluster_classes(unknown).linkage, cluster_classes(means).linkage)
    np.fill_diagonal(unknown, np.nan)
    assert same_partition(cluster_classes(unknown).superclass, superclass)
