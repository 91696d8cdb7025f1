"""What each kind of probe does on rows held out: the evidence that theory alone cannot give.

Probes with their default penalties are fitted on all folds but one and predict that one. How often
they agree with the given labels there ranks them as their accuracy does, wherever the labels of a
class are right more often than they are any one other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from twohot._types import IntArray, Matrix
from twohot.audit._rows import LabelledRows
from twohot.distill.estimators import (
    STUDENT_RIDGE,
    TEACHER_RIDGE,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
)
from twohot.distill.probe import Probe

# Relative gradient at which a fit of a trial ends. Test accuracies at this and at the default of a
# millionth differ by less than a tenth of a point.
TRIAL_TOLERANCE = 1e-3


class Method(StrEnum):
    """A kind of probe."""

    PLAIN = "plain probe"
    ROUNDS = "several rounds"
    TWO_HOT = "two-hot student"
    ROBUST = "robust loss"


@dataclass(frozen=True, eq=False)
class Trial:
    """One kind of probe on rows it was not fitted on."""

    method: Method
    n_rounds: int  # fits one after the other, each on the outputs of the one before
    ridge: float
    predicted: IntArray  # (n_tried,), positions in the classes

    @property
    def name(self) -> str:
        """What tells it from the others."""
        detail = f"{self.n_rounds}" if self.method is Method.ROUNDS else f"ridge {self.ridge:g}"
        return f"{self.method} ({detail})"

    @property
    def code(self) -> str:
        """The probe, as a user makes it."""
        match self.method:
            case Method.PLAIN:
                return f"LinearProbe(ridge={self.ridge:g})"
            case Method.ROUNDS:
                return f"DistilledProbe(n_rounds={self.n_rounds})"
            case Method.TWO_HOT:
                return "PartialLabelProbe()"
            case Method.ROBUST:
                return 'LinearProbe(loss="gce")'


@dataclass(frozen=True, eq=False)
class Trials:
    """All kinds of probes on the same rows."""

    rows: IntArray  # (n_tried,), places in X of the rows tried
    given: IntArray  # (n_tried,), their given labels
    trials: tuple[Trial, ...]

    def agreement(self, trial: Trial) -> float:
        """Return the share of the rows whose prediction is the given label."""
        return float((trial.predicted == self.given).mean())

    def best(self, *methods: Method) -> Trial:
        """Return the trial of the highest agreement, the first of equals; of all or some kinds."""
        wanted = [trial for trial in self.trials if not methods or trial.method in methods]
        return max(wanted, key=self.agreement)

    def gain(self, trial: Trial, over: Trial) -> tuple[float, float]:
        """Return the difference of two agreements and its standard error, row by row."""
        rights = (trial.predicted == self.given).astype(np.float64)
        difference = rights - (over.predicted == self.given)
        return float(difference.mean()), float(difference.std() / np.sqrt(len(self.given)))

    def chance(self, trial: Trial) -> tuple[float, float]:
        """Return mean and standard deviation of the agreement over all orders of the predictions.

        With shares q of the given labels and p of the predictions (Hoeffding 1951),

            mean = Σ_k q_k p_k,    variance = Σ_kl q_k p_l (δ_kl - p_k - q_l + mean)² / (n - 1).
        """
        n_rows = len(self.given)
        n_classes = int(max(self.given.max(), trial.predicted.max())) + 1
        q = np.bincount(self.given, minlength=n_classes)[:, np.newaxis] / n_rows
        p = np.bincount(trial.predicted, minlength=n_classes) / n_rows
        mean = float((p @ q)[0])
        deviations = np.eye(n_classes) - p[:, np.newaxis] - q.T + mean
        return mean, float(np.sqrt((q * p * deviations**2).sum() / (n_rows - 1)))


def run_trials(
    data: LabelledRows,
    *,
    n_rounds: int,
    n_folds: int,
    max_rows: int,
    random_state: int,
    n_jobs: int | None,
    report: Callable[[str], None],
) -> Trials:
    """Try every kind of probe on held-out rows, at most `max_rows` rows in all."""
    rows = _chosen_rows(data, max_rows, random_state)
    given = data.labels[rows]
    folds = np.arange(len(rows)) % n_folds
    trials: list[Trial] = []

    def attempt(method: Method, ridge: float, probe: Probe) -> None:
        report(f"Trying a probe: {method} …")
        predicted = _predict_held_out(data.X, rows, given, folds, probe)
        for stage, labels in enumerate(predicted, start=1):
            # The first round is a plain probe. The student of two labels needs its teacher only.
            kind = Method.PLAIN if method is Method.ROUNDS and stage == 1 else method
            if method is not Method.TWO_HOT or stage == len(predicted):
                trials.append(Trial(kind, stage, ridge, labels))

    settings: dict[str, Any] = {"tol": TRIAL_TOLERANCE, "n_jobs": n_jobs}
    attempt(Method.PLAIN, TEACHER_RIDGE, LinearProbe(**settings))
    attempt(Method.ROUNDS, STUDENT_RIDGE, DistilledProbe(n_rounds=n_rounds, **settings))
    attempt(Method.TWO_HOT, STUDENT_RIDGE, PartialLabelProbe(**settings))
    attempt(Method.ROBUST, STUDENT_RIDGE, LinearProbe(loss="gce", **settings))
    return Trials(rows, given, tuple(trials))


def _chosen_rows(data: LabelledRows, max_rows: int, random_state: int) -> IntArray:
    """Return places of rows with a label, class after class, so that every n-th is a fair part."""
    shuffled = np.random.default_rng(random_state).permutation(np.flatnonzero(data.labelled))
    chosen = shuffled[:max_rows]
    return np.asarray(chosen[np.argsort(data.labels[chosen], kind="stable")])


def _predict_held_out(
    X: Matrix, rows: IntArray, given: IntArray, folds: IntArray, probe: Probe
) -> list[IntArray]:
    """Return the predictions of every round, each row's by a probe fitted on the other folds."""
    found: list[IntArray] = []
    for fold in range(int(folds.max()) + 1):
        held_out = folds == fold
        probe.fit(X[rows[~held_out]], given[~held_out])
        for stage, outputs in enumerate(probe.staged_predict_proba(X[rows[held_out]])):
            if stage == len(found):
                found.append(np.empty_like(given))
            found[stage][held_out] = probe.classes_[outputs.argmax(axis=1)]
    return found
