"""Rules of the claims about the synthetic experiment and about the penalty.

Most claims use the runs of the figure of accuracies (`fig:acc_gain`): on three Gram matrices, with
several draws of the two perturbed ones, and at several noise rates. A claim is judged only if all
its runs are finished and converged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from twohot.base import FloatArray, counted
from twohot.theory import PairLevels, separation_at
from twohot_paper.claim import ClaimVerdict, by_parts, not_testable, rule, verdict_if
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Results, choose_exhibits
from twohot_paper.synthetic_makers import EigenvalueRun
from twohot_paper.synthetic_outputs import PAPER_LEVELS, Separation, SoftmaxErrors
from twohot_paper.synthetic_setting import MATRIX_NAMES, MATRIX_WORDS, SyntheticResult, SyntheticRun
from twohot_paper.table import Cell, Table, mean_of

HALF = 0.5  # noise rate of the figures with a single rate
TIES = "spread"  # the rule for ties with which the two-hot student is most accurate
DOMINATES = 2.0  # smallest ratio of eigenvalue K to the next one, in the last round
CROSSING = 3  # round from which the true label has the largest output, according to the paper
MANY = 1e4  # number of samples per class beyond which the paper claims a negligible error
NEGLIGIBLE = 0.01  # largest negligible error of an output
NEAR_TWO = (1.5, 2.5)  # range of q/p that counts as near 2

# Results of one draw of a matrix, by noise rate, lowest first.
Draw = dict[float, SyntheticResult]


def maker_of(exhibit_id: str) -> Any:
    """Return the maker of a figure, with the settings of the figure's TOML file."""
    (exhibit,) = choose_exhibits([exhibit_id])
    return exhibit.build()


def all_runs() -> list[SyntheticRun]:
    """Return the runs of the figure of accuracies."""
    return list(maker_of("fig:acc_gain").runs())


def runs_at_half() -> list[SyntheticRun]:
    """Return the runs with half of the labels wrong."""
    return [run for run in all_runs() if run.noise_rate == HALF]


def spectrum_runs() -> list[EigenvalueRun]:
    """Return the runs of the figure of eigenvalues."""
    return list(maker_of("fig:eigenspectrum").runs())


def rule_of_finished(
    claim: str, runs: Callable[[], list[Any]]
) -> Callable[[Callable[[Results], ClaimVerdict]], Callable[[Results], ClaimVerdict]]:
    """Return a decorator that registers the rule of a claim.

    If a run of `runs` is missing or did not converge, the claim is not testable.
    """

    def add(judge: Callable[[Results], ClaimVerdict]) -> Callable[[Results], ClaimVerdict]:
        def judge_if_finished(results: Results, _data: Sequence[DataSet]) -> ClaimVerdict:
            needed = runs()
            missing = sum(run not in results for run in needed)
            if missing:
                return not_testable(f"{missing} of {len(needed)} runs are missing.")
            stuck = sum(getattr(results[run], "converged", True) is False for run in needed)
            if stuck:
                return not_testable(f"{stuck} of {len(needed)} runs did not converge.")
            return replace(judge(results), basis=counted(len(needed), "run"))

        rule(claim)(judge_if_finished)
        return judge

    return add


def draws(results: Results, *, at: float | None = None) -> dict[str, list[Draw]]:
    """Return the results for each kind of matrix, as one `Draw` per draw of the matrix.

    If `at` is given, only the results at this noise rate are returned.
    """
    found: dict[str, dict[int, Draw]] = {kind: {} for kind in MATRIX_NAMES}
    for run in all_runs():
        if at is None or run.noise_rate == at:
            of_draw = found[run.matrix.kind].setdefault(run.matrix.seed, {})
            of_draw[run.noise_rate] = results[run]
    return {kind: list(by_seed.values()) for kind, by_seed in found.items()}


# Claims about accuracy: rounds, the two-hot student, the teacher's top two ------------------------


@rule_of_finished("rounds-widen-regime", all_runs)
def judge_wider_regime(results: Results) -> ClaimVerdict:
    """Judge whether later rounds tolerate more noise."""
    limits = {kind: [_limits(draw) for draw in found] for kind, found in draws(results).items()}
    kept = [kind for kind, found in limits.items() if all(map(_widens, found))]
    lowest = {
        kind: [min(each) for each in zip(*found, strict=True)] for kind, found in limits.items()
    }
    table = _by_round("Highest noise rate with all training samples right, all draws", lowest)
    steps = _listed({kind: f"{row[0]:g} to {row[-1]:g}" for kind, row in lowest.items()})
    evidence = (
        f"All training samples are right up to η, first to last round, in all draws: {steps}."
    )
    return _on_matrices(kept, evidence, table)


def _limits(draw: Draw) -> list[float]:
    """Return for every round the highest noise rate up to which all samples are right, or -1."""
    rates = sorted(draw)
    right = np.array([[each.accuracy == 1 for each in draw[rate].rounds] for rate in rates])
    n_right = np.logical_and.accumulate(right).sum(axis=0)  # (n_rounds,) lowest rates
    return [rates[n - 1] if n else -1.0 for n in n_right]


def _widens(limits: list[float]) -> bool:
    return limits == sorted(limits) and limits[-1] > limits[0]


def _lead(result: SyntheticResult) -> float:
    """Return how much the two-hot student's accuracy exceeds that of the best round."""
    return result.two_hot[TIES].accuracy - max(each.accuracy for each in result.rounds)


# Claims about all noise rates at which the true label is the most frequent one. Values: the tested
# quantity in words, the function that computes it, and its smallest value that confirms the claim.
WHERE_TRUTH_LEADS: dict[str, tuple[str, Callable[[SyntheticResult], float], float]] = {
    "two-hot-all-right-synthetic": (
        "two-hot student's training accuracy (%)",
        lambda each: each.two_hot[TIES].accuracy,
        1,
    ),
    "two-hot-beats-rounds-synthetic": (
        "two-hot student minus the best round, training accuracy (points)",
        _lead,
        0,
    ),
    "truth-in-top-two-synthetic": (
        "samples with the truth in the teacher's top two (%)",
        lambda each: each.truth_in_top_two,
        1,
    ),
}


def judge_where_truth_leads(claim: str, results: Results) -> ClaimVerdict:
    """Judge a claim about all noise rates at which the true label is the most frequent one."""
    what, shown, least = WHERE_TRUTH_LEADS[claim]
    kept: dict[str, dict[float, bool]] = {}
    rows: list[tuple[Cell, ...]] = []
    at_half = {}
    for kind, found in draws(results).items():
        for rate in found[0]:
            values = [shown(draw[rate]) for draw in found]
            if found[0][rate].truth_leads:
                kept.setdefault(kind, {})[rate] = min(values) >= least
                cell = mean_of(values, factor=100)
                rows.append((MATRIX_NAMES[kind], rate, cell, str(kept[kind][rate]).lower()))
        if HALF in kept.get(kind, {}):
            at_half[kind] = 100 * np.mean([shown(draw[HALF]) for draw in found])
    table = Table(what.capitalize(), ("Gram matrix", "η", what, "holds"), tuple(rows))
    counts = {k: f"at {sum(v.values())} of {len(v)} noise rates" for k, v in kept.items()}
    values_at_half = _listed({kind: f"{value:.1f}" for kind, value in at_half.items()}, ", ")
    evidence = f"Holds in all draws: {_listed(counts, ', ')}."
    evidence += f" {what.capitalize()} at η = .5: {values_at_half}."
    everywhere = all(all(rates.values()) for rates in kept.values())
    parts = [part for kind, rates in kept.items() if (part := _range(kind, rates))]
    return verdict_if("; ".join(parts), evidence, holds=everywhere, table=table)


def _range(kind: str, rates: dict[float, bool]) -> str:
    """Return the range of noise rates at which a claim holds on a matrix, as text.

    A range includes the lowest or the highest noise rate. If the claim holds in no range with at
    least half of the rates, the text is empty.
    """
    if all(rates.values()):
        return f"the Gram matrix is {MATRIX_WORDS[kind]}"
    for sign, ordered in (("≥", sorted(rates, reverse=True)), ("≤", sorted(rates))):
        held = [*takewhile(rates.__getitem__, ordered)]
        if len(held) * 2 >= len(rates):
            return f"η {sign} {held[-1]:g} on {MATRIX_WORDS[kind]}"
    return ""


for _claim in WHERE_TRUTH_LEADS:
    rule_of_finished(_claim, all_runs)(partial(judge_where_truth_leads, _claim))


# Claims about outputs, with half of the labels wrong ----------------------------------------------


@rule_of_finished("outputs-cluster", runs_at_half)
def judge_clusters(results: Results) -> ClaimVerdict:
    """Judge whether the outputs of a true class come closer together in every round."""
    series = {kind: _of_rounds(of_kind, "scatter") for kind, of_kind in _at_half(results).items()}
    kept = [kind for kind, values in series.items() if (np.diff(values, axis=1) < 0).all()]
    means = {kind: values.mean(axis=0).round(3).tolist() for kind, values in series.items()}
    table = _by_round("Scatter inside classes, divided by the scatter of class means", means)
    shown = _listed({kind: f"{row[0]:.2f} to {row[-1]:.2f}" for kind, row in means.items()})
    evidence = f"Scatter inside classes / scatter of class means, first to last round: {shown}."
    return _on_matrices(kept, evidence, table)


@rule_of_finished("spread-shrinks", runs_at_half)
def judge_spread(results: Results) -> ClaimVerdict:
    """Judge from which round on the standard deviation of outputs over samples decreases."""
    by_kind = _at_half(results)
    found = [*by_kind["repaired"], *by_kind["raw"]]
    labels = {
        "clean_true": "label of clean samples",
        "noisy_true": "true label of noisy samples",
        "noisy_given": "given label of noisy samples",
    }
    spreads = np.stack([_of_rounds(found, name, "std") for name in labels], axis=1)
    falls = np.atleast_1d((np.diff(spreads, axis=2) < 0).all(axis=(0, 1)))  # (n_rounds - 1,)
    n_rounds = len(falls) + 1
    first = n_rounds - int(np.argmin(falls[::-1])) if not falls.all() else 1
    means = spreads.mean(axis=0)
    columns = ("output at", *(f"t = {t}" for t in range(1, n_rounds + 1)))
    rows = [(k, *row.round(4).tolist()) for k, row in zip(labels.values(), means, strict=True)]
    table = Table(
        "Standard deviation of outputs over samples, mean over the draws of perturbed matrices",
        columns,
        (*rows,),
    )
    evidence = (
        f"Standard deviation of the output at the label of clean samples: {means[0, 0]:.3f},"
        f" {means[0, 1]:.3f}, … {means[0, -1]:.3f} in rounds 1, 2, … {n_rounds}, mean of"
        f" {len(found)} perturbed draws (in the block model, samples with equal labels have equal"
        " outputs)."
    )
    condition = f"t ≥ {first}, the spread of round {first} being larger than of round {first - 1}"
    early = first <= (n_rounds + 1) // 2
    return verdict_if(condition if early else "", evidence, holds=first == 1, table=table)


@rule_of_finished("clean-falls-noisy-rises", runs_at_half)
def judge_confidence(results: Results) -> ClaimVerdict:
    """Judge whether the output at the true label falls for clean, and rises for noisy samples."""
    found = [result for of_kind in _at_half(results).values() for result in of_kind]
    clean, noisy = (_of_rounds(found, name, "mean") for name in ("clean_true", "noisy_true"))
    falls, rises = bool((np.diff(clean) < 0).all()), bool((np.diff(noisy) > 0).all())
    evidence = (
        f"Output at the true label, mean of {len(found)} draws, first to last round: clean samples"
        f" {clean[:, 0].mean():.2f} to {clean[:, -1].mean():.2f}, noisy samples"
        f" {noisy[:, 0].mean():.2f} to {noisy[:, -1].mean():.2f}."
    )
    parts = ["clean samples"] * falls + ["noisy samples"] * rises
    return by_parts(parts, 2, evidence, f"for {' and '.join(parts)}")


@rule_of_finished("third-round-wins", runs_at_half)
def judge_crossing(results: Results) -> ClaimVerdict:
    """Judge whether noisy samples have more output at the true label from the third round on."""
    found = _at_half(results)
    kept = []
    for kind, of_kind in found.items():
        true, given = (_of_rounds(of_kind, f"noisy_{at}", "mean") for at in ("true", "given"))
        ahead = true > given
        if ahead[:, CROSSING - 1 :].all() and not ahead[:, 0].any():
            kept.append(kind)
    accuracy = {kind: _of_rounds(each, "accuracy")[:, CROSSING - 1] for kind, each in found.items()}
    shares = _listed({kind: f"{100 * v.mean():.0f} %" for kind, v in accuracy.items()}, ", ")
    evidence = (
        f"The mean output of noisy samples is larger at the true than at the given label from round"
        f" {CROSSING} on, and not for the teacher, for {len(kept)} of {len(found)} matrices."
        f" Samples right in round {CROSSING}: {shares}."
    )
    return _on_matrices(kept, evidence)


def _at_half(results: Results) -> dict[str, list[SyntheticResult]]:
    found = draws(results, at=HALF)
    return {kind: [draw[HALF] for draw in of_kind] for kind, of_kind in found.items()}


def _of_rounds(found: Sequence[SyntheticResult], name: str, part: str = "") -> FloatArray:
    """Return the values (n_draws, n_rounds) of the field `name`, or of its own field `part`."""
    values = [[getattr(each, name) for each in result.rounds] for result in found]
    return np.array([[getattr(each, part) for each in row] for row in values] if part else values)


# Claims about eigenvalues, the error of the linear theory, and the penalty for q/p near 2 ---------


@rule_of_finished("top-eigenvalues-dominate", spectrum_runs)
def judge_eigenvalues(results: Results) -> ClaimVerdict:
    """Judge whether the K largest eigenvalues of the averaging matrix dominate the others."""
    maker = maker_of("fig:eigenspectrum")
    last, power = maker.setting.n_classes, maker.n_rounds
    factors = {
        kind: np.array([results[run].factors for run in maker.of_kind(kind)])
        for kind in MATRIX_NAMES
    }
    ratios = {kind: values[:, last - 1] / values[:, last] for kind, values in factors.items()}
    kept = [
        kind
        for kind, values in ratios.items()
        if (values > 1).all() and (values**power >= DOMINATES).all()
    ]
    shown = _listed({k: f"{v.mean():.2f} to {(v**power).mean():.1f}" for k, v in ratios.items()})
    evidence = f"Eigenvalue {last} over eigenvalue {last + 1}, round 1 to {power}: {shown}."
    return _on_matrices(kept, evidence)


@rule("softmax-error-negligible")
def judge_error(_results: Results, _data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether the error of the linear theory is negligible for many samples."""
    maker: SoftmaxErrors = maker_of("fig:sm_error")
    first = sum(size < MANY for size in maker.n_per_class)
    found = {"the penalty": maker.at_penalty(), "the ridge": maker.at_ridge()}
    errors = {kept: max(max(of) for _, of in pairs[first:]) for kept, pairs in found.items()}
    of = maker.setting
    levels = PairLevels(of.n_classes, MANY, of.same_class, of.same_superclass)
    separation = separation_at(levels, l2=maker.l2)
    evidence = (
        f"Largest error of an output beyond n = 10⁴, all rounds: {errors['the penalty']:.4f} with"
        f" the penalty kept at {maker.l2:g}, where q/p is already {separation:.0f} at n = 10⁴;"
        f" {errors['the ridge']:.4f} with the ridge kept at {maker.ridge:g}."
    )
    small = [kept for kept, error in errors.items() if error <= NEGLIGIBLE]
    condition = f"{' and '.join(small)} is kept as samples become more"
    basis = f"{2 * len(maker.n_per_class)} exact solves"
    return by_parts(small, len(errors), evidence, condition, basis=basis)


@rule("separation-near-two")
def judge_separation(_results: Results, _data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether q/p is near 2 at the claimed penalties."""
    low, high = NEAR_TWO
    near, parts = [], []
    for norm in maker_of("fig:lambda_pq").squared_norms:
        of_norm = [Separation.of(name, norm) for name in PAPER_LEVELS]
        found = [each.at(each.claimed) for each in of_norm]
        parts.append(f"{min(found):.3g} to {max(found):.3g} at squared norm {norm:g}")
        if low <= min(found) and max(found) <= high:
            near.append(norm)
    evidence = f"q/p of the six datasets at the penalties of the text: {'; '.join(parts)}."
    basis = f"formulas of {len(PAPER_LEVELS)} datasets"
    norms = "".join(f"{norm:g}" for norm in near[:1])
    condition = f"features have a squared norm of about {norms}, not 1 as the text assumes"
    return verdict_if(condition if near else "", evidence, holds=1.0 in near, basis=basis)


def _on_matrices(kept: Sequence[str], evidence: str, table: Table | None = None) -> ClaimVerdict:
    """Return the verdict on a claim about all matrices, which holds on the matrices `kept`."""
    words = " and ".join(MATRIX_WORDS[kind] for kind in kept)
    return by_parts(kept, len(MATRIX_NAMES), evidence, f"for {words}", table=table)


def _by_round(title: str, values: Mapping[str, Sequence[float]]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (MATRIX_NAMES[kind], *row) for kind, row in values.items()
    )
    return Table(title, ("Gram matrix", *(f"t = {t}" for t in range(1, len(rows[0])))), rows)


def _listed(words: Mapping[str, str], between: str = "; ") -> str:
    """Return texts on matrices in one line, each after the name of its matrix."""
    return between.join(f"{MATRIX_WORDS[kind]} {each}" for kind, each in words.items())
