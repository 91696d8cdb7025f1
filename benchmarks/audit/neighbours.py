"""A vote among the nearest neighbours, their number chosen on the noisy labels.

They are nearest by cosine where rows have unit norm, by distance where rows are as they come.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from benchmarks.audit.noisy_data import NoisyData
from benchmarks.audit.runs import Outcome
from benchmarks.audit.stages import Stages

VOTE = "kNN vote"
NEIGHBOURS = (5, 10, 15, 30, 50, 100)


def vote(noisy: NoisyData) -> Outcome:
    """Choose the number by leave-one-out agreement; flag where the vote is not the given label."""
    stages = Stages()
    y, n_classes = noisy.given_labels, noisy.data.n_classes
    with stages.measure("neighbours"):
        metric = "cosine" if noisy.data.is_prepared else "euclidean"
        index = NearestNeighbors(metric=metric, algorithm="brute").fit(noisy.data.X)
        # Without rows to ask about, no row is its own neighbour.
        nearest = index.kneighbors(n_neighbors=NEIGHBOURS[-1], return_distance=False)
    with stages.measure("choice"):
        agreement = {
            k: float((count(y[nearest[:, :k]], n_classes).argmax(axis=1) == y).mean())
            for k in NEIGHBOURS
        }
        best = max(agreement, key=lambda k: agreement[k])
        votes = count(y[nearest[:, :best]], n_classes)
    flagged = votes.argmax(axis=1) != y
    quality = votes[np.arange(len(y)), y] / best
    with stages.measure("predict"):
        nearest = index.kneighbors(noisy.data.X_test, best, return_distance=False)
        predicted = count(y[nearest], n_classes).argmax(axis=1)
    score = noisy.detection(flagged, quality, noisy.accuracy(predicted))
    chosen = {"n_neighbors": best, "agreement": {str(k): share for k, share in agreement.items()}}
    return Outcome({VOTE: score}, stages.seconds, chosen)


def count(labels: NDArray[np.int64], n_classes: int) -> NDArray[np.int32]:
    """Return the votes for every class; the first of equals wins, as in KNeighborsClassifier."""
    votes = np.zeros((len(labels), n_classes), dtype=np.int32)
    np.add.at(votes, (np.arange(len(labels))[:, np.newaxis], labels), 1)
    return votes
