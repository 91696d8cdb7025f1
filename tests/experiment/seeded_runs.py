"""Runs that are quick to do and easy to check; as a script, a plan of them that can be killed."""

import sys
from dataclasses import dataclass

import numpy as np

from twohot.experiment import Log, run_plan


@dataclass(frozen=True)
class Draw:
    seed: int
    scale: float = 1.0
    moments: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Moments:
    values: list[float]


PLAN = [Draw(seed, scale) for seed in range(8) for scale in (0.5, 2)]


def moments(run: Draw) -> Moments:
    """Return something that would differ if seeds, threads or the order of runs mattered."""
    rows = run.scale * np.random.default_rng(run.seed).normal(size=(300, 40))
    return Moments([float(((rows @ rows.T) ** power).mean()) for power in run.moments])


def without_times(log: Log) -> set[tuple[Draw, tuple[float, ...]]]:
    return {(record.run, tuple(record.result.values)) for record in log.finished(Draw, Moments)}


if __name__ == "__main__":
    run_plan(PLAN, Log(sys.argv[1]), moments)
