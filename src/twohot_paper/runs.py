"""Run experiments that can be resumed: settings and results as JSON records in a log."""

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
    """Return a dataclass, or the value of a field, in types that the module json can write.

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
    problem = f"{value!r} of type {type(value).__name__} is not a JSON value"
    advice = "use finite numbers, texts, None, and lists or dicts of these types."
    raise ArgumentError("", problem, advice)


def canonical(value: object) -> str:
    """Return a JSON text of a value; the text does not depend on the order of keys.

    Examples
    --------
    >>> canonical({"seed": 0, "ridge": 10.0}) == canonical({"ridge": 10, "seed": 0})
    True
    """
    whole = json.loads(json.dumps(as_json(value)), parse_float=_number)
    return json.dumps(whole, sort_keys=True, separators=(",", ":"))


def from_json(kind: Any, value: Any) -> Any:
    """Return the value of type `kind` that `as_json` converted to `value`.

    Parameters
    ----------
    kind : type
        A dataclass, str, int, float, bool or Any; one of these or None (`int | None`); or
        `list[…]`, `tuple[…]` or `dict[str, …]` of these types.
    value : object
        A JSON (or TOML) value.

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
    raise ArgumentError("", f"{value!r} is not of type {name}")


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
        advice = f"the fields of {kind.__name__} are {first_few(required, len(required))}."
        raise ArgumentError("", f"{kind.__name__} {wrong}", advice)
    hints = get_type_hints(kind)
    return kind(**{name: from_json(hints[name], each) for name, each in value.items()})


def _number(text: str) -> float:
    """Return a float; whole floats become integers, so that equal numbers have equal text."""
    number = float(text)
    return int(number) if number.is_integer() else number


# Identity and record of a run ---------------------------------------------------------------------
# A run is any frozen dataclass whose fields can be written as JSON. The name of its class and the
# values of its fields identify a run; the time, place and order of execution do not.
#
# If the records of a class change, for instance with another trainer, increase the field `version:
# ClassVar[int]` of the class (default 1). Records of another version are not reused, so their runs
# are repeated.


R = TypeVar("R")  # a run
T = TypeVar("T")  # its result

# Hexadecimal digits of an identity: a million runs have a collision with probability 3e-8.
ID_DIGITS = 16


@dataclass(frozen=True)
class Record(Generic[R, T]):
    """The record of a run that ended."""

    run: R
    result: T  # None if it failed
    error: str | None  # the error, if it failed
    cpu_seconds: float | None  # CPU time of the process during the run; None if not recorded
    wall_seconds: float | None
    versions: dict[str, str]  # versions of Python and of packages that the result depends on


def kind_name(kind: type) -> str:
    """Return the name of a class of runs, with its version if that is above 1."""
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
        raise ArgumentError({"run": run}, "is mutable", "make its class a frozen dataclass.")
    text = canonical({"kind": kind_name(type(run)), "run": as_json(run)})
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of `packages`; some may be "not installed"."""
    found = {"Python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


# A file with one line of JSON for every run that ended --------------------------------------------
# A line is appended in one write and flushed to disk. So if the process is killed, at most the last
# line is truncated. A truncated line is ignored, and removed before the next write.


FORMAT = 1
KEYS = {"format", "id", "kind", *(field.name for field in fields(Record))}
OPENING = b'{"format": '  # start of every line, to distinguish truncated lines from other files


class Log:
    """The records in a file of JSON lines. The file need not exist yet.

    To repeat a run, remove its line from the file.

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
        """Append a record, and flush it to disk."""
        head = {"format": FORMAT, "id": identity(record.run), "kind": kind_name(type(record.run))}
        line = json.dumps(head | as_json(record)).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            self._mend(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def records(self, results: Mapping[type, type]) -> list[Record[Any, Any]]:
        """Return the records in the order of the file, including failures.

        `results` has the type of the result for each class of runs; `from_json` must support it.
        """
        kinds = {kind_name(run): (run, result) for run, result in results.items()}
        return [
            self._record(line, *kinds[line["kind"]])
            for line in self._lines()
            if line["kind"] in kinds
        ]

    def finished_of_kinds(self, results: Mapping[type, type]) -> list[Record[Any, Any]]:
        """Return the last successful record of every run of these classes."""
        records = (record for record in self.records(results) if record.error is None)
        return list({identity(record.run): record for record in records}.values())

    def finished(self, run: type[R], result: type[T]) -> list[Record[R, T]]:
        """Return the last successful record of every run of one class."""
        return self.finished_of_kinds({run: result})

    def identities(self) -> set[str]:
        """Return the identities of all successful runs."""
        return {line["id"] for line in self._lines() if line["error"] is None}

    def _lines(self) -> Iterator[dict[str, Any]]:
        content = self.path.read_bytes() if self.path.is_file() else b""
        for number, text in enumerate(content[: self._whole(content)].splitlines(), start=1):
            if not text.strip():  # an empty line, perhaps left by an editor
                continue
            line = _parsed(text)
            if line.get("format", FORMAT) != FORMAT:
                found = f"line {number} has format {line['format']}"
                raise self._refusal(f"{found}, but this version reads format {FORMAT}")
            if not line.keys() >= KEYS:
                raise self._refusal(f"line {number} is not the record of a run")
            yield line

    def _record(self, line: dict[str, Any], run: type[R], result: type[T]) -> Record[R, T]:
        parts = {field.name: line[field.name] for field in fields(Record)}
        try:
            parts["run"] = from_json(run, line["run"])
            if line["error"] is None:
                parts["result"] = from_json(result, line["result"])
        except ArgumentError as error:
            raise self._refusal(
                f"the record of run {line['id']} has an unexpected form: {error}"
            ) from error
        return Record(**parts)

    def _whole(self, content: bytes) -> int:
        """Return the number of bytes before a truncated last record."""
        end = content.rfind(b"\n") + 1
        last = content[end:]
        if _parsed(last):  # only the end of the line is missing
            return len(content)
        if not (last.startswith(OPENING) or OPENING.startswith(last)):
            raise self._refusal("the last line is not the record of a run")
        return end

    def _mend(self, file: BinaryIO) -> None:
        """Remove a truncated line; complete a line that lacks only its end."""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        if file.read() not in (b"", b"\n"):
            file.seek(0)
            whole = self._whole(file.read())
            file.truncate(whole)
            file.write(b"\n" * (whole == size))

    def _refusal(self, problem: str) -> ArgumentError:
        advice = "pass another log, or move this file away; the file was not changed."
        return ArgumentError("", f"{self.path} cannot be used, because {problem}", advice)


def unfinished(plan: Iterable[R], log: Log) -> list[R]:
    """Return the runs of a plan that are not in the log, in order and without repetition."""
    finished = log.identities()
    waiting = {identity(run): run for run in plan}
    return [run for name, run in waiting.items() if name not in finished]


def _parsed(text: bytes) -> dict[str, Any]:
    """Return the JSON object in a line, or an empty dict if the line is invalid or truncated."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


PACKAGES = ("twohot", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Progress:
    """Counts of runs, passed to the callback after every run."""

    n_done: int
    n_runs: int  # number of runs that were unfinished at the start
    record: Record[Any, Any]  # record of the run that ended


def run_plan(
    plan: Iterable[R],
    log: Log,
    measure: Callable[[R], Any],
    *,
    n_jobs: int | None = 1,
    packages: Iterable[str] = PACKAGES,
    callback: Callable[[Progress], object] | None = None,
) -> list[Record[R, Any]]:
    """Run the unfinished runs of a plan, and append a record of each run when it ends.

    An interruption loses only the current runs. A run that raises an error is recorded as failed.
    It does not stop the other runs, and the next call repeats it.

    Parameters
    ----------
    plan : iterable of frozen dataclasses
        The runs, the most important first.
    log : Log
        The log that is read and extended.
    measure : callable
        Function that takes a run and returns its result, which must be writable as JSON. BLAS uses
        one thread, so that results do not depend on `n_jobs`. The function can set another number.
    n_jobs : int, optional
        Number of processes, as in joblib; 1 uses the current process.
    packages : iterable of str
        Packages whose versions are recorded.
    callback : callable, optional
        Called with a `Progress` after every run.

    Returns
    -------
    list of Record
        The records of this call, in the order in which the runs ended.

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
    # A batch has one run, because a batch is lost if the process is killed.
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
        as_json(result)  # raises an error if the result cannot be written as JSON
    except Exception as raised:  # noqa: BLE001 - the record of the run has the error
        result, error = None, f"{type(raised).__name__}: {raised}"
    return Record(
        run, result, error, time.process_time() - cpu, time.perf_counter() - wall, versions
    )
