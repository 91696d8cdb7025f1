"""What classifiers that have not seen a row's label say of it, for rows in chunks.

Nothing of shape (n_rows, n_classes) is held: opinions are made again, block by block, wherever they
are needed, from the coefficients of a few fits and the moments of the classes.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from twohot._checks.labels import NO_LABEL
from twohot._types import FloatArray, IntArray
from twohot.audit.noise_fit import MOST_ROWS, best_temperature, fit_noise_model, rare_classes
from twohot.audit.noise_model import NoiseModel
from twohot.audit.opinions import MOST_TEMPERATURE, rule_out
from twohot.audit.two_likeliest import two_likeliest
from twohot.audit.verdict import AS_IT_IS
from twohot.distill.discriminant import ClassMoments, moments_along_axes
from twohot.distill.leave_one_out import choose_shrinkage, left_out_logits
from twohot.rows.block import Block
from twohot.rows.chunked import ChunkedColumn, split_index
from twohot.rows.chunked_labels import ChunkedLabels
from twohot.rows.coordinates import Coordinates
from twohot.rows.dask_rows import DaskRows
from twohot.select.chunked_sample import sample_rows
from twohot.select.search import Search
from twohot.select.splits import N_FOLDS, Splits, choose_splits
from twohot.select.unseen import ancestry

FOLD = "fold"  # of each row: which fit has not seen it
GIVEN = "given"  # codes of the labels, those of rows without one too


@dataclass(frozen=True, eq=False)
class RowJudge:
    """All that is needed to judge a row without its label; what all chunks share."""

    coefs: FloatArray  # (n_folds, K, d), on prepared rows, of the fit without each fold
    basis: FloatArray  # (d, m), what rows are read along for the discriminant
    moments: ClassMoments
    shrinkage: float
    temperatures: tuple[float, float] = (1.0, 1.0)  # of the outputs and of the density
    at_random: NoiseModel | None = None
    at_boundary: NoiseModel | None = None
    rare: IntArray = field(default_factory=lambda: np.empty(0, np.intp))  # classes

    def opinions(self, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return logits (rows, K) of the fits and of the discriminant, each without the row."""
        density = left_out_logits(block, self.basis, self.moments, self.shrinkage)
        rows, folds = block.prepared(), block.columns[FOLD]
        logits = np.empty((len(block), self.coefs.shape[1]), np.float32)
        for fold in np.unique(folds).tolist():
            chosen = folds == fold
            coef = self.coefs[fold]
            logits[chosen] = rows[chosen] @ coef[:, : rows.shape[1]].T
            if block.intercept:
                logits[chosen] += coef[:, -1]
        return logits, density.astype(np.float32)

    def outputs(self, logits: FloatArray, density: FloatArray) -> FloatArray:
        """Return the mean of both, each as sure as the labels say it should be."""
        halves = (np.float32(2 * each) for each in self.temperatures)
        return np.asarray(
            sum(said / half for said, half in zip((logits, density), halves, strict=True))
        )


def make_judge(
    search: Search, labels: ChunkedLabels, weights: ChunkedColumn | None, random_state: Any
) -> RowJudge:
    """Fit what judges rows without their labels, and the noise that explains the labels."""
    coordinates = search.coordinates
    rows = coordinates.rows
    if not isinstance(rows, DaskRows):
        raise TypeError("rows in chunks are meant")
    sample, codes = sample_rows(labels, weights, random_state)
    splits = choose_splits(N_FOLDS, codes, None, random_state)
    _attach_folds(rows, sample, splits)
    moments = moments_along_axes(coordinates)
    judge = RowJudge(
        coefs=_fold_coefs(search, coordinates.leading(), sample, splits),
        basis=moments.read.astype(rows.dtype),
        moments=moments,
        shrinkage=choose_shrinkage(rows, moments),
    )
    return _with_noise(judge, rows, sample, codes, random_state)


def _attach_folds(rows: DaskRows, sample: IntArray, splits: Splits) -> None:
    """Note beside each row which fit has not seen it; rows beyond the sample are in no fit."""
    folds = np.zeros(len(sample), dtype=np.int8)
    for number, (_, held_out) in enumerate(splits):
        folds[held_out] = number
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
    again = Search(coordinates.in_axes(sample), splits, search.settings)
    best = search.best()
    for candidate in ancestry(search, best.candidate):
        again.attempt(candidate)
    along = best.recipe.coordinates(coordinates)
    return np.stack([along.on_rows(end.coef) for end in again.trials[best.recipe].evaluations])


def _with_noise(
    judge: RowJudge, rows: DaskRows, sample: IntArray, codes: IntArray, random_state: Any
) -> RowJudge:
    """Return the judge as sure as labels say, with the noise that explains them."""
    chosen = np.arange(len(sample))
    if len(sample) > MOST_ROWS:
        rng = np.random.default_rng(0 if random_state is None else random_state)
        chosen = np.sort(rng.choice(len(sample), MOST_ROWS, replace=False))
    said = list(rows.take(sample[chosen]).map(opinions_of, judge))
    logits, density = (np.concatenate(parts) for parts in zip(*said, strict=True))
    own = codes[chosen]
    judge = replace(judge, rare=rare_classes(codes, rows.n_classes))
    temperatures = [
        min(best_temperature(each, own), MOST_TEMPERATURE) for each in (logits, density)
    ]
    judge = replace(judge, temperatures=(temperatures[0], temperatures[1]))
    for each in (logits, density):
        rule_out(each, judge.rare, own)
    return replace(
        judge,
        at_random=fit_noise_model(judge.outputs(logits, density), own),
        at_boundary=fit_noise_model(density, own, temperatures=AS_IT_IS),
    )


# Kernels and tasks -------------------------------------------------------------------------------


def opinions_of(block: Block, judge: RowJudge) -> tuple[FloatArray, FloatArray]:
    """Return what is said of the rows in a block. A kernel."""
    return judge.opinions(block)


def row_verdicts(block: Block, judge: RowJudge) -> FloatArray:
    """Return the verdict on each row, one column for each of VERDICT. A kernel."""
    logits, density = judge.opinions(block)
    codes = block.columns[GIVEN]
    for each in (logits, density):
        rule_out(each, judge.rare, codes)
    outputs = judge.outputs(logits, density)
    if judge.at_random is None or judge.at_boundary is None:
        raise ValueError("the noise is not known yet")
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
