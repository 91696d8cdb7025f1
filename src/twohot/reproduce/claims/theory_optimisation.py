"""Runs that minimise as the paper's appendices do: with a temperature, and by Algorithm 1."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from twohot._types import FloatArray
from twohot.reproduce.maker import RunKind, register_runs
from twohot.reproduce.synthetic_setting import SyntheticMatrix, SyntheticSetting, known_matrix
from twohot.theory.as_printed import algorithm_1

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
