"""Measure passes, times and memory, and write them down.

    python benchmarks/run.py --output docs/benchmarks.md [--features DIR]
    python benchmarks/run.py --quick            # a minute, small problems, to standard output

DIR holds real features as npz files (see problems.REAL_FILES) with X_train and y_train.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info, threadpool_limits

import problems
from document import render
from memory import FITS, is_measurable, peak_memory
from passes import count_distilled, count_generalized, count_partial
from problems import Problem
from records import Penalty, Results
from reference import compare_late_round
from targets import COARSE, FINE, MAIN_NAME, MANY_NAME
from timings import over_gemm, over_sgd, over_sklearn

SMALL_L2, LARGE_L2 = Penalty("l2", 5e-5), Penalty("l2", 5e-4)
RIDGES = [Penalty("ridge", strength) for strength in (100, 10, 1)]
STARTED = time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="file to write; else standard output")
    parser.add_argument("--features", type=Path, help="folder with real features")
    parser.add_argument("--quick", action="store_true", help="small problems, to check the code")
    arguments = parser.parse_args()
    results = Results(arguments.quick, describe_machine(), problems.why_not_as_printed())
    with threadpool_limits(1):  # what is timed on more threads says so where it is timed
        on_main(results, problems.QUICK_MAIN if arguments.quick else problems.MAIN)
        on_digits(results)
        on_many(results, problems.QUICK_MANY if arguments.quick else problems.MANY)
        if arguments.features is not None:
            on_real(results, arguments.features)
    results.minutes = (time.perf_counter() - STARTED) / 60
    write(render(results), arguments.output)


def on_main(results: Results, size: problems.Size) -> None:
    """Measure everything at the main size: first times, while nothing else is warm."""
    problem = begin(results, problems.synthetic(MAIN_NAME, size))
    for n_rounds, n_threads, n_repeats in ((1, 1, 5), (4, 1, 3), (1, 2, 5)):
        say(f"{problem.name}: {n_rounds} round(s) over matrix products, {n_threads} thread(s)")
        results.gemm += over_gemm(
            problem, SMALL_L2, n_rounds=n_rounds, n_threads=n_threads, n_repeats=n_repeats
        )
    say(f"{problem.name}: scikit-learn")
    results.sklearn.append(over_sklearn(problem, SMALL_L2.strength, n_repeats=3))
    say(f"{problem.name}: SGD")
    by_sgd = over_sgd(problem, SMALL_L2.strength, n_repeats=3)
    results.sgd += [] if by_sgd is None else [by_sgd]
    measure_memory(results, problem, list(FITS))
    for penalty in (SMALL_L2, LARGE_L2):
        count_rounds(results, problem, penalty, n_rounds=7)
        results.generalized += count_generalized(problem, penalty, COARSE)
    measure_late(results, problem)


def on_digits(results: Results) -> None:
    for dtype in ("float64", "float32"):  # as scikit-learn has them, and as embeddings often come
        problem = begin(results, problems.digits(dtype))
        for penalty in (SMALL_L2, LARGE_L2):
            count_rounds(results, problem, penalty, n_rounds=7)
            results.generalized += count_generalized(problem, penalty, COARSE)
        measure_late(results, problem)


def on_many(results: Results, size: problems.Size) -> None:
    problem = begin(results, problems.synthetic(MANY_NAME, size))
    measure_memory(results, problem, ["teacher", "PLL, cross-entropy"])
    count_rounds(results, problem, SMALL_L2, n_rounds=2)


def on_real(results: Results, folder: Path) -> None:
    for loaded in problems.real(folder):
        problem = begin(results, loaded)
        for penalty in RIDGES:
            for tol in (COARSE, FINE):
                say(f"{problem.name}: rounds, {penalty}, {tol:g}")
                results.rounds += count_distilled(problem, penalty, tol, n_rounds=3)
        say(f"{problem.name}: generalised cross-entropy")
        results.generalized += count_generalized(problem, Penalty("ridge", 10), COARSE)
        if problem.name == "BANKING77":
            say(f"{problem.name}: scikit-learn")
            results.sklearn.append(over_sklearn(problem, problem.l2(10), n_repeats=3))
            measure_late(results, problem)


def count_rounds(results: Results, problem: Problem, penalty: Penalty, n_rounds: int) -> None:
    for tol in (COARSE, FINE):
        say(f"{problem.name}: rounds, {penalty}, {tol:g}")
        results.rounds += count_distilled(problem, penalty, tol, n_rounds)
        results.rounds.append(count_partial(problem, penalty, tol))


def measure_memory(results: Results, problem: Problem, fits: list[str]) -> None:
    for fit in fits if is_measurable() else []:
        say(f"{problem.name}: memory, {fit}")
        results.memory.append(peak_memory(problem, fit, SMALL_L2))


def measure_late(results: Results, problem: Problem) -> None:
    say(f"{problem.name}: a late round")
    results.late.append(compare_late_round(problem, ridge=1000, n_rounds=6))


def begin(results: Results, problem: Problem) -> Problem:
    results.sizes[problem.name] = problem.size
    return problem


def say(line: str) -> None:
    print(f"{time.perf_counter() - STARTED:6.0f} s  {line}", file=sys.stderr, flush=True)


def describe_machine() -> dict[str, str]:
    """Return what times depend on, and nothing that tells one machine from another of its kind."""
    model = platform.machine()
    if Path("/proc/cpuinfo").is_file():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = f"{names[0]}, {model}" if names else model
    found = {"cores": str(os.cpu_count()), "processor": model}
    found["load before the run"] = f"{os.getloadavg()[0]:.1f}"
    found["Python"] = platform.python_version()
    for package in ("numpy", "scipy", "scikit-learn", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    blas = {f"{e['internal_api']} {e['version']}" for e in threadpool_info() if "blas" in str(e)}
    found["BLAS"] = ", ".join(sorted(blas))
    return found


def write(text: str, path: Path | None) -> None:
    """Write the document, complete or not at all."""
    if path is None:
        print(text, end="")
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    main()
