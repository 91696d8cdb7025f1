"""Verdicts on the synthetic experiment: every rule gives every answer on invented results."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from twohot_paper.claim import RULES, Answer
from twohot_paper.probe_run import Spread
from twohot_paper.reproduction import all_claims
from twohot_paper.synthetic_claims import all_runs, spectrum_runs
from twohot_paper.synthetic_makers import EigenvalueResult
from twohot_paper.synthetic_setting import SyntheticModel, SyntheticResult, SyntheticRun

CLAIMS = {claim.id: claim for claim in all_claims() if claim.id in RULES}
Change = Callable[[SyntheticRun, SyntheticResult], SyntheticResult]


def model(accuracy: float, **changes: Any) -> SyntheticModel:
    spread = Spread(0.5, 0.1)
    known = SyntheticModel(accuracy, 0.0, spread, spread, spread, spread, spread, 1.0)
    return replace(known, **changes)


def perfect(run: SyntheticRun) -> SyntheticResult:
    """Return a result with which every claim holds."""
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


def two_hot_fails(where: Callable[[SyntheticRun], bool]) -> Change:
    """Return a change after which the two-hot student is mostly wrong in some runs."""

    def change(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        return replace(
            result, two_hot=dict.fromkeys(result.two_hot, model(0.1 if where(run) else 1.0))
        )

    return change


def in_rounds(
    name: str, values: list[Any], where: Callable[[SyntheticRun], bool] = lambda _: True
) -> Change:
    """Return a change of a field of the seven rounds."""

    def change(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
        if not where(run):
            return result
        rounds = [replace(each, **{name: v}) for each, v in zip(result.rounds, values, strict=True)]
        return replace(result, rounds=tuple(rounds))

    return change


def truth_missed(run: SyntheticRun, result: SyntheticResult) -> SyntheticResult:
    missed = run.matrix.kind == "raw" and run.matrix.seed == 3 and run.noise_rate > 0.2
    return replace(result, truth_in_top_two=0.99) if missed else result


def spreads(stds: list[float]) -> list[Spread]:
    return [Spread(0.3, std) for std in stds]


SEVEN = range(1, 8)
RIGHT, ALL_RIGHT = "two-hot-beats-rounds-synthetic", "two-hot-all-right-synthetic"
NOT_ON_BLOCK = two_hot_fails(lambda run: run.matrix.kind != "block" or run.noise_rate in (0, 0.005))
FALLING = in_rounds("noisy_true", [Spread(0.9 / t, 0.1) for t in SEVEN])
WIDER_FIRST = in_rounds("noisy_given", spreads([0.1, 0.2, 0.09, 0.08, 0.07, 0.06, 0.05]))
NARROW_ON_RAW = in_rounds(
    "accuracy", [0.9 - 0.1 * t for t in SEVEN], lambda r: r.matrix.kind == "raw"
)
REGIME, SPREAD = "rounds-widen-regime", "spread-shrinks"
TWO_MATRICES = "the Gram matrix is the block model; the Gram matrix is the repaired matrix"
# A claim, a change of results with which it holds, and the condition of the verdict: none, or ""
# if it is not confirmed.
OUTCOMES = [
    (REGIME, NARROW_ON_RAW, "for the block model and the repaired matrix"),
    (REGIME, in_rounds("accuracy", [0.9] * 7), ""),
    (RIGHT, NOT_ON_BLOCK, "η ≥ 0.01 on the block model"),
    (RIGHT, two_hot_fails(lambda _: True), ""),
    (ALL_RIGHT, NOT_ON_BLOCK, "η ≥ 0.01 on the block model"),
    (ALL_RIGHT, two_hot_fails(lambda _: True), ""),
    # These claims are about rates at which the true label is the most frequent label.
    (ALL_RIGHT, two_hot_fails(lambda run: run.noise_rate > 0.72), None),
    (RIGHT, two_hot_fails(lambda run: run.noise_rate > 0.72), None),
    ("truth-in-top-two-synthetic", truth_missed, f"{TWO_MATRICES}; η ≤ 0.2 on the raw matrix"),
    ("outputs-cluster", in_rounds("scatter", [1.0] * 7), ""),
    (SPREAD, WIDER_FIRST, "t ≥ 2, the spread of round 2 being larger than of round 1"),
    (SPREAD, in_rounds("noisy_given", spreads([0.1 * t for t in SEVEN])), ""),
    ("clean-falls-noisy-rises", FALLING, "for clean samples"),
    ("third-round-wins", FALLING, ""),
]


@pytest.mark.parametrize(("name", "change", "condition"), OUTCOMES)
def test_verdicts_on_synthetic_results(name: str, change: Change, condition: str | None) -> None:
    found = CLAIMS[name].judge({run: change(run, perfect(run)) for run in all_runs()}, [])
    if condition is None:
        assert found.answer is Answer.CONFIRMED
    else:
        assert found.answer is (Answer.CONDITIONAL if condition else Answer.REFUTED)
        assert found.condition == condition
    assert found.evidence
    assert found.advice


def test_perfect_results_confirm_all_claims() -> None:
    results = {run: perfect(run) for run in all_runs()}
    for name in {name for name, *_ in OUTCOMES}:
        assert CLAIMS[name].judge(results, []).answer is Answer.CONFIRMED


@pytest.mark.parametrize("name", [*{name: 0 for name, *_ in OUTCOMES}, "top-eigenvalues-dominate"])
def test_claims_without_runs_are_not_testable(name: str) -> None:
    verdict = CLAIMS[name].judge({}, [])
    assert verdict.answer is Answer.NOT_TESTABLE
    assert "missing" in verdict.evidence


def test_every_rule_belongs_to_a_claim() -> None:
    assert RULES.keys() <= {claim.id for claim in all_claims()}


def test_unconverged_runs_are_not_testable() -> None:
    results = {run: replace(perfect(run), converged=run.noise_rate != 0.5) for run in all_runs()}
    verdict = CLAIMS["outputs-cluster"].judge(results, [])
    assert verdict.answer is Answer.NOT_TESTABLE
    assert "did not converge" in verdict.evidence


def test_verdict_on_eigenvalues() -> None:
    claim = CLAIMS["top-eigenvalues-dominate"]
    for following, expected in ((0.5, Answer.CONFIRMED), (0.88, Answer.REFUTED)):
        factors = [0.95, 0.9, 0.9, 0.9, following]
        results = dict.fromkeys(spectrum_runs(), EigenvalueResult(factors))
        assert claim.judge(results, []).answer is expected


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("softmax-error-negligible", "the penalty is kept as samples become more"),
        (
            "separation-near-two",
            "features have a squared norm of about 1000, not 1 as the text assumes",
        ),
    ],
)
def test_claims_about_formulas_need_no_runs(name: str, condition: str) -> None:
    verdict = CLAIMS[name].judge({}, [])
    assert (verdict.answer, verdict.condition) == (Answer.CONDITIONAL, condition)
