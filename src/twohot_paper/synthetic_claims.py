"""Claims about accuracy in the synthetic experiment: rounds, two-hot student, top two labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from twohot.base import counted
from twohot.theory import PairLevels, separation_at
from twohot_paper.claim import Answer, Claim, ClaimVerdict, not_testable, register_claim
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import choose_exhibits
from twohot_paper.maker import Maker, Results
from twohot_paper.synthetic_makers import SyntheticAccuracy, SyntheticGrid
from twohot_paper.synthetic_outputs import (
    PAPER_LEVELS,
    SeparationCurves,
    SeparationRun,
    SoftmaxErrorRun,
    SoftmaxErrors,
)
from twohot_paper.synthetic_run import SyntheticResult, SyntheticRun
from twohot_paper.synthetic_setting import MATRIX_NAMES, MATRIX_WORDS
from twohot_paper.table import Cell, Table, mean_of

# What the claims about the synthetic experiment have in common: its runs, by matrix and noise -----


M = TypeVar("M", bound=Maker)

HALF = 0.5  # the noise rate of the figures that have one
RULE = "spread"  # for ties; the kindest to the two-hot student

# Results of one draw of a matrix, by noise rate, lowest first.
Draw = dict[float, SyntheticResult]


def maker_of(exhibit_id: str, kind: type[M]) -> M:
    """Return the maker of a figure, as its file sets it."""
    (exhibit,) = choose_exhibits([exhibit_id])
    maker = exhibit.build()
    if not isinstance(maker, kind):
        raise TypeError(f"{exhibit_id} is made by {type(maker).__name__}, not {kind.__name__}")
    return maker


def accuracy_grid() -> SyntheticGrid:
    """Return the runs of the figure of accuracies."""
    return maker_of("fig:acc_gain", SyntheticAccuracy).grid


def all_runs(_data: Sequence[DataSet]) -> list[SyntheticRun]:
    """Return the whole grid."""
    return accuracy_grid().runs()


def runs_at_half(_data: Sequence[DataSet]) -> list[SyntheticRun]:
    """Return the runs with half of the labels wrong."""
    return [run for run in accuracy_grid().runs() if run.noise_rate == HALF]


def of_finished(
    runs: Callable[[Sequence[DataSet]], list[Any]], judge: Callable[[Results], ClaimVerdict]
) -> Callable[[Results, Sequence[DataSet]], ClaimVerdict]:
    """Return a judge that asks for all runs, converged, before it judges."""

    def judge_if_finished(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        needed = runs(data)
        missing = sum(run not in results for run in needed)
        if missing:
            return not_testable(f"{missing} of {len(needed)} runs are missing.")
        stuck = sum(getattr(results[run], "converged", True) is False for run in needed)
        if stuck:
            return not_testable(f"{stuck} of {len(needed)} runs did not converge.")
        return replace(judge(results), basis=counted(len(needed), "run"))

    return judge_if_finished


def draws(results: Results, *, at: float | None = None) -> dict[str, list[Draw]]:
    """Return the results by kind of matrix, one entry per draw."""
    found: dict[str, dict[int, Draw]] = {kind: {} for kind in MATRIX_NAMES}
    for run in all_runs(()):
        if at is None or run.noise_rate == at:
            of_draw = found[run.matrix.kind].setdefault(run.matrix.seed, {})
            of_draw[run.noise_rate] = results[run]
    return {kind: list(by_seed.values()) for kind, by_seed in found.items()}


def highest_without_exception(rates: Mapping[float, bool]) -> float | None:
    """Return the highest rate up to which all hold; None if the lowest does not."""
    highest = None
    for rate in sorted(rates):
        if not rates[rate]:
            break
        highest = rate
    return highest


def lowest_without_exception(rates: Mapping[float, bool]) -> float | None:
    """Return the lowest rate from which all hold; None if the highest does not."""
    return None if not rates else _negated(highest_without_exception({-r: rates[r] for r in rates}))


def _negated(rate: float | None) -> float | None:
    return None if rate is None else 0.0 - rate


def by_parts(
    kept: Sequence[str], n_parts: int, evidence: str, advice: str, table: Table | None = None
) -> ClaimVerdict:
    """Return the verdict on a claim of several parts: confirmed for all, for some, or for none."""
    if len(kept) == n_parts:
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    if not kept:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    return ClaimVerdict(Answer.CONDITIONAL, evidence, f"for {' and '.join(kept)}", table, advice)


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


# Claims about the penalty: the error of the linear theory, and the penalty for q/p near 2 ---------


MANY = 1e4  # samples per class, beyond which the error is claimed to be negligible
NEGLIGIBLE = 0.01  # a hundredth of the largest output
NEAR_TWO = (1.5, 2.5)


def _error_maker() -> SoftmaxErrors:
    return maker_of("fig:sm_error", SoftmaxErrors)


def error_runs(_data: Sequence[DataSet]) -> list[SoftmaxErrorRun]:
    """Return the runs of the figure of errors."""
    return _error_maker().plan()


def judge_error(results: Results) -> ClaimVerdict:
    """Judge whether the error of the linear theory is negligible for many samples."""
    maker = _error_maker()
    errors = {
        "the penalty": _largest(maker.at_penalty(), results),
        "the ridge": _largest(maker.at_ridge(), results),
    }
    setting = maker.setting
    levels = PairLevels(setting.n_classes, MANY, setting.same_class, setting.same_superclass)
    separation = separation_at(levels, l2=maker.l2)
    evidence = (
        f"Largest error of an output beyond n = 10⁴, all rounds: {errors['the penalty']:.4f} with"
        f" the penalty kept at {maker.l2:g}, where q/p is already {separation:.0f} at n = 10⁴;"
        f" {errors['the ridge']:.4f} with the ridge kept at {maker.ridge:g}."
    )
    advice = (
        "More samples do not make the linear theory exact at a penalty chosen for them; where it"
        " decides, solve the exact softmax."
    )
    small = [kept for kept, error in errors.items() if error <= NEGLIGIBLE]
    if len(small) == len(errors):
        return ClaimVerdict(Answer.CONFIRMED, evidence, advice=advice)
    if not small:
        return ClaimVerdict(Answer.REFUTED, evidence, advice=advice)
    condition = f"{small[0]} is kept as samples become more"
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, advice=advice)


def _largest(runs: Sequence[SoftmaxErrorRun], results: Results) -> float:
    return float(max(max(results[run].errors) for run in runs if run.n_per_class >= MANY))


def _separation_maker() -> SeparationCurves:
    return maker_of("fig:lambda_pq", SeparationCurves)


def separation_runs(_data: Sequence[DataSet]) -> list[SeparationRun]:
    """Return the runs of the figure of q/p."""
    return _separation_maker().plan()


def judge_separation(results: Results) -> ClaimVerdict:
    """Judge whether the claimed penalties bring q/p near 2."""
    maker = _separation_maker()
    low, high = NEAR_TWO
    near, parts = [], []
    for norm in maker.squared_norms:
        found = [results[maker.run_of(name, norm)].at_marked[0] for name in PAPER_LEVELS]
        parts.append(f"{min(found):.3g} to {max(found):.3g} at squared norm {norm:g}")
        if low <= min(found) and max(found) <= high:
            near.append(norm)
    evidence = f"q/p of the six data sets at the penalties of the text: {'; '.join(parts)}."
    advice = (
        "Choose the penalty by q/p or by ridge, K·N·λ/‖φ‖², and not by λ, which means another"
        " strength for every norm of the features."
    )
    if 1.0 in near:
        return ClaimVerdict(Answer.CONFIRMED, evidence, advice=advice)
    if not near:
        return ClaimVerdict(Answer.REFUTED, evidence, advice=advice)
    condition = f"features have a squared norm of about {near[0]:g}, not 1 as the text assumes"
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, advice=advice)


register_claim(
    Claim(
        id="softmax-error-negligible",
        brief="error at most 0.01, at fixed λ and fixed K²nλ",
        title="The linear theory is exact for many samples",
        text="The softmax error becomes negligible, especially as the number of samples exceeds"
        " 10⁴.",
        place="Appendix D.1, Assumption 1",
        rule=f"With {MANY:,.0f} samples per class and more, no output of any round may differ by"
        f" more than {NEGLIGIBLE:g} from the exact softmax. Confirmed if so with the penalty"
        " kept and with the ridge K²nλ kept; conditional on one of them.",
        exhibits=("fig:sm_error",),
        runs=error_runs,
        judge=of_finished(error_runs, judge_error),
        order=210,
    )
)
register_claim(
    Claim(
        id="separation-near-two",
        brief="q/p from 1.5 to 2.5 on all six",
        title="q/p is near 2 at the paper's penalties",
        text="To achieve a q/p ratio close to 2, λ should be selected around 10⁻³ for Caltech-101,"
        " Flowers-102, and StanfordCars, while around 10⁻⁴ for CIFAR-100, Caltech-256, and"
        " Food-101.",
        place="Appendix E.2",
        rule="At the claimed penalty, q/p from the printed formulas and the paper's correlations"
        f" must lie between {NEAR_TWO[0]} and {NEAR_TWO[1]} for all six data sets. Confirmed with"
        " features of unit norm, which the text assumes; conditional on another squared norm.",
        exhibits=("fig:lambda_pq",),
        runs=separation_runs,
        judge=of_finished(separation_runs, judge_separation),
        order=220,
    )
)
