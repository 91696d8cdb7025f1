"""What a log keeps: whole records, through torn lines and failures, and nothing foreign."""

import json
from dataclasses import make_dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from seeded_runs import PLAN, Draw, Moments

from twohot_paper import Log, Record, unfinished


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
            "line 1 is not the record of a run: pass another log, or move this one away",
        ),
        (b"[1]\n", "line 1 is not the record of a run"),
        (b"a table without an end", "its last line is not the record of a run"),
        (b'{"format": 7, "id": "a"}\n', "line 1 is of format 7, not 1"),
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
    with pytest.raises(
        ValueError, match="has a record of another form: Draw does not know 'sclae'"
    ):
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
