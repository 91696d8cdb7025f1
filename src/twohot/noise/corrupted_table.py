"""Wrong labels on purpose: a table whose given labels follow a matrix, or the looks of its rows.

The labels before go to `true_labels`; what was asked for and what came of it, to the provenance.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
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

# Noise that knows no more of the classes than their number.
BY_NUMBER: dict[str, Callable[[int, float], FloatArray]] = {
    "symmetric": symmetric,
    "asymmetric": asymmetric,
    "pair_flip": pair_flip,
}
KINDS = (*BY_NUMBER, "superclass")


def corruption_for(table: FeatureTable, kind: str, noise_rate: float) -> FloatArray:
    """Return the corruption matrix of one kind of noise for the classes of a table.

    Parameters
    ----------
    table : FeatureTable
        Only its classes and superclasses count.
    kind : {"symmetric", "asymmetric", "pair_flip", "superclass"}
        See `twohot.noise`; a class is confused with the next one.
    noise_rate : float
        Share of the labels that change, from 0 to 1.

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
        problem = "needs the superclass of each class, which this table does not have"
        advice = f"set its superclass and superclass_names, or use one of {first_few(BY_NUMBER)}."
        raise ArgumentError({"kind": kind}, problem, advice)
    # A superclass may have lost all its classes; the noise wants them numbered without a hole.
    return superclass_noise(np.unique(table.superclass, return_inverse=True)[1], noise_rate)


def read_matrix(path: Path, classes: tuple[str, ...]) -> FloatArray:
    r"""Return a corruption matrix from a file, in the order of the classes, not checked further.

    The file is a `.npy` file in that order; or a CSV file whose first line names the classes, in
    any order, with a line for each true class in that same order.

    Examples
    --------
    >>> _ = Path("noise.csv").write_text("dog,cat\n1,0\n0.5,0.5\n")
    >>> read_matrix(Path("noise.csv"), ("cat", "dog"))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: pass a corruption matrix, .csv or .npy.")
    if path.suffix == ".npy":
        return map_array(path)
    columns = csv_columns(path, lambda _: False, has_header=True)
    if sorted(columns) != sorted(classes) or len(columns[classes[0]]) != len(classes):
        raise ValueError(
            f"{path} has the columns {first_few(columns)} and "
            f"{counted(len(next(iter(columns.values()))), 'row')}: name the {len(classes)} classes "
            "in its first line, with one line per class below."
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
    """Return a table whose labels are wrong as a matrix says.

    Parameters
    ----------
    table : FeatureTable
        A table that has no true labels yet: its labels are taken to be right.
    corruption : array of shape (n_classes, n_classes)
        Row true class, column given label; rows sum to one.
    seed : int
        The same seed gives the same labels.
    exact : bool, default False
        Draw the labels, or fix their counts; see `twohot.noise.corrupt_labels`.
    split : str, optional
        The split whose labels change, or "all"; by default "train" if the table has splits.
    kind, rate
        Where the matrix comes from, for the record; by default the rate is that of the matrix.

    Returns
    -------
    FeatureTable
        `labels` follow the matrix, `true_labels` are those before. Rows without a label stay
        without. `provenance["corruption"]` says what was asked for and holds the realised matrix.

    Examples
    --------
    >>> table = FeatureTable(
    ...     features=np.eye(8), labels=np.arange(8) % 2, classes=("cat", "dog")
    ... )
    >>> noisy = corrupt_table(table, corruption_for(table, "symmetric", 0.25), seed=0, exact=True)
    >>> int((noisy.labels != noisy.true_labels).sum())
    2
    >>> noisy.provenance["corruption"]["matrix"]
    [[0.75, 0.25], [0.25, 0.75]]
    """
    rows, name = corrupted_rows(table, split)
    corrupted = corrupt_labels(
        table.labels[rows],
        corruption,
        exact=exact,
        random_state=check_count("seed", seed, 0),
        classes=np.arange(len(table.classes)),
    )
    expected = np.sum(corrupted.counts, axis=1) @ (1 - np.diag(np.asarray(corruption, dtype=float)))
    share = expected / len(rows) if rate is None else rate
    record = {"kind": kind, "rate": float(share), "seed": int(seed), "exact": bool(exact)}
    return _noisy(table, rows, corrupted, record | {"split": name})


def corrupt_table_at_boundary(
    table: FeatureTable,
    probabilities: ArrayLike,
    noise_rate: float,
    *,
    seed: int,
    split: str | None = None,
) -> FeatureTable:
    """Return a table whose labels are wrong where rows look like another class.

    Parameters
    ----------
    table, seed, split
        As for `corrupt_table`.
    probabilities : array of shape (n_corrupted, n_classes)
        How likely each class is for each labelled row of the split, by a probe fitted to others.
    noise_rate : float
        Expected share of the labels that change; see `twohot.noise.boundary_noise`.

    Returns
    -------
    FeatureTable
        As of `corrupt_table`; the kind in the provenance is "boundary".

    Examples
    --------
    >>> table = FeatureTable(
    ...     features=np.eye(8), labels=np.arange(8) % 2, classes=("cat", "dog")
    ... )
    >>> noisy = corrupt_table_at_boundary(table, np.full((8, 2), 0.5), 0.5, seed=0)
    >>> int((noisy.labels != noisy.true_labels).sum())
    3
    """
    rows, name = corrupted_rows(table, split)
    corrupted = boundary_noise(
        table.labels[rows],
        probabilities,
        noise_rate,
        random_state=check_count("seed", seed, 0),
        classes=np.arange(len(table.classes)),
    )
    record = {"kind": "boundary", "rate": float(noise_rate), "seed": int(seed), "exact": False}
    return _noisy(table, rows, corrupted, record | {"split": name})


def _noisy(
    table: FeatureTable, rows: NDArray[np.intp], corrupted: Corrupted, record: dict[str, Any]
) -> FeatureTable:
    """Return the table with other labels in these rows, and what was done in its provenance."""
    labels = np.array(table.labels)
    labels[rows] = corrupted.given_labels
    done = record | {
        "n_rows": len(rows),
        "n_changed": int(corrupted.flipped.sum()),
        "matrix": corrupted.corruption.tolist(),
    }
    made = {**table.provenance, "corruption": done}
    return replace(table, labels=labels, true_labels=np.array(table.labels), provenance=made)


def corrupted_rows(table: FeatureTable, split: str | None) -> tuple[NDArray[np.intp], str]:
    """Return the labelled rows of the split to corrupt, whose labels are right, and its name."""
    if table.true_labels is not None:
        problem = "has true labels already, so its labels are not the right ones any more"
        raise ArgumentError("table", problem, "corrupt the table it was made from.")
    name = table.chosen_split(split) or ALL_ROWS
    if split is None and table.split is not None and name == ALL_ROWS:
        problem = f"no split is called {TRAINING!r} among {first_few(table.split_names)}"
        raise ArgumentError("", problem, "choose one by {split}, which may be 'all'.", split=...)
    rows = table.rows_of_split(split)
    labelled = rows[table.labels[rows] != NO_LABEL]
    if labelled.size == 0:
        problem = "has no row with a label"
        raise ArgumentError({"split": name}, problem, "there is nothing to corrupt.")
    return labelled, name
