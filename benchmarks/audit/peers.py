"""What a competent user does without this project, on the same rows and labels.

All choices are made on the noisy labels. LogisticRegression chooses C by 3 folds; its out-of-fold
probabilities of 5 folds go to cleanlab, whose flags and whose CleanLearning are compared.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors

from benchmarks.audit.data import Task
from twohot.base.optional import load_extra

RULES = {"default": "prune_by_noise_rate", "argmax": "predicted_neq_given"}
# Scikit-learn's default of 1 is the natural scale of C for rows of unit norm; the search goes on in
# the direction of the best value until that is inside or the ladder ends.
LADDER = (0.01, 0.1, 1.0, 10.0, 100.0)
FIRST = (1.0, 10.0)
CHOICE_FOLDS, FOLDS = 3, 5
# Iterations of lbfgs at scikit-learn's tolerance. A warning that they did not suffice is not an
# error: what was reached is used, as a user would.
MAX_ITER = 300
NEIGHBOURS = (5, 15, 40)


@dataclass(frozen=True)
class PeerResult:
    """What the peers reached on one draw."""

    n_rows: int
    noise_rate: float  # true fraction wrong
    digest: int  # of rows and labels
    accuracy: dict[str, float]  # on test rows, by peer
    f1: dict[str, float | None]  # of cleanlab's flags, by rule; None where no label is wrong
    flagged: dict[str, float]  # fraction of the labels, by rule
    chosen: dict[str, float]  # C and k


def measure_peers(task: Task) -> PeerResult:
    X, X_test = task.prepared, task.prepared_test
    # A class may have lost all labels: peers learn those that there are.
    present, y = np.unique(task.given, return_inverse=True)
    C = best_penalty(X, y)
    probabilities = out_of_fold(X, y, C)
    flags = {rule: flag(y, probabilities, name) for rule, name in RULES.items()}
    k, nearest = nearest_vote(X, y, X_test)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    predicted = {
        "LogisticRegression": classifier(C).fit(X, y).predict(X_test),
        "CleanLearning": cleaned(C).fit(X, y, pred_probs=probabilities).predict(X_test),
        "LDA": lda.fit(X, y).predict(X_test),
        "kNN": nearest,
    }
    return PeerResult(
        n_rows=len(y),
        noise_rate=float(task.wrong.mean()),
        digest=task.digest,
        accuracy={peer: task.accuracy(present[codes]) for peer, codes in predicted.items()},
        f1={rule: task.f1(flagged) for rule, flagged in flags.items()},
        flagged={rule: float(flagged.mean()) for rule, flagged in flags.items()},
        chosen={"C": C, "k": k},
    )


def classifier(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=MAX_ITER)


def cleaned(C: float) -> Any:
    """Return CleanLearning; one job, so that all of its CPU is seen.

    The dictionary must be new: cleanlab writes its counts into the default one, which the next
    instance would then use.
    """
    module = load_extra("cleanlab.classification", "bench", "comparisons")
    return module.CleanLearning(classifier(C), find_label_issues_kwargs={"n_jobs": 1})


def flag(y: NDArray[np.int64], probabilities: NDArray[np.float64], rule: str) -> NDArray[np.bool_]:
    find = load_extra("cleanlab.filter", "bench", "comparisons").find_label_issues
    flagged: NDArray[np.bool_] = find(y, probabilities, filter_by=rule, n_jobs=1)
    return flagged


def best_penalty(X: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """Return the C whose predictions agree most with held-out labels."""
    folds = StratifiedKFold(CHOICE_FOLDS, shuffle=True, random_state=0).split(X, y)
    fits = [(*fold, LogisticRegression(max_iter=MAX_ITER, warm_start=True)) for fold in folds]

    def agreement(C: float) -> float:
        right = 0
        for train, held_out, model in fits:
            model.set_params(C=C).fit(X[train], y[train])
            right += int((model.predict(X[held_out]) == y[held_out]).sum())
        return right / len(y)

    tried = {C: agreement(C) for C in FIRST}
    while True:
        best = LADDER.index(max(tried, key=tried.__getitem__))
        beside = [C for C in LADDER[max(best - 1, 0) : best + 2] if C not in tried]
        if not beside:
            return LADDER[best]
        tried |= {C: agreement(C) for C in beside}


def out_of_fold(X: NDArray[np.float32], y: NDArray[np.int64], C: float) -> NDArray[np.float64]:
    found = np.zeros((len(X), int(y.max()) + 1))
    for train, held_out in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        fitted = classifier(C).fit(X[train], y[train])
        # A label that one row has is unknown where that row is held out.
        found[np.ix_(held_out, fitted.classes_)] = fitted.predict_proba(X[held_out])
    return found


def nearest_vote(
    X: NDArray[np.float32], y: NDArray[np.int64], X_test: NDArray[np.float32]
) -> tuple[int, NDArray[np.int64]]:
    """Return k, chosen by leaving one out, and the votes of the k nearest rows on test rows.

    The distance is Euclidean, which orders rows of unit norm as the cosine does.
    """
    index = NearestNeighbors(algorithm="brute").fit(X)
    usable = [k for k in NEIGHBOURS if k < len(y)]
    # Without rows to ask about, no row is its own neighbour.
    nearest = index.kneighbors(n_neighbors=usable[-1], return_distance=False)
    agreement = {k: (winner(y[nearest[:, :k]]) == y).mean() for k in usable}
    best = max(usable, key=agreement.__getitem__)
    return best, winner(y[index.kneighbors(X_test, best, return_distance=False)])


def winner(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most frequent label of every row; the first of equals."""
    votes = np.zeros((len(labels), int(labels.max()) + 1), dtype=np.int32)
    np.add.at(votes, (np.arange(len(labels))[:, np.newaxis], labels), 1)
    return votes.argmax(axis=1)
