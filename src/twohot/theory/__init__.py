"""Closed forms for every round of self-distillation, what they promise, and where they end.

Ask with a handful of numbers and no data: what a round outputs, how many rounds until every
training label is right, how much noise it stands, which penalty to take, and how far the linear
theory is from the exact softmax. `docs/theory.md` leads from each formula of the paper to the
function that computes it.
"""

from twohot.theory.asymmetric_gram import (
    AsymmetricRound,
    asymmetric_linear_rounds,
    asymmetric_softmax_rounds,
    independent_perturbation,
)
from twohot.theory.averaging import (
    LabelAveraging,
    average_labels,
    sample_coefficients,
    shrinkage_factors,
)
from twohot.theory.class_reduction import ClassReduction
from twohot.theory.closed_forms import (
    case_1_outputs,
    case_2_outputs,
    case_3_outputs,
    case_4_outputs,
    case_5_outputs,
)
from twohot.theory.correlation_models import CorrelationModel, Spectrum
from twohot.theory.exact_softmax import SoftmaxRound, softmax_rounds
from twohot.theory.exact_softmax_by_type import (
    PopulationRound,
    population_partial_labels,
    population_rounds,
    softmax_error,
)
from twohot.theory.finite_samples import PredictionBound, prediction_bound, prediction_spread
from twohot.theory.guarantees import Guarantee, Verdict, judge
from twohot.theory.lasting_rounds import rounds_until_right
from twohot.theory.lemma_4_1 import Shrinkage, lemma_outputs, shrinkage
from twohot.theory.mixed_targets import BestMix, best_mix, mixed_outputs
from twohot.theory.noise_tolerance import NoiseTolerance, noise_tolerated
from twohot.theory.outputs import (
    TypeOutputs,
    evolving_outputs,
    outputs_by_round,
    type_outputs,
    unseen_outputs,
)
from twohot.theory.partial_label_guarantees import (
    PartialLabelGuarantee,
    partial_label_guarantee,
    printed_condition,
    sufficient_condition,
)
from twohot.theory.partial_label_student import candidate_targets, partial_label_outputs
from twohot.theory.penalty import (
    PairLevels,
    l2_for_separation,
    largest_separation,
    log_separation_at,
    separation_at,
)
from twohot.theory.perturbation import (
    SubspaceShift,
    davis_kahan,
    repair_gram,
    uniform_perturbation,
)
from twohot.theory.theorem_4_1 import (
    RoundsCondition,
    RoundsNeeded,
    label_gaps,
    rounds_condition,
    rounds_needed,
)
from twohot.theory.theorem_5_1 import PartialLabelCondition, partial_label_condition

__all__ = [
    "AsymmetricRound",
    "BestMix",
    "ClassReduction",
    "CorrelationModel",
    "Guarantee",
    "LabelAveraging",
    "NoiseTolerance",
    "PairLevels",
    "PartialLabelCondition",
    "PartialLabelGuarantee",
    "PopulationRound",
    "PredictionBound",
    "RoundsCondition",
    "RoundsNeeded",
    "Shrinkage",
    "SoftmaxRound",
    "Spectrum",
    "SubspaceShift",
    "TypeOutputs",
    "Verdict",
    "asymmetric_linear_rounds",
    "asymmetric_softmax_rounds",
    "average_labels",
    "best_mix",
    "candidate_targets",
    "case_1_outputs",
    "case_2_outputs",
    "case_3_outputs",
    "case_4_outputs",
    "case_5_outputs",
    "davis_kahan",
    "evolving_outputs",
    "independent_perturbation",
    "judge",
    "l2_for_separation",
    "label_gaps",
    "largest_separation",
    "lemma_outputs",
    "log_separation_at",
    "mixed_outputs",
    "noise_tolerated",
    "outputs_by_round",
    "partial_label_condition",
    "partial_label_guarantee",
    "partial_label_outputs",
    "population_partial_labels",
    "population_rounds",
    "prediction_bound",
    "prediction_spread",
    "printed_condition",
    "repair_gram",
    "rounds_condition",
    "rounds_needed",
    "rounds_until_right",
    "sample_coefficients",
    "separation_at",
    "shrinkage",
    "shrinkage_factors",
    "softmax_error",
    "softmax_rounds",
    "sufficient_condition",
    "type_outputs",
    "uniform_perturbation",
    "unseen_outputs",
]
