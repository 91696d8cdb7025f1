"""A fit on 20 GB of features in a process that may use 2 GB of memory.

Parts are made when they are read, so that no file is needed: what is measured is what the fit
holds. The limit is one of the address space (RLIMIT_AS): an allocation beyond it fails.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.scale.out_of_core benchmarks/scale/out_of_core.jsonl
"""

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot import LinearProbe
from twohot.rows.stored import PartedRows

N_ROWS, N_FEATURES, N_CLASSES = 20_000_000, 512, 10
PART_ROWS = 4096
LIMIT = 2 * 2**30


class MadeRows(PartedRows):
    """Rows of half precision that are made when they are read, always the same."""

    def __init__(self) -> None:
        bounds = np.append(np.arange(0, N_ROWS, PART_ROWS), N_ROWS)
        super().__init__(bounds, N_FEATURES, np.float16)
        self._base = np.random.default_rng(0).standard_normal((PART_ROWS, N_FEATURES))
        self._base = self._base.astype(np.float16)

    def read_part(self, number: int) -> NDArray[Any]:
        size = self.bounds[number + 1] - self.bounds[number]
        return np.roll(self._base, number % N_FEATURES, axis=1)[:size]


def main(output: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    rows = MadeRows()
    labels = np.resize(rows.read_part(0)[:, :N_CLASSES].argmax(axis=1).astype(np.int8), N_ROWS)
    start, cpu = time.perf_counter(), time.process_time()
    probe = LinearProbe(tol=0.5, max_iter=2, n_jobs=1).fit(rows, labels)
    record = {
        "bytes_of_features": N_ROWS * N_FEATURES * 2,
        "limit": LIMIT,
        "peak_resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "n_passes": probe.rounds_[0].n_passes,
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "seconds": round(time.perf_counter() - start, 1),
        "load": round(os.getloadavg()[0], 1),
    }
    print(record)
    with output.open("a") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
