"""Lists of one audit for many draws: their fraction of right labels, their bounds, their power."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit.data import draw_task
from benchmarks.certificates.plan import CHECKED, RATES, ListRun
from twohot import find_label_issues
from twohot.audit.guaranteed_list import (
    Bounds,
    CheckDraw,
    certify,
    doubt_order,
    draw_check,
    listable_doubt,
)


@dataclass(frozen=True)
class Lists:
    """All draws at one rate and one number of checked rows."""

    n_checked: int
    fdr: float  # asked for
    fdp: float  # mean fraction of right labels; 0 where no list appears
    error: float  # its standard error
    appeared: float  # fraction of the draws with a list
    reach: float  # fraction of the wrong labels that the best threshold with hindsight finds
    power: float | None  # wrong labels found over those of that threshold; None where it has none


@dataclass(frozen=True)
class ListResult:
    """What the draws of one audit gave."""

    n_rows: int
    n_wrong: int
    n_flagged: int
    lists: list[Lists]  # for each n_checked that leaves rows to list, and each rate
    missed: dict[str, float]  # by n_checked: fraction of draws with any bound below the truth


def measure_lists(run: ListRun, features: Path | None) -> ListResult:
    task = draw_task(run.setting, 0, features)
    issues = find_label_issues(task.X, task.given, n_jobs=1)
    first = zlib.crc32(str(run).encode())  # so that no two audits have the same draws
    doubt = listable_doubt(issues.label_quality, issues.given, issues.predicted)
    return simulate_lists(doubt, task.wrong, issues.n_issues, run.n_draws, first)


def simulate_lists(
    doubt: NDArray[np.floating], wrong: NDArray[np.bool_], n_flagged: int, n_draws: int, first: int
) -> ListResult:
    found, missed = [], {}
    n_listable = np.count_nonzero(~np.isnan(doubt))
    for n_checked in CHECKED:
        if n_checked >= n_listable:  # no row is left to list
            continue
        seeds = range(first, first + n_draws)
        draws = [draw_check(doubt, n_flagged, n_checked, seed=seed) for seed in seeds]
        outcomes = [outcome(draw, doubt, wrong) for draw in draws]
        missed[str(n_checked)] = float(np.mean([each.is_missed for each in outcomes]))
        for place, fdr in enumerate(RATES):
            fdp, listed, hits, best = np.array([each.by_rate[place] for each in outcomes]).T
            power = float(np.minimum(hits, best).sum() / best.sum()) if best.any() else None
            error = float(fdp.std() / n_draws**0.5)
            reach = float(best.mean() / max(wrong.sum(), 1))
            shares = float(fdp.mean()), error, float((listed > 0).mean()), reach
            found.append(Lists(n_checked, fdr, *shares, power))
    return ListResult(len(wrong), int(wrong.sum()), n_flagged, found, missed)


@dataclass(frozen=True)
class Outcome:
    """One draw."""

    is_missed: bool  # a bound of theorem 2 is below the truth at some threshold
    by_rate: list[tuple[float, int, int, int]]  # FDP, listed, wrong ones of these and of the best


def outcome(draw: CheckDraw, doubt: NDArray[np.floating], wrong: NDArray[np.bool_]) -> Outcome:
    verdicts = wrong[draw.rows]
    by_rate = []
    bounds = None
    for fdr in RATES:
        found = certify(draw, verdicts, fdr)
        bounds = found.bounds
        hits = int(wrong[found.rows].sum())
        n_listed = len(found.rows)
        fdp = 1 - hits / n_listed if n_listed else 0.0
        by_rate.append((fdp, n_listed, hits, best_threshold(draw, doubt, wrong, fdr)))
    return Outcome(is_missed(draw, bounds, wrong), by_rate)


def is_missed(draw: CheckDraw, bounds: Bounds, wrong: NDArray[np.bool_]) -> bool:
    is_left = ~np.isin(draw.pool, draw.rows)
    return bool(np.any(np.cumsum(is_left & ~wrong[draw.pool]) > bounds.most_right))


def best_threshold(
    draw: CheckDraw, doubt: NDArray[np.floating], wrong: NDArray[np.bool_], fdr: float
) -> int:
    """Return the wrong labels of the longest list with a fraction of right ones within the rate."""
    order = doubt_order(doubt)
    left = order[~np.isin(order, draw.rows)]
    hits = np.cumsum(wrong[left])
    allowed = np.arange(1, len(left) + 1) - hits <= fdr * np.arange(1, len(left) + 1)
    return int(hits[allowed].max(initial=0))
