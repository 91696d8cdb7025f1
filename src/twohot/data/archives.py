"""`.npy` and `.npz` files, as columns.

An archive holds features and labels, `X` and `y` for instance, or those of each split apart, as in
`X_train`, `y_train`, `X_test`, `y_test`. The splits are then put together. Beside them may stand
`classes`, `superclass` and `superclass_names`, which describe classes and not rows.
"""

import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.data.columns import FEATURES, LABELS, ColumnChoice, Columns, pick


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name; that of a `.npy` file is called "X".

    Examples
    --------
    >>> np.savez("pets.npz", X=np.eye(2), y=np.array(["cat", "dog"]))
    >>> list(load_arrays(Path("pets.npz")))
    ['X', 'y']
    """
    if path.suffix == ".npy":
        return {"X": _loaded(path)}
    with _loaded(path) as archive:
        twice = [name for name, count in Counter(archive.files).items() if count > 1]
        if twice:
            raise ValueError(f"{path} holds two arrays named {twice[0]!r}: write it again.")
        return {name: _loaded(path, archive, name) for name in archive.files}


def _loaded(path: Path, archive: Any = None, name: str = "") -> Any:
    """Return a file, or one array of an archive, or say why it cannot be read."""
    try:
        # numpy refuses arrays of Python objects, which could run anything when they are read.
        return np.load(path) if archive is None else archive[name]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        part = f" in the array {name!r}" if name else ""
        raise ValueError(
            f"{path} is cut short, or not of numbers and strings alone{part} ({error}): write it "
            "again by np.save or np.savez."
        ) from error


def archive_columns(arrays: Columns, choice: ColumnChoice) -> tuple[Columns, ColumnChoice]:
    """Return the columns of an archive and what they are, its splits put together.

    A choice may name an array of one split: `y_train_human` for the labels means `y_test_human` in
    the split `test`, and `y_test` if there is none.

    Examples
    --------
    >>> arrays = {"X_train": np.eye(2), "y_train": [0, 1], "X_test": np.ones((1, 2)), "y_test": [1]}
    >>> columns, choice = archive_columns(arrays, ColumnChoice())
    >>> columns["label"].tolist(), columns["split"].tolist()
    ([0, 1, 1], ['train', 'train', 'test'])
    """
    features = _split_features(arrays, choice.features)
    if not features:
        return arrays, choice
    sizes = {split: len(arrays[name]) for split, name in features.items()}
    columns = {
        "X": np.concatenate([arrays[name] for name in features.values()]),
        "split": np.repeat(list(sizes), list(sizes.values())),
    }
    columns["label"] = _joined("label_column", choice.label, LABELS, arrays, sizes)
    if choice.true_label:
        columns["true_label"] = _joined(
            "true_label_column", choice.true_label, LABELS, arrays, sizes
        )
    if choice.item:
        columns["item"] = _joined("item_column", choice.item, (), arrays, sizes)
    return columns, ColumnChoice(features="X")


def _split_features(arrays: Columns, chosen: str | Sequence[str] | None) -> dict[str, str]:
    """Return the name of the features of each split; nothing if they are not apart."""
    bases = FEATURES if chosen is None else (chosen,)
    whole = next((name for name in bases if name in arrays), None)
    found: dict[str, str] = {}
    for name in arrays:
        base, _, split = name.rpartition("_")
        if base not in bases or np.ndim(arrays[name]) != 2:
            continue
        if split in found or whole is not None:
            raise ValueError(
                f"{found.get(split, whole)!r} and {name!r} could both be meant: choose one by "
                "feature_column."
            )
        found[split] = name
    return found


def _joined(
    argument: str,
    chosen: str | None,
    usual: Sequence[str],
    arrays: Columns,
    sizes: Mapping[str, int],
) -> NDArray[Any]:
    """Return one column of all splits; None in the rows of a split that has no such array."""
    if chosen is not None:
        pick(argument, chosen, (), arrays)
    words = [] if chosen is None else chosen.split("_")
    parts: list[NDArray[Any]] = []
    for split, size in sizes.items():
        own = "_".join(split if word in sizes else word for word in words)
        name = (
            own
            if own in arrays
            else pick(argument, None, [f"{base}_{split}" for base in usual], arrays)
        )
        values = np.full(size, None) if name is None else np.asarray(arrays[name])
        if values.shape != (size,):
            raise ValueError(
                f"{name!r} has shape {values.shape} for the {size} rows of {split!r}: pass one "
                "value per row."
            )
        parts.append(values)
    return np.concatenate(parts)
