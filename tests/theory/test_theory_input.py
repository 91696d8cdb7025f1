"""Bad input: a clear error each."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from twohot.theory import (
    ClassReduction,
    CorrelationModel,
    LabelAveraging,
    PairLevels,
    Shrinkage,
    average_labels,
    candidate_targets,
    case_1_outputs,
    case_2_outputs,
    case_3_outputs,
    case_5_outputs,
    davis_kahan,
    evolving_outputs,
    judge,
    lemma_outputs,
    noise_tolerated,
    outputs_by_round,
    partial_label_outputs,
    population_rounds,
    repair_gram,
    rounds_condition,
    rounds_needed,
    sample_coefficients,
    separation_at,
    shrinkage,
    shrinkage_factors,
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
    ("c below d", lambda: case_5(same_class=0.05), "same_class=0.05 and .* out of order"),
    ("c equal to d", lambda: case_5(same_class=0.1), "same_class=0.1 and .* out of order"),
    ("d below e", lambda: case_5(elsewhere=0.2), "elsewhere=0.2 are out of order: .*>= elsewhere"),
    ("1-c negative", lambda: case_5(same_class=1.1), "same_class=1.1 is not allowed: pass .* to 1"),
    ("1-c zero", lambda: case_5(same_class=1.0), "same_class=1.0 .* out of order: .* less than 1"),
    (
        "c of text",
        lambda: case_5(same_class="0.4"),
        "same_class='0.4' is not allowed: pass a number",
    ),
    ("c missing", lambda: case_5(same_class=None), "same_class=None is not allowed: pass a number"),
    ("c is NaN", lambda: case_5(same_class=np.nan), "same_class=nan is not allowed: pass a number"),
    ("n of text", lambda: case_5(n_per_class="many"), "n_per_class must hold real numbers"),
    ("n is NaN", lambda: case_5(n_per_class=np.nan), "n_per_class holds NaN"),
    (
        "named superclasses",
        lambda: case_5(superclass=["a", "a", "b"]),
        "<U1: pass 3 integers",
    ),
    ("ragged superclasses", lambda: case_5(superclass=[[0], [0, 1]]), "pass 2 integers in one"),
    ("no sample of class 1", lambda: case_5(n_per_class=[3, 0, 2]), "n_per_class .* class 1 has"),
    ("sizes of two classes", lambda: case_5(n_per_class=[3, 2]), "one number or 3 numbers"),
    (
        "hole in superclasses",
        lambda: case_5(superclass=[0, 0, 2]),
        "from 0 to 2: number them",
    ),
    (
        "superclasses from 1",
        lambda: case_5(superclass=[1, 1, 2]),
        "from 1 to 2: number them",
    ),
    (
        "fractional superclass",
        lambda: case_5(superclass=[0, 0.5, 1]),
        "superclass has .* dtype float64: pass 3 integers in one dimension",
    ),
    ("nested superclass", lambda: case_5(superclass=[[0, 0, 1]]), "3 integers in one dimension"),
    (
        "one class",
        lambda: CorrelationModel.case_1(n_classes=1, same_class=0.3, n_per_class=3),
        "n_classes=1 is not allowed: pass an integer of at least 2",
    ),
    (
        "one class, general",
        lambda: CorrelationModel.from_correlation([[0.4]], class_sizes=3),
        "at least 2 classes",
    ),
    (
        "class-wise c out of range",
        lambda: CorrelationModel.case_2(same_class=[0.2, -0.1], n_per_class=3),
        "same_class must lie between 0 and 1, .* class 1 has -0.1",
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
        r"corruption has a row that does not sum to one \(row 0: 0.9\)",
    ),
    (
        "negative C",
        lambda: type_outputs(MODEL, [[1.2, -0.2, 0], [0, 1, 0], [0, 0, 1]], l2=0.1, n_rounds=1),
        r"corruption\[0, 1\]=-0.2 is not a probability",
    ),
    (
        "C of two classes",
        lambda: type_outputs(MODEL, np.eye(2), l2=0.1, n_rounds=1),
        "corruption has 2 rows for 3 classes",
    ),
    ("C of one class", lambda: rounds_needed([[1.0]], separation=2.0), "at least 2 classes"),
    (
        "C a vector",
        lambda: type_outputs(MODEL, [1, 0, 0], l2=0.1, n_rounds=1),
        r"corruption has shape \(3,\): pass a square matrix",
    ),
    (
        "negative t",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=-1),
        "n_rounds=-1 is not allowed: pass an integer of at least 0",
    ),
    (
        "fractional t",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=1.5),
        "n_rounds=1.5 is not allowed: pass an integer of at least 0",
    ),
    (
        "boolean t",
        lambda: outputs_by_round(MODEL, CLEAN, l2=0.1, n_rounds=True),
        "n_rounds=True is not allowed: pass an integer of at least 0",
    ),
    (
        "unseen samples at t = 0",
        lambda: unseen_outputs(MODEL, CLEAN, l2=0.1, n_rounds=0),
        "n_rounds=0 is not allowed: pass an integer of at least 1",
    ),
    (
        "fractional t, exact",
        lambda: population_rounds(MODEL, CLEAN, l2=0.1, n_rounds=0.5),
        "n_rounds=0.5 is not allowed: pass an integer of at least 0",
    ),
    (
        "l2 of zero",
        lambda: type_outputs(MODEL, CLEAN, l2=0.0, n_rounds=1),
        "l2=0.0 is not allowed: pass a positive",
    ),
    (
        "l2 of zero, exact",
        lambda: softmax_rounds(LabelAveraging.from_gram(GRAM), LABELS, l2=-1.0, n_rounds=1),
        "l2=-1.0 is not allowed: pass a positive",
    ),
    (
        "l2 of infinity",
        lambda: population_rounds(MODEL, CLEAN, l2=np.inf, n_rounds=1),
        "l2=inf is not allowed: pass a positive",
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
        "n_candidates=0 is not allowed: pass an integer of at least 1",
    ),
    (
        "more candidates than classes",
        lambda: partial_label_outputs(MODEL, CLEAN, l2=0.1, n_candidates=4),
        "n_candidates=4 is more than the 3 classes: pass at most 3",
    ),
    (
        "unknown rule for ties",
        lambda: candidate_targets([0.5, 0.5], ties="random"),
        "ties='random' is not known: pass one of 'spread', 'lowest'",
    ),
    (
        "Gram matrix not square",
        lambda: repair_gram([[1, 0]]),
        r"gram must be square, got shape \(1, 2\)",
    ),
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
        "same_superclass=-0.1 and elsewhere=0.0 are out of order",
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
        r"targets must have 3 rows, one a sample, .* got shape \(2, 2\)",
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
        "temperature=0.0 is not allowed: pass a positive",
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
        "separation=1.0 is not allowed: pass a q/p above 1",
    ),
    (
        "penalty for levels out of order",
        lambda: PairLevels(n_classes=3, n_per_class=5, same_class=0.1, same_superclass=0.2),
        "same_class=0.1 and .* out of order: .* same_class > same_superclass",
    ),
    (
        "superclasses of other classes",
        lambda: PairLevels.of_model(MODEL, superclass=[0, 0]),
        r"superclass has shape \(2,\) .* pass 3 integers",
    ),
    (
        "every class alone",
        lambda: PairLevels.of_model(MODEL, superclass=[0, 1, 2]),
        "at least one superclass of two classes",
    ),
    (
        "ragged correlation",
        lambda: CorrelationModel.from_correlation([[0.4, 0.1], [0.1]], class_sizes=3),
        "correlation must hold real numbers in rows of equal length",
    ),
    (
        "complex correlation",
        lambda: CorrelationModel.from_correlation(np.eye(2) * 0.3j, class_sizes=3),
        "correlation must hold real numbers",
    ),
    ("sizes of text", lambda: MODEL.with_class_sizes("a"), "class_sizes must hold real numbers"),
    (
        "C of text",
        lambda: type_outputs(MODEL, "symmetric", l2=0.1, n_rounds=1),
        "corruption has dtype <U9: pass real numbers",
    ),
    (
        "C transposed",
        lambda: type_outputs(
            MODEL, np.array([[1, 0, 0], [0.3, 0.7, 0], [0, 0.3, 0.7]]).T, l2=0.1, n_rounds=1
        ),
        r"sum to one \(row 0: 1.3\): row k holds the shares of true class k; .* or transpose",
    ),
    (
        "C a number",
        lambda: case_3_outputs(
            3, same_class=0.4, same_superclass=0.1, n_per_class=5, l2=0.1, n_rounds=1
        ),
        r"corruption has shape \(\): pass a square matrix",
    ),
    (
        "l2 of text",
        lambda: type_outputs(MODEL, CLEAN, l2="x", n_rounds=1),
        "l2='x' is not allowed: pass a positive",
    ),
    (
        "l2 per round",
        lambda: type_outputs(MODEL, CLEAN, l2=np.array([0.1, 0.2]), n_rounds=1),
        "l2=array.* is not allowed: pass a positive",
    ),
    (
        "t a list",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=[1, 2]),
        r"n_rounds=\[1, 2\] is not allowed: pass an integer of at least 0",
    ),
    (
        "negative ridge",
        lambda: shrinkage_factors([1.0], ridge=-1.0),
        "ridge=-1.0 is not allowed: pass a positive",
    ),
    ("ridge at t = 0", lambda: LabelAveraging.from_gram(GRAM).matrix(ridge=0, n_rounds=0), "ridge"),
    (
        "negative eigenvalues",
        lambda: shrinkage_factors([1.0, -2.0], ridge=2.0),
        "eigenvalues are those of no Gram matrix: it has the eigenvalue -2",
    ),
    ("NaN outputs", lambda: candidate_targets([0.5, np.nan]), "outputs holds NaN"),
    ("one output", lambda: candidate_targets(0.5), "outputs must have one number per class"),
    (
        "label below zero",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=1).of([-1], [0]),
        r"true_labels\[0\]=-1 .* pass integers from 0 to 2",
    ),
    (
        "label beyond the classes",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=1).of([0], [3]),
        r"given_labels\[0\]=3 .* pass integers from 0 to 2",
    ),
    (
        "labels of other samples",
        lambda: type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=1).of([0, 1], [0]),
        r"given_labels has shape \(1,\) .*: pass 2 integers",
    ),
    (
        "closed form with 1-c negative",
        lambda: case_1_outputs(CLEAN, same_class=1.5, n_per_class=5, l2=0.1, n_rounds=1),
        "same_class=1.5 is not allowed: pass a number from 0 to 1",
    ),
    (
        "closed form that is not PSD",
        lambda: case_5_outputs(
            CLEAN,
            superclass=[0, 0, 1],
            same_class=0.4,
            same_superclass=0.1,
            elsewhere=-0.9,
            n_per_class=5,
            l2=0.1,
            n_rounds=1,
        ),
        "Gram matrix of these correlations is not positive semidefinite",
    ),
    (
        "shrinkage that is not PSD",
        lambda: shrinkage(
            superclass=[0, 0, 0], same_class=0.4, same_superclass=-0.3, n_per_class=50, l2=0.1
        ),
        "Gram matrix of these correlations is not positive semidefinite",
    ),
    (
        "superclasses of another C",
        lambda: lemma_outputs(CLEAN, superclass=[0, 0], kept=KEPT),
        r"superclass has shape \(2,\) .* pass 3 integers",
    ),
    (
        "shrinkage of other superclasses",
        lambda: lemma_outputs(CLEAN, superclass=[0, 0, 1], kept=KEPT),
        r"kept is of 1 superclass\(es\), superclass lists 2",
    ),
    ("product of nothing", lambda: Shrinkage.product([]), "rounds must hold one Shrinkage or more"),
    (
        "targets as labels",
        lambda: average_labels(GRAM, [0, 1, 1], l2=0.1, n_rounds=1),
        r"use np.eye\(n_classes\)\[labels\]",
    ),
    (
        "targets of one class",
        lambda: average_labels(GRAM, np.ones((3, 1)), l2=0.1, n_rounds=1),
        r"2 classes or more, got shape \(3, 1\)",
    ),
    (
        "no samples",
        lambda: LabelAveraging.from_gram(np.zeros((0, 0))),
        r"gram must have 2 dimension.* and a sample, got \(0, 0\)",
    ),
    (
        "no features",
        lambda: LabelAveraging.from_features(np.zeros((3, 0))),
        r"features .* got \(3, 0\)",
    ),
    (
        "no Newton steps",
        lambda: population_rounds(MODEL, CLEAN, l2=0.1, n_rounds=1, max_steps=0),
        "max_steps=0 is not allowed: pass an integer of at least 1",
    ),
    (
        "reduction of other classes",
        lambda: ClassReduction(MODEL, l2=0.1).class_means(np.eye(2)),
        "deviations must have 3 rows, got 2",
    ),
    (
        "reduction at a fractional t",
        lambda: ClassReduction(MODEL, l2=0.1).class_means(np.eye(3), n_rounds=0.5),
        "n_rounds=0.5 is not allowed: pass an integer of at least 0",
    ),
    (
        "separation of text",
        lambda: rounds_needed(CLEAN, separation="2"),
        "separation='2' is not allowed: pass a positive",
    ),
    (
        "norm of zero",
        lambda: PairLevels(3, 5, 0.4, 0.1, squared_norm=0.0),
        "squared_norm=0.0 is not allowed: pass a positive",
    ),
    (
        "shrinkage without samples",
        lambda: shrinkage(
            superclass=[0, 0], same_class=0.3, same_superclass=0.1, n_per_class=0, l2=0.1
        ),
        "n_per_class=0 is not allowed: pass a positive",
    ),
]


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[c[0] for c in BAD])
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


CONFUSED: list[tuple[str, Callable[[], object], str]] = [
    (
        "matrix for a model",
        lambda: type_outputs(np.eye(3), CLEAN, l2=0.1, n_rounds=1),
        "model must be a CorrelationModel, got ndarray; build one with CorrelationModel.case_1",
    ),
    (
        "matrix for a model, exact",
        lambda: population_rounds(np.eye(3), CLEAN, l2=0.1, n_rounds=1),
        "model must be a CorrelationModel",
    ),
    (
        "model for its levels",
        lambda: separation_at(MODEL, l2=0.1),
        "levels must be a PairLevels, got CorrelationModel; .* PairLevels.of_model",
    ),
    (
        "Gram matrix for its averaging",
        lambda: softmax_rounds(GRAM, LABELS, l2=0.1, n_rounds=1),
        "averaging must be a LabelAveraging, got ndarray; .* LabelAveraging.from_gram",
    ),
    ("one model", lambda: evolving_outputs(MODEL, CLEAN, l2=0.1), "pass a list of one model"),
    ("array to judge", lambda: judge(np.eye(3)), "predicted must be a TypeOutputs, got ndarray"),
    (
        "matrix for a function of the rate",
        lambda: noise_tolerated(CLEAN, partial(type_outputs, MODEL, l2=0.1, n_rounds=1)),
        "corruption_at must be a Callable, got ndarray; pass a function of the rate",
    ),
    (
        "all rounds for one",
        lambda: noise_tolerated(
            lambda _: CLEAN, partial(outputs_by_round, MODEL, l2=0.1, n_rounds=2)
        ),
        "predicted must be a TypeOutputs, got list",
    ),
]


@pytest.mark.parametrize(
    ("call", "message"), [case[1:] for case in CONFUSED], ids=[c[0] for c in CONFUSED]
)
def test_one_thing_for_another_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_rows_written_with_few_digits_are_taken() -> None:
    third = 0.3333333
    predicted = type_outputs(MODEL, np.full((3, 3), third), l2=0.1, n_rounds=1)
    np.testing.assert_allclose(predicted.corruption.sum(axis=1), 1, atol=1e-15)
