"""A description printed: an overview, and tables of correlations, superclasses and classes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from twohot._checks.messages import counted
from twohot.classes.description import ClassStructure, Description
from twohot.cli._terminal import say, table_with

# Classes that are shown one per line; of more, only the pairs that are most alike are.
MANY_CLASSES = 40
CLOSEST_PAIRS = 10

# Names of classes that are listed in a cell, and characters of a value of the provenance.
NAMES_LISTED = 8
VALUE_LENGTH = 60

# Headings of columns that hold names.
NAMES = ("pairs", "superclass", "names", "class", "closest", "with")


def print_overview(source: Path, found: Description) -> None:
    """Print what does not take a look at the features."""
    sizes = found.class_sizes
    rows, features = counted(found.n_rows, "row"), counted(found.n_features, "feature")
    classes = counted(len(found.classes), "class", "classes")
    lines = [f"{source.name}: {rows} of {features} ({found.dtype}), {classes}"]
    if found.split_sizes:
        parts = ", ".join(f"{name} {size}" for name, size in found.split_sizes.items())
        shown = "all rows" if found.split is None else f"the rows of {found.split}"
        lines.append(f"splits: {parts}; below are {shown}")
    lines.append(f"rows with a label: {sizes.sum()}, without: {found.n_without_label}")
    if sizes.size:
        lines.append(
            f"rows per class: {sizes.min()} to {sizes.max()}, median {np.median(sizes):g}; "
            f"classes without a row: {np.count_nonzero(sizes == 0)}"
        )
    lines += [f"{name}: {_short(value)}" for name, value in found.provenance.items()]
    if found.structure is None:
        lines.append("No correlations: fewer than two classes have rows.")
    say("\n".join(lines))


def print_structure(structure: ClassStructure) -> None:
    """Print the tables of correlations, superclasses and classes."""
    console = Console()
    console.print(_pair_table(structure))
    console.print(_superclass_table(structure))
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


def _superclass_table(structure: ClassStructure) -> Table:
    """Return the superclasses with the classes in them."""
    title = f"Superclasses ({structure.source})"
    table = _table(title, "superclass", "classes", "rows", "names")
    for group, name in enumerate(structure.superclass_names):
        members = np.flatnonzero(structure.superclass == group)
        n_rows = structure.correlation.class_sizes[members].sum()
        names = [structure.classes[k] for k in members[:NAMES_LISTED]]
        more = ", …" if len(members) > NAMES_LISTED else ""
        table.add_row(escape(name), str(len(members)), str(n_rows), escape(", ".join(names) + more))
    return table


def _class_table(structure: ClassStructure) -> Table:
    """Return the classes, each with the one it is most like."""
    table = _table("Classes", "class", "rows", "superclass", "same class", "closest", "correlation")
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
    table = _table(title, "class", "same class", "with", "same class", "correlation")
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


def _table(title: str, *headings: str) -> Table:
    return table_with(*headings, names=NAMES, title=title)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _short(value: Any) -> str:
    """Return a value of the provenance on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"
