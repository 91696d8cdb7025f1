"""What is simulated: one run for every line of a table, with the settings that it needs."""

from dataclasses import dataclass
from typing import ClassVar

from benchmarks.audit.plan import SETS, Setting

# Sets of the regret protocol. Two of them draw their classes anew; they add nothing here.
LIST_SETS = [name for name, known in SETS.items() if not known.drawn_from]
LIST_NOISES = (("none", 0.0), ("symmetric", 0.3), ("pair", 0.3), ("boundary", 0.1))
PEOPLE_SETS = ("davidson", "labelme", "cifar100")
DRAWN = ("symmetric", "pair", "superclass")  # noise that a list can find
LIST_DRAWS, MORE_DRAWS = 200, 1_000
# Two sets with each of three noises are drawn more often: the simultaneous bound is judged there.
MORE_DRAWN = {
    (data, noise) for data in ("digits", "banking77") for noise in ("none", "symmetric", "pair")
}
# The cell of these in which the bound was missed most often, again with fresh draws.
REPEATED, REPEATED_DRAWS = ("banking77", "pair", 0.3), 10_000
RATES, CHECKED = (0.05, 0.1, 0.2), (100, 300)

COVERAGE_ROWS, COVERAGE_REVIEWS = 1_000, 500
# The order in which the bound was missed most often, again with fresh reviews.
REPEATED_ORDER, REPEATED_REVIEWS = ("random looks only", 100), 5_000
COST_SETS, COST_REVIEWS, RANDOM_REVIEWS = ("banking77", "caltech101", "flowers102"), 100, 3
COST_RATE, COST_TARGET = 0.2, 0.01
ERRING_SET, ERROR_RATE, ERRING_REVIEWS = "banking77", 0.02, 20


@dataclass(frozen=True)
class ListRun:
    """Lists of one audit, for many draws of the rows to check."""

    what: ClassVar[str] = "lists"
    setting: Setting
    n_draws: int

    def __str__(self) -> str:
        return f"{self.setting}, {self.n_draws} draws"


@dataclass(frozen=True)
class CoverageRun:
    """Reviews of a few rows to the last one, the bound compared with the truth at every look."""

    what: ClassVar[str] = "coverage"
    order: str  # a key of `reviews.ORDERS`
    n_wrong: int
    n_reviews: int = COVERAGE_REVIEWS
    first_seed: int = 0

    def __str__(self) -> str:
        return f"{self.order}, {self.n_wrong} wrong, {self.n_reviews} reviews"


@dataclass(frozen=True)
class CostRun:
    """Reviews of one audit until the target, by one rule of which row comes next."""

    what: ClassVar[str] = "cost"
    data: str
    rule: str  # "list first" or "random order"
    n_reviews: int

    def __str__(self) -> str:
        return f"{self.data}, {self.rule}"


@dataclass(frozen=True)
class ErringRun:
    """Reviews by a person who errs, until the target."""

    what: ClassVar[str] = "erring"
    confirms: bool  # a second look at every repair, a third one decides
    error_rate: float = ERROR_RATE
    n_reviews: int = ERRING_REVIEWS

    def __str__(self) -> str:
        return f"{self.error_rate:.0%} errors, {'with' if self.confirms else 'no'} confirmation"


Run = ListRun | CoverageRun | CostRun | ErringRun
COVERAGE = (
    ("good doubts", 100),
    ("good doubts", 0),
    ("good doubts", 8),
    ("good doubts", 500),
    ("shuffled doubts", 100),
    ("reversed doubts", 100),
    ("half of the errors hidden at the end", 100),
    ("right labels chosen first, with hindsight", 100),
    ("wrong labels chosen first, with hindsight", 100),
    ("draws only when the bound is near", 100),
    ("random looks only", 100),
    ("random looks only", 8),
)


def runs() -> list[Run]:
    """Return all runs, the cheap ones of each table first."""
    return [
        *(_list_run(name, noise, rate) for name in LIST_SETS for noise, rate in _noises(name)),
        ListRun(Setting(*REPEATED, SETS[REPEATED[0]].natural), REPEATED_DRAWS),
        *(CoverageRun(order, n_wrong) for order, n_wrong in COVERAGE),
        CoverageRun(*REPEATED_ORDER, REPEATED_REVIEWS, first_seed=COVERAGE_REVIEWS),
        *(CostRun(name, "list first", COST_REVIEWS) for name in COST_SETS),
        *(CostRun(name, "random order", RANDOM_REVIEWS) for name in COST_SETS),
        *(ErringRun(confirms) for confirms in (True, False)),
    ]


def _noises(name: str) -> list[tuple[str, float]]:
    more = [("superclass", 0.3)] if SETS[name].has_superclasses else []
    return [*LIST_NOISES, *more, *([("people", 0.0)] if name in PEOPLE_SETS else [])]


def _list_run(name: str, noise: str, rate: float) -> ListRun:
    n_draws = MORE_DRAWS if (name, noise) in MORE_DRAWN else LIST_DRAWS
    return ListRun(Setting(name, noise, rate, SETS[name].natural), n_draws)
