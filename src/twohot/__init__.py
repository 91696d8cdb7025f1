"""Accurate classifiers on frozen embeddings from labels you cannot trust."""

from twohot._types import Round
from twohot.audit.selection import AutoProbe
from twohot.distill.estimators import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.distill.probe import load
from twohot.distill.targets import top_candidates

__version__ = "0.1.0"

__all__ = [
    "AutoProbe",
    "DistilledProbe",
    "LinearProbe",
    "PartialLabelProbe",
    "Round",
    "load",
    "top_candidates",
]
