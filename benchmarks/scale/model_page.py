"""The page of stores and clusters: what was measured, and what a model expects of many workers.

    python -m benchmarks.scale.model_page benchmarks/scale docs/scale_benchmark.md

writes the page from the records in the folder, and figures/scale_model.png beside it.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import table
from benchmarks.scale.cost_model import (
    Job,
    Rates,
    compute_seconds,
    pass_seconds,
    rates_from,
    worker_bytes,
)
from benchmarks.scale.straggler_simulation import simulate_passes
from twohot.base import COLOURS, write_figure
from twohot_paper.real_figures import new_panels

PAGE = Path(__file__).with_name("page.md")
# Names of stores and fits on the page, with the largest ratio allowed.
STORES = {
    "memory": ("memory, float32", ""),
    "float16 memory map": ("memory map, float16", "1.25"),
    "Parquet": ("Parquet, after the first pass", "1.5"),
    "Dask, threads": ("Dask, one thread", "1.2"),
    "Dask, distributed": ("Dask, distributed, two workers", "1.8"),
}
FITS = {
    "twohot": "`LinearProbe`, at its defaults",
    "twohot, float64, tol 1e-9": '`LinearProbe(dtype="float64", tol=1e-9)`',
    "dask-ml, lbfgs": 'dask-ml, `solver="lbfgs"`',
    "dask-ml, newton": 'dask-ml, `solver="newton"`, no penalty',
}
# Four reads of all rows before a fit (mean, principal axes, sample, moment of the labels), and the
# passes that two rounds take at the default tolerance.
N_PASSES = 24
ROWS, CLASSES, WORKERS = (1e7, 1e8, 1e9), (1000, 10_000, 100_000), (1, 10, 100, 1000)
DELAYS = (0.0, 0.1, 0.5)
FAN_INS = (2, 8, 32, 1024)
USUAL_DELAY, N_SIMULATED = 0.1, 200


Records = Sequence[Mapping[str, Any]]


def main(folder: Path, page: Path) -> None:
    scaling, passes, dask_ml, (out_of_core,) = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        for name in ("scaling", "passes", "dask_ml", "out_of_core")
    )
    rates = rates_from(scaling)
    workers = [record for record in scaling if record["kind"] == "pass"]
    one, two = (record["busiest_worker"] for record in workers)
    text = PAGE.read_text(encoding="utf-8").format(
        **{name: passes[0][name] for name in ("n_rows", "n_features", "n_classes")},
        n_ratios=len(passes[0]["ratios"]),
        stores=store_table(passes),
        out_of_core=in_words(out_of_core),
        load=workers[0]["load"],
        cores=workers[0]["cores"],
        workers=worker_table(workers),
        share=f"{two / one:.0%}",
        delay=f"{USUAL_DELAY:g}",
        rates=rates_in_words(rates, [compute_seconds(job_of(each), rates) for each in workers]),
        fits=model_table(rates),
        stragglers=straggler_table(rates),
        dask_ml=dask_ml[0]["versions"]["dask-ml"],
        dask=dask_ml[0]["versions"]["dask"],
        dask_load=dask_ml[0]["load"],
        dask_fits=fit_table(dask_ml),
    )
    page.write_text(text, encoding="utf-8")
    write_figure(page.parent / "figures" / "scale_model.png", model_figure(rates))


def store_table(passes: Records) -> str:
    """Return what a pass over each store takes."""
    rows = [
        [name, f"{each['cpu_seconds']:.2f}", f"{each['ratio']:.2f}", bound]
        for each in passes
        for name, bound in [STORES[each["store"]]]
    ]
    return table(["storage", "CPU time, s", "ratio", "largest allowed ratio"], rows)


def in_words(record: Mapping[str, Any]) -> str:
    """Return what a fit held of features larger than its memory."""
    size, limit, peak = (
        in_bytes(record[name]) for name in ("bytes_of_features", "limit", "peak_resident")
    )
    return (
        f"A process with a limit of {limit} of address space fitted {size} of features. Its peak "
        f"memory was {peak} (`benchmarks/scale/out_of_core.py`)."
    )


def fit_table(dask_ml: Records) -> str:
    """Return the fits of two classes; ADMM was stopped, and has no record."""
    rows = [
        [
            FITS[each["fit"]],
            f"{each['clock']:.1f}",
            f"{each['cpu_seconds']:.1f}",
            f"{each['gradient']:.1e}",
        ]
        for each in dask_ml
    ]
    stopped = ['dask-ml, `solver="admm"`, its default', "more than 200, stopped", "", ""]
    return table(["fit", "wall time, s", "CPU time, s", "gradient"], [*rows, stopped])


def worker_table(passes: Records) -> str:
    """Return what one and two workers took for the same rows."""
    rows = [
        [
            str(one["n_workers"]),
            f"{one['clock']:.2f}",
            f"{one['busiest_worker']:.2f}",
            f"{one['workers']:.2f}",
            f"{one['scheduler']:.2f}",
            f"{one['client']:.2f}",
            in_bytes(one["resident"]["worker"]),
            in_bytes(one["resident"]["scheduler"]),
        ]
        for one in passes
    ]
    cpu = [
        f"CPU time of {name}, s"
        for name in ("the busiest worker", "all workers", "the scheduler", "the client")
    ]
    memory = [f"memory of {name}" for name in ("a worker", "the scheduler")]
    return table(["workers", "wall time, s", *cpu, *memory], rows)


def job_of(record: Mapping[str, Any]) -> Job:
    """Return the job of a pass that was measured, in single precision."""
    n_rows, n_features, n_classes = record["shape"]
    chunk_bytes = n_rows / record["n_chunks"] * n_features * 4
    return Job(n_rows, n_classes, record["n_workers"], n_features, 4, chunk_bytes)


def rates_in_words(rates: Rates, busiest: Sequence[float]) -> str:
    """Return the rates of the model, and what it says of the passes that were measured."""
    nano, milli = 1e9, 1e3
    expected = " and ".join(f"{each:.2f}" for each in busiest)
    measured = (
        f"Measured: {rates.per_class * nano:.3f} ns per row, class and feature; "
        f"{rates.per_feature * nano:.2f} ns per row and feature; "
        f"{rates.worker_task * milli:.1f} ms of the worker and "
        f"{rates.scheduler_task * milli:.1f} ms of the scheduler per chunk; sums are added at "
        f"{rates.adding / 1e9:.1f} GB/s. With these rates, the model predicts {expected} s for "
        "the busiest of one and of two workers above."
    )
    assumed = (
        f"Assumed: {rates.bandwidth / 1e9:.2f} GB/s between two machines, 512 features in float16, "
        f"chunks of 64 MB, one core per worker, {N_PASSES} passes per fit."
    )
    return f"{measured}\n\n{assumed}"


def model_table(rates: Rates) -> str:
    """Return how long a fit takes on so many workers, and what each of them holds."""
    rows = []
    for n_rows in ROWS:
        for n_classes in CLASSES:
            cells = [f"{n_rows:.0e}".replace("e+0", "e"), f"{n_classes:,}"]
            for n_workers in WORKERS:
                job = Job(n_rows=n_rows, n_classes=n_classes, n_workers=n_workers)
                held = in_bytes(worker_bytes(job, rates))
                cells.append(f"{duration(N_PASSES * simulated(job, rates))}, {held}")
            rows.append(cells)
    names = [f"{n} worker{'s' if n > 1 else ''}" for n in WORKERS]
    return table(["rows", "classes", *names], rows)


def straggler_table(rates: Rates) -> str:
    """Return what late workers and the depth of the tree do to a pass."""
    job = Job(n_rows=1e8, n_classes=10_000, n_workers=100)
    rows = []
    for fan_in in FAN_INS:
        one = replace(job, fan_in=fan_in)
        seconds = [f"{simulated(one, rates, delay):.1f}" for delay in DELAYS]
        held = in_bytes(fan_in * one.sum_bytes)
        rows.append([str(fan_in), str(len(one.levels)), held, *seconds])
    names = [f"s per pass, delay {delay:g}" for delay in DELAYS]
    return table(["sums per task", "levels of tasks", "memory of these sums", *names], rows)


def simulated(job: Job, rates: Rates, delay: float = USUAL_DELAY) -> float:
    """Return the mean seconds of a pass with late workers; always the same."""
    rng = np.random.default_rng(0)
    if delay == 0:
        return float(simulate_passes(job, rates, 0.0, 1, rng)[0])
    n_passes = max(5, min(N_SIMULATED, 2_000_000 // job.n_chunks))
    return float(simulate_passes(job, rates, delay, n_passes, rng).mean())


def model_figure(rates: Rates) -> Any:
    """Return seconds of a pass by workers; dashed: the work of one worker, shared evenly."""
    figure, panels = new_panels(9.5, 3.2, 1, len(CLASSES), share_y=True)
    n_workers = np.unique(np.geomspace(1, 1000, 13).round().astype(int))
    for axes, n_classes in zip(panels[0], CLASSES, strict=True):
        for n_rows, colour in zip(ROWS, COLOURS, strict=False):
            jobs = [Job(n_rows=n_rows, n_classes=n_classes, n_workers=n) for n in n_workers]
            seconds = [simulated(job, rates) for job in jobs]
            name = f"{n_rows:.0e} rows".replace("e+0", "e")
            axes.loglog(n_workers, seconds, color=colour, marker="o", markersize=3, label=name)
            even = pass_seconds(jobs[0], rates) / n_workers
            axes.loglog(n_workers, even, color=colour, linestyle=":", linewidth=1)
        axes.set(title=f"{n_classes:,} classes", xlabel="workers")
    panels[0, 0].set_ylabel("seconds of a pass (a model)")
    panels[0, 0].legend(frameon=False, loc="upper right", reverse=True)
    return figure


def in_bytes(count: float) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> in_bytes(2_700_000_000), in_bytes(350_000)
    ('2.7 GB', '350 kB')
    """
    for unit, size in {"TB": 1e12, "GB": 1e9, "MB": 1e6}.items():
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"


def duration(seconds: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> duration(50), duration(1000), duration(40_000), duration(1e6)
    ('50 s', '17 min', '11.1 h', '11.6 d')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 360_000 else f"{seconds / 86400:.1f} d"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
