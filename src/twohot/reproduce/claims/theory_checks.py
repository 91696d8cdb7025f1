"""Runs that put the paper's theorems to the test, on settings drawn at random.

Settings are the paper's: superclasses of two to four classes, equal correlations inside them, whole
labels confused inside superclasses and balanced, a penalty that brings a q/p up to 3.2.
"""

from dataclasses import dataclass

import numpy as np

from twohot._types import FloatArray
from twohot.reproduce.maker import RunKind, register_runs
from twohot.theory import (
    CorrelationModel,
    PairLevels,
    Shrinkage,
    Verdict,
    average_labels,
    case_5_outputs,
    evolving_outputs,
    judge,
    l2_for_separation,
    largest_separation,
    lemma_outputs,
    partial_label_guarantee,
    rounds_condition,
    shrinkage,
    type_outputs,
)
from twohot.theory.as_printed import case_5_printed

SUPERCLASSES = ([0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0])
DENSE_SIZE = 12  # samples per class where every sample is listed
FORMULAS = ("lemma", "case 5 as printed", "case 5 corrected")


@dataclass(frozen=True)
class TheoremRun:
    """A theorem on many random settings."""

    theorem: str  # "4.1", "5.1", "corollary" or "larger c"
    n_settings: int
    seed: int


@dataclass(frozen=True)
class TheoremResult:
    """How often a theorem's condition was met, and what came of it."""

    n_promised: int  # settings whose every class meets the condition
    n_right: int  # of these, all training samples right
    n_tied: int  # of these, some tied and none wrong
    n_denied: int  # settings with a class that misses the condition
    n_denied_right: int  # of these, all training samples right
    n_in_top_two: int  # of the promised, truth among the teacher's top two of every sample


@dataclass(frozen=True)
class FormulaRun:
    """A formula for the outputs against dense algebra, on many random settings."""

    formula: str  # one of FORMULAS
    elsewhere: float  # correlation between superclasses, as a share of that inside them
    n_settings: int
    seed: int


@dataclass(frozen=True)
class FormulaResult:
    """Largest error of an output."""

    error: float


@dataclass(frozen=True, eq=False)
class _Setting:
    superclass: list[int]
    same_class: float
    same_superclass: float
    n_per_class: int
    l2: float
    corruption: FloatArray

    def known(self) -> dict[str, object]:
        return {
            "superclass": self.superclass,
            "same_class": self.same_class,
            "same_superclass": self.same_superclass,
            "n_per_class": self.n_per_class,
        }

    def model(self) -> CorrelationModel:
        return CorrelationModel.case_4(**self.known())  # type: ignore[arg-type]

    def kept(self) -> Shrinkage:
        return shrinkage(**self.known(), l2=self.l2)  # type: ignore[arg-type]


def measure_theorem(run: TheoremRun, _paths: object = None) -> TheoremResult:
    """Draw settings and compare what a theorem says with the outputs themselves."""
    rng = np.random.default_rng(run.seed)
    check = {
        "4.1": _theorem_4_1,
        "5.1": _theorem_5_1,
        "corollary": _corollary,
        "larger c": _larger_correlation,
    }[run.theorem]
    counts = dict.fromkeys(TheoremResult.__dataclass_fields__, 0)
    for _ in range(run.n_settings):
        promised, verdicts, in_top_two = check(_draw(rng), rng)
        right = all(verdict is Verdict.RIGHT for verdict in verdicts)
        wrong = any(verdict is Verdict.WRONG for verdict in verdicts)
        counts["n_promised"] += promised
        counts["n_right"] += promised and right
        counts["n_tied"] += promised and not right and not wrong
        counts["n_denied"] += not promised
        counts["n_denied_right"] += not promised and right
        counts["n_in_top_two"] += promised and in_top_two
    return TheoremResult(**counts)


def _theorem_4_1(
    setting: _Setting, rng: np.random.Generator
) -> tuple[bool, tuple[Verdict, ...], bool]:
    """Compare the condition of round t, as printed, with its outputs."""
    n_rounds = int(rng.integers(1, 9))
    ratio = setting.kept().separation
    claimed = rounds_condition(setting.corruption, separation=ratio, n_rounds=n_rounds)
    found = judge(
        type_outputs(setting.model(), setting.corruption, l2=setting.l2, n_rounds=n_rounds)
    )
    return claimed.holds, found.verdicts, False


def _theorem_5_1(
    setting: _Setting, _rng: np.random.Generator
) -> tuple[bool, tuple[Verdict, ...], bool]:
    """Compare the printed condition C_kk > C_kk' with the outputs of the two-hot student."""
    found = partial_label_guarantee(setting.model(), setting.corruption, l2=setting.l2)
    in_top_two = bool(found.truth_in_candidates.all())
    return bool(found.printed.all()), found.exact.verdicts, in_top_two


def _corollary(
    setting: _Setting, rng: np.random.Generator
) -> tuple[bool, tuple[Verdict, ...], bool]:
    """Compare the condition with products of q/p with outputs of changing features."""
    levels = [np.sort(rng.uniform(0, 0.9, size=2))[::-1] for _ in range(int(rng.integers(1, 5)))]
    changed = [
        setting.known() | {"same_class": float(c), "same_superclass": float(d)} for c, d in levels
    ]
    kept = [shrinkage(**each, l2=setting.l2) for each in changed]  # type: ignore[arg-type]
    models = [CorrelationModel.case_4(**each) for each in changed]  # type: ignore[arg-type]
    ratio = Shrinkage.product(kept).separation
    claimed = rounds_condition(setting.corruption, separation=ratio, n_rounds=1)
    found = judge(evolving_outputs(models, setting.corruption, l2=setting.l2))
    return claimed.holds, found.verdicts, False


def _larger_correlation(
    setting: _Setting, rng: np.random.Generator
) -> tuple[bool, tuple[Verdict, ...], bool]:
    """Compare q/p at the setting's correlation inside classes with that at a larger one."""
    larger = {"same_class": float(rng.uniform(setting.same_class, 1))}
    raised = shrinkage(**(setting.known() | larger), l2=setting.l2)  # type: ignore[arg-type]
    rises = raised.log_separation > setting.kept().log_separation
    return True, (Verdict.RIGHT if rises else Verdict.WRONG,), False


def measure_formula(run: FormulaRun, _paths: object = None) -> FormulaResult:
    """Draw settings and compare a formula with solves with the whole Gram matrix."""
    rng = np.random.default_rng(run.seed)
    errors = [
        _formula_error(run, _draw(rng, n_per_class=DENSE_SIZE), rng) for _ in range(run.n_settings)
    ]
    return FormulaResult(float(f"{max(errors):.3g}"))


def _formula_error(run: FormulaRun, setting: _Setting, rng: np.random.Generator) -> float:
    n_rounds = int(rng.integers(1, 6))
    elsewhere = run.elsewhere * setting.same_superclass
    model = CorrelationModel.case_5(**setting.known(), elsewhere=elsewhere)  # type: ignore[arg-type]
    n_classes = len(setting.superclass)
    true = model.true_labels()
    given = rng.integers(n_classes, size=len(true))
    corruption = np.zeros((n_classes, n_classes))
    np.add.at(corruption, (true, given), 1 / setting.n_per_class)
    one_hot = np.eye(n_classes)[given]
    truth = average_labels(model.gram(), one_hot, l2=setting.l2, n_rounds=n_rounds)
    if run.formula == "lemma":
        kept = setting.kept().after(n_rounds)
        table = lemma_outputs(corruption, superclass=setting.superclass, kept=kept)
    else:
        formula = case_5_printed if run.formula == FORMULAS[1] else case_5_outputs
        known = setting.known() | {"elsewhere": elsewhere, "l2": setting.l2, "n_rounds": n_rounds}
        table = formula(corruption, **known)  # type: ignore[arg-type]
    return float(np.abs(table[true, given] - truth).max())


def _draw(rng: np.random.Generator, n_per_class: int | None = None) -> _Setting:
    superclass = SUPERCLASSES[rng.integers(len(SUPERCLASSES))]
    d, c = (float(each) for each in np.sort(rng.uniform(0, 0.9, size=2)))
    size = n_per_class or int(rng.integers(20, 300))
    levels = PairLevels(len(superclass), size, c, d)
    ratio = 1 + rng.uniform(0.1, 0.9) * min(largest_separation(levels) - 1, 2.2)
    l2 = l2_for_separation(levels, separation=ratio)
    corruption = _balanced_corruption(rng, superclass, rng.uniform(0.2, 0.95))
    return _Setting(superclass, c, d, size, l2, corruption)


def _balanced_corruption(
    rng: np.random.Generator, superclass: list[int], diagonal: float
) -> FloatArray:
    """Doubly stochastic inside superclasses: a random mixture of permutations."""
    groups = np.array(superclass)
    corruption = diagonal * np.eye(groups.size)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        for weight in rng.dirichlet(np.ones(4)) * (1 - diagonal):
            corruption[members, rng.permutation(members)] += weight
    return corruption


register_runs(RunKind(TheoremRun, TheoremResult, measure_theorem))
register_runs(RunKind(FormulaRun, FormulaResult, measure_formula))
