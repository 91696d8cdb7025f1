"""The description of a feature table: its classes, their correlations and superclasses."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from twohot.base import ArgumentError, IntArray, Labels, json_safe
from twohot.describe.correlation import ClassCorrelation, class_correlation
from twohot.describe.row_pairs import MAX_FEATURES, PairStatistics, pair_statistics
from twohot.describe.superclasses import PAPER_CUT, Superclasses, cluster_classes
from twohot.judge import naming_cells
from twohot.tables import FeatureTable


@dataclass(frozen=True, eq=False)
class ClassStructure:
    """Correlations and superclasses of the classes that have rows."""

    classes: tuple[str, ...]  # class names, in the order of the arrays below
    correlation: ClassCorrelation
    clustering: Superclasses  # clusters of the classes, also if the file names superclasses
    superclass: IntArray  # (n_classes,), positions in superclass_names
    superclass_names: tuple[str, ...]
    source: str  # where the superclasses come from: the file, or a clustering
    statistics: PairStatistics | None  # None: too many features to compute standard deviations

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types; NaN becomes null."""
        record = {
            "classes": self.classes,
            "superclass": self.superclass,
            "superclass_names": self.superclass_names,
            "superclass_source": self.source,
            "pairs": None if self.statistics is None else asdict(self.statistics),
            "same_class": self.correlation.same_class,
            "other_class": self.correlation.other_class,
            "means": self.correlation.means,
            "order": self.clustering.order,
            "linkage": self.clustering.linkage,
        }
        return dict(json_safe(record))


@dataclass(frozen=True, eq=False)
class Description:
    """A summary of a feature table: its rows, splits, classes and class correlations."""

    n_rows: int
    n_features: int
    dtype: str
    split: str | None  # the described split; None: all rows
    split_sizes: Mapping[str, int]  # number of rows of every split; empty without splits
    classes: tuple[str, ...]
    class_sizes: IntArray  # (n_classes,), number of described rows with each given label
    n_without_label: int  # number of described rows without a label
    provenance: Mapping[str, Any]
    structure: ClassStructure | None  # None: fewer than two classes have rows

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        structure = None if self.structure is None else self.structure.to_json()
        return dict(json_safe(vars(self) | {"structure": structure}))


def describe_table(
    table: FeatureTable,
    *,
    split: str | None = None,
    n_superclasses: int | None = None,
    cut: float | None = None,
) -> Description:
    """Return a description of a feature table by its given labels.

    `split` is the name of a split, or "all"; by default "train" if the table has this split, else
    all rows. If you pass `n_superclasses` or `cut` (see `cluster_classes`), the classes are
    clustered into superclasses. Otherwise the superclasses of the table are used. If the table has
    none, the classes are clustered with the paper's cut, 0.8.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, labels = load_digits(return_X_y=True)
    >>> digits = FeatureTable(features=X, labels=labels, classes=tuple("0123456789"))
    >>> found = describe_table(digits, n_superclasses=3)
    >>> found.structure.superclass_names
    ('superclass 1', 'superclass 2', 'superclass 3')
    """
    if n_superclasses is not None and cut is not None:
        both = {"n_superclasses": n_superclasses, "cut": cut}
        raise ArgumentError(both, "both set the number of superclasses", "pass only one.")
    described = table.take(table.rows_of_split(split))
    labels = described.coded
    structure = None
    if np.count_nonzero(labels.sizes) >= 2:
        with naming_cells(described):
            structure = _class_structure(described, labels, n_superclasses, cut)
    return Description(
        n_rows=table.n_rows,
        n_features=table.n_features,
        dtype=str(table.features.dtype),
        split=table.chosen_split(split),
        split_sizes={name: len(table.rows_of_split(name)) for name in table.split_names},
        classes=table.classes,
        class_sizes=labels.sizes,
        n_without_label=int(np.count_nonzero(~labels.labelled)),
        provenance=table.provenance,
        structure=structure,
    )


def _class_structure(
    table: FeatureTable, labels: Labels, n_superclasses: int | None, cut: float | None
) -> ClassStructure:
    """Return the structure of the classes that have rows."""
    found = labels.present()
    correlation = class_correlation(table.features, found.codes)
    height = PAPER_CUT if cut is None else cut
    clustering = cluster_classes(correlation.means, n_superclasses=n_superclasses, cut=height)
    if n_superclasses is None and cut is None and table.superclass is not None:
        groups, superclass = np.unique(table.superclass[labels.sizes > 0], return_inverse=True)
        names, source = tuple(table.superclass_names[i] for i in groups), "named in the file"
    else:
        superclass = clustering.superclass
        names = tuple(f"superclass {i + 1}" for i in range(clustering.n_superclasses))
        how = f"cut at {height:g}" if n_superclasses is None else f"{n_superclasses} requested"
        source = f"complete linkage, {how}"
    statistics = None
    if table.n_features <= MAX_FEATURES:
        statistics = pair_statistics(table.features, found.codes, superclass)
    return ClassStructure(
        tuple(found.classes), correlation, clustering, superclass, names, source, statistics
    )
