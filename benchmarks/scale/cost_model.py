"""A model of what a pass costs on a cluster, from rates that were measured. Not a measurement.

With N rows of d features, K classes, W workers, and the rows in C chunks of which a worker has
c = ⌈C / W⌉, a pass takes

    compute    c (N/C) (a K d + b d) + c w         rows of a worker, and what its tasks cost it
    schedule   C t                                 tasks of all workers pass one scheduler
    send       (1 + ⌈log₂ W⌉) K d · 4 / bandwidth  coefficients: here to one, then from peer to peer
    reduce     Σ_l ⌈C_l / W⌉ F S (1/bandwidth + 1/adding)
               with sums of S = 8 K (d + 1) bytes, F of them at once, C_l = ⌈C_{l-1} / F⌉
    receive    K (d + 1) · 4 / bandwidth           one sum, in single precision

    seconds = max(compute, schedule) + send + reduce + receive

since the scheduler works while workers do. On one worker nothing of `reduce` travels.

Left out: reading the features the first time, features that do not fit into memory and are read
again, workers that share a network link, and what the client computes between passes.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot.rows.dask_rows import FAN_IN

# Of a row, beside its features: code, norm, weight and two candidates.
ROW_BYTES = 48


@dataclass(frozen=True)
class Rates:
    """What work costs, in seconds of one core."""

    per_class: float  # a: of a row, a class and a feature
    per_feature: float  # b: of a row and a feature, whatever the classes
    worker_task: float  # w: of a chunk, on its worker
    scheduler_task: float  # t: of a chunk, on the scheduler
    adding: float  # bytes of sums a second
    bandwidth: float = 1.25e9  # bytes a second between two machines: 10 Gbit/s, an assumption
    process_bytes: float = 0.0  # of a worker that has done nothing


@dataclass(frozen=True)
class Job:
    """What is fitted, and on what."""

    n_rows: float
    n_classes: int
    n_workers: int
    n_features: int = 512
    itemsize: int = 2  # bytes of a feature, as it is kept
    chunk_bytes: float = 2**26
    fan_in: int = FAN_IN

    @property
    def n_chunks(self) -> int:
        """C; every worker has at least one."""
        feature_bytes = self.n_rows * self.n_features * self.itemsize
        return max(self.n_workers, math.ceil(feature_bytes / self.chunk_bytes))

    @property
    def sum_bytes(self) -> float:
        """S: what a chunk returns."""
        return 8.0 * self.n_classes * (self.n_features + 1)

    @property
    def levels(self) -> list[int]:
        """C_1, C_2, … 1: the sums that are left at each level of the tree."""
        sizes = [self.n_chunks]
        while not sizes[1:] or sizes[-1] > 1:
            sizes.append(math.ceil(sizes[-1] / self.fan_in))
        return sizes[1:]


def chunk_seconds(job: Job, rates: Rates) -> float:
    """Return what a chunk takes its worker."""
    per_row = rates.per_class * job.n_classes + rates.per_feature
    return job.n_rows / job.n_chunks * job.n_features * per_row + rates.worker_task


def node_seconds(job: Job, rates: Rates) -> float:
    """Return what adding up `fan_in` sums takes, and fetching them from other workers."""
    fetching = 1 / rates.bandwidth if job.n_workers > 1 else 0.0
    return job.fan_in * job.sum_bytes * (fetching + 1 / rates.adding)


def compute_seconds(job: Job, rates: Rates) -> float:
    """Return what the busiest worker takes."""
    return math.ceil(job.n_chunks / job.n_workers) * chunk_seconds(job, rates)


def reduce_seconds(job: Job, rates: Rates) -> float:
    """Return what adding up takes, level by level."""
    turns = sum(math.ceil(size / job.n_workers) for size in job.levels)
    return turns * node_seconds(job, rates)


def travel_seconds(job: Job, rates: Rates) -> float:
    """Return what coefficients take to all workers, and one sum from one of them."""
    hops = 1 + math.ceil(math.log2(job.n_workers))
    coefficients = 4 * job.n_classes * job.n_features
    received = 4 * job.n_classes * (job.n_features + 1)
    return (hops * coefficients + received) / rates.bandwidth


def pass_seconds(job: Job, rates: Rates) -> float:
    """Return what a pass takes if all workers are equally fast."""
    schedule = job.n_chunks * rates.scheduler_task
    work = max(compute_seconds(job, rates), schedule)
    return work + reduce_seconds(job, rates) + travel_seconds(job, rates)


def worker_bytes(job: Job, rates: Rates) -> float:
    """Return the memory of a worker: its rows, coefficients, and sums while they are added up."""
    of_rows = job.n_rows * (job.n_features * job.itemsize + ROW_BYTES) / job.n_workers
    coefficients = 4 * job.n_classes * job.n_features
    return rates.process_bytes + of_rows + coefficients + (job.fan_in + 1) * job.sum_bytes


def rates_from(records: Iterable[Mapping[str, Any]]) -> Rates:
    """Return the rates that the records of `benchmarks.scale.scaling` tell."""
    found = list(records)
    kernel = [record for record in found if record["kind"] == "kernel"]
    tasks = sorted(
        (record for record in found if record["kind"] == "tasks"), key=lambda one: one["n_chunks"]
    )
    (add,) = (record for record in found if record["kind"] == "add")
    per_class, per_feature = _kernel_rates(kernel)
    few, *_, many = tasks
    more = many["n_chunks"] - few["n_chunks"]
    return Rates(
        per_class=per_class,
        per_feature=per_feature,
        worker_task=(many["workers"] - few["workers"]) / more,
        scheduler_task=(many["scheduler"] - few["scheduler"]) / more,
        adding=add["n_bytes"] / add["cpu_seconds"],
        process_bytes=few["resident"]["worker"],
    )


def _kernel_rates(records: list[Mapping[str, Any]]) -> tuple[float, float]:
    """Return a and b, by least squares of relative differences: each number of classes counts."""
    shapes = np.array([record["shape"] for record in records], dtype=float)
    seconds = np.array([record["cpu_seconds"] for record in records])
    products = shapes[:, :2].prod(axis=1)
    terms = np.column_stack([products * shapes[:, 2], products]) / seconds[:, np.newaxis]
    (per_class, per_feature), *_ = np.linalg.lstsq(terms, np.ones(len(seconds)))
    return float(per_class), float(per_feature)
