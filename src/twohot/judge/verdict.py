"""The verdict on every row: its most probable classes, and the probability of a wrong label.

Cross-validated fits judge the rows of the sample (see `sample`). The rows outside the sample are
judged block by block, by the mean of the fits of all folds, and by the leave-one-out discriminant
of all rows. If a row outside the sample shares its group with rows of the sample, fits without this
group judge the row.

A kernel is a function of a block of rows, see `twohot.rows.rows`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from twohot.base import NO_LABEL, BoolArray, FloatArray, IntArray, Matrix
from twohot.judge.distillation import Anchored, shifted
from twohot.judge.label_model import (
    MOST_DENSE,
    REFUTED,
    centre,
    design_effect,
    log_softmax,
    posterior,
    row_likelihoods,
    unit_weights,
    z_score,
)
from twohot.judge.nearest import ABSENT, VotesRecipe, nearest_rows, vote_logits
from twohot.judge.sample import GIVEN, GROUP, JOINED, SHARED, Sample
from twohot.probes import SOFT, ClassMoments, DiscriminantRecipe, left_out_logits, one_hot
from twohot.rows import Block

# Display: number of progress lines for the rows outside the sample.
PROGRESS_LINES = 10

# Definition: above this probability, a label is more likely wrong than right.
LIKELY_WRONG = 0.5

# Why the lower bound of the fraction of wrong labels is 0. A held-out likelihood cannot distinguish
# uniform noise from a classifier of low confidence, unless there are many rows.
WHY_ZERO = (
    "The lower bound of the fraction of wrong labels is 0, because the labels alone cannot "
    "distinguish label errors from overlapping classes: check some flagged rows."
)


@dataclass(frozen=True, eq=False)
class LabelVerdict:
    """The most probable classes of every row, and the probability that its label is wrong."""

    codes: IntArray  # (n_rows,), given labels; NO_LABEL for none
    first: IntArray  # (n_rows,), the most probable class, computed without the label
    second: IntArray  # (n_rows,), the second most probable class
    confidence: FloatArray  # (n_rows,), probability of the class `first`
    runner_up: FloatArray  # (n_rows,), probability of the class `second`
    doubt: FloatArray  # (n_rows,), probability that the label is wrong; NaN without a label
    share: float  # estimated fraction of wrong labels
    interval: tuple[float, float]  # bounds of this fraction, widened by two standard errors
    learnt: bool  # whether the features predict labels better than class frequencies alone
    n_classes: int
    n_copies: int = 0  # number of rows with copies, judged by fits without these copies
    n_split: int = 0  # number of rows with copies, judged by fits that include a copy

    @cached_property
    def eligible(self) -> BoolArray:
        """Whether each label can be flagged: only if it differs from the most probable class.

        The only row of a class is never flagged, because no held-out fit can predict this class.
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
        """Fraction of each true class (row) with each given label (column).

        The true class of a flagged row is estimated by its most probable class; the true class of
        any other row is estimated by its label.
        """
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
        blocks: list[FloatArray] = []
        n_judged = n_lines = 0
        for block in sample.whole.rows.map(judged, BlockJudge.of(anchored)):
            blocks.append(block)
            n_judged += len(block)
            if say is not None and PROGRESS_LINES * n_judged // len(codes) > n_lines:
                n_lines = PROGRESS_LINES * n_judged // len(codes)
                say(f"judged {n_judged:,} of {len(codes):,} rows")
        all_columns = np.concatenate(blocks)
        all_columns[sample.index] = columns
        columns = all_columns
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

    `log_p` (n, K) are log-probabilities of the true class, which are overwritten. `noise` is Q (see
    `label_model`).
    """
    rows, labelled = np.arange(len(codes)), np.flatnonzero(codes != NO_LABEL)
    label = codes[labelled]
    p = np.exp(log_p)
    given = np.einsum("ij,ij->i", p[labelled], noise.T[label]) + np.finfo(np.float64).tiny
    doubt = np.full(len(codes), np.nan)
    doubt[labelled] = 1 - p[labelled, label] * noise[label, label] / given
    first = log_p.argmax(axis=1)
    log_p[rows, first] = -np.inf
    second = log_p.argmax(axis=1)
    return np.column_stack([first, second, p[rows, first], p[rows, second], doubt])


def has_learnt(anchored: Anchored) -> bool:
    """Return whether the label model predicts labels better than class frequencies do.

    This is a one-sided test at level 5 % of the mean difference between their held-out
    log-likelihoods. Predictions must also equal the labels more often than by chance. On random
    features, leave-one-out predictions are mostly wrong, and a label model with much noise could
    still gain likelihood.
    """
    sample, first = anchored.sample, anchored.first
    codes, predicted, weights = sample.codes, first.predicted, sample.weights
    sizes = np.bincount(codes, weights, sample.n_classes)
    frequencies = sizes / sizes.sum()
    agreement = np.average(predicted == codes, weights=weights)
    by_chance = np.bincount(predicted, weights, sample.n_classes) @ frequencies / sizes.sum()
    gain = row_likelihoods(first.model, first.logits, codes) - np.log(frequencies[codes])
    return bool(agreement > by_chance and z_score(gain, sample.groups) > REFUTED)


def share_interval(anchored: Anchored) -> tuple[float, float]:
    """Return a lower and an upper bound of the fraction of wrong labels.

    For the lower bound, the noise is reduced until a one-sided test of the likelihood at level 5 %
    rejects the reduced noise. For the upper bound, a label that differs from the held-out
    prediction counts as wrong, and any other label counts by its probability of being wrong. Both
    bounds are widened by two standard errors.
    """
    sample, stage, share = anchored.sample, anchored.first, anchored.share_wrong
    doubt = anchored.doubt(stage)
    highest = np.where(stage.predicted != sample.codes, 1.0, doubt)
    most = float(np.average(highest, weights=sample.weights))
    weight = unit_weights(sample.weights, len(doubt))

    def two_errors(rate: float, wrong: FloatArray) -> float:
        effect = design_effect(weight * (wrong - rate), sample.groups)
        return 2 * float(np.sqrt(rate * (1 - rate) * (weight @ weight) * effect))

    low = share * stage.read.least - two_errors(share, doubt)
    return max(0.0, low), min(1.0, most + two_errors(most, highest))


# Rows outside of the sample -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockJudge:
    """Judge of blocks of rows, by fits without the groups of these rows.

    The fits of the folds used only rows of the sample. A row outside the sample can still be in the
    same group as rows of the sample: in a group that the user passed, or as a copy. Such a row is
    judged by the fits without the fold of this group, and by the votes of rows of other groups. Any
    other row is judged by the mean of the fits of all folds. The discriminant of all rows leaves
    out only the row itself. So, if other rows of the group have labels, the discriminants of the
    sample are used instead.
    """

    points: FloatArray  # (n, m), the rows of the sample
    groups: IntArray  # (n,), their groups
    fold_of: IntArray  # fold of each group; one of several if a splitter splits copies
    basis: FloatArray  # (d, m), maps prepared rows to points
    noise: FloatArray  # (K, K), Q
    linear: "FoldLogits"  # weighted sum of the linear members
    discriminant: tuple[float, FloatArray, ClassMoments, float] | None  # weight, and its arguments
    sample_discriminant: "FoldLogits"  # weighted discriminants of the sample
    voters: list[tuple[float, int]]  # weight and number of voters, of each member that votes
    voted: FloatArray  # (n, K), targets of the rows of the sample, for votes

    @classmethod
    def of(cls, anchored: Anchored) -> "BlockJudge":
        """Return a judge that uses the label model of the last round."""
        sample, stage, library = anchored.sample, anchored.last, anchored.library
        n_axes = sample.points.shape[1]
        linear, sample_discriminant = FoldLogits.zero(sample), FoldLogits.zero(sample)
        voters, discriminant = [], None
        for member, weight in zip(stage.members, stage.model.weights.tolist(), strict=True):
            recipe: Any = member.recipe
            if weight == 0:
                continue
            if isinstance(recipe, VotesRecipe):
                voters.append((weight, recipe.n_voters))
            elif isinstance(recipe, DiscriminantRecipe):
                moments, shrinkage = library.moments, recipe.shrinkage
                basis = moments.read.astype(sample.whole.rows.dtype)
                discriminant = weight, basis, moments, shrinkage
                sample_discriminant.add(weight, library.discriminants(shrinkage))
            else:
                axes = recipe.coordinates(sample.searched)
                coefs = [axes.on_rows(end.coef) for end in member.ends]
                linear.add(weight, [(c[:, :n_axes], c[:, n_axes:].sum(axis=1)) for c in coefs])
        fold_of = np.full(int(sample.groups.max()) + 1, ABSENT)
        fold_of[sample.groups] = sample.folds
        voted = stage.targets
        if voted is None:
            voted = one_hot(sample.codes, sample.n_classes).toarray()
        return cls(
            points=sample.points,
            groups=sample.groups,
            fold_of=fold_of,
            basis=sample.basis,
            noise=stage.model.noise,
            linear=linear,
            discriminant=discriminant,
            sample_discriminant=sample_discriminant,
            voters=voters,
            voted=np.asarray(voted, dtype=np.float32),
        )

    def log_probabilities(self, block: Block) -> FloatArray:
        """Return log p (rows, K) of the true classes."""
        points, group = block.prepared() @ self.basis, block.columns[JOINED]
        folds = np.where(group == ABSENT, ABSENT, self.fold_of[group])
        logits = self.linear.of(points, folds)
        if self.discriminant is not None:
            weight, basis, moments, shrinkage = self.discriminant
            left_out = weight * centre(left_out_logits(block, basis, moments, shrinkage))
            # The discriminant of all rows was fitted on other labels of the group, or on a copy.
            shared = block.columns[SHARED] | (group != block.columns[GROUP])
            left_out[shared] = self.sample_discriminant.of(points[shared], folds[shared])
            logits = logits + left_out
        if self.voters:
            n_nearest = max(n_voters for _, n_voters in self.voters)
            known = {"groups": self.groups, "row_groups": group}
            nearest, _ = nearest_rows(self.points, n_nearest, of=points, n_jobs=1, **known)
            for weight, n_voters in self.voters:
                logits = logits + weight * vote_logits(nearest[:, :n_voters], self.voted)
        return log_softmax(logits)


@dataclass(frozen=True, eq=False)
class FoldLogits:
    """Coefficients of one fit per fold, which leaves out this fold, and the mean of these fits."""

    coef: FloatArray  # (folds + 1, K, m); the last entry, number ABSENT, is the mean
    offset: FloatArray  # (folds + 1, K), intercepts

    @classmethod
    def zero(cls, sample: Sample) -> "FoldLogits":
        """Return coefficients of zero."""
        shape = sample.n_folds + 1, sample.n_classes
        return cls(np.zeros((*shape, sample.points.shape[1])), np.zeros(shape))

    def add(self, weight: float, fits: Iterable[tuple[FloatArray, FloatArray]]) -> None:
        """Add `weight` times the coefficients and intercepts of fits, one per fold."""
        for fold, (coef, offset) in enumerate(fits):
            for place, part in ((fold, 1.0), (ABSENT, 1 / (len(self.coef) - 1))):
                self.coef[place] += part * (weight * coef)
                self.offset[place] += part * (weight * offset)

    def of(self, points: FloatArray, folds: IntArray) -> FloatArray:
        """Return the centred logits of points; the fit without `folds[i]` predicts point i.

        If `folds[i]` is ABSENT, the mean of all fits predicts the point.
        """
        logits = np.empty((len(points), self.coef.shape[1]))
        for fold in np.unique(folds):
            rows = folds == fold
            logits[rows] = points[rows] @ self.coef[fold].T + self.offset[fold]
        return centre(logits)


@dataclass(frozen=True, eq=False)
class PosteriorTargets:
    """Targets of a fit: the posterior of the true classes, computed when a block is read."""

    judge: BlockJudge
    name: str = SOFT

    def of(self, block: Block) -> FloatArray:
        """Return the posterior of the rows in a block."""
        log_p = self.judge.log_probabilities(block)
        targets = posterior(log_p, block.columns[GIVEN], self.judge.noise)
        return targets.astype(block.x.dtype)


def judged(block: Block, judge: BlockJudge) -> FloatArray:
    """Return the result of `judge_columns` for a block. A kernel."""
    return judge_columns(judge.log_probabilities(block), judge.noise, block.columns[GIVEN])


# Flags --------------------------------------------------------------------------------------------


def choose_flags(
    doubt: FloatArray,
    eligible: BoolArray,
    budget: int | None = None,
    precision: float | None = None,
) -> BoolArray:
    """Return which rows to flag: eligible rows with the largest probability of a wrong label.

    This probability is `doubt` (n_rows,); NaN means no label. With `budget`, there are at most that
    many flags. With `precision`, there are as many flags as possible with a mean doubt of at least
    `precision`. With neither, the number of flags maximises the expected F1. For flagged rows S,
    this is 2 · Σ_S doubt / (|S| + Σ doubt).

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
    n_wrong, numbers = np.cumsum(doubt[order]), np.arange(1, len(order) + 1)
    if budget is not None:
        n_flagged = budget
    elif precision is not None:
        # Allow for rounding: in floating point, .8 + .8 + .8 is less than 3 · .8.
        rounding = np.finfo(np.float64).eps * numbers
        allowed = numbers[n_wrong >= (precision - rounding) * numbers]
        n_flagged = int(allowed.max(initial=0))
    else:
        expected = 2 * n_wrong / (numbers + np.nansum(doubt))
        n_flagged = int(expected.argmax()) + 1 if len(order) and expected.max() > 0 else 0
    flagged = np.zeros(len(doubt), dtype=bool)
    flagged[order[:n_flagged]] = True
    return flagged


def count_transitions(true: IntArray, given: IntArray, n_classes: int) -> Matrix:
    """Return the fraction of each true class (row) with each given label (column).

    If there are many classes, the matrix is sparse. For a class without rows, the fraction with its
    own label is one.
    """
    if n_classes > MOST_DENSE:
        sizes = np.bincount(true, minlength=n_classes)
        empty = np.flatnonzero(sizes == 0)
        fractions = np.concatenate([1 / sizes[true], np.ones(len(empty))])
        places = np.append(true, empty), np.append(given, empty)
        return sp.csr_array((fractions, places), shape=(n_classes, n_classes))
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (true, given), 1)
    sizes = counts.sum(axis=1, keepdims=True)
    return np.where(sizes > 0, counts / np.maximum(sizes, 1), np.eye(n_classes))
