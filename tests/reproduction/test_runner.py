"""A plan is done once, whatever fails, is interrupted or killed on the way."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import seeded_runs
from seeded_runs import PLAN, Draw, Moments, moments, without_times
from threadpoolctl import threadpool_info

from twohot_paper import Log, Progress, run_plan, unfinished


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "runs.jsonl")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[Draw, tuple[float, ...]]]:
    log = Log(tmp_path_factory.mktemp("all") / "runs.jsonl")
    run_plan(PLAN, log, moments)
    return without_times(log)


def refusing(run: Draw, seed: int) -> Moments:
    if run.seed == seed:
        raise ValueError(f"seed {seed} is not for me")
    return moments(run)


def test_records_contain_times_and_versions(log: Log) -> None:
    (record,) = run_plan(PLAN[:1], log, moments, packages=["numpy"])
    assert (record.run, record.result, record.error) == (PLAN[0], moments(PLAN[0]), None)
    assert record.cpu_seconds >= 0
    assert record.wall_seconds > 0
    assert record.versions["numpy"] == np.__version__
    assert log.records({Draw: Moments}) == [record]


def test_finished_runs_are_skipped(log: Log) -> None:
    run_plan(PLAN[3:5], log, moments)
    done = run_plan(PLAN, log, moments)
    assert [record.run for record in done] == PLAN[:3] + PLAN[5:]
    assert run_plan(PLAN, log, moments) == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failures_are_recorded_and_repeated(
    log: Log, expected: set[tuple[Draw, tuple[float, ...]]], n_jobs: int
) -> None:
    run_plan(PLAN, log, partial(refusing, seed=2), n_jobs=n_jobs)
    errors = [record for record in log.records({Draw: Moments}) if record.error]
    assert {record.error for record in errors} == {"ValueError: seed 2 is not for me"}
    assert [record.result for record in errors] == [None, None]
    assert unfinished(PLAN, log) == [run for run in PLAN if run.seed == 2]
    run_plan(PLAN, log, moments, n_jobs=n_jobs)
    assert without_times(log) == expected


def test_results_that_are_not_json_are_failures(log: Log) -> None:
    (record,) = run_plan(PLAN[:1], log, lambda _: {"share": float("nan")})
    assert record.error == (
        "ArgumentError: nan of type float is not a JSON value: write it as a number, a text, None, "
        "or a list or dict of them."
    )
    assert unfinished(PLAN[:1], log) == PLAN[:1]


def test_callback_reports_progress(log: Log) -> None:
    run_plan(PLAN[:2], log, moments)
    heard: list[Progress] = []
    done = run_plan(PLAN[:5], log, moments, callback=heard.append)
    assert [(each.n_done, each.n_runs) for each in heard] == [(1, 3), (2, 3), (3, 3)]
    assert [each.record for each in heard] == done


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed:UserWarning")
@pytest.mark.filterwarnings("ignore:.*tasks have been successfully executed:UserWarning")
def test_interrupts_keep_finished_runs(
    log: Log, expected: set[tuple[Draw, tuple[float, ...]]], n_jobs: int
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.n_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(PLAN, log, moments, n_jobs=n_jobs, callback=interrupt)
    assert len(unfinished(PLAN, log)) == len(PLAN) - 3
    run_plan(PLAN, log, moments, n_jobs=n_jobs)
    assert without_times(log) == expected


def test_kills_lose_at_most_the_current_run(
    log: Log, expected: set[tuple[Draw, tuple[float, ...]]]
) -> None:
    generator, size = np.random.default_rng(0), 0
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(2):
        size += int(generator.integers(1, 1500))  # a record has about 400
        command = [sys.executable, seeded_runs.__file__, str(log.path), str(size)]
        killed = subprocess.run(command, env=environment, check=False)  # noqa: S603 - ours
        assert killed.returncode == -signal.SIGXFSZ
        written = log.path.read_bytes()
        assert len(written) == size
        finished = [record.run for record in log.finished(Draw, Moments)]
        assert len(finished) >= written.count(b"\n")
        assert finished == PLAN[: len(finished)]
    assert without_times(log) <= expected
    run_plan(PLAN, log, moments)
    assert without_times(log) == expected
    assert len(log.records({Draw: Moments})) == len(PLAN)


def test_blas_has_one_thread_within_a_run(log: Log) -> None:
    def threads(_: Draw) -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    (record,) = run_plan(PLAN[:1], log, threads)
    assert set(record.result) == {1}
