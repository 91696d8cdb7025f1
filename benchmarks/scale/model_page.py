"""What was measured on one and two workers, and what the model says of many: tables and a figure.

    python -m benchmarks.scale.model_page benchmarks/scale/scaling.jsonl docs/scale.md

replaces what stands between the two marks in the page, and docs/figures/scale_model.png.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill
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

BEGIN = "<!-- measured by benchmarks.scale.scaling, written by benchmarks.scale.model_page -->"
END = "<!-- end of what is written -->"
WIDTH = 118
# Four reads of all rows before a fit (mean, principal axes, sample, moment of the labels), and the
# passes that two rounds take at the default tolerance.
N_PASSES = 24
ROWS, CLASSES, WORKERS = (1e7, 1e8, 1e9), (1000, 10_000, 100_000), (1, 10, 100, 1000)
DELAYS = (0.0, 0.1, 0.5)
FAN_INS = (2, 8, 32, 1024)
USUAL_DELAY, N_SIMULATED = 0.1, 200


def main(records: Path, page: Path) -> None:
    found = [json.loads(line) for line in records.read_text().splitlines()]
    rates = rates_from(found)
    text = page.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    parts = [
        measured(found, rates),
        rates_in_words(rates),
        model_table(rates),
        straggler_table(rates),
    ]
    page.write_text("\n\n".join([f"{before}{BEGIN}", *parts, f"{END}{after}"]))
    write_figure(page.parent / "figures" / "scale_model.png", model_figure(rates))


def measured(records: Sequence[Mapping[str, Any]], rates: Rates) -> str:
    """Return what one and two workers took for the same rows."""
    passes = [record for record in records if record["kind"] == "pass"]
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
    head = ["workers", "clock, s", "CPU of the busiest worker, s", "of all workers", "scheduler"]
    found = table([*head, "client", "memory of a worker", "of the scheduler"], rows)
    one, two = (record["busiest_worker"] for record in passes)
    expected = " and ".join(f"{compute_seconds(job_of(each), rates):.2f}" for each in passes)
    words = (
        f"The busiest of two workers has {two / one:.0%} of the CPU time of one. "
        f"The load of the {passes[0]['cores']} cores was {passes[0]['load']:g}. "
        f"By the model below the busiest worker takes {expected} s."
    )
    return f"{found}\n\n{fill(words, WIDTH)}"


def job_of(record: Mapping[str, Any]) -> Job:
    """Return the job of a pass that was measured, in single precision."""
    n_rows, n_features, n_classes = record["shape"]
    chunk_bytes = n_rows / record["n_chunks"] * n_features * 4
    return Job(n_rows, n_classes, record["n_workers"], n_features, 4, chunk_bytes)


def rates_in_words(rates: Rates) -> str:
    """Return what the model goes by."""
    nano, milli = 1e9, 1e3
    words = (
        f"Rates: {rates.per_class * nano:.3f} ns per row, class and feature; "
        f"{rates.per_feature * nano:.2f} ns per row and feature; "
        f"{rates.worker_task * milli:.1f} ms of its worker and "
        f"{rates.scheduler_task * milli:.1f} ms of the scheduler per chunk; sums are added at "
        f"{rates.adding / 1e9:.1f} GB/s. Assumed: {rates.bandwidth / 1e9:.2f} GB/s between two "
        f"machines (10 Gbit/s), 512 features in float16, chunks of 64 MB, one core a worker, "
        f"{N_PASSES} passes a fit, delays of mean {USUAL_DELAY:g}."
    )
    return fill(words, WIDTH)


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
    names = [f"pass, s, delay {delay:g}" for delay in DELAYS]
    return table(["sums added at once", "levels", "memory of these", *names], rows)


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
