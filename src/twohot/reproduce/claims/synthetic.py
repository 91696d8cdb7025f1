"""Claims about accuracy in the synthetic experiment: rounds, two-hot student, top two labels."""

from collections.abc import Callable

import numpy as np

from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, register_claim
from twohot.reproduce.claims.synthetic_evidence import (
    HALF,
    RULE,
    Draw,
    all_runs,
    by_parts,
    draws,
    highest_without_exception,
    lowest_without_exception,
    of_finished,
)
from twohot.reproduce.maker import Results
from twohot.reproduce.synthetic_run import SyntheticResult
from twohot.reproduce.synthetic_setting import MATRIX_NAMES, MATRIX_WORDS
from twohot.reproduce.table import Cell, Table, mean_of


def judge_wider_regime(results: Results) -> ClaimVerdict:
    """Judge whether the noise that a round stands grows with the round."""
    limits = {kind: [_limits(draw) for draw in found] for kind, found in draws(results).items()}
    kept = [MATRIX_WORDS[kind] for kind, found in limits.items() if all(map(_widens, found))]
    rows = [
        (MATRIX_NAMES[kind], *(min(column) for column in zip(*found, strict=True)))
        for kind, found in limits.items()
    ]
    n_rounds = len(rows[0]) - 1
    columns = ("Gram matrix", *(f"t = {t}" for t in range(1, n_rounds + 1)))
    table = Table(
        "Highest noise rate with all training samples right, all draws", columns, (*rows,)
    )
    steps = "; ".join(
        f"{MATRIX_WORDS[kind]} {row[1]:g} to {row[-1]:g}"
        for kind, row in zip(limits, rows, strict=True)
    )
    evidence = (
        f"All training samples are right up to η, first to last round, in all draws: {steps}."
    )
    advice = "At the paper's penalty, more rounds undo more noise in the training labels."
    return by_parts(kept, len(limits), evidence, advice, table)


def _limits(draw: Draw) -> list[float]:
    """Return, per round, the highest rate up to which all samples are right; -1 if none."""
    n_rounds = len(next(iter(draw.values())).rounds)
    found = [
        highest_without_exception(
            {rate: each.rounds[t].accuracy == 1 for rate, each in draw.items()}
        )
        for t in range(n_rounds)
    ]
    return [-1.0 if limit is None else limit for limit in found]


def _widens(limits: list[float]) -> bool:
    return limits == sorted(limits) and limits[-1] > limits[0]


def judge_two_hot_right(results: Results) -> ClaimVerdict:
    """Judge whether the two-hot student is right wherever the truth is the commonest label."""
    return _judge_where_truth_leads(
        results,
        holds=lambda result: result.two_hot[RULE].accuracy == 1,
        shown=lambda result: result.two_hot[RULE].accuracy,
        what="two-hot student's training accuracy (%)",
        advice="Do not count on the student's promise on features that only nearly follow a block"
        " model; compare it with rounds on held-out labels.",
    )


def judge_two_hot_best(results: Results) -> ClaimVerdict:
    """Judge whether the two-hot student is at least as accurate as every round."""
    return _judge_where_truth_leads(
        results,
        holds=lambda result: _lead(result) >= 0,
        shown=_lead,
        what="two-hot student minus the best round, training accuracy (points)",
        advice="One two-hot student does not replace a few rounds where features are not exactly a"
        " block model; it costs less than they do.",
    )


def _lead(result: SyntheticResult) -> float:
    return result.two_hot[RULE].accuracy - max(each.accuracy for each in result.rounds)


def judge_top_two(results: Results) -> ClaimVerdict:
    """Judge whether the true label is among the teacher's two largest outputs."""
    return _judge_where_truth_leads(
        results,
        holds=lambda result: result.truth_in_top_two == 1,
        shown=lambda result: result.truth_in_top_two,
        what="samples with the truth in the teacher's top two (%)",
        advice="Expect two candidates to miss the truth at high noise; look at the share of labels"
        " in the top k on rows you have checked.",
    )


def _judge_where_truth_leads(
    results: Results,
    *,
    holds: Callable[[SyntheticResult], bool],
    shown: Callable[[SyntheticResult], float],
    what: str,
    advice: str,
) -> ClaimVerdict:
    """Judge a promise that is made wherever C_kk > C_kk', matrix by matrix and rate by rate."""
    kept: dict[str, dict[float, bool]] = {}
    rows: list[tuple[Cell, ...]] = []
    for kind, found in draws(results).items():
        for rate in found[0]:
            of_rate = [draw[rate] for draw in found]
            if of_rate[0].truth_leads:
                kept.setdefault(kind, {})[rate] = all(map(holds, of_rate))
                cell = mean_of([shown(result) for result in of_rate], factor=100)
                rows.append((MATRIX_NAMES[kind], rate, cell, str(kept[kind][rate]).lower()))
    table = Table(what.capitalize(), ("Gram matrix", "η", what, "holds"), tuple(rows))
    counts = ", ".join(
        f"{MATRIX_WORDS[kind]} at {sum(rates.values())} of {len(rates)} noise rates"
        for kind, rates in kept.items()
    )
    at_half = {
        kind: 100 * np.mean([shown(draw[HALF]) for draw in found])
        for kind, found in draws(results, at=HALF).items()
        if found and HALF in kept[kind]
    }
    values = ", ".join(f"{MATRIX_WORDS[kind]} {value:.1f}" for kind, value in at_half.items())
    evidence = f"Holds in all draws: {counts}. {what.capitalize()} at η = .5: {values}."
    if all(all(rates.values()) for rates in kept.values()):
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    parts = [part for kind, rates in kept.items() if (part := _range(kind, rates))]
    if not parts:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    condition = "; ".join(parts)
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, table, advice)


def _range(kind: str, rates: dict[float, bool]) -> str:
    """Return in words for which noise rates a promise is kept on a matrix; empty if for few.

    Half of the rates or more, on one side, count as a range.
    """
    if all(rates.values()):
        return f"the Gram matrix is {MATRIX_WORDS[kind]}"
    low, high = lowest_without_exception(rates), highest_without_exception(rates)
    if low is not None and sum(rate >= low for rate in rates) * 2 >= len(rates):
        return f"η ≥ {low:g} on {MATRIX_WORDS[kind]}"
    if high is not None and sum(rate <= high for rate in rates) * 2 >= len(rates):
        return f"η ≤ {high:g} on {MATRIX_WORDS[kind]}"
    return ""


# Where a promise for all noise rates is kept.
WHERE_KEPT = (
    "Confirmed if so on all three matrices; conditional on a matrix, or on the lowest or highest"
    " noise rates of one if they are half of all or more."
)
WHERE_PROMISED = "At every noise rate where the true label is the commonest one of every class,"

register_claim(
    Claim(
        id="rounds-widen-regime",
        brief="highest all-right rate never falls, and rises",
        title="The 100 % regime expands with the rounds",
        text="The 100% population accuracy regime expands for student models with more"
        " distillation rounds.",
        place="Section 4, Figure 3a",
        rule="For every matrix and draw, the highest noise rate up to which all training samples"
        " are right must never fall from one round to the next, and must be higher in the last"
        " round than in the first. Confirmed on all three matrices; conditional on some.",
        exhibits=("fig:acc_gain",),
        runs=all_runs,
        judge=of_finished(all_runs, judge_wider_regime),
        order=110,
    )
)
register_claim(
    Claim(
        id="two-hot-all-right-synthetic",
        brief="all right wherever the truth is commonest",
        title="The two-hot student is all right wherever C_kk > C_kk'",
        text="As a result, the PLL student model achieves 100% population accuracy after a single"
        " round of distillation.",
        place="Section 5, before Theorem 5.1; Figure 3a",
        rule=f"{WHERE_PROMISED} all training samples must be right in every draw, ties for the"
        f" second place spread. {WHERE_KEPT}",
        exhibits=("fig:acc_gain",),
        runs=all_runs,
        judge=of_finished(all_runs, judge_two_hot_right),
        order=120,
    )
)
register_claim(
    Claim(
        id="two-hot-beats-rounds-synthetic",
        brief="as accurate as every round there",
        title="The two-hot student outperforms any round (synthetic)",
        text="The PLL student model not only replicates the effect of multi-round distillation in a"
        " single round but also achieves better performance in scenarios with high label-noise"
        " rates.",
        place="Section 5, Remark 1",
        rule=f"{WHERE_PROMISED} the student must be at least as accurate on training samples as the"
        f" best of all rounds, in every draw. {WHERE_KEPT}",
        exhibits=("fig:acc_gain",),
        runs=all_runs,
        judge=of_finished(all_runs, judge_two_hot_best),
        order=130,
    )
)
register_claim(
    Claim(
        id="truth-in-top-two-synthetic",
        brief="true of all training samples there",
        title="The true label is among the teacher's top two (synthetic)",
        text="The teacher's softmax output at the true label […] consistently ranks at least"
        " second-highest--even for label-noisy samples.",
        place="Section 5",
        rule=f"{WHERE_PROMISED} all training samples must have it among the teacher's two largest"
        f" outputs, in every draw. {WHERE_KEPT}",
        exhibits=("fig:clean_noisy_output",),
        runs=all_runs,
        judge=of_finished(all_runs, judge_top_two),
        order=140,
    )
)
