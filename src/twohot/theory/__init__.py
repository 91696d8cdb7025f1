"""Predict every round of self-distillation by formulas, and decide when the predictions are right.

In self-distillation, a classifier is trained on the given labels (round 1, the *teacher*). In every
later round, a *student* is trained on the outputs of the round before. The formulas are those of
the paper "Rethinking Self-Distillation" (ICLR 2025), corrected where they are wrong.

Most functions need a few numbers that describe a dataset, not the dataset itself. They compute

* the outputs of a round;
* the number of rounds until every training sample is predicted correctly;
* the noise rate up to which every training sample is predicted correctly;
* the penalty for a chosen separation q/p, which is defined in `closed_forms`;
* the difference between the linear theory and the exact softmax.

`docs/theory.md` lists the function that computes each formula of the paper. Theorem 4.1 is in the
module `theorem_4_1`, and Theorem 5.1 is in `partial_labels`.
"""

from twohot.theory.averaging import (
    ClassReduction,
    LabelAveraging,
    average_labels,
    sample_coefficients,
    shrinkage_factors,
)
from twohot.theory.closed_forms import (
    PairLevels,
    Shrinkage,
    case_1_outputs,
    case_2_outputs,
    case_3_outputs,
    case_4_outputs,
    case_5_outputs,
    l2_for_separation,
    largest_separation,
    lemma_outputs,
    log_separation_at,
    separation_at,
    shrinkage,
)
from twohot.theory.correlation_models import (
    CorrelationModel,
    Spectrum,
    SubspaceShift,
    davis_kahan,
    repair_gram,
)
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
    "BestMix",
    "ClassReduction",
    "CorrelationModel",
    "Guarantee",
    "LabelAveraging",
    "NoiseTolerance",
    "PairLevels",
    "PartialLabelCondition",
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
    "partial_label_outputs",
    "population_partial_labels",
    "population_rounds",
    "prediction_bound",
    "prediction_spread",
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
    "type_outputs",
    "unseen_outputs",
]
