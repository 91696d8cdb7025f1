"""Runs of experiments: their records as JSON, one log of them, and a plan that can be resumed."""

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import MISSING, dataclass, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, BinaryIO, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from twohot.base import ArgumentError, first_few


def as_json(value: object) -> Any:
    """Return a record, or any value that it is made of, as JSON has it.

    Examples
    --------
    >>> as_json({"rounds": (1, 2), "score": None})
    {'rounds': [1, 2], 'score': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    is_number = isinstance(value, float) and math.isfinite(value)
    if value is None or isinstance(value, str | int) or is_number:
        return value
    problem = f"{value!r} of type {type(value).__name__} is no value of JSON"
    advice = "write it as a number, a text, None, or a list or dict of them."
    raise ArgumentError("", problem, advice)


def canonical(value: object) -> str:
    """Return the one text of a value, whatever the order of its fields.

    Examples
    --------
    >>> canonical({"seed": 0, "ridge": 10.0}) == canonical({"ridge": 10, "seed": 0})
    True
    """
    whole = json.loads(json.dumps(as_json(value)), parse_float=_number)
    return json.dumps(whole, sort_keys=True, separators=(",", ":"))


def from_json(kind: Any, value: Any) -> Any:
    """Return the value of a type that `as_json` made this of.

    Parameters
    ----------
    kind : type
        A dataclass; str, int, float, bool, None, a choice among them (`int | None`) or Any; or
        `list[…]`, `tuple[…]` or `dict[str, …]` of any of these.
    value : object
        A value of JSON (or of TOML).

    Examples
    --------
    >>> from_json(tuple[float, ...], [1, 2.5])
    (1.0, 2.5)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value)
    if origin in (Union, UnionType) and NoneType in parts and len(parts) == 2:
        (other,) = (part for part in parts if part is not NoneType)
        return None if value is None else from_json(other, value)
    if origin is dict and isinstance(value, dict):
        return {key: from_json(parts[1], each) for key, each in value.items()}
    if origin in (list, tuple) and isinstance(value, list):
        each_kind = parts if origin is tuple and parts[-1] is not ... else parts[:1] * len(value)
        return origin(from_json(*pair) for pair in zip(each_kind, value, strict=True))
    if kind is float and isinstance(value, int):
        return float(value)
    if kind is Any or (origin in (None, UnionType) and isinstance(value, kind)):
        return value
    name = kind.__name__ if isinstance(kind, type) and origin is None else str(kind)
    raise ArgumentError("", f"{value!r} is no {name}")


def _record(kind: Any, value: dict[str, Any]) -> Any:
    required = {
        field.name: field.default is MISSING and field.default_factory is MISSING
        for field in fields(kind)
    }
    unknown = [name for name in value if name not in required]
    missing = [name for name, needed in required.items() if needed and name not in value]
    if unknown or missing:
        found = [("does not know", unknown), ("lacks", missing)]
        wrong = " and ".join(f"{what} {first_few(names)}" for what, names in found if names)
        advice = f"its fields are {first_few(required, len(required))}."
        raise ArgumentError("", f"{kind.__name__} {wrong}", advice)
    hints = get_type_hints(kind)
    return kind(**{name: from_json(hints[name], each) for name, each in value.items()})


def _number(text: str) -> float:
    """Read 10.0 as 10: they are equal, so the two must have the same text."""
    number = float(text)
    return int(number) if number.is_integer() else number


# What a run is known by, and the record that it leaves --------------------------------------------


# What a run is known by, and the record that it leaves --------------------------------------------
# A run is any frozen dataclass whose fields JSON can hold. The name of its class and its settings
# are all that tells it from other runs: not when, where or in which order it was done.
#
# Where runs come to record something else, by another trainer for instance, their class says so by
# a `version: ClassVar[int]`, which is 1 where there is none. Records of another version are of
# another kind: they are not taken for new ones, and their runs are done again.


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
    cpu_seconds: float | None  # of the process that did it; None if they were not recorded
    wall_seconds: float | None
    versions: dict[str, str]  # of Python and of the packages that the result depends on


def kind_name(kind: type) -> str:
    """Return what runs of a class are called: its name, with the version from the second on."""
    version_number = getattr(kind, "version", 1)
    return kind.__name__ if version_number == 1 else f"{kind.__name__} {version_number}"


def identity(run: object) -> str:
    """Return the text that identifies a run, the same in every process.

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
    parameters = getattr(type(run), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise ArgumentError({"run": run}, "can change", "make its class a frozen dataclass.")
    text = canonical({"kind": kind_name(type(run)), "run": as_json(run)})
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


# A file with one line of JSON for every run that ended --------------------------------------------
# Lines are only ever appended, each in one piece and down to the disk, so a kill tears at most the
# last one. A torn line is not read, and is cut off before the next one is written.


FORMAT = 1
KEYS = {"format", "id", "kind", *(field.name for field in fields(Record))}
OPENING = b'{"format": '  # of every line: distinguishes a torn line from a file of another kind


class Log:
    """The records in a file of JSON lines, which may not be there yet.

    Runs whose lines are removed by hand are done again.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Square:
    ...     number: int
    >>> log = Log("runs.jsonl")
    >>> log.append(Record(Square(3), 9, None, 0.1, 0.1, {}))
    >>> [(record.run, record.result) for record in log.finished(Square, int)]
    [(Square(number=3), 9)]
    >>> unfinished([Square(3), Square(4)], log)
    [Square(number=4)]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def append(self, record: Record[Any, Any]) -> None:
        """Write a record down; on return it is on the disk."""
        head = {"format": FORMAT, "id": identity(record.run), "kind": kind_name(type(record.run))}
        line = json.dumps(head | as_json(record)).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            self._mend(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def records(self, run: type[R], result: type[T]) -> list[Record[R, T]]:
        """Return the records of one class of runs in the order of the file, the failed ones too.

        Results are read as a dataclass, or any type that `from_json` knows.
        """
        return self._records({run: result})

    def finished(self, run: type[R], result: type[T]) -> list[Record[R, T]]:
        """Return the last record of every run of one kind, of those that did not fail."""
        return self.finished_of_kinds({run: result})

    def finished_of_kinds(self, results: Mapping[type, type]) -> list[Record[Any, Any]]:
        """Return the same for several classes of runs, with the type of the results of each."""
        records = (record for record in self._records(results) if record.error is None)
        return list({identity(record.run): record for record in records}.values())

    def identities(self) -> set[str]:
        """Return the identities of the runs of all kinds that did not fail."""
        return {line["id"] for line in self._lines() if line["error"] is None}

    def _lines(self) -> Iterator[dict[str, Any]]:
        content = self.path.read_bytes() if self.path.is_file() else b""
        for number, text in enumerate(content[: self._whole(content)].splitlines(), start=1):
            if not text.strip():  # left behind where lines were removed
                continue
            line = _parsed(text)
            if line.get("format", FORMAT) != FORMAT:
                raise self._refusal(f"line {number} is of format {line['format']}, not {FORMAT}")
            if not line.keys() >= KEYS:
                raise self._refusal(f"line {number} is no record of a run")
            yield line

    def _records(self, results: Mapping[type, type]) -> list[Record[Any, Any]]:
        kinds = {kind_name(run): (run, result) for run, result in results.items()}
        return [
            self._record(line, *kinds[line["kind"]])
            for line in self._lines()
            if line["kind"] in kinds
        ]

    def _record(self, line: dict[str, Any], run: type[R], result: type[T]) -> Record[R, T]:
        parts = {field.name: line[field.name] for field in fields(Record)}
        try:
            parts["run"] = from_json(run, line["run"])
            if line["error"] is None:
                parts["result"] = from_json(result, line["result"])
        except ArgumentError as error:
            raise self._refusal(f"run {line['id']} was recorded otherwise: {error}") from error
        return Record(**parts)

    def _whole(self, content: bytes) -> int:
        """Return how many bytes are whole records; a torn one may follow."""
        end = content.rfind(b"\n") + 1
        last = content[end:]
        if _parsed(last):  # all but the end of the line is there
            return len(content)
        if not (last.startswith(OPENING) or OPENING.startswith(last)):
            raise self._refusal("its last line is no record of a run")
        return end

    def _mend(self, file: BinaryIO) -> None:
        """Cut off a torn line; end one that lacks nothing but its end."""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        if file.read() not in (b"", b"\n"):
            file.seek(0)
            whole = self._whole(file.read())
            file.truncate(whole)
            file.write(b"\n" * (whole == size))

    def _refusal(self, problem: str) -> ArgumentError:
        advice = "name another log, or move this one away; it was left as it is."
        return ArgumentError("", f"{self.path} cannot be used, {problem}", advice)


def unfinished(plan: Iterable[R], log: Log) -> list[R]:
    """Return the runs of a plan that have not finished, each once, in their order."""
    finished = log.identities()
    waiting = {identity(run): run for run in plan}
    return [run for name, run in waiting.items() if name not in finished]


def _parsed(text: bytes) -> dict[str, Any]:
    """Return the object that a line holds, an empty one if it holds none, or part of one."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


PACKAGES = ("twohot", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Progress:
    """What a callback is given after every run."""

    n_done: int
    n_runs: int  # to do in all, those that had a record not counted
    record: Record[Any, Any]  # of the run that ended


def run_plan(
    plan: Iterable[R],
    log: Log,
    measure: Callable[[R], Any],
    *,
    n_jobs: int | None = 1,
    packages: Iterable[str] = PACKAGES,
    callback: Callable[[Progress], object] | None = None,
) -> list[Record[R, Any]]:
    """Do what is unfinished and append a record of each run as it ends.

    Stopped at any moment, all records are kept but those of the runs in hand. A run that raises is
    recorded as failed, does not keep the others from being done, and is tried again the next time.

    Parameters
    ----------
    plan : iterable of frozen dataclasses
        The runs, the most wanted first.
    log : Log
        Where the records are, and go to.
    measure : callable
        Takes a run and returns its result, which JSON can hold. BLAS has one thread, so that
        results are the same for every `n_jobs`; it may set another number for itself.
    n_jobs : int, optional
        How many processes work at once, as joblib counts them; 1 works in this one.
    packages : iterable of str
        Whose versions the records carry.
    callback : callable, optional
        Called with a `Progress` after every run.

    Returns the records of this call, in the order in which they ended.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Square:
    ...     number: int
    >>> def measure(run):
    ...     return run.number**2
    >>> log, plan = Log("runs.jsonl"), [Square(2), Square(3)]
    >>> _ = run_plan(plan, log, measure, callback=lambda progress: print(progress.n_done))
    1
    2
    >>> [record.result for record in log.finished(Square, int)]
    [4, 9]
    >>> run_plan(plan, log, measure)
    []
    """
    waiting = unfinished(plan, log)
    versions = versions_of(packages)
    # Batches of one, handed back as they end: a batch is what a kill would lose.
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    done: list[Record[R, Any]] = []
    attempts = parallel(delayed(_attempt)(run, measure, versions) for run in waiting)
    with closing(attempts):
        for record in attempts:
            log.append(record)
            done.append(record)
            if callback is not None:
                callback(Progress(len(done), len(waiting), record))
    return done


def _attempt(run: R, measure: Callable[[R], Any], versions: dict[str, str]) -> Record[R, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    result, error = None, None
    try:
        with threadpool_limits(1):
            result = measure(run)
        as_json(result)  # what JSON cannot hold is a failure of this run, not of the log
    except Exception as raised:  # noqa: BLE001 - any failure of a run is its result
        result, error = None, f"{type(raised).__name__}: {raised}"
    return Record(
        run, result, error, time.process_time() - cpu, time.perf_counter() - wall, versions
    )
