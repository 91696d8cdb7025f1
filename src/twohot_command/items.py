"""The features that a probe asks for: read from a table, or made of images and texts on the way.

A folder holds images. A CSV or Parquet file lists images or texts if it cannot hold features: if it
has fewer columns than the probe has features, and none of lists. The probe says by which backbone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from twohot.base import ArgumentError, first_few
from twohot.extract import FeatureOrigin, LabelledItems, extract
from twohot.probes import FittedProbe
from twohot.tables import FeatureTable, is_parquet_source, table_header
from twohot_command.extract import extracting, say_not_taken, say_skipped
from twohot_command.sources import FeatureOptions, check_same_features, say_columns
from twohot_command.terminal import say

# What the column of the items is called where nobody says.
USUAL_NAMES = {"image": "path", "text": "text"}


@contextmanager
def features_for(
    fitted: FittedProbe,
    probe: Path,
    options: FeatureOptions,
    *,
    quiet: bool,
) -> Iterator[FeatureTable]:
    """Yield the table of a source with features as a probe takes them, while they are there."""
    origin = FeatureOrigin.from_json(fitted.feature_origin_)
    columns = _columns_of_items(options, fitted.n_features_in_)
    if columns is None or (origin is None and not options.source.is_dir()):
        yield options.read_for(fitted, probe)
        return
    if origin is None:
        problem = f"{options.source} is a folder, and {probe} does not say what made its features"
        advice = "extract features by `twohot extract`, with the backbone of those it was fitted on"
        raise ValueError(f"{problem}: {advice}.")
    items = _items(options, origin, probe, columns)
    with TemporaryDirectory(prefix="twohot-") as folder:
        output = Path(folder) / "items.features"
        say(f"Features by {origin.backbone}, as those of {probe}")
        _extract(items, origin, output, quiet=quiet)
        table = options.read_extracted(output)
        check_same_features(table, options.source, fitted, probe)
        yield table


def _columns_of_items(options: FeatureOptions, n_features: int) -> list[str] | None:
    """Return the columns of what lists items, none of a folder; None for a table of features."""
    source = options.source
    if is_parquet_source(source):
        return None
    if source.is_dir():
        return []
    if options.feature_column:
        return None
    columns = table_header([source])
    if not columns or any(columns.values()):
        return None
    return list(columns) if len(columns) < n_features else None


def _items(
    options: FeatureOptions, origin: FeatureOrigin, probe: Path, columns: list[str]
) -> LabelledItems:
    """Return the images or texts of a source, of the kind that the backbone takes."""
    source, usual = options.source, origin.item_column
    if usual not in columns:
        usual = USUAL_NAMES[origin.kind]
    of_probe = f"{probe} was fitted on features of {origin.kind}s, by {origin.backbone!r}"
    if source.is_dir():
        if origin.kind != "image":
            raise ValueError(f"{source} is a folder of images, and {of_probe}: pass a table.")
    elif options.item_column is not None and options.item_column not in columns:
        known = f"the columns are {first_few(columns)}."
        raise ArgumentError({"item_column": options.item_column}, "is missing", known)
    elif options.item_column is None and usual not in columns:
        problem = f"{of_probe}, and {source} has the columns {first_few(columns)}"
        advice = f"say by {{item_column}} which one holds the {origin.kind}s."
        (other,) = (kind for kind in USUAL_NAMES if kind != origin.kind)
        if USUAL_NAMES[other] in columns:
            problem = (
                f"{source} lists {other}s, by its column {USUAL_NAMES[other]!r}, and {of_probe}"
            )
            advice = f"pass a probe of {other}s, or {advice}"
        raise ArgumentError("", problem, advice, item_column=...)
    return options.read_items(origin.kind, options.item_column or usual)


def _extract(items: LabelledItems, origin: FeatureOrigin, output: Path, *, quiet: bool) -> None:
    """Write the features of items as those of a probe were made."""
    say_columns(items.columns)
    say_not_taken(items)
    with extracting(origin.backbone, len(items), quiet=quiet) as progress:
        extraction = extract(items, origin.load(), output, dtype=origin.dtype, progress=progress)
    say_skipped(items, extraction)
