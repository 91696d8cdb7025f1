"""What a run is known by, and the record that it leaves.

A run is any frozen dataclass whose fields JSON can hold. The name of its class and its settings
are all that tells it from other runs: not when, where or in which order it was done.

Where runs come to record something else, by another trainer for instance, their class says so by a
`version: ClassVar[int]`, which is 1 where there is none. Records of another version are of another
kind: they are not taken for new ones, and their runs are done again.
"""

import hashlib
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Generic, TypeVar

from twohot._checks.messages import ArgumentError
from twohot.experiment.json_values import as_json, canonical

R = TypeVar("R")  # a run
T = TypeVar("T")  # its result

# Hexadecimal digits of an identity: among a million runs, two agree with a chance of 3e-8.
ID_DIGITS = 16


@dataclass(frozen=True)
class Record(Generic[R, T]):
    """A run that ended."""

    run: R
    result: T  # None where it failed
    error: str | None  # what it failed of
    cpu_seconds: float | None  # of the process that did it; None where nobody noted them
    wall_seconds: float | None
    versions: dict[str, str]  # of Python and of the packages that the result depends on


def kind_name(kind: type) -> str:
    """Return what runs of a class are called: its name, with the version from the second on."""
    version_number = getattr(kind, "version", 1)
    return kind.__name__ if version_number == 1 else f"{kind.__name__} {version_number}"


def kind_of(run: object) -> str:
    """Return what kind of run this is."""
    kind = type(run)
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise ArgumentError({"run": run}, "can change", "make its class a frozen dataclass.")
    return kind_name(kind)


def identity(run: object) -> str:
    """Return the text that stands for a run, the same in every process.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Fit:
    ...     data: str
    ...     ridge: float
    >>> identity(Fit("digits", 10)) == identity(Fit(ridge=10.0, data="digits"))
    True
    >>> identity(Fit("digits", 10))
    '0d8638a86344b9d3'
    """
    text = canonical({"kind": kind_of(run), "run": as_json(run)})
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of packages, of those that are installed."""
    found = {"Python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
