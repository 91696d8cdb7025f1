"""The rule that assigns roles to columns of a table.

The roles are features, label, true label, id, item (an image path or a text), split and group.

* A column that the user names for a role has this role. The user may name features by patterns such
  as "e*". Groups have no default name, so the user must name the column of groups.
* Otherwise, the columns of labels, true labels, splits, items and ids are found by default names. A
  column named "id" contains ids. A column whose name only ends with "id", such as "ticket_id",
  contains ids if all its values differ.
* Features are the column of lists, or else all numeric columns without another role. Columns that
  are named like ids, or like the index of a data frame ("Unnamed: 0"), are never features.
* Other columns are not used.

An error asks the user to name the columns in three cases: two columns could have the same role, a
numeric column contains the row numbers 0, 1, 2, …, or a column contains numbers and words.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from twohot.base import ArgumentError, FloatArray, as_text, counted, first_few, is_missing

Columns: TypeAlias = Mapping[str, NDArray[Any]]

# Default names of the column of each role. A table that has two names of one role is an error.
FEATURES = ("X", "features", "embeddings", "embedding")
LABELS = ("label", "labels", "y", "target", "class")
IDS = ("id", "ids", "Id", "ID")
DEFAULTS: dict[str, Sequence[str]] = {
    "label": LABELS,
    "true_label": ("true_label", "true_labels"),
    "split": ("split",),
    "item": ("path", "text", "item"),
    "group": (),
}
ID_NAME = re.compile(r"(?i:(^|[\W_])ids?$)|[a-z]I[dD]$")
INDEX_NAME = re.compile(r"|index|level_0|Unnamed: \d+|__index_level_\d+__")
# Types of cells that count as numbers.
NUMBERS = (Real, Decimal, np.bool_)
# In a table with fewer rows, a column may contain the numbers 0, 1, 2, … by chance.
FEWEST_COUNTED = 10


@dataclass(frozen=True, kw_only=True)
class ColumnChoice:
    """The column that the user names for each role; None: search for the default names."""

    features: str | Sequence[str] | None = None  # column of lists, numeric columns, or patterns
    label: str | None = None
    true_label: str | None = None
    split: str | None = None
    item: str | None = None
    group: str | None = None  # groups of rows, such as patients; there is no default name
    id: str | None = None  # "": no column, rows are identified by position

    @property
    def patterns(self) -> Sequence[str]:
        """Names or patterns of feature columns that the user passed."""
        return [self.features] if isinstance(self.features, str) else self.features or ()

    def is_text(self, name: str) -> bool:
        """Return whether a column of this name is read as text, because it cannot be a feature."""
        if self.features is not None and name in self.patterns:
            return False
        if self.features is not None and not any(fnmatchcase(name, p) for p in self.patterns):
            return True
        taken = {getattr(self, role) for role in DEFAULTS}.union({self.id}, *DEFAULTS.values())
        return name in taken or bool(ID_NAME.search(name) or INDEX_NAME.fullmatch(name))


@dataclass(frozen=True, kw_only=True)
class ColumnRoles:
    """The role of every column of a table; None if no column has the role."""

    features: tuple[str, ...] = ()
    label: str | None = None
    true_label: str | None = None
    split: str | None = None
    item: str | None = None
    group: str | None = None
    id: str | None = None  # None: rows are identified by position
    unused: tuple[str, ...] = ()
    repeating: tuple[str, ...] = ()  # columns named like ids with repeated or empty values

    def in_words(self) -> str:
        """Return the roles of all columns as one line of text."""
        position = "position of the row"
        if self.repeating:
            columns = first_few(self.repeating, write=str)
            position = f"{position} ({columns} has repeated or empty values)"
        names = {
            "features": listed_columns(self.features),
            "label": self.label,
            "true label": self.true_label,
            "item": self.item,
            "split": self.split,
            "group": self.group,
            "id": position if self.id is None else self.id,
            "not used": first_few(self.unused, write=lambda name: name or "(no name)"),
        }
        return "; ".join(f"{role}: {name}" for role, name in names.items() if name)

    @property
    def names(self) -> dict[str, str]:
        """Names of the label and item columns, which other files of the data may have too."""
        names = {"label_column": self.label, "item_column": self.item}
        return {key: name for key, name in names.items() if name is not None}


def assign_roles(
    columns: Columns,
    choice: ColumnChoice,
    *,
    with_features: bool = True,
    labels: Sequence[str] = LABELS,
) -> ColumnRoles:
    """Return the role of every column, by the rule of this module.

    Pass `with_features=False` if the table has no features, like a list of texts. `labels` are the
    default names of the column of labels.
    """
    found = {
        role: pick(f"{role}_column", getattr(choice, role), usual, columns)
        for role, usual in (DEFAULTS | {"label": labels}).items()
    }
    features = _pick_features(columns, choice) if with_features else ()
    if found["group"] in features:
        advice = "remove this column from {feature_column}, because a group is not a feature."
        problem = "is also chosen as a feature"
        raise ArgumentError({"group_column": choice.group}, problem, advice, feature_column=...)
    taken = {*features, *found.values()}  # a set is fast for 100,000 columns
    free = {name: cells for name, cells in columns.items() if name not in taken}
    found["id"] = _pick_id(columns, free, choice.id)
    unused = tuple(name for name in free if name != found["id"])
    no_ids = found["id"] is None and choice.id is None
    repeating = tuple(name for name in unused if no_ids and ID_NAME.search(name))
    return ColumnRoles(features=features, unused=unused, repeating=repeating, **found)


def pick(argument: str, chosen: str | None, usual: Sequence[str], columns: Columns) -> str | None:
    """Return the column that the user named, else the column with a default name, else None."""
    if chosen is not None:
        if chosen not in columns:
            known = f"the columns are {first_few(columns)}."
            raise ArgumentError({argument: chosen}, "is missing", known)
        return chosen
    found = [name for name in usual if name in columns]
    if len(found) > 1:
        raise both_meant(argument, *found[:2])
    return found[0] if found else None


def both_meant(argument: str, one: str, other: str) -> ArgumentError:
    """Return the error for two columns that could have one role: the user must name one of them."""
    problem = f"{one!r} and {other!r} could both be the {argument.replace('_', ' ')}"
    return ArgumentError("", problem, f"choose one by {{{argument}}}.", **{argument: ...})


def _pick_features(columns: Columns, choice: ColumnChoice) -> tuple[str, ...]:
    """Return the feature columns: those the user named, the column of lists, or numeric ones."""
    possible = {name: cells for name, cells in columns.items() if not choice.is_text(name)}
    if choice.features is not None:
        names: list[str] = []
        for pattern in choice.patterns:
            matching = [name for name in possible if fnmatchcase(name, pattern)]
            if pattern in columns or not matching:
                matching = [str(pick("feature_column", pattern, (), columns))]
            names += matching
        return tuple(dict.fromkeys(names))
    lists = {name: column for name, column in columns.items() if column.ndim == 2}
    if lists:
        usual = pick("feature_column", None, FEATURES, lists)
        return (usual or pick("feature_column", None, list(lists), lists) or "",)
    numbers = tuple(name for name, cells in possible.items() if holds_features(cells))
    _check_unclear(possible, numbers)
    if not numbers:
        problem = f"there are no features among the columns {first_few(columns)}"
        advice = (
            "name a column of lists, or numeric columns, by {feature_column}. To embed text, run "
            "`twohot extract FILE --backbone minilm --text-column NAME -o FILE.features`."
        )
        raise ArgumentError("", problem, advice, feature_column=...)
    return numbers


def _check_unclear(possible: Columns, numbers: tuple[str, ...]) -> None:
    """Raise if it is unclear whether a column is a feature, so that the user names the features."""
    for name in possible.keys() - set(numbers):
        cells = possible[name].tolist() if possible[name].dtype == object else []
        words = [cell for cell in cells if not (isinstance(cell, NUMBERS) or is_missing(cell))]
        n_numbers = sum(isinstance(cell, NUMBERS) and not is_missing(cell) for cell in cells)
        if n_numbers >= len(words) > 0:
            row = f"row {cells.index(words[0])} (the first row is 0)"
            problem = f"holds numbers, but the cell in {row} is {words[0]!r}"
            advice = "correct such cells, or choose the features by {feature_column}."
            raise ArgumentError(f"column {name!r}", problem, advice, feature_column=...)
    for name in numbers if len(numbers) > 1 else ():
        if _counts_rows(possible[name]):
            problem = f"column {name!r} has row numbers, so it is an id or an index, not a feature"
            advice = "pass {id_column}, or name the features (or patterns) by {feature_column}."
            raise ArgumentError("", problem, advice, id_column=name, feature_column=...)


def _pick_id(columns: Columns, free: Columns, chosen: str | None) -> str | None:
    """Return the column of ids: the user's, "id", or one that ends with "id" and has no repeats."""
    if chosen is not None:
        return pick("id_column", chosen, (), columns) if chosen else None
    differing = [name for name in free if ID_NAME.search(name) and _all_differ(free[name])]
    return pick("id_column", None, IDS, free) or pick("id_column", None, differing, free)


def holds_features(cells: NDArray[Any]) -> bool:
    """Return whether a column contains numbers; some numbers may be missing."""
    if cells.dtype != object:
        return cells.ndim == 1 and cells.dtype.kind in "fiub"
    listed = cells.tolist() if cells.ndim == 1 else []
    present = [cell for cell in listed if not is_missing(cell)]
    return bool(present) and all(isinstance(cell, NUMBERS) for cell in present)


def _all_differ(cells: NDArray[Any]) -> bool:
    if cells.ndim != 1:
        return False
    texts = [as_text(cell) for cell in cells.tolist()]
    return "" not in texts and len(set(texts)) == len(texts)


def _counts_rows(cells: NDArray[Any]) -> bool:
    """Return whether a column contains the numbers 0 … n - 1 or 1 … n, in any order."""
    if len(cells) < FEWEST_COUNTED or cells.dtype.kind not in "fiu":
        return False
    ordered = np.sort(cells)
    return ordered[0] in (0, 1) and bool(np.array_equal(np.diff(ordered), np.ones(len(cells) - 1)))


def choice_among(columns: Columns, choice: ColumnChoice) -> ColumnChoice:
    """Return the choice without columns that do not exist; a label column always remains."""
    chosen = ("true_label", "split", "item", "group", "id")
    missing = [name for name in chosen if getattr(choice, name) not in (None, "", *columns)]
    return replace(choice, **dict.fromkeys(missing))


# Numeric columns that may have become features by mistake: an amount, an age ----------------------
# Columns of features usually form a series, with a common prefix and a number: e0, e1, e2. If
# nearly all columns are in a series, a column outside is perhaps not a feature. A column with a far
# larger spread than the others is perhaps not a feature either: it would dominate every distance.


NUMBERED = re.compile(r"(.*?)\d+", re.DOTALL)
# Minimum number of columns in a series: "age_1" and "age_2" are not a series.
SHORTEST_SERIES = 3
# If a larger fraction of the columns is outside a series, names do not show what is a feature.
MOST_STRAYS = 0.25
# A column dominates the others if its spread, the standard deviation, exceeds the median spread by
# this factor.
FAR_WIDER = 1_000.0
# Number of rows from which spreads are computed. It suffices to detect a factor of a thousand.
SAMPLE_ROWS = 10_000


def stray_note(names: Sequence[str], features: FloatArray) -> str:
    """Return a note on columns of `features` (n_rows, n_names) that are perhaps not features.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(50, 5)) * [1, 1, 1, 1, 90_000]
    >>> stray_note(["e0", "e1", "e2", "e3", "paid"], features)
    "features with unusual names: 'paid'; features with a standard deviation over 1,000 times..."
    """
    by_name, by_spread = outside_series(names), _far_wider(names, features)
    found = [f"features with unusual names: {first_few(by_name)}"] * bool(by_name)
    if by_spread:
        wide = f"features with a standard deviation over {FAR_WIDER:,.0f} times the median"
        found.append(f"{wide}, which dominate the others: {first_few(by_spread)}")
    advice = "To choose the features, name their columns by feature_column (--feature-column)."
    return f"{'; '.join(found)}. {advice}" if found else ""


def outside_series(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names outside a series if nearly all names are in a series, else no names."""
    series = set(_in_series(names))
    outside = tuple(name for name in names if name not in series)
    return outside if len(outside) <= MOST_STRAYS * len(names) else ()


def listed_columns(names: Sequence[str]) -> str:
    """Return a short text with the names of feature columns, with a range for a series.

    Examples
    --------
    >>> listed_columns(["age", "e0", "e1", "e2", "e3"])
    '5 columns e0 … e3 and age'
    >>> listed_columns(["age", "height", "weight"])
    '3 columns age, height, weight'
    """
    if len(names) <= 2:
        return ", ".join(names)
    inside, outside = _in_series(names), outside_series(names)
    n_columns = counted(len(names), "column")
    if len(inside) + len(outside) < len(names):
        return f"{n_columns} {first_few(names, write=str)}"
    others = f" and {first_few(outside, write=str)}" if outside else ""
    return f"{n_columns} {inside[0]} … {inside[-1]}{others}"


def _in_series(names: Sequence[str]) -> list[str]:
    """Return the names in a series, which have a common prefix and a number: e0, e1, e2."""
    numbered = {name: found[1] for name in names if (found := NUMBERED.fullmatch(name))}
    sizes = Counter(numbered.values())
    return [name for name, prefix in numbered.items() if sizes[prefix] >= SHORTEST_SERIES]


def _far_wider(names: Sequence[str], features: FloatArray) -> tuple[str, ...]:
    """Return the columns with a far larger spread than the median of columns that vary."""
    if not len(features):
        return ()
    step = max(1, len(features) // SAMPLE_ROWS)
    with np.errstate(all="ignore"):  # non-finite numbers raise an error later
        spread = features[::step].std(axis=0, dtype=np.float64)
        varying = spread[spread > 0]
        far = spread > FAR_WIDER * np.median(varying) if varying.size else np.zeros(0)
    wide = tuple(names[place] for place in np.flatnonzero(far).tolist())
    return wide if len(wide) <= MOST_STRAYS * len(names) else ()
