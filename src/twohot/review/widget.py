"""The review in a notebook: the page in the output of a cell, its decisions at once in Python.

The page is in a frame without an origin, which can reach neither the notebook nor its server. What
it decides comes as the text of a decisions file, and is checked as such a file is.
"""

import os
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twohot.base import check_count, load_extra
from twohot.review.decisions import Decision, apply_decisions, read_decisions
from twohot.review.page import EMBED_LIMIT, THUMBNAIL_SIZE, read_template, review_page
from twohot.review.page_data import PictureFiles
from twohot.review.records import ReviewRows, ReviewSummary

# In pixels: a screen without the notebook's own bars.
HEIGHT = 760
LEAST_HEIGHT = 300
# What the page says to run; the widget is a variable of the user's.
NEXT_STEP = "issues.apply(review.decisions)"


class ReviewWidget:
    """A review page that a notebook shows; the last line of a cell is enough.

    Attributes
    ----------
    rows : ReviewRows
        What the page shows.
    widget : anywidget.AnyWidget
        What the notebook shows, to be put into a layout of ipywidgets for instance.
    """

    def __init__(
        self,
        rows: ReviewRows,
        summary: ReviewSummary,
        *,
        image_root: str | os.PathLike[str] | None = None,
        height: int = HEIGHT,
    ) -> None:
        anywidget = load_extra("anywidget", "notebook", "reviews in a notebook")
        traitlets = import_module("traitlets")  # that widgets are made of
        check_count("height", height, LEAST_HEIGHT)
        pictures = PictureFiles(None, Path(image_root or "."), EMBED_LIMIT, THUMBNAIL_SIZE)
        page = review_page(rows, summary, pictures, next_step=NEXT_STEP, in_notebook=True)
        content: dict[str, Any] = {
            "__module__": __name__,
            "_esm": read_template("widget.mjs"),
            # Half characters are spelt out: no message can carry them.
            "page": traitlets.Unicode(page.encode("utf-8", "backslashreplace").decode()),
            "height": traitlets.Int(height),
            "decisions": traitlets.Unicode(""),
            "kept": traitlets.List([]),  # what the page would store in a browser
        }
        for name in ("page", "height", "decisions", "kept"):
            content[name].tag(sync=True)
        self.rows = rows
        self.widget = type("ReviewFrame", (anywidget.AnyWidget,), content)()

    def __repr__(self) -> str:
        return f"<ReviewWidget of {self.rows!r}>"

    def _repr_mimebundle_(self, **formats: Any) -> Any:
        return self.widget._repr_mimebundle_(**formats)

    @property
    def decisions(self) -> list[Decision]:
        """What was decided so far, in the order of the data; `issues.apply` takes it.

        Raises
        ------
        ValueError
            If the page sent what is no file of decisions for these rows.
        """
        if not self.widget.decisions:
            return []
        with TemporaryDirectory() as folder:  # by the checks of the file
            file = Path(folder) / "decisions.csv"
            file.write_bytes(self.widget.decisions.encode("utf-8", "backslashreplace"))
            decisions = read_decisions(file)
        apply_decisions(self.rows, decisions)
        return decisions
