"""Verdicts on the synthetic experiment: every rule can give every answer, on results made up."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from twohot_paper import synthetic_claims as synthetic
from twohot_paper import synthetic_claims as synthetic_penalty
from twohot_paper import synthetic_output_claims as synthetic_outputs
from twohot_paper.claim import CLAIMS, Answer
from twohot_paper.probe_run import Spread
from twohot_paper.synthetic_claims import (
    all_runs,
    highest_without_exception,
    lowest_without_exception,
    maker_of,
)
from twohot_paper.synthetic_makers import EigenvalueResult, LabelCorruption
from twohot_paper.synthetic_outputs import SeparationResult, SoftmaxErrorResult
from twohot_paper.synthetic_run import SyntheticModel, SyntheticResult, SyntheticRun

MODULES = (synthetic, synthetic_outputs, synthetic_penalty)
IDS = [
    *("rounds-widen-regime", "two-hot-all-right-synthetic", "two-hot-beats-rounds-synthetic"),
    *("truth-in-top-two-synthetic", "outputs-cluster", "spread-shrinks"),
    *("clean-falls-noisy-rises", "third-round-wins", "top-eigenvalues-dominate"),
    *("softmax-error-negligible", "separation-near-two"),
]


def model(accuracy: float, **changes: Any) -> SyntheticModel:
    spread = Spread(0.5, 0.1)
    known = SyntheticModel(accuracy, 0.0, spread, spread, spread, spread, spread, 1.0)
    return replace(known, **changes)


def perfect(run: SyntheticRun) -> SyntheticResult:
    """Return a world where every claim holds."""
    rounds = [
        model(
            1.0 if run.noise_rate <= 0.1 * (t - 1) else 0.9,
            clean_true=Spread(0.9 - 0.05 * t, 0.1 / t),
            noisy_true=Spread(0.1 + 0.05 * t, 0.1 / t),
            noisy_given=Spread(0.36 - 0.05 * t, 0.1 / t),
            scatter=1 / t,
        )
        for t in range(1, run.n_rounds + 1)
    ]
    two_hot = dict.fromkeys(("lowest", "random", "spread"), model(1.0))
    leads = run.noise_rate < 0.75
    return SyntheticResult(run.noise_rate, leads, tuple(rounds), two_hot, 1.0, 1.0, 0.0, True)


def world(change: Callable[[SyntheticRun, SyntheticResult], SyntheticResult]) -> dict[Any, Any]:
    return {run: change(run, perfect(run)) for run in all_runs(())}


def answer(claim: str, results: dict[Any, Any]) -> tuple[Answer, str]:
    verdict = CLAIMS[claim].judge(results, [])
    assert verdict.evidence
    assert verdict.advice
    return verdict.answer, verdict.condition


def two_hot(accuracy: float, result: SyntheticResult) -> SyntheticResult:
    return replace(result, two_hot=dict.fromkeys(result.two_hot, model(accuracy)))


def rounds_changed(result: SyntheticResult, name: str, values: list[Any]) -> SyntheticResult:
    rounds = [replace(each, **{name: v}) for each, v in zip(result.rounds, values, strict=True)]
    return replace(result, rounds=tuple(rounds))


def test_every_claim_of_these_modules_is_tested_here() -> None:
    source = "".join(Path(module.__file__).read_text() for module in MODULES)
    assert re.findall(r' id="(.+?)"', source) == IDS


@pytest.mark.parametrize("claim", IDS)
def test_a_claim_without_its_runs_is_not_testable(claim: str) -> None:
    verdict = CLAIMS[claim].judge({}, [])
    assert verdict.answer is Answer.NOT_TESTABLE
    assert "missing" in verdict.evidence
    assert CLAIMS[claim].runs([])


@pytest.mark.parametrize("claim", IDS[:8])
def test_all_hold_in_a_perfect_world(claim: str) -> None:
    assert answer(claim, world(lambda _, result: result))[0] is Answer.CONFIRMED


def test_the_regime_must_widen() -> None:
    def narrow(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        if run.matrix.kind != "raw":
            return result
        return rounds_changed(result, "accuracy", [each.accuracy for each in result.rounds[::-1]])

    found = answer("rounds-widen-regime", world(narrow))
    assert found == (Answer.CONDITIONAL, "for the block model and the repaired matrix")
    stuck = world(lambda _, result: rounds_changed(result, "accuracy", [0.9] * 7))
    assert answer("rounds-widen-regime", stuck)[0] is Answer.REFUTED


@pytest.mark.parametrize("claim", ["two-hot-all-right-synthetic", "two-hot-beats-rounds-synthetic"])
def test_the_two_hot_student_may_fail_somewhere_or_everywhere(claim: str) -> None:
    def on_block(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        fails = run.matrix.kind != "block" or run.noise_rate in (0.0, 0.005)
        return two_hot(0.1, result) if fails else result

    assert answer(claim, world(on_block)) == (Answer.CONDITIONAL, "η ≥ 0.01 on the block model")
    nowhere = world(lambda _, result: two_hot(0.1, result))
    assert answer(claim, nowhere)[0] is Answer.REFUTED

    def beyond(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        return two_hot(0.1, result) if run.noise_rate > 0.72 else result

    assert answer(claim, world(beyond))[0] is Answer.CONFIRMED  # nothing was promised there


def test_the_top_two_may_miss_the_truth() -> None:
    def at_high_noise(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        missed = run.matrix.kind == "raw" and run.matrix.seed == 3 and run.noise_rate > 0.2
        return replace(result, truth_in_top_two=0.99) if missed else result

    found, condition = answer("truth-in-top-two-synthetic", world(at_high_noise))
    assert found is Answer.CONDITIONAL
    assert condition.endswith("η ≤ 0.2 on the raw matrix")


def test_clusters_spread_and_confidence() -> None:
    loose = world(lambda _, result: rounds_changed(result, "scatter", [1.0] * 7))
    assert answer("outputs-cluster", loose)[0] is Answer.REFUTED

    def wider_first(_: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        stds = [0.1, 0.2, 0.09, 0.08, 0.07, 0.06, 0.05]
        return rounds_changed(result, "noisy_given", [Spread(0.3, std) for std in stds])

    found = answer("spread-shrinks", world(wider_first))
    assert found[0] is Answer.CONDITIONAL
    assert found[1].startswith("t ≥ 2")

    def wider_last(_: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        return rounds_changed(result, "noisy_given", [Spread(0.3, 0.1 * t) for t in range(1, 8)])

    assert answer("spread-shrinks", world(wider_last))[0] is Answer.REFUTED

    def falling(_: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        return rounds_changed(result, "noisy_true", [Spread(0.9 / t, 0.1) for t in range(1, 8)])

    found = answer("clean-falls-noisy-rises", world(falling))
    assert found == (Answer.CONDITIONAL, "for clean samples")
    assert answer("third-round-wins", world(falling))[0] is Answer.REFUTED


def test_eigenvalues_that_stay_close_do_not_dominate() -> None:
    claim = CLAIMS["top-eigenvalues-dominate"]
    for following, expected in ((0.5, Answer.CONFIRMED), (0.88, Answer.REFUTED)):
        factors = [0.95, 0.9, 0.9, 0.9, following]
        results = dict.fromkeys(claim.runs([]), EigenvalueResult(factors, 30.0, 0.8, 0.01))
        assert claim.judge(results, []).answer is expected


def test_errors_at_fixed_penalty_and_at_fixed_ridge() -> None:
    claim = CLAIMS["softmax-error-negligible"]
    runs = claim.runs([])
    n_sizes = len(runs) // 2
    for errors, expected in (
        ((1e-3, 1e-3), Answer.CONFIRMED),
        ((1e-3, 4e-2), Answer.CONDITIONAL),
        ((4e-2, 4e-2), Answer.REFUTED),
    ):
        values = [errors[0]] * n_sizes + [errors[1]] * n_sizes
        results = {run: SoftmaxErrorResult([e] * 7) for run, e in zip(runs, values, strict=True)}
        assert claim.judge(results, []).answer is expected


def test_separations_near_two_at_some_norm() -> None:
    claim = CLAIMS["separation-near-two"]
    for at_one, at_thousand, expected in (
        (2.1, 1.0, Answer.CONFIRMED),
        (30.0, 2.1, Answer.CONDITIONAL),
        (30.0, 1.0, Answer.REFUTED),
    ):
        results = {
            run: SeparationResult(
                [], [at_one if run.levels.squared_norm == 1 else at_thousand, 1.5], 50.0, 1e-6
            )
            for run in claim.runs([])
        }
        assert claim.judge(results, []).answer is expected


def test_rates_without_exception() -> None:
    rates = {0.0: False, 0.1: True, 0.2: True, 0.3: False}
    assert highest_without_exception(rates) is None
    assert lowest_without_exception(rates) is None
    del rates[0.3]
    assert lowest_without_exception(rates) == 0.1
    rates[0.0] = True
    assert highest_without_exception(rates) == 0.2
    assert lowest_without_exception({}) is None


def test_a_figure_made_by_another_maker_is_refused() -> None:
    with pytest.raises(TypeError, match="fig:acc_gain is made by SyntheticAccuracy"):
        maker_of("fig:acc_gain", LabelCorruption)


def test_runs_that_did_not_converge_judge_nothing():
    stuck = world(lambda run, result: replace(result, converged=run.noise_rate != 0.5))
    verdict = CLAIMS["outputs-cluster"].judge(stuck, [])
    assert verdict.answer is Answer.NOT_TESTABLE
    assert "did not converge" in verdict.evidence
