"""The map shows the classes in order with frames; the dendrogram colours each superclass."""

import numpy as np

from twohot.describe import cluster_classes, figures

SUPERCLASS = np.array([1, 0, 1, 0, 0])
NAMES = ("cat", "bus", "dog", "car", "tram that runs on $5 and a very long name")
SHOWN = (*NAMES[:4], r"tram that runs on \$5 an…")


def block_means():
    means = np.where(SUPERCLASS[:, np.newaxis] == SUPERCLASS, 0.2, -0.1)
    np.fill_diagonal(means, 0.5)
    return means


def test_map_shows_the_means_in_order_with_a_frame_per_superclass():
    clustering = cluster_classes(block_means(), n_superclasses=2)
    order = figures.map_order(clustering, SUPERCLASS)
    assert SUPERCLASS[order].tolist() == [0, 0, 0, 1, 1]
    axes = figures.correlation_map_figure(block_means(), SUPERCLASS, order, NAMES).axes[0]
    shown = axes.images[0].get_array()
    np.testing.assert_array_equal(shown, block_means()[np.ix_(order, order)])
    # Zero is white: the colours are symmetric.
    assert axes.images[0].get_clim() == (-0.2, 0.2)
    frames = [(patch.get_xy(), patch.get_width()) for patch in axes.patches]
    assert frames == [((-0.5, -0.5), 3), ((2.5, 2.5), 2)]
    ticks = [tick.get_text() for tick in axes.get_yticklabels()]
    assert ticks == [SHOWN[k] for k in order]
    # Within a superclass, the order is that of the dendrogram.
    clustering = cluster_classes(block_means() + np.diag([0, 0.1, 0, 0, 0.2]), n_superclasses=5)
    order = figures.map_order(clustering, SUPERCLASS)
    for group in (0, 1):
        along = [k for k in clustering.order if SUPERCLASS[k] == group]
        assert [k for k in order if SUPERCLASS[k] == group] == along


def test_many_classes_are_not_named():
    n_classes = figures.DENDROGRAM_NAMES + 1
    means = np.eye(n_classes) + 0.01 * np.random.default_rng(0).random(n_classes)[:, np.newaxis]
    means = (means + means.T) / 2
    clustering = cluster_classes(means)
    names = [str(k) for k in range(n_classes)]
    drawn = figures.correlation_map_figure(means, clustering.superclass, clustering.order, names)
    assert drawn.axes[0].get_yticklabels() == []
    assert drawn.axes[0].get_xlabel() == f"{n_classes} classes"
    assert figures.dendrogram_figure(clustering, names).axes[0].get_xticklabels() == []


def test_dendrogram_colours_superclasses_and_greys_merges_of_several():
    clustering = cluster_classes(block_means(), n_superclasses=2)
    axes = figures.dendrogram_figure(clustering, NAMES).axes[0]
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    assert names == [SHOWN[k] for k in clustering.order]
    # Leaves are 0 … 4, then the merges; the last joins both superclasses.
    colours = figures._node_colours(clustering)
    assert len(colours) == 9
    assert (colours[-1], colours.count("0.6")) == ("0.6", 1)
    # Nine superclasses of two classes have nine colours.
    means = np.kron(np.eye(9), np.full((2, 2), 0.5)) + 0.3 * np.eye(18)
    for each in (clustering, cluster_classes(means, n_superclasses=9)):
        of_leaves = figures._node_colours(each)[: len(each.superclass)]
        pairs = set(zip(each.superclass.tolist(), of_leaves, strict=True))
        assert len(pairs) == len(set(of_leaves)) == each.n_superclasses
