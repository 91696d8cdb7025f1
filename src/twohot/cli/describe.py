"""`twohot describe`: what a table of features holds, as tables and pictures."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from twohot._files import whole_file
from twohot.data import read_table, write_features
from twohot.report.correlation_figures import (
    correlation_map_figure,
    dendrogram_figure,
    map_order,
)
from twohot.report.description import (
    ClassStructure,
    Description,
    describe_table,
    with_superclasses,
)

# Classes that are shown one a line; of more, only the pairs that are most alike are.
MANY_CLASSES = 40
CLOSEST_PAIRS = 10

# Names of classes that are listed in a cell, and characters of a value of the provenance.
NAMES_LISTED = 8
VALUE_LENGTH = 60


def describe(
    source: Annotated[Path, typer.Argument(help="A feature file, or any table of features.")],
    *,
    labels: Annotated[
        Path | None, typer.Option(help="Labels that stand in a file of their own.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Name of the column of the labels.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split to describe; 'train' by default if there is one.")
    ] = None,
    superclasses: Annotated[
        int | None, typer.Option(min=1, help="Cluster the classes into so many superclasses.")
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option(help="Cluster with this cut, a share of the largest distance (paper: 0.8)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the pictures and description.json."),
    ] = None,
    write_superclasses: Annotated[
        Path | None,
        typer.Option(help="Write a feature file with the superclasses, for `twohot corrupt`."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the feature file if it is there.")
    ] = False,
) -> None:
    """Describe classes, their correlations and superclasses, by the given labels."""
    if write_superclasses is not None:
        _check_target(write_superclasses, source, force=force)
    table = read_table(source, labels=labels, label_column=label_column)
    with Console(stderr=True).status("Reading features …"):
        found = describe_table(table, split=split, n_superclasses=superclasses, cut=cut)
    console = Console()
    _print_overview(console, source, found)
    if found.structure is not None:
        _print_structure(console, found, found.structure)
    if output is not None:
        _print_written(console, _write_report(output, found))
    if write_superclasses is not None:
        write_features(write_superclasses, with_superclasses(table, found))
        _print_written(console, [write_superclasses])


def _check_target(target: Path, source: Path, *, force: bool) -> None:
    """Raise if a file would be lost."""
    if target.exists() and target.resolve() == source.resolve():
        raise ValueError(f"--write-superclasses {target} is the file to describe: name another.")
    if target.exists() and not force:
        raise ValueError(f"{target} is there already: name another file, or pass --force.")


def _print_overview(console: Console, source: Path, found: Description) -> None:
    """Print what does not take a look at the features."""
    sizes = found.class_sizes
    lines = [
        f"{source.name}: {found.n_rows} rows of {found.n_features} features ({found.dtype}), "
        f"{len(found.classes)} classes"
    ]
    if found.split_sizes:
        parts = ", ".join(f"{name} {size}" for name, size in found.split_sizes.items())
        shown = "all rows" if found.split is None else f"the rows of {found.split}"
        lines.append(f"splits: {parts}; below are {shown}")
    lines.append(f"rows with a label: {sizes.sum()}, without: {found.n_without_label}")
    if sizes.size:
        lines.append(
            f"rows a class: {sizes.min()} to {sizes.max()}, median {np.median(sizes):g}; "
            f"classes without a row: {np.count_nonzero(sizes == 0)}"
        )
    lines += [f"{name}: {_short(value)}" for name, value in found.provenance.items()]
    if found.structure is None:
        lines.append("No correlations: fewer than two classes have rows.")
    # Names come from a user's data: they are printed as they are.
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _print_structure(console: Console, found: Description, structure: ClassStructure) -> None:
    """Print the tables of correlations, superclasses and classes."""
    console.print(_pair_table(structure))
    console.print(_superclass_table(found, structure))
    if len(structure.classes) <= MANY_CLASSES:
        console.print(_class_table(structure))
    else:
        console.print(_closest_table(structure))


def _pair_table(structure: ClassStructure) -> Table:
    """Return the table of the three cases, or of two means where there is no spread."""
    table = _table("Correlations of rows, centred and of unit norm", "pairs", "n", "mean", "std")
    statistics = structure.statistics
    if statistics is None:
        table.caption = "Too many features for the spread and for superclasses."
        table.add_row("same class", "", _number(structure.correlation.same_class), "")
        table.add_row("other class", "", _number(structure.correlation.other_class), "")
        return table
    for name, group in (
        ("same class", statistics.same_class),
        ("same superclass, other class", statistics.same_superclass),
        ("other superclass", statistics.elsewhere),
    ):
        table.add_row(name, str(group.n_pairs), _number(group.mean), _number(group.std))
    return table


def _superclass_table(found: Description, structure: ClassStructure) -> Table:
    """Return the superclasses with the classes in them."""
    title = f"Superclasses ({structure.source})"
    table = _table(title, "superclass", "classes", "rows", "names")
    table.columns[-1].justify = "left"
    sizes = dict(zip(found.classes, found.class_sizes.tolist(), strict=True))
    for group, name in enumerate(structure.superclass_names):
        classes = [structure.classes[k] for k in np.flatnonzero(structure.superclass == group)]
        rows = sum(sizes[member] for member in classes)
        more = ", …" if len(classes) > NAMES_LISTED else ""
        listed = escape(", ".join(classes[:NAMES_LISTED]) + more)
        table.add_row(escape(name), str(len(classes)), str(rows), listed)
    return table


def _class_table(structure: ClassStructure) -> Table:
    """Return the classes, each with the one it is most like."""
    table = _table("Classes", "class", "rows", "superclass", "own mean", "closest class", "mean")
    between, own = _means_apart(structure)
    for k, closest in enumerate(between.argmax(axis=1)):
        table.add_row(
            escape(structure.classes[k]),
            str(structure.correlation.class_sizes[k]),
            escape(structure.superclass_names[structure.superclass[k]]),
            _number(own[k]),
            escape(structure.classes[closest]),
            _number(between[k, closest]),
        )
    return table


def _closest_table(structure: ClassStructure) -> Table:
    """Return the pairs of classes that are most alike."""
    title = f"The {CLOSEST_PAIRS} pairs of classes that correlate most"
    table = _table(title, "class", "own mean", "with", "own mean", "mean")
    between, own = _means_apart(structure)
    first, second = np.triu_indices(len(own), 1)
    best = np.argsort(-between[first, second], kind="stable")[:CLOSEST_PAIRS]
    for k, other in zip(first[best], second[best], strict=True):
        table.add_row(
            escape(structure.classes[k]),
            _number(own[k]),
            escape(structure.classes[other]),
            _number(own[other]),
            _number(between[k, other]),
        )
    return table


def _means_apart(structure: ClassStructure) -> tuple[Any, Any]:
    """Return the means between classes, nothing on the diagonal, and those of each class."""
    between = structure.correlation.means.copy()
    np.fill_diagonal(between, -np.inf)
    return between, np.diag(structure.correlation.means)


def _write_report(folder: Path, found: Description) -> list[Path]:
    """Write the pictures and what the tables are built from, each file whole."""
    written = {"description.json": json.dumps(found.to_json(), indent=1).encode()}
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / "description.json") as file:
        file.write(written["description.json"])
    return [folder / "description.json"]


def _print_written(console: Console, paths: list[Path]) -> None:
    names = ", ".join(str(path) for path in paths)
    console.print(f"written: {names}", markup=False, highlight=False, soft_wrap=True)


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    return table


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _short(value: Any) -> str:
    """Return a value of the provenance on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"
