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
from threadpoolctl import threadpool_limits

from twohot._types import FloatArray, IntArray
from twohot.rows.preparation import Preparation
from twohot.rows.rows import Rows, copy_prepared, stack
from twohot.rows.threads import count_threads
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
# From so many features on all distances are computed: a tree would look at nearly all, and slowly.
TREE_FEATURES = 10


@dataclass(frozen=True, eq=False)
class Voters:
    """Rows that vote by their labels, as long as they are, each feature in units of its spread."""

    points: FloatArray  # (n_voters, n_features)
    codes: IntArray  # (n_voters,)
    centring: Preparation | None
    spread: FloatArray  # (n_features,)
    n_threads: int

    def place(self, rows: Rows) -> FloatArray:
        """Return where rows of the same features are among the voters."""
        return _at_length(rows, self.centring) / self.spread

    def nearest(self, points: FloatArray, n_nearest: int) -> tuple[IntArray, FloatArray]:
        """Return the voters nearest to each point, (n_points, n_nearest), and their distances."""
        by = "kd_tree" if len(self.spread) < TREE_FEATURES else "brute"
        search = NearestNeighbors(n_neighbors=n_nearest, algorithm=by, n_jobs=self.n_threads)
        with threadpool_limits(self.n_threads):
            distances, found = search.fit(self.points).kneighbors(points)
        return found, distances


@dataclass(frozen=True, eq=False)
class Votes:
    """What the nearest rows say of some rows."""

    shares: FloatArray  # (n_rows, n_classes), of the votes, in float32
    n_voters: int  # on each row
    codes: IntArray  # (n_rows,), the given labels
    voters: Voters

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

    def log_probabilities(self, shares: FloatArray) -> FloatArray:
        """Return how probable each class is where votes have given shares, in float32."""
        sizes = np.bincount(self.codes, minlength=shares.shape[1]) / len(self.codes)
        votes = self.n_voters * shares + PRIOR_VOTES * sizes.astype(np.float32)
        votes /= np.float32(self.n_voters + PRIOR_VOTES)
        # A class that no row is of is as good as impossible.
        np.maximum(votes, np.finfo(np.float32).tiny, out=votes)
        return np.log(votes, out=votes)

    def on_others(self, rows: Rows) -> FloatArray:
        """Return how probable each class is of rows that have no label, in float32."""
        nearest, distances = self.voters.nearest(self.voters.place(rows), self.n_voters + 1)
        shares = _shares(self.voters.codes[nearest[:, :-1]], distances, self.shares.shape[1])
        return self.log_probabilities(shares)

    def explained(self, agrees: FloatArray) -> float:
        """Return the share of the labels that others do not agree with which these do beyond."""
        others = float(agrees.mean())
        return max(0.0, float(self.agrees.mean()) - others) / (1 - others) if others < 1 else 0.0


def agreement(said: FloatArray, codes: IntArray) -> FloatArray:
    """Return one where the likeliest class is the label, else zero."""
    return np.asarray(said.argmax(axis=1) == codes, dtype=np.float64)


def has_votes(rows: Rows, n_features: int) -> bool:
    """Return whether the nearest rows are asked: there are few features, and enough rows.

    Rows that are fewer than their features are written along others, which mean nothing.
    """
    few_features = rows.n_columns == n_features < MANY_FEATURES
    return bool(few_features and rows.n_samples > N_VOTERS[0] + 1)


def voters_among(rows: Rows, codes: IntArray) -> tuple[Voters, IntArray, FloatArray]:
    """Return who votes, all rows unless they are many; which rows these are; where all rows are.

    The length of rows counts, whether they are prepared to unit norm or not.
    """
    chosen = np.arange(len(codes))
    if len(codes) > MOST_VOTERS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, MOST_VOTERS, replace=False))
    centring = replace(rows.preparation, normalize=False) if rows.preparation else None
    centred = _at_length(rows, centring)
    spread = centred.std(axis=0)
    spread[spread == 0] = 1
    points, n_threads = centred / spread, count_threads(rows.n_jobs)
    return Voters(points[chosen], codes[chosen], centring, spread, n_threads), chosen, points


def votes_on(rows: Rows, codes: IntArray, n_classes: int) -> Votes:
    """Return what the nearest rows say of each row, which has no vote on itself.

    Of several numbers of voters that one is taken by which most of the given labels are predicted.
    """
    voters, chosen, points = voters_among(rows, codes)
    most = min(N_VOTERS[-1], len(chosen) - 2)
    nearest, distances = _nearest_others(voters, chosen, points, most + 1)

    def by(k: int) -> Votes:
        shares = _shares(voters.codes[nearest[:, :k]], distances[:, : k + 1], n_classes)
        return Votes(shares, k, codes, voters)

    # One at a time, as shares may be many.
    agreed = {k: float(by(k).agrees.mean()) for k in sorted({min(k, most) for k in N_VOTERS})}
    return by(max(agreed, key=lambda k: agreed[k]))


def votes_on_some(rows: Rows, codes: IntArray, n_classes: int) -> tuple[IntArray, Votes]:
    """Return some rows, if they are many, and what the nearest of these say of them."""
    asked = np.arange(len(codes))
    if len(codes) > ASKED_ROWS:
        asked = np.sort(np.random.default_rng(0).choice(asked, ASKED_ROWS, replace=False))
    return asked, votes_on(rows.take(asked), codes[asked], n_classes)


def _at_length(rows: Rows, centring: Preparation | None) -> FloatArray:
    """Return the rows as long as they are, in float64."""
    taken = rows.take(np.arange(rows.n_samples), centring)
    return stack(list(taken.map(copy_prepared, np.dtype(np.float64))))


def _nearest_others(
    voters: Voters, chosen: IntArray, points: FloatArray, n_nearest: int
) -> tuple[IntArray, FloatArray]:
    """Return the voters nearest to each point but itself, (n_points, n_nearest), and distances."""
    nearest, distances = voters.nearest(points, n_nearest + 1)
    others = chosen[nearest] != np.arange(len(points))[:, np.newaxis]
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
