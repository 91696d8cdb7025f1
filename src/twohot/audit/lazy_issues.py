"""The table of an audit whose columns stay in the chunks of the features."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.labels import Labels
from twohot._extras import load_extra
from twohot._types import FloatArray, IntArray, Matrix
from twohot.audit.doubt import share_in_words
from twohot.audit.issue_table import COLUMNS
from twohot.audit.row_judge import DECISIVE, VERDICT
from twohot.audit.two_likeliest import CLOSE
from twohot.rows.chunked import ChunkedColumn
from twohot.tables.part_folder import PartFolder, begin_parts, write_part
from twohot.tables.row_ids import RowIds

DTYPES = {"is_label_issue": "bool", "is_undecided": "bool"}
NAMED = ("given_label", "predicted_label", "second_label")
# What is decided of each row when all rows have been judged.
DECIDED = ("flagged", "doubt")


@dataclass(frozen=True, eq=False)
class LazyLabelIssues:
    """Every row of the data, in its order, with the verdict on its label; columns are lazy.

    The estimates are numbers, as those of `LabelIssues`. `issues["label_quality"]` is a Dask
    array, and so is `issues.label_quality`; `issues.to_parquet(folder)` writes all
    columns, one file for each chunk of the features.
    """

    verdicts: ChunkedColumn  # (n_rows, 7), columns of VERDICT
    decided: ChunkedColumn  # (n_rows, 2), columns of DECIDED
    classes: NDArray[Any]  # (n_classes,)
    n_issues: int  # how many labels are flagged
    noise_rate: float  # estimated share of the labels that are wrong
    noise_interval: tuple[float, float]  # the least and the most that it may be
    # (n_classes, n_classes), row true class, column given label; CSR of more than 2,000 classes
    corruption: Matrix
    messages: tuple[str, ...]  # what a reader should know, in plain words
    probe: Any  # the probe that judged

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return COLUMNS

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise KeyError(f"{name!r} is no column: take one of {', '.join(COLUMNS)}.")
        array = load_extra("dask.array", "dask", "lazy columns")
        dtype = object if name in NAMED else np.dtype(DTYPES.get(name, "float64"))
        pairs = zip(self.verdicts.chunks, self.decided.chunks, strict=True)
        calls = [(*pair, self.classes, name) for pair in pairs]
        made = self.verdicts.tasks.lazy(column_of_chunk, calls)
        sizes = self.verdicts.sizes.tolist()
        return array.concatenate(
            [
                array.from_delayed(chunk, (size,), dtype=dtype)
                for chunk, size in zip(made, sizes, strict=True)
            ]
        )

    def __getattr__(self, name: str) -> Any:
        if name in COLUMNS:
            return self[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def to_parquet(self, folder: Any, *, force: bool = False) -> list[str]:
        """Write all columns to a folder, one file for each chunk.

        Workers write, so the folder must be one that all of them reach; any path of fsspec. A
        file appears when it is whole, so that a write that was stopped is resumed by another:
        files of the same audit stay.

        Parameters
        ----------
        folder : path
        force : bool, default=False
            Replace the files of another audit, which are refused otherwise.

        Returns
        -------
        list of str
            The files, in the order of the rows.
        """
        n_parts = len(self.verdicts.chunks)
        target = begin_parts(folder, self._known_by(), n_parts, force=force, name="folder")
        calls, tasks = list(self.part_calls(target)), self.verdicts.tasks
        tasks.results(tasks.run(write_chunk, calls) if calls else [])
        return [target.path_of(number) for number in range(target.n_parts)]

    def _known_by(self) -> dict[str, Any]:
        """Return what tells this audit from others: what it found, and the rows of its chunks."""
        found = {"noise_rate": round(self.noise_rate, 9), "flagged": self.n_issues}
        classes = [str(name) for name in self.classes.tolist()]
        return {"kind": "issues", "rows": self.verdicts.sizes.tolist(), "classes": classes, **found}

    def part_calls(
        self, folder: PartFolder, ids: RowIds | None = None, items: Sequence[str] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of `write_chunk` for each chunk whose file is not there yet.

        Rows have their ids, and items if given.
        """
        names = RowIds.by_position(len(self)) if ids is None else ids
        bounds = self.verdicts.bounds.tolist()
        for number in folder.missing():
            first, end = bounds[number : number + 2]
            rows: dict[str, Any] = {"id": names.cells(slice(first, end))}
            if items is not None:
                rows["item"] = list(items[first:end])
            handles = self.verdicts.chunks[number], self.decided.chunks[number]
            yield *handles, self.classes, rows, folder.path_of(number)

    def __repr__(self) -> str:
        share = share_in_words(self.noise_rate, self.noise_interval)
        return "\n".join([f"{len(self)} rows: {share}; {self.n_issues} flagged", *self.messages])


# Tasks -------------------------------------------------------------------------------------------


def column_of_chunk(
    verdicts: FloatArray, decided: FloatArray, classes: NDArray[Any], name: str
) -> NDArray[Any]:
    """Return a column of the table for the rows of a chunk."""
    found = dict(zip(VERDICT, verdicts.T, strict=True))
    flagged, doubt = decided.T
    if name in NAMED:
        code = found[{"given_label": "given", "predicted_label": "first"}.get(name, "second")]
        return Labels(code.astype(np.intp), classes).values.astype(object)
    others: dict[str, NDArray[Any]] = {
        "is_label_issue": flagged.astype(bool),
        "label_quality": 1 - doubt,
        "probability_wrong": doubt,
        "confidence": found["confidence"],
        "second_confidence": found["runner_up"],
        "is_undecided": found["runner_up"] * CLOSE > found["confidence"],
    }
    return others[name]


def write_chunk(
    verdicts: FloatArray,
    decided: FloatArray,
    classes: NDArray[Any],
    rows: Mapping[str, Any],
    path: str,
) -> str:
    """Write the rows of a chunk to a file, what they are called first; return its path."""
    arrow = load_extra("pyarrow", "parquet", "Parquet files")
    # Of a chunk without labels, too: all files have one schema.
    kind = arrow.array(classes.tolist()).type
    columns: dict[str, Any] = {name: arrow.array(cells) for name, cells in rows.items()}
    for name in COLUMNS:
        cells = column_of_chunk(verdicts, decided, classes, name)
        columns[name] = arrow.array(cells, kind if name in NAMED else None)
    return write_part(path, [arrow.table(columns)])


def decisive(verdicts: FloatArray) -> IntArray:
    """Return of a chunk what the choice of flags depends on, the columns `DECISIVE`."""
    return np.asarray(verdicts[:, [VERDICT.index(name) for name in DECISIVE]])
