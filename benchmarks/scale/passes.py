"""CPU time of a pass over each store, beside the plain pass over an array in memory.

Passes of all stores are interleaved, and the ratio of each to the plain pass just before it is
kept: other work on the machine then weighs on both. Run it on an idle machine all the same:

    python -m benchmarks.scale.passes benchmarks/scale/passes.jsonl
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

from twohot.rows.dask_chunks import open_chunks
from twohot.rows.open import fit_preparation, open_rows
from twohot.solve.loss_kernels import cross_entropy_terms
from twohot.tables import read_table

N_ROWS, N_FEATURES, N_CLASSES = 200_000, 512, 100
CHUNK_ROWS = 25_000
REPEATS = 7


def main(output: Path) -> None:
    features = np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES), dtype=np.float32)
    coef = np.random.default_rng(1).standard_normal((N_CLASSES, N_FEATURES)) * 0.1
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stores = dict(opened(features, Path(folder), stack))
        for one_pass, _ in stores.values():
            one_pass(coef.astype(np.float32))  # warms up: norms are known from then on
        ratios: dict[str, list[float]] = {name: [] for name in stores}
        times: dict[str, list[float]] = {name: [] for name in stores}
        for _ in range(REPEATS):
            for name, (one_pass, cpu) in stores.items():
                plain = spent(*stores["memory"], coef)
                other = spent(one_pass, cpu, coef)
                times[name].append(other)
                ratios[name].append(other / plain)
    load = os.getloadavg()[0]
    with output.open("a") as file:
        for name, found in ratios.items():
            record = {
                "store": name,
                "n_rows": N_ROWS,
                "n_features": N_FEATURES,
                "n_classes": N_CLASSES,
                "cpu_seconds": round(float(np.median(times[name])), 3),
                "ratio": round(float(np.median(found)), 3),
                "ratios": [round(each, 3) for each in found],
                "load": round(load, 1),
            }
            print(record)
            file.write(json.dumps(record) + "\n")


def spent(one_pass: Callable[[Any], Any], cpu: Callable[[], float], coef: Any) -> float:
    before = cpu()
    one_pass(coef.astype(np.float32))
    return cpu() - before


def opened(features: Any, folder: Path, stack: ExitStack) -> Iterator[tuple[str, Any]]:
    """Yield each store: how a pass over it is made, and the CPU seconds that it has taken."""
    mean = fit_preparation(features, center=True, normalize=True, weights=None, dtype="float32")

    def rows_of(X: Any) -> Callable[[Any], Any]:
        rows = open_rows(X, mean, dtype=np.dtype("float32"), n_classes=N_CLASSES)
        return lambda coef: rows.sum(cross_entropy_terms, coef)

    yield "memory", (rows_of(features), time.process_time)
    np.save(folder / "half.npy", features.astype(np.float16))
    stored = np.load(folder / "half.npy", mmap_mode="r")
    yield "float16 memory map", (rows_of(stored), time.process_time)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(features.ravel()), N_FEATURES)
    parts = folder / "parts"
    parts.mkdir()
    pq.write_table(
        pa.table({"e": lists, "y": np.arange(N_ROWS) % 2}),
        parts / "0.parquet",
        row_group_size=10_000,
    )
    yield "Parquet", (rows_of(read_table(parts).features), time.process_time)
    array = da.from_array(features, chunks=(CHUNK_ROWS, -1))
    with dask.config.set(scheduler="threads", num_workers=1):
        here = open_chunks(array, np.dtype("float32"))
    on_threads = rows_of(here)

    def threaded(coef: Any) -> Any:
        with dask.config.set(scheduler="threads", num_workers=1):
            return on_threads(coef)

    yield "Dask, threads", (threaded, time.process_time)
    client = stack.enter_context(cluster())
    pids = list(client.run(os.getpid).values())
    workers = [psutil.Process(pid) for pid in pids]

    def cpu() -> float:
        used = sum(sum(worker.cpu_times()[:2]) for worker in workers)
        return time.process_time() + used

    yield "Dask, distributed", (rows_of(open_chunks(array, np.dtype("float32"))), cpu)


@contextmanager
def cluster() -> Iterator[Client]:
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started,
        Client(started) as client,
    ):
        yield client


if __name__ == "__main__":
    main(Path(sys.argv[1]))
