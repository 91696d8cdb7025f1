"""A feature table: features with their labels, and all that is known about both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._types import IntArray, Matrix

# The code of a row that has no label.
NO_LABEL = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureTable:
    """Features and labels of the same rows.

    `labels` are always the given ones, the ones to learn from and to distrust. What is known to be
    right, because noise was added on purpose or somebody checked, stands apart in `true_labels`,
    which nothing reads but what asks for it by name.
    """

    features: Matrix  # (n_rows, n_features), floats; may be a read-only memory map
    labels: IntArray  # (n_rows,), positions in classes; -1: no label
    classes: tuple[str, ...]
    superclass: IntArray | None = None  # (n_classes,), positions in superclass_names
    superclass_names: tuple[str, ...] = ()
    split: IntArray | None = None  # (n_rows,), positions in split_names
    split_names: tuple[str, ...] = ()  # for instance ("train", "test")
    items: Sequence[str] | None = None  # (n_rows,), the path or text that each row came from
    item_kind: str = ""  # "image" (items are paths), "text", or "" if not known
    true_labels: IntArray | None = None  # (n_rows,), positions in classes; -1: not known
    provenance: Mapping[str, Any] = field(default_factory=dict)  # JSON: how the table was made

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @property
    def given_labels(self) -> NDArray[Any]:
        """The given labels by name (n_rows,), None where there is none: the `y` of a probe."""
        names = np.array([*self.classes, None], dtype=object)
        named: NDArray[Any] = names[self.labels]
        return named
