"""Simulated reviews: whether the bound covers, what it costs, and a reviewer who errs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit.data import draw_task
from benchmarks.audit.plan import Setting
from benchmarks.certificates.plan import (
    COST_RATE,
    COST_TARGET,
    COVERAGE_ROWS,
    ERRING_SET,
    CostRun,
    CoverageRun,
    ErringRun,
)
from twohot import find_label_issues
from twohot.audit.review_bound import CertifiedReview, Remaining, SecondLooks, corrected_bound

TARGET_ROWS = 10  # of the reviews of 1,000 rows
N_AGAIN = 150  # rows of each verdict that are shown again
ERRING_ALPHA = 0.04  # with the corrections, two times .005, .05

Wrong = NDArray[np.bool_]
Doubt = NDArray[np.floating]
VERDICTS = ("right", "wrong")

# Does the bound cover ---------------------------------------------------------------------------


@dataclass(frozen=True)
class CoverageResult:
    """Reviews to the last row."""

    missed: float  # fraction of the reviews whose bound was ever below the truth


def good(wrong: Wrong, generator: np.random.Generator) -> Doubt:
    return generator.normal(size=len(wrong)) + 2.5 * wrong


def hidden(wrong: Wrong, generator: np.random.Generator) -> Doubt:
    doubt = good(wrong, generator)
    doubt[np.flatnonzero(wrong)[::2]] -= 10
    return doubt


def hindsight(*, first: bool) -> Callable[[Remaining, int], str]:
    """Return a rule that chooses rows of one kind for every second look, knowing the truth."""

    def choose(remaining: Remaining, still: int) -> str:
        n_of_kind = still if first else remaining.left - still
        return VERDICTS[first] if n_of_kind and remaining.left % 2 else "random"

    return choose


def near(remaining: Remaining, still: int) -> str:
    """Draw only when the bound is below three times the target, or nothing else is left."""
    is_near = remaining.bound < 3 * TARGET_ROWS or not still
    return "random" if is_near or remaining.left == COVERAGE_ROWS - remaining.found else "wrong"


DOUBTS = {
    "good doubts": good,
    "shuffled doubts": lambda wrong, generator: generator.random(len(wrong)),
    "reversed doubts": lambda wrong, generator: -good(wrong, generator),
    "half of the errors hidden at the end": hidden,
}
CHOOSERS = {
    "right labels chosen first, with hindsight": hindsight(first=False),
    "wrong labels chosen first, with hindsight": hindsight(first=True),
    "draws only when the bound is near": near,
    "random looks only": lambda _remaining, _still: "random",
}


def measure_coverage(run: CoverageRun, _features: Path | None) -> CoverageResult:
    missed = [
        misses(run, np.random.default_rng([run.n_wrong, seed]), seed)
        for seed in range(run.first_seed, run.first_seed + run.n_reviews)
    ]
    return CoverageResult(float(np.mean(missed)))


def misses(run: CoverageRun, generator: np.random.Generator, seed: int) -> bool:
    wrong = np.arange(COVERAGE_ROWS) < run.n_wrong
    if run.order in DOUBTS:
        generator.shuffle(wrong)
        return misses_in_list(wrong, DOUBTS[run.order](wrong, generator), seed)
    remaining, still = Remaining(COVERAGE_ROWS, TARGET_ROWS), run.n_wrong
    choose, is_missed = CHOOSERS[run.order], False
    while remaining.left:
        chosen = choose(remaining, still)
        is_random = chosen == "random"
        drawn = VERDICTS[bool(generator.random() * remaining.left < still)]
        verdict = drawn if is_random else chosen
        remaining.look(verdict, is_random=is_random)
        still -= verdict == "wrong"
        is_missed |= remaining.bound < still
    return is_missed


def misses_in_list(wrong: Wrong, doubt: Doubt, seed: int) -> bool:
    review = CertifiedReview(doubt, until=TARGET_ROWS / len(wrong), seed=seed)
    still, is_missed = int(wrong.sum()), False
    while review.remaining.left:
        is_wrong = bool(wrong[review.next().row])
        review.decide(VERDICTS[is_wrong])
        still -= is_wrong
        is_missed |= review.bound < still
    return is_missed


# What it costs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CostResult:
    """Reviews until the target."""

    n_rows: int
    n_wrong: int
    looks: list[int]  # of each review
    repairs: list[int]
    n_random: list[int]
    truth: list[int]  # wrong labels left at the end
    bound: list[int]


@lru_cache(maxsize=1)
def audited(name: str, features: Path | None) -> tuple[Doubt, Wrong]:
    task = draw_task(Setting(name, "symmetric", COST_RATE, "all"), 0, features)
    issues = find_label_issues(task.X, task.given, n_jobs=1)
    return issues.probability_wrong, task.wrong


def measure_cost(run: CostRun, features: Path | None) -> CostResult:
    doubt, wrong = audited(run.data, features)
    found = CostResult(len(wrong), int(wrong.sum()), [], [], [], [], [])
    for seed in range(run.n_reviews):
        if run.rule == "list first":
            review = CertifiedReview(doubt, until=COST_TARGET, seed=seed)
            while review.bound > review.target:
                review.decide(VERDICTS[bool(wrong[review.next().row])])
            remaining, n_random = review.remaining, sum(look.is_random for look in review.looks)
        else:
            remaining = in_random_order(wrong, seed)
            n_random = len(wrong) - remaining.left
        found.looks.append(len(wrong) - remaining.left)
        found.repairs.append(remaining.found)
        found.n_random.append(n_random)
        found.truth.append(int(wrong.sum()) - remaining.found)
        found.bound.append(remaining.bound)
    return found


def in_random_order(wrong: Wrong, seed: int) -> Remaining:
    target = int(COST_TARGET * len(wrong))
    remaining = Remaining(len(wrong), target)
    for row in np.random.default_rng(seed).permutation(len(wrong)):
        if remaining.bound <= target:
            break
        remaining.look(VERDICTS[bool(wrong[row])], is_random=True)
    return remaining


# A reviewer who errs ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErringResult:
    """Reviews until the target by a person who errs."""

    n_rows: int
    n_wrong: int
    looks: list[int] = field(default_factory=list)  # confirmations too, second looks not
    truth: list[int] = field(default_factory=list)  # wrong labels at the end: missed, damaged, left
    damaged: list[int] = field(default_factory=list)  # right labels that were repaired
    bound: list[int] = field(default_factory=list)
    corrected: list[int] = field(default_factory=list)  # by second looks


def measure_erring(run: ErringRun, features: Path | None) -> ErringResult:
    doubt, wrong = audited(ERRING_SET, features)
    found = ErringResult(len(wrong), int(wrong.sum()))
    for seed in range(run.n_reviews):
        generator = np.random.default_rng(seed)
        review = CertifiedReview(doubt, until=COST_TARGET, seed=seed, alpha=ERRING_ALPHA)
        n_confirmations = 0
        while review.bound > review.target:
            verdict, more = decide(
                generator,
                is_wrong=bool(wrong[review.next().row]),
                error_rate=run.error_rate,
                confirms=run.confirms,
            )
            n_confirmations += more
            review.decide(VERDICTS[verdict])
        rows = {
            kind: np.array([look.row for look in review.looks if look.verdict == kind], dtype=int)
            for kind in VERDICTS
        }
        still_wrong = {"right": wrong[rows["right"]], "wrong": ~wrong[rows["wrong"]]}
        again = [second_looks(still_wrong[kind], run.error_rate, generator) for kind in VERDICTS]
        n_left = int(wrong.sum()) - int(wrong[np.concatenate(list(rows.values()))].sum())
        found.looks.append(len(review.looks) + n_confirmations)
        found.damaged.append(int(still_wrong["wrong"].sum()))
        found.truth.append(n_left + sum(int(each.sum()) for each in still_wrong.values()))
        found.bound.append(review.bound)
        found.corrected.append(corrected_bound(review.bound, *again).bound)
    return found


def decide(
    generator: np.random.Generator, *, is_wrong: bool, error_rate: float, confirms: bool
) -> tuple[bool, int]:
    """Return the verdict on a row, and how many looks confirmed it."""
    first, second, third = (is_wrong ^ (generator.random(3) < error_rate)).tolist()
    if not (confirms and first):
        return first, 0
    return (True, 1) if second else (third, 2)


def second_looks(
    still_wrong: Wrong, error_rate: float, generator: np.random.Generator
) -> SecondLooks:
    """Return what blind second looks at a sample say of the labels as they are now."""
    n_again = min(N_AGAIN, len(still_wrong))
    again = generator.choice(still_wrong, n_again, replace=False)
    differ = again ^ (generator.random(n_again) < error_rate)
    return SecondLooks(len(still_wrong), n_again, int(differ.sum()))
