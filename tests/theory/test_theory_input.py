"""Error messages for bad input, from a table of calls and tables of rejected arguments."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import twohot.theory

CorrelationModel, LabelAveraging = twohot.theory.CorrelationModel, twohot.theory.LabelAveraging
type_outputs = twohot.theory.type_outputs

CLEAN, GRAM = np.eye(3), np.eye(3)
LABELS = np.eye(2)[[0, 1, 1]]
LEVELS = {"same_class": 0.4, "same_superclass": 0.1, "n_per_class": 5}
GROUPS: dict[str, Any] = {**LEVELS, "superclass": [0, 0, 1]}
# Objects whose methods are called.
MODEL = CorrelationModel.case_1(n_classes=3, same_class=0.3, n_per_class=10)
HALF_SAMPLES = MODEL.with_class_sizes(2.5)
KEPT = twohot.theory.shrinkage(**{**GROUPS, "superclass": [0, 0, 0]}, l2=0.1)
TWO_SUPERCLASSES = twohot.theory.shrinkage(**GROUPS, l2=0.1)
BY_GRAM, BY_FEATURES = LabelAveraging.from_gram(GRAM), LabelAveraging.from_features(GRAM)
OUTPUTS = type_outputs(MODEL, CLEAN, l2=0.1, n_rounds=1)
REDUCTION = twohot.theory.ClassReduction(MODEL, l2=0.1)
SPECTRUM = HALF_SAMPLES.spectrum()

# A call of each function that is right, of which one argument is then changed.
PREDICTION = {"model": MODEL, "corruption": CLEAN, "l2": 0.1}
ROUNDS = {**PREDICTION, "n_rounds": 1}
FIT = {"targets": LABELS, "l2": 0.1, "n_rounds": 1}
CLOSED = {"corruption": CLEAN, "l2": 0.1, "n_rounds": 1}
ROWS = {"features": np.tile(CLEAN, (4, 1)), "true_labels": [0, 1, 2] * 4}
ALIKE: list[tuple[str, dict[str, Any]]] = [
    ("type_outputs outputs_by_round unseen_outputs population_rounds softmax_error", ROUNDS),
    ("partial_label_outputs partial_label_condition population_partial_labels", PREDICTION),
    ("best_mix rounds_until_right", PREDICTION),
    ("ClassReduction", {"model": MODEL, "l2": 0.1}),
    ("mixed_outputs", {**ROUNDS, "mix": 0.5}),
    ("prediction_bound", {**ROUNDS, "within_norm": 0.1}),
    ("prediction_spread", {**CLOSED, **ROWS}),
    ("evolving_outputs", {"models": [MODEL], "corruption": CLEAN, "l2": 0.1}),
    ("case_1_outputs", {**CLOSED, "same_class": 0.4, "n_per_class": 5}),
    ("case_2_outputs", {**CLOSED, "same_class": [0.1, 0.2, 0.3], "n_per_class": 5}),
    ("case_3_outputs", {**CLOSED, **LEVELS}),
    ("case_4_outputs", {**CLOSED, **GROUPS}),
    ("case_5_outputs", {**CLOSED, **GROUPS, "elsewhere": 0.0}),
    ("CorrelationModel.case_1", {"n_classes": 3, "same_class": 0.4, "n_per_class": 5}),
    ("CorrelationModel.case_2", {"same_class": [0.2, 0.3], "n_per_class": 3}),
    ("CorrelationModel.case_3 PairLevels", {**LEVELS, "n_classes": 3}),
    ("CorrelationModel.case_4", GROUPS),
    ("CorrelationModel.case_5", {**GROUPS, "elsewhere": 0.0}),
    ("CorrelationModel.from_correlation", {"correlation": 0.3 * np.eye(3), "class_sizes": 3}),
    ("PairLevels.of_model", {"model": MODEL, "superclass": [0, 0, 1]}),
    ("shrinkage", {**GROUPS, "l2": 0.1}),
    ("lemma_outputs", {"corruption": CLEAN, "superclass": [0, 0, 0], "kept": KEPT}),
    ("rounds_condition", {"corruption": CLEAN, "separation": 2.0, "n_rounds": 1}),
    ("rounds_needed", {"corruption": CLEAN, "separation": 2.0}),
    ("average_labels", {**FIT, "gram": GRAM}),
    ("softmax_rounds", {**FIT, "averaging": BY_GRAM}),
    ("BY_GRAM.outputs BY_FEATURES.coef", FIT),
    ("BY_FEATURES.unseen_outputs", {**FIT, "features": np.eye(3)}),
    ("BY_GRAM.matrix", {"ridge": 1.0, "n_rounds": 1}),
    ("REDUCTION.class_means", {"deviations": CLEAN, "n_rounds": 1}),
    ("shrinkage_factors", {"eigenvalues": [1.0], "ridge": 1.0, "n_rounds": 1}),
    ("sample_coefficients", {"targets": LABELS, "outputs": LABELS, "l2": 0.1}),
    ("candidate_targets", {"outputs": [0.5, 0.5]}),
    ("davis_kahan", {"gram": GRAM, "perturbed": GRAM, "n_leading": 1}),
    ("repair_gram", {"gram": GRAM}),
    ("OUTPUTS.of", {"true_labels": [0], "given_labels": [0]}),
]
CALLS = {name: known for names, known in ALIKE for name in names.split()}

# What every function refuses that has the argument.
TWO_BY_HALF = np.array([[1, 0, 0], [0.3, 0.7, 0], [0, 0.3, 0.7]]).T
REFUSED: dict[str, list[tuple[Any, str]]] = {
    "l2": [
        *((l2, "is not allowed: pass a positive") for l2 in (0.0, -1.0, np.inf, np.nan, "x")),
        (np.array([0.1, 0.2]), "l2=array.* is not allowed: pass a positive"),
        *((l2, "l2=.* out of range: pass .* from 1e-60 to 1e.60") for l2 in (1e-70, 1e200)),
    ],
    "ridge": [(0.0, "ridge=0.0 is not allowed: pass a positive"), (-1.0, "ridge=-1.0")],
    "n_rounds": [
        *((t, "is not allowed: pass an integer of at least") for t in (-1, 1.5, True, [1, 2])),
        *((t, "n_rounds=.* out of range: pass at most 10..15") for t in (10**16, 10**400)),
    ],
    "n_per_class": [(1e300, "=1e.300 is out of range: pass a number from 1e-60 to 1e.60")],
    "class_sizes": [(1e300, "=1e.300 is out of range: pass a number from 1e-60 to 1e.60")],
    "corruption": [
        (CLEAN * 0.9, r"corruption has a row that does not sum to one \(row 0: 0.9\)"),
        (TWO_BY_HALF, r"sum to one \(row 0: 1.3\): divide each row .* transpose"),
        ([[1.2, -0.2, 0], [0, 1, 0], [0, 0, 1]], r"corruption\[0, 1\]=-0.2 is not a probability"),
        ([1, 0, 0], r"corruption has shape \(3,\): pass a square matrix"),
        (3, r"corruption has shape \(\): pass a square matrix"),
        ([[1.0]], "at least 2 classes|corruption has 1 row for 3|true_labels.*=1"),
        ("symmetric", "corruption has dtype <U9: pass real numbers"),
    ],
    "superclass": [
        (["a", "a", "b"], "<U1: pass 3 integers"),
        ([[0], [0, 1]], "pass [23] integers in one"),
        ([0, 0, 2], "from 0 to 2: number them"),
        ([1, 1, 2], "from 1 to 2: number them"),
        ([0, 0.5, 1], "superclass has .* dtype float64: pass 3 integers in one dimension"),
        ([[0, 0, 1]], "3 integers in one dimension"),
    ],
    "same_superclass": [
        *((d, "=0.. .* out of order: .* same_class > same_superclass") for d in (0.4, 0.5)),
        *((d, "same_superclass=.* not allowed: pass a number") for d in ("0.1", None, np.nan)),
    ],
    "elsewhere": [(0.2, "elsewhere=0.2 are out of order: .*>= elsewhere")],
    "targets": [
        (
            np.eye(2),
            r"targets must have 3 rows, one per sample, .* have shape \(2, 2\)|the same sha",
        ),
        ([0, 1, 1], r"pass np.eye\(n_classes\)\[labels\]|targets must have 2 dimension"),
    ],
    "gram": [
        ([[1, 0]], r"gram must be square, got shape \(1, 2\)"),
        (
            np.zeros((0, 0)),
            r"gram must have 2 dimension.* at least one entry, but has shape \(0, 0\)",
        ),
    ],
    "separation": [
        (1.0, "separation=1.0 is not allowed: pass a separation q/p above 1"),
        ("2", "separation='2' is not allowed: pass a positive"),
    ],
    "n_classes": [(1, "n_classes=1 is not allowed: pass an integer of at least 2")],
}

# What one function refuses.
MORE: dict[str, list[tuple[dict[str, Any], str]]] = {
    "CorrelationModel.case_5": [
        ({"same_class": 1.1}, "same_class=1.1 is not allowed: pass .* to 1"),
        ({"same_class": 1.0}, "same_class=1.0 .* of order: pass .* 1 > same_class"),
        ({"n_per_class": "many"}, "n_per_class must contain real numbers"),
        ({"n_per_class": np.nan}, "n_per_class contains NaN"),
        (
            {"n_per_class": [3, 0, 2]},
            "n_per_class must be above 0, but class 1 has 0; leave out empty",
        ),
        ({"n_per_class": [3, 2]}, "one number or 3 numbers"),
    ],
    "CorrelationModel.case_4": [
        ({"same_superclass": -0.1}, "=-0.1 and elsewhere=0.0 are out of order")
    ],
    "CorrelationModel.case_2": [
        ({"same_class": [0.2, -0.1]}, "above 0 and below 1, but class 1 has -0.1")
    ],
    "CorrelationModel.from_correlation": [
        ({"correlation": [[0.4]]}, "at least 2 classes"),
        ({"correlation": [[0.4, 0.1], [0.2, 0.4]]}, "symmetric, .* its transpose by up to 0.1"),
        ({"correlation": [[0.4, np.nan]] * 2}, "correlation contains NaN; remove"),
        ({"correlation": [[0.2, 0.5], [0.5, 0.2]], "class_sizes": 50}, "correlation is not pos"),
        ({"correlation": np.diag([0.3, 1.2])}, r"must not exceed squared_norms\[1\] = 1"),
        ({"correlation": [[0.4, 0.1], [0.1]]}, "real numbers in rows of equal length"),
        ({"correlation": np.eye(2) * 0.3j}, "correlation must contain real numbers"),
        ({"squared_norms": [1, 1]}, "squared_norms must be one number or 3 numbers"),
        ({"squared_norms": np.inf}, "squared_norms contains infinite values"),
    ],
    "MODEL.with_class_sizes": [({"class_sizes": "a"}, "class_sizes must contain real numbers")],
    "HALF_SAMPLES.gram": [({}, "class_sizes must be whole numbers, because")],
    "SPECTRUM.values": [({}, "class_sizes must be whole numbers, because")],
    "PairLevels": [({"squared_norm": 0.0}, "squared_norm=0.0 is not allowed: pass a positive")],
    "PairLevels.of_model": [
        ({"superclass": [0, 0]}, r"superclass has shape \(2,\) .* pass 3 integers"),
        ({"superclass": [0, 1, 2]}, "superclass must give two classes the same number"),
    ],
    "case_1_outputs": [({"same_class": 1.5}, "same_class=1.5 is not allowed: .* from 0 to 1")],
    "case_2_outputs": [({"same_class": [0.1, 0.2]}, "same_class must be one number or 3")],
    "case_5_outputs": [({"elsewhere": -0.9}, "these correlations is not positive semidefinite")],
    "shrinkage": [
        ({"n_per_class": 0}, "n_per_class=0 is not allowed: pass a positive"),
        (
            {"superclass": [0, 0, 0], "same_superclass": -0.3, "n_per_class": 50},
            "these correlations is not positive semidefinite",
        ),
    ],
    "lemma_outputs": [
        ({"superclass": [0, 0]}, r"superclass has shape \(2,\) .* pass 3 integers"),
        ({"superclass": [0, 0, 1]}, r"kept has 1 superclass\(es\), but superclass lists 2"),
    ],
    "Shrinkage.product": [
        ({"rounds": []}, "rounds must hold one Shrinkage per round, .* got no rounds"),
        ({"rounds": [KEPT, TWO_SUPERCLASSES]}, r"number of superclasses, got the numbers \[1, 2\]"),
    ],
    "type_outputs": [({"corruption": np.eye(2)}, "corruption has 2 rows for 3 classes")],
    "unseen_outputs": [({"n_rounds": 0}, "n_rounds=0 is not allowed: .* at least 1")],
    "evolving_outputs": [
        ({"models": []}, "models is empty; pass a list with one model per round"),
        ({"models": [MODEL, HALF_SAMPLES]}, "models must have the same class_sizes"),
    ],
    "mixed_outputs": [({"mix": mix}, "from 0 to 1") for mix in (-0.1, 1.1, np.nan)],
    "prediction_bound": [
        *(({"confidence": level}, "confidence=") for level in (0.0, 1.0, 1.5)),
        ({"model": MODEL.with_class_sizes([1, 5, 5])}, "class with fewer than 2 rows"),
    ],
    "prediction_spread": [
        ({"true_labels": [0, 1, 2] + [0] * 9}, "class with fewer than 4 rows"),
        ({"confidence": 1.5}, "confidence=1.5"),
    ],
    "partial_label_outputs": [
        ({"n_candidates": 0}, "n_candidates=0 is not .* integer of at least 1"),
        ({"n_candidates": 4}, "n_candidates=4 is more than the 3 classes: pass at"),
    ],
    "candidate_targets": [
        ({"ties": "random"}, "ties='random' is not known: pass one of 'spread', 'low"),
        ({"outputs": [0.5, np.nan]}, "outputs contains NaN"),
        ({"outputs": 0.5}, "outputs must be an array with one number per class"),
    ],
    "rounds_needed": [
        ({"separation": None}, "are both missing: pass exactly one of them"),
        ({"log_separation": 0.7}, "are both given: pass exactly one of them"),
        ({"corruption": TWO_BY_HALF.T}, "not balanced, because column 0 sums to 1.3, not to 1"),
    ],
    "rounds_condition": [
        ({"log_separation": 0.7}, "are both given: pass exactly one of them"),
        ({"corruption": TWO_BY_HALF.T}, "not balanced, because column 0 sums to 1.3, not to 1"),
    ],
    "rounds_until_right": [({"max_rounds": 10**400}, "max_rounds=.* out of range")],
    "LabelAveraging.from_gram": [
        (
            {"gram": [[1, 2], [2, 1]]},
            r"the lowest eigenvalue is -1; pass repair_gram\(gram\)",
        )
    ],
    "LabelAveraging.from_features": [({"features": np.zeros((3, 0))}, r"features .* \(3, 0\)")],
    "average_labels": [
        ({"gram": [[1, 2], [2, 1]], "targets": np.eye(2), "l2": 9.0}, "gram is not positive semi")
    ],
    "BY_GRAM.outputs": [
        ({"targets": 2 * LABELS}, "every row of targets must sum to 1, but row 0 sums to 2; pass"),
        ({"targets": np.ones((3, 1))}, r"at least 2\), but have shape \(3, 1\)"),
    ],
    "BY_FEATURES.unseen_outputs": [
        ({"features": [[1.0, 0.0]]}, "must have 3 columns, .* but have 2")
    ],
    "BY_GRAM.coef": [(FIT, r"LabelAveraging.from_features\(features\)")],
    "BY_GRAM.matrix": [({"ridge": 0, "n_rounds": 0}, "ridge")],
    "repair_gram": [
        (
            {"gram": [[-1.0, 0.0], [0.0, 1.0]]},
            "gram cannot be repaired: .* sample 0 .* row and column 0",
        )
    ],
    "sample_coefficients": [({"temperature": 0.0}, "temperature=0.0 is not allowed: pass a pos")],
    "davis_kahan": [
        ({"perturbed": np.eye(2)}, "gram and perturbed must have the same shape"),
        ({"n_leading": 3}, "n_leading must be below the matrix size 3, got 3"),
    ],
    "shrinkage_factors": [
        (
            {"eigenvalues": [1.0, -2.0]},
            "not those of a Gram matrix: the lowest eigenvalue is -2; pass numbers",
        )
    ],
    "OUTPUTS.of": [
        ({"true_labels": [-1]}, r"true_labels\[0\]=-1 .* pass integers from 0 to 2"),
        ({"given_labels": [3]}, r"given_labels\[0\]=3 .* pass integers from 0 to 2"),
        ({"true_labels": [0, 1]}, r"given_labels has shape \(1,\) .*: pass 2 integers"),
    ],
    "population_rounds": [({"max_steps": 0}, "max_steps=0 is not allowed: .* at least 1")],
    "REDUCTION.class_means": [
        ({"deviations": np.eye(2)}, "deviations must have 3 rows, one per class, but have 2")
    ],
}


def named(name: str) -> Any:
    """Return a public function, or a method of a class or of one of the objects above."""
    first, *rest = name.split(".")
    found = globals()[first] if first.isupper() else getattr(twohot.theory, first)
    for part in rest:
        found = getattr(found, part)
    return found


def refusals() -> Iterator[Any]:
    for name, known in CALLS.items():
        for argument in sorted(known.keys() & REFUSED.keys()):
            for number, (value, message) in enumerate(REFUSED[argument]):
                yield pytest.param(
                    name, {argument: value}, message, id=f"{name}-{argument}-{number}"
                )
    for name, cases in MORE.items():
        for number, (changed, message) in enumerate(cases):
            yield pytest.param(name, changed, message, id=f"{name}-{number}")


@pytest.mark.parametrize("name", CALLS)
def test_valid_calls_work(name: str) -> None:
    named(name)(**CALLS[name])


@pytest.mark.parametrize(("name", "changed", "message"), [*refusals()])
def test_rejects_bad_input(name: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        named(name)(**{**CALLS.get(name, {}), **changed})


@pytest.mark.parametrize("name", [each for each in CALLS if "model" in CALLS[each]])
def test_rejects_a_matrix_as_model(name: str) -> None:
    message = "model must be a CorrelationModel, got ndarray; build one with CorrelationModel.cas"
    with pytest.raises(TypeError, match=message):
        named(name)(**{**CALLS[name], "model": np.eye(3)})


ONE_ROUND = partial(type_outputs, MODEL, l2=0.1, n_rounds=1)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("separation_at", {"levels": MODEL, "l2": 0.1}, "a PairLevels, got .*; .*.of_model"),
        ("softmax_rounds", {**FIT, "averaging": GRAM}, "a LabelAveraging, got .*; .*.from_gram"),
        (
            "evolving_outputs",
            {"corruption": CLEAN, "l2": 0.1, "models": MODEL},
            "pass a list with one model",
        ),
        ("judge", {"predicted": np.eye(3)}, "predicted must be a TypeOutputs, got ndarray"),
        ("noise_tolerated", {"corruption_at": CLEAN, "predict": ONE_ROUND}, "a function of"),
    ],
)
def test_rejects_arguments_of_another_type(name: str, arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        named(name)(**arguments)


def test_accepts_corruption_rounded_to_few_digits() -> None:
    predicted = type_outputs(MODEL, np.full((3, 3), 0.3333333), l2=0.1, n_rounds=1)
    np.testing.assert_allclose(predicted.corruption.sum(axis=1), 1, atol=1e-15)
