"""The theory's claims: what is measured, at small numbers, and every answer of every rule."""

import re
from pathlib import Path
from typing import Any

import pytest

from twohot_paper import theory_claims as theory
from twohot_paper import theory_evidence as theory_numerics
from twohot_paper.claim import CLAIMS, Answer
from twohot_paper.json_values import as_json, from_json
from twohot_paper.maker import RUN_KINDS
from twohot_paper.synthetic_makers import EigenvalueResult
from twohot_paper.synthetic_setting import SyntheticSetting
from twohot_paper.theory_claims import (
    FORMULAS,
    FormulaResult,
    FormulaRun,
    TheoremResult,
    TheoremRun,
    measure_formula,
    measure_theorem,
)
from twohot_paper.theory_evidence import (
    DescentOutcome,
    DescentRun,
    TemperatureResult,
    TemperatureRun,
    measure_descent,
    measure_temperature,
)

ALL_RIGHT = TheoremResult(50, 50, 0, 30, 0, 50)

# For each claim, results that give an answer; the same for all of its runs.
ANSWERS: dict[str, dict[Answer, Any]] = {
    "theorem-4-1": {
        Answer.CONFIRMED: ALL_RIGHT,
        Answer.REFUTED: TheoremResult(50, 49, 1, 30, 0, 0),
    },
    "theorem-5-1": {
        Answer.CONFIRMED: ALL_RIGHT,
        Answer.REFUTED: TheoremResult(50, 20, 10, 30, 1, 50),
    },
    "lemma-4-1": {Answer.CONFIRMED: FormulaResult(1e-14), Answer.REFUTED: FormulaResult(1e-3)},
    "case-5": {Answer.CONFIRMED: FormulaResult(1e-14), Answer.REFUTED: FormulaResult(1e-3)},
    "corollary-evolving-features": {
        Answer.CONFIRMED: ALL_RIGHT,
        Answer.REFUTED: TheoremResult(50, 49, 0, 30, 0, 0),
    },
    "larger-correlation": {
        Answer.CONFIRMED: ALL_RIGHT,
        Answer.REFUTED: TheoremResult(50, 49, 0, 0, 0, 0),
    },
    "temperature": {
        Answer.CONFIRMED: TemperatureResult(1e-9, 1.0),
        Answer.CONDITIONAL: TemperatureResult(1e-9, 2.0),
        Answer.REFUTED: TemperatureResult(0.1, 1.0),
    },
    "davis-kahan": {
        Answer.CONFIRMED: EigenvalueResult([], 30.0, 1.0, 0.02),
        Answer.REFUTED: EigenvalueResult([], 30.0, 1.0, 0.5),
        Answer.NOT_TESTABLE: EigenvalueResult([], 30.0, 20.0, 0.5),
    },
    "algorithm-1": {
        Answer.CONFIRMED: DescentOutcome(1e-5, 1e-5, 1e-6, 1.0),
        Answer.REFUTED: DescentOutcome(0.3, 0.3, 0.1, 0.9),
    },
}


def test_every_claim_of_these_modules_is_tested_here() -> None:
    source = "".join(Path(each.__file__).read_text() for each in (theory, theory_numerics))
    assert re.findall(r' id="(.+?)"', source) == [*ANSWERS]


@pytest.mark.parametrize(
    ("name", "expected"), [(name, each) for name, found in ANSWERS.items() for each in found]
)
def test_results_decide(name: str, expected: Answer) -> None:
    claim = CLAIMS[name]
    verdict = claim.judge(dict.fromkeys(claim.runs([]), ANSWERS[name][expected]), [])
    assert verdict.answer is expected
    assert claim.judge({}, []).answer is Answer.NOT_TESTABLE


def test_case_5_may_hold_without_correlation_only() -> None:
    claim = CLAIMS["case-5"]
    results = {run: FormulaResult(1e-2 if run.elsewhere else 1e-14) for run in claim.runs([])}
    verdict = claim.judge(results, [])
    assert verdict.answer is Answer.CONDITIONAL
    assert "e = 0" in str(verdict)


def test_theorems_on_random_settings() -> None:
    rounds = measure_theorem(TheoremRun("4.1", 40, seed=1))
    assert rounds.n_promised + rounds.n_denied == 40
    assert min(rounds.n_promised, rounds.n_denied) > 5
    assert rounds.n_right == rounds.n_promised
    assert rounds.n_denied_right == 0
    student = measure_theorem(TheoremRun("5.1", 40, seed=1))
    assert student.n_in_top_two == student.n_promised
    assert student.n_right + student.n_tied < student.n_promised
    changing = measure_theorem(TheoremRun("corollary", 30, seed=1))
    assert changing.n_right == changing.n_promised > 5
    assert changing.n_denied_right == 0
    larger = measure_theorem(TheoremRun("larger c", 30, seed=1))
    assert larger.n_right == larger.n_promised == 30


@pytest.mark.parametrize(
    ("formula", "right_elsewhere"), [*zip(FORMULAS, (False, False, True), strict=True)]
)
def test_formulas_against_dense_algebra(formula: str, right_elsewhere: bool) -> None:
    """The lemma is of superclasses that do not correlate, and wrong where they do."""
    alone, related = (
        measure_formula(FormulaRun(formula, share, 10, seed=2)).error for share in (0.0, 0.4)
    )
    assert alone < 1e-12
    assert (related < 1e-12) == right_elsewhere


def test_temperature_changes_coefficients_alone() -> None:
    scaled = measure_temperature(TemperatureRun(3.0, n_samples=12, n_rounds=2))
    assert scaled.output_difference < 1e-6
    assert scaled.coef_ratio == pytest.approx(3, rel=1e-3)
    plain = measure_temperature(TemperatureRun(3.0, scaled=False, n_samples=12, n_rounds=2))
    assert plain.output_difference > 1e-2


def test_a_descent_is_measured_against_newton() -> None:
    setting = SyntheticSetting(n_per_class=5, l2=6.25e-3)
    short, long = (
        measure_descent(DescentRun(1e-3, steps, setting=setting)) for steps in (10, 4000)
    )
    assert long.error < short.error
    assert long.best_loss <= long.loss < short.loss


def test_results_are_read_back_from_json() -> None:
    for found in ANSWERS.values():
        for result in found.values():
            assert from_json(type(result), as_json(result)) == result
    for claim in ANSWERS:
        for run in CLAIMS[claim].runs([]):
            assert from_json(RUN_KINDS[type(run)].run, as_json(run)) == run
