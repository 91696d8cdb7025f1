"""Peak memory of a fit above that of a process which already holds X.

Every fit runs in a process of its own (`python benchmarks/memory.py`, called by `peak_memory`):
it loads X, fits a small problem so that libraries and threads have what they keep, notes the
memory it occupies, fits, and asks the system for the largest it ever occupied.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from passes import quietly
from problems import Problem
from records import PeakMemory, Penalty
from twohot import LinearProbe, PartialLabelProbe

FITS = {
    "teacher": lambda arguments: LinearProbe(**arguments),
    "PLL, cross-entropy": lambda arguments: PartialLabelProbe(loss="ce", **arguments),
    "PLL, generalised": lambda arguments: PartialLabelProbe(loss="gce", **arguments),
}
STATUS = Path("/proc/self/status")
MB = 1e6


def is_measurable() -> bool:
    """Return whether this system tells the peak memory of a process (Linux does)."""
    return STATUS.is_file()


def peak_memory(problem: Problem, fit: str, penalty: Penalty) -> PeakMemory:
    """Return what a fit on all cores takes above X, at the default tolerance."""
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", problem.X)
        np.save(Path(folder) / "y.npy", problem.given_labels)
        command = [sys.executable, __file__, folder, fit, json.dumps(penalty.arguments)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(answer.stdout)
    return PeakMemory(
        problem=problem.name,
        fit=fit,
        penalty=penalty,
        features_mb=problem.X.nbytes / MB,
        above_mb=found["above"],
        n_passes=found["passes"],
    )


def status(field: str) -> float:
    """Return a size in the status of this process, in MB."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / MB


def measure_here(folder: Path, fit: str, arguments: dict[str, float]) -> dict[str, float]:
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    few = slice(0, 20 * (int(y.max()) + 1))
    small = Problem("small", X[few, :16].copy(), y[few], y[few])
    quietly(FITS[fit](arguments), small)
    problem = Problem("all", X, y, y)
    before = status("VmRSS")
    probe = quietly(FITS[fit](arguments), problem)
    passes = sum(entry.n_passes for entry in probe.rounds_)
    return {"above": status("VmHWM") - before, "passes": passes}


if __name__ == "__main__":
    print(json.dumps(measure_here(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))))
