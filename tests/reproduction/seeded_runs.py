"""Quick runs that are easy to check. As a script, a plan that is killed."""

import resource
import signal
import sys
from dataclasses import dataclass

import numpy as np

from twohot_paper import Log, run_plan


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
    """Return moments that depend on the seed."""
    rows = run.scale * np.random.default_rng(run.seed).normal(size=(300, 40))
    return Moments([float(((rows @ rows.T) ** power).mean()) for power in run.moments])


def without_times(log: Log) -> set[tuple[Draw, tuple[float, ...]]]:
    return {(record.run, tuple(record.result.values)) for record in log.finished(Draw, Moments)}


def killed_at(n_bytes: int) -> None:
    """Let the kernel kill this process in the write that would make a file longer than this."""
    resource.setrlimit(
        resource.RLIMIT_CORE, (0, 0)
    )  # the signal would leave an image of the process
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores


if __name__ == "__main__":
    killed_at(int(sys.argv[2]))
    run_plan(PLAN, Log(sys.argv[1]), moments)
