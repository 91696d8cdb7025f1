"""The paper's perturbed Gram matrix Φ + E, and exact rounds on this asymmetric matrix.

The paper's figures perturb every entry of Φ independently, so that entry (i, j) is not equal to
entry (j, i). No features and no objective correspond to such a matrix. But a round is defined by
its logits v, which solve

    v = S (u - σ(v)),     S = Φ / (n_samples l2),

where u are the targets and σ is the softmax. Newton's method finds a zero of the residual
F(v) = v - S (u - σ(v)), from v = 0,

    (I + S J) dv = -F,     J_i = diag(σ_i) - σ_i σ_iᵀ,

and each system is solved by GMRES. At uniform outputs, J is I/K for logits that sum to zero. So the
matrix P = (I + Φ/x)⁻¹ with the ridge x = K n_samples l2, computed once for all rounds, solves the
first system and preconditions the others. Because P S = K (I - P), the systems become

    K J dv + P (dv - K J dv) = -P F.

If Φ is a Gram matrix, use `twohot.theory.softmax_rounds`: only then is the solution known to be
unique.
"""

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres
from scipy.special import softmax

from twohot.base import FloatArray
from twohot.theory import SoftmaxRound

# Newton's method ends if a step changes the logits by at most this fraction. If the system of the
# step is solved to this tolerance too, the remaining relative error is about its square.
STEP_TOLERANCE = 1e-8
# Largest relative tolerance of a system; tolerances decrease with the residual.
LOOSEST_SYSTEM = 1e-2
# Maximum number of Krylov vectors; the systems of the paper's figures need 10 to 20.
KRYLOV = 60
# Maximum number of halvings of a step.
MAX_HALVINGS = 20
# A matrix with a condition number above this is singular up to rounding.
SINGULAR = 1e14


def independent_perturbation(
    n_samples: int, *, amplitude: float, seed: int | np.random.Generator
) -> FloatArray:
    """Return a draw of the matrix E with independent entries, as the authors of the paper drew it.

    The diagonal is zero, so that Φ + E has the diagonal of Φ.
    """
    shape = (n_samples, n_samples)
    entries = np.random.default_rng(seed).uniform(-amplitude, amplitude, size=shape)
    np.fill_diagonal(entries, 0.0)
    return entries


def uniform_perturbation(
    n_samples: int, *, amplitude: float, seed: int | np.random.Generator
) -> FloatArray:
    """Return the mean of a draw of the paper's matrix E and its transpose, which is symmetric."""
    entries = independent_perturbation(n_samples, amplitude=amplitude, seed=seed)
    return (entries + entries.T) / 2


def asymmetric_softmax_rounds(
    matrix: FloatArray, targets: FloatArray, *, l2: float, n_rounds: int, max_steps: int = 50
) -> list[SoftmaxRound]:
    """Return the exact rounds 1 … `n_rounds`, with any matrix instead of the Gram matrix Φ.

    The solver of each round starts at zero logits. `coef_norm` is NaN, because there are no
    features.

    Examples
    --------
    >>> matrix = np.array([[1.0, 0.6, 0.1], [0.4, 1.0, 0.0], [0.2, 0.1, 1.0]])
    >>> rounds = asymmetric_softmax_rounds(matrix, np.eye(2)[[0, 0, 1]], l2=0.1, n_rounds=2)
    >>> rounds[-1].outputs.round(3).tolist(), rounds[-1].converged
    ([[0.734, 0.266], [0.725, 0.275], [0.353, 0.647]], True)
    """
    problem, fitted = _Problem(matrix, targets, l2), []
    for _ in range(n_rounds):
        fitted.append(problem.solve(targets, max_steps=max_steps))
        targets = fitted[-1].outputs
    return fitted


class _Problem:
    """The matrices that all rounds share: the slope S, and P = (I + Φ/x)⁻¹."""

    def __init__(self, matrix: FloatArray, targets: FloatArray, l2: float) -> None:
        self.n_classes, ridge = targets.shape[1], targets.size * l2
        self.slope = matrix / (len(targets) * l2)
        self.scale = 1 + float(np.abs(self.slope).sum(axis=1).max())
        system = np.eye(len(matrix)) + matrix / ridge
        if np.linalg.cond(system) > SINGULAR:
            problem = f"matrix has the eigenvalue {-ridge:g}, minus the ridge"
            raise ValueError(f"{problem}, so a round has no solution: pass another l2.")
        self.inverse = np.linalg.inv(system)  # P

    def solve(self, targets: FloatArray, *, max_steps: int) -> SoftmaxRound:
        """Return one round by Newton's method; a step is halved until the residual decreases."""
        logits = np.zeros_like(targets)
        error = self._error(logits, targets)
        first = max(float(np.linalg.norm(error)), np.finfo(float).tiny)
        converged, n_steps = False, 0
        while n_steps < max_steps and not converged:
            progress = float(np.linalg.norm(error)) / first
            rtol = float(np.clip(progress / 10, STEP_TOLERANCE, LOOSEST_SYSTEM))
            step = self._step(softmax(logits, axis=1), -error, rtol)
            size, logits, error = self._shorten(logits, error, step, targets)
            moved = size * float(np.abs(step).max())
            converged = size == 1.0 and moved <= STEP_TOLERANCE * float(np.abs(logits).max())
            n_steps += 1
        residual = float(np.abs(error).max()) / self.scale
        outputs = softmax(logits, axis=1)
        return SoftmaxRound(outputs, logits, np.nan, residual, n_steps, converged)

    def _error(self, logits: FloatArray, targets: FloatArray) -> FloatArray:
        return np.asarray(logits - self.slope @ (targets - softmax(logits, axis=1)))

    def _shorten(
        self, logits: FloatArray, error: FloatArray, step: FloatArray, targets: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        size, before = 1.0, float(np.linalg.norm(error))
        # A residual below this is rounding error, so it need not decrease.
        rounding = 1e-12 * self.scale
        for _ in range(MAX_HALVINGS):
            moved = logits + size * step
            reached = self._error(moved, targets)
            if float(np.linalg.norm(reached)) <= max(before * (1 - 1e-4 * size), rounding):
                break
            size /= 2
        return size, moved, reached

    def _step(self, outputs: FloatArray, right: FloatArray, rtol: float) -> FloatArray:
        shape = right.shape

        def system(flat: FloatArray) -> FloatArray:
            step = flat.reshape(shape)
            bent = outputs * step
            bent -= outputs * bent.sum(axis=1, keepdims=True)  # J dv
            bent *= self.n_classes
            return np.asarray((bent + self.inverse @ (step - bent)).ravel())

        solution, _ = gmres(
            LinearOperator((right.size, right.size), matvec=system, dtype=np.float64),
            (self.inverse @ right).ravel(),
            rtol=rtol,
            atol=0.0,
            restart=KRYLOV,
            maxiter=10,
        )
        return np.asarray(solution).reshape(shape)
