"""A scheduler and workers of Dask, each in a process of its own: what each takes can be told."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from distributed import Client


@dataclass(frozen=True)
class Cluster:
    """A client and the processes behind it."""

    client: Client
    scheduler: psutil.Process
    workers: tuple[psutil.Process, ...]

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU time that each part has taken so far; workers by their number."""
        of_workers = {f"worker {i}": cpu_of(worker) for i, worker in enumerate(self.workers)}
        return {
            "client": cpu_of(psutil.Process()),
            "scheduler": cpu_of(self.scheduler),
            **of_workers,
        }

    def resident_bytes(self) -> dict[str, int]:
        """Return the memory of the scheduler and of the largest worker."""
        return {
            "scheduler": int(self.scheduler.memory_info().rss),
            "worker": max(int(worker.memory_info().rss) for worker in self.workers),
        }


def cpu_of(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def started_cluster(n_workers: int) -> Iterator[Cluster]:
    """Start a scheduler and so many workers of one thread; they end with the context."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "scheduler.json"
        place = ("--scheduler-file", str(file), "--no-dashboard")
        scheduler = stack.enter_context(
            _process("distributed.cli.dask_scheduler", *place, "--port", "0")
        )
        one = ("--nthreads", "1", "--no-nanny", "--local-directory", folder)
        workers = [
            stack.enter_context(_process("distributed.cli.dask_worker", *place, *one))
            for _ in range(n_workers)
        ]
        client = stack.enter_context(Client(scheduler_file=str(file), set_as_default=False))
        client.wait_for_workers(n_workers, timeout=120)
        yield Cluster(client, scheduler, tuple(workers))


@contextmanager
def _process(module: str, *arguments: str) -> Iterator[psutil.Process]:
    # One thread of BLAS each; benchmarks are found from where this was started.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], stderr=subprocess.DEVNULL, env=environment
    )
    try:
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()
