"""The search: candidates fitted side by side on every split, judged on the rows left out.

All splits share the prepared features and their principal axes, so that a split costs no set-up and
its coefficients are a start for any other fit. A candidate is fitted on all splits before the next
one is chosen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from twohot._types import FloatArray, IntArray, Round
from twohot.distill.rounds import fit_round, next_targets, record_round
from twohot.distill.targets import StoredTargets, one_hot
from twohot.rows.coordinates import Coordinates
from twohot.rows.threads import map_blocks
from twohot.select import candidates as grid
from twohot.select.agreement import (
    Calibration,
    HeldOut,
    calibrate,
    judge_logits,
    mean,
    pool,
    standard_error,
)
from twohot.select.candidates import Candidate
from twohot.solve.fit import Settings
from twohot.solve.lbfgs import Solution
from twohot.solve.objective import Evaluation
from twohot.solve.secants import History

if TYPE_CHECKING:
    from twohot.solve.terms import Targets

Report = Callable[["Trial"], None]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to fit on and rows left out."""

    fitted: Coordinates
    fitted_labels: StoredTargets
    left_out: Coordinates
    left_out_labels: IntArray


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate, fitted and judged."""

    candidate: Candidate
    evaluations: list[Evaluation]  # one a split
    predicted: IntArray  # (n,), most likely class of every row left out
    agrees: FloatArray  # (n,), one where the label of a row left out is predicted, else zero
    calibration: Calibration
    agreement: float  # share of the held-out labels that are predicted
    agreement_error: float  # its standard error
    n_passes: float  # over the rows fitted on, all splits together

    @property
    def noise_rate(self) -> float:
        """Share of labels drawn at random that suits the candidate best."""
        return self.calibration.noise_rate


class Search:
    """Candidates tried so far on given splits."""

    def __init__(
        self,
        coordinates: Coordinates,
        labels: IntArray,
        splits: Sequence[tuple[IntArray, IntArray]],
        settings: Settings,
        report: Report | None = None,
    ) -> None:
        self.coordinates = coordinates
        self.labels = labels
        self.settings = settings
        self.report = report
        self.trials: dict[Candidate, Trial] = {}
        features = coordinates.features
        self.n_classes = features.n_classes
        left_out = np.concatenate([rows for _, rows in splits])
        self.left_out_labels = labels[left_out]
        weights = features.given_weights
        self.weights = np.ones(len(left_out)) if weights is None else weights[left_out]
        self.splits = [
            Split(
                replace(coordinates, features=features.take(fitted)),
                one_hot(labels[fitted], self.n_classes),
                replace(coordinates, features=features.take(rows)),
                labels[rows],
            )
            for fitted, rows in splits
        ]

    def run(self) -> Trial:
        """Try what is worth trying, and return the best."""
        medium, weak = self.attempt(grid.TEACHER_30), self.attempt(grid.TEACHER_10)
        # By likelihood: where one class has nearly all rows, many penalties agree alike.
        if self._is_likelier(medium, weak):
            self.attempt(grid.TEACHER_100)
        else:
            self._weaken(weak, self._is_likelier)
        if self.better(self.attempt(grid.ROUND_2), weak):
            self.attempt(grid.ROUND_3)
        self.attempt(grid.PARTIAL)
        first = self.attempt(grid.FIRST_ROBUST)
        if not self._weaken(first, self.better):
            self.attempt(grid.stronger(first.candidate))
        robust = [trial for key, trial in self.trials.items() if key.method == grid.ROBUST]
        for candidate in grid.robust_rounds(self.best(robust).candidate):
            self.attempt(candidate)
        return self.best(list(self.trials.values()))

    def _weaken(self, trial: Trial, gains: Callable[[Trial, Trial], bool]) -> bool:
        """Try smaller penalties while each gains over the one before; return whether any did."""
        n_gained = 0
        while grid.can_be_weaker(trial.candidate):
            weaker = self.attempt(grid.weaker(trial.candidate))
            if not gains(weaker, trial):
                break
            trial, n_gained = weaker, n_gained + 1
        return n_gained > 0

    def _is_likelier(self, one: Trial, other: Trial) -> bool:
        return self._likelihood(one) > self._likelihood(other)

    def attempt(self, candidate: Candidate) -> Trial:
        """Fit a candidate on every split and judge it on the rows left out."""
        parents = [
            None if key is None else self.trials[key]
            for key in (candidate.teacher, candidate.start)
        ]
        evaluations, judged, n_passes = [], [], 0.0
        for place, split in enumerate(self.splits):
            teacher, start = (
                None if trial is None else trial.evaluations[place] for trial in parents
            )
            solution, targets = _fit(
                split.fitted,
                split.fitted_labels,
                candidate,
                start if teacher is None else teacher,
                replace(self.settings, tol=candidate.tol, min_iter=grid.LEAST_STEPS),
            )
            evaluations.append(solution.evaluation)
            n_passes += solution.n_passes + targets.making_passes
            judged.append(judge(split, solution.evaluation))
        held_out = pool(judged)
        agrees = (held_out.predicted == self.left_out_labels).astype(float)
        trial = Trial(
            candidate,
            evaluations,
            held_out.predicted,
            agrees,
            calibrate(held_out, self.n_classes, self.weights),
            agreement=mean(agrees, self.weights),
            agreement_error=standard_error(agrees, self.weights),
            n_passes=n_passes,
        )
        self.trials[candidate] = trial
        if self.report is not None:
            self.report(trial)
        return trial

    def better(self, one: Trial, other: Trial) -> bool:
        """Return whether one trial is better than another."""
        return self.best([other, one]) is one

    def best(self, trials: list[Trial]) -> Trial:
        """Return the trial that agrees most, or one that cannot be told from it and is likelier.

        1. Within one standard error of the largest agreement,
        2. where the noise looks uniform, also within one of the largest likelihood,
        3. the method that did best where it was measured, and of that the likeliest, or, where
           the likelihood has no say, the one with the largest penalty.
        """
        near = self._near(trials, lambda trial: trial.agrees)
        if not self._noise_looks_uniform():
            return max(near, key=lambda trial: (trial.candidate.preference, trial.candidate.ridge))
        near = self._near(near, lambda trial: trial.calibration.likelihood)
        return max(near, key=lambda trial: (trial.candidate.preference, self._likelihood(trial)))

    def _near(self, trials: list[Trial], score: Callable[[Trial], FloatArray]) -> list[Trial]:
        """Return the trials whose score is within one standard error of the best."""
        top = max(trials, key=lambda trial: mean(score(trial), self.weights))
        near = []
        for trial in trials:
            difference = score(top) - score(trial)
            if mean(difference, self.weights) <= standard_error(difference, self.weights):
                near.append(trial)
        return near

    def _noise_looks_uniform(self) -> bool:
        """Return whether a robust probe is the likeliest of all.

        Outputs of cross-entropy follow any noise, those of a robust probe pass over it. Where the
        former are likelier, noise has a structure that the likelihood does not know of.
        """
        likeliest = max(self.trials.values(), key=self._likelihood)
        return likeliest.candidate.loss == "gce"

    def _likelihood(self, trial: Trial) -> float:
        """Return the mean likelihood of the held-out labels."""
        return mean(trial.calibration.likelihood, self.weights)

    def refit(self, best: Trial) -> list[Round]:
        """Fit a candidate on all rows, from where the search left it."""
        given = one_hot(self.labels, self.n_classes)
        rounds, last = [], None
        for candidate in best.candidate.chain():
            start = self.trials[candidate].evaluations[0].coef
            # Only the last round is predicted with; what it learns from need not be finished.
            tol = self.settings.tol if candidate is best.candidate else candidate.tol
            settings = replace(self.settings, tol=tol, start=start)
            solution, targets = _fit(self.coordinates, given, candidate, last, settings)
            plan = candidate.plan(self.coordinates)
            rounds.append(record_round(self.coordinates, solution, plan, targets))
            last = solution.evaluation
        return rounds


def _fit(
    coordinates: Coordinates,
    given: StoredTargets,
    candidate: Candidate,
    last: Evaluation | None,
    settings: Settings,
) -> tuple[Solution, "Targets"]:
    """Fit a candidate's last round from its teacher, or from its start; return what was fitted."""
    plan = candidate.plan(coordinates)
    targets: Targets = given
    if candidate.teacher is not None and last is not None:
        targets = next_targets(coordinates, given, last, plan)
    history = History(coordinates.features.dtype)
    return fit_round(coordinates, targets, plan, last, settings, history=history), targets


def judge(split: Split, evaluation: Evaluation) -> HeldOut:
    """Return what coefficients say about the rows left out, in one pass over them."""
    features = split.left_out.features
    coef = split.left_out.spectrum.to_features(evaluation.coef).astype(features.dtype)

    def judged(block: int) -> HeldOut:
        labels = split.left_out_labels[features.rows(block)]
        return judge_logits(features.block(block).project(coef), labels)

    return pool(list(map_blocks(judged, features.n_blocks, split.left_out.n_jobs)))
