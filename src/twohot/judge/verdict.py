"""The verdict on every row: its most probable classes, and whether its label is wrong.

Rows of the sample are judged by cross-validated fits. Rows outside the sample are judged block by
block, by two kinds of fits: the mean of the fits of all folds, and the leave-one-out discriminant
of all rows. If the group of such a row is in the sample, the fits without that group judge it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from twohot.base import NO_LABEL, BoolArray, FloatArray, IntArray, Matrix
from twohot.judge.distillation import Anchored, shifted
from twohot.judge.folds import NO_FOLD
from twohot.judge.label_model import (
    MOST_DENSE,
    REFUTED,
    SMALLEST,
    centre,
    design_effect,
    log_softmax,
    posterior,
    row_likelihoods,
    shares_of,
    z_score,
)
from twohot.judge.nearest import VotesRecipe, nearest_rows, vote_logits
from twohot.judge.sample import GIVEN, GROUP, JOINED, NO_GROUP, SHARED, Sample
from twohot.probes import SOFT, ClassMoments, DiscriminantRecipe, left_out_logits, one_hot
from twohot.rows import Block

# Display: progress lines for the rows outside the sample.
PROGRESS_LINES = 10

LIKELY_WRONG = 0.5  # above this probability, a label is more likely wrong than right
# Why the lower bound of the share of wrong labels is 0. A held-out likelihood cannot distinguish
# uniform noise from a classifier of low confidence, unless there are many rows.
WHY_ZERO = (
    "The lower bound is 0 because these labels alone cannot distinguish label errors from "
    "overlapping classes: check some flagged rows."
)


@dataclass(frozen=True, eq=False)
class LabelVerdict:
    """The verdict on every row: the most probable classes, and whether the label is wrong."""

    codes: IntArray  # (n_rows,), given labels; NO_LABEL for none
    first: IntArray  # (n_rows,), the most probable class, without regard to the label
    second: IntArray  # (n_rows,), the second most probable class
    confidence: FloatArray  # (n_rows,), probability of the class `first`
    runner_up: FloatArray  # (n_rows,), probability of the class `second`
    doubt: FloatArray  # (n_rows,), probability that the label is wrong; NaN without a label
    share: float  # estimated share of wrong labels
    interval: tuple[float, float]  # interval of the share
    learnt: bool  # whether the features predict labels better than class frequencies alone
    n_classes: int
    n_copies: int = 0  # number of rows with copies that are judged by fits without their copies
    n_split: int = 0  # number of rows with copies that are judged by fits with some copies

    @cached_property
    def eligible(self) -> BoolArray:
        """Labels that may be flagged (n_rows,): another class is more probable than the label.

        The only row of a class is never flagged, because no fit can predict its class.
        """
        labelled = self.codes != NO_LABEL
        sizes = np.bincount(self.codes[labelled], minlength=self.n_classes)
        return np.asarray(labelled & (self.first != self.codes) & (sizes[self.codes] > 1))

    def flag(self, budget: int | None = None, precision: float | None = None) -> BoolArray:
        """Return the flagged labels; see `choose_flags`."""
        return choose_flags(self.doubt, self.eligible, budget, precision)

    @property
    def n_likely_wrong(self) -> int:
        """Number of flagged labels that are more likely wrong than right."""
        return int(np.count_nonzero(self.doubt[self.flag()] > LIKELY_WRONG))

    @property
    def corruption(self) -> Matrix:
        """Share of each true class (row) with each given label (column), according to the flags."""
        labelled = self.codes >= 0
        true = np.where(self.flag(), self.first, self.codes)[labelled]
        return count_transitions(true, self.codes[labelled], self.n_classes)

    @property
    def likeliest_other(self) -> IntArray:
        """Most probable class (n_rows,) other than the given label."""
        return np.where(self.first == self.codes, self.second, self.first)


# From the label models --------------------------------------------------------------------------


def reach_verdict(
    anchored: Anchored, codes: IntArray, say: Callable[[str], object] | None = None
) -> LabelVerdict:
    """Return the verdict on the given labels (n_rows,) of all rows.

    If there are rows outside the sample, `say` is called with a line after each tenth of all rows.
    """
    sample, last = anchored.sample, anchored.last
    log_p = last.model.log_probabilities(last.logits)
    columns = judge_columns(log_p, last.model.noise, codes[sample.index])
    if len(sample.index) < len(codes):
        sample.attach_labels(codes)
        found: list[FloatArray] = []
        n_judged = 0
        for block in sample.whole.rows.map(judged, BlockJudge.of(anchored)):
            found.append(block)
            n_judged += len(block)
            tenths = (
                PROGRESS_LINES * each // len(codes) for each in (n_judged - len(block), n_judged)
            )
            if say is not None and len(set(tenths)) > 1:
                say(f"judged {n_judged:,} of {len(codes):,} rows")
        everything = np.concatenate(found)
        everything[sample.index] = columns
        columns = everything
    return verdict_of(anchored, columns, codes)


def verdict_of(anchored: Anchored, columns: FloatArray, codes: IntArray) -> LabelVerdict:
    """Return the verdict on all rows, given the array that `judge_columns` returned."""
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


def judge_columns(log_p: FloatArray, noise: FloatArray, codes: IntArray) -> FloatArray:
    """Return (n, 5): the two most probable classes, their probabilities, and P(label is wrong).

    `log_p` (n, K) are log-probabilities of the true class; they are overwritten. `noise` is Q.
    """
    rows, labelled = np.arange(len(codes)), np.flatnonzero(codes != NO_LABEL)
    own = codes[labelled]
    p = np.exp(log_p)
    given = np.einsum("ij,ij->i", p[labelled], noise.T[own]) + np.finfo(np.float64).tiny
    doubt = np.full(len(codes), np.nan)
    doubt[labelled] = 1 - p[labelled, own] * noise[own, own] / given
    first = log_p.argmax(axis=1)
    log_p[rows, first] = -np.inf
    second = log_p.argmax(axis=1)
    return np.column_stack([first, second, p[rows, first], p[rows, second], doubt])


def has_learnt(anchored: Anchored) -> bool:
    """Return whether the label model predicts labels better than class frequencies do.

    This is a one-sided test of the mean difference in held-out log-likelihood. Predictions must
    also agree with the labels more often than by chance. On random features, leave-one-out
    predictions are mostly wrong, and a label model with much noise could still gain likelihood.
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
    return bool(agreement > by_chance and z_score(gain, sample.groups) > REFUTED)


def share_interval(anchored: Anchored) -> tuple[float, float]:
    """Return a lower and an upper bound of the share of wrong labels.

    For the lower bound, the noise is reduced as far as a test at level 5 % does not reject it. For
    the upper bound, every label that differs from the held-out prediction counts as wrong, and the
    other labels count by their probability. Both bounds are widened by two standard errors.
    """
    sample, stage, share = anchored.sample, anchored.first, anchored.share_wrong
    doubt = anchored.doubt(stage)
    upper = np.where(stage.predicted != sample.codes, 1.0, doubt)
    most = float(np.average(upper, weights=sample.weights))
    least = share * stage.read.least
    weight = shares_of(sample.weights, len(doubt))

    def errors(rate: float, wrong: FloatArray) -> float:
        effect = design_effect(weight * (wrong - rate), sample.groups)
        return 2 * float(np.sqrt(rate * (1 - rate) * (weight @ weight) * effect))

    least = max(0.0, least - errors(share, doubt))
    return least, min(1.0, most + errors(most, upper))


# Rows outside of the sample -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockJudge:
    """Judges blocks of rows by fits without their groups.

    A row outside the sample was used in no fit, but its group may be in the sample: the user passed
    the group, or a row of the sample is a copy. Then the row is judged by the fits without the
    group's fold, and by the votes of other groups. Otherwise it is judged by the mean of the fits
    of all folds. The discriminant of all rows leaves out only the row itself. So, if other rows of
    the group have labels, the discriminants of the sample are used instead.
    """

    points: FloatArray  # (n, m), of the sample
    groups: IntArray  # (n,)
    fold_of: IntArray  # fold of each group; one of several if a splitter splits copies
    basis: FloatArray  # (d, m), maps prepared rows to points
    noise: FloatArray  # (K, K)
    linear: "FoldLogits"  # weighted sum of the linear members
    discriminant: tuple[float, FloatArray, ClassMoments, float] | None
    others: "FoldLogits"  # weighted sum of the sample's discriminants
    voters: list[tuple[float, int]]  # weights, and numbers of voters
    voted: FloatArray  # (n, K), targets of the rows of the sample, for votes

    @classmethod
    def of(cls, anchored: Anchored) -> "BlockJudge":
        """Return the judge of the last round."""
        sample, stage, library = anchored.sample, anchored.last, anchored.library
        rows, searched, n_axes = sample.whole.rows, sample.searched, sample.points.shape[1]
        linear, others = (FoldLogits.zero(sample) for _ in range(2))
        voters, discriminant = [], None
        for each, weight in zip(stage.members, stage.model.weights.tolist(), strict=True):
            if weight == 0:
                continue
            if isinstance(each.recipe, VotesRecipe):
                voters.append((weight, each.recipe.n_voters))
            elif isinstance(each.recipe, DiscriminantRecipe):
                moments, shrinkage = library.moments, each.recipe.shrinkage
                discriminant = weight, moments.read.astype(rows.dtype), moments, shrinkage
                for fold, (coef, offset) in enumerate(library.discriminants(shrinkage)):
                    others.add(fold, weight * coef, weight * offset)
            else:
                own = each.recipe.coordinates(searched)
                for fold, end in enumerate(each.ends):
                    coef = weight * own.on_rows(end.coef)
                    linear.add(fold, coef[:, :n_axes], coef[:, n_axes:].sum(axis=1))
        fold_of = np.full(int(sample.groups.max()) + 1, NO_FOLD)
        fold_of[sample.groups] = sample.folds
        voted = stage.targets
        if voted is None:
            voted = one_hot(sample.codes, sample.n_classes).toarray()
        return cls(
            points=sample.points,
            groups=sample.groups,
            fold_of=fold_of,
            basis=sample.reading.astype(rows.dtype),
            noise=stage.model.noise,
            linear=linear,
            discriminant=discriminant,
            others=others,
            voters=voters,
            voted=np.asarray(voted, dtype=np.float32),
        )

    def log_probabilities(self, block: Block) -> FloatArray:
        """Return log p (rows, K) of the true classes."""
        points, group = block.prepared() @ self.basis, block.columns[JOINED]
        folds = np.where(group >= 0, self.fold_of[group], NO_FOLD)
        logits = self.linear.of(points, folds)
        if self.discriminant is not None:
            weight, basis, moments, shrinkage = self.discriminant
            found = weight * centre(left_out_logits(block, basis, moments, shrinkage))
            # The discriminant of all rows was fitted on other labels of the group, or on a copy.
            others = block.columns[SHARED] | (group != block.columns[GROUP])
            found[others] = self.others.of(points[others], folds[others])
            logits = logits + found
        if self.voters:
            nearest = self._nearest(points, group)
            for weight, n_voters in self.voters:
                logits = logits + weight * vote_logits(nearest[:, :n_voters], self.voted)
        return log_softmax(logits)

    def _nearest(self, points: FloatArray, group: IntArray) -> IntArray:
        """Return the nearest rows of the sample for each row, without rows of its own group."""
        n_nearest = max(n_voters for _, n_voters in self.voters)
        nearest = np.empty((len(points), n_nearest), dtype=np.intp)
        alone, held = (np.flatnonzero((group == NO_GROUP) == each) for each in (True, False))
        nearest[alone], _ = nearest_rows(self.points, n_nearest, of=points[alone], n_jobs=1)
        others = {"groups": self.groups, "own": group[held]}
        nearest[held], _ = nearest_rows(self.points, n_nearest, of=points[held], n_jobs=1, **others)
        return nearest


@dataclass(frozen=True, eq=False)
class FoldLogits:
    """Coefficients of one fit per fold, without the fold's rows, and the mean of these fits."""

    coef: FloatArray  # (folds + 1, K, m); the last entry, number NO_FOLD, is the mean
    offset: FloatArray  # (folds + 1, K), intercepts

    @classmethod
    def zero(cls, sample: Sample) -> "FoldLogits":
        """Return coefficients of zero."""
        shape = sample.n_folds + 1, sample.n_classes
        return cls(np.zeros((*shape, sample.points.shape[1])), np.zeros(shape))

    def add(self, fold: int, coef: FloatArray, offset: FloatArray) -> None:
        """Add coefficients of the fit without `fold` to that fold's sum and to the mean."""
        for place, share in ((fold, 1.0), (NO_FOLD, 1 / (len(self.coef) - 1))):
            self.coef[place] += share * coef
            self.offset[place] += share * offset

    def of(self, points: FloatArray, folds: IntArray) -> FloatArray:
        """Return the centred logits of points; each is predicted by the fit without its fold."""
        logits = np.empty((len(points), self.coef.shape[1]))
        for fold in np.unique(folds):
            some = folds == fold
            logits[some] = points[some] @ self.coef[fold].T + self.offset[fold]
        return centre(logits)


@dataclass(frozen=True, eq=False)
class PosteriorTargets:
    """The posterior of the true classes as soft labels, computed block by block when read."""

    judge: BlockJudge
    name: str = SOFT

    def of(self, block: Block) -> FloatArray:
        """Return the posterior of the rows in a block."""
        log_p = self.judge.log_probabilities(block)
        found = posterior(log_p, block.columns[GIVEN], self.judge.noise)
        return found.astype(block.x.dtype)


def judged(block: Block, judge: BlockJudge) -> FloatArray:
    """Return the columns of `judge_columns` for a block. A kernel."""
    return judge_columns(judge.log_probabilities(block), judge.noise, block.columns[GIVEN])


# Flags --------------------------------------------------------------------------------------------


def choose_flags(
    doubt: FloatArray,
    eligible: BoolArray,
    budget: int | None = None,
    precision: float | None = None,
) -> BoolArray:
    """Return flags for the eligible rows with the largest `doubt`.

    With `budget`, there are at most that many flags. With `precision`, there are as many flags as
    possible with a mean doubt of at least `precision`. With neither, the number of flags maximises
    the expected F1. For flagged rows S, this is 2 · Σ_S doubt / (|S| + Σ doubt).

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
        # Allow for rounding: in floating point, .8 + .8 + .8 is less than 3 · .8.
        rounding = np.finfo(np.float64).eps * numbers
        kept = np.flatnonzero(found >= (precision - rounding) * numbers)
        n_flagged = int(kept[-1]) + 1 if kept.size else 0
    else:
        expected = 2 * found / (numbers + np.nansum(doubt))
        n_flagged = int(expected.argmax()) + 1 if len(order) and expected.max() > 0 else 0
    flagged = np.zeros(len(doubt), dtype=bool)
    flagged[order[:n_flagged]] = True
    return flagged


def count_transitions(true: IntArray, given: IntArray, n_classes: int) -> Matrix:
    """Return the share of each true class (row) with each given label (column).

    If there are many classes, the matrix is sparse.
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
    # A class without rows has no noise.
    return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.eye(n_classes))
