"""A description printed: an overview, and tables of correlations, superclasses and classes."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from twohot.base import FloatArray, counted
from twohot.describe import ClassStructure, Description
from twohot_command.terminal import print_table, say, seen

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
    # What columns are was said when the table was read.
    said = ("columns", "label_column", "item_column", "stray_features")
    known = {name: value for name, value in found.provenance.items() if name not in said}
    lines += [f"{name}: {_short(value)}" for name, value in known.items()]
    if found.structure is None:
        lines.append("No correlations: fewer than two classes have rows.")
    say("\n".join(lines))


def print_structure(structure: ClassStructure) -> None:
    """Print the tables of correlations, superclasses and classes."""
    _print_pairs(structure)
    _print_superclasses(structure)
    own, between = np.diag(structure.correlation.means), structure.correlation.means.copy()
    np.fill_diagonal(between, -np.inf)  # no class is its own closest
    print_classes = _print_classes if len(own) <= MANY_CLASSES else _print_closest
    print_classes(structure, own, between)


def _print_pairs(structure: ClassStructure) -> None:
    """Print the three cases, or two means where there is no spread."""
    correlation, statistics, caption = structure.correlation, structure.statistics, None
    if statistics is None:
        caption = "Too many features for the spread and for superclasses."
        means = {"same class": correlation.same_class, "other class": correlation.other_class}
        rows = [(name, "", _number(mean), "") for name, mean in means.items()]
    else:
        groups = {
            "same class": statistics.same_class,
            "same superclass, other class": statistics.same_superclass,
            "other superclass": statistics.elsewhere,
        }
        rows = [
            (name, str(group.n_pairs), _number(group.mean), _number(group.std))
            for name, group in groups.items()
        ]
    title = "Correlations of rows, centred and of unit norm"
    print_table(("pairs", "n", "mean", "std"), rows, names=NAMES, title=title, caption=caption)


def _print_superclasses(structure: ClassStructure) -> None:
    """Print the superclasses with the classes in them."""
    rows = []
    for group, name in enumerate(structure.superclass_names):
        members = np.flatnonzero(structure.superclass == group)
        n_rows = structure.correlation.class_sizes[members].sum()
        names = [seen(structure.classes[k]) for k in members[:NAMES_LISTED]]
        more = ", …" if len(members) > NAMES_LISTED else ""
        rows.append((name, len(members), n_rows, ", ".join(names) + more))
    title = f"Superclasses ({structure.source})"
    print_table(("superclass", "classes", "rows", "names"), rows, names=NAMES, title=title)


def _print_classes(structure: ClassStructure, own: FloatArray, between: FloatArray) -> None:
    """Print the classes, each with the one it is most like."""
    headings = ("class", "rows", "superclass", "same class", "closest", "correlation")
    rows = zip(
        structure.classes,
        structure.correlation.class_sizes,
        [structure.superclass_names[group] for group in structure.superclass],
        map(_number, own),
        [structure.classes[k] for k in between.argmax(axis=1)],
        map(_number, between.max(axis=1)),
        strict=True,
    )
    print_table(headings, rows, names=NAMES, title="Classes")


def _print_closest(structure: ClassStructure, own: FloatArray, between: FloatArray) -> None:
    """Print the pairs of classes that are most alike."""
    headings = ("class", "same class", "with", "same class", "correlation")
    title = f"The {CLOSEST_PAIRS} pairs of classes that correlate most"
    first, second = np.triu_indices(len(own), 1)
    best = np.argsort(-between[first, second], kind="stable")[:CLOSEST_PAIRS]
    names, means = structure.classes, [_number(mean) for mean in own]
    rows = [
        (names[k], means[k], names[other], means[other], _number(between[k, other]))
        for k, other in zip(first[best], second[best], strict=True)
    ]
    print_table(headings, rows, names=NAMES, title=title)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _short(value: Any) -> str:
    """Return a value of the provenance on one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"


# What an audit has found, as it is printed --------------------------------------------------------


# The most frequent confusions that are printed.
SHOWN_CONFUSIONS = 5
# Files that `twohot apply` writes again.
CORRECTED_SUFFIXES = (".csv", ".tsv", ".parquet")
# Least probability of the suggestions that are taken without a review, in the line that is printed.
TAKEN_UNSEEN = 0.9


def print_findings(confusions: Counter[tuple[str, str]], messages: Sequence[str]) -> None:
    """Print what was found, and which labels are most often given for which."""
    for message in messages:
        say(message)
    frequent = confusions.most_common(SHOWN_CONFUSIONS)
    if frequent:
        names, title = ("given", "suggested"), "Most frequent corrections"
        rows = ((*pair, count) for pair, count in frequent)
        print_table((*names, "rows"), rows, names=names, title=title)


def say_next(report: str, audit: Path, sources: Iterable[Path | None]) -> None:
    """Print how labels are corrected in the first of the sources that is a user's own data."""
    known = filter(None, sources)
    own = next((path for path in known if path.is_dir() or _is_corrected(path)), None)
    to = ""
    if own is not None:
        clean = own.with_name(f"{own.stem}_clean{own.suffix}")
        to = f" --to {quote(str(own))} -o {quote(str(clean))}"
    where = f"--audit {quote(str(audit))}{to}"
    say("Next: decide in the report, export the decisions, then")
    say(f"  twohot apply decisions-{report}.csv {where}")
    say("or take what is probable enough without a review:")
    say(f"  twohot apply --accept-all {TAKEN_UNSEEN} {where}")


def _is_corrected(path: Path) -> bool:
    return path.suffix in CORRECTED_SUFFIXES and path.is_file()
