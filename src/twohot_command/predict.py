"""`twohot predict`: predict the classes of new rows, images or texts."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from twohot.base import ArgumentError, as_url, check_output, check_writable, counted, file_digest
from twohot.judge import naming_cells
from twohot.probes import (
    Predictor,
    load,
    part_rows,
    predicted_tables,
    two_best,
    write_predicted_part,
)
from twohot.rows import ClusterTasks
from twohot.tables import (
    SUFFIX,
    FeatureTable,
    begin_parts,
    features_opener,
    known_by,
    parts_in_words,
    source_parts,
    write_csv,
    write_part,
    write_parts,
)
from twohot_command.extract import features_for
from twohot_command.parts import Scheduler, check_apart, connected, writing_parts
from twohot_command.sources import FeatureOptions, SpreadsheetSafe, option_words
from twohot_command.terminal import Force, Quiet, counting, say, say_next

COLUMNS = ("id", "item", "predicted_label", "confidence", "second_label")

EXAMPLES = ("twohot predict probe.safetensors new_tickets.csv -o predictions.csv",)


def predict(
    probe: Annotated[Path, Argument(help="A probe file, from `twohot fit` or `probe.save`.")],
    *,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="File to write the predictions to, .csv or .parquet; or a folder, for several "
            "Parquet files.",
        ),
    ],
    options: FeatureOptions,
    split: Annotated[
        str | None, Option(help="Name of the split to predict; by default all rows.")
    ] = None,
    probabilities: Annotated[
        bool,
        Option(
            "--probabilities", help="Add the probability of each class, in one column per class."
        ),
    ] = False,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    force: Force = False,
) -> None:
    """Predict labels of images, texts or features, with their probabilities."""
    sources = (options.source, *(options.others or ()))
    in_parts = output.is_dir() or not output.suffix
    if in_parts:
        check_apart(output, sources)
        if "://" not in as_url(output):
            check_writable(output, {"output": output})
    else:
        check_output(output, (probe, *sources), force=force, suffixes=[".csv", SUFFIX])
    if scheduler is not None and not in_parts:
        problem = "is one file, but the workers of a scheduler write several files"
        raise ArgumentError({"output": output}, problem, "pass the name of a folder.")
    predictor = Predictor(load(probe), probabilities)
    with (
        features_for(predictor.probe, probe, options, quiet=quiet) as whole,
        connected(scheduler) as client,
    ):
        table = whole if split is None else whole.take(whole.rows_of_split(split))
        done = ""
        with naming_cells(table):
            if in_parts:
                about = {"kind": "predictions", "probabilities": probabilities}
                about["probe"] = file_digest(probe)
                how = {"force": force, "quiet": quiet}
                done = _write_folder(output, about, predictor, table, client, **how)
            elif output.suffix == SUFFIX:
                _write_parquet(output, predictor, table, quiet=quiet)
            else:
                columns = [*COLUMNS, *predictor.probability_columns]
                lines = _lines(predictor, table)
                write_csv(output, columns, lines, spreadsheet_safe=spreadsheet_safe)
        known = set(table.classes) & set(predictor.class_names.tolist())
        is_labelled = bool(known) and bool(table.coded.labelled.any())
    say(f"Predicted {counted(table.n_rows, 'row')}: {as_url(output)}{done}")
    if is_labelled:
        say_next("evaluate", probe, *options.words(), *option_words({"split": split}))


def _write_folder(
    output: Path,
    about: Mapping[str, Any],
    predictor: Predictor,
    table: FeatureTable,
    client: Any,
    *,
    force: bool,
    quiet: bool,
) -> str:
    """Write the parts that the folder lacks; return text with the number of parts.

    If there is a client, its workers write the parts. `about` identifies the run.
    """
    parts = source_parts(table.features)
    folder = begin_parts(output, {**about, **known_by(table, parts)}, parts.n_parts, force=force)
    missing = folder.missing()
    tasks = None if client is None else ClusterTasks(client)
    shared: tuple[Any, Any] = predictor, features_opener(parts.stored)
    if tasks is not None:
        shared = tasks.share(predictor.for_workers()), tasks.share(shared[1])
    calls = (
        (folder.path_of(number), *shared, part_rows(table, parts, number)) for number in missing
    )
    with writing_parts(folder, quiet=quiet) as done:
        write_parts(write_predicted_part, calls, tasks, done)
    return f" ({parts_in_words(folder, len(missing))})"


def _write_parquet(output: Path, predictor: Predictor, table: FeatureTable, *, quiet: bool) -> None:
    """Write the predictions to one Parquet file; after an error, there is no incomplete file."""
    parts = source_parts(table.features)
    with counting("Writing parts", parts.n_parts, quiet=quiet) as done:

        def tables(number: int) -> Iterator[Any]:
            yield from predicted_tables(predictor, parts.stored, part_rows(table, parts, number))
            done()

        write_part(str(output), chain.from_iterable(map(tables, range(parts.n_parts))))


def _lines(predictor: Predictor, table: FeatureTable) -> Iterator[tuple[str, ...]]:
    """Yield the cells of one CSV line per row; a block of rows is predicted at once."""
    names, size = predictor.class_names, predictor.block_rows
    for first in range(0, table.n_rows, size):
        block = range(first, min(first + size, table.n_rows))
        outputs = predictor.outputs(table.features[first : block.stop])
        best, second = two_best(outputs)
        items = [""] * len(block) if table.items is None else [table.items[row] for row in block]
        confidences = (f"{confidence:.6f}" for confidence in outputs.max(axis=1))
        ids = (table.ids[row] for row in block)
        lines = zip(ids, items, names[best], confidences, names[second], strict=True)
        others = outputs if predictor.all_probabilities else outputs[:, :0]
        for line, row in zip(lines, others.tolist(), strict=True):
            yield (*line, *(f"{probability:.6f}" for probability in row))
