"""Times, as ratios: the ways to do a thing are run in turn, repeated, and their ratios taken.

One BLAS thread and one thread of ours unless stated. A fit includes all that `fit` does: reading
the mean, preparing the rows, their principal axes, and the passes.
"""

import time
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.solver.passes import quietly
from benchmarks.solver.problems import Load, Source
from benchmarks.solver.reference import CrossEntropy
from benchmarks.solver.results import Penalty, Ratio
from twohot import DistilledProbe, LinearProbe
from twohot.base.messages import counted
from twohot.base.optional import load_extra
from twohot.rows.preparation import AS_THEY_ARE
from twohot.rows.rows import Rows

CLOCKS = {"CPU": time.process_time, "wall": time.perf_counter}
BATCH_ROWS, MOMENTUM, LEARNING_RATE, EPOCHS = 128, 0.9, 0.1, 200  # the paper's recipe
MOST_ITERATIONS = {"lbfgs": 10_000, "newton-cg": 50}


def seconds(call: Callable[[], object], clock: str, blas_threads: int = 1) -> float:
    with threadpool_limits(blas_threads):
        start = CLOCKS[clock]()
        call()
        return CLOCKS[clock]() - start


# --- the limit: nothing but the two matrix products of every pass -------------------------------


def multiply(x: NDArray[Any], coef: NDArray[Any], rows: list[slice], n_passes: int) -> None:
    """Do both products of so many passes, block by block, into arrays made before."""
    widest = max((block.stop - block.start for block in rows), default=0)
    logits = np.empty((widest, len(coef)), x.dtype)
    moment = np.empty_like(coef)
    for _ in range(n_passes):
        for block in rows:
            z = logits[: block.stop - block.start]
            np.matmul(x[block], coef.T, out=z)
            np.matmul(z.T, x[block], out=moment)


def multiply_on_threads(
    x: NDArray[Any], coef: NDArray[Any], rows: list[slice], n_passes: int, n_threads: int
) -> None:
    """Do the same with the blocks dealt out to threads, each with one BLAS thread."""
    with ThreadPoolExecutor(n_threads) as pool:
        hands = [rows[first::n_threads] for first in range(n_threads)]
        list(pool.map(lambda hand: multiply(x, coef, hand, n_passes), hands))


@dataclass(frozen=True)
class TimeOverProducts:
    """Time of a fit over that of its matrix products: in our blocks, and all at once."""

    source: Source
    penalty: Penalty
    n_rounds: int
    n_threads: int
    n_repeats: int

    def __str__(self) -> str:
        rounds, threads = counted(self.n_rounds, "round"), counted(self.n_threads, "thread")
        return f"{self.source.name}: {rounds} over matrix products, {threads}"

    def measure(self, load: Load) -> list[Ratio]:
        problem, n_threads = load(self.source), self.n_threads
        probe = DistilledProbe(n_rounds=self.n_rounds, n_jobs=n_threads, **self.penalty.arguments)
        coef = quietly(probe, problem).coef_.astype(np.float32)
        n_passes = round(sum(entry.n_passes for entry in probe.rounds_))
        x = problem.prepared("float32")
        limits = blocks_of(x, n_classes=len(coef))
        if n_threads == 1:
            limits["all rows at once"] = [slice(0, len(x))]
        clock = "CPU" if n_threads == 1 else "wall"
        fit: list[float] = []
        products: dict[str, list[float]] = {name: [] for name in limits}
        for _ in range(self.n_repeats):
            fit.append(seconds(lambda: quietly(probe, problem), clock, n_threads))
            for limit, blocks in limits.items():
                call = partial(multiply_on_threads, x, coef, blocks, n_passes, n_threads)
                products[limit].append(seconds(call, clock))
        students = f" and {counted(self.n_rounds - 1, 'student')}" if self.n_rounds > 1 else ""
        name = f"{self.source.name}: teacher{students}"
        return [
            Ratio(name, clock, n_threads, fit, times, f"{n_passes} passes, {limit}")
            for limit, times in products.items()
        ]


def blocks_of(x: NDArray[Any], n_classes: int) -> dict[str, list[slice]]:
    """Return the rows of every block, as a fit takes them."""
    size = Rows(x, AS_THEY_ARE, dtype=x.dtype, n_classes=n_classes).block_rows
    firsts = range(0, len(x), size)
    return {f"blocks of {size} rows": [slice(i, min(i + size, len(x))) for i in firsts]}


# --- the same teacher by other means ------------------------------------------------------------


def fewest(is_enough: Callable[[int], bool]) -> int:
    """Return the fewest that are enough, one or more, if all beyond these are, too.

    Examples
    --------
    >>> fewest(lambda number: number >= 19)
    19
    """
    enough = 1
    while not is_enough(enough):
        enough *= 2
    return bisect_left(range(enough), 1, lo=enough // 2 + 1, key=is_enough)


@dataclass(frozen=True)
class TimeOverSklearn:
    """Time of scikit-learn's solver over ours, both at our relative gradient.

    `package` is "sklearn" or "sklearnex", Intel's accelerated implementation of the same class.
    """

    source: Source
    penalty: Penalty
    n_repeats: int
    solver: str = "lbfgs"
    package: str = "sklearn"

    def __str__(self) -> str:
        return f"{self.source.name}: {self.package}, {self.solver}"

    def measure(self, load: Load) -> Ratio:
        problem = load(self.source)
        l2 = problem.strength(self.penalty)
        x = problem.prepared()
        objective = CrossEntropy.of_labels(x, problem.given_labels, l2)
        ours = LinearProbe(l2=l2, n_jobs=1)
        target = objective.relative_gradient(quietly(ours, problem).coef_)
        kind = load_extra(f"{self.package}.linear_model", "bench", str(self)).LogisticRegression
        theirs = kind(C=1 / (l2 * len(x)), fit_intercept=False, tol=0.0, solver=self.solver)

        def reached(n_iter: int) -> float:
            quietly(theirs.set_params(max_iter=n_iter), problem, x)
            return objective.relative_gradient(theirs.coef_)

        # Its tolerance is on the largest entry of the gradient, not on the norm, so that it is
        # stopped by the number of its iterations: at our gradient, or at the smallest it gets to,
        # as it ends where the value no longer falls.
        least = max(target, reached(MOST_ITERATIONS[self.solver]))
        n_iter = fewest(lambda n_iter: reached(n_iter) <= least)
        theirs_at = reached(n_iter)
        above, below = [], []
        for _ in range(self.n_repeats):
            above.append(seconds(lambda: quietly(theirs, problem, x), "CPU"))
            below.append(seconds(lambda: quietly(ours, problem), "CPU"))
        note = (
            f"relative gradient in float64: ours {target:.1e}, theirs {theirs_at:.1e}; "
            f"{ours.rounds_[0].n_passes:g} passes against {n_iter} iterations"
        )
        return Ratio(str(self), "CPU", 1, above, below, note)


@dataclass(frozen=True)
class TimeOverSgd:
    """Time of the paper's SGD over ours; fails without torch."""

    source: Source
    penalty: Penalty
    n_repeats: int

    def __str__(self) -> str:
        return f"{self.source.name}: SGD"

    def measure(self, load: Load) -> Ratio:
        torch = load_extra("torch", "bench", "SGD")
        torch.set_num_threads(1)
        problem = load(self.source)
        l2 = problem.strength(self.penalty)
        x = torch.from_numpy(problem.prepared("float32"))
        y = torch.from_numpy(problem.given_labels)
        linear = torch.nn.Linear(x.shape[1], problem.n_classes, bias=False)
        optimizer = torch.optim.SGD(
            linear.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM, weight_decay=l2
        )

        def epoch() -> None:
            for rows in torch.randperm(len(x)).split(BATCH_ROWS):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(linear(x[rows]), y[rows]).backward()
                optimizer.step()

        ours = LinearProbe(l2=l2, n_jobs=1)
        epoch()
        above, below = [], []
        for _ in range(self.n_repeats):
            above.append(EPOCHS * seconds(epoch, "CPU"))
            below.append(seconds(lambda: quietly(ours, problem), "CPU"))
        note = f"one epoch of {-(-len(x) // BATCH_ROWS)} steps, times {EPOCHS}"
        return Ratio(self.source.name, "CPU", 1, above, below, note)
