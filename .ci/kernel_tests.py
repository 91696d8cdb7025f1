"""Run the numerical tests with the kernels that OpenBLAS has for other processors.

A fit rounds otherwise on another machine. Kernels that cannot run here are skipped and named.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
# AVX2, AVX-512, SSE alone, and AMD's, as far as they are not Intel's.
KERNELS = ("Haswell", "SkylakeX", "Nehalem", "Zen")

# What computes, or compares what is printed with what is computed.
JUDGING = ("judge", "audit")
FOLDERS = ("solve", "probes", *JUDGING, "theory")
FILES = ("README.md", "docs/demo.md", "tests/command/test_digits_demo.py", "tests/test_readme.py")
# With two threads OpenBLAS splits large products and factorisations, which these make.
OF_TWO_THREADS = ("tests/solve", *FILES)

# Products and an eigenvalue problem in both precisions, large enough for more than one thread: an
# instruction that the processor lacks ends the process. Then the kernels that ran.
PROBE = """
import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info

for dtype in ("float32", "float64"):
    rows = np.random.default_rng(0).normal(size=(300, 200)).astype(dtype)
    np.linalg.eigh(rows.T @ rows)
    scipy.linalg.svd(rows)
names = {each.get("architecture") for each in threadpool_info() if each["user_api"] == "blas"}
print(*sorted(map(str, names)))
"""


def numerical_tests() -> list[str]:
    """Return the folders and files of tests, those of the folders that there are."""
    folders = [f"tests/{name}" for name in FOLDERS if (ROOT / "tests" / name).is_dir()]
    return [*folders, *FILES]


def with_kernel(kernel: str, n_threads: int = 1) -> dict[str, str]:
    """Return the environment of a process that is to run a kernel."""
    wanted = {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": str(n_threads)}
    return os.environ | wanted


def kernel_that_runs(kernel: str) -> str:
    """Return which kernels run where some are asked for; "none" if the process ends in them."""
    command = [sys.executable, "-c", PROBE]
    probe = subprocess.run(  # noqa: S603
        command, env=with_kernel(kernel), capture_output=True, text=True, check=False
    )
    return probe.stdout.strip() if probe.returncode == 0 else "none"


def run_tests(kernel: str, n_threads: int, tests: list[str]) -> bool:
    """Run tests with a kernel; return whether they pass."""
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses=auto", *tests]
    environment = with_kernel(kernel, n_threads)
    passed = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0  # noqa: S603
    seconds = time.monotonic() - began
    say(f"{kernel}, BLAS threads {n_threads}: {'passed' if passed else 'FAILED'}, {seconds:.0f} s")
    return passed


def say(text: str) -> None:
    """Print a line, before what the next process prints."""
    print(f"test-kernels: {text}", flush=True)  # noqa: T201


def main() -> int:
    """Run the tests with every kernel that there is; return 1 if one fails."""
    passed = []
    for kernel in KERNELS:
        found = kernel_that_runs(kernel)
        if found != kernel:
            say(f"{kernel} skipped: asked for it, OpenBLAS on this processor runs {found}")
            continue
        passed.append(run_tests(kernel, 1, numerical_tests()))
        passed.append(run_tests(kernel, 2, list(OF_TWO_THREADS)))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
