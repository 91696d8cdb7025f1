"""What makes a figure or table: the runs that it needs, and what is drawn from their results.

A maker is a frozen dataclass. Its fields are the keys that the TOML file of a figure may set, so
that a misspelt key is refused. It is registered under a name by `register`; a new maker is a new
module in `twohot_paper`.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from twohot_paper.data_set import DataSet
from twohot_paper.table import Table

# Results of the finished runs; a run that failed or is still to be done is not there.
Results: TypeAlias = Mapping[Any, Any]


@dataclass(frozen=True, eq=False)
class Made:
    """What is shown: figures and tables by the names of their files, without suffixes."""

    figures: dict[str, Any] = field(default_factory=dict)  # matplotlib figures
    tables: dict[str, Table] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a reader must know, missing runs for instance
    subject: str = ""  # data and noise, where the title of the exhibit does not tell


class Maker(ABC):
    """Base of the makers."""

    def runs(self, data: Sequence[DataSet]) -> list[Any]:
        """Return the runs that are needed on the data sets at hand, the most wanted first."""
        del data
        return []  # of what is computed in no time

    @abstractmethod
    def make(self, results: Results, data: Sequence[DataSet]) -> Made:
        """Return the figures and tables, of the runs that are finished."""


@dataclass(frozen=True)
class RunKind:
    """How runs of one class are measured, and what their results are read as."""

    run: type
    result: type
    measure: Callable[[Any, Mapping[str, str]], Any]  # of a run and the paths of data sets by key


M = TypeVar("M", bound=type[Maker])

MAKERS: dict[str, type[Maker]] = {}
RUN_KINDS: dict[type, RunKind] = {}


def import_modules(names: Sequence[str]) -> None:
    """Import modules of this package, which register what they hold."""
    for name in names:
        importlib.import_module(f"twohot_paper.{name}")


def register(name: str) -> Callable[[M], M]:
    """Register a maker under the name by which TOML files call it."""

    def add(maker: M) -> M:
        MAKERS[name] = maker
        return maker

    return add


def register_runs(kind: RunKind) -> None:
    """Register a class of runs."""
    RUN_KINDS[kind.run] = kind
