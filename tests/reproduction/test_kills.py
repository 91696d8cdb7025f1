"""Killed at random moments and started again, a reproduction ends with the same records."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from small_data import write_small_data

N_KILLS = 20
RECORD_BYTES = 3000  # about
TIMES = {"cpu_seconds", "wall_seconds"}


def command(features: Path, output: Path) -> list[str]:
    program = [sys.executable, "-c", "from twohot_command.commands import app; app()"]
    wanted = ["reproduce", "fig:superclass_base", "--features", str(features), "-o", str(output)]
    return [*program, *wanted, "--jobs", "2"]


def without_times(value):
    """Return a record without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in TIMES}
    return value


def records(output: Path) -> list[str]:
    lines = (output / "runs.jsonl").read_text().splitlines()
    return sorted(json.dumps(without_times(json.loads(line)), sort_keys=True) for line in lines)


@pytest.mark.slow
def test_twenty_kills_lose_nothing(tmp_path):
    features = write_small_data(tmp_path)
    subprocess.run(command(features, tmp_path / "whole"), check=True, capture_output=True)  # noqa: S603
    generator, log = np.random.default_rng(), tmp_path / "killed" / "runs.jsonl"
    for _ in range(N_KILLS):
        before = log.stat().st_size if log.exists() else 0
        # Within the next record, or a moment after it.
        wanted, later = before + generator.integers(1, RECORD_BYTES), generator.uniform(0, 0.2)
        process = subprocess.Popen(  # noqa: S603 - ours
            command(features, tmp_path / "killed"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and (not log.exists() or log.stat().st_size < wanted):
            time.sleep(0.001)
        time.sleep(later)
        process.kill()
        process.wait()
    subprocess.run(command(features, tmp_path / "killed"), check=True, capture_output=True)  # noqa: S603
    assert records(tmp_path / "killed") == records(tmp_path / "whole")
    assert (tmp_path / "killed" / "index.html").exists()
