"""Runs: their identities, the log of their records, and plans that can be resumed."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, make_dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeAlias

import numpy as np
import pytest
import seeded_runs
from seeded_runs import PLAN, Draw, Moments, moments, without_times
from threadpoolctl import threadpool_info

from twohot_paper import Log, Progress, Record, identity, run_plan, unfinished

Results: TypeAlias = set[tuple[Draw, tuple[float, ...]]]

ELSEWHERE = """
from seeded_runs import Draw
from twohot_paper import identity
print(identity(Draw(3, 0.5)))
"""


def test_identities_are_equal_in_every_process() -> None:
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", ELSEWHERE]
    found = subprocess.check_output(command, env=environment, text=True)  # noqa: S603 - ours
    assert found.strip() == identity(Draw(3, 0.5))


def test_identity_ignores_field_order_and_number_format() -> None:
    turned = make_dataclass(
        "Draw", [("moments", list), ("scale", float), ("seed", int)], frozen=True
    )
    assert identity(turned([1, 2], 2.0, 0)) == identity(Draw(0, 2))


def test_identity_depends_on_kind_and_settings() -> None:
    @dataclass(frozen=True)
    class Other:
        seed: int
        scale: float
        moments: tuple[int, ...]

    names = [identity(run) for run in [*PLAN, Other(0, 0.5, (1, 2)), Draw(0, 0.5, (2, 1))]]
    assert len(set(names)) == len(names) == len(PLAN) + 2


def test_rejects_mutable_runs() -> None:
    @dataclass
    class Loose:
        seed: int

    for run in (Loose(0), {"seed": 0}):
        with pytest.raises(ValueError, match="is mutable: make its class a frozen dataclass"):
            identity(run)


def record(run: Draw, value: float = 1.0) -> Record[Draw, Moments]:
    return Record(run, Moments([value]), None, 0.25, None, {"numpy": "2"})


def failed(run: Draw) -> Record[Draw, None]:
    return Record(run, None, "ValueError: no", 0.25, 0.5, {})


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "new" / "runs.jsonl")


def test_log_returns_written_records(log: Log) -> None:
    assert log.records({Draw: Moments}) == []
    written = [record(PLAN[0]), failed(PLAN[1]), record(PLAN[2])]
    for each in written:
        log.append(each)
    assert log.records({Draw: Moments}) == written
    assert log.finished(Draw, Moments) == [written[0], written[2]]
    assert log.finished(Moments, dict) == []  # no run of this kind


def test_line_contains_settings_result_versions_and_times(log: Log) -> None:
    log.append(record(Draw(0, 2)))
    (line,) = log.path.read_text().splitlines()
    assert json.loads(line) == {
        "format": 1,
        "id": "823442cce1c1e170",
        "kind": "Draw",
        "run": {"seed": 0, "scale": 2, "moments": [1, 2]},
        "result": {"values": [1.0]},
        "error": None,
        "cpu_seconds": 0.25,
        "wall_seconds": None,
        "versions": {"numpy": "2"},
    }


def test_failed_runs_are_unfinished(log: Log) -> None:
    log.append(failed(PLAN[0]))
    assert unfinished(PLAN, log) == PLAN
    log.append(record(PLAN[0]))
    log.append(failed(PLAN[0]))  # as another process may leave it
    assert unfinished(PLAN, log) == PLAN[1:]


def test_repeated_runs_count_once(log: Log) -> None:
    assert unfinished([*PLAN, PLAN[0]], log) == PLAN
    for value in (1.0, 2.0):
        log.append(record(PLAN[0], value))
    assert log.finished(Draw, Moments) == [record(PLAN[0], 2.0)]


def test_truncated_lines_are_ignored_and_removed(log: Log) -> None:
    for run in PLAN[:2]:
        log.append(record(run))
    whole = log.path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole) + 1):
        log.path.write_bytes(whole[:length])
        complete = length >= len(whole) - 1  # the end of the line is all that may be missing
        assert unfinished(PLAN[:2], log) == ([] if complete else [PLAN[1]])
        log.append(record(PLAN[2]))
        kept = PLAN[:2] if complete else PLAN[:1]
        assert [each.run for each in log.records({Draw: Moments})] == [*kept, PLAN[2]]


def test_lines_may_be_removed_by_hand(log: Log) -> None:
    for run in PLAN[:3]:
        log.append(record(run))
    lines = log.path.read_text().splitlines()
    log.path.write_text("\n\n".join([lines[0], lines[2]]))
    assert unfinished(PLAN[:3], log) == [PLAN[1]]
    log.append(record(PLAN[1]))
    assert unfinished(PLAN[:3], log) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a,b\n1,2\n",
            "line 1 is not the record of a run: pass another log, or move this file away",
        ),
        (b"[1]\n", "line 1 is not the record of a run"),
        (b"a table without an end", "the last line is not the record of a run"),
        (b'{"format": 7, "id": "a"}\n', "line 1 has format 7, but this version reads format 1"),
        (b'{"format": 1}\n{"forma', "line 1 is not the record of a run"),
    ],
)
def test_rejects_and_keeps_other_files(log: Log, content: bytes, message: str) -> None:
    log.path.parent.mkdir()
    log.path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        unfinished(PLAN, log)
    if message.startswith("its last line"):
        with pytest.raises(ValueError, match="cannot be used"):
            log.append(record(PLAN[0]))
    assert log.path.read_bytes() == content


def test_rejects_records_with_other_fields(log: Log) -> None:
    log.append(record(PLAN[0]))
    log.path.write_text(log.path.read_text().replace('"scale"', '"sclae"'))
    with pytest.raises(ValueError, match="has an unexpected form: Draw does not know 'sclae'"):
        log.finished(Draw, Moments)


def test_runs_of_another_version_are_repeated(log: Log) -> None:
    second = [("version", ClassVar[int], 2)]
    renewed = make_dataclass("Draw", second, bases=(Draw,), frozen=True)
    log.append(record(PLAN[0]))
    assert log.records({renewed: Moments}) == []
    assert unfinished([renewed(0)], log) == [renewed(0)]
    log.append(record(renewed(0)))
    assert [each.run for each in log.finished(renewed, Moments)] == [renewed(0)]
    assert [each.run for each in log.finished(Draw, Moments)] == PLAN[:1]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Results:
    log = Log(tmp_path_factory.mktemp("all") / "runs.jsonl")
    run_plan(PLAN, log, moments)
    return without_times(log)


def refusing(run: Draw, seed: int) -> Moments:
    if run.seed == seed:
        raise ValueError(f"seed {seed} is not for me")
    return moments(run)


def test_records_contain_times_and_versions(log: Log) -> None:
    (record,) = run_plan(PLAN[:1], log, moments, packages=["numpy", "no-such-package"])
    assert (record.run, record.result, record.error) == (PLAN[0], moments(PLAN[0]), None)
    assert record.cpu_seconds >= 0
    assert record.wall_seconds > 0
    assert record.versions["numpy"] == np.__version__
    assert record.versions["no-such-package"] == "not installed"
    assert log.records({Draw: Moments}) == [record]


def test_finished_runs_are_skipped(log: Log) -> None:
    run_plan(PLAN[3:5], log, moments)
    done = run_plan(PLAN, log, moments)
    assert [record.run for record in done] == PLAN[:3] + PLAN[5:]
    assert run_plan(PLAN, log, moments) == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failures_are_recorded_and_repeated(log: Log, expected: Results, n_jobs: int) -> None:
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
        "ArgumentError: nan of type float is not a JSON value: use finite numbers, texts, None, "
        "and lists or dicts of these types."
    )
    assert unfinished(PLAN[:1], log) == PLAN[:1]


def test_callback_reports_progress(log: Log) -> None:
    run_plan(PLAN[:2], log, moments)
    calls: list[Progress] = []
    done = run_plan(PLAN[:5], log, moments, callback=calls.append)
    assert [(each.n_done, each.n_runs) for each in calls] == [(1, 3), (2, 3), (3, 3)]
    assert [each.record for each in calls] == done


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed:UserWarning")
@pytest.mark.filterwarnings("ignore:.*tasks have been successfully executed:UserWarning")
def test_interrupts_keep_finished_runs(log: Log, expected: Results, n_jobs: int) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.n_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(PLAN, log, moments, n_jobs=n_jobs, callback=interrupt)
    assert len(unfinished(PLAN, log)) == len(PLAN) - 3
    run_plan(PLAN, log, moments, n_jobs=n_jobs)
    assert without_times(log) == expected


def test_kills_lose_at_most_the_current_run(log: Log, expected: Results) -> None:
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
