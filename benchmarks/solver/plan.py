"""Which runs there are, and what all of them found."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from benchmarks.solver import problems
from benchmarks.solver.machine import Machine
from benchmarks.solver.memory import FITS, MemoryOfFit, is_measurable
from benchmarks.solver.passes import CountGeneralized, CountRounds
from benchmarks.solver.problems import DIGITS_AS, MAIN_NAME, MANY_NAME, REAL, Load, Source
from benchmarks.solver.reference import CompareLateRound
from benchmarks.solver.results import LateRound, PeakMemory, Penalty, Ratio, Results, RoundCount
from benchmarks.solver.targets import COARSE, FINE
from benchmarks.solver.timings import TimeOverProducts, TimeOverSgd, TimeOverSklearn
from twohot_paper import Log

R = TypeVar("R")
T = TypeVar("T")

SMALL_L2, LARGE_L2 = Penalty("l2", 5e-5), Penalty("l2", 5e-4)
# Problems on which other packages are timed. The search for the number of iterations of newton-cg
# takes ten minutes on the synthetic rows, and longer on CIFAR-100.
LBFGS = (("sklearn", "lbfgs"), ("sklearnex", "lbfgs"))
ALL_PEERS = (*LBFGS, ("sklearn", "newton-cg"))
PEERS = {MAIN_NAME: ALL_PEERS, "BANKING77": ALL_PEERS, "CIFAR-100": LBFGS}
RIDGES = [Penalty("ridge", strength) for strength in (100, 10, 1)]


@dataclass(frozen=True)
class SizeOf:
    """How large a problem is."""

    source: Source

    def __str__(self) -> str:
        return f"{self.source.name}: size"

    def measure(self, load: Load) -> str:
        return load(self.source).size


def plan(*, quick: bool = False, real: bool = True) -> list[Any]:
    """Return all runs: on small problems to check the code, on real features or without them."""
    main = Source(MAIN_NAME, problems.QUICK_MAIN if quick else problems.MAIN)
    many = Source(MANY_NAME, problems.QUICK_MANY if quick else problems.MANY)
    runs: list[Any] = [Machine(), *_on_main(main), *_on_digits(), *_on_many(many)]
    return runs + ([run for name in REAL for run in _on_real(Source(name))] if real else [])


def _on_main(source: Source) -> Iterator[Any]:
    """Yield everything, at the main size: first times, while nothing else is warm."""
    yield SizeOf(source)
    for n_rounds, n_threads, n_repeats in ((1, 1, 5), (4, 1, 3), (1, 2, 5)):
        yield TimeOverProducts(source, SMALL_L2, n_rounds, n_threads, n_repeats)
    yield from _peers(source, SMALL_L2)
    yield TimeOverSgd(source, SMALL_L2, n_repeats=3)
    yield from _memory(source, list(FITS))
    for penalty in (SMALL_L2, LARGE_L2):
        yield from _rounds(source, penalty, n_rounds=7)
        yield CountGeneralized(source, penalty, COARSE)
    yield _late(source)


def _on_digits() -> Iterator[Any]:
    for dtype in ("float64", "float32"):  # as scikit-learn has them, and as embeddings often come
        source = Source(DIGITS_AS + dtype)
        yield SizeOf(source)
        for penalty in (SMALL_L2, LARGE_L2):
            yield from _rounds(source, penalty, n_rounds=7)
            yield CountGeneralized(source, penalty, COARSE)
        yield _late(source)


def _on_many(source: Source) -> Iterator[Any]:
    yield SizeOf(source)
    yield from _memory(source, ["teacher", "PLL, cross-entropy"])
    yield from _rounds(source, SMALL_L2, n_rounds=2)


def _on_real(source: Source) -> Iterator[Any]:
    yield SizeOf(source)
    for penalty in RIDGES:
        yield from _rounds(source, penalty, n_rounds=3, partial=False)
    yield CountGeneralized(source, Penalty("ridge", 10), COARSE)
    if source.name == "Flowers-102":
        yield TimeOverProducts(source, Penalty("ridge", 10), 1, 1, 3)
    if source.name in PEERS:
        yield from _peers(source, Penalty("ridge", 10))
    if source.name == "BANKING77":
        yield _late(source)


def _rounds(
    source: Source, penalty: Penalty, *, n_rounds: int, partial: bool = True
) -> Iterator[CountRounds]:
    for tol in (COARSE, FINE):
        yield CountRounds(source, penalty, tol, n_rounds, partial)


def _peers(source: Source, penalty: Penalty) -> Iterator[TimeOverSklearn]:
    for package, solver in PEERS[source.name]:
        yield TimeOverSklearn(source, penalty, 3, solver, package)


def _memory(source: Source, fits: list[str]) -> Iterator[MemoryOfFit]:
    for fit in fits if is_measurable() else []:
        yield MemoryOfFit(source, SMALL_L2, fit)


def _late(source: Source) -> CompareLateRound:
    return CompareLateRound(source, ridge=1000, n_rounds=6)


def read_results(log: Log, *, quick: bool = False) -> Results:
    """Return what all finished runs of the plan found, on real features too."""
    turn = {run: number for number, run in enumerate(plan(quick=quick))}
    wall_seconds: list[float] = []

    def finished(run: type[R], result: type[T]) -> list[tuple[R, T]]:
        """Return the runs of one kind with their results, in the order of the plan."""
        records = [record for record in log.finished(run, result) if record.run in turn]
        wall_seconds.extend(record.wall_seconds or 0.0 for record in records)
        return [(r.run, r.result) for r in sorted(records, key=lambda record: turn[record.run])]

    def found(run: type[Any], result: type[T]) -> list[T]:
        return [each for _, each in finished(run, result)]

    return Results(
        quick,
        machine=next(iter(found(Machine, dict[str, str])), {}),
        elsewhere=problems.why_not_as_printed(),
        sizes={run.source.name: size for run, size in finished(SizeOf, str)},
        rounds=list(chain.from_iterable(found(CountRounds, list[RoundCount]))),
        generalized=list(chain.from_iterable(found(CountGeneralized, list[RoundCount]))),
        gemm=list(chain.from_iterable(found(TimeOverProducts, list[Ratio]))),
        sklearn=found(TimeOverSklearn, Ratio),
        sgd=found(TimeOverSgd, Ratio),
        memory=found(MemoryOfFit, PeakMemory),
        late=found(CompareLateRound, LateRound),
        minutes=sum(wall_seconds) / 60,  # last: all others have added theirs
    )
