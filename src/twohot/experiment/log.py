"""A file with one line of JSON for every run that ended.

Lines are only ever appended, each in one piece and down to the disk, so a kill tears at most the
last one. A torn line is not read, and is cut off before the next one is written.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

from twohot._checks.messages import ArgumentError
from twohot.experiment.json_values import as_json, from_json
from twohot.experiment.record import R, Record, T, identity, kind_name, kind_of

FORMAT = 1
KEYS = {"format", "id", "kind", *(field.name for field in fields(Record))}
OPENING = b'{"format": '  # of every line: it tells a torn one from a file of another kind


class Log:
    """The records in a file; the file may not be there yet.

    Parameters
    ----------
    path : path
        The file, JSON lines. Runs whose lines are removed by hand are done again.

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
        head = {"format": FORMAT, "id": identity(record.run), "kind": kind_of(record.run)}
        line = json.dumps(head | as_json(record)).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            self._mend(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def records(self, run: type[R], result: type[T]) -> list[Record[R, T]]:
        """Return the records of one kind of run in the order of the file, the failed ones too.

        Parameters
        ----------
        run : type
            The class of the runs.
        result : type
            What their results are read as: a dataclass, or any type that `from_json` knows.
        """
        return self._records({run: result})

    def finished(self, run: type[R], result: type[T]) -> list[Record[R, T]]:
        """Return the last record of every run of one kind, of those that did not fail."""
        return self.finished_of_kinds({run: result})

    def finished_of_kinds(self, results: Mapping[type, type]) -> list[Record[Any, Any]]:
        """Return what `finished` does, for several kinds of run in one reading of the file.

        Parameters
        ----------
        results : mapping
            The classes of the runs, with what the results of each are read as.
        """
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
        if file.read() in (b"", b"\n"):
            return
        file.seek(0)
        whole = self._whole(file.read())
        if whole == size:
            file.write(b"\n")
        else:
            file.truncate(whole)

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
