"""The page, from the results alone."""

import math
from pathlib import Path

from benchmarks.pages import table, target_table
from benchmarks.solver.passes import PLL
from benchmarks.solver.problems import (
    MAIN,
    MANY,
    N_SUPERCLASSES,
    NOISE_RATE,
    PRINTED_ELSEWHERE,
    REAL,
    SAME_CLASS,
    SAME_SUPERCLASS,
)
from benchmarks.solver.results import Ratio, Results, RoundCount
from benchmarks.solver.targets import COARSE, FINE, targets, total_passes
from benchmarks.solver.timings import BATCH_ROWS, MOMENTUM
from twohot.base.messages import counted

NOTES = Path(__file__).parent / "notes.md"

# Passes at 1e-4 / 1e-6 of teacher, student 1 and student 2 by L-BFGS with the metric of
# solve.preconditioner alone, counted once, before solve.secants was written.
BEFORE = {
    ("CIFAR-100", 100): ["15 / 22", "12 / 18", "11 / 17"],
    ("CIFAR-100", 10): ["26 / 44", "22 / 37", "18 / 34"],
    ("CIFAR-100", 1): ["37 / 59", "23 / 46", "22 / 45"],
    ("BANKING77", 100): ["11 / 17", "9 / 15", "8 / 13"],
    ("BANKING77", 10): ["26 / 41", "21 / 33", "17 / 30"],
    ("BANKING77", 1): ["50 / 84", "42 / 74", "35 / 64"],
    ("Flowers-102", 100): ["12 / 18", "9 / 14", "8 / 14"],
    ("Flowers-102", 10): ["24 / 35", "20 / 35", "17 / 28"],
}


def render(results: Results) -> str:
    """Return the whole page."""
    parts = [
        "# Benchmarks",
        _opening(results),
        "## Asked and measured",
        target_table(targets(results)),
        *_passes(results),
        *_real(results),
        *_generalized(results),
        *_times(results),
        *_memory(results),
        *_late(results),
        "## What we tried for the preconditioner",
        NOTES.read_text(encoding="utf-8").strip(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(results: Results) -> str:
    machine = "; ".join(f"{name} {value}" for name, value in results.machine.items())
    opening = (
        "`make bench` writes this page from the records of its runs; `make bench FEATURES=DIR` "
        "adds the real features, which are not part of the project. The runs took "
        f"{counted(max(1, round(results.minutes)), 'minute')} on: "
        f"{machine}. Passes are counts, and the same anywhere; times are ratios of runs taken in "
        "turn, their median given with the smallest and largest. A pass reads the features once "
        f"and does two matrix products. All labels carry {NOISE_RATE:.0%} symmetric noise. BLAS "
        "has one thread; what runs on more threads of its own says so."
    )
    if results.quick:
        opening += (
            "\n\n**These are quick runs, on small problems, to check the benchmark: no number "
            "below can be held against what is asked.**"
        )
    return opening


def _passes(results: Results) -> list[str]:
    entries = [entry for entry in results.rounds if entry.problem not in REAL]
    sizes = {name: size for name, size in results.sizes.items() if name not in REAL}
    return [
        "## Passes per round",
        "Cross-entropy, to a relative gradient of 1e-4 / 1e-6. PLL is the student on the "
        "teacher's two most likely labels, the half pass that finds them included. The total is "
        "that of all rounds at 1e-6, one teacher for both methods. "
        + "; ".join(f"{name}: {size}" for name, size in sizes.items())
        + ".",
        _rounds_table(results, entries),
        (
            f"The synthetic rows have unit norm and inner products of {SAME_CLASS:g} in a class, "
            f"{SAME_SUPERCLASS:g} in one of {N_SUPERCLASSES} superclasses and {MAIN.elsewhere:g} "
            f"elsewhere ({MANY.elsewhere:g} with {MANY.n_classes} classes, of which only "
            f"{MANY.n_features} can be independent). The paper prints {PRINTED_ELSEWHERE:g}, but "
            f"no vectors have that; `make_features` says: *{results.elsewhere}*"
        ),
    ]


def _rounds_table(results: Results, entries: list[RoundCount]) -> str:
    names = [*dict.fromkeys(entry.name for entry in entries if entry.name != PLL), PLL]
    rows = []
    for problem, penalty in dict.fromkeys((entry.problem, entry.penalty) for entry in entries):
        chosen = [e for e in entries if (e.problem, e.penalty) == (problem, penalty)]
        total = total_passes(results, problem, penalty)
        complete = total is not None and len(chosen) == 2 * len(names) and math.isfinite(total)
        last = f"{total:g}" if complete else "–"
        rows.append([problem, str(penalty), *(pair(chosen, name) for name in names), last])
    return table(["problem", "penalty", *names, "total"], rows)


def pair(entries: list[RoundCount], name: str) -> str:
    """Return the passes of a round at both tolerances."""
    found = {entry.tol: count(entry) for entry in entries if entry.name == name}
    return " / ".join(found[tol] for tol in (COARSE, FINE) if tol in found) or "–"


def count(entry: RoundCount) -> str:
    if entry.converged:
        return f"{entry.n_passes:g}"
    return f"{entry.n_passes:g} (stopped at {entry.gradient_norm:.0e})"


def _real(results: Results) -> list[str]:
    entries = [entry for entry in results.rounds if entry.problem in REAL]
    if not entries:
        return ["## Real features", "Not measured: `--features` was not given."]
    rows = []
    for problem, penalty in dict.fromkeys((entry.problem, entry.penalty) for entry in entries):
        chosen = [e for e in entries if (e.problem, e.penalty) == (problem, penalty)]
        names = list(dict.fromkeys(entry.name for entry in chosen))
        before = BEFORE.get((problem, penalty.strength), [])
        cells = [pair(chosen, name) for name in names]
        rows.append([problem, str(penalty), *cells, ", ".join(before) or "–"])
    sizes = "; ".join(f"{name}: {results.sizes[name]}" for name in REAL if name in results.sizes)
    return [
        "## Real features",
        (
            f"Passes to 1e-4 / 1e-6, cross-entropy. {sizes}. Before: the same three rounds with "
            "the class-wise metric alone, without what is learnt class by class from past steps."
        ),
        table(["features", "penalty", "teacher", "student 1", "student 2", "before"], rows),
    ]


def _generalized(results: Results) -> list[str]:
    rows = [
        [entry.problem, str(entry.penalty), entry.name, f"{entry.tol:g}", count(entry)]
        for entry in results.generalized
    ]
    return [
        "## Generalised cross-entropy",
        (
            "On given labels with the coarse cross-entropy fit that it starts from; on candidates "
            "without the teacher, and with the half pass that finds them."
        ),
        table(["problem", "penalty", "fitted to", "relative gradient", "passes"], rows),
    ]


def _times(results: Results) -> list[str]:
    return [
        "## Times",
        (
            "A fit over its matrix products alone: as many passes of X Wᵀ and Pᵀ X on float32 rows "
            "prepared beforehand, into arrays made beforehand. The fit starts from raw rows and "
            "includes everything."
        ),
        _ratio_table(results.gemm, "fit", "products"),
        (
            "scikit-learn's `LogisticRegression` over `LinearProbe`: lbfgs in float64 on rows "
            "prepared beforehand, stopped at the first iteration with our gradient or less, or "
            "with the smallest that it gets to."
        ),
        _ratio_table(results.sklearn, "scikit-learn", "twohot"),
        (
            f"The paper's SGD (torch, batch {BATCH_ROWS}, momentum {MOMENTUM}, one learning rate, "
            "no data loader) over `LinearProbe` at 1e-6:"
        ),
        _ratio_table(results.sgd, "SGD", "twohot")
        if results.sgd
        else "not measured: this needs torch.",
    ]


def _ratio_table(ratios: list[Ratio], above: str, below: str) -> str:
    head = ["what", "", f"{above}, s", f"{below}, s", "ratio", "range", "threads", "clock"]
    rows = [
        [
            ratio.name,
            ratio.note,
            f"{sorted(ratio.above)[len(ratio.above) // 2]:.2f}",
            f"{sorted(ratio.below)[len(ratio.below) // 2]:.2f}",
            f"{ratio.value:.2f}",
            f"{min(ratio.each):.2f} … {max(ratio.each):.2f}",
            str(ratio.n_threads),
            ratio.clock,
        ]
        for ratio in ratios
    ]
    return table(head, rows)


def _memory(results: Results) -> list[str]:
    rows = [
        [e.problem, e.fit, f"{e.n_passes:g}", f"{e.features_mb:.0f}", f"{e.above_mb:.0f}"]
        for e in results.memory
    ]
    if not rows:
        return ["## Memory", "Not measured: this system does not tell a process its peak memory."]
    return [
        "## Memory",
        (
            "Largest resident memory of a process during a fit to 1e-6 on all cores, above what "
            f"it held just before, with X loaded and a small fit done. {results.memory[0].penalty}."
        ),
        table(["problem", "fit", "passes", "X, MB", "above X, MB"], rows),
    ]


def _late(results: Results) -> list[str]:
    rows = [
        [
            e.problem,
            f"{e.ridge:g}",
            str(e.n_rounds),
            f"{e.n_passes:g}",
            f"{e.gradient_norm:.0e}" + ("" if e.converged else " (not converged)"),
            f"{e.accuracy:.4f}",
            f"{e.reference_accuracy:.4f}",
            str(e.n_different),
        ]
        for e in results.late
    ]
    head = ["problem", "ridge", "round", "passes", "relative gradient", "accuracy"]
    return [
        "## Late rounds",
        (
            "Accuracy on the true labels of the training rows, beside that of rounds all solved "
            "again in float64 by plain L-BFGS to a relative gradient of "
            f"{max((e.reference_gradient for e in results.late), default=0):.0e} or less."
        ),
        table([*head, "accuracy in float64", "rows predicted otherwise"], rows),
    ]
