"""One run of the paper's synthetic experiment: all rounds and two-hot students at one noise rate.

Exact ties happen here, as many samples are alike to the block model. A sample whose true label
shares the top is not right, and is counted as tied. Labels that tie for the second place of the
teacher's outputs make the two-hot student depend on how ties are broken:

    lowest   the lowest label, as an argsort would
    random   any of them, drawn for every sample
    spread   the weight of the place is shared among them
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twohot.base import FloatArray, top_shares
from twohot_paper.maker import RunKind, register_runs
from twohot_paper.probe_run import Spread
from twohot_paper.synthetic_setting import SyntheticMatrix, known_matrix

TIE_RULES = ("lowest", "random", "spread")

# Outputs this close, as a fraction of the range of a sample's outputs, are tied. The solvers leave
# errors of 1e-14; margins of perturbed matrices, which have no ties, are above 1e-6.
TIED = 1e-9

# Digits of an output that are kept.
DIGITS = 6


@dataclass(frozen=True)
class SyntheticRun:
    """What a run is known by."""

    matrix: SyntheticMatrix
    noise_rate: float
    n_rounds: int = 7  # the teacher and six students


@dataclass(frozen=True)
class SyntheticModel:
    """One model on the training samples. Spreads are over samples."""

    accuracy: float  # share of the samples whose true label is on top, alone
    tied: float  # share of the samples whose true label shares the top
    clean_true: Spread  # output at the label of samples whose given label is true
    clean_other: Spread  # output at their other labels
    noisy_true: Spread | None  # output at the true label of the other samples, if there are any
    noisy_given: Spread | None  # output at their given label
    noisy_other: Spread | None  # output at their other labels
    scatter: float  # root mean square distance to the class mean, per that of class means to theirs


@dataclass(frozen=True)
class SyntheticResult:
    """What a run records."""

    noise_rate: float  # realised, in whole samples
    truth_leads: bool  # whether more of every class have their true label than any other one
    rounds: tuple[SyntheticModel, ...]
    two_hot: dict[str, SyntheticModel]  # by rule for ties
    truth_in_top_two: float  # share of the samples, in the teacher's outputs
    truth_in_top_two_noisy: float | None  # share of the samples with a wrong label
    residual: float  # largest of all fits
    converged: bool  # all fits


def measure_synthetic(run: SyntheticRun, _paths: object = None) -> SyntheticResult:
    """Solve the rounds and the two-hot students of a run, and judge them."""
    matrix = known_matrix(run.matrix)
    setting = matrix.setting
    true, given = setting.labels(run.noise_rate)
    noisy = true != given
    fitted = matrix.rounds(np.eye(setting.n_classes)[given], run.n_rounds)
    teacher = fitted[0].outputs
    students: dict[str, SyntheticModel] = {}
    targets, solved = {}, [*fitted]
    for rule in TIE_RULES:
        targets[rule] = _candidates(teacher, rule, run.matrix.seed)
        same = next((each for each in students if np.array_equal(targets[each], targets[rule])), "")
        if not same:
            solved += matrix.rounds(targets[rule], 1)
        students[rule] = students.get(same) or summarise(solved[-1].outputs, true, given)
    found = _rank_of(teacher, true) < 2
    return SyntheticResult(
        noise_rate=float(noisy.mean()),
        truth_leads=_truth_leads(setting.counts(run.noise_rate)),
        rounds=tuple(summarise(each.outputs, true, given) for each in fitted),
        two_hot=students,
        truth_in_top_two=float(found.mean()),
        truth_in_top_two_noisy=float(found[noisy].mean()) if noisy.any() else None,
        residual=max(each.residual for each in solved),
        converged=all(each.converged for each in solved),
    )


def summarise(
    outputs: FloatArray, true: NDArray[np.intp], given: NDArray[np.intp]
) -> SyntheticModel:
    """Return what the outputs of one model show."""
    samples, noisy = np.arange(len(true)), true != given
    others = np.ones(outputs.shape, dtype=bool)
    others[samples, true] = others[samples, given] = False
    at_true, at_given = outputs[samples, true], outputs[samples, given]
    tied, right = _ties_and_wins(outputs, true)
    return SyntheticModel(
        accuracy=float(right.mean()),
        tied=float(tied.mean()),
        clean_true=_spread(at_true[~noisy]) or Spread(0.0, 0.0),
        clean_other=_spread(outputs[~noisy][others[~noisy]]) or Spread(0.0, 0.0),
        noisy_true=_spread(at_true[noisy]),
        noisy_given=_spread(at_given[noisy]),
        noisy_other=_spread(outputs[noisy][others[noisy]]),
        scatter=_scatter(outputs, true),
    )


def _candidates(outputs: FloatArray, rule: str, seed: int) -> FloatArray:
    """Two-hot targets with one of the rules for ties."""
    slack = _slack(outputs)[:, np.newaxis]
    shares = top_shares(outputs, 2, slack, lowest=rule == "lowest")
    if rule != "random":
        return shares
    # Shares are 1/2 for those above the tie, less for those in it: order by them, then by lot.
    lots = np.random.default_rng(seed).uniform(0, 1e-6, size=shares.shape)
    chosen = np.argsort(shares + lots, axis=1)[:, -2:]
    targets = np.zeros_like(shares)
    np.put_along_axis(targets, chosen, 0.5, axis=1)
    return targets


def _slack(outputs: FloatArray) -> FloatArray:
    return np.asarray(TIED * np.ptp(outputs, axis=1))


def _rank_of(outputs: FloatArray, labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return how many labels are above a label in every row; those that are tied are not."""
    at_label = outputs[np.arange(len(labels)), labels] + _slack(outputs)
    return np.asarray((outputs > at_label[:, np.newaxis]).sum(axis=1))


def _ties_and_wins(
    outputs: FloatArray, true: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    samples = np.arange(len(true))
    others = outputs.copy()
    others[samples, true] = -np.inf
    margins = outputs[samples, true] - others.max(axis=1)
    slack = _slack(outputs)
    return np.abs(margins) <= slack, margins > slack


def _truth_leads(counts: NDArray[np.intp]) -> bool:
    wrong = counts - np.diag(np.diag(counts))
    return bool((np.diag(counts) > wrong.max(axis=1)).all())


def _scatter(outputs: FloatArray, true: NDArray[np.intp]) -> float:
    means = np.array([outputs[true == k].mean(axis=0) for k in np.unique(true)])
    within = np.square(outputs - means[true]).sum(axis=1).mean()
    between = np.square(means - means.mean(axis=0)).sum(axis=1).mean()
    return round(float(np.sqrt(within / between)), DIGITS)


def _spread(values: FloatArray) -> Spread | None:
    if not values.size:
        return None
    return Spread(round(float(values.mean()), DIGITS), round(float(values.std()), DIGITS))


register_runs(RunKind(SyntheticRun, SyntheticResult, measure_synthetic))
