"""Claims of the paper's appendices on temperature, perturbations and the numerical method."""

from collections.abc import Sequence

from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, register_claim
from twohot.reproduce.claims.synthetic_evidence import of_finished
from twohot.reproduce.claims.theory_optimisation import DescentRun, TemperatureRun
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.maker import Results
from twohot.reproduce.makers.synthetic_eigenvalues import EigenvalueRun
from twohot.reproduce.synthetic_setting import SyntheticMatrix, SyntheticSetting
from twohot.reproduce.table import Table

SOLVED = 1e-6  # what L-BFGS leaves of a difference of outputs is about 1e-8
NEAR = 1e-3  # an output this far from the solution would still be called found

TEMPERATURES = (0.5, 2.0, 4.0)
LEARNING_RATES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
# A quarter of the samples of the figures, at their ridge: each of many steps costs a sixteenth.
SMALL = SyntheticSetting(n_per_class=25, l2=1.25e-3)
N_DESCENTS = 20_000
AMPLITUDES, DRAWS = (0.01, 0.02, 0.05, 0.1), (0, 1, 2)


def temperature_runs(_data: Sequence[DataSet] = ()) -> list[TemperatureRun]:
    """Return one run per temperature."""
    return [TemperatureRun(each) for each in TEMPERATURES]


def descent_runs(_data: Sequence[DataSet] = ()) -> list[DescentRun]:
    """Return one run per learning rate."""
    return [DescentRun(rate, N_DESCENTS, setting=SMALL) for rate in LEARNING_RATES]


def perturbation_runs(_data: Sequence[DataSet] = ()) -> list[EigenvalueRun]:
    """Return the spectra of perturbations of several sizes."""
    return [
        EigenvalueRun(SyntheticMatrix(SyntheticSetting(), "repaired", amplitude, seed))
        for amplitude in AMPLITUDES
        for seed in DRAWS
    ]


def judge_temperature(results: Results) -> ClaimVerdict:
    """Judge whether a temperature changes outputs or coefficients."""
    found = {run.temperature: results[run] for run in temperature_runs()}
    rows = tuple((t, each.output_difference, each.coef_ratio) for t, each in found.items())
    columns = (
        "temperature",
        "largest difference of outputs",
        "norm of the coefficients / that at 1",
    )
    table = Table("Three rounds at a temperature against those at 1", columns, rows)
    difference = max(each.output_difference for each in found.values())
    ratios = ", ".join(f"{each.coef_ratio:g}" for each in found.values())
    evidence = (
        f"Temperatures {', '.join(f'{t:g}' for t in found)}: outputs differ by at most"
        f" {difference:.0e}, coefficients are {ratios} times as large."
    )
    advice = "With the loss scaled by τ², a temperature is nothing to tune."
    same_coef = all(abs(each.coef_ratio - 1) <= NEAR for each in found.values())
    if difference > SOLVED:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    if same_coef:
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    condition = "outputs are meant; the coefficients are τ times as large, not the same"
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, table, advice)


def judge_davis_kahan(results: Results) -> ClaimVerdict:
    """Judge whether the leading eigenvectors stay with the classes as far as is ensured."""
    found = [results[run] for run in perturbation_runs()]
    ensured = [each for each in found if each.bound < 1]
    kept = [each for each in ensured if each.sin_angle <= each.bound]
    worst = max(ensured, key=lambda each: each.sin_angle, default=None)
    evidence = f"The bound says something of {len(ensured)} draws and holds in {len(kept)}" + (
        f"; largest sine {worst.sin_angle:.3f}, allowed {worst.bound:.3f}." if worst else "."
    )
    advice = "Directions of classes outlive small errors of the Gram matrix; top two labels do not."
    if not ensured:
        return ClaimVerdict(Answer.NOT_TESTABLE, evidence, advice=advice)
    answer = Answer.CONFIRMED if len(kept) == len(ensured) else Answer.REFUTED
    return ClaimVerdict(answer, evidence, advice=advice)


def judge_algorithm_1(results: Results) -> ClaimVerdict:
    """Judge whether Algorithm 1 finds the outputs of a round."""
    found = {run.learning_rate: results[run] for run in descent_runs()}
    rows = tuple((rate, each.loss, each.best_loss, each.error) for rate, each in found.items())
    columns = ("learning rate", "last loss", "best loss", "largest error of an output")
    title = f"Algorithm 1, {N_DESCENTS} steps on {SMALL.n_samples} samples"
    table = Table(title, columns, rows)
    rate, best = min(found.items(), key=lambda item: item[1].error)
    evidence = (
        f"After {N_DESCENTS} steps the best of {len(found)} learning rates, {rate:g}, leaves an"
        f" output wrong by {best.error:.3f} and a loss of {best.loss:.2g}; Newton's method needs"
        " five steps for 1e-14."
    )
    advice = "Use softmax_rounds or population_rounds."
    answer = Answer.CONFIRMED if best.error <= NEAR else Answer.REFUTED
    return ClaimVerdict(answer, evidence, table=table, advice=advice)


register_claim(
    Claim(
        id="temperature",
        title="Temperature changes nothing",
        text="Temperature scaling changes neither the optimal θ nor the optimal prediction.",
        place="Appendix, effect of temperature scaling",
        rule=f"Three rounds are minimised at several temperatures. Confirmed if outputs (to"
        f" {SOLVED:g}) and norms of coefficients (to {NEAR:g}) equal those at 1; conditional if"
        " outputs alone do.",
        runs=temperature_runs,
        judge=of_finished(temperature_runs, judge_temperature),
        order=280,
    )
)
register_claim(
    Claim(
        id="davis-kahan",
        title="Small perturbations keep the classes",
        text="The top K eigenvectors stay aligned with the classes if E is small against the gap.",
        place="Section 3",
        rule="In every draw of a symmetric perturbation with 2‖E‖ below the eigengap, the sine of"
        " the largest angle between the K leading eigenvectors and the classes must not exceed"
        " 2‖E‖/gap.",
        exhibits=("fig:eigenspectrum",),
        runs=perturbation_runs,
        judge=of_finished(perturbation_runs, judge_davis_kahan),
        order=290,
    )
)
register_claim(
    Claim(
        id="algorithm-1",
        title="Algorithm 1 finds the outputs",
        text="Algorithm 1 computes the optimal outputs of the distilled models.",
        place="Appendix, numerical method",
        rule=f"Confirmed if, at the figures' ridge, one of {len(LEARNING_RATES)} learning rates"
        f" brings every output to within {NEAR:g} of the solution in {N_DESCENTS} steps.",
        runs=descent_runs,
        judge=of_finished(descent_runs, judge_algorithm_1),
        order=300,
    )
)
