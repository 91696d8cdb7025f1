"""The theory's figures beyond what their makers' tests look at."""

import numpy as np

from twohot_paper.synthetic_figures import LabelledOutputs, output_plane_figure


def test_the_plane_names_its_corners_and_circles_clusters_only() -> None:
    outputs = np.array([[[0.9, 0.05, 0.05], [0.05, 0.9, 0.05]], [[0.4, 0.35, 0.25]] * 2])
    labels = np.array([0, 0])
    rows = {"two samples": LabelledOutputs(outputs, labels, labels)}
    drawn = output_plane_figure(rows, rounds=(1, 2), class_names=["ant", "bee", "cow"])
    apart, together = drawn.axes
    assert [text.get_text() for text in apart.texts] == ["ant", "bee", "cow"]
    assert (len(apart.get_lines()), len(together.get_lines())) == (1, 2)
