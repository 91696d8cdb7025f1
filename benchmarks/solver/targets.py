"""The numbers to reach, each beside what a run measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.pages import NOT_MEASURED, Target
from benchmarks.solver.passes import PLL
from benchmarks.solver.problems import MAIN_NAME, MANY_NAME, REAL
from benchmarks.solver.results import Penalty, Ratio, Results, RoundCount

COARSE, FINE = 1e-4, 1e-6  # the two relative gradients passes are counted at
SLOWEST = "Caltech-101"  # of the real features, for any method


@dataclass(frozen=True)
class Limit:
    """A number asked for, and the number measured."""

    measured: float | None
    asked: float
    at_least: bool = False
    form: str = "{:g}"

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= self.asked if self.at_least else self.measured <= self.asked


def limited(what: str, *limits: Limit) -> Target:
    """Return a row of one or more numbers; it is met if all of them are."""
    met = [limit.met for limit in limits]
    asked = [("≥ " if each.at_least else "≤ ") + f"{each.asked:g}" for each in limits]
    measured = [
        NOT_MEASURED if each.measured is None else each.form.format(each.measured)
        for each in limits
    ]
    verdict = False if False in met else None if None in met else True
    return Target(what, " / ".join(asked), " / ".join(measured), verdict)


def targets(results: Results) -> list[Target]:
    """Return all rows, in the order in which they were asked."""
    weak, strong = Penalty("ridge", 10), Penalty("ridge", 100)
    return [
        _rounds(
            "passes of a cross-entropy round to a relative gradient of 1e-6 / 1e-4, synthetic "
            "features, λ 5e-5 and 5e-4",
            [entry for entry in results.rounds if entry.problem == MAIN_NAME],
            (16, 11),
        ),
        _rounds("the same on real features, ridge 100", _on_real(results, strong), (22, 15)),
        limited(
            "passes of a teacher to 1e-6 on real features, ridge 10: Caltech-101 / all others",
            Limit(most_passes(_teachers(results, weak, SLOWEST), FINE), 40),
            Limit(most_passes(_teachers(results, weak, *_others()), FINE), 24),
        ),
        limited(
            "total passes of teacher, 6 students and two-hot student (cross-entropy) to 1e-6, "
            "synthetic features, λ 5e-5",
            Limit(total_passes(results, MAIN_NAME, Penalty("l2", 5e-5)), 120),
        ),
        limited(
            "passes of generalised cross-entropy on given labels to 1e-4, with the fit that it "
            "starts from: synthetic / real features, ridge 10",
            Limit(most_passes(_generalized(results, MAIN_NAME), COARSE), 25),
            Limit(most_passes(_generalized(results, *REAL), COARSE), 40),
        ),
        *_time_targets(results),
        limited(
            "memory of a fit in MB, without the features: synthetic / with many classes",
            Limit(_peak(results, MAIN_NAME), 60, form="{:.0f}"),
            Limit(_peak(results, MANY_NAME), 250, form="{:.0f}"),
        ),
        _late_target(results),
    ]


def most_passes(entries: Iterable[RoundCount], tol: float) -> float | None:
    """Return the passes of the slowest round; infinite if one did not converge."""
    counts = [e.n_passes if e.converged else float("inf") for e in entries if e.tol == tol]
    return max(counts, default=None)


def total_passes(results: Results, problem: str, penalty: Penalty) -> float | None:
    """Return the passes of all cross-entropy rounds at 1e-6, the teacher counted once.

    None if there is no PLL round among them; infinite if a round did not converge.
    """
    chosen = results.select(problem=problem, penalty=penalty, tol=FINE)
    if PLL not in {entry.name for entry in chosen}:
        return None
    return sum(entry.n_passes if entry.converged else float("inf") for entry in chosen)


def _rounds(what: str, entries: list[RoundCount], asked: tuple[float, float]) -> Target:
    fine, coarse = (most_passes(entries, tol) for tol in (FINE, COARSE))
    return limited(what, Limit(fine, asked[0]), Limit(coarse, asked[1]))


def _on_real(results: Results, penalty: Penalty) -> list[RoundCount]:
    return [e for e in results.rounds if e.problem in REAL and e.penalty == penalty]


def _others() -> list[str]:
    return [name for name in REAL if name != SLOWEST]


def _teachers(results: Results, penalty: Penalty, *problems: str) -> list[RoundCount]:
    found = _on_real(results, penalty)
    return [each for each in found if each.problem in problems and each.name == "teacher"]


def _generalized(results: Results, *problems: str) -> list[RoundCount]:
    found = [each for each in results.generalized if each.problem in problems]
    return [each for each in found if each.name == "given labels"]


def _time_targets(results: Results) -> list[Target]:
    fits = [r for r in results.gemm if r.clock == "CPU" and "blocks" in r.note]
    return [
        limited(
            "CPU time of a fit, divided by that of its matrix products, one thread: "
            + " / ".join(ratio.name for ratio in fits),
            *(
                Limit(ratio.value, 1.3 if MAIN_NAME in ratio.name else 1.8, form="{:.2f}")
                for ratio in fits
            ),
        ),
        limited(
            "CPU time of scikit-learn's lbfgs (float64), divided by that of `LinearProbe` to the "
            "same gradient: synthetic / BANKING77 at ridge 10",
            Limit(_lbfgs(results, MAIN_NAME), 7, at_least=True, form="{:.1f}"),
            Limit(_lbfgs(results, "BANKING77"), 11, at_least=True, form="{:.1f}"),
        ),
        limited(
            "CPU time of 200 epochs of SGD at one learning rate, divided by that of `LinearProbe` "
            "to 1e-6, synthetic features",
            Limit(_named(results.sgd, MAIN_NAME), 40, at_least=True, form="{:.0f}"),
        ),
    ]


def _late_target(results: Results) -> Target:
    good = [e.converged and abs(e.accuracy - e.reference_accuracy) < 5e-5 for e in results.late]
    return Target(
        "the sixth round at ridge 1000",
        "converges, accuracy as in float64",
        f"so on {sum(good)} of {len(good)} problems",
        all(good),
    )


def _lbfgs(results: Results, problem: str) -> float | None:
    return _named(results.sklearn, f"{problem}: sklearn, lbfgs")


def _named(ratios: list[Ratio], name: str) -> float | None:
    return next((ratio.value for ratio in ratios if ratio.name == name), None)


def _peak(results: Results, problem: str) -> float | None:
    peaks = [entry.above_mb for entry in results.memory if entry.problem == problem]
    return max(peaks, default=None)
