"""Claims of the paper's theorems, put to the test on random settings."""

from collections.abc import Sequence

from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, register_claim
from twohot.reproduce.claims.synthetic_evidence import of_finished
from twohot.reproduce.claims.theory_checks import FORMULAS, FormulaRun, TheoremRun
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results

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
