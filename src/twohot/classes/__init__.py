"""How the classes of labelled features relate: correlations, superclasses, pairs of rows."""

from twohot.classes.correlation import ClassCorrelation, class_correlation
from twohot.classes.row_pairs import PairGroup, PairStatistics, pair_statistics
from twohot.classes.superclasses import Superclasses, cluster_classes

__all__ = [
    "ClassCorrelation",
    "PairGroup",
    "PairStatistics",
    "Superclasses",
    "class_correlation",
    "cluster_classes",
    "pair_statistics",
]
