"""Outputs lie between the corners of their labels; a panel tells how many rows are right."""

import numpy as np

from twohot_paper.synthetic_figures import LabelledOutputs, output_plane_figure


def test_certain_outputs_are_at_the_corners_and_unsure_ones_in_the_middle():
    certain, unsure = np.eye(4), np.full((4, 4), 0.25)
    labels = np.arange(4)
    fits = LabelledOutputs(np.array([certain, unsure]), labels, np.array([0, 1, 2, 0]))
    names = ("cat", "dog", "sea_gull", "bus")
    figure = output_plane_figure({"λ": fits}, rounds=(1, 2), class_names=names)
    first, second = figure.axes
    assert first.get_title() == "teacher (t = 1): 100% right"
    assert second.get_title() == "student (t = 2): 25% right"
    assert [text.get_text() for text in first.texts] == ["cat", "dog", "sea gull", "bus"]

    def places(axes):
        return np.vstack([each.get_offsets() for each in axes.collections])

    assert len(places(first)) == 4
    np.testing.assert_allclose(np.linalg.norm(places(first), axis=1), 1)
    np.testing.assert_allclose(places(second), 0, atol=1e-12)
