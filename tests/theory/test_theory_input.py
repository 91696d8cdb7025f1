"""Bad input: a clear error each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from twohot.theory import (
    CorrelationModel,
    LabelAveraging,
    PairLevels,
    average_labels,
    candidate_targets,
    case_2_outputs,
    davis_kahan,
    evolving_outputs,
    l2_for_separation,
    outputs_by_round,
    partial_label_outputs,
    population_rounds,
    repair_gram,
    rounds_condition,
    rounds_needed,
    sample_coefficients,
    shrinkage,
    softmax_rounds,
    sufficient_condition,
    type_outputs,
    unseen_outputs,
)

MODEL = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=10)
CLEAN = np.eye(3)
GRAM = np.eye(3)
LABELS = np.eye(2)[[0, 1, 1]]
KEPT = shrinkage(superclass=[0, 0, 0], same_class=0.4, same_superclass=0.1, n_per_class=9, l2=0.1)


def case_5(**changed: Any) -> CorrelationModel:
    known = {
        "superclass": [0, 0, 1],
        "same_class": 0.4,
        "same_superclass": 0.1,
        "elsewhere": 0.0,
        "n_per_class": 10,
    }
    return CorrelationModel.case_5(**{**known, **changed})


BAD: list[tuple[str, Callable[[], object], str]] = [
    ("c below d", lambda: case_5(same_class=0.05), "same_class must be above same_superclass"),
    ("c equal to d", lambda: case_5(same_class=0.1), "same_class must be above same_superclass"),
    ("d below e", lambda: case_5(elsewhere=0.2), "same_superclass must be at least elsewhere"),
    ("1-c negative", lambda: case_5(same_class=1.1), "same_class must be below 1.* -0.1"),
    ("1-c zero", lambda: case_5(same_class=1.0), "same_class must be below 1"),
    ("no sample of class 1", lambda: case_5(n_per_class=[3, 0, 2]), "class 1 has size 0"),
    ("sizes of two classes", lambda: case_5(n_per_class=[3, 2]), "one number or 3 numbers"),
    ("hole in superclasses", lambda: case_5(superclass=[0, 0, 2]), r"uses \[0, 2\]; renumber"),
    ("superclasses from 1", lambda: case_5(superclass=[1, 1, 2]), r"uses \[1, 2\]; renumber"),
    ("fractional superclass", lambda: case_5(superclass=[0, 0.5, 1]), "whole numbers, got dtype"),
    ("nested superclass", lambda: case_5(superclass=[[0, 0, 1]]), "one superclass per class"),
    (
        "one class",
        lambda: CorrelationModel.case_1(n_classes=1, same_class=0.3, n_per_class=3),
        "n_classes must be a whole number of at least 2, got 1",
    ),
    (
        "one class, general",
        lambda: CorrelationModel.from_correlation([[0.4]], class_sizes=3),
        "at least 2 classes",
    ),
    (
        "class-wise c out of range",
        lambda: CorrelationModel.case_2(same_class=[0.2, -0.1], n_per_class=3),
        "same_class must be above same_superclass, got -0.1",
    ),
    (
        "asymmetric correlation",
        lambda: CorrelationModel.from_correlation([[0.4, 0.1], [0.2, 0.4]], class_sizes=3),
        "correlation must be symmetric, but it differs from its transpose by up to 0.1",
    ),
    (
        "NaN in the correlation",
        lambda: CorrelationModel.from_correlation([[0.4, np.nan], [np.nan, 0.4]], class_sizes=3),
        "correlation holds NaN or infinite values",
    ),
    (
        "correlation not PSD",
        lambda: CorrelationModel.from_correlation([[0.2, 0.5], [0.5, 0.2]], class_sizes=50),
        "Gram matrix of this correlation is not positive semidefinite",
    ),
    (
        "fractional samples listed",
        lambda: MODEL.with_class_sizes(2.5).gram(),
        "class_sizes must be whole numbers to list samples",
    ),
    (
        "rows of C",
        lambda: type_outputs(MODEL, CLEAN * 0.9, l2=0.1, n_rounds=1),
        "rows of corruption must sum to 1 .* row 0 sums to 0.9",
    ),
    (
        "negative C",
        lambda: type_outputs(MODEL, [[1.2, -0.2, 0], [0, 1, 0], [0, 0, 1]], l2=0.1, n_rounds=1),
        r"entry \[0, 1\] is -0.2",
    ),
    (
        "C of two classes",
        lambda: type_outputs(MODEL, np.eye(2), l2=0.1, n_rounds=1),
        r"corruption must have shape \(3, 3\), got \(2, 2\)",
    ),
    ("C of one class", lambda: rounds_needed([[1.0]], separation=2.0), "at least 2 classes"),
    (
        "C a vector",
        lambda: type_outputs(MODEL, [1, 0, 0], l2=0.1, n_rounds=1),
        "corruption must have 2 dimension",
    ),
    (
        "negative t",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=-1),
        "n_rounds must be a whole number of at least 0, got -1. Round 0 is the given labels",
    ),
    (
        "fractional t",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=1.5),
        "n_rounds must be a whole number of at least 0, got 1.5",
    ),
    (
        "boolean t",
        lambda: outputs_by_round(MODEL, CLEAN, l2=0.1, n_rounds=True),
        "n_rounds must be a whole number of at least 0, got True",
    ),
    (
        "unseen samples at t = 0",
        lambda: unseen_outputs(MODEL, CLEAN, l2=0.1, n_rounds=0),
        "n_rounds must be a whole number of at least 1, got 0",
    ),
    (
        "fractional t, exact",
        lambda: population_rounds(MODEL, CLEAN, l2=0.1, n_rounds=0.5),
        "n_rounds must be a whole number",
    ),
    (
        "l2 of zero",
        lambda: type_outputs(MODEL, CLEAN, l2=0.0, n_rounds=1),
        "l2 must be a finite number above 0, got 0.0",
    ),
    (
        "l2 of zero, exact",
        lambda: softmax_rounds(LabelAveraging.from_gram(GRAM), LABELS, l2=-1.0, n_rounds=1),
        "l2 must be a finite number above 0, got -1.0",
    ),
    (
        "l2 of infinity",
        lambda: population_rounds(MODEL, CLEAN, l2=np.inf, n_rounds=1),
        "l2 must be a finite number above 0, got inf",
    ),
    ("no rounds to evolve", lambda: evolving_outputs([], CLEAN, l2=0.1), "one model per round"),
    (
        "samples change with the round",
        lambda: evolving_outputs([MODEL, MODEL.with_class_sizes(9)], CLEAN, l2=0.1),
        "models must agree in class_sizes",
    ),
    (
        "no candidates",
        lambda: partial_label_outputs(MODEL, CLEAN, l2=0.1, n_candidates=0),
        "n_candidates must be a whole number of at least 1, got 0",
    ),
    (
        "more candidates than classes",
        lambda: partial_label_outputs(MODEL, CLEAN, l2=0.1, n_candidates=4),
        r"n_candidates must be at most 3 \(classes\), got 4",
    ),
    (
        "unknown rule for ties",
        lambda: candidate_targets([0.5, 0.5], ties="random"),
        r"ties must be one of \('spread', 'lowest'\), got 'random'",
    ),
    ("Gram matrix not square", lambda: repair_gram([[1, 0]]), r"gram must have shape \(1, 1\)"),
    (
        "Gram matrix not PSD",
        lambda: LabelAveraging.from_gram([[1, 2], [2, 1]]),
        r"not positive semidefinite \(repair it with repair_gram\): it has the eigenvalue -1",
    ),
    (
        "Gram matrix not PSD, inverse form",
        lambda: average_labels([[1, 2], [2, 1]], np.eye(2), l2=9.0, n_rounds=1),
        "gram is not positive semidefinite",
    ),
    (
        "spectrum of half a sample",
        lambda: MODEL.with_class_sizes(2.5).spectrum().values(),
        "class_sizes must be whole numbers to list samples",
    ),
    (
        "d below zero between superclasses",
        lambda: CorrelationModel.case_4(
            superclass=[0, 0, 1], same_class=0.4, same_superclass=-0.1, n_per_class=5
        ),
        "same_superclass must be at least elsewhere, got -0.1 and 0",
    ),
    (
        "norms of two classes",
        lambda: CorrelationModel.from_correlation(
            0.3 * np.eye(3), class_sizes=3, squared_norms=[1, 1]
        ),
        "squared_norms must be one number or 3 numbers",
    ),
    (
        "infinite norms",
        lambda: CorrelationModel.from_correlation(
            0.3 * np.eye(3), class_sizes=3, squared_norms=np.inf
        ),
        "squared_norms holds NaN or infinite",
    ),
    (
        "correlations of two classes",
        lambda: case_2_outputs(CLEAN, same_class=[0.1, 0.2], n_per_class=5, l2=0.1, n_rounds=1),
        "same_class must be one number or 3 numbers",
    ),
    (
        "unseen samples with other features",
        lambda: LabelAveraging.from_features(np.eye(3)).unseen_outputs(
            [[1.0, 0.0]], LABELS, l2=0.1, n_rounds=1
        ),
        "features must have 3 columns, got 2",
    ),
    (
        "sufficient condition on unbalanced labels",
        lambda: sufficient_condition(
            [[1.0, 0, 0], [0.2, 0.8, 0], [0, 0, 1]], superclass=[0, 0, 0], kept=KEPT
        ),
        "use partial_label_guarantee, which is exact for any",
    ),
    (
        "nothing left to repair",
        lambda: repair_gram([[-1.0, 0.0], [0.0, 1.0]]),
        "gram cannot be repaired: sample 0",
    ),
    (
        "targets of other samples",
        lambda: average_labels(GRAM, np.eye(2), l2=0.1, n_rounds=1),
        "targets must have 3 rows, one a sample, got 2",
    ),
    (
        "targets that are no labels",
        lambda: average_labels(GRAM, 2 * LABELS, l2=0.1, n_rounds=1),
        "rows of targets must sum to 1",
    ),
    (
        "unseen samples without features",
        lambda: LabelAveraging.from_gram(GRAM).coef(LABELS, l2=0.1, n_rounds=1),
        "build with from_features",
    ),
    (
        "outputs of another fit",
        lambda: sample_coefficients(LABELS, LABELS[:2], l2=0.1),
        "targets and outputs differ in shape",
    ),
    (
        "temperature of zero",
        lambda: sample_coefficients(LABELS, LABELS, l2=0.1, temperature=0.0),
        "temperature must be a finite number above 0",
    ),
    (
        "two Gram matrices of different size",
        lambda: davis_kahan(np.eye(3), np.eye(2), n_leading=1),
        "gram and perturbed differ in shape",
    ),
    (
        "all eigenvectors leading",
        lambda: davis_kahan(np.eye(3), np.eye(3), n_leading=3),
        "n_leading must be below the matrix size 3, got 3",
    ),
    (
        "separation of one",
        lambda: rounds_condition(CLEAN, separation=1.0, n_rounds=1),
        r"separation \(q/p\) must be a finite number above 1, got 1.0",
    ),
    (
        "penalty for levels out of order",
        lambda: l2_for_separation(
            2.0, PairLevels(n_classes=3, n_per_class=5, same_class=0.1, same_superclass=0.2)
        ),
        "same_class must be above same_superclass",
    ),
    (
        "superclasses of other classes",
        lambda: PairLevels.of_model(MODEL, superclass=[0, 0]),
        "superclass must list 3 classes, got 2",
    ),
    (
        "every class alone",
        lambda: PairLevels.of_model(MODEL, superclass=[0, 1, 2]),
        "at least one superclass of two classes",
    ),
    (
        "shrinkage without samples",
        lambda: shrinkage(
            superclass=[0, 0], same_class=0.3, same_superclass=0.1, n_per_class=0, l2=0.1
        ),
        "n_per_class must be a finite number above 0, got 0",
    ),
]


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[c[0] for c in BAD])
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_rows_written_with_few_digits_are_taken() -> None:
    third = 0.3333333
    predicted = type_outputs(MODEL, np.full((3, 3), third), l2=0.1, n_rounds=1)
    np.testing.assert_allclose(predicted.corruption.sum(axis=1), 1, atol=1e-15)
