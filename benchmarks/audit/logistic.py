"""scikit-learn's LogisticRegression, and cleanlab on top of it.

C is the one whose 5-fold predictions agree most with the noisy labels. A grid goes on in the
direction of its best until the best is inside, so it is never at a border.

CleanLearning comes twice: with that C, and with a C of its own, with which it agrees most with
noisy labels that were held out from all it does. It gets the out-of-sample probabilities of the
same folds: those it would make itself, as it splits by StratifiedKFold with its seed and clones its
classifier. `verify` checks that.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.audit.noisy_data import NoisyData
from benchmarks.audit.runs import Outcome, Score
from benchmarks.audit.stages import Stages
from twohot._extras import load_extra

PLAIN, CLEANED, TUNED = "LogisticRegression", "CleanLearning", "CleanLearning, own C"
DEFAULT_RULE, ARGMAX_RULE = "cleanlab, default", "cleanlab, argmax"
# Half a decade from one to the next; on the data sets here the best C is 0.3 … 30.
LADDER = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
FIRST = (1.0, 3.0)
N_FOLDS = 5
# CleanLearning makes five folds of its own within each, so it is held to as many of the five as
# have this many rows together: four on digits, one elsewhere.
HELD_OUT_ROWS = 1000
MAX_ITER = 10_000  # never reached: a fit takes tens to hundreds


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """What the folds tell about one C."""

    C: float
    probabilities: NDArray[np.floating]  # (n_samples, n_classes), out of sample
    agreement: float  # share of the noisy labels predicted


def logistic_and_cleanlab(noisy: NoisyData) -> Outcome:
    """Choose C, refit on all rows; then flag, drop the flagged rows and refit, as cleanlab does."""
    stages = Stages()
    folds: dict[float, CrossValidated] = {}

    def agreement(C: float) -> float:
        folds[C] = cross_validate(noisy, C, stages, "folds")
        return folds[C].agreement

    def tuned_agreement(C: float) -> float:
        with stages.measure(f"{TUNED}, C {C:g}"):
            return held_out_agreement(noisy, C)

    def probabilities(C: float) -> CrossValidated:
        if C not in folds:
            folds[C] = cross_validate(noisy, C, stages, f"{TUNED}, folds")
        return folds[C]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        plain, tuned = climb(agreement), climb(tuned_agreement)
        best = folds[most(plain)]
        scores = {
            PLAIN: _plain(noisy, best.C, stages),
            CLEANED: _cleaned(noisy, best, stages, CLEANED),
            TUNED: _cleaned(noisy, probabilities(most(tuned)), stages, TUNED),
            DEFAULT_RULE: _flagged(noisy, best, stages, DEFAULT_RULE, "prune_by_noise_rate"),
            ARGMAX_RULE: _flagged(noisy, best, stages, ARGMAX_RULE, "predicted_neq_given"),
        }
    not_converged = sum(issubclass(each.category, ConvergenceWarning) for each in caught)
    chosen = {
        "C": best.C,
        "agreement": {str(C): share for C, share in plain.items()},
        "tuned_C": most(tuned),
        "tuned_agreement": {str(C): share for C, share in tuned.items()},
        "not_converged": not_converged,
    }
    return Outcome(scores, stages.seconds, chosen)


def climb(agreement: Callable[[float], float]) -> dict[float, float]:
    """Return the agreement by C: steps of the ladder, until the best has a neighbour each side."""
    tried = {C: agreement(C) for C in FIRST}
    while True:
        best = LADDER.index(most(tried))
        beside = [C for C in LADDER[max(best - 1, 0) : best + 2] if C not in tried]
        if not beside:
            return tried
        tried |= {C: agreement(C) for C in beside}


def most(agreement: dict[float, float]) -> float:
    """Return the C that agrees most; the first of equals."""
    return max(agreement, key=agreement.__getitem__)


def cross_validate(noisy: NoisyData, C: float, stages: Stages, stage: str) -> CrossValidated:
    X, y = noisy.data.X, noisy.given_labels
    probabilities = np.zeros((len(X), noisy.data.n_classes))
    with stages.measure(f"{stage}, C {C:g}"):
        for train, held_out in split(noisy):
            fitted = classifier(C).fit(X[train], y[train])
            # A label that one row has is unknown where that row is held out.
            probabilities[np.ix_(held_out, fitted.classes_)] = fitted.predict_proba(X[held_out])
    return CrossValidated(C, probabilities, float((probabilities.argmax(axis=1) == y).mean()))


def held_out_agreement(noisy: NoisyData, C: float) -> float:
    """Return the share of held-out noisy labels that CleanLearning predicts.

    It makes its folds from the other rows alone. With probabilities from folds of all rows the
    held-out labels would have a say in which rows it drops, the more the larger C.
    """
    X, y = noisy.data.X, noisy.given_labels
    n_right = n_rows = 0
    for train, held_out in split(noisy):
        # It wants labels without a hole, which a label that one row has would leave if held out.
        present, codes = np.unique(y[train], return_inverse=True)
        fitted = clean_learning(C, seed=noisy.seed).fit(X[train], codes)
        n_right += int((present[fitted.predict(X[held_out])] == y[held_out]).sum())
        n_rows += len(held_out)
        if n_rows >= HELD_OUT_ROWS:
            break
    return n_right / n_rows


def split(noisy: NoisyData) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=noisy.seed)
    return folds.split(noisy.data.X, noisy.given_labels)


def classifier(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=MAX_ITER)


def _plain(noisy: NoisyData, C: float, stages: Stages) -> Score:
    with stages.measure("refit"):
        fitted = classifier(C).fit(noisy.data.X, noisy.given_labels)
    return Score(accuracy=noisy.accuracy(fitted.predict(noisy.data.X_test)))


def _cleaned(noisy: NoisyData, best: CrossValidated, stages: Stages, method: str) -> Score:
    with stages.measure(f"{method}, refit"):
        fitted = clean_learning(best.C).fit(
            noisy.data.X, noisy.given_labels, pred_probs=best.probabilities
        )
    return Score(accuracy=noisy.accuracy(fitted.predict(noisy.data.X_test)))


def clean_learning(C: float, seed: int | None = None) -> Any:
    # The dictionary must be new: cleanlab writes its counts into the default one, which the next
    # instance would then use. One job, so that all of its CPU is seen.
    return load_extra("cleanlab.classification", "bench", "comparisons").CleanLearning(
        classifier(C), seed=seed, cv_n_folds=N_FOLDS, find_label_issues_kwargs={"n_jobs": 1}
    )


def _flagged(
    noisy: NoisyData, best: CrossValidated, stages: Stages, method: str, rule: str
) -> Score:
    with stages.measure(method):
        flagged, quality = flag(noisy.given_labels, best.probabilities, rule)
    return noisy.detection(flagged, quality)


def flag(
    labels: NDArray[np.int64], probabilities: NDArray[np.floating], rule: str
) -> tuple[NDArray[np.bool_], NDArray[np.floating]]:
    """Return the rows that cleanlab flags, and its label quality."""
    find = load_extra("cleanlab.filter", "bench", "comparisons").find_label_issues
    rank = load_extra("cleanlab.rank", "bench", "comparisons").get_label_quality_scores
    flagged = find(labels, probabilities, filter_by=rule, n_jobs=1)
    return flagged, rank(labels, probabilities)


def verify(noisy: NoisyData, C: float) -> None:
    """Raise if CleanLearning on its own does anything else than with the probabilities of ours."""
    X, y = noisy.data.X, noisy.given_labels
    folds = cross_validate(noisy, C, Stages(), "folds")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "When X and pred_probs are both provided", UserWarning)
        shared = clean_learning(C).fit(X, y, pred_probs=folds.probabilities)
    alone = clean_learning(C, seed=noisy.seed).fit(X, y)
    if not np.array_equal(alone.clf.coef_, shared.clf.coef_):
        raise RuntimeError("CleanLearning no longer makes its folds as this comparison does.")
