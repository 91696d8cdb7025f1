"""The model of a pass on a cluster, against simple closed forms."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale import model_page
from benchmarks.scale.cost_model import (
    Job,
    Rates,
    compute_seconds,
    pass_seconds,
    rates_from,
)
from benchmarks.scale.straggler_simulation import simulate_passes

RATES = Rates(per_class=1e-10, per_feature=1e-9, worker_task=2e-3, scheduler_task=1e-3, adding=2e9)
FREE = replace(RATES, worker_task=0, scheduler_task=0, adding=np.inf, bandwidth=np.inf)

jobs = st.builds(
    Job,
    n_rows=st.integers(10**4, 10**7),
    n_classes=st.integers(2, 10**4),
    n_workers=st.integers(1, 50),
    chunk_bytes=st.sampled_from([2**22, 2**26]),
    fan_in=st.integers(2, 64),
)


def test_one_worker_with_one_chunk_by_hand():
    job = Job(n_rows=1000, n_classes=10, n_workers=1, n_features=100)
    compute = 1000 * 100 * (10 * 1e-10 + 1e-9) + 2e-3
    add = 8 * (8 * 10 * 101) / 2e9  # all that a node could add, of which there is one
    travel = (4 * 10 * 100 + 4 * 10 * 101) / 1.25e9
    assert job.n_chunks == 1
    assert pass_seconds(job, RATES) == pytest.approx(compute + add + travel)


@given(jobs)
def test_without_stragglers_the_simulation_is_the_closed_form(job):
    fast_scheduler = replace(RATES, scheduler_task=0)
    found = simulate_passes(job, fast_scheduler, 0.0, 2, np.random.default_rng(0))
    np.testing.assert_allclose(found, pass_seconds(job, fast_scheduler), rtol=1e-9)


@pytest.mark.parametrize("n_workers", [1, 10, 200])
def test_exponential_delays_cost_the_harmonic_number(n_workers):
    job = Job(n_rows=10**6, n_classes=100, n_workers=n_workers, chunk_bytes=np.inf)
    found = simulate_passes(job, FREE, 0.5, 4000, np.random.default_rng(0))
    harmonic = sum(1 / number for number in range(1, n_workers + 1))
    expected = compute_seconds(job, FREE) * (1 + 0.5 * harmonic)
    assert abs(found.mean() - expected) < 4 * found.std() / math.sqrt(len(found))


@given(jobs, st.integers(2, 8))
def test_free_communication_scales_with_the_workers(job, times):
    chunks = replace(job, chunk_bytes=np.inf)  # one for each worker
    more = replace(chunks, n_workers=times * job.n_workers)
    assert pass_seconds(chunks, FREE) == pytest.approx(times * pass_seconds(more, FREE))


KERNELS = [
    {"kind": "kernel", "shape": [1000, 512, k], "cpu_seconds": 1000 * 512 * (k * 7e-11 + 2e-9)}
    for k in (10, 100, 1000)
]
TASKS = [
    {
        "kind": "tasks",
        "n_chunks": n,
        "workers": 0.01 + 2e-3 * n,
        "scheduler": 0.02 + 1e-3 * n,
        "resident": {"worker": 2e8},
    }
    for n in (64, 8, 256)
]
ADD = {"kind": "add", "n_bytes": 4e7, "cpu_seconds": 0.02}


def test_rates_are_found_from_records():
    assert rates_from([*KERNELS, *TASKS, ADD]) == Rates(
        per_class=pytest.approx(7e-11),
        per_feature=pytest.approx(2e-9),
        worker_task=pytest.approx(2e-3),
        scheduler_task=pytest.approx(1e-3),
        adding=pytest.approx(2e9),
        process_bytes=2e8,
    )


def test_the_page_is_what_the_records_make_of_it(tmp_path):
    """The golden page is the documentation: written again, it stays as it is."""
    written = tmp_path / "scale_benchmark.md"
    (tmp_path / "figures").mkdir()
    model_page.main(Path("benchmarks/scale"), written)
    assert written.read_text() == Path("docs/scale_benchmark.md").read_text()
    assert (tmp_path / "figures" / "scale_model.png").stat().st_size > 10_000
