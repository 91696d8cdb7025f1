"""Predict rows of a source in blocks, to save memory, and write the predictions as tables.

A source is all features that are read together, such as those of a file. A table of predictions
has one row per row of the source. Its columns are id, item (if the source has items, which are
paths or texts), predicted_label, confidence and second_label. On request, the table has a column
`probability of …` for every class. A part is a range of rows of the source. The predictions of a
part are written to one file (see tables.parts).
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, IntArray, Matrix, as_text, load_extra
from twohot.probes.fitted import FittedProbe
from twohot.tables import FeatureTable, SourceParts, blocks_of_rows, write_part

# Maximum number of rows predicted at once, and of probabilities (rows times classes).
BLOCK_ROWS, BLOCK_NUMBERS = 10_000, 2**24


@dataclass(frozen=True, eq=False)
class Predictor:
    """A probe, and whether its tables of predictions have a probability for every class."""

    probe: FittedProbe
    all_probabilities: bool = False

    @property
    def class_names(self) -> NDArray[Any]:
        """Classes as text, (n_classes,)."""
        return np.array([as_text(label) for label in self.probe.classes_.tolist()], dtype=object)

    @property
    def block_rows(self) -> int:
        """Number of rows predicted at once."""
        return max(1, min(BLOCK_ROWS, BLOCK_NUMBERS // len(self.probe.classes_)))

    @property
    def probability_columns(self) -> list[str]:
        """Names of the columns with probabilities; empty if no probabilities are requested."""
        return [f"probability of {name}" for name in self.class_names if self.all_probabilities]

    def for_workers(self) -> "Predictor":
        """Return a copy that uses one thread, for tasks that run in parallel."""
        probe = copy(self.probe)
        probe.n_jobs = 1
        return Predictor(probe, self.all_probabilities)

    def outputs(self, features: Matrix) -> FloatArray:
        """Return probabilities (n_rows, n_classes); `features` may have no rows."""
        if not len(features):
            return np.empty((0, len(self.probe.classes_)), np.float32)
        return self.probe.predict_proba(features)


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of a part: positions in the source, ids and items."""

    stored_rows: IntArray
    ids: Any  # array of numbers, or sequence of text
    items: Sequence[str] | None  # paths or texts of the rows; None for features without items


def part_rows(table: FeatureTable, parts: SourceParts, number: int) -> PartRows:
    """Return positions, ids and items of the rows in the part with this number."""
    places = parts.places(number)
    items = None if table.items is None else table.items[places]
    return PartRows(parts.stored_rows(number), table.ids.cells(places), items)


def two_best(outputs: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the most and second most probable class of each row; ties go to the first class.

    Examples
    --------
    >>> two_best(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]))
    (array([1, 0]), array([2, 2]))
    """
    best = outputs.argmax(axis=1)
    others = outputs.copy()
    np.put_along_axis(others, best[:, None], -1, axis=1)
    return best, others.argmax(axis=1)


def predicted_tables(predictor: Predictor, stored: Matrix, rows: PartRows) -> Iterator[Any]:
    """Yield one pyarrow table per block of rows; one empty table if there are no rows."""
    first = 0
    for block in blocks_of_rows(stored, rows.stored_rows, predictor.block_rows):
        yield _predicted_table(predictor, block, rows, first)
        first += len(block)
    if not first:
        yield _predicted_table(predictor, np.empty((0, stored.shape[1])), rows, first)


def _predicted_table(predictor: Predictor, features: Matrix, rows: PartRows, first: int) -> Any:
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    outputs = predictor.outputs(features)
    best, second = two_best(outputs)
    names, text = predictor.class_names, arrow.string()
    block = slice(first, first + len(features))
    ids = rows.ids[block]
    columns = {"id": arrow.array(ids, None if isinstance(ids, np.ndarray) else text)}
    if rows.items is not None:
        columns["item"] = arrow.array(rows.items[block], text)
    columns |= {
        "predicted_label": arrow.array(names[best], text),
        "confidence": arrow.array(outputs.max(axis=1, initial=0).astype(np.float32)),
        "second_label": arrow.array(names[second], text),
    }
    for name, column in zip(predictor.probability_columns, outputs.T, strict=False):
        columns[name] = arrow.array(column.astype(np.float32))
    return arrow.table(columns)


def write_predicted_part(
    url: str, predictor: Predictor, opened: Callable[[], Matrix], rows: PartRows
) -> str:
    """Write the predictions for a part; return the name of the file. Any process can call this."""
    return write_part(url, predicted_tables(predictor, opened(), rows))
