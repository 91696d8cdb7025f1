"""What the records say together: means over seeds, and paired differences."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from benchmarks.audit.discriminant import LDA
from benchmarks.audit.families import ONE_OF_GRID, OURS
from benchmarks.audit.logistic import CLEANED, PLAIN, TUNED
from benchmarks.audit.runs import AuditRecord, Score, Setting

RIVALS = (PLAIN, CLEANED, TUNED)  # what test accuracy is held against, and LDA where it was run


@dataclass(frozen=True)
class Mean:
    """A mean over seeds."""

    value: float
    error: float | None  # standard error; None of one seed
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Mean":
        error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
        return cls(fmean(values), error, len(values))


@dataclass(frozen=True)
class Difference:
    """A method less the best of its rivals, seed by seed."""

    setting: Setting
    rival: str  # the one with the larger mean over the same seeds
    mean: Mean

    def is_within(self, slack: float) -> bool:
        """Return whether it is not below by more than a slack or two standard errors."""
        return self.mean.value >= -max(slack, 2 * (self.mean.error or 0.0))


class Comparison:
    """The scores of all records, by setting, method and seed."""

    def __init__(self, records: Iterable[AuditRecord]) -> None:
        self.records = list(records)
        self._scores: dict[tuple[Setting, str], dict[int, Score]] = defaultdict(dict)
        for record in self.records:
            for method, score in record.result.outcome.scores.items():
                self._scores[record.run.setting, method][record.run.seed] = score
        for setting in self.settings:
            self._scores[setting, ONE_OF_GRID] = self._one_model(setting)

    @property
    def settings(self) -> list[Setting]:
        return list(dict.fromkeys(record.run.setting for record in self.records))

    def by_seed(self, setting: Setting, method: str, field: str) -> dict[int, float]:
        """Return one score of a method, by seed; empty if it was not measured."""
        scores = self._scores.get((setting, method), {})
        found = {seed: getattr(score, field) for seed, score in scores.items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def mean(self, setting: Setting, method: str, field: str) -> Mean | None:
        values = list(self.by_seed(setting, method, field).values())
        return Mean.of(values) if values else None

    def difference(
        self, setting: Setting, method: str, rivals: Sequence[str], field: str
    ) -> Difference | None:
        """Return a method less the best of its rivals, over the seeds that both of them have.

        Which is the best is decided on the seeds that all have.
        """
        ours = self.by_seed(setting, method, field)
        theirs = {rival: self.by_seed(setting, rival, field) for rival in rivals}
        seeds = set(ours).intersection(*theirs.values())
        if not seeds:
            return None
        best = max(rivals, key=lambda rival: fmean(theirs[rival][seed] for seed in seeds))
        both = sorted(set(ours).intersection(theirs[best]))
        paired = [ours[seed] - theirs[best][seed] for seed in both]
        return Difference(setting, best, Mean.of(paired))

    def accuracy_difference(self, setting: Setting) -> Difference | None:
        """Return the test accuracy of AutoProbe less that of the best rival."""
        has_lda = self.by_seed(setting, LDA, "accuracy")
        rivals = (*RIVALS, LDA) if has_lda else RIVALS
        return self.difference(setting, OURS, rivals, "accuracy")

    def _one_model(self, setting: Setting) -> dict[int, Score]:
        """Return the scores of the model that is best on average, of those tried with all seeds."""
        on_test = {
            record.run.seed: record.result.outcome.chosen["on_test"]
            for record in self.records
            if record.run.setting == setting and "on_test" in record.result.outcome.chosen
        }
        if not on_test:
            return {}
        tried = set.intersection(*(set(found) for found in on_test.values()))
        best = max(sorted(tried), key=lambda name: fmean(found[name] for found in on_test.values()))
        return {seed: Score(accuracy=found[best]) for seed, found in on_test.items()}

    def cpu(self, setting: Setting, families: Sequence[str], stages: Sequence[str]) -> Mean | None:
        """Return the seconds of all stages whose names begin so."""
        totals = [
            sum(
                s
                for stage, s in record.result.outcome.cpu.items()
                if stage.startswith(tuple(stages))
            )
            for record in self.records
            if record.run.setting == setting and record.run.family in families
        ]
        return Mean.of(totals) if totals else None

    def chosen(self, setting: Setting, family: str, key: str) -> list[object]:
        """Return what the runs of a family chose, without repetition, in order."""
        found = {
            record.result.outcome.chosen[key]
            for record in self.records
            if record.run.setting == setting
            and record.run.family == family
            and key in record.result.outcome.chosen
        }
        return sorted(found)
