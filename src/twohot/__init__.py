"""Accurate classifiers on frozen embeddings from labels you cannot trust."""

from twohot.audit import DataIssues, LabelIssues, find_data_issues, find_label_issues
from twohot.describe import (
    Explanation,
    Forecast,
    ProbeEvaluation,
    evaluate_probe,
    explain_label,
    forecast,
)
from twohot.judge import AutoProbe
from twohot.probes import (
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    Round,
    load,
    top_candidates,
)

__version__ = "0.1.0"

__all__ = [
    "AutoProbe",
    "DataIssues",
    "DiscriminantProbe",
    "DistilledProbe",
    "Explanation",
    "Forecast",
    "LabelIssues",
    "LinearProbe",
    "PartialLabelProbe",
    "ProbeEvaluation",
    "Round",
    "evaluate_probe",
    "explain_label",
    "find_data_issues",
    "find_label_issues",
    "forecast",
    "load",
    "top_candidates",
]
