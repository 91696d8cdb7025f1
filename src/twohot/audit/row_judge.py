"""What classifiers that have not seen a row's label say of it, where rows and classes are many.

Nothing of shape (n_rows, n_classes) is held: opinions are made again, block by block, wherever the
rows are, from the coefficients of a few fits and the moments of the classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.audit.doubt import Trust
from twohot.audit.noise_fit import fit_noise_model, most_rows, rare_classes
from twohot.audit.noise_model import NoiseModel
from twohot.audit.opinions import mean_opinion, opinion_scales, rule_out, trust_in
from twohot.audit.two_likeliest import two_likeliest
from twohot.audit.verdict import AS_IT_IS
from twohot.distill.discriminant import ClassMoments, half_whitened_moments
from twohot.distill.leave_one_out import choose_shrinkage, left_out_logits
from twohot.rows.block import Block
from twohot.rows.chunked import ChunkedColumn, split_index
from twohot.rows.coordinates import Coordinates
from twohot.rows.dask_rows import DaskRows
from twohot.rows.rows import Rows
from twohot.select.sampling import CHOICE_CELLS
from twohot.select.search import Search
from twohot.select.splits import Splits, choose_splits
from twohot.select.unseen import fit_again, folds_within

FOLD = "fold"  # of each row: which fit has not seen it
GIVEN = "given"  # codes of the labels, those of rows without one too

# Rows that a shrinkage is chosen on, at the least.
FEWEST_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class UnseenFits:
    """Fits that have not seen a row's label; what all blocks share."""

    # (n_folds, K, d), on prepared rows, of the fit without each fold; none: the discriminant alone
    coefs: FloatArray
    basis: FloatArray  # (d, m), what rows are read along for the discriminant
    moments: ClassMoments
    shrinkage: float

    def logits(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return logits (rows, K) of the fits and of the discriminant, each without the row."""
        density = left_out_logits(block, self.basis, self.moments, self.shrinkage)
        density = density.astype(np.float32)
        if not len(self.coefs):
            return density.copy(), density
        rows, folds = block.prepared(), block.columns[FOLD]
        logits = np.empty((len(block), self.coefs.shape[1]), np.float32)
        for fold in np.unique(folds).tolist():
            chosen = folds == fold
            coef = self.coefs[fold]
            logits[chosen] = rows[chosen] @ coef[:, : rows.shape[1]].T
            if block.intercept:
                logits[chosen] += coef[:, -1]
        return logits, density


@dataclass(frozen=True, eq=False)
class RowJudge:
    """All that is needed to judge a row without its label; what all blocks share."""

    fits: UnseenFits
    scales: tuple[float, float]  # that logits and density are divided by in their mean
    rare: IntArray  # classes that no row is suggested to be of
    at_random: NoiseModel  # that explains the labels, if all else is overlap
    at_boundary: NoiseModel  # if classes overlap only where their rows do
    trust: Trust


def make_judge(
    search: Search, sample: IntArray, codes: IntArray, sizes: IntArray, random_state: Any
) -> RowJudge:
    """Fit what judges rows without their labels, and the noise that explains the labels.

    A sample of the rows that have a label, with the codes of these, is fitted on in folds. It has
    more of the small classes than their share: the sizes (K,) of the classes are those of all rows.
    """
    coordinates = search.coordinates
    rows = coordinates.rows
    n_folds = folds_within(len(sample), rows.n_classes)
    splits = choose_splits(n_folds, codes, None, random_state) if n_folds else []
    _attach_folds(rows, sample, splits)
    moments = half_whitened_moments(coordinates)
    some = _some(len(sample), max(FEWEST_ROWS, CHOICE_CELLS // rows.n_classes), random_state)
    fits = UnseenFits(
        coefs=_fold_coefs(search, coordinates.leading(), sample, splits),
        basis=moments.read.astype(rows.dtype),
        moments=moments,
        shrinkage=choose_shrinkage(rows.take(sample[some]), moments),
    )
    chosen = _some(len(sample), most_rows(rows.n_classes), random_state)
    taken = rows.take(sample[chosen])
    said = list(taken.map(unseen_logits_of, fits))
    logits, density = (np.concatenate(parts) for parts in zip(*said, strict=True))
    return _judge_by(
        fits,
        logits,
        density,
        codes[chosen],
        rows=taken,
        n_features=search.n_features,
        rare=rare_classes(sizes),
    )


def _some(n_rows: int, most: int, random_state: Any) -> IntArray:
    """Return so many at the most of some numbered rows, in order."""
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(0 if random_state is None else random_state)
    return np.sort(rng.choice(n_rows, most, replace=False))


def _attach_folds(rows: Rows, sample: IntArray, splits: Splits) -> None:
    """Note beside each row which fit has not seen it; rows beyond the sample are in no fit."""
    folds = np.zeros(len(sample), dtype=np.int8)
    for number, (_, held_out) in enumerate(splits):
        folds[held_out] = number
    if not isinstance(rows, DaskRows):
        rows.attach(FOLD, folds_of_rows(range(rows.n_samples), sample, folds))
        return
    places = np.searchsorted(sample, rows.X.bounds)
    pieces = dict(split_index(sample, rows.X.bounds))
    nothing = np.empty(0, dtype=np.intp)
    calls = [
        (chunk, pieces.get(number, nothing), folds[places[number] : places[number + 1]])
        for number, chunk in enumerate(rows.X.column.chunks)
    ]
    chunks = rows.tasks.keep(rows.tasks.run(folds_of_rows, calls))
    rows.attach(FOLD, ChunkedColumn(rows.tasks, chunks, rows.X.column.sizes))


def _fold_coefs(
    search: Search,
    coordinates: Coordinates,
    sample: IntArray,
    splits: Splits,
) -> FloatArray:
    """Return the coefficients on prepared rows of the best candidate, fitted without each fold."""
    if not splits:
        return np.empty((0, 0, 0))
    best = search.best()
    again = fit_again(search, best.candidate, coordinates.in_axes(sample), splits)
    along = best.recipe.coordinates(coordinates)
    return np.stack([along.on_rows(end.coef) for end in again.ends[best.recipe]])


def _judge_by(
    fits: UnseenFits,
    logits: FloatArray,
    density: FloatArray,
    codes: IntArray,
    *,
    rows: Rows,
    n_features: int,
    rare: IntArray,
) -> RowJudge:
    """Return the judge as sure as labels of some rows say, with the noise that explains them."""
    scales = opinion_scales(logits, density, codes)
    for each in (logits, density):
        rule_out(each, rare, codes)
    outputs = mean_opinion(logits, density, scales)
    return RowJudge(
        fits,
        scales=scales,
        rare=rare,
        at_random=fit_noise_model(outputs, codes),
        at_boundary=fit_noise_model(density, codes, temperatures=AS_IT_IS),
        trust=trust_in(rows, codes, outputs, n_features),
    )


# Kernels and tasks -------------------------------------------------------------------------------


def unseen_logits_of(block: Block, fits: UnseenFits) -> tuple[FloatArray, FloatArray]:
    """Return what is said of the rows in a block. A kernel."""
    return fits.logits(block)


def row_verdicts(block: Block, judge: RowJudge) -> FloatArray:
    """Return the verdict on each row, one column for each of VERDICT. A kernel."""
    logits, density = judge.fits.logits(block)
    codes = block.columns[GIVEN]
    for each in (logits, density):
        rule_out(each, judge.rare, codes)
    outputs = mean_opinion(logits, density, judge.scales)
    found = two_likeliest(outputs, judge.at_random.class_probabilities(outputs))
    return np.column_stack(
        [
            codes,
            found.first,
            found.second,
            found.confidence,
            found.runner_up,
            judge.at_random.probability_wrong(outputs, codes),
            judge.at_boundary.probability_wrong(density, codes),
        ]
    )


VERDICT = ("given", "first", "second", "confidence", "runner_up", "at_random", "at_boundary")
# Of these, what the choice of flags depends on.
DECISIVE = ("given", "first", "confidence", "at_random", "at_boundary")


def folds_of_rows(chunk: Any, rows: IntArray, folds: IntArray) -> IntArray:
    """Return the fold of each row of a chunk, zero for those that are in none."""
    found = np.zeros(len(chunk), dtype=np.int8)
    found[rows] = folds
    return found


def code_or_first(codes: IntArray) -> IntArray:
    """Return codes with the first class where there is no label; such rows have no weight."""
    return np.where(codes == NO_LABEL, 0, codes)


def is_labelled(codes: IntArray) -> FloatArray:
    """Return a weight of one for rows with a label, and none for others."""
    return np.asarray(codes != NO_LABEL, dtype=np.float64)
