"""`twohot extract`: compute features of images or texts. Other commands also use this module."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import numpy as np
from rich.progress import ProgressColumn, Task, TimeRemainingColumn
from rich.text import Text
from typer import Argument, Option

from twohot.base import ArgumentError, Labels, counted, first_few, label_notes
from twohot.extract import (
    NAMES,
    Extraction,
    ExtractionProgress,
    FeatureOrigin,
    LabelledItems,
    check_backbone,
    load_data_set,
    not_taken_notes,
    read_image_folder,
    read_item_table,
)
from twohot.extract import extract as extract_features
from twohot.probes import FittedProbe
from twohot.tables import FeatureTable, is_parquet_source, table_header
from twohot_command.sources import (
    ID_COLUMN_HELP,
    FeatureOptions,
    Missing,
    check_same_features,
)
from twohot_command.terminal import (
    Force,
    PacedLines,
    Quiet,
    note,
    progress_bar,
    say,
    say_next,
    shown,
)

# Number of unreadable items that are listed.
N_LISTED = 20


class _RecentRate(ProgressColumn):
    """The column of a progress bar that shows the items per second."""

    def render(self, task: Task) -> Text:
        """Return the recent rate, else the rate since the start, else empty text."""
        speed = task.finished_speed or task.speed
        if not speed and task.elapsed:
            speed = (task.completed - task.fields["n_before"]) / task.elapsed
        return Text(f"{speed:.1f} items/s" if speed else "", style="progress.data.speed")


@contextmanager
def extracting(
    backbone: str, n_items: int, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[ExtractionProgress], None]]:
    """Show the progress of an extraction; yield a function to call with the progress."""
    columns = (_RecentRate(), TimeRemainingColumn())
    bar = progress_bar("{task.description}", *columns, get_time=clock)
    with shown(bar, quiet=quiet):
        task, lines = bar.add_task(backbone, total=n_items, start=False, n_before=0), PacedLines()

        def show(progress: ExtractionProgress) -> None:
            if progress.n_extracted:
                bar.update(task, completed=progress.n_done)
            else:
                # Start the clock with the first item that the backbone processes. The time to load
                # weights and to skip stored items would distort the remaining time.
                bar.reset(task, completed=progress.n_done, n_before=progress.n_done)
            if not quiet:
                lines.say(f"{progress.n_done} of {progress.n_items} items")

        yield show


def _say_items(items: LabelledItems) -> None:
    """Print the roles of the columns, and the files of a folder that were left out."""
    if items.columns:
        say(f"Columns: {items.columns}")
    for line in not_taken_notes(items.not_taken):
        note(line)


def _say_skipped(items: LabelledItems, extraction: Extraction, others: str = "") -> None:
    """Print the items that could not be read, with the reasons.

    If there are too many, the last line counts the others and ends in the text `others`.
    """
    if not extraction.skipped:
        return
    say(f"{counted(len(extraction.skipped), 'item')} could not be read:")
    for skipped in extraction.skipped[:N_LISTED]:
        what = f"row {skipped.id}" if items.kind == "text" else skipped.item
        say(f"  {what}: {skipped.reason}")
    n_more = len(extraction.skipped) - N_LISTED
    if n_more > 0:
        say(f"  … and {n_more} more{others}.")


EXAMPLES = (
    "twohot extract tickets.csv --backbone minilm -o tickets.features",
    "twohot extract photos/ --backbone efficientnet_lite0 -o photos.features",
)


def extract(
    source: Annotated[
        str,
        Argument(
            help="A folder of images, a CSV or Parquet file, or the name of a dataset: "
            f"{', '.join(NAMES)}."
        ),
    ],
    *,
    output: Annotated[Path, Option("--output", "-o", help="Feature file to write.")],
    backbone: Annotated[
        str,
        Option(
            help="Images: pixels, efficientnet_lite0, vit_b_16, or a model of torchvision or timm. "
            "Texts: minilm, or a model of sentence-transformers."
        ),
    ],
    path_column: Annotated[
        str | None,
        Option(help="Column of image paths, which are relative to the folder of the file."),
    ] = None,
    text_column: Annotated[str | None, Option(help="Column of texts.")] = None,
    label_column: Annotated[str | None, Option(help="Column of labels; by default label.")] = None,
    id_column: Annotated[str | None, Option(help=ID_COLUMN_HELP)] = None,
    root: Annotated[Path, Option(help="Folder in which torchvision stores its datasets.")] = Path(
        "data"
    ),
    labels: Annotated[
        Literal["clean", "human"],
        Option(
            help="Labels of cifar100. clean: the original labels; human: the noisy labels of "
            "CIFAR-100N, which people gave."
        ),
    ] = "clean",
    missing: Missing = None,
    unlabelled: Annotated[
        bool,
        Option("--unlabelled", help="Read a folder of images or a table without its labels."),
    ] = False,
    batch_size: Annotated[int, Option(min=1, help="Number of items per batch.")] = 64,
    dtype: Annotated[
        Literal["float16", "float32"], Option(help="Precision of the stored features.")
    ] = "float16",
    strict: Annotated[
        bool,
        Option("--strict", help="Stop at the first item that cannot be read; by default skip it."),
    ] = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Compute features of images or texts; an interrupted command continues if you run it again."""
    of_tables = {
        "path_column": path_column,
        "text_column": text_column,
        "label_column": label_column,
        "id_column": id_column,
        "missing": missing,
    }
    chosen = {name: value for name, value in of_tables.items() if value not in (None, [])}
    items = _items(source, root, labels, chosen, unlabelled=unlabelled)
    check_backbone(backbone, items.kind)  # before the progress bar
    _say_items(items)
    # The option --missing of this command is for tables. For folders and datasets, the option is
    # passed to the command that reads the feature file.
    is_table = source not in NAMES and Path(source).is_file()
    later = " in the command that reads the feature file"
    advice = {"missing": "by --missing", "merge": f"pass --merge-spellings{later}"}
    advice["missing"] += "" if is_table else later
    coded = Labels(items.labels, np.array(items.classes, dtype=object))
    for line in label_notes(coded, **advice):
        note(line)
    how: dict[str, Any] = {"batch_size": batch_size, "dtype": dtype}
    how |= {"strict": strict, "force": force}
    with extracting(backbone, len(items), quiet=quiet) as show:
        extraction = extract_features(items, backbone, output, progress=show, **how)
    _print_summary(items, extraction)


def _items(
    source: str, root: Path, labels: str, of_tables: dict[str, Any], *, unlabelled: bool
) -> LabelledItems:
    """Return the items of a dataset, a folder or a table; `of_tables` has options for tables."""
    if of_tables and (source in NAMES or Path(source).is_dir()):
        name, value = next(iter(of_tables.items()))
        raise ArgumentError({name: value}, f"is for CSV and Parquet files, not for {source}.")
    if source in NAMES:
        if unlabelled:
            problem, advice = "is not for datasets", f"{source} has labels."
            raise ArgumentError({"unlabelled": True}, problem, advice)
        return load_data_set(source, root, labels=labels)
    if Path(source).is_dir():
        return read_image_folder(source, unlabelled=unlabelled)
    if Path(source).is_file():
        return read_item_table(source, **of_tables, unlabelled=unlabelled)
    problem = "is not a folder, not a file, and not a dataset"
    advice = f"pass a path that exists, or one of {', '.join(NAMES)}."
    raise ArgumentError({"SOURCE": source}, problem, advice)


def _print_summary(items: LabelledItems, extraction: Extraction) -> None:
    """Print the contents of the file, the items that could not be read, and the next command."""
    contents = counted(len(items.classes), "class", "classes") if items.classes else "no labels"
    verb, others, n_same = "has", "", extraction.n_duplicates
    if extraction.up_to_date:
        verb = "is up to date and has"
    else:
        n_known = extraction.n_rows - extraction.n_extracted - n_same
        others += f", {counted(n_same, 'duplicate')} skipped" if n_same else ""
        others += f", {n_known} extracted before" if n_known else ""
    say(
        f"{extraction.output} {verb} {counted(extraction.n_rows, 'row')} of "
        f"{counted(extraction.n_features, 'feature')}, {contents}. "
        f"{counted(extraction.n_extracted, 'item')} went through the model{others}."
    )
    _say_skipped(items, extraction, ", all listed in the file's provenance")
    if items.classes:
        say_next("audit", extraction.output, "-o", "audit/")
    else:
        same = "a probe that was fitted on features of the same backbone"
        say(f"Next: run `twohot predict` on this file, with {same}.")


# Features for a fitted probe: read from a table, or extracted from images or texts ----------------

# Default names of the column with the items.
USUAL_NAMES = {"image": "path", "text": "text"}


@contextmanager
def features_for(
    fitted: FittedProbe, probe: Path, options: FeatureOptions, *, quiet: bool
) -> Iterator[FeatureTable]:
    """Yield the features of a source for a fitted probe; extract them if the source has images.

    A folder is read as images. A CSV file or a single Parquet file is read as a list of images or
    texts if none of its columns contains lists, and if it has fewer columns than the probe has
    features. The features of images or texts are extracted with the backbone that the probe stores,
    into temporary files that are removed at the end.
    """
    origin = FeatureOrigin.from_json(fitted.feature_origin_)
    columns = _columns_of_items(options, fitted.n_features_in_)
    if columns is None or (origin is None and not options.source.is_dir()):
        yield options.read_for(fitted, probe)
        return
    if origin is None:
        problem = f"{options.source} is a folder, and {probe} does not store its backbone"
        advice = "run `twohot extract` with the backbone of the features of the probe"
        raise ValueError(f"{problem}: {advice}.")
    items = _items_for(options, origin, probe, columns)
    with TemporaryDirectory(prefix="twohot-") as folder:
        output = Path(folder) / "items.features"
        say(f"Extracting features with {origin.backbone}, the backbone of {probe}")
        _say_items(items)
        with extracting(origin.backbone, len(items), quiet=quiet) as show:
            how: dict[str, Any] = {"dtype": origin.dtype, "progress": show}
            extraction = extract_features(items, origin.load(), output, **how)
        _say_skipped(items, extraction)
        table = options.read_extracted(output)
        check_same_features(table, options.source, fitted, probe)
        yield table


def _columns_of_items(options: FeatureOptions, n_features: int) -> list[str] | None:
    """Return the columns of a table of images or texts; [] for a folder, None for features."""
    if is_parquet_source(options.source):
        return None
    if options.source.is_dir():
        return []
    if options.feature_column:
        return None
    columns = table_header([options.source])
    is_list = 0 < len(columns) < n_features and not any(columns.values())
    return list(columns) if is_list else None


def _items_for(
    options: FeatureOptions, origin: FeatureOrigin, probe: Path, columns: list[str]
) -> LabelledItems:
    """Return the images or texts of a source; raise if the backbone is for the other kind."""
    source, kind, wanted = options.source, origin.kind, options.item_column
    usual = origin.item_column if origin.item_column in columns else USUAL_NAMES[kind]
    of_probe = f"{probe} was fitted on features of {kind}s, from {origin.backbone!r}"
    if source.is_dir():
        if kind != "image":
            problem = f"{source} is a folder of images, but {of_probe}"
            raise ValueError(f"{problem}: pass a table of texts.")
    elif wanted is not None and wanted not in columns:
        advice = f"pass one of the columns {first_few(columns)}."
        raise ArgumentError({"item_column": wanted}, f"is not a column of {source}", advice)
    elif wanted is None and usual not in columns:
        problem = f"{of_probe}, and {source} has the columns {first_few(columns)}"
        advice = f"name the column of the {kind}s by {{item_column}}."
        (other,) = USUAL_NAMES.keys() - {kind}
        if USUAL_NAMES[other] in columns:
            listed = f"{other}s in its column {USUAL_NAMES[other]!r}"
            problem = f"{source} lists {listed}, but {of_probe}"
            advice = f"pass a probe that was fitted on features of {other}s, or {advice}"
        raise ArgumentError("", problem, advice, item_column=...)
    return options.read_items(kind, wanted or usual)
