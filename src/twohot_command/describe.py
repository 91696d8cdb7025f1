"""`twohot describe`: describe a table of features, as tables and figures."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console
from typer import Option

from twohot.base import FloatArray, counted
from twohot.describe import (
    ClassStructure,
    Description,
    correlation_map_figure,
    dendrogram_figure,
    describe_table,
    map_order,
)
from twohot_command.sources import TableOptions
from twohot_command.terminal import (
    ReportFolder,
    Verbose,
    check_report,
    number,
    print_table,
    say,
    say_more,
    seen,
    write_report,
)

SHOWN = 4  # maximum lines of a table without --verbose
NAMES_LISTED = 5  # maximum class names in a cell
VALUE_LENGTH = 60  # maximum characters of a value

# Headings of the columns that are aligned to the left.
NAMES = ("pairs", "superclass", "names", "class", "closest", "with")

EXAMPLES = ("twohot describe tickets.features -o about/",)


def describe(
    *,
    output: ReportFolder = None,
    options: TableOptions,
    superclasses: Annotated[
        int | None, Option(min=1, help="Number of superclasses to cluster the classes into.")
    ] = None,
    cut: Annotated[
        float | None,
        Option(
            help="Merge classes up to this fraction of the largest merge distance of their "
            "dendrogram (0.8 in the paper)."
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Describe classes, their correlations and superclasses."""
    check_report(output)
    table = options.read()
    with Console(stderr=True).status("Reading features …"):
        found = describe_table(table, split=options.split, n_superclasses=superclasses, cut=cut)
    say("\n".join(_overview(options.source, found, verbose=verbose)))
    structure = found.structure
    if structure is not None:
        _print_structure(structure, verbose=verbose)

    def draw() -> dict[str, Any]:
        if structure is None:
            return {}
        order = map_order(structure.clustering, structure.superclass)
        means, classes = structure.correlation.means, structure.classes
        return {
            "map.png": correlation_map_figure(means, structure.superclass, order, classes),
            "dendrogram.png": dendrogram_figure(structure.clustering, classes),
        }

    write_report(output, "description.json", found.to_json(), draw)


def _overview(source: Path, found: Description, *, verbose: bool) -> Iterator[str]:
    """Yield lines about rows, splits and classes."""
    sizes = found.class_sizes
    rows, features = counted(found.n_rows, "row"), counted(found.n_features, "feature")
    classes = counted(len(found.classes), "class", "classes")
    yield f"{source.name}: {rows} of {features} ({found.dtype}), {classes}"
    if found.split_sizes:
        parts = ", ".join(f"{name} {size}" for name, size in found.split_sizes.items())
        shown = "all rows" if found.split is None else f"the split {found.split!r}"
        yield f"splits: {parts}; the description below is of {shown}"
    yield f"rows with a label: {sizes.sum()}, without: {found.n_without_label}"
    if sizes.size:
        yield (
            f"rows per class: {sizes.min()} to {sizes.max()}, median {np.median(sizes):g}; "
            f"classes without a row: {np.count_nonzero(sizes == 0)}"
        )
    if verbose:
        # These entries were printed when the table was read.
        printed = ("columns", "label_column", "item_column", "notes")
        for name, value in found.provenance.items():
            if name not in printed:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield f"{name}: {text if len(text) < VALUE_LENGTH else text[:VALUE_LENGTH] + '…'}"
    if found.structure is None:
        yield "No correlations: fewer than two classes have rows."


def _print_structure(structure: ClassStructure, *, verbose: bool) -> None:
    """Print superclasses and the most similar classes; if verbose, all tables."""
    between = structure.correlation.means.copy()
    np.fill_diagonal(between, -np.inf)  # a class is not its own nearest class
    if verbose:
        _print_pairs(structure)
        _print_superclasses(structure, None)
        _print_classes(structure, between)
    else:
        _print_superclasses(structure, SHOWN)
        _print_closest(structure, between)
        say_more("all classes and correlations")


def _print_pairs(structure: ClassStructure) -> None:
    """Print the correlations of pairs of rows, by the classes of the two rows."""
    correlation, statistics, caption = structure.correlation, structure.statistics, None
    if statistics is None:
        caption = "No standard deviations and superclasses: there are too many features."
        means = {"same class": correlation.same_class, "other class": correlation.other_class}
        rows = [(name, "", _mean(mean), "") for name, mean in means.items()]
    else:
        groups = {
            "same class": statistics.same_class,
            "same superclass, other class": statistics.same_superclass,
            "other superclass": statistics.elsewhere,
        }
        rows = [
            (name, str(group.n_pairs), _mean(group.mean), _mean(group.std))
            for name, group in groups.items()
        ]
    title = "Correlations of pairs of rows, after centring and scaling to unit norm"
    print_table(("pairs", "n", "mean", "std"), rows, names=NAMES, title=title, caption=caption)


def _print_superclasses(structure: ClassStructure, most: int | None) -> None:
    """Print the superclasses with their classes, at most `most` of them (all if None)."""
    rows = []
    for group, name in enumerate(structure.superclass_names):
        members = np.flatnonzero(structure.superclass == group)
        n_rows = structure.correlation.class_sizes[members].sum()
        names = [seen(structure.classes[k]) for k in members[:NAMES_LISTED]]
        more = ", …" if len(members) > NAMES_LISTED else ""
        rows.append((name, len(members), n_rows, ", ".join(names) + more))
    few = rows[:most]
    shown = f"; {len(few)} of {len(rows)} are shown" if len(few) < len(rows) else ""
    title = f"Superclasses ({structure.source}{shown})"
    print_table(("superclass", "classes", "rows", "names"), few, names=NAMES, title=title)


def _print_classes(structure: ClassStructure, between: FloatArray) -> None:
    """Print every class with its most similar class."""
    headings = ("class", "rows", "superclass", "same class", "closest", "correlation")
    rows = zip(
        structure.classes,
        structure.correlation.class_sizes,
        [structure.superclass_names[group] for group in structure.superclass],
        map(_mean, np.diag(structure.correlation.means)),
        [structure.classes[k] for k in between.argmax(axis=1)],
        map(_mean, between.max(axis=1)),
        strict=True,
    )
    print_table(headings, rows, names=NAMES, title="Classes")


def _print_closest(structure: ClassStructure, between: FloatArray) -> None:
    """Print the most similar pairs of classes."""
    first, second = np.triu_indices(len(between), 1)
    best = np.argsort(-between[first, second], kind="stable")[:SHOWN]
    names = structure.classes
    rows = [
        (names[k], names[other], _mean(between[k, other]))
        for k, other in zip(first[best], second[best], strict=True)
    ]
    title = "Most similar classes"
    print_table(("class", "with", "correlation"), rows, names=NAMES, title=title)


def _mean(value: float) -> str:
    return number(value, ".3f")
