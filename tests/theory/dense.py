"""A slow, plain implementation of the theory: single samples, full matrices, textbook algebra.

Nothing here is imported from the package; everything is float64 and small.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# What a test may be off by: rounding of the dense solve, and in no case more than the second.
PER_CONDITION, AT_MOST = 1e-12, 1e-9


@dataclass(frozen=True)
class Problem:
    """Samples of a class model with given labels, listed one by one."""

    correlation: np.ndarray
    squared_norms: np.ndarray
    counts: np.ndarray  # whole samples per true class (row) and given label (column)
    l2: float

    @property
    def n_classes(self) -> int:
        return len(self.counts)

    @property
    def class_sizes(self) -> np.ndarray:
        return self.counts.sum(axis=1)

    @property
    def corruption(self) -> np.ndarray:
        return self.counts / self.class_sizes[:, None]

    @cached_property
    def true_labels(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_classes), self.class_sizes)

    @cached_property
    def given_labels(self) -> np.ndarray:
        return listed_labels(self.counts)

    @cached_property
    def gram(self) -> np.ndarray:
        gram = self.correlation[np.ix_(self.true_labels, self.true_labels)]
        np.fill_diagonal(gram, self.squared_norms[self.true_labels])
        return gram

    @property
    def ridge(self) -> float:
        return self.n_classes * len(self.true_labels) * self.l2

    @property
    def one_hot(self) -> np.ndarray:
        return np.eye(self.n_classes)[self.given_labels]

    def tolerance(self) -> float:
        condition = np.linalg.cond(self.ridge * np.eye(len(self.gram)) + self.gram)
        return min(PER_CONDITION * condition, AT_MOST)


def listed_labels(counts: np.ndarray) -> np.ndarray:
    """Given labels of samples sorted by true class, from whole counts."""
    return np.repeat(np.tile(np.arange(len(counts)), len(counts)), counts.ravel())


def random_problem(
    seed: int, *, balanced_classes: bool = False, correlation: np.ndarray | None = None
) -> Problem:
    """Draw a model: indefinite correlation, different norms, imbalanced classes and labels."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 7)) if correlation is None else len(correlation)
    sizes = rng.integers(1, 12, size=n_classes)
    if balanced_classes:
        sizes[:] = sizes[0] + 1
    counts = np.array(
        [rng.multinomial(n, rng.dirichlet(np.ones(n_classes))) for n in sizes], dtype=int
    )
    l2 = 10 ** rng.uniform(-5, 0)
    if correlation is not None:
        return Problem(correlation, np.ones(n_classes), counts, l2)
    means = rng.normal(size=(n_classes, int(rng.integers(1, n_classes + 2)))) * 0.4
    own = rng.uniform(0.05, 1.5, size=n_classes)
    # Taking up to own/n off the diagonal makes W indefinite and leaves the Gram matrix PSD.
    correlation = means @ means.T - np.diag(rng.uniform(0, 1, size=n_classes) * own / sizes)
    return Problem(correlation, np.diag(correlation) + own, counts, l2)


def rounds(gram: np.ndarray, targets: np.ndarray, ridge: float, n_rounds: int) -> np.ndarray:
    """Theorem 3.1 by repeated solves: α = K (xI + Φ)⁻¹ (Y - 1/K), then y = 1/K + Φα/K."""
    n_classes = targets.shape[1]
    outputs = targets
    for _ in range(n_rounds):
        alpha = np.linalg.solve(
            ridge * np.eye(len(gram)) + gram, n_classes * outputs - np.ones_like(outputs)
        )
        outputs = (1 + gram @ alpha) / n_classes
    return outputs


def top_labels(outputs: np.ndarray, n_candidates: int) -> np.ndarray:
    """Candidate targets of every sample, lowest label first among equals."""
    targets = np.zeros_like(outputs)
    for row, target in zip(outputs.round(11), targets, strict=True):
        target[sorted(range(len(row)), key=lambda k: (-row[k], k))[:n_candidates]] = 1
    return targets / n_candidates


def softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def exact_round(gram: np.ndarray, targets: np.ndarray, l2: float) -> np.ndarray:
    """Solve y = σ(Φ (u - y)/(N l2)) for all samples."""
    return fixed_point(gram / (len(targets) * l2), targets)


def fixed_point(slope: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Solve y = σ(slope (u - y)) by undamped Newton on all logits, with a dense Jacobian."""
    solve = np.linalg.solve if slope.dtype == np.float64 else eliminate
    logits = np.zeros_like(targets)
    for _ in range(60):
        outputs = softmax(logits)
        error = logits - slope @ (targets - outputs)
        bends = np.einsum("jk,kl->jkl", outputs, np.eye(targets.shape[1]))
        bends -= outputs[:, :, None] * outputs[:, None, :]
        jacobian = np.einsum("ij,jkl->ikjl", slope, bends).reshape(2 * (targets.size,))
        jacobian[np.diag_indices_from(jacobian)] += 1
        step = solve(jacobian, error.ravel()).reshape(logits.shape)
        logits = logits - step
        if np.abs(step).max() < 500 * np.finfo(slope.dtype).eps:
            break
    return softmax(logits)


def exact_types(problem: Problem, n_rounds: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the types that occur, and their outputs in every round of the exact softmax.

    Counts may be real numbers. The precision is extended, because in double precision, classes of
    10⁸ samples leave too few digits for a comparison.
    """
    types = np.argwhere(problem.counts)
    masses = problem.counts[tuple(types.T)].astype(np.longdouble)
    classes = types[:, 0]
    slope = problem.correlation[np.ix_(classes, classes)] * masses
    own = problem.squared_norms - np.diag(problem.correlation)
    slope[np.diag_indices_from(slope)] += own[classes]
    slope /= masses.sum() * problem.l2
    targets, fitted = np.eye(problem.n_classes, dtype=np.longdouble)[types[:, 1]], []
    for _ in range(n_rounds):
        targets = fixed_point(slope, targets)
        fitted.append(targets)
    return types, fitted


def eliminate(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by Gaussian elimination with pivots, in the precision of the input."""
    rows = np.column_stack([matrix, right])
    for i in range(len(rows)):
        pivot = i + int(np.abs(rows[i:, i]).argmax())
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] /= rows[i, i]
        others = np.arange(len(rows)) != i
        rows[others] -= np.outer(rows[others, i], rows[i])
    return rows[:, -1]


def block_correlation(
    superclass: list[int], same_class: float, same_superclass: float, elsewhere: float
) -> np.ndarray:
    """Class correlation of Cases I-V, entry by entry."""
    groups = np.asarray(superclass)
    correlation = np.where(groups[:, None] == groups, same_superclass, elsewhere)
    np.fill_diagonal(correlation, same_class)
    return correlation


def symmetric(n_classes: int, noise_rate: float) -> np.ndarray:
    off = noise_rate / (n_classes - 1)
    return off * np.ones((n_classes, n_classes)) + (1 - noise_rate - off) * np.eye(n_classes)


def circulant(first_row: list[float]) -> np.ndarray:
    return np.array([np.roll(first_row, shift) for shift in range(len(first_row))])


def balanced_corruption(
    rng: np.random.Generator, superclass: list[int], diagonal: float
) -> np.ndarray:
    """Doubly stochastic corruption inside superclasses: a random mixture of permutations."""
    groups = np.asarray(superclass)
    corruption = np.zeros((groups.size, groups.size))
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        weights = rng.dirichlet(np.ones(4)) * (1 - diagonal)
        corruption[members, members] += diagonal
        for weight in weights:
            corruption[members, rng.permutation(members)] += weight
    return corruption


def margins(outputs: np.ndarray, true_labels: np.ndarray) -> np.ndarray:
    """Output at the truth minus the largest other output, sample by sample."""
    others = outputs.copy()
    np.put_along_axis(others, true_labels[:, None], -np.inf, axis=1)
    return outputs[np.arange(len(outputs)), true_labels] - others.max(axis=1)
