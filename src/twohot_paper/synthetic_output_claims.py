"""Claims about the outputs of the synthetic experiment, with half of the labels wrong."""

from collections.abc import Iterable, Sequence

import numpy as np

from twohot_paper.claim import Answer, Claim, ClaimVerdict, register_claim
from twohot_paper.data_set import DataSet
from twohot_paper.maker import Results
from twohot_paper.synthetic_claims import HALF, by_parts, draws, maker_of, of_finished, runs_at_half
from twohot_paper.synthetic_makers import EigenvalueRun, SyntheticEigenvalues
from twohot_paper.synthetic_run import SyntheticModel, SyntheticResult
from twohot_paper.synthetic_setting import MATRIX_NAMES, MATRIX_WORDS
from twohot_paper.table import Table

DOMINATES = 2.0  # times as large
CROSSING = 3  # the round from which the text has the true label on top


def _at_half(results: Results, *, perturbed: bool = False) -> dict[str, list[SyntheticResult]]:
    found = draws(results, at=HALF)
    return {
        kind: [draw[HALF] for draw in of_kind]
        for kind, of_kind in found.items()
        if not (perturbed and kind == "block")
    }


def _all(found: dict[str, list[SyntheticResult]]) -> list[SyntheticResult]:
    return [result for of_kind in found.values() for result in of_kind]


def judge_clusters(results: Results) -> ClaimVerdict:
    """Judge whether outputs gather by true class from round to round."""
    found = _at_half(results)
    series = {
        kind: np.array([[each.scatter for each in result.rounds] for result in of_kind])
        for kind, of_kind in found.items()
    }
    fall = {kind: bool((np.diff(values, axis=1) < 0).all()) for kind, values in series.items()}
    columns = ("Gram matrix", *(f"t = {t}" for t in range(1, _n_rounds(found) + 1)))
    rows = [
        (MATRIX_NAMES[k], *values.mean(axis=0).round(3).tolist()) for k, values in series.items()
    ]
    table = Table("Scatter inside classes, per that between class means", columns, tuple(rows))
    shown = "; ".join(
        f"{MATRIX_WORDS[kind]} {row[1]:.2f} to {row[-1]:.2f}"
        for kind, row in zip(series, rows, strict=True)
    )
    evidence = f"Scatter inside classes per scatter of class means, first to last round: {shown}."
    advice = "Late rounds say which class a sample is near, and little of its own label."
    kept = [MATRIX_WORDS[kind] for kind, holds in fall.items() if holds]
    return by_parts(kept, len(fall), evidence, advice, table)


def judge_spread(results: Results) -> ClaimVerdict:
    """Judge from which round on the spread of outputs over samples shrinks."""
    found = _all(_at_half(results, perturbed=True))
    names = ("clean_true", "noisy_true", "noisy_given")
    spreads = np.array(
        [
            [[getattr(each, name).std for each in result.rounds] for name in names]
            for result in found
        ]
    )
    falls = np.atleast_1d((np.diff(spreads, axis=2) < 0).all(axis=(0, 1)))  # (n_rounds - 1,)
    n_rounds = len(falls) + 1
    first = n_rounds - int(np.argmin(falls[::-1])) if not falls.all() else 1
    means = spreads.mean(axis=0)
    columns = ("output at", *(f"t = {t}" for t in range(1, n_rounds + 1)))
    labels = (
        "label of clean samples",
        "true label of noisy samples",
        "given label of noisy samples",
    )
    rows = [(label, *row.round(4).tolist()) for label, row in zip(labels, means, strict=True)]
    table = Table("Standard deviation over samples, mean of all perturbed draws", columns, (*rows,))
    evidence = (
        f"Standard deviation of the output at the label of clean samples: {means[0, 0]:.3f},"
        f" {means[0, 1]:.3f}, … {means[0, -1]:.3f} in rounds 1, 2, … {n_rounds}, mean of"
        f" {len(found)} perturbed draws (in the block model samples of a kind do not differ)."
    )
    advice = "A student's outputs may differ more between samples than its teacher's."
    if first == 1:
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    if first > (n_rounds + 1) // 2:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    condition = f"t ≥ {first}, the spread of round {first} being larger than of round {first - 1}"
    return ClaimVerdict(Answer.CONDITIONAL, evidence, condition, table, advice)


def judge_confidence(results: Results) -> ClaimVerdict:
    """Judge whether clean samples lose and noisy samples gain confidence in the true label."""
    found = _all(_at_half(results))
    clean = _means([result.rounds for result in found], "clean_true")
    noisy = _means([result.rounds for result in found], "noisy_true")
    falls, rises = bool((np.diff(clean) < 0).all()), bool((np.diff(noisy) > 0).all())
    evidence = (
        f"Output at the true label, mean of {len(found)} draws, first to last round: clean samples"
        f" {clean[:, 0].mean():.2f} to {clean[:, -1].mean():.2f}, noisy samples"
        f" {noisy[:, 0].mean():.2f} to {noisy[:, -1].mean():.2f}."
    )
    advice = "Do not read the confidence of a late round as a probability of being right."
    parts = ["clean samples"] * falls + ["noisy samples"] * rises
    return by_parts(parts, 2, evidence, advice)


def judge_crossing(results: Results) -> ClaimVerdict:
    """Judge whether noisy samples have the true label on top from the third round on."""
    found = _at_half(results)
    ahead = {
        kind: _means([result.rounds for result in of_kind], "noisy_true")
        > _means([result.rounds for result in of_kind], "noisy_given")
        for kind, of_kind in found.items()
    }
    kept = [
        MATRIX_WORDS[kind]
        for kind, values in ahead.items()
        if values[:, CROSSING - 1 :].all() and not values[:, 0].any()
    ]
    accuracy = {
        kind: np.mean([result.rounds[CROSSING - 1].accuracy for result in of_kind])
        for kind, of_kind in found.items()
    }
    shares = ", ".join(f"{MATRIX_WORDS[k]} {100 * v:.0f} %" for k, v in accuracy.items())
    evidence = (
        f"The mean output of noisy samples is larger at the true than at the given label from round"
        f" {CROSSING} on, and not for the teacher, for {len(kept)} of {len(ahead)} matrices."
        f" Samples right in round {CROSSING}: {shares}."
    )
    advice = "On average is not everywhere: some samples need more rounds."
    return by_parts(kept, len(ahead), evidence, advice)


def eigenvalue_runs(_data: Sequence[DataSet]) -> list[EigenvalueRun]:
    """Return the runs of the figure of eigenvalues."""
    return _eigenvalue_maker().plan()


def judge_eigenvalues(results: Results) -> ClaimVerdict:
    """Judge whether the K leading eigenvalues of the averaging matrix leave the others behind."""
    maker = _eigenvalue_maker()
    last, power = maker.setting.n_classes, maker.n_rounds
    ratios = {
        kind: np.array([_ratio(results[run].factors, last) for run in maker.of_kind(kind)])
        for kind in MATRIX_NAMES
    }
    kept = [
        MATRIX_WORDS[kind]
        for kind, values in ratios.items()
        if (values > 1).all() and (values**power >= DOMINATES).all()
    ]
    shown = "; ".join(
        f"{MATRIX_WORDS[kind]} {values.mean():.2f} to {(values**power).mean():.1f}"
        for kind, values in ratios.items()
    )
    evidence = f"Eigenvalue {last} over eigenvalue {last + 1}, round 1 to {power}: {shown}."
    advice = "What a class has in common outlives what single labels add; a small ridge slows it."
    return by_parts(kept, len(ratios), evidence, advice)


def _eigenvalue_maker() -> SyntheticEigenvalues:
    return maker_of("fig:eigenspectrum", SyntheticEigenvalues)


def _ratio(factors: list[float], last: int) -> float:
    return factors[last - 1] / factors[last]


def _means(draws_of_rounds: Iterable[Sequence[SyntheticModel]], name: str) -> np.ndarray:
    """(n_draws, n_rounds) means of an output over samples."""
    return np.array([[getattr(each, name).mean for each in rounds] for rounds in draws_of_rounds])


def _n_rounds(found: dict[str, list[SyntheticResult]]) -> int:
    return len(_all(found)[0].rounds)


register_claim(
    Claim(
        id="outputs-cluster",
        brief="scatter within classes falls every round",
        title="Outputs cluster by true class",
        text="As the distillation round t increases, instances form distinct clusters based on"
        " their true labels.",
        place="Section 3, Figure 2b",
        rule="With half of the labels wrong, the scatter of outputs around their class mean, per"
        " scatter of the class means, must fall from every round to the next in every draw."
        " Confirmed on all three matrices; conditional on some.",
        exhibits=("fig:output_clst", "fig:output_evolution_full"),
        runs=runs_at_half,
        judge=of_finished(runs_at_half, judge_clusters),
        order=150,
    )
)
register_claim(
    Claim(
        id="spread-shrinks",
        brief="standard deviations fall every round",
        title="The spread of outputs shrinks with the round (synthetic)",
        text="The shaded region shrinks with t due to label clustering.",
        place="Figure 3b",
        rule="With half of the labels wrong, the standard deviation over samples of the output at"
        " the label of clean samples, and at the true and at the given label of noisy ones, must"
        " fall from every round to the next in every perturbed draw. Conditional if it does so from"
        " a round in the first half on.",
        exhibits=("fig:clean_noisy_output",),
        runs=runs_at_half,
        judge=of_finished(runs_at_half, judge_spread),
        order=160,
    )
)
register_claim(
    Claim(
        id="clean-falls-noisy-rises",
        brief="both means move so every round",
        title="Clean confidence falls, noisy confidence rises (synthetic)",
        text="The softmax output (or confidence) for the true label decreases in clean samples"
        " while increasing in noisy samples due to the label-averaging effect.",
        place="Section 5, Figure 3b",
        rule="With half of the labels wrong, the mean output at the true label must fall from every"
        " round to the next for clean samples and rise for noisy ones, in every draw on every"
        " matrix. Conditional if one of the two does.",
        exhibits=("fig:clean_noisy_output",),
        runs=runs_at_half,
        judge=of_finished(runs_at_half, judge_confidence),
        order=170,
    )
)
register_claim(
    Claim(
        id="third-round-wins",
        brief="mean at truth above given label from round 3",
        title="At 50 % noise the true label wins from round 3 on",
        text="After a few rounds of distillation (t ≥ 3), the true label begins to attain the"
        " highest value in the softmax output.",
        place="Section 4, Figure 3b",
        rule="With half of the labels wrong, the mean output of noisy samples must be larger at the"
        f" true than at the given label in round {CROSSING} and all later ones, and not for the"
        " teacher, in every draw. Confirmed on all three matrices; conditional on some.",
        exhibits=("fig:clean_noisy_output",),
        runs=runs_at_half,
        judge=of_finished(runs_at_half, judge_crossing),
        order=180,
    )
)
register_claim(
    Claim(
        id="top-eigenvalues-dominate",
        brief="ratio of eigenvalues K and K+1 grows to 2",
        title="Only the top K eigenvalues stay",
        text="Notably, only K(=4) top-eigenvalues dominate the others as t progresses.",
        place="Section 3, Figure 2a",
        rule="The K-th eigenvalue of the averaging matrix over the next one must grow with every"
        f" round and reach {DOMINATES:g} in the last, in every draw. Confirmed on all three"
        " matrices; conditional on some.",
        exhibits=("fig:eigenspectrum",),
        runs=eigenvalue_runs,
        judge=of_finished(eigenvalue_runs, judge_eigenvalues),
        order=190,
    )
)
