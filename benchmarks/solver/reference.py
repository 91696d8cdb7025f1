"""An independent cross-entropy in float64: certificates, and late rounds solved again.

    f(W) = mean_i log mean_k exp(z_ik) + ½·l2·‖W‖² - ⟨W, B⟩ - Σ_k ⟨W_k, mean row⟩ / K,
    B = (T - 1/K)ᵀ X / N,    grad = (P - 1/K)ᵀ X / N + l2·W - B,

which differs from the mean cross-entropy by log K. Written in exp(z) - 1, because the outputs of
a late round are uniform but for the last few digits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.solver.passes import quietly
from benchmarks.solver.problems import Load, Source
from benchmarks.solver.results import LateRound
from twohot import DistilledProbe

FloatArray = NDArray[np.float64]

# Relative gradient of the rounds solved again: a tenth of what the probes are asked for.
REFERENCE_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class CrossEntropy:
    """Cross-entropy of targets that are known by their moment."""

    x: FloatArray  # (N, d), prepared
    moment: FloatArray  # (K, d), B
    l2: float

    @classmethod
    def of_labels(cls, x: FloatArray, labels: NDArray[np.int64], l2: float) -> "CrossEntropy":
        n_classes = int(labels.max()) + 1
        moment = np.zeros((n_classes, x.shape[1]))
        np.add.at(moment, labels, x)
        return cls(x, moment / len(x) - x.mean(axis=0) / n_classes, l2)

    def evaluate(self, coef: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return value, gradient, and the moment of the outputs' deviation from uniform."""
        n_classes = len(coef)
        e = self.x @ coef.T
        np.expm1(e, out=e)
        mean = e.mean(axis=1, keepdims=True)
        value = np.log1p(mean).mean() - np.vdot(coef, self.moment)
        value += 0.5 * self.l2 * np.vdot(coef, coef)
        value -= coef.sum(axis=0) @ self.x.mean(axis=0) / n_classes
        e -= mean
        e /= n_classes * (1 + mean)
        outputs = e.T @ self.x / len(self.x)
        return float(value), outputs + self.l2 * coef - self.moment, outputs

    def relative_gradient(self, coef: FloatArray) -> float:
        """Return the norm of the gradient over that at zero coefficients."""
        return float(np.linalg.norm(self.evaluate(coef)[1]) / np.linalg.norm(self.moment))

    def solve(self, tol: float) -> FloatArray:
        """Return the optimum by plain L-BFGS, up to a relative gradient.

        It is sought in units in which the gradient at zero and its step are one.
        """
        scale = float(np.linalg.norm(self.moment))
        unit, norms = scale / self.l2, [np.inf]

        def scaled(flat: FloatArray) -> tuple[float, FloatArray]:
            value, gradient, _ = self.evaluate(unit * flat.reshape(self.moment.shape))
            norms.append(float(np.linalg.norm(gradient) / np.linalg.norm(self.moment)))
            return value / (scale * unit), gradient.ravel() / scale

        def stop(intermediate_result: object) -> None:  # the name tells scipy what to pass
            del intermediate_result
            if norms[-1] <= tol:
                raise StopIteration

        solved = minimize(
            scaled,
            np.zeros(self.moment.size),
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={"maxiter": 500, "maxls": 50, "ftol": 0.0, "gtol": 0.0},
        )
        return np.asarray(unit * solved.x.reshape(self.moment.shape))


@dataclass(frozen=True)
class CompareLateRound:
    """A probe's last round beside one whose every round was solved in float64."""

    source: Source
    ridge: float
    n_rounds: int

    def __str__(self) -> str:
        return f"{self.source.name}: a late round"

    def measure(self, load: Load) -> LateRound:
        problem = load(self.source)
        probe = quietly(DistilledProbe(n_rounds=self.n_rounds, ridge=self.ridge), problem)
        x = problem.prepared()
        objective = CrossEntropy.of_labels(x, problem.given_labels, problem.l2(self.ridge))
        for number in range(1, self.n_rounds + 1):
            coef = objective.solve(REFERENCE_TOLERANCE)
            reached = objective.relative_gradient(coef)
            if number < self.n_rounds:
                objective = CrossEntropy(x, objective.evaluate(coef)[2], objective.l2)
        predicted, reference = probe.predict(problem.X), (x @ coef.T).argmax(axis=1)
        last: Any = probe.rounds_[-1]
        return LateRound(
            problem=self.source.name,
            ridge=self.ridge,
            n_rounds=self.n_rounds,
            converged=last.converged,
            gradient_norm=last.gradient_norm,
            n_passes=last.n_passes,
            accuracy=float((predicted == problem.true_labels).mean()),
            reference_accuracy=float((reference == problem.true_labels).mean()),
            reference_gradient=reached,
            n_different=int((predicted != reference).sum()),
        )
