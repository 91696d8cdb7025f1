"""What a run is, and what comes of it. The page is made from records of these alone."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from twohot.experiment import Record


@dataclass(frozen=True)
class Setting:
    """Which labels a method is given."""

    data: str
    # "symmetric", "asymmetric", "superclass", "pair", "uniform", "idn", "human" or "clean"; of some
    # rows only, with "few, " or "tail, " before it
    noise: str
    rate: float  # asked for; of human labels, the share that is wrong

    def __str__(self) -> str:
        return f"{self.noise} {self.rate:g}" if self.rate else self.noise

    @property
    def kind(self) -> str:
        """What the labels of the rows are like."""
        return self.noise.rpartition(", ")[2]

    @property
    def thinning(self) -> str:
        """Which of the rows there are: "few" or "tail", or empty for all."""
        return self.noise.rpartition(", ")[0]


@dataclass(frozen=True)
class AuditRun:
    """One family of methods on one draw of the labels."""

    setting: Setting
    seed: int  # of generated rows, of which rows are kept, of the noise and of the folds
    family: str  # a key of `families.FAMILIES`

    def __str__(self) -> str:
        return f"{self.setting.data}, {self.setting}, seed {self.seed}, {self.family}"


@dataclass(frozen=True)
class Score:
    """How one method did. None where it does not do such a thing, or where nothing can be said."""

    accuracy: float | None = None  # on test rows
    precision: float | None = None  # of the rows it flags
    recall: float | None = None
    f1: float | None = None
    average_precision: float | None = None  # of its ranking of rows by label quality
    flagged: float | None = None  # share of the rows it flags; older records do not have it


@dataclass(frozen=True)
class Outcome:
    """What a family of methods hands back."""

    scores: dict[str, Score]  # by method
    cpu: dict[str, float]  # seconds of CPU by stage, one thread
    chosen: dict[str, Any]  # what was chosen from the noisy labels, and how the rest compared


@dataclass(frozen=True)
class AuditResult:
    """The outcome of a run, and the labels it had to do with."""

    outcome: Outcome
    noise_rate: float  # share of the labels that is wrong in this draw
    outvoted: float  # share of the rows whose class is given another label more often than its own


AuditRecord: TypeAlias = Record[AuditRun, AuditResult]
