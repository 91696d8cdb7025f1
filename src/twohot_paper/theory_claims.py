"""Claims of the paper's theorems, put to the test on random settings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twohot.base import FloatArray
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
from twohot_paper.as_printed import case_5_printed
from twohot_paper.claim import Answer, Claim, ClaimVerdict, register_claim
from twohot_paper.data_set import DataSet
from twohot_paper.maker import Results, RunKind, register_runs
from twohot_paper.synthetic_claims import of_finished

# Runs that put the paper's theorems to the test, on settings drawn at random ----------------------
# Settings are the paper's: superclasses of two to four classes, equal correlations inside them,
# whole labels confused inside superclasses and balanced, a penalty that brings a q/p up to 3.2.


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


N_SETTINGS = 400
N_DENSE_SETTINGS = 60  # of those that are solved sample by sample
EXACT = 1e-10  # errors of right formulas are about 1e-14

# Of correlations inside superclasses: those between them. The paper's main model has none.
ELSEWHERE = 0.3

ON_RANDOM_SETTINGS = (
    f"{N_SETTINGS} settings of the paper's correlation model are drawn, labels balanced and"
    " confused inside superclasses."
)


def _theorem(name: str) -> TheoremRun:
    return TheoremRun(name, N_SETTINGS, seed=0)


def _formula(name: str, elsewhere: float) -> FormulaRun:
    return FormulaRun(name, elsewhere, N_DENSE_SETTINGS, seed=0)


def theorem_4_1_runs(_data: Sequence[DataSet]) -> list[TheoremRun]:
    """Return the run on Theorem 4.1."""
    return [_theorem("4.1")]


def theorem_5_1_runs(_data: Sequence[DataSet]) -> list[TheoremRun]:
    """Return the run on Theorem 5.1."""
    return [_theorem("5.1")]


def corollary_runs(_data: Sequence[DataSet]) -> list[TheoremRun]:
    """Return the run on the corollary."""
    return [_theorem("corollary")]


def lemma_runs(_data: Sequence[DataSet]) -> list[FormulaRun]:
    """Return the run on Lemma 4.1."""
    return [_formula(FORMULAS[0], 0.0)]


def case_5_runs(_data: Sequence[DataSet]) -> list[FormulaRun]:
    """Return the runs on Case V, as printed and corrected."""
    printed = [_formula(FORMULAS[1], share) for share in (0.0, ELSEWHERE)]
    return [*printed, _formula(FORMULAS[2], ELSEWHERE)]


def judge_theorem_4_1(results: Results) -> ClaimVerdict:
    """Judge condition and converse of Theorem 4.1."""
    return _exactly(results, "4.1", "Rounds needed follow from q/p and the share of wrong labels.")


def judge_corollary(results: Results) -> ClaimVerdict:
    """Judge the corollary's condition."""
    advice = "Features that tell classes apart better save rounds, by the product of their q/p."
    return _exactly(results, "corollary", advice)


def _exactly(results: Results, name: str, advice: str) -> ClaimVerdict:
    found = results[_theorem(name)]
    evidence = (
        f"{N_SETTINGS} random settings with balanced labels: all training samples right in"
        f" {found.n_right} of {found.n_promised} that meet the condition, and in"
        f" {found.n_denied_right} of {found.n_denied} that do not."
    )
    if found.n_right < found.n_promised:
        return ClaimVerdict(Answer.REFUTED, evidence, advice=advice)
    return ClaimVerdict(Answer.CONFIRMED, evidence, advice=advice)


def judge_theorem_5_1(results: Results) -> ClaimVerdict:
    """Judge the promise of Theorem 5.1."""
    found = results[_theorem("5.1")]
    wrong = found.n_promised - found.n_right - found.n_tied
    evidence = (
        f"{N_SETTINGS} random settings with balanced labels, {found.n_promised} of which have"
        f" C_kk > C_kk' in every class: the student is all right in {found.n_right}, ties in"
        f" {found.n_tied}, is wrong in {wrong}. The truth is among the teacher's top two in"
        f" {found.n_in_top_two}."
    )
    advice = "Ask partial_label_condition, which is exact; the printed condition is not enough."
    if found.n_right == found.n_promised:
        return ClaimVerdict(Answer.CONFIRMED, evidence, advice=advice)
    return ClaimVerdict(Answer.REFUTED, evidence, advice=advice)


def larger_correlation_runs(_data: Sequence[DataSet]) -> list[TheoremRun]:
    """Return the run on q/p as classes correlate more."""
    return [_theorem("larger c")]


def judge_larger_correlation(results: Results) -> ClaimVerdict:
    """Judge whether q/p rises with the correlation inside classes, all else kept."""
    found = results[_theorem("larger c")]
    evidence = (
        f"q/p is larger at the larger c in {found.n_right} of {found.n_promised} random settings,"
        " at one penalty."
    )
    advice = "Features that tell classes apart better need fewer rounds."
    answer = Answer.CONFIRMED if found.n_right == found.n_promised else Answer.REFUTED
    return ClaimVerdict(answer, evidence, advice=advice)


def judge_lemma(results: Results) -> ClaimVerdict:
    """Judge Lemma 4.1."""
    error = results[_formula(FORMULAS[0], 0.0)].error
    evidence = (
        f"Largest error against dense algebra, {N_DENSE_SETTINGS} random settings: {error:.0e}."
    )
    advice = "Its outputs need no balance of the given labels, only equal numbers of samples."
    answer = Answer.CONFIRMED if error <= EXACT else Answer.REFUTED
    return ClaimVerdict(answer, evidence, advice=advice)


def judge_case_5(results: Results) -> ClaimVerdict:
    """Judge the final formula of Case V."""
    errors = {share: results[_formula(FORMULAS[1], share)].error for share in (0.0, ELSEWHERE)}
    corrected = results[_formula(FORMULAS[2], ELSEWHERE)].error
    evidence = (
        f"Largest error against dense algebra: {errors[0.0]:.0e} without correlation between"
        f" superclasses, {errors[ELSEWHERE]:.3f} with it (corrected formula: {corrected:.0e})."
    )
    advice = "Use case_5_outputs, where superclass means mix as they should."
    right = [share for share, error in errors.items() if error <= EXACT]
    if len(right) == len(errors):
        return ClaimVerdict(Answer.CONFIRMED, evidence, advice=advice)
    if 0.0 not in right:
        return ClaimVerdict(Answer.REFUTED, evidence, advice=advice)
    condition = "superclasses do not correlate (e = 0), which is Case IV"
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, advice=advice)


register_claim(
    Claim(
        id="theorem-4-1",
        brief="all right wherever the condition holds, 400 settings",
        title="Theorem 4.1: rounds needed",
        text="The t-th distilled model, trained on this label-noisy dataset […], achieves 100%"
        " population accuracy if [C]_kk > [C]_kk' + 1/((q/p)ᵗ − 1).",
        place="Section 4, Theorem 4.1",
        rule=f"{ON_RANDOM_SETTINGS} Confirmed if all training samples are right wherever the"
        " condition holds (linear theory).",
        runs=theorem_4_1_runs,
        judge=of_finished(theorem_4_1_runs, judge_theorem_4_1),
        order=230,
    )
)
register_claim(
    Claim(
        id="theorem-5-1",
        brief="the same",
        title="Theorem 5.1: the two-hot student",
        text="The PLL student model, trained on the label-noisy dataset […], achieves 100%"
        " population accuracy if [C]_kk > [C]_kk'.",
        place="Section 5, Theorem 5.1",
        rule=f"{ON_RANDOM_SETTINGS} Confirmed if all training samples are right, none tied,"
        " wherever the condition holds (linear theory, ties for the second place spread).",
        runs=theorem_5_1_runs,
        judge=of_finished(theorem_5_1_runs, judge_theorem_5_1),
        order=240,
    )
)
register_claim(
    Claim(
        id="lemma-4-1",
        brief="error at most 1e-10, 60 settings",
        title="Lemma 4.1: the closed form of the outputs",
        text="The output of the t-th distilled model for the training instance […] with true class"
        " y_i is given by pᵗ e(ŷ_i) + (qᵗ − pᵗ) ē_{y_i} + (r_sᵗ − qᵗ) ē_{h(y_i)}"
        " + (1 − r_sᵗ) 1_K/K.",
        place="Section 4, Lemma 4.1",
        rule=f"On {N_DENSE_SETTINGS} random settings no output may differ by more than {EXACT:g}"
        " from solves with the whole Gram matrix.",
        runs=lemma_runs,
        judge=of_finished(lemma_runs, judge_lemma),
        order=250,
    )
)
register_claim(
    Claim(
        id="case-5",
        brief="the same",
        title="Case V: superclasses that correlate",
        text="As the last case, we allow a non-zero inter-superclass correlation, fixed as a"
        " constant e. […] (The closed form at the end of the section.)",
        place="Appendix J.5",
        rule=f"On {N_DENSE_SETTINGS} random settings no output of the printed formula may differ by"
        f" more than {EXACT:g} from solves with the whole Gram matrix, with and without correlation"
        " between superclasses; conditional on none.",
        runs=case_5_runs,
        judge=of_finished(case_5_runs, judge_case_5),
        order=260,
    )
)
register_claim(
    Claim(
        id="corollary-evolving-features",
        brief="all right wherever the condition holds, 400 settings",
        title="Corollary: features that change",
        text="Under the evolving feature correlation model, the t-th distilled model achieves 100%"
        " population accuracy if [C]_kk > [C]_kk' + 1/(∏ (q⁽ⁱ⁾/p⁽ⁱ⁾) − 1).",
        place="Appendix C, Corollary C.1",
        rule=f"{ON_RANDOM_SETTINGS} One to four rounds have correlations of their own. Confirmed if"
        " all training samples are right wherever the condition holds (linear theory).",
        runs=corollary_runs,
        judge=of_finished(corollary_runs, judge_corollary),
        order=270,
    )
)
register_claim(
    Claim(
        id="larger-correlation",
        brief="q/p larger in 400 settings",
        title="A larger correlation inside classes raises q/p",
        text="[…] leading to an increased intra-class feature correlation c⁽ⁱ⁾ as i increases, then"
        " q⁽ⁱ⁾/p⁽ⁱ⁾ also increases.",
        place="Appendix C",
        rule=f"{N_SETTINGS} settings of the paper's correlation model are drawn, each with a"
        " second, larger correlation inside classes. Confirmed if q/p is larger there in all.",
        runs=larger_correlation_runs,
        judge=of_finished(larger_correlation_runs, judge_larger_correlation),
        order=271,
    )
)
