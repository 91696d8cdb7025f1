"""The rounds of a probe as a list that prints as a table."""

from twohot._notebooks import notebook_table
from twohot._types import Round

HEADINGS = ("round", "targets", "loss", "l2", "steps", "passes", "relative gradient", "converged")


class RoundsTable(list[Round]):
    """One record per round, the teacher's first; printed, what was fitted and how it ended.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from twohot import PartialLabelProbe
    >>> X, y = load_iris(return_X_y=True)
    >>> PartialLabelProbe().fit(X, y).rounds_
    round     targets  loss      l2  steps  passes  relative gradient  converged
        1      labels    ce  0.0222  ...                                     yes
        2  candidates   gce  0.0222  ...                                     yes
    """

    def cells(self) -> list[tuple[str, ...]]:
        """Return a line for every round as text, under `HEADINGS`."""
        return [
            (
                *(str(number), entry.targets, entry.loss, f"{entry.l2:.3g}", str(entry.n_iter)),
                *(f"{entry.n_passes:g}", f"{entry.gradient_norm:.1e}"),
                "yes" if entry.converged else "no",
            )
            for number, entry in enumerate(self, start=1)
        ]

    def __repr__(self) -> str:
        lines = [HEADINGS, *self.cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
            for line in lines
        )

    def _repr_html_(self) -> str:
        return notebook_table(f"{len(self)} rounds", HEADINGS, self.cells())
