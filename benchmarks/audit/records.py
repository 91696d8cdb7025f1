"""What a run is, and the one record that it leaves.

Records are lines of JSON, appended as runs end. A run whose record is there is not run again, and
the document is made from the records and from nothing else.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Setting:
    """Which labels a method is given."""

    data: str
    noise: str  # "symmetric", "asymmetric", "superclass" or "human"
    rate: float  # asked for; of human labels, the share that is wrong

    def __str__(self) -> str:
        return f"{self.noise} {self.rate:g}"


@dataclass(frozen=True)
class Run:
    """One family of methods on one draw of the labels."""

    setting: Setting
    seed: int  # of the noise and of the folds; human labels have no noise to draw
    family: str  # a key of `families.FAMILIES`


@dataclass(frozen=True)
class Score:
    """How one method did. None where it does not do such a thing."""

    accuracy: float | None = None  # on test rows
    precision: float | None = None  # of the rows it flags
    recall: float | None = None
    f1: float | None = None
    average_precision: float | None = None  # of its ranking of rows by label quality


@dataclass(frozen=True)
class Outcome:
    """What a family of methods hands back."""

    scores: dict[str, Score]  # by method
    cpu: dict[str, float]  # seconds of CPU by stage, one thread
    chosen: dict[str, Any]  # what was chosen from the noisy labels, and how the rest compared


@dataclass(frozen=True)
class Record:
    """A run that ended."""

    run: Run
    outcome: Outcome
    noise_rate: float  # share of the labels that is wrong in this draw
    outvoted: float  # share of the rows whose class is given another label more often than its own
    versions: dict[str, str]  # of what the result depends on


def append(record: Record, path: Path) -> None:
    """Add a line to a file; the file may not be there yet."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record)) + "\n")


def read(path: Path) -> list[Record]:
    """Return the records of a file, in the order they were written; none without a file."""
    if not path.is_file():
        return []
    return [_from_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


def unfinished(runs: Iterable[Run], records: Iterable[Record]) -> list[Run]:
    """Return the runs that have left no record, in their order."""
    finished = {record.run for record in records}
    return [run for run in runs if run not in finished]


def _from_json(line: str) -> Record:
    fields = json.loads(line)
    run, outcome = fields.pop("run"), fields.pop("outcome")
    setting = Setting(**run.pop("setting"))
    scores = {method: Score(**score) for method, score in outcome.pop("scores").items()}
    return Record(run=Run(setting, **run), outcome=Outcome(scores, **outcome), **fields)
