"""Add label noise to a table, by a corruption matrix or at class boundaries.

The original labels are kept in `true_labels`. The provenance of the table stores the arguments, and
the corruption matrix as counted in the new labels.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    check_choice,
    check_count,
    counted,
    first_few,
)
from twohot.noise.boundary import boundary_noise
from twohot.noise.corruption import (
    Corrupted,
    asymmetric,
    corrupt_labels,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.tables import ALL_ROWS, TRAINING, FeatureTable, csv_columns, map_array

# Kinds of noise that need only the number of classes and the noise rate.
BY_NUMBER: dict[str, Callable[[int, float], FloatArray]] = {
    "symmetric": symmetric,
    "asymmetric": asymmetric,
    "pair_flip": pair_flip,
}
KINDS = (*BY_NUMBER, "superclass")


def corruption_for(table: FeatureTable, kind: str, noise_rate: float) -> FloatArray:
    """Return the corruption matrix of a kind of noise for the classes of a table.

    Parameters
    ----------
    table : FeatureTable
        Only its classes and superclasses are used.
    kind : {"symmetric", "asymmetric", "pair_flip", "superclass"}
        Kind of noise. The matrix is made by the function of `twohot.noise` with this name, or by
        `superclass_noise`. "asymmetric" and "pair_flip" confuse each class with the next class.
    noise_rate : float
        Fraction of labels that change, from 0 to 1.

    Returns
    -------
    array of shape (n_classes, n_classes)
        Row true class, column given label.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(2), labels=np.array([0, 1]), classes=("cat", "dog"))
    >>> corruption_for(table, "symmetric", 0.25)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    check_choice("kind", kind, KINDS)
    if kind != "superclass":
        return BY_NUMBER[kind](len(table.classes), noise_rate)
    if table.superclass is None:
        problem = "needs the superclass of each class, but this table has none"
        advice = "set superclass and superclass_names of the table, or pass one of "
        advice += f"{first_few(BY_NUMBER)}."
        raise ArgumentError({"kind": kind}, problem, advice)
    # If a superclass of the table has no class, there is a gap in the numbers. So superclasses are
    # numbered again.
    return superclass_noise(np.unique(table.superclass, return_inverse=True)[1], noise_rate)


def read_matrix(path: Path, classes: tuple[str, ...]) -> FloatArray:
    r"""Read a corruption matrix, with rows and columns in the order of `classes`.

    The rows and columns of a `.npy` file must be in this order. In a CSV file, the first line has
    the names of the classes, in any order. Each further line has the numbers of one true class, in
    the order of the first line. The numbers are not validated here.

    Examples
    --------
    >>> _ = Path("noise.csv").write_text("dog,cat\n1,0\n0.5,0.5\n")
    >>> read_matrix(Path("noise.csv"), ("cat", "dog"))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: pass a corruption matrix (.csv or .npy).")
    if path.suffix == ".npy":
        return map_array(path)
    columns = csv_columns(path, lambda _: False, has_header=True)
    n_rows = len(next(iter(columns.values())))
    if sorted(columns) != sorted(classes) or n_rows != len(classes):
        raise ValueError(
            f"{path} has the columns {first_few(columns)} and {counted(n_rows, 'row')}: write the "
            f"names of the {len(classes)} classes ({first_few(classes)}) in the first line, and "
            "one line of numbers per class below."
        )
    order = [list(columns).index(name) for name in classes]
    return np.column_stack([columns[name] for name in classes])[order]


def corrupt_table(
    table: FeatureTable,
    corruption: ArrayLike,
    *,
    seed: int,
    exact: bool = False,
    split: str | None = None,
    kind: str = "matrix",
    rate: float | None = None,
) -> FeatureTable:
    """Return a table whose given labels follow a corruption matrix.

    Parameters
    ----------
    table : FeatureTable
        A table without true labels. Its labels are assumed to be right.
    corruption : array of shape (n_classes, n_classes)
        Corruption matrix: row true class, column given label. Rows sum to one.
    seed : int
        The same seed gives the same labels.
    exact : bool, default False
        If True, the counts of labels are their expectations, rounded; see
        `twohot.noise.corrupt_labels`.
    split : str, optional
        The split whose labels change, or "all". By default "train" if the table has splits, else
        all rows.
    kind, rate
        Kind and rate of the noise. They are only stored in the provenance. By default the rate is
        computed from the matrix.

    Returns
    -------
    FeatureTable
        `labels` follow the matrix, `true_labels` are the previous labels. Rows without a label stay
        unlabelled. `provenance["corruption"]` has the arguments, and the matrix as counted in the
        new labels.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(8), labels=np.arange(8) % 2, classes=("cat", "dog"))
    >>> noisy = corrupt_table(table, corruption_for(table, "symmetric", 0.25), seed=0, exact=True)
    >>> int((noisy.labels != noisy.true_labels).sum())
    2
    >>> noisy.provenance["corruption"]["matrix"]
    [[0.75, 0.25], [0.25, 0.75]]
    """
    rows, name = corrupted_rows(table, split)
    made = corrupt_labels(table.labels[rows], corruption, exact=exact, **_options(table, seed))
    if rate is None:
        expected = made.counts.sum(axis=1) @ (1 - np.diag(np.asarray(corruption, dtype=float)))
        rate = expected / len(rows)
    record = {"kind": kind, "rate": float(rate), "seed": int(seed), "exact": bool(exact)}
    return _noisy(table, rows, made, record | {"split": name})


def corrupt_table_at_boundary(
    table: FeatureTable,
    probabilities: ArrayLike,
    noise_rate: float,
    *,
    seed: int,
    split: str | None = None,
) -> FeatureTable:
    """Return a table in which rows that look like another class can have the label of that class.

    Parameters
    ----------
    table, seed, split
        As for `corrupt_table`.
    probabilities : array of shape (n_corrupted, n_classes)
        Class probabilities of each labelled row of the split, from a probe that was fitted to the
        labels of other rows.
    noise_rate : float
        Expected fraction of labels that change; see `twohot.noise.boundary_noise`.

    Returns
    -------
    FeatureTable
        The table as from `corrupt_table`, with the kind "boundary" in its provenance.

    Examples
    --------
    >>> table = FeatureTable(features=np.eye(8), labels=np.arange(8) % 2, classes=("cat", "dog"))
    >>> noisy = corrupt_table_at_boundary(table, np.full((8, 2), 0.5), 0.5, seed=0)
    >>> int((noisy.labels != noisy.true_labels).sum())
    3
    """
    rows, name = corrupted_rows(table, split)
    made = boundary_noise(table.labels[rows], probabilities, noise_rate, **_options(table, seed))
    record = {"kind": "boundary", "rate": float(noise_rate), "seed": int(seed), "exact": False}
    return _noisy(table, rows, made, record | {"split": name})


def _options(table: FeatureTable, seed: int) -> dict[str, Any]:
    """Return arguments of `corrupt_labels` and `boundary_noise` for the class codes of a table."""
    classes = np.arange(len(table.classes))
    return {"random_state": check_count("seed", seed, 0), "classes": classes}


def _noisy(
    table: FeatureTable, rows: IntArray, made: Corrupted, record: dict[str, Any]
) -> FeatureTable:
    """Return the table with new labels in `rows`, and with `record` in its provenance."""
    labels = np.array(table.labels)
    labels[rows] = made.given_labels
    matrix, n_changed = made.corruption.tolist(), int(made.flipped.sum())
    record = record | {"n_rows": len(rows), "n_changed": n_changed, "matrix": matrix}
    provenance = {**table.provenance, "corruption": record}
    return replace(table, labels=labels, true_labels=np.array(table.labels), provenance=provenance)


def corrupted_rows(table: FeatureTable, split: str | None) -> tuple[IntArray, str]:
    """Return the labelled rows of `split`, whose labels can change, and the name of the split."""
    if table.true_labels is not None:
        problem = "already has true labels, so its given labels may be wrong"
        advice = "pass the table as it was before its labels were corrupted."
        raise ArgumentError("table", problem, advice)
    name = table.chosen_split(split) or ALL_ROWS
    if split is None and table.split is not None and name == ALL_ROWS:
        problem = f"there is no split {TRAINING!r} among {first_few(table.split_names)}"
        raise ArgumentError("", problem, "pass {split}, the name of a split or 'all'.", split=...)
    rows = table.rows_of_split(split)
    labelled = rows[table.labels[rows] != NO_LABEL]
    if labelled.size == 0:
        problem = "has no labelled row"
        raise ArgumentError({"split": name}, problem, "choose a split with labels.")
    return labelled, name
