"""The table of what an audit says about every row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._extras import load_extra
from twohot._types import FloatArray

COLUMNS = (
    "is_label_issue",
    "label_quality",
    "given_label",
    "predicted_label",
    "second_label",
    "confidence",
    "is_undecided",
)

SHOWN = 10  # rows of the printed table


@dataclass(frozen=True, eq=False)
class LabelIssues:
    """Every row of the data, in its order, with the verdict on its label.

    A small frame: `issues["label_quality"]` is a column, `issues.to_pandas()` and
    `issues.to_polars()` are data frames, `issues.rows` the flagged rows, most doubtful first.
    """

    is_label_issue: NDArray[np.bool_]  # (n_rows,)
    label_quality: FloatArray  # (n_rows,), in [0, 1], low is doubtful; NaN without a label
    given_label: NDArray[Any]  # (n_rows,), None without a label
    predicted_label: NDArray[Any]  # (n_rows,), the likeliest class: the suggestion
    second_label: NDArray[Any]  # (n_rows,), the next likeliest
    confidence: FloatArray  # (n_rows,), probability of the suggestion
    is_undecided: NDArray[np.bool_]  # (n_rows,), the two candidates are close
    classes: NDArray[Any]  # (n_classes,)
    noise_rate: float  # estimated share of wrong labels
    noise_matrix: FloatArray  # (n_classes, n_classes), row true class, column given label
    messages: tuple[str, ...]  # what a reader should know, in plain words
    probe: Any = None  # the probe that judged, None for a user's own probabilities

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return COLUMNS

    @property
    def n_issues(self) -> int:
        """How many labels are flagged."""
        return int(np.count_nonzero(self.is_label_issue))

    @property
    def rows(self) -> NDArray[np.intp]:
        """Numbers of the flagged rows, the most doubtful first."""
        flagged = np.flatnonzero(self.is_label_issue)
        return flagged[np.argsort(self.label_quality[flagged], kind="stable")]

    def corrected_labels(
        self, *, undecided: bool = False, unlabelled: bool = False
    ) -> NDArray[Any]:
        """Return the labels with the suggestion taken wherever a row is flagged.

        Parameters
        ----------
        undecided : bool
            Take the suggestion also where two candidates are close; else those keep their label.
        unlabelled : bool
            Take it for rows without a label too; else those stay None.
        """
        taken = self.is_label_issue & (undecided | ~self.is_undecided)
        has_none = np.isnan(self.label_quality)
        if unlabelled:
            taken = taken | has_none
        labels = np.where(taken, self.predicted_label, self.given_label)
        return labels if (has_none & ~taken).any() else labels.astype(self.classes.dtype)

    def __getitem__(self, column: str) -> NDArray[Any]:
        if column not in COLUMNS:
            raise KeyError(f"{column!r} is no column: take one of {', '.join(COLUMNS)}.")
        values: NDArray[Any] = getattr(self, column)
        return values

    def __len__(self) -> int:
        return len(self.is_label_issue)

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        pandas = load_extra("pandas", "frames", "data frames")
        return pandas.DataFrame({name: self[name] for name in COLUMNS})

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        polars = load_extra("polars", "frames", "data frames")
        return polars.DataFrame({name: self[name].tolist() for name in COLUMNS}, strict=False)

    def __repr__(self) -> str:
        n_labels = np.count_nonzero(~np.isnan(self.label_quality))
        n_wrong = round(self.noise_rate * n_labels)
        head = f"{n_wrong} of {n_labels} labels look wrong"
        if self.n_issues != n_wrong:  # a budget or a precision was asked for
            head += f"; {self.n_issues} flagged"
        lines = [
            f"{'row':>8}  {'quality':>7}  {'given':20.20}  {'suggested':20.20}  {'second':20.20}"
        ]
        lines += [
            f"{row:>8}  {self.label_quality[row]:>7.3f}  {self.given_label[row]!s:20.20}  "
            f"{self.predicted_label[row]!s:20.20}  {self.second_label[row]!s:20.20}"
            for row in self.rows[:SHOWN]
        ]
        return "\n".join([head, *(lines if self.n_issues else []), *self.messages])
