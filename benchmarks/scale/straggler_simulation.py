"""Passes on workers that are not equally fast, simulated. Not a measurement.

In every pass each worker takes 1 + e times as long as the model says, with e drawn from an
exponential distribution of mean `delay`: most are hardly late, and one of many is very late. A sum
waits for the last of the chunks beneath it. Where adding up and tasks cost nothing, a pass takes on
the average 1 + delay (1 + 1/2 + … + 1/W) times as long: the slowest of W workers.
"""

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.cost_model import Job, Rates, chunk_seconds, node_seconds, travel_seconds


def simulate_passes(
    job: Job, rates: Rates, delay: float, n_passes: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the seconds of some passes (n_passes,)."""
    slowness = 1 + rng.exponential(1.0, (n_passes, job.n_workers)) * delay
    # A worker has neighbouring chunks, one after the other.
    chunk = np.arange(job.n_chunks)
    each = math.ceil(job.n_chunks / job.n_workers)
    turn = chunk % each + 1
    finished = slowness[:, chunk // each] * turn * chunk_seconds(job, rates)
    # Tasks reach their workers one after the other.
    scheduled = (chunk + 1) * rates.scheduler_task
    ready = np.maximum(finished, scheduled)
    for size in job.levels:
        starts = np.arange(size) * job.fan_in
        turns = math.ceil(size / job.n_workers)
        ready = np.maximum.reduceat(ready, starts, axis=1) + turns * node_seconds(job, rates)
    seconds: NDArray[np.float64] = ready[:, 0] + travel_seconds(job, rates)
    return seconds
