"""The review in a notebook: the page as a widget, with its decisions available in Python.

The page is in a sandboxed frame, which can access neither the notebook nor its server. The frame
sends decisions as the text of a decision file. Python checks this text like a file.
"""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from twohot.base import check_count, load_extra
from twohot.review.decisions import Decision, apply_decisions, read_decisions
from twohot.review.page import read_template, review_page
from twohot.review.page_data import PictureFiles
from twohot.review.records import ReviewRows, ReviewSummary, readable

# Height of the page in pixels, which fits on a screen below the bars of a notebook.
HEIGHT = 760
LEAST_HEIGHT = 300
# Command that the page shows. In this command, the variable `review` is the widget.
NEXT_STEP = "issues.apply(review.decisions)"


class ReviewWidget:
    """A review page in a notebook. To show the page, end a cell with this object.

    Attributes
    ----------
    rows : ReviewRows
        The rows of the page.
    widget : anywidget.AnyWidget
        The page as a widget that you can place in layouts of ipywidgets.
    """

    def __init__(self, rows: ReviewRows, summary: ReviewSummary, *, height: int = HEIGHT) -> None:
        anywidget = load_extra("anywidget", "notebook", "reviews in a notebook")
        traitlets = import_module("traitlets")  # a dependency of anywidget
        check_count("height", height, LEAST_HEIGHT)
        pictures = PictureFiles(None, Path())
        page = review_page(rows, summary, pictures, next_step=NEXT_STEP, in_notebook=True)
        content = {
            "page": traitlets.Unicode(readable(page)),  # messages must be valid UTF-8
            "height": traitlets.Int(height),
            "decisions": traitlets.Unicode(""),
            "kept": traitlets.List([]),  # entries that the page would store in a browser
        }
        for trait in content.values():
            trait.tag(sync=True)
        self.rows = rows
        named = {"__module__": __name__, "_esm": read_template("widget.mjs")}
        self.widget = type("ReviewFrame", (anywidget.AnyWidget,), {**named, **content})()

    def __repr__(self) -> str:
        return f"<ReviewWidget of {self.rows!r}>"

    def _repr_mimebundle_(self, **formats: Any) -> Any:
        return self.widget._repr_mimebundle_(**formats)

    @property
    def decisions(self) -> list[Decision]:
        """The decisions made so far, in the order of the data, for `issues.apply`.

        Raises
        ------
        ValueError
            If the page sent an invalid decision file.
        """
        if not self.widget.decisions:
            return []
        with TemporaryDirectory() as folder:  # `read_decisions` reads and checks only files
            file = Path(folder) / "decisions.csv"
            file.write_bytes(self.widget.decisions.encode("utf-8", "backslashreplace"))
            decisions = read_decisions(file)
        apply_decisions(self.rows, decisions)
        return decisions
