"""Rounds on a matrix in place of the Gram matrix that is not symmetric: the paper's Φ + E as drawn.

The paper's figures perturb every entry of Φ independently, so that entry (i, j) is not entry
(j, i). No features have such a matrix and no objective stands behind it, yet both equations of a
round can be read with it:

    linear   Y⁽ᵗ⁾ - 1/K = [Φ (x I + Φ)⁻¹]ᵗ (Y⁽⁰⁾ - 1/K),     x = n_classes * n_samples * l2,
    exact    v = S (u - σ(v)),     S = Φ / (n_samples l2).

The exact one is solved by Newton's method on the residual F(v) = v - S (u - σ(v)), from v = 0,

    (I + S J) dv = -F,     J_i = diag(σ_i) - σ_i σ_iᵀ,

each system by GMRES. J is I/K at uniform outputs, among logits that sum to zero. P = (I + Φ/x)⁻¹,
formed once for all rounds, therefore solves the first system and preconditions the others, which it
turns, as P S = K (I - P), into

    K J dv + P (dv - K J dv) = -P F.

Where Φ is a Gram matrix, use `LabelAveraging` and `softmax_rounds`: only there is the solution
known to be unique.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, gmres
from scipy.special import softmax

from twohot.base import check_count, check_positive
from twohot.theory import checks
from twohot.theory.checks import FloatArray
from twohot.theory.exact_softmax import softmax_deviations

# A step that moves the logits by no more than this fraction, its system solved to the same
# fraction, leaves an error of about its square.
STEP_TOLERANCE = 1e-8
# Systems are solved to the order of the residual: the first to this fraction.
LOOSEST_SYSTEM = 1e-2
# Krylov vectors kept; the preconditioned systems of the paper's figures need 10 to 20.
KRYLOV = 60
# Halvings before a step is given up: the residual then falls in no direction Newton knows.
MAX_HALVINGS = 20
# A system with a condition number above this is singular but for rounding.
SINGULAR = 1e14


@dataclass(frozen=True, eq=False)
class AsymmetricRound:
    """One round of the exact softmax on a matrix that need not be symmetric."""

    outputs: FloatArray  # (n_samples, n_classes)
    logits: FloatArray  # (n_samples, n_classes)
    residual: float  # largest error of logits = Φ (targets - outputs)/(N l2), per unit slope of it
    n_steps: int  # Newton steps
    converged: bool


def independent_perturbation(
    n_samples: int, *, amplitude: float, seed: int | np.random.Generator
) -> FloatArray:
    """Draw the matrix E of the paper's figures as its authors did: every entry for itself.

    The diagonal is zero, so that Φ + E keeps that of Φ. The same seed gives
    `uniform_perturbation` the same entries, which it averages with their mirror images.

    Examples
    --------
    >>> noise = independent_perturbation(3, amplitude=0.05, seed=0)
    >>> bool(np.abs(noise).max() <= 0.05), bool((noise == noise.T).all())
    (True, False)
    """
    size = check_count("n_samples", n_samples, 1)
    amplitude = check_positive("amplitude", amplitude)
    entries = np.random.default_rng(seed).uniform(-amplitude, amplitude, size=(size, size))
    np.fill_diagonal(entries, 0.0)
    return entries


def asymmetric_linear_rounds(
    matrix: ArrayLike, targets: ArrayLike, *, l2: float, n_rounds: int
) -> list[FloatArray]:
    """Predict rounds 1 … `n_rounds` by the linear theory, for any matrix in place of Φ.

    Parameters
    ----------
    matrix : (n_samples, n_samples)
        Entry (i, j) is how much sample i hears of sample j.
    targets, l2, n_rounds
        As for `softmax_rounds`.

    Examples
    --------
    >>> matrix = [[1.0, 0.6, 0.1], [0.4, 1.0, 0.0], [0.2, 0.1, 1.0]]
    >>> teacher, student = asymmetric_linear_rounds(
    ...     matrix, np.eye(2)[[0, 0, 1]], l2=0.1, n_rounds=2
    ... )
    >>> student.round(3).tolist()
    [[0.754, 0.246], [0.743, 0.257], [0.341, 0.659]]
    """
    problem = _Problem(matrix, targets, l2)
    uniform, deviations, fitted = 1 / problem.n_classes, problem.given, []
    for _ in range(checks.round_count(n_rounds)):
        deviations = problem.matrix @ (problem.inverse @ deviations) / problem.ridge
        fitted.append(deviations + uniform)
    return fitted


def asymmetric_softmax_rounds(
    matrix: ArrayLike, targets: ArrayLike, *, l2: float, n_rounds: int, max_steps: int = 50
) -> list[AsymmetricRound]:
    """Exact outputs of rounds 1 … `n_rounds` for any matrix in place of Φ, each from zero logits.

    Parameters
    ----------
    matrix
        As for `asymmetric_linear_rounds`.
    targets, l2, n_rounds, max_steps
        As for `softmax_rounds`.

    Examples
    --------
    >>> matrix = [[1.0, 0.6, 0.1], [0.4, 1.0, 0.0], [0.2, 0.1, 1.0]]
    >>> rounds = asymmetric_softmax_rounds(matrix, np.eye(2)[[0, 0, 1]], l2=0.1, n_rounds=2)
    >>> rounds[-1].outputs.round(3).tolist(), rounds[-1].converged
    ([[0.734, 0.266], [0.725, 0.275], [0.353, 0.647]], True)
    """
    problem = _Problem(matrix, targets, l2)
    most = check_count("max_steps", max_steps, 1)
    deviations, fitted = problem.given, []
    for _ in range(checks.round_count(n_rounds)):
        solved = problem.solve_exactly(deviations, max_steps=most)
        deviations = softmax_deviations(solved.logits)
        fitted.append(solved)
    return fitted


class _Problem:
    """What all rounds share: the matrix, its slope S, and P = (I + Φ/x)⁻¹."""

    def __init__(self, matrix: ArrayLike, targets: ArrayLike, l2: float) -> None:
        self.matrix = checks.real_array(matrix, "matrix", ndim=2)
        if self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(f"matrix must be square, got shape {self.matrix.shape}.")
        rows = checks.target_rows(targets, len(self.matrix))
        n_samples, self.n_classes = rows.shape
        self.given = rows - 1 / self.n_classes
        self.ridge = rows.size * checks.scale_number("l2", l2)
        self.slope = self.matrix / (n_samples * l2)
        self.scale = 1 + float(np.abs(self.slope).sum(axis=1).max())
        self.inverse = self._inverse(np.eye(n_samples) + self.matrix / self.ridge)  # P

    def solve_exactly(self, targets: FloatArray, *, max_steps: int) -> AsymmetricRound:
        """Newton's method for one round, steps halved until the residual falls."""
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
        outputs = softmax_deviations(logits) + 1 / self.n_classes
        return AsymmetricRound(outputs, logits, residual, n_steps, converged)

    def _inverse(self, system: FloatArray) -> FloatArray:
        try:
            inverse = np.linalg.inv(system)
        except np.linalg.LinAlgError:
            inverse = None
        if inverse is None or np.linalg.norm(system) * np.linalg.norm(inverse) > SINGULAR:
            problem = f"minus the ridge, {-self.ridge:g}, is an eigenvalue of matrix"
            raise ValueError(f"{problem}: a round has no solution; choose another l2.")
        return np.asarray(inverse)

    def _error(self, logits: FloatArray, targets: FloatArray) -> FloatArray:
        return np.asarray(logits - self.slope @ (targets - softmax_deviations(logits)))

    def _shorten(
        self, logits: FloatArray, error: FloatArray, step: FloatArray, targets: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        size, before = 1.0, float(np.linalg.norm(error))
        # Below this, rounding decides whether the residual fell; Newton is then long done.
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

        size = (right.size, right.size)
        solution, _ = gmres(
            LinearOperator(size, matvec=system, dtype=np.float64),
            (self.inverse @ right).ravel(),
            rtol=rtol,
            atol=0.0,
            restart=KRYLOV,
            maxiter=10,
        )
        return np.asarray(solution).reshape(shape)


# Gram matrices that depart from a class model: how far the leading subspace turns, and repair -----
# The top K eigenvectors of a class model's Gram matrix are its classes. Davis and Kahan bound how
# far a perturbation E turns them: with the gap λ_K - λ_{K+1} of the unperturbed matrix,
#
#     sin θ ≤ 2 ‖E‖ / (λ_K - λ_{K+1}),
#
# θ the largest principal angle between the two leading subspaces and ‖·‖ the spectral norm. (The
# classical bound has ‖E‖ over the gap between λ_K and the *perturbed* λ_{K+1}; with Weyl's
# inequality it gives the form above where that is below 1, and above 1 there is nothing to show.)


@dataclass(frozen=True)
class SubspaceShift:
    """How far a perturbation turned the leading eigenvectors; see `davis_kahan`."""

    eigengap: float  # λ_K - λ_{K+1} of the unperturbed Gram matrix
    perturbation_norm: float  # spectral norm of the perturbation
    sin_angle: float  # sine of the largest principal angle between the leading subspaces
    bound: float  # what Davis and Kahan allow the sine to be; 1 or more says nothing


def davis_kahan(gram: ArrayLike, perturbed: ArrayLike, *, n_leading: int) -> SubspaceShift:
    """Compare the leading eigenvectors of a Gram matrix with those of a perturbed one.

    Examples
    --------
    >>> gram = np.diag([5.0, 4.0, 1.0])
    >>> shift = davis_kahan(gram, gram + 0.1 * (1 - np.eye(3)), n_leading=2)
    >>> round(shift.eigengap, 6), shift.sin_angle < shift.bound
    (3.0, True)
    """
    before = checks.symmetric_matrix(gram, "gram")
    after = checks.symmetric_matrix(perturbed, "perturbed")
    if before.shape != after.shape:
        raise ValueError(f"gram and perturbed differ in shape: {before.shape}, {after.shape}.")
    leading = check_count("n_leading", n_leading, 1)
    if leading >= len(before):
        raise ValueError(f"n_leading must be below the matrix size {len(before)}, got {leading}.")
    values, vectors = np.linalg.eigh(before)
    gap = float(values[-leading] - values[-leading - 1])
    norm = float(np.abs(np.linalg.eigvalsh(after - before)).max())
    turned = np.linalg.eigh(after)[1][:, -leading:]
    angles = scipy.linalg.subspace_angles(vectors[:, -leading:], turned)
    bound = 2 * norm / gap if gap > 0 else np.inf
    return SubspaceShift(gap, norm, float(np.sin(angles.max())), bound)


def uniform_perturbation(
    n_samples: int, *, amplitude: float, seed: int | np.random.Generator
) -> FloatArray:
    """Draw the matrix E of the paper's figures, made symmetric.

    Entries from U(-amplitude, amplitude) are averaged with their mirror images; the diagonal is
    zero, so that features keep their norm.

    Examples
    --------
    >>> noise = uniform_perturbation(3, amplitude=0.05, seed=0)
    >>> bool(np.abs(noise).max() <= 0.05), bool((noise == noise.T).all())
    (True, True)
    """
    size = check_count("n_samples", n_samples, 1)
    amplitude = check_positive("amplitude", amplitude)
    entries = np.random.default_rng(seed).uniform(-amplitude, amplitude, size=(size, size))
    mirrored = (entries + entries.T) / 2
    np.fill_diagonal(mirrored, 0.0)
    return mirrored


def repair_gram(gram: ArrayLike) -> FloatArray:
    """Return a nearby Gram matrix: negative eigenvalues cut off, then scaled to unit diagonal.

    A perturbed Gram matrix is rarely positive semidefinite, and only one that is belongs to
    features and has a unique solution in every round.

    Examples
    --------
    >>> broken = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> bool(np.linalg.eigvalsh(broken)[0] < 0)
    True
    >>> repaired = repair_gram(broken)
    >>> bool(np.linalg.eigvalsh(repaired)[0] > -1e-12), np.diag(repaired).round(12).tolist()
    (True, [1.0, 1.0, 1.0])
    """
    values, vectors = np.linalg.eigh(checks.symmetric_matrix(gram, "gram"))
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    diagonal = np.diag(clipped)
    if diagonal.min() <= 0:
        worst = int(diagonal.argmin())
        raise ValueError(f"gram cannot be repaired: sample {worst} has no norm left; remove it.")
    root = np.sqrt(diagonal)
    repaired = clipped / np.outer(root, root)
    np.fill_diagonal(repaired, 1.0)
    return np.asarray((repaired + repaired.T) / 2)
