"""The theory's figures beyond what their makers' tests look at."""

import sys

import numpy as np
import pytest

from twohot_paper.real_figures import MODEL_COLOURS, round_lines
from twohot_paper.synthetic_figures import (
    LabelledOutputs,
    output_plane_figure,
    softmax_error_figure,
)


def test_rounds_darken_and_keep_their_style_beyond_the_last() -> None:
    def lightness(colour: str) -> int:
        return sum(int(colour[place : place + 2], 16) for place in (1, 3, 5))

    styles = [style for _, _, style in round_lines(np.zeros((9, 1)))]
    shades = [lightness(style["color"]) for style in styles[:7]]
    assert shades == sorted(set(shades), reverse=True)
    assert styles[6] == styles[8]
    assert MODEL_COLOURS["two-hot"] not in {style["color"] for style in styles}


def test_the_plane_names_its_corners_and_circles_clusters_only() -> None:
    outputs = np.array([[[0.9, 0.05, 0.05], [0.05, 0.9, 0.05]], [[0.4, 0.35, 0.25]] * 2])
    labels = np.array([0, 0])
    rows = {"two samples": LabelledOutputs(outputs, labels, labels)}
    drawn = output_plane_figure(rows, rounds=(1, 2), class_names=["ant", "bee", "cow"])
    apart, together = drawn.axes
    assert [text.get_text() for text in apart.texts] == ["ant", "bee", "cow"]
    assert (len(apart.get_lines()), len(together.get_lines())) == (1, 2)


def test_missing_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "twohot\[plot\]"'):
        softmax_error_figure({"n": (np.array([1.0]), np.array([[0.1]]))})
