"""The pages, from the results alone: a summary with a figure, and every table."""

import math
from typing import Any

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
from benchmarks.solver.timings import BATCH_ROWS, EPOCHS, MOMENTUM
from twohot.base import BLUE, ORANGE, VERMILION
from twohot.base.messages import counted
from twohot_paper.real_figures import new_panels

# Passes at 1e-4 / 1e-6 of teacher, student 1 and student 2 by L-BFGS with the metric of
# solve.preconditioner alone, without solve.secants; counted once.
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


def render(results: Results, details: str, figure: str) -> str:
    """Return the first page; `details` and `figure` are the paths it links."""
    parts = [
        "# Speed and memory of fits",
        (
            "After this page you know how many passes and how much time a fit takes, compared with "
            "scikit-learn, SGD and the matrix products alone. A *pass* reads the features once and "
            "does two matrix products. A *round* is one fit: the teacher, or a student on its "
            "outputs. [The solver](explanation/solver.md) explains how few passes are enough."
        ),
        target_table(targets(results)),
        f"![Passes of a teacher, and time over that of a probe]({figure})",
        (
            f"*Left: passes of a teacher to a relative gradient of {FINE:g} on real features. "
            "Right: CPU time of other methods, and of the matrix products alone, divided by that "
            "of `LinearProbe`.*"
        ),
        _machine(results),
        (
            f"[Another page]({details}) has every table: passes per round, real features, "
            "generalised cross-entropy, times, memory and late rounds. [The "
            "appendix](explanation/label_model_tried.md#the-solver) lists what was tried."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def render_details(results: Results) -> str:
    """Return the second page: every table."""
    parts = [
        "---\norphan: true\n---",
        "# Speed and memory of fits: every table",
        "After this page you know the passes, times and memory of every problem that was measured.",
        *_passes(results),
        *_real(results),
        *_generalized(results),
        *_times(results),
        *_memory(results),
        *_late(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def draw(results: Results) -> Any:
    """Return the figure: passes of teachers on real features, times over those of a probe."""
    products = [ratio for ratio in results.gemm if ratio.clock == "CPU" and "blocks" in ratio.note]
    times = {f"{ratio.name}: matrix products": 1 / ratio.value for ratio in products}
    times |= {ratio.name: ratio.value for ratio in results.sklearn}
    times |= {f"{ratio.name}: SGD, {EPOCHS} epochs": ratio.value for ratio in results.sgd}
    figure, ((left, right),) = new_panels(9.5, max(3.2, 0.3 * len(times)), 1, 2)
    teachers = [e for e in results.rounds if e.problem in REAL and e.name == "teacher"]
    names = list(dict.fromkeys(entry.problem for entry in teachers))
    for strength, colour, marker in ((100, BLUE, "o"), (10, ORANGE, "s"), (1, VERMILION, "D")):
        found = [e for e in teachers if e.penalty.strength == strength and e.tol == FINE]
        places = [names.index(entry.problem) for entry in found]
        passes = [entry.n_passes for entry in found]
        left.plot(passes, places, marker, color=colour, label=f"ridge {strength}")
    left.set_yticks(range(len(names)), names)
    left.set(xlabel="passes", xlim=(0, None), ylim=(len(REAL) - 0.5, -0.5))
    left.legend(frameon=False)
    right.axvline(1, color="0.3", linewidth=1)
    for place, value in enumerate(times.values()):
        right.plot(value, place, "o", color=BLUE)
        right.annotate(f"{value:.2g}", (value, place), (8, -4), textcoords="offset points")
    right.set_yticks(range(len(times)), list(times), fontsize=8)
    right.set(xscale="log", xlabel="CPU time over that of LinearProbe", xlim=(0.3, 100))
    right.invert_yaxis()
    return figure


def _machine(results: Results) -> str:
    machine = "; ".join(f"{name} {value}" for name, value in results.machine.items())
    words = (
        "`make bench` writes this page from the records of its runs. `make bench FEATURES=DIR` "
        "adds the real features, which are not part of the project. The runs took "
        f"{counted(max(1, round(results.minutes)), 'minute')} on this machine: {machine}. The "
        "numbers of passes differ by about one between processors. Times are medians of ratios of "
        f"runs, measured in turn. {NOISE_RATE:.0%} of the labels are wrong, at random. BLAS has "
        "one thread unless a row states otherwise."
    )
    if results.quick:
        words += (
            "\n\n**These are quick runs on small problems, to check the benchmark. Do not compare "
            "their numbers with the required ones.**"
        )
    return words


def _passes(results: Results) -> list[str]:
    entries = [entry for entry in results.rounds if entry.problem not in REAL]
    sizes = {name: size for name, size in results.sizes.items() if name not in REAL}
    return [
        "## Passes per round",
        "Cross-entropy, to a relative gradient of 1e-4 / 1e-6. PLL is the student on the "
        "teacher's two most likely labels, with the half pass that finds them. The total is "
        "that of all rounds at 1e-6, with one teacher for both methods. "
        + "; ".join(f"{name}: {size}" for name, size in sizes.items())
        + ".",
        _rounds_table(results, entries),
        (
            f"The synthetic rows have unit norm and inner products of {SAME_CLASS:g} in a class, "
            f"{SAME_SUPERCLASS:g} in one of {N_SUPERCLASSES} superclasses and {MAIN.elsewhere:g} "
            f"elsewhere ({MANY.elsewhere:g} with {MANY.n_classes} classes, of which only "
            f"{MANY.n_features} can be independent). The paper prints {PRINTED_ELSEWHERE:g}, which "
            f"no vectors can have. The error of `make_features`: *{results.elsewhere}*"
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
            f"Passes to 1e-4 / 1e-6, cross-entropy. {sizes}. *Before*: the same three rounds with "
            "the class-wise metric alone, without the curvature learnt from past steps."
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
            "Counts on given labels include the coarse cross-entropy fit at the start. Counts on "
            "candidates include the half pass that finds them, but not the teacher."
        ),
        table(["problem", "penalty", "fitted to", "relative gradient", "passes"], rows),
    ]


def _times(results: Results) -> list[str]:
    return [
        "## Times",
        (
            "A fit over its matrix products alone: as many passes of X Wᵀ and Pᵀ X on prepared "
            "float32 rows, into existing arrays. The fit starts from raw rows, all included."
        ),
        _ratio_table(results.gemm, "fit", "products"),
        (
            "`LogisticRegression` of scikit-learn (`sklearn`) and of Intel's scikit-learn-intelex "
            "(`sklearnex`) over `LinearProbe`: in float64 on prepared rows, stopped at the first "
            "iteration with our gradient or less, or at the smallest that they reach."
        ),
        _ratio_table(results.sklearn, "other", "twohot"),
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
        return [
            "## Memory",
            "Not measured: this system does not report the peak memory of a process.",
        ]
    return [
        "## Memory",
        (
            "Largest resident memory of a process during a fit to 1e-6 on all cores, minus that "
            "just before, when X was loaded and a small fit was done. "
            f"{results.memory[0].penalty}."
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
            "Accuracy on the true labels of the training rows, and the accuracy if all rounds are "
            "solved in float64 by plain L-BFGS to a relative gradient of "
            f"{max((e.reference_gradient for e in results.late), default=0):.0e} or less."
        ),
        table([*head, "accuracy in float64", "rows with another prediction"], rows),
    ]
