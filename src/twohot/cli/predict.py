"""`twohot predict`: the classes of new rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from typer import Argument, Option

from twohot._checks.column_cells import as_text
from twohot._checks.messages import counted
from twohot._checks.outputs import check_output
from twohot.audit.partly_labelled import naming_rows
from twohot.cli._table_options import FeatureOptions, SpreadsheetSafe
from twohot.cli._terminal import say
from twohot.distill.fitted import FittedProbe, load
from twohot.tables import FeatureTable
from twohot.tables.csv_file import write_csv

# Rows that are predicted at once.
BLOCK_ROWS = 10_000

COLUMNS = ("id", "item", "predicted_label", "confidence", "second_label")


def predict(
    probe: Annotated[Path, Argument(help="A probe, as `twohot fit` or `save` wrote it.")],
    *,
    output: Annotated[Path, Option("--output", "-o", help="File for the predictions, .csv.")],
    options: FeatureOptions,
    split: Annotated[str | None, Option(help="Split to predict; all rows without it.")] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Predict the classes of rows, with their probability and the second candidate."""
    check_output(output, (probe, options.source), force=force, suffixes=[".csv"])
    fitted = load(probe)
    table = options.read()
    options.check_features(table, fitted, probe)
    rows = np.arange(table.n_rows) if split is None else table.rows_of_split(split)
    with naming_rows(table.features, table.ids):
        lines = _lines(fitted, table, rows)
        write_csv(output, COLUMNS, lines, spreadsheet_safe=spreadsheet_safe)
    say(f"Predicted {counted(len(rows), 'row')}: {output}")


def _lines(
    probe: FittedProbe, table: FeatureTable, rows: NDArray[np.intp]
) -> Iterator[tuple[str, ...]]:
    """Yield one line per row, block by block."""
    names = np.array([as_text(label) for label in probe.classes_.tolist()], dtype=object)
    for first in range(0, len(rows), BLOCK_ROWS):
        block = rows[first : first + BLOCK_ROWS].tolist()
        outputs = probe.predict_proba(table.features[block])
        best, second = np.argsort(-outputs, axis=1, kind="stable")[:, :2].T
        items = [""] * len(block) if table.items is None else [table.items[row] for row in block]
        confidences = (f"{confidence:.6f}" for confidence in outputs.max(axis=1))
        ids = (table.ids[row] for row in block)
        yield from zip(ids, items, names[best], confidences, names[second], strict=True)
