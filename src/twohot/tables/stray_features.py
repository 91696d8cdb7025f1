"""Columns of numbers among the features that look as if they were none: an amount, an age.

Features usually come as a series of columns, a common prefix and a number: e0, e1, e2. A column
that is in no series, where nearly all others are, may be no feature. Nor may one whose values
spread far wider than those of the others, which then hardly count in any distance.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from typing import Any

import numpy as np

from twohot._checks.messages import counted, first_few
from twohot._types import FloatArray

NUMBERED = re.compile(r"(.*?)\d+", re.DOTALL)
# Two numbered columns are soon there by chance: "age_1", "age_2".
SHORTEST_SERIES = 3
# Share of the columns up to which they are strays. More of them are a table of its own kind.
MOST_STRAYS = 0.25
# Standard deviations from which on, in medians of the others, a column hides all of them.
FAR_WIDER = 1_000.0
# Rows that are looked at: enough to tell spreads apart that differ a thousandfold.
SAMPLE_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class StrayFeatures:
    """Columns of features that may be none."""

    by_name: tuple[str, ...]  # in no series, as nearly all others are
    by_spread: tuple[str, ...]  # far wider than most
    patterns: tuple[str, ...]  # which choose all others; none where no pattern does

    def note(self, write: Callable[[str, object], str]) -> str:
        """Return what to know about them; `write(name, value)` writes an argument.

        Examples
        --------
        >>> from twohot._checks.messages import in_python
        >>> stray = StrayFeatures(by_name=("age",), by_spread=(), patterns=("e*",))
        >>> stray.note(in_python)
        "'age' is a feature too, unlike the others by name: leave it out by feature_column='e*'."
        """
        said, every = [], dict.fromkeys((*self.by_name, *self.by_spread))
        if self.by_name:
            are = "is a feature" if len(self.by_name) == 1 else "are features"
            said.append(f"{first_few(self.by_name)} {are} too, unlike the others by name")
        if self.by_spread:
            spread = "spreads" if len(self.by_spread) == 1 else "spread"
            wider = f"more than {FAR_WIDER:,.0f} times as wide as most features, and"
            hides = "hides" if len(self.by_spread) == 1 else "hide"
            said.append(f"{first_few(self.by_spread)} {spread} {wider} {hides} them")
        them = "it" if len(every) == 1 else "them"
        first, *more = self.patterns or (...,)
        chosen = write("feature_column", [first, *more] if more else first)
        by = "by" if self.patterns else "by naming all others,"
        return f"{'; '.join(said)}: leave {them} out {by} {chosen}."

    @classmethod
    def from_json(cls, record: Mapping[str, Sequence[str]]) -> "StrayFeatures":
        """Return what `dataclasses.asdict` made a record of."""
        return cls(**{name: tuple(names) for name, names in record.items()})


def find_stray_features(names: Sequence[str], features: FloatArray) -> StrayFeatures | None:
    """Return the columns of features (n_rows, n_names) that may be none, if there are some.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(50, 5)) * [1, 1, 1, 1, 90_000]
    >>> find_stray_features(["e0", "e1", "e2", "e3", "paid"], features)
    StrayFeatures(by_name=('paid',), by_spread=('paid',), patterns=('e*',))
    """
    by_name, by_spread = outside_series(names), _far_wider(names, features)
    stray = {*by_name, *by_spread}
    if not stray:
        return None
    return StrayFeatures(
        by_name=by_name, by_spread=by_spread, patterns=_patterns_without(stray, names)
    )


def outside_series(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that are in no series, where nearly all others are; else none.

    Examples
    --------
    >>> outside_series(["age", "e0", "e1", "e2", "e3"]), outside_series(["age", "height"])
    (('age',), ())
    """
    series = _series(names)
    outside = tuple(name for name in names if _prefix(name) not in series)
    return outside if len(outside) <= MOST_STRAYS * len(names) else ()


def listed_columns(names: Sequence[str]) -> str:
    """Return the names of feature columns in a few words; only a series is written as a range.

    Examples
    --------
    >>> listed_columns(["age", "e0", "e1", "e2", "e3"])
    '5 columns e0 … e3 and age'
    >>> listed_columns(["age", "height", "weight"])
    '3 columns age, height, weight'
    """
    if len(names) <= 2:
        return ", ".join(names)
    series, outside = _series(names), outside_series(names)
    n_columns = counted(len(names), "column")
    inside = [name for name in names if _prefix(name) in series]
    if len(inside) + len(outside) < len(names):
        return f"{n_columns} {first_few(names, write=str)}"
    others = f" and {first_few(outside, write=str)}" if outside else ""
    return f"{n_columns} {inside[0]} … {inside[-1]}{others}"


def _prefix(name: str) -> str | None:
    found = NUMBERED.fullmatch(name)
    return found[1] if found else None


def _series(names: Sequence[str]) -> list[str]:
    """Return the prefixes that several numbered columns share."""
    found = Counter(prefix for prefix in map(_prefix, names) if prefix is not None)
    return [prefix for prefix, count in found.items() if count >= SHORTEST_SERIES]


def _far_wider(names: Sequence[str], features: FloatArray) -> tuple[str, ...]:
    """Return the columns that spread far wider than most; what is constant is not counted."""
    step = max(1, len(features) // SAMPLE_ROWS)
    with np.errstate(all="ignore"):  # of numbers that are not finite, which are refused later
        spread = features[::step].std(axis=0, dtype=np.float64)
        varying = spread[spread > 0]
        far = spread > FAR_WIDER * np.median(varying) if varying.size else np.zeros(0)
    found = tuple(names[place] for place in np.flatnonzero(far).tolist())
    return found if len(found) <= MOST_STRAYS * len(names) else ()


def _patterns_without(stray: set[Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return patterns that match all names but the stray ones; none if these are like others."""
    prefixes = [escape(prefix) for prefix in _series([name for name in names if name not in stray])]
    for ending in ("*", "[0-9]*"):
        patterns = tuple(prefix + ending for prefix in prefixes)
        chosen = {name for name in names if any(fnmatchcase(name, each) for each in patterns)}
        if chosen == set(names) - stray:
            return patterns
    return ()
