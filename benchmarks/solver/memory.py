"""Peak memory of a fit above that of a process which already holds X.

Every fit runs in a process of its own (`python -m benchmarks.solver.memory`, started by
`MemoryOfFit`): it loads X, fits a small problem so that libraries and threads have what
they keep, notes the memory it occupies, fits, and asks the system for the largest it ever occupied.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.solver.passes import quietly
from benchmarks.solver.problems import Load, Problem, Source
from benchmarks.solver.results import PeakMemory, Penalty
from twohot import LinearProbe, PartialLabelProbe

FITS = {
    "teacher": lambda arguments: LinearProbe(**arguments),
    "PLL, cross-entropy": lambda arguments: PartialLabelProbe(loss="ce", **arguments),
    "PLL, generalised": lambda arguments: PartialLabelProbe(loss="gce", **arguments),
}
ROOT = Path(__file__).parents[2]
STATUS = Path("/proc/self/status")
MB = 1e6


def is_measurable() -> bool:
    """Return whether this system tells the peak memory of a process (Linux does)."""
    return STATUS.is_file()


@dataclass(frozen=True)
class MemoryOfFit:
    """What a fit on all cores takes above X, at the default tolerance."""

    source: Source
    penalty: Penalty
    fit: str  # a key of FITS

    def __str__(self) -> str:
        return f"{self.source.name}: memory, {self.fit}"

    def measure(self, load: Load) -> PeakMemory:
        problem = load(self.source)
        with TemporaryDirectory() as folder:
            np.save(Path(folder) / "X.npy", problem.X)
            np.save(Path(folder) / "y.npy", problem.given_labels)
            found = json.loads(
                subprocess.check_output(
                    [sys.executable, "-m", __name__, folder, self.fit, self._arguments],
                    cwd=ROOT,
                    text=True,
                )
            )
        return PeakMemory(
            problem=self.source.name,
            fit=self.fit,
            penalty=self.penalty,
            features_mb=problem.X.nbytes / MB,
            above_mb=found["above"],
            n_passes=found["passes"],
        )

    @property
    def _arguments(self) -> str:
        return json.dumps(self.penalty.arguments)


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
