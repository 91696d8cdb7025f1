"""What the rows nearest to each say of its label, without itself.

A probe separates classes by straight lines. Where none can, as of a class in two groups or one
around another, it is wrong in whole regions, and right labels look wrong to it at random. Rows with
many features leave little that is not separable. Of few the nearest rows know more: each row is
voted on by the labels of the k rows nearest to it, a row at distance r with the weight

    1 - (r / r_k+1)²,    r_k+1 the distance of the first one that has no vote.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.neighbors import NearestNeighbors

from twohot._types import FloatArray, IntArray
from twohot.rows.rows import Rows, copy_prepared, stack
from twohot.select.agreement import mean, standard_error
from twohot.select.chance_agreement import CHANCE_ERRORS, chance_agreement
from twohot.select.grid import MANY_FEATURES

# How many rows have a vote; the number is taken by which most labels are predicted.
N_VOTERS = (20, 40, 80)
# Rows that vote, and that are voted on, at the most: all pairs of them are looked at.
MOST_VOTERS, MOST_ROWS = 20_000, 100_000
# Votes that all labels have by their frequency: what nobody nearby has is not impossible.
PRIOR_VOTES = 2.0
# Of rows that are too many, so many are asked about.
ASKED_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class Votes:
    """What the nearest rows say of some rows."""

    shares: FloatArray  # (n_rows, n_classes), of the votes, in float32
    n_voters: int
    codes: IntArray  # (n_rows,), the given labels

    @cached_property
    def agrees(self) -> FloatArray:
        """(n_rows,), one where the label has the most votes, else zero."""
        return agreement(self.shares, self.codes)

    @property
    def tell_anything(self) -> bool:
        """Whether they agree with more labels than they would in any other order."""
        chance, error = chance_agreement(self.codes, self.shares.argmax(axis=1))
        beyond = float(self.agrees.mean()) - chance
        return beyond > CHANCE_ERRORS * error + 1 / len(self.codes)

    @property
    def log_probabilities(self) -> FloatArray:
        """(n_rows, n_classes), of each class, in float32."""
        sizes = np.bincount(self.codes, minlength=self.shares.shape[1]) / len(self.codes)
        votes = self.n_voters * self.shares + PRIOR_VOTES * sizes.astype(np.float32)
        # A class that no row is of is as good as impossible.
        least = np.finfo(np.float32).tiny
        return np.asarray(np.log(np.maximum(votes / (self.n_voters + PRIOR_VOTES), least)))

    def errors_ahead(self, agrees: FloatArray) -> float:
        """Return by how many standard errors they agree with more labels than others do."""
        ahead, weights = self.agrees - agrees, np.ones(len(agrees))
        error = standard_error(ahead, weights)
        return mean(ahead, weights) / error if error else 0.0

    def explained(self, agrees: FloatArray) -> float:
        """Return the share of the labels that others do not agree with which these do beyond."""
        others = float(agrees.mean())
        return max(0.0, float(self.agrees.mean()) - others) / (1 - others) if others < 1 else 0.0


def agreement(said: FloatArray, codes: IntArray) -> FloatArray:
    """Return one where the likeliest class is the label, else zero."""
    return np.asarray(said.argmax(axis=1) == codes, dtype=np.float64)


def has_votes(rows: Rows) -> bool:
    """Return whether the nearest rows are asked: there are few features, and enough rows."""
    return bool(rows.n_features < MANY_FEATURES and rows.n_samples > N_VOTERS[0] + 1)


def votes_on(rows: Rows, codes: IntArray, n_classes: int) -> Votes:
    """Return what the nearest rows say of each row.

    Parameters
    ----------
    rows : Rows
        Their length counts, whether they are prepared to unit norm or not, and so does each feature
        in units of its own spread.
    codes : array of shape (n_rows,)
        The given labels.
    n_classes : int
    """
    points = _at_length(rows, np.arange(len(codes)))
    voters = np.arange(len(codes))
    if len(codes) > MOST_VOTERS:
        voters = np.sort(np.random.default_rng(0).choice(voters, MOST_VOTERS, replace=False))
    most = min(N_VOTERS[-1], len(voters) - 2)
    nearest, distances = _nearest_others(points, voters, most + 1)
    found = [
        Votes(_shares(codes[nearest[:, :k]], distances[:, : k + 1], n_classes), k, codes)
        for k in sorted({min(k, most) for k in N_VOTERS})
    ]
    return max(found, key=lambda each: float(each.agrees.mean()))


def votes_on_some(rows: Rows, codes: IntArray, n_classes: int) -> tuple[IntArray, Votes]:
    """Return some rows, if they are many, and what the nearest of these say of them."""
    asked = np.arange(len(codes))
    if len(codes) > ASKED_ROWS:
        asked = np.sort(np.random.default_rng(0).choice(asked, ASKED_ROWS, replace=False))
    return asked, votes_on(rows.take(asked), codes[asked], n_classes)


def _at_length(rows: Rows, index: IntArray) -> FloatArray:
    """Return some of the rows as long as they are, each feature in units of its own spread."""
    centring = replace(rows.preparation, normalize=False) if rows.preparation else None
    taken = rows.take(index, centring)
    centred = stack(list(taken.map(copy_prepared, np.dtype(np.float64))))
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 0, spread, 1))


def _nearest_others(
    points: FloatArray, voters: IntArray, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """Return the voters nearest to each point but itself, (n_points, n_nearest), and distances."""
    search = NearestNeighbors(n_neighbors=n_nearest + 1).fit(points[voters])
    distances, found = search.kneighbors(points)
    nearest = voters[found]
    others = nearest != np.arange(len(points))[:, np.newaxis]
    # One that is not among its nearest, or no voter, loses the last of them.
    others[others.all(axis=1), -1] = False
    shape = len(points), n_nearest
    return nearest[others].reshape(shape), distances[others].reshape(shape)


def _shares(labels: IntArray, distances: FloatArray, n_classes: int) -> FloatArray:
    """Return the share of the votes that each class has (n_rows, n_classes).

    Distances (n_rows, n_voters + 1) have one more, of the first that has no vote.
    """
    farthest = np.maximum(distances[:, -1:], np.finfo(np.float64).tiny)
    weights = 1 - (distances[:, :-1] / farthest) ** 2
    # Where all are as far, all have a vote.
    weights[weights.sum(axis=1) <= 0] = 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    shares = np.zeros((len(labels), n_classes), np.float32)
    np.add.at(shares, (np.arange(len(labels))[:, np.newaxis], labels), weights)
    return shares
