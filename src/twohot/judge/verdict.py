"""The verdict on every row: its likeliest classes, how probably its label is wrong, which to flag.

Rows of the sample are judged by fits that have not seen their labels. Others are in no fit, and are
judged block by block, wherever they are, by the mean of the fits of all folds, and by a
discriminant of all rows that leaves each of them out.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from twohot.base import NO_LABEL, BoolArray, FloatArray, IntArray, Matrix
from twohot.judge.anchored import Anchored, shifted
from twohot.judge.label_model import (
    REFUTED,
    SMALLEST,
    LabelModel,
    centre,
    posterior,
    row_likelihoods,
    z_score,
)
from twohot.judge.nearest import VotesRecipe, nearest_rows, vote_logits
from twohot.probes import SOFT, ClassMoments, DiscriminantRecipe, left_out_logits
from twohot.rows import Block

GIVEN = "given"  # codes of the labels beside the rows; NO_LABEL for rows without one

# Classes up to which a matrix of them is held whole: 32 MB.
MOST_DENSE = 2_000


@dataclass(frozen=True, eq=False)
class LabelVerdict:
    """What is found about every row."""

    codes: IntArray  # (n_rows,), given labels; NO_LABEL without one
    first: IntArray  # (n_rows,), the likeliest class of the row, whatever its label
    second: IntArray  # (n_rows,), the next
    confidence: FloatArray  # (n_rows,), probability of the likeliest
    runner_up: FloatArray  # (n_rows,), probability of the next
    doubt: FloatArray  # (n_rows,), probability that the label is wrong; NaN without one
    share: float  # of the labels that are wrong
    interval: tuple[float, float]  # that the share is in
    learnt: bool  # whether the features predict labels better than class frequencies alone
    n_classes: int
    n_copies: int = 0  # rows with copies, judged without any of them
    n_split: int = 0  # rows with copies, judged beside some of them

    @cached_property
    def eligible(self) -> BoolArray:
        """Labels that may be flagged: another class is likelier, and others have the label too.

        Nothing else says what the only row of a class should look like.
        """
        labelled = self.codes != NO_LABEL
        sizes = np.bincount(self.codes[labelled], minlength=self.n_classes)
        return np.asarray(labelled & (self.first != self.codes) & (sizes[self.codes] > 1))

    def flag(self, budget: int | None = None, precision: float | None = None) -> BoolArray:
        """Return the labels to look at; see `choose_flags`."""
        return choose_flags(self.doubt, self.eligible, budget, precision)

    @property
    def corruption(self) -> Matrix:
        """The share of each true class (row) that was given each label, by what is flagged."""
        labelled = self.codes >= 0
        true = np.where(self.flag(), self.first, self.codes)[labelled]
        return count_transitions(true, self.codes[labelled], self.n_classes)

    @property
    def likeliest_other(self) -> IntArray:
        """(n_rows,), the likeliest class that is not the given one."""
        return np.where(self.first == self.codes, self.second, self.first)


# From the label models --------------------------------------------------------------------------


def reach_verdict(anchored: Anchored, codes: IntArray) -> LabelVerdict:
    """Return the verdict on given labels (n_rows,) of all rows, of which some are the sample."""
    sample, last = anchored.sample, anchored.last
    columns = judge_logits(last.logits, last.model, codes[sample.index])
    if len(sample.index) < len(codes):
        whole = sample.whole.rows
        whole.attach(GIVEN, codes)
        everything = np.concatenate(list(whole.map(judged, BlockJudge.of(anchored))))
        everything[sample.index] = columns
        columns = everything
    return verdict_of(anchored, columns, codes)


def verdict_of(anchored: Anchored, columns: FloatArray, codes: IntArray) -> LabelVerdict:
    """Return the verdict made of the columns of `judge_logits` for all rows."""
    sample = anchored.sample
    first, second, confidence, runner_up, doubt = columns.T
    learnt = has_learnt(anchored)
    labelled = codes >= 0
    probability_wrong = np.full(len(codes), np.nan)
    probability_wrong[labelled] = shifted(doubt[labelled].astype(np.float64), anchored.shift)
    return LabelVerdict(
        codes=codes,
        first=first.astype(np.intp),
        second=second.astype(np.intp),
        confidence=confidence.astype(np.float64),
        runner_up=runner_up.astype(np.float64),
        doubt=probability_wrong,
        share=float(np.mean(probability_wrong[labelled])),
        interval=share_interval(anchored) if learnt else (0.0, 1.0),
        learnt=learnt,
        n_classes=sample.n_classes,
        n_copies=sample.n_copies,
        n_split=sample.n_split,
    )


def judge_logits(logits: list[FloatArray], model: LabelModel, codes: IntArray) -> FloatArray:
    """Return (n, 5): two likeliest classes, how probable they are, doubt of the given label."""
    log_p = model.log_probabilities(logits)
    rows = np.arange(len(codes))
    first = log_p.argmax(axis=1)
    rest = log_p.copy()
    rest[rows, first] = -np.inf
    second = rest.argmax(axis=1)
    doubt = np.full(len(codes), np.nan)
    labelled = codes >= 0
    own = codes[labelled]
    found = posterior(log_p[labelled], own, model.noise)
    doubt[labelled] = 1 - found[np.arange(len(own)), own]
    probable = [np.exp(log_p[rows, each]) for each in (first, second)]
    return np.column_stack([first, second, *probable, doubt])


def has_learnt(anchored: Anchored) -> bool:
    """Return whether the label model explains labels better than class frequencies do.

    A one-sided test of the mean difference of log-likelihood of held-out labels. Predictions have
    to agree with the labels more often than by chance, too: with enough noise the model explains a
    classifier that is always wrong, as one that leaves each row out is on features of chance.
    """
    sample, first = anchored.sample, anchored.first
    n_classes, weights = sample.n_classes, sample.weights
    predicted = first.predicted
    given = np.bincount(sample.codes, weights, n_classes)
    shares = given / given.sum()
    agreement = np.average(predicted == sample.codes, weights=weights)
    by_chance = np.bincount(predicted, weights, n_classes) @ shares / given.sum()
    alone = np.log(np.maximum(shares, SMALLEST))[sample.codes]
    gain = row_likelihoods(first.model, first.logits, sample.codes) - alone
    return bool(agreement > by_chance and z_score(gain) > REFUTED)


def share_interval(anchored: Anchored) -> tuple[float, float]:
    """Return the least and the most that the share of wrong labels may be.

    The least: the smallest part of the noise with which the labels are not less likely, by a test
    at level 5 %. The most: every label that a held-out classifier disagrees with is wrong, and as
    many of the others as is doubted. Two standard errors are added to both.
    """
    sample, stage, share = anchored.sample, anchored.first, anchored.share_wrong
    surely = np.where(stage.predicted != sample.codes, 1.0, anchored.doubt(stage))
    most = float(np.average(surely, weights=sample.weights))
    least = share * stage.read.least

    def error(rate: float) -> float:
        return 2 * float(np.sqrt(rate * (1 - rate) / len(sample.codes)))

    return max(0.0, float(least) - error(share)), min(1.0, most + error(most))


# Rows outside of the sample -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockJudge:
    """All that is needed to judge rows that no fit has seen; what all blocks share."""

    coef: FloatArray  # (K, d), weighted sum of the linear members, on prepared rows
    offset: FloatArray  # (K,)
    model: LabelModel
    discriminant: tuple[float, FloatArray, ClassMoments, float] | None
    voters: tuple[tuple[float, FloatArray, FloatArray, FloatArray, int], ...]

    @classmethod
    def of(cls, anchored: Anchored) -> "BlockJudge":
        """Return the judge of the last round: linear members are the mean of all folds."""
        sample, stage, moments = anchored.sample, anchored.last, anchored.library.moments
        rows, searched = sample.whole.rows, sample.searched
        n_columns, n_axes = rows.n_columns, sample.points.shape[1]
        coef, offset = np.zeros((sample.n_classes, n_columns)), np.zeros(sample.n_classes)
        voters, discriminant = [], None
        for each, weight in zip(stage.members, stage.model.weights.tolist(), strict=True):
            if weight == 0:
                continue
            if isinstance(each.recipe, VotesRecipe):
                identity = np.eye(n_axes + searched.rows.intercept)[:n_axes]
                basis = searched.to_features(identity)[:, :n_columns].T.astype(np.float32)
                targets = stage.targets
                if targets is None:
                    targets = np.eye(sample.n_classes, dtype=np.float32)[sample.codes]
                at = sample.points, targets.astype(np.float32), each.recipe.n_voters
                voters.append((weight, basis, *at))
            elif isinstance(each.recipe, DiscriminantRecipe):
                basis = moments.read.astype(rows.dtype)
                discriminant = weight, basis, moments, each.recipe.shrinkage
            else:
                mean = np.mean([end.coef for end in each.ends], axis=0)
                found = each.recipe.coordinates(searched).to_features(mean)
                coef = coef + weight * found[:, :n_columns]
                if rows.intercept:
                    offset = offset + weight * found[:, -1]
        dtype = rows.dtype
        return cls(
            coef.astype(dtype), offset.astype(dtype), stage.model, discriminant, tuple(voters)
        )

    def log_probabilities(self, block: Block) -> FloatArray:
        """Return log p (rows, K) of the true classes."""
        rows = block.prepared()
        logits = centre(rows @ self.coef.T + self.offset)
        if self.discriminant is not None:
            # A row is among those that its moments are of, and is left out of them.
            weight, basis, moments, shrinkage = self.discriminant
            logits = logits + weight * centre(left_out_logits(block, basis, moments, shrinkage))
        for weight, basis, points, targets, n_voters in self.voters:
            found, _ = nearest_rows(points, n_voters, of=rows @ basis, n_jobs=1)
            logits = logits + weight * vote_logits(found, targets)
        return np.asarray(log_softmax(logits, axis=1))


@dataclass(frozen=True, eq=False)
class PosteriorTargets:
    """The posterior of the true classes as soft labels, computed where they are asked for."""

    judge: BlockJudge
    name: str = SOFT

    def of(self, block: Block) -> FloatArray:
        """Return the posterior of the rows in a block."""
        log_p = self.judge.log_probabilities(block)
        found = posterior(log_p, block.columns[GIVEN], self.judge.model.noise)
        return found.astype(block.x.dtype)


def judged(block: Block, judge: BlockJudge) -> FloatArray:
    """Return the columns of `judge_logits` for a block. A kernel."""
    log_p = judge.log_probabilities(block)
    model = LabelModel(np.ones(1), judge.model.noise, 0.0)
    return judge_logits([log_p], model, block.columns[GIVEN])


# Flags --------------------------------------------------------------------------------------------


def choose_flags(
    doubt: FloatArray,
    eligible: BoolArray,
    budget: int | None = None,
    precision: float | None = None,
) -> BoolArray:
    """Flag the most doubtful eligible rows.

    At most `budget` of them, or as many as keep the mean doubt at `precision`. With neither, as
    many as maximise the expected F1, which is 2 · Σ_S doubt / (|S| + Σ doubt) with S flagged.

    Examples
    --------
    >>> doubt, eligible = np.array([0.9, 0.8, 0.3, 0.1]), np.array([True, True, True, False])
    >>> choose_flags(doubt, eligible).tolist()
    [True, True, False, False]
    >>> choose_flags(doubt, eligible, precision=0.9).tolist()
    [True, False, False, False]
    """
    rows = np.flatnonzero(eligible)
    order = rows[np.argsort(-doubt[rows], kind="stable")]
    found, numbers = np.cumsum(doubt[order]), np.arange(1, len(order) + 1)
    if budget is not None:
        n_flagged = budget
    elif precision is not None:
        # Sums of equal probabilities are not exact: .8 + .8 + .8 is less than 3 · .8.
        kept = np.flatnonzero(found >= (precision - 1e-9) * numbers)
        n_flagged = int(kept[-1]) + 1 if kept.size else 0
    else:
        expected = 2 * found / (numbers + np.nansum(doubt))
        n_flagged = int(expected.argmax()) + 1 if len(order) and expected.max() > 0 else 0
    flagged = np.zeros(len(doubt), dtype=bool)
    flagged[order[:n_flagged]] = True
    return flagged


def count_transitions(true: IntArray, given: IntArray, n_classes: int) -> Matrix:
    """Return the share of each true class (row) that was given each label (column).

    Sparse where classes are many: there is no more than an entry for each row, and for each class.
    """
    if n_classes > MOST_DENSE:
        sizes = np.bincount(true, minlength=n_classes)
        empty = np.flatnonzero(sizes == 0)
        shares = np.concatenate([1 / sizes[true], np.ones(len(empty))])
        places = np.append(true, empty), np.append(given, empty)
        return sp.csr_array((shares, places), shape=(n_classes, n_classes))
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (true, given), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    # A class that no row is of has no noise to speak of.
    return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.eye(n_classes))
