"""Gram matrices that depart from a class model: how far the leading subspace turns, and repair.

The top K eigenvectors of a class model's Gram matrix are its classes. Davis and Kahan bound how
far a perturbation E turns them: with the gap λ_K - λ_{K+1} of the unperturbed matrix,

    sin θ ≤ 2 ‖E‖ / (λ_K - λ_{K+1}),

θ the largest principal angle between the two leading subspaces and ‖·‖ the spectral norm. (The
classical bound has ‖E‖ over the gap between λ_K and the *perturbed* λ_{K+1}; with Weyl's
inequality it gives the form above where that is below 1, and above 1 there is nothing to show.)
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from twohot._checks.numbers import check_count, check_positive
from twohot.theory import _checks
from twohot.theory._checks import FloatArray


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
    before = _checks.symmetric_matrix(gram, "gram")
    after = _checks.symmetric_matrix(perturbed, "perturbed")
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
    values, vectors = np.linalg.eigh(_checks.symmetric_matrix(gram, "gram"))
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    diagonal = np.diag(clipped)
    if diagonal.min() <= 0:
        worst = int(diagonal.argmin())
        raise ValueError(f"gram cannot be repaired: sample {worst} has no norm left; remove it.")
    root = np.sqrt(diagonal)
    repaired = clipped / np.outer(root, root)
    np.fill_diagonal(repaired, 1.0)
    return np.asarray((repaired + repaired.T) / 2)
