"""Descriptions of a dataset: correlations, superclasses, evaluation, forecast, explanations."""

from twohot.describe.advice import Action as Action
from twohot.describe.comparison import fit_plain as fit_plain
from twohot.describe.correlation import ClassCorrelation, class_correlation
from twohot.describe.correlation import center_labelled as center_labelled
from twohot.describe.correlation import correlate as correlate
from twohot.describe.demo import DemoData as DemoData
from twohot.describe.demo import DemoNoise as DemoNoise
from twohot.describe.demo import DemoRow as DemoRow
from twohot.describe.demo import demo_data as demo_data
from twohot.describe.demo import demo_rows as demo_rows
from twohot.describe.description import ClassStructure as ClassStructure
from twohot.describe.description import Description as Description
from twohot.describe.description import describe_table as describe_table
from twohot.describe.evaluation import ProbeEvaluation as ProbeEvaluation
from twohot.describe.evaluation import confusion_figure as confusion_figure
from twohot.describe.evaluation import evaluate_probe as evaluate_probe
from twohot.describe.explanation import Explanation as Explanation
from twohot.describe.explanation import explain_label as explain_label
from twohot.describe.explanation import products_at as products_at
from twohot.describe.figures import correlation_map_figure as correlation_map_figure
from twohot.describe.figures import dendrogram_figure as dendrogram_figure
from twohot.describe.figures import draw_dendrogram as draw_dendrogram
from twohot.describe.figures import draw_map as draw_map
from twohot.describe.figures import forecast_figure as forecast_figure
from twohot.describe.figures import map_order as map_order
from twohot.describe.forecast import Forecast as Forecast
from twohot.describe.forecast import forecast as forecast
from twohot.describe.row_pairs import PairGroup, PairStatistics, pair_statistics
from twohot.describe.superclasses import PAPER_STATISTICS_CUT as PAPER_STATISTICS_CUT
from twohot.describe.superclasses import Superclasses, cluster_classes

__all__ = [
    "ClassCorrelation",
    "PairGroup",
    "PairStatistics",
    "Superclasses",
    "class_correlation",
    "cluster_classes",
    "pair_statistics",
]
