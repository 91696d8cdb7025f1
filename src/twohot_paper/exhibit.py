"""An exhibit, which is a figure or table of the paper: a TOML file, and a maker that draws it.

A maker is a frozen dataclass, registered under a name by `register`. It lists the runs that the
exhibit needs, and draws the exhibit from their results. The TOML file of an exhibit can set the
fields of its maker; other keys raise an error.
"""

import importlib
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias, TypeVar

from twohot.base import ArgumentError, first_few
from twohot_paper.data_set import DataSet, file_prefix
from twohot_paper.runs import from_json
from twohot_paper.table import Table

# Results of the finished runs, without failed and pending runs.
Results: TypeAlias = Mapping[Any, Any]


@dataclass(frozen=True, eq=False)
class Made:
    """The figures and tables of one exhibit, by file name without suffix."""

    figures: dict[str, Any] = field(default_factory=dict)  # matplotlib figures
    tables: dict[str, Table] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # notes for readers, for instance on missing runs
    subject: str = ""  # the data and the noise, if the title of the exhibit does not name them


class Maker(ABC):
    """Base class of makers, which list the runs of a figure and draw it from their results."""

    def runs(self, data: Sequence[DataSet]) -> list[Any]:
        """Return the runs that are needed on the available datasets, the most important first."""
        del data
        return []  # this maker needs no runs

    @abstractmethod
    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Return the figures and tables of the finished runs."""


@dataclass(frozen=True)
class RunKind:
    """A class of runs, with the function that measures a run and the type of its results."""

    run: type
    result: type
    measure: Callable[[Any, Mapping[str, str]], Any]  # called with a run and paths by dataset key


M = TypeVar("M", bound=type[Maker])

MAKERS: dict[str, type[Maker]] = {}
RUN_KINDS: dict[type, RunKind] = {}


def register(name: str) -> Callable[[M], M]:
    """Register a maker under its name in TOML files."""

    def add(maker: M) -> M:
        MAKERS[name] = maker
        return maker

    return add


def register_runs(kind: RunKind) -> None:
    """Register a class of runs."""
    RUN_KINDS[kind.run] = kind


# The TOML file of an exhibit, named after the label in the paper; its keys are those of `Exhibit` -


MAKERS_IN = ("grid_makers", "structure", "synthetic_makers", "synthetic_outputs")

NEEDS = ("nothing", "features", "two backbones")

# Pattern of the numbers of figures and tables, in the paper and in names that users type.
NUMBERED = r"(fig(?:ure)?|tab(?:le)?)[.\s]*(\d+[a-z]?)(?![a-z\d])"

# Names of groups of exhibits.
GROUPS = ("synthetic", "real", "all")


@dataclass(frozen=True)
class Exhibit:
    """The content of a TOML file."""

    id: str  # "fig:acc_gain": the paper's label, or another name for additional exhibits
    title: str
    place: str  # "Figure 3a", or "not in the paper"
    needs: str  # one of NEEDS
    minutes: float  # estimated minutes on one core; per dataset if features are needed
    maker: str  # a name in MAKERS
    settings: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def file_name(self) -> str:
        """The id as the name of files, without suffix."""
        return self.id.replace(":", "-")

    @property
    def data_sets(self) -> tuple[str, ...]:
        """Datasets of the paper, one of which is required; empty if any dataset is enough."""
        return tuple(self.settings.get("data_sets", ()))

    @property
    def needs_words(self) -> str:
        """The required data as text, for instance "CIFAR-100 features"."""
        return f"{listed(self.data_sets, 'or')} features" if self.data_sets else self.needs

    @property
    def lacks_words(self) -> str:
        """The names of the required feature files, for an error message."""
        begins = listed([file_prefix(name) for name in self.data_sets], "or")
        return f"{self.needs_words}, a file whose name starts with {begins}"

    def on_any_features(self) -> "Exhibit | None":
        """Return the exhibit that shows the same figure for features of any dataset, or None."""
        others = {key: value for key, value in self.settings.items() if key != "data_sets"}
        same = (each for each in exhibits() if each.maker == self.maker and each.id != self.id)
        return next((each for each in same if each.settings == others), None)

    def build(self) -> Maker:
        """Return the maker with its settings."""
        load_makers()
        maker: Maker = _checked(self.file_name, MAKERS[self.maker], self.settings)
        return maker


@cache
def exhibits() -> tuple[Exhibit, ...]:
    """Return all figures and tables, in the order of their files."""
    folder = files("twohot_paper") / "exhibits"
    found = {entry.name: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return tuple(
        read_exhibit(name.removesuffix(".toml"), found[name].read_text("utf-8"))
        for name in sorted(found)
    )


def read_exhibit(name: str, text: str) -> Exhibit:
    """Return the exhibit in the text of a TOML file; raise an error for invalid keys or values."""
    load_makers()
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError("", f"{name}.toml is not TOML: {error}") from error
    exhibit: Exhibit = _checked(name, Exhibit, values)
    for key, allowed in (("maker", sorted(MAKERS)), ("needs", NEEDS)):
        if (value := getattr(exhibit, key)) not in allowed:
            problem = f"{name}.toml has {key} = {value!r}"
            raise ArgumentError("", problem, f"use one of {first_few(allowed, len(allowed))}.")
    exhibit.build()
    return exhibit


def choose_exhibits(names: Sequence[str]) -> list[Exhibit]:
    """Return the exhibits that the names stand for.

    A name is an id, a place in the paper ("Figure 3a", or "Figure 3" for 3a and 3b), or a group:
    synthetic, real or all.

    Examples
    --------
    >>> [exhibit.id for exhibit in choose_exhibits(["Figure 4", "fig. 3"])]
    ['fig:real_gain', 'fig:acc_gain', 'fig:clean_noisy_output']
    """
    chosen: dict[str, Exhibit] = {}
    for name in names:
        found = [each for each in exhibits() if _is_called(each, name)]
        if not found:
            raise ArgumentError(
                "", f"{name!r} is not a figure or table of the paper", _nearest(name)
            )
        chosen |= {each.id: each for each in found}
    return list(chosen.values())


@cache
def load_makers() -> None:
    """Import every module of makers to register them."""
    for name in MAKERS_IN:
        importlib.import_module(f"twohot_paper.{name}")


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as text, for instance "cats, dogs and owls"."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _is_called(exhibit: Exhibit, name: str) -> bool:
    if name in GROUPS:
        return name == "all" or (exhibit.needs == "nothing") == (name == "synthetic")
    of_place, number = _number(exhibit.place), _number(name)
    return name == exhibit.id or (bool(number) and number in {of_place, of_place.rstrip("abc")})


def _number(place: str) -> str:
    """Return the figure or table that a text starts with, for instance "figure 3a", or ""."""
    found = re.match(NUMBERED, place.strip(), re.IGNORECASE)
    return f"{'figure' if found[1][0] in 'fF' else 'table'} {found[2].lower()}" if found else ""


def _nearest(name: str) -> str:
    """Return advice on an unknown name: similar ids and places in the paper."""
    known = {group: group for group in GROUPS}
    for exhibit in exhibits():
        known[exhibit.id.lower()] = exhibit.id
        if number := _number(exhibit.place):
            known.setdefault(number, f"{number.capitalize()} ({exhibit.id})")
    near = get_close_matches(_number(name) or name.lower(), known, n=3, cutoff=0.4)
    advice = f"did you mean {' or '.join(known[each] for each in near)}? " if near else ""
    return f"{advice}`twohot reproduce list` shows all names."


def _checked(name: str, kind: Any, values: dict[str, Any]) -> Any:
    try:
        return from_json(kind, values)
    except ArgumentError as error:
        raise ArgumentError("", f"{name}.toml: {error}") from error
