"""Every case of reference_cases.json: 1e-9 for the linear theory, 1e-7 for the exact softmax."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.as_printed import case_5_printed
from theory.dense import listed_labels
from twohot import theory as th
from twohot.theory import CorrelationModel, LabelAveraging, PairLevels, judge, type_outputs

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "reference_cases.json").read_text())["cases"]
}
LINEAR, EXACT = 1e-9, 1e-7


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return CASES[name]["inputs"], CASES[name]["outputs"]


def close(actual: object, truth: object, tolerance: float = LINEAR) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(truth), rtol=0, atol=tolerance)


def levels(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the paper's correlation model."""
    names = {"superclass": "h", "same_class": "c", "same_superclass": "d", "n_per_class": "n"}
    return {name: inputs[letter] for name, letter in names.items()}


def block_model(inputs: dict[str, Any]) -> CorrelationModel:
    return CorrelationModel.case_5(**levels(inputs), elsewhere=inputs.get("e", 0.0))


def corruption_of(inputs: dict[str, Any]) -> np.ndarray:
    """Corruption from counts, or from samples listed one by one."""
    if "counts" in inputs:
        counts = np.array(inputs["counts"], dtype=float)
    else:
        counts = np.zeros((inputs["K"], inputs["K"]))
        np.add.at(counts, (inputs["true_classes"], inputs["given_labels"]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def listed(predicted: th.TypeOutputs, inputs: dict[str, Any]) -> np.ndarray:
    return predicted.of(inputs["true_classes"], inputs["given_labels"])


def test_r01_theorem_on_a_general_gram_matrix() -> None:
    inputs, outputs = case("R01_thm1")
    features = np.array(inputs["Z"])
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    gram, targets = features @ features.T, np.eye(inputs["K"])[inputs["given_labels"]]
    by_gram, by_features = LabelAveraging.from_gram(gram), LabelAveraging.from_features(features)
    close(by_gram.eigenvalues, outputs["Phi_eigenvalues_desc"])
    for t in inputs["t"]:
        known = {"l2": inputs["lam"], "n_rounds": t}
        close(th.average_labels(gram, targets, **known), outputs["Y"][str(t)])
        close(by_gram.outputs(targets, **known), outputs["Y"][str(t)])
        close(by_features.outputs(targets, **known), outputs["Y"][str(t)])


@pytest.mark.parametrize(
    "name", ["R03_case1", "R06_case4_unequal", "R08_case5_equal", "R10_general_imbalanced"]
)
def test_r03_r06_r08_r10_outputs_of_class_models(name: str) -> None:
    inputs, outputs = case(name)
    sizes = np.bincount(inputs["true_classes"])
    model = CorrelationModel.from_correlation(
        inputs["W"], class_sizes=sizes, squared_norms=inputs.get("diag", 1.0)
    )
    for t in inputs["t"]:
        predicted = type_outputs(model, corruption_of(inputs), l2=inputs["lam"], n_rounds=t)
        close(listed(predicted, inputs), outputs["Y"][str(t)])


def test_r08_error_of_the_printed_formula() -> None:
    inputs, outputs = case("R08_case5_equal")
    for t in inputs["t"]:
        known = {**levels(inputs), "elsewhere": inputs["e"], "l2": inputs["lam"], "n_rounds": t}
        printed = case_5_printed(corruption_of(inputs), **known)
        listed = printed[inputs["true_classes"], inputs["given_labels"]]
        error = np.abs(listed - outputs["Y"][str(t)]).max()
        close(error, outputs["printed_formula_max_error"][str(t)])


def test_r14_theorem_on_rounds() -> None:
    inputs, outputs = case("R14_theorem_self")
    kept = th.shrinkage(**levels(inputs), l2=inputs["lam"])
    close(
        [kept.own, kept.class_mean, kept.separation],
        [outputs["p"], outputs["q"], outputs["q_over_p"]],
    )
    model = block_model(inputs)
    for t, threshold in enumerate(outputs["threshold_t1_to_t8"], start=1):
        condition = th.rounds_condition(np.eye(4), separation=kept.separation, n_rounds=t)
        close(condition.threshold, threshold)
    for known in outputs["cases"]:
        first = np.inf if known["t_min"] is None else known["t_min"]
        assert th.rounds_needed(known["C"], separation=kept.separation).overall == first
        assert th.rounds_until_right(model, known["C"], l2=inputs["lam"]).overall == first
        margins = [
            judge(type_outputs(model, known["C"], l2=inputs["lam"], n_rounds=t)).margins.min()
            for t in range(1, 7)
        ]
        close(margins, known["worst_margin_t1_to_t6"])


def test_r14_largest_noise_rate_per_round() -> None:
    inputs, outputs = case("R14_theorem_self")
    model = block_model(inputs)
    for t, rate in enumerate(outputs["eta_max_symmetric_t1_to_t8"], start=1):
        tolerance = th.noise_tolerated(
            lambda eta: (1 - eta) * np.eye(4) + eta / 3 * (1 - np.eye(4)),
            lambda shares, t=t: type_outputs(model, shares, l2=inputs["lam"], n_rounds=t),
        )
        close(tolerance.highest, [rate] * 4, 2e-9)  # the edge is bisected to 1e-9


def test_r15_unbalanced_given_labels() -> None:
    inputs, outputs = case("R15_unbalanced_given_labels")
    predicted = type_outputs(
        block_model(inputs), corruption_of(inputs), l2=inputs["lam"], n_rounds=inputs["t"]
    )
    means = np.einsum("ab,abk->ak", predicted.corruption, predicted.outputs)
    close(means, outputs["Y_class_mean"])
    assert predicted.accuracy() == pytest.approx(outputs["accuracy"])


@pytest.mark.parametrize("name", ["R16_pll_ok", "R17_pll_counterexample", "R21_pll_clean_spread"])
def test_r16_r17_r21_partial_label_student(name: str) -> None:
    inputs, outputs = case(name)
    model, corruption = block_model(inputs), corruption_of(inputs)
    student = th.partial_label_outputs(
        model, corruption, l2=inputs["lam"], n_candidates=inputs["k"], ties=inputs["ties"]
    )
    teacher = type_outputs(model, corruption, l2=inputs["lam"], n_rounds=1)
    types = tuple(np.array(outputs["types"]).T)
    close(teacher.of(*types), outputs["teacher"])
    close(student.rows[types], outputs["target"])
    close(student.of(*types), outputs["student"])
    verdict = judge(student)
    assert teacher.accuracy() == pytest.approx(outputs["teacher_accuracy"])
    assert verdict.accuracy == pytest.approx(outputs["student_strict_accuracy"])
    close(verdict.margins.min(), outputs["worst_margin"])
    mean_target = np.einsum("ab,abk->k", corruption, student.rows) / inputs["K"]
    close(mean_target, outputs["superclass_mean_target"][0])


def test_r23_evolving_features() -> None:
    inputs, outputs = case("R23_evolving")
    by_round = [{**inputs, "c": c, "d": d} for c, d in zip(inputs["c"], inputs["d"], strict=True)]
    corruption = corruption_of(inputs)
    models = [block_model(each) for each in by_round]
    predicted = th.evolving_outputs(models, corruption, l2=inputs["lam"])
    close(listed(predicted, inputs), outputs["Y"])
    factors = [th.shrinkage(**levels(each), l2=inputs["lam"]) for each in by_round]
    kept = th.Shrinkage.product(factors)
    close([kept.own, kept.class_mean], [outputs["prod_p"], outputs["prod_q"]])
    close(kept.superclass_mean, outputs["prod_r"])
    form = th.lemma_outputs(corruption, superclass=inputs["h"], kept=kept)
    close(form[inputs["true_classes"], inputs["given_labels"]], outputs["Y"])
    condition = th.rounds_condition(corruption, separation=kept.separation, n_rounds=1)
    close(condition.threshold, outputs["threshold"])


def test_r24_exact_softmax_and_temperature() -> None:
    inputs, outputs = case("R24_exact_softmax_and_temperature")
    model, counts = block_model(inputs), np.array(inputs["counts"])
    true = np.repeat(np.arange(3), counts.sum(axis=1))
    given = listed_labels(counts)
    targets = np.eye(3)[given]
    dense = th.softmax_rounds(
        LabelAveraging.from_gram(model.gram()), targets, l2=inputs["lam"], n_rounds=3
    )
    types = th.population_rounds(model, corruption_of(inputs), l2=inputs["lam"], n_rounds=3)
    for t in (1, 2, 3):
        close(dense[t - 1].outputs, outputs["Y"][str(t)], EXACT)
        close(types[t - 1].predicted.of(true, given), outputs["Y"][str(t)], EXACT)
        close(dense[t - 1].coef_norm, outputs["theta_norm"][str(t)], EXACT)
    for temperature, norm in outputs["theta_norm_t1_tau"].items():
        alpha = th.sample_coefficients(
            targets, dense[0].outputs, l2=inputs["lam"], temperature=float(temperature)
        )
        close(np.sqrt(np.einsum("ik,ij,jk->", alpha, model.gram(), alpha)), norm, EXACT)


def test_r25_exact_softmax_per_type() -> None:
    inputs, outputs = case("R25_population_exact")
    types = tuple(np.array(outputs["types"]).T)
    exact = th.population_rounds(
        block_model(inputs), corruption_of(inputs), l2=inputs["lam"], n_rounds=6
    )
    for t, fitted in enumerate(exact, start=1):
        close(fitted.predicted.of(*types), outputs["Y"][str(t)], EXACT)
        assert fitted.predicted.accuracy() == pytest.approx(outputs["accuracy"][str(t)])


def test_r29_penalty_for_a_separation() -> None:
    inputs, outputs = case("R29_lambda_choice")
    for known in outputs.values():
        pairs = PairLevels(*(known[name] for name in ("K", "n", "c", "d")))
        l2 = th.l2_for_separation(pairs, separation=inputs["rho"])
        assert l2 == pytest.approx(known["lam_for_q_over_p_2"], rel=1e-12)
        assert th.separation_at(pairs, l2=l2) == pytest.approx(2.0, rel=1e-12)
        assert th.largest_separation(pairs) == pytest.approx(known["max_q_over_p"], rel=1e-12)
        used = th.separation_at(pairs, l2=known["lam_used"])
        assert used == pytest.approx(known["q_over_p_at_used"], rel=1e-12)


def test_every_reference_case_has_a_test() -> None:
    source = Path(__file__).read_text()
    assert all(f'"{name}"' in source for name in CASES)
