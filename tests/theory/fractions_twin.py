"""The linear theory in exact fractions, which decide ties and signs without rounding.

Numbers are taken as they are written, 0.1 as 1/10. Nothing here is imported from the package.
"""

from fractions import Fraction

import numpy as np

Matrix = list[list[Fraction]]


def fraction(number: float) -> Fraction:
    return Fraction(str(float(number)))


def exact_rounds(
    correlation: np.ndarray,
    class_sizes: list[int],
    corruption: np.ndarray,
    l2: float,
    n_rounds: int,
) -> list[list[str]]:
    """Verdict of every class in rounds 1 … n_rounds, for features of unit norm."""
    classes = range(len(class_sizes))
    w = [[fraction(value) for value in row] for row in correlation]
    shares = [[fraction(value) for value in row] for row in corruption]
    ridge = len(class_sizes) * sum(class_sizes) * fraction(l2)
    own = [1 - w[a][a] for a in classes]
    mixing = [
        [w[a][b] * class_sizes[b] + (own[a] if a == b else 0) for b in classes] for a in classes
    ]
    damped = [[mixing[a][b] + (ridge if a == b else 0) for b in classes] for a in classes]
    means = [[share - Fraction(1, len(row)) for share in row] for row in shares]
    kept = [Fraction(1)] * len(class_sizes)
    found = []
    for _ in range(n_rounds):
        means = solve(damped, product(mixing, means))
        kept = [kept[a] * own[a] / (ridge + own[a]) for a in classes]
        found.append([verdict(a, shares[a], means[a], kept[a]) for a in classes])
    return found


def verdict(a: int, shares: list[Fraction], mean: list[Fraction], kept: Fraction) -> str:
    """right, tie or wrong for all samples of class a, given labels b that occur."""
    margins = []
    for b, share in enumerate(shares):
        if share > 0:
            output = [kept * ((k == b) - shares[k]) + mean[k] for k in range(len(shares))]
            margins.append(output[a] - max(value for k, value in enumerate(output) if k != a))
    smallest = min(margins)
    return "right" if smallest > 0 else "wrong" if smallest < 0 else "tie"


def product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in left
    ]


def solve(matrix: Matrix, right: Matrix) -> Matrix:
    """Gaussian elimination."""
    rows = [[*row, *more] for row, more in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j, row in enumerate(rows):
            if j != i and row[i] != 0:
                rows[j] = [x - row[i] * y for x, y in zip(row, rows[i], strict=True)]
    return [row[len(rows) :] for row in rows]
