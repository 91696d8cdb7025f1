"""Claims of the paper's appendices on temperature, perturbations and the numerical method."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from twohot.base import FloatArray
from twohot_paper.as_printed import algorithm_1
from twohot_paper.claim import Answer, Claim, ClaimVerdict, register_claim
from twohot_paper.data_set import DataSet
from twohot_paper.maker import Results, RunKind, register_runs
from twohot_paper.synthetic_claims import of_finished
from twohot_paper.synthetic_makers import EigenvalueRun
from twohot_paper.synthetic_setting import SyntheticMatrix, SyntheticSetting, known_matrix
from twohot_paper.table import Table

# Runs that minimise as the paper's appendices do: with a temperature, and by Algorithm 1 ----------


SIGNIFICANT_DIGITS = 4


@dataclass(frozen=True)
class TemperatureRun:
    """Rounds at a temperature on random features, minimised in the coefficients themselves."""

    temperature: float
    scaled: bool = True  # the loss by τ², as the appendix has it
    n_samples: int = 40
    n_features: int = 6
    n_classes: int = 3
    l2: float = 0.01
    n_rounds: int = 3
    seed: int = 0


@dataclass(frozen=True)
class TemperatureResult:
    """Against the same rounds at temperature 1."""

    output_difference: float  # largest of all rounds, samples and labels
    coef_ratio: float  # norm of the coefficients over that at temperature 1, last round


@dataclass(frozen=True)
class DescentRun:
    """One round by Algorithm 1, at one learning rate."""

    learning_rate: float
    max_iter: int
    noise_rate: float = 0.5
    seed: int = 0
    setting: SyntheticSetting = field(default_factory=SyntheticSetting)


@dataclass(frozen=True)
class DescentOutcome:
    """Where it stopped."""

    loss: float  # of its last iterate
    best_loss: float
    error: float  # largest difference of an output from the exact solution
    accuracy: float  # share of the samples on which it predicts what the exact solution does


def measure_temperature(run: TemperatureRun, _paths: object = None) -> TemperatureResult:
    """Minimise by L-BFGS from zero, at the temperature and at 1."""
    rng = np.random.default_rng(run.seed)
    features = rng.normal(size=(run.n_samples, run.n_features))
    targets = np.eye(run.n_classes)[rng.integers(run.n_classes, size=run.n_samples)]
    plain, heated = (_rounds(run, features, targets, each) for each in (1.0, run.temperature))
    difference = max(
        float(np.abs(one - other).max()) for (one, _), (other, _) in zip(plain, heated, strict=True)
    )
    ratio = heated[-1][1] / plain[-1][1]
    return TemperatureResult(_shown(difference), _shown(ratio))


def _rounds(
    run: TemperatureRun, features: FloatArray, targets: FloatArray, temperature: float
) -> list[tuple[FloatArray, float]]:
    """Return outputs and norm of the coefficients of every round."""
    weight = temperature**2 if run.scaled else 1.0
    shape = (run.n_classes, features.shape[1])
    fitted = []
    for _ in range(run.n_rounds):
        fit = minimize(
            _objective,
            np.zeros(shape).ravel(),
            args=(features, targets, run.l2, (temperature, weight)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 50_000, "ftol": 0.0, "gtol": 1e-11},
        )
        coef = fit.x.reshape(shape)
        targets = softmax(features @ coef.T / temperature, axis=1)
        fitted.append((targets, float(np.linalg.norm(coef))))
    return fitted


def _objective(
    flat: FloatArray,
    features: FloatArray,
    targets: FloatArray,
    l2: float,
    scales: tuple[float, float],
) -> tuple[float, FloatArray]:
    """Return weight · mean CE(targets, σ(features coefᵀ/τ)) + ½ l2 ‖coef‖², and its gradient."""
    temperature, weight = scales
    coef = flat.reshape(targets.shape[1], -1)
    logs = log_softmax(features @ coef.T / temperature, axis=1)
    value = -weight * (targets * logs).sum(axis=1).mean() + l2 / 2 * (flat @ flat)
    slope = weight / (temperature * len(features)) * (np.exp(logs) - targets)
    return float(value), (slope.T @ features + l2 * coef).ravel()


def measure_descent(run: DescentRun, _paths: object = None) -> DescentOutcome:
    """Descend on the printed loss, at the setting of the figures, and compare with Newton."""
    matrix = known_matrix(SyntheticMatrix(run.setting))
    _, given = run.setting.labels(run.noise_rate)
    targets = np.eye(run.setting.n_classes)[given]
    (exact,) = matrix.rounds(targets, 1)
    descent = algorithm_1(
        matrix.entries,
        targets,
        l2=run.setting.l2,
        learning_rate=run.learning_rate,
        max_iter=run.max_iter,
        tolerance=1e-6,
        seed=run.seed,
    )
    same = descent.outputs.argmax(axis=1) == exact.outputs.argmax(axis=1)
    return DescentOutcome(
        _shown(descent.losses[-1]),
        _shown(descent.losses.min()),
        _shown(np.abs(descent.outputs - exact.outputs).max()),
        float(same.mean()),
    )


def _shown(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


register_runs(RunKind(TemperatureRun, TemperatureResult, measure_temperature))
register_runs(RunKind(DescentRun, DescentOutcome, measure_descent))


SOLVED = 1e-6  # what L-BFGS leaves of a difference of outputs is about 1e-8
NEAR = 1e-3  # an output this far from the solution would still be called found

TEMPERATURES = (0.5, 2.0, 4.0)
# A constant rate ends in steps of its own size: a smaller one comes nearer, in more steps.
LEARNING_RATES = (1e-1, 1e-2, 1e-3, 3e-4)
# A quarter of the samples of the figures, at their ridge: each of many steps costs a sixteenth.
SMALL = SyntheticSetting(n_per_class=25, l2=1.25e-3)
WAY = 20.0  # rate times steps
FEW_STEPS = 1000  # what one would wait for
AMPLITUDES, DRAWS = (0.01, 0.02, 0.05, 0.1), (0, 1, 2)


def temperature_runs(_data: Sequence[DataSet] = ()) -> list[TemperatureRun]:
    """Return one run per temperature."""
    return [TemperatureRun(each) for each in TEMPERATURES]


def descent_runs(_data: Sequence[DataSet] = ()) -> list[DescentRun]:
    """Return one run per learning rate."""
    return [DescentRun(rate, round(WAY / rate), setting=SMALL) for rate in LEARNING_RATES]


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
    found = {run: results[run] for run in descent_runs()}
    rows = tuple(
        (run.learning_rate, run.max_iter, each.loss, each.best_loss, each.error)
        for run, each in found.items()
    )
    columns = ("learning rate", "steps", "last loss", "best loss", "largest error of an output")
    table = Table(f"Algorithm 1 on {SMALL.n_samples} samples", columns, rows)
    near = [run for run, each in found.items() if each.error <= NEAR]
    best = min(found, key=lambda run: found[run].error)
    evidence = (
        f"The best of {len(found)} learning rates, {best.learning_rate:g}, leaves an output wrong"
        f" by {found[best].error:.2g} after {best.max_iter} steps."
    )
    advice = (
        "This is about the algorithm as printed. The authors' code minimises the squared norm by"
        " Adam and projects, which is another method. Use softmax_rounds or population_rounds:"
        " Newton's method, to rounding."
    )
    if not near:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    fewest = min(run.max_iter for run in near)
    if fewest <= FEW_STEPS:
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    condition = f"it is given {fewest} steps or more"
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, table, advice)


register_claim(
    Claim(
        id="temperature",
        brief="outputs and coefficients equal",
        title="Temperature changes nothing",
        text="The temperature scaling of the softmax, combined with the proper scaling of the"
        " cross-entropy (CE) loss function […], results in the same optimal solution for θ as in"
        " τ=1.",
        place="Appendix D.3",
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
        brief="sine of the angle within 2‖E‖/gap",
        title="Small perturbations keep the classes",
        text="The robustness of this alignment, even under perturbations from E, is ensured"
        " provided that the perturbations are small relative to the eigen-gap (λ_K−λ_{K+1}).",
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
        brief="error at most 0.001 in 1000 steps",
        title="Algorithm 1 finds the outputs",
        text="The optimal output for the t-th distilled student model […] can be found by"
        " minimizing the difference between the left-hand side and right-hand side of […].",
        place="Appendix E.4, Algorithm 1",
        rule=f"At the figures' ridge, one of {len(LEARNING_RATES)} learning rates must bring every"
        f" output to within {NEAR:g} of the solution: confirmed if in {FEW_STEPS} steps,"
        f" conditional if in more (rate times steps is {WAY:g}), else not confirmed.",
        runs=descent_runs,
        judge=of_finished(descent_runs, judge_algorithm_1),
        order=300,
    )
)
