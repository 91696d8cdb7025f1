"""`twohot predict`: the classes of new rows, images or texts."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from typer import Argument, Option

from twohot._checks.column_cells import as_text
from twohot._checks.messages import counted
from twohot._checks.outputs import check_output
from twohot.audit.partly_labelled import naming_rows
from twohot.cli._extraction import Cache
from twohot.cli._items_or_features import features_for
from twohot.cli._table_options import NewRowsOptions, SpreadsheetSafe
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
    options: NewRowsOptions,
    split: Annotated[str | None, Option(help="Split to predict; all rows without it.")] = None,
    probabilities: Annotated[
        bool, Option("--probabilities", help="Add a column for the probability of every class.")
    ] = False,
    cache: Cache = None,
    quiet: Annotated[bool, Option("--quiet", help="No progress bar.")] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Predict images, texts or features, with probability and second candidate."""
    check_output(output, (probe, options.source), force=force, suffixes=[".csv"])
    fitted = load(probe)
    names = [as_text(label) for label in fitted.classes_.tolist()]
    columns = [*COLUMNS, *(f"probability of {name}" for name in names if probabilities)]
    with features_for(fitted, probe, options, cache=cache, quiet=quiet) as table:
        rows = np.arange(table.n_rows) if split is None else table.rows_of_split(split)
        with naming_rows(table.features, table.ids):
            lines = _lines(fitted, names, table, rows, probabilities=probabilities)
            write_csv(output, columns, lines, spreadsheet_safe=spreadsheet_safe)
    say(f"Predicted {counted(len(rows), 'row')}: {output}")


def _lines(
    probe: FittedProbe,
    classes: Sequence[str],
    table: FeatureTable,
    rows: NDArray[np.intp],
    *,
    probabilities: bool,
) -> Iterator[tuple[str, ...]]:
    """Yield one line per row, block by block; with the probabilities of all classes if asked."""
    names = np.array(classes, dtype=object)
    for first in range(0, len(rows), BLOCK_ROWS):
        block = rows[first : first + BLOCK_ROWS].tolist()
        outputs = probe.predict_proba(table.features[block])
        best, second = np.argsort(-outputs, axis=1, kind="stable")[:, :2].T
        items = [""] * len(block) if table.items is None else [table.items[row] for row in block]
        confidences = (f"{confidence:.6f}" for confidence in outputs.max(axis=1))
        ids = (table.ids[row] for row in block)
        lines = zip(ids, items, names[best], confidences, names[second], strict=True)
        shares = outputs if probabilities else outputs[:, :0]
        for line, row in zip(lines, shares.tolist(), strict=True):
            yield (*line, *(f"{share:.6f}" for share in row))
