"""The picture of an evaluation: which classes are predicted as which."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twohot._types import IntArray
from twohot.figures.correlations import name_classes
from twohot.figures.file import new_figure

# Classes whose counts can be read in the cells.
COUNTED_CLASSES = 15


def confusion_figure(confusion: IntArray, classes: Sequence[str], accuracy: float) -> Any:
    """Draw the share of every class (row) that is predicted as each (column), and the counts.

    A class without a row is left blank.
    """
    sizes = confusion.sum(axis=1, keepdims=True)
    shares = np.divide(confusion, sizes, out=np.full(confusion.shape, np.nan), where=sizes > 0)
    figure = new_figure(6.4, 5.4)
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(image, ax=axes, shrink=0.85, label="share of the rows of the class")
    name_classes(axes, classes)
    title = f"{accuracy:.1%} of {sizes.sum()} rows right"
    axes.set(xlabel="predicted", ylabel="class", title=title)
    if len(classes) <= COUNTED_CLASSES:
        for (row, column), count in np.ndenumerate(confusion):
            colour = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, str(count) if count else "", ha="center", va="center", c=colour)
    return figure
