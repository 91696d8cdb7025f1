"""Panels of several data sets: maps on one scale, dendrograms with their names."""

import numpy as np

from twohot.describe import cluster_classes
from twohot_paper import real_figures as figures


def class_panel(title, level=0.2):
    superclass = np.array([1, 0, 1, 0])
    means = np.where(superclass[:, np.newaxis] == superclass, level, -0.1)
    np.fill_diagonal(means, 0.5)
    return figures.ClassPanel(title, ("cat", "bus", "dog", "car"), means, cluster_classes(means))


def test_maps_share_one_scale_and_frame_their_superclasses():
    drawn = figures.correlation_maps_figure([class_panel("a"), class_panel("b", level=0.3)])
    maps = [axes for axes in drawn.axes if axes.images]
    assert [axes.get_title().splitlines()[0] for axes in maps] == ["a", "b"]
    assert maps[0].images[0].get_clim() == maps[1].images[0].get_clim()
    assert [len(axes.patches) for axes in maps] == [2, 2]


def test_dendrograms_stand_below_each_other_with_their_names():
    drawn = figures.dendrograms_figure([class_panel("a"), class_panel("b")])
    assert [axes.get_title() for axes in drawn.axes] == [
        f"{name}: 4 classes, superclasses: 2" for name in "ab"
    ]
    names = {tick.get_text() for tick in drawn.axes[0].get_xticklabels()}
    assert names == {"cat", "bus", "dog", "car"}
