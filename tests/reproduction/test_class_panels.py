"""Panels of several data sets: maps on one scale, three kinds of pairs, and q/p with its marks."""

import numpy as np

from twohot.describe import cluster_classes
from twohot_paper import real_figures as figures
from twohot_paper.theory_figures import SeparationCurve, separation_figure


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


def test_histograms_are_densities_with_a_line_at_each_mean():
    edges = (-1.0, -0.5, 0.0, 0.5, 1.0)
    shares = ((0.0, 0.0, 0.4, 0.6), (0.0, 0.5, 0.5, 0.0), (0.5, 0.5, 0.0, 0.0))
    panel = figures.HistogramPanel("a", edges, shares, (0.6, None, -0.5))
    (axes,) = figures.pair_histograms_figure([panel]).axes
    outlines = [patch for patch in axes.patches if patch.get_label() == "same class"]
    np.testing.assert_allclose(outlines[0].get_data().values, [0.0, 0.0, 0.8, 1.2])
    # A kind without pairs has no mean.
    assert [line.get_xdata()[0] for line in axes.lines] == [0.6, -0.5]


def test_penalties_of_the_experiments_are_marked_on_their_curve():
    marked = ((2e-4, 1.2), (5e-4, 1.4), (1e-3, 1.8))
    kinds = dict(zip(("small", "base", "big"), marked, strict=True))
    curve = SeparationCurve(np.array([1e-4, 1e-3, 1e-2]), np.array([1.1, 1.8, 6.0]), kinds)
    (axes,) = separation_figure({"Raw features": {"a": curve}}).axes
    points = [line.get_xydata()[0].tolist() for line in axes.lines if len(line.get_xdata()) == 1]
    assert points == [list(pair) for pair in marked]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["a", "λ small", "λ base", "λ big", "q/p = 2"]
    assert axes.lines[0].get_label() == "a"
