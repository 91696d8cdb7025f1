"""Closed forms for every round of self-distillation, their guarantees and their limits.

A few numbers, without data, give: the outputs of a round, the rounds until every training label is
right, the tolerated noise, the penalty to choose, and the error of the linear theory relative to
the exact softmax. `docs/theory.md` lists the function that computes each formula of the paper.
"""

from twohot.theory.averaging import ClassReduction, LabelAveraging, shrinkage_factors
from twohot.theory.closed_forms import (
    PairLevels,
    Shrinkage,
    l2_for_separation,
    largest_separation,
    lemma_outputs,
    log_separation_at,
    separation_at,
    shrinkage,
)
from twohot.theory.correlation_models import CorrelationModel, Spectrum, repair_gram
from twohot.theory.exact_softmax import SoftmaxRound, softmax_rounds
from twohot.theory.exact_softmax_by_type import (
    PopulationRound,
    population_partial_labels,
    population_rounds,
    softmax_error,
)
from twohot.theory.guarantees import (
    Guarantee,
    NoiseTolerance,
    PredictionSpread,
    Verdict,
    judge,
    noise_tolerated,
    prediction_spread,
)
from twohot.theory.outputs import (
    TypeOutputs,
    evolving_outputs,
    outputs_by_round,
    type_outputs,
    unseen_outputs,
)
from twohot.theory.partial_labels import (
    PartialLabelCondition,
    candidate_targets,
    partial_label_condition,
    partial_label_outputs,
)
from twohot.theory.theorem_4_1 import (
    RoundsCondition,
    RoundsNeeded,
    label_gaps,
    rounds_condition,
    rounds_needed,
    rounds_until_right,
)

__all__ = [
    "ClassReduction",
    "CorrelationModel",
    "Guarantee",
    "LabelAveraging",
    "NoiseTolerance",
    "PairLevels",
    "PartialLabelCondition",
    "PopulationRound",
    "PredictionSpread",
    "RoundsCondition",
    "RoundsNeeded",
    "Shrinkage",
    "SoftmaxRound",
    "Spectrum",
    "TypeOutputs",
    "Verdict",
    "candidate_targets",
    "evolving_outputs",
    "judge",
    "l2_for_separation",
    "label_gaps",
    "largest_separation",
    "lemma_outputs",
    "log_separation_at",
    "noise_tolerated",
    "outputs_by_round",
    "partial_label_condition",
    "partial_label_outputs",
    "population_partial_labels",
    "population_rounds",
    "prediction_spread",
    "repair_gram",
    "rounds_condition",
    "rounds_needed",
    "rounds_until_right",
    "separation_at",
    "shrinkage",
    "shrinkage_factors",
    "softmax_error",
    "softmax_rounds",
    "type_outputs",
    "unseen_outputs",
]
