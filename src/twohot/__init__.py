"""Accurate classifiers on frozen embeddings from labels you cannot trust."""

from twohot._types import Round
from twohot.audit.data_issues import DataIssues, find_data_issues
from twohot.audit.find_issues import find_label_issues
from twohot.audit.issue_table import LabelIssues
from twohot.audit.why import Explanation, explain_label
from twohot.distill.averaged_probe import AveragedProbe
from twohot.distill.discriminant_probe import DiscriminantProbe
from twohot.distill.estimators import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.distill.fitted import load
from twohot.distill.targets import top_candidates
from twohot.evaluation import ProbeEvaluation, evaluate_probe
from twohot.forecast.forecast import Forecast, forecast
from twohot.judge.auto_probe import AutoProbe

__version__ = "0.1.0"

__all__ = [
    "AutoProbe",
    "AveragedProbe",
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
