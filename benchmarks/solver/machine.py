"""What times depend on, and nothing that tells one machine from another of its kind."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_info

from benchmarks.solver.problems import Load
from twohot_paper.runs import versions_of

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


@dataclass(frozen=True)
class Machine:
    """The machine that all is measured on."""

    def __str__(self) -> str:
        return "machine"

    def measure(self, load: Load) -> dict[str, str]:
        del load
        blas = {
            f"{e['internal_api']} {e['version']}" for e in threadpool_info() if "blas" in str(e)
        }
        return {
            "cores": str(os.cpu_count()),
            "processor": processor(),
            "load before the run": f"{os.getloadavg()[0]:.1f}",
            **versions_of(PACKAGES),
            "BLAS": ", ".join(sorted(blas)),
        }


def processor() -> str:
    model, cpus = platform.machine(), Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {model}" if names else model
