"""The verdict on every label: how probable it is that it is wrong, and which to flag."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twohot._checks.labels import NO_LABEL, Labels
from twohot._types import FloatArray, IntArray, Matrix
from twohot.audit.doubt import (
    BY_HALF,
    SURELY,
    ShareWrong,
    Trust,
    combined_doubt,
    is_established,
    promised_doubt,
    share_wrong,
    weigh_boundary,
)
from twohot.audit.flags import flag_for_budget, flag_for_f1, flag_for_precision
from twohot.audit.noise_fit import fit_noise_model, rare_classes
from twohot.audit.noise_model import NoiseModel
from twohot.audit.opinions import Opinions, rule_out
from twohot.audit.tempered import row_blocks
from twohot.audit.two_likeliest import Candidates, join, two_likeliest

AS_IT_IS = np.ones(1)  # the only temperature of a generative model
# A class with fewer labels than this is never flagged: nothing else says what it looks like.
FEWEST_ROWS = 2
# Classes up to which a matrix of them is held whole: 32 MB.
MOST_DENSE = 2_000


@dataclass(frozen=True, eq=False)
class LabelVerdict:
    """What is found about every label."""

    candidates: Candidates
    eligible: NDArray[np.bool_]  # (n_rows,), whose label may be flagged
    at_random: FloatArray  # (n_rows,), how probably wrong, if all else is overlap; see `doubt`
    at_boundary: FloatArray  # (n_rows,), if classes overlap only where their rows do
    doubt: FloatArray  # (n_rows,), of both, how probably the label is wrong; NaN without one
    promised: FloatArray  # (n_rows,), how probably wrong as far as it can be promised
    known: NDArray[np.bool_]  # (n_rows,), whose label anything is promised of
    trust: Trust
    established: bool  # whether noise at random is found
    share: ShareWrong
    codes: IntArray  # (n_rows,), of the given labels
    n_classes: int

    @property
    def noise_rate(self) -> float:
        """Share of the labels that is wrong: the mean of the doubts."""
        # Over the labelled rows alone: their sum is then the same whether others are there or not.
        return float(np.mean(self.doubt[self.codes >= 0]))

    @property
    def noise_interval(self) -> tuple[float, float]:
        """The least and the most that the share of wrong labels may be.

        The most is all that a fit which has not seen it would not have given, what is doubted of
        the others, and two standard errors. Where no noise at random is found, wrong labels may be
        at the boundary, and some of them are what the fit gives: half of what it leaves to other
        classes counts for these. (If labels said no more than the rows, all of it would be wrong.)
        """
        labelled = self.codes >= 0
        doubted = np.maximum(self.at_random, self.at_boundary)
        if not self.established:
            doubted = np.maximum(doubted, (1 - self.candidates.confidence) / 2)
        unlike = self.candidates.first != self.codes
        unexpected = float(np.where(unlike, 1.0, doubted)[labelled].mean())
        error = np.sqrt(unexpected * (1 - unexpected) / np.count_nonzero(labelled))
        high = max(self.share.high, min(1.0, unexpected + 2 * float(error)))
        return min(self.share.low, self.noise_rate), high

    @cached_property
    def flagged(self) -> NDArray[np.bool_]:
        """The labels to look at: as many as make the expected F1 the largest."""
        return flag_for_f1(self.doubt, self.eligible)

    def flag_for(self, precision: float) -> NDArray[np.bool_]:
        """Return as many labels as are wrong with this share, as far as it can be promised."""
        asked = self.eligible & self.known
        return flag_for_precision(self.doubt, asked, precision, self.promised)

    def flag_within(self, budget: int) -> NDArray[np.bool_]:
        """Return the most doubtful labels, at most so many."""
        return flag_for_budget(self.doubt, self.eligible, budget)

    @property
    def corruption(self) -> Matrix:
        """The share of each true class (row) that was given each label, by what is flagged."""
        labelled = self.codes >= 0
        true = np.where(self.flagged, self.candidates.first, self.codes)[labelled]
        return count_transitions(true, self.codes[labelled], self.n_classes)

    @property
    def likeliest_other(self) -> IntArray:
        """(n_rows,), the likeliest class that is not the given one."""
        first, second = self.candidates.first, self.candidates.second
        return np.where(first == self.codes, second, first)

    @cached_property
    def unclear(self) -> NDArray[np.bool_]:
        """Labels that are wrong or overlap of classes: all that is known is a likelier class."""
        return self.eligible & (self.at_random < SURELY)

    @property
    def overlapping(self) -> list[tuple[int, int]]:
        """Pairs of classes that unclear labels are between, the most frequent first."""
        ends = np.stack([self.codes[self.unclear], self.candidates.first[self.unclear]])
        pairs = Counter(map(tuple, np.sort(ends, axis=0).T.tolist()))
        return [(a, b) for (a, b), _ in pairs.most_common()]


def reach_verdict(
    opinions: Opinions, labels: Labels, *, fewest_rows: int = FEWEST_ROWS
) -> LabelVerdict:
    """Return the verdict on every label; those of classes with too few rows are never flagged."""
    codes, sizes = labels.codes, labels.sizes
    rare = rare_classes(sizes)
    for said in (opinions.outputs, opinions.density):
        rule_out(said, rare, codes)
    random_noise = fit_noise_model(opinions.outputs, codes)
    boundary_noise = fit_noise_model(opinions.density, codes, temperatures=AS_IT_IS)
    by_nearest = None
    if opinions.vote is not None:
        near = opinions.vote.said
        rule_out(near, rare, codes)
        by_nearest = fit_noise_model(near, codes).probability_wrong(near, codes)
    return verdict_of(
        _candidates(random_noise, opinions.outputs),
        random_noise.probability_wrong(opinions.outputs, codes),
        boundary_noise.probability_wrong(opinions.density, codes),
        random_noise,
        codes=codes,
        sizes=sizes,
        trust=opinions.trust,
        by_nearest=by_nearest,
        fewest_rows=fewest_rows,
    )


def verdict_of(
    candidates: Candidates,
    at_random: FloatArray,
    at_boundary: FloatArray,
    random_noise: NoiseModel,
    *,
    codes: IntArray,
    sizes: IntArray,
    trust: Trust,
    by_nearest: FloatArray | None = None,
    fewest_rows: int = FEWEST_ROWS,
) -> LabelVerdict:
    """Return the verdict on labels (n_rows,), of classes of given sizes, from what is said of each.

    The names are those of `LabelVerdict`; `random_noise` is the noise if all else is overlap, and
    `by_nearest` what `at_random` would be by the nearest rows alone, if they have a say.
    """
    at_random = (1 - trust.explained) * (BY_HALF if trust.may_be_none else 1.0) * at_random
    at_boundary = (1 - trust.overlap_explained) * at_boundary
    # A label whose own class is the likeliest is never flagged: there is nothing to suggest.
    unlike = (codes != NO_LABEL) & (candidates.first != codes)
    class_sizes = sizes[np.maximum(codes, 0)]
    noise_rate, even = random_noise.noise_rate, random_noise.is_even
    established = is_established(noise_rate, random_noise.noise_rate_interval)
    weight = weigh_boundary(at_boundary, unlike, established=established, even=even)
    known = trust.known(class_sizes, even=even)
    # Near curved boundaries votes are as unsure as a classifier that confuses classes.
    as_it_is = even and not trust.is_curved
    promised = promised_doubt(at_random, candidates.confidence, known, even=as_it_is)
    if by_nearest is not None:  # what a probe takes for noise, the nearest rows may explain
        promised = np.minimum(promised, by_nearest)
    return LabelVerdict(
        candidates=candidates,
        eligible=unlike & (class_sizes >= fewest_rows),
        at_random=at_random,
        at_boundary=at_boundary,
        doubt=combined_doubt(at_random, at_boundary, unlike, weight),
        promised=promised,
        known=known,
        trust=trust,
        established=established,
        share=share_wrong(
            at_random, at_boundary, promised, noise_rate, random_noise.noise_rate_interval
        ),
        codes=codes,
        n_classes=len(sizes),
    )


def _candidates(model: NoiseModel, outputs: FloatArray) -> Candidates:
    """Return the two likeliest classes by the outputs, as probable as the model says they are."""
    parts = []
    for block in row_blocks(*outputs.shape):
        probabilities = model.class_probabilities(outputs[block])
        parts.append(two_likeliest(outputs[block], probabilities))
    return join(parts)


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
