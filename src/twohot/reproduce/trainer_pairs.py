"""The same models by two trainers: what SGD and the exact solver reach, and what each costs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import ROUNDS, TEACHER, TWO_HOT
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import titles
from twohot.reproduce.probe_run import FittedModel, ProbeResult
from twohot.reproduce.sgd_trainer import SgdResult, SgdRun

MODELS = (*ROUNDS, TWO_HOT)

# What a practitioner trains who wants the last round, and who wants the two-hot student.
ROUND_PATH, TWO_HOT_PATH = ROUNDS, (TEACHER, TWO_HOT)


@dataclass(frozen=True)
class TrainerPair:
    """Two trainers on the same labels."""

    data: str  # name of the data set
    run: SgdRun
    sgd: SgdResult
    exact: ProbeResult | None  # None where it is not finished


@dataclass(frozen=True)
class Cost:
    """What fits take."""

    cpu_seconds: float
    n_passes: float  # over all rows; an epoch is one

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu_seconds + other.cpu_seconds, self.n_passes + other.n_passes)

    def times(self, factor: float) -> "Cost":
        """Return the cost of so many."""
        return Cost(factor * self.cpu_seconds, factor * self.n_passes)


def trainer_pairs(results: Results, data: Sequence[DataSet]) -> Iterator[TrainerPair]:
    """Yield what both trainers recorded at the base penalty, by data set, noise rate and seed."""
    names = titles(data)
    base = {each.key: each.l2("base") for each in data}
    runs = [run for run in results if isinstance(run, SgdRun) and base.get(run.data) == run.l2]
    for run in sorted(runs, key=lambda run: (names[run.data], run.noise_rate, run.seed)):
        yield TrainerPair(names[run.data], run, results[run], results.get(run.exact))


def cost_of(models: Mapping[str, FittedModel], names: Iterable[str] = MODELS) -> Cost:
    """Return what some models took together."""
    chosen = [models[name] for name in names]
    return Cost(sum(each.cpu_seconds for each in chosen), sum(each.n_passes for each in chosen))


def rate_cost(result: SgdResult) -> Cost:
    """Return what the choice of SGD's rate took."""
    return Cost(result.grid_seconds, result.grid_epochs)


def mean_cost(costs: Sequence[Cost]) -> Cost:
    """Return the mean of some costs."""
    return sum(costs, start=Cost(0.0, 0.0)).times(1 / len(costs))
