"""What a pass takes on one and on two workers, and what the parts of a cluster take for it.

    python -m benchmarks.scale.scaling benchmarks/scale/scaling.jsonl

Four kinds of records replace those of the last time:

    pass      the same rows on clusters of 1 and of 2 workers, passes interleaved: clock, and CPU of
              client, scheduler and workers; memory of scheduler and workers
    tasks     passes over tiny chunks, of which there are more and more: what a task costs
    kernel    passes in memory with few and many classes: what a row, a class and a feature cost
    add       sums of chunks, added up as a worker does it

On a machine with other work the clock says little; CPU time is then the better measure.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

from benchmarks.scale.dask_processes import Cluster, started_cluster
from twohot.rows.dask_chunks import open_chunks
from twohot.rows.dask_rows import FAN_IN, ChunkSum, add_sums
from twohot.rows.open import fit_preparation, open_rows
from twohot.rows.rows import Rows
from twohot.solve.loss_kernels import cross_entropy_terms

N_ROWS, N_FEATURES, N_CLASSES = 200_000, 512, 100
CHUNK_ROWS = 12_500
WORKERS = (1, 2)
REPEATS = 7
TINY = (64, 8, 2)  # rows of a chunk, features and classes: no work but that of Dask
N_CHUNKS = (8, 64, 256)
KERNEL_ROWS, KERNEL_CLASSES = 20_000, (10, 100, 1000)


def main(output: Path) -> None:
    records = []
    for measure in (strong_scaling, task_costs, kernel_costs, add_costs):
        for record in measure():
            record |= {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
            print(record, flush=True)
            records.append(json.dumps(record))
    output.write_text("\n".join(records) + "\n")


def strong_scaling() -> Iterator[dict[str, Any]]:
    """Yield the same passes on clusters of different sizes, which take turns."""
    with ExitStack() as stack:
        clusters = [stack.enter_context(started_cluster(n_workers)) for n_workers in WORKERS]
        passes = [
            cluster_pass(cluster, (N_ROWS, N_FEATURES), N_CLASSES, CHUNK_ROWS)
            for cluster in clusters
        ]
        turns = [
            [timed(one_pass, cluster) for one_pass, cluster in zip(passes, clusters, strict=True)]
            for _ in range(REPEATS)
        ]
        for cluster, found in zip(clusters, zip(*turns, strict=True), strict=True):
            yield {
                "kind": "pass",
                "n_workers": len(cluster.workers),
                "shape": [N_ROWS, N_FEATURES, N_CLASSES],
                "n_chunks": N_ROWS // CHUNK_ROWS,
                **medians(list(found)),
                "resident": cluster.resident_bytes(),
            }


def task_costs() -> Iterator[dict[str, Any]]:
    """Yield passes over more and more chunks of hardly any rows."""
    rows, n_features, n_classes = TINY
    with started_cluster(1) as cluster:
        for n_chunks in N_CHUNKS:
            one_pass = cluster_pass(cluster, (rows * n_chunks, n_features), n_classes, rows)
            found = [timed(one_pass, cluster) for _ in range(REPEATS)]
            resident = cluster.resident_bytes()
            yield {"kind": "tasks", "n_chunks": n_chunks, **medians(found), "resident": resident}


def kernel_costs() -> Iterator[dict[str, Any]]:
    """Yield passes in memory with few and many classes."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((KERNEL_ROWS, N_FEATURES), dtype=np.float32)
    mean = fit_preparation(features, center=True, normalize=True, weights=None, dtype="float32")
    for n_classes in KERNEL_CLASSES:
        rows = open_rows(features, mean, dtype=np.dtype("float32"), n_classes=n_classes)
        one_pass = pass_over(rows, n_classes)
        shape = [KERNEL_ROWS, N_FEATURES, n_classes]
        yield {"kind": "kernel", "shape": shape, "cpu_seconds": cpu_seconds(one_pass)}


def add_costs() -> Iterator[dict[str, Any]]:
    """Yield what it takes to add up the sums of some chunks."""
    terms = (np.ones((KERNEL_CLASSES[-1], N_FEATURES)),)
    sums = [ChunkSum(terms, 0, (np.dtype("float32"),))] * FAN_IN
    n_bytes = FAN_IN * terms[0].nbytes
    yield {"kind": "add", "n_bytes": n_bytes, "cpu_seconds": cpu_seconds(lambda: add_sums(sums))}


def cpu_seconds(work: Callable[[], Any]) -> float:
    """Return the median CPU time of some work."""
    seconds = []
    for _ in range(REPEATS):
        before = time.process_time()
        work()
        seconds.append(time.process_time() - before)
    return round(float(np.median(seconds)), 5)


def cluster_pass(
    cluster: Cluster, shape: tuple[int, int], n_classes: int, chunk_rows: int
) -> Callable[[], Any]:
    """Return a pass over rows that the workers have made and keep; it has been made once."""
    array = da.random.default_rng(0).standard_normal(
        shape, dtype=np.float32, chunks=(chunk_rows, shape[1])
    )
    with cluster.client.as_current():
        chunks = open_chunks(array)
        mean = fit_preparation(chunks, center=True, normalize=True, weights=None, dtype="float32")
        rows = open_rows(chunks, mean, dtype=np.dtype("float32"), n_classes=n_classes)
    return pass_over(rows, n_classes)


def pass_over(rows: Rows, n_classes: int) -> Callable[[], Any]:
    """Return a pass with coefficients that are sent anew each time; norms of rows are known."""
    rng = np.random.default_rng(1)
    coef = rng.standard_normal((n_classes, rows.n_columns)).astype(np.float32) * 0.1

    def one_pass() -> Any:
        return rows.sum(cross_entropy_terms, coef.copy())

    one_pass()
    return one_pass


def timed(one_pass: Callable[[], Any], cluster: Cluster) -> dict[str, float]:
    """Return the clock, and the CPU time of each part of the cluster."""
    before, start = cluster.cpu_seconds(), time.perf_counter()
    one_pass()
    clock = time.perf_counter() - start
    after = cluster.cpu_seconds()
    spent = {name: after[name] - before[name] for name in after}
    of_workers = [seconds for name, seconds in spent.items() if name.startswith("worker")]
    return {
        "clock": clock,
        "client": spent["client"],
        "scheduler": spent["scheduler"],
        "workers": sum(of_workers),
        "busiest_worker": max(of_workers),
    }


def medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.median([each[name] for each in found])), 4) for name in found[0]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
