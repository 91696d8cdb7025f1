"""The features that a probe needs: read from a table, or extracted from images or texts.

A folder has images. A CSV or Parquet file lists images or texts if it has fewer columns than the
probe has features, and no column of lists. The backbone is stored in the probe.
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

# Default names of the column with the items.
USUAL_NAMES = {"image": "path", "text": "text"}


@contextmanager
def features_for(
    fitted: FittedProbe,
    probe: Path,
    options: FeatureOptions,
    *,
    quiet: bool,
) -> Iterator[FeatureTable]:
    """Yield the table of a source with the features of a probe; temporary files are removed."""
    origin = FeatureOrigin.from_json(fitted.feature_origin_)
    columns = _columns_of_items(options, fitted.n_features_in_)
    if columns is None or (origin is None and not options.source.is_dir()):
        yield options.read_for(fitted, probe)
        return
    if origin is None:
        problem = f"{options.source} is a folder, and {probe} does not store its backbone"
        advice = "run `twohot extract` with the backbone of the features that it was fitted on"
        raise ValueError(f"{problem}: {advice}.")
    items = _items(options, origin, probe, columns)
    with TemporaryDirectory(prefix="twohot-") as folder:
        output = Path(folder) / "items.features"
        say(f"Extracting features with {origin.backbone}, the backbone of {probe}")
        _extract(items, origin, output, quiet=quiet)
        table = options.read_extracted(output)
        check_same_features(table, options.source, fitted, probe)
        yield table


def _columns_of_items(options: FeatureOptions, n_features: int) -> list[str] | None:
    """Return the columns of a list of items, [] for a folder, None for a table of features."""
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
    """Return the images or texts of a source, as the backbone needs them."""
    source, usual = options.source, origin.item_column
    if usual not in columns:
        usual = USUAL_NAMES[origin.kind]
    of_probe = f"{probe} was fitted on features of {origin.kind}s, from {origin.backbone!r}"
    if source.is_dir():
        if origin.kind != "image":
            raise ValueError(f"{source} is a folder of images, and {of_probe}: pass a table.")
    elif options.item_column is not None and options.item_column not in columns:
        known = f"the columns are {first_few(columns)}."
        raise ArgumentError({"item_column": options.item_column}, "is missing", known)
    elif options.item_column is None and usual not in columns:
        problem = f"{of_probe}, and {source} has the columns {first_few(columns)}"
        advice = f"name the column of the {origin.kind}s by {{item_column}}."
        (other,) = (kind for kind in USUAL_NAMES if kind != origin.kind)
        if USUAL_NAMES[other] in columns:
            problem = (
                f"{source} lists {other}s in its column {USUAL_NAMES[other]!r}, but {of_probe}"
            )
            advice = f"pass a probe of {other}s, or {advice}"
        raise ArgumentError("", problem, advice, item_column=...)
    return options.read_items(origin.kind, options.item_column or usual)


def _extract(items: LabelledItems, origin: FeatureOrigin, output: Path, *, quiet: bool) -> None:
    """Write the features of items, extracted like those of a probe."""
    say_columns(items.columns)
    say_not_taken(items)
    with extracting(origin.backbone, len(items), quiet=quiet) as progress:
        extraction = extract(items, origin.load(), output, dtype=origin.dtype, progress=progress)
    say_skipped(items, extraction)
