"""Closed forms for every round of self-distillation, what they promise, and where they end.

Ask with a handful of numbers and no data: what a round outputs, how many rounds until every
training label is right, how much noise it stands, which penalty to take, and how far the linear
theory is from the exact softmax. `docs/theory.md` leads from each formula of the paper to the
function that computes it.
"""

from twohot.theory.averaging import (
    ClassReduction,
    LabelAveraging,
    average_labels,
    sample_coefficients,
    shrinkage_factors,
)
from twohot.theory.checks import FloatArray as FloatArray
from twohot.theory.checks import corruption_matrix as corruption_matrix
from twohot.theory.checks import ordered_levels as ordered_levels
from twohot.theory.checks import round_count as round_count
from twohot.theory.checks import scale_number as scale_number
from twohot.theory.checks import superclass_map as superclass_map
from twohot.theory.checks import symmetric_matrix as symmetric_matrix
from twohot.theory.checks import target_rows as target_rows
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
from twohot.theory.guarantees import (
    Guarantee,
    NoiseTolerance,
    PredictionBound,
    Verdict,
    judge,
    noise_tolerated,
    prediction_bound,
    prediction_spread,
)
from twohot.theory.outputs import (
    BestMix,
    TypeOutputs,
    best_mix,
    evolving_outputs,
    mixed_outputs,
    outputs_by_round,
    type_outputs,
    unseen_outputs,
)
from twohot.theory.partial_labels import (
    PartialLabelCondition,
    PartialLabelGuarantee,
    candidate_targets,
    partial_label_condition,
    partial_label_guarantee,
    partial_label_outputs,
    printed_condition,
    sufficient_condition,
)
from twohot.theory.penalty import (
    PairLevels,
    l2_for_separation,
    largest_separation,
    log_separation_at,
    separation_at,
)
from twohot.theory.perturbed_gram import (
    AsymmetricRound,
    SubspaceShift,
    asymmetric_linear_rounds,
    asymmetric_softmax_rounds,
    davis_kahan,
    independent_perturbation,
    repair_gram,
    uniform_perturbation,
)
from twohot.theory.theorem_4_1 import (
    RoundsCondition,
    RoundsNeeded,
    Shrinkage,
    label_gaps,
    lemma_outputs,
    rounds_condition,
    rounds_needed,
    rounds_until_right,
    shrinkage,
)
from twohot.theory.theorem_4_1 import balanced_ridge as balanced_ridge
from twohot.theory.theorem_4_1 import outputs_table as outputs_table
from twohot.theory.theorem_4_1 import superclass_means as superclass_means

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
