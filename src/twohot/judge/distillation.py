"""Anchored self-distillation: the label model, and fits to its posterior.

    members → anchor rows → Q → weights → posterior → members fitted to the posterior → ...

Members, anchor rows, Q and weights are defined in `label_model`. The posterior is the probability
of each true class, given a row and its label. The first posterior comes from the library. In each
round the robust kinds of the library are fitted again, by cross-entropy, to the posterior as soft
labels. The folds stay the same, so the logits of a row come from fits without the row. This is the
paper's self-distillation, after removing the noise. It distinguishes structured noise, such as
pairs of confused classes, from overlapping classes.

A row's own label still leaks into later rounds, because the soft labels of other folds depend on
this label. The leak improves the ranking of suspicious labels, but makes the probabilities that
labels are wrong too small. So these probabilities are shifted until their mean is the same as under
the first label model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from twohot.base import FloatArray, IntArray
from twohot.judge.anchors import agreement_rises, anchor_counts, confusions, shrink, surest_rate
from twohot.judge.label_model import REFUTED, LabelModel, row_likelihoods, weigh, z_score
from twohot.judge.library import COARSE_TOL, Library, Member, held_out_logits
from twohot.judge.nearest import VotesRecipe
from twohot.judge.recalibration import LEAST_PROBABILITY, bounded_logit
from twohot.judge.sample import Sample
from twohot.probes import SOFT, DiscriminantRecipe, Recipe, StoredTargets, fit_round
from twohot.solve import CrossEntropy, Evaluation, Solver

# Chosen: rounds of fits to the posterior. The first round gains most. After the second, the leakage
# of a row's own label costs about as much as another round gains.
N_ROUNDS = 2

# Chosen: the noise is reduced in this many steps, until a test of the likelihood of the labels
# rejects the reduced noise. The test statistic is interpolated between two steps. More steps cost
# fits and change the result little.
N_PARTS = 4


@dataclass(frozen=True, eq=False)
class Stage:
    """The label model of one round."""

    members: Sequence[Member]
    model: LabelModel
    posterior: FloatArray  # (n, K), P(true class | row, label)
    read: "AnchorNoise"  # the noise estimated from anchor rows
    targets: FloatArray | None = None  # (n, K), soft labels of the fits; None: the given labels

    @property
    def logits(self) -> list[FloatArray]:
        """Logits of each member for the rows of the sample."""
        return [each.logits for each in self.members]

    @property
    def predicted(self) -> IntArray:
        """Most probable class (n,) of each row, without regard to its label."""
        return np.asarray(self.model.log_probabilities(self.logits).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Anchored:
    """The label models of all rounds on a sample."""

    sample: Sample
    library: Library
    stages: list[Stage]
    targets: FloatArray | None = None  # (n, K), targets for the fits on all rows

    @property
    def first(self) -> Stage:
        """The label model of the library."""
        return self.stages[0]

    @property
    def last(self) -> Stage:
        """The label model of the last round."""
        return self.stages[-1]

    def doubt(self, stage: Stage) -> FloatArray:
        """Return the probabilities (n,) that the labels are wrong, by the model of a stage."""
        codes = self.sample.codes
        return np.asarray(1 - stage.posterior[np.arange(len(codes)), codes])

    @property
    def share_wrong(self) -> float:
        """Fraction of wrong labels, estimated by the first label model."""
        return float(np.average(self.doubt(self.first), weights=self.sample.weights))

    @property
    def shift(self) -> float:
        """Number to add to logits of the last round's `doubt`: its mean becomes `share_wrong`."""
        return shift_to_mean(self.doubt(self.last), self.share_wrong, self.sample.weights)


def distil(sample: Sample, library: Library, n_rounds: int = N_ROUNDS) -> Anchored:
    """Return the label models: the first from the fitted library, then one per round of fits."""
    members = [library.members[recipe] for recipe in library.chosen()]
    robust = [library.members[recipe] for recipe in library.robust()]
    stages = [_stage(sample, members, mean_logits(robust or members))]
    previous = stages[0].posterior
    linear = [each.recipe for each in robust if isinstance(each.recipe, Recipe)]
    voters = [each for each in robust if isinstance(each.recipe, VotesRecipe)]
    others = [each for each in members if isinstance(each.recipe, DiscriminantRecipe)]
    starts: dict[Recipe, tuple[Evaluation, ...]] = {}
    for _ in range(n_rounds if linear else 0):
        targets = 0.5 * (stages[-1].posterior + previous)
        previous = targets
        soft = fit_posterior(sample, library, linear, targets, starts)
        starts = {each.recipe: each.ends for each in soft}  # type: ignore[misc]
        votes = [
            replace(each, logits=library.vote(each.recipe.n_voters, targets))  # type: ignore[union-attr]
            for each in voters
        ]
        stages.append(_stage(sample, [*soft, *votes, *others], mean_logits(soft), targets))
    return Anchored(sample, library, stages, 0.5 * (stages[-1].posterior + previous))


def fit_posterior(
    sample: Sample,
    library: Library,
    recipes: list[Recipe],
    targets: FloatArray,
    starts: dict[Recipe, tuple[Evaluation, ...]],
) -> list[Member]:
    """Return linear members fitted to the soft labels `targets`, in the folds of the library."""
    for fitted, held_out, rows in library.splits:
        held = np.setdiff1d(np.arange(len(targets)), rows, assume_unique=True)
        fitted.rows.attach(SOFT, targets[held].astype(np.float32))
        held_out.rows.attach(SOFT, targets[rows].astype(np.float32))
    settings = replace(library.settings, tol=COARSE_TOL, min_iter=1)
    found = []
    for recipe in map(with_cross_entropy, recipes):
        logits = np.empty((len(targets), sample.n_classes), np.float32)
        ends = []
        for fold, (fitted, held_out, rows) in enumerate(library.splits):
            last = starts[recipe][fold] if recipe in starts else None
            solver = Solver(recipe.coordinates(fitted), settings)
            solution, _, _ = fit_round(solver, StoredTargets(SOFT), recipe, last)
            ends.append(solution.evaluation)
            logits[rows] = held_out_logits(held_out, recipe, solution.evaluation)
        found.append(Member(recipe, logits, ends=tuple(ends)))
    return found


def with_cross_entropy(robust: Recipe) -> Recipe:
    """Return the recipe with cross-entropy, because the posterior contains no label noise."""
    return replace(robust, loss=CrossEntropy())


def mean_logits(members: Sequence[Member]) -> FloatArray:
    """Return the mean of the members' logits, each divided by its temperature."""
    total = np.zeros(members[0].logits.shape, np.float64)
    for each in members:
        total += each.logits / each.temperature
    return np.asarray(total / len(members))


def scales_of(members: Sequence[Member]) -> FloatArray:
    """Return 1 / temperature of each member, (M,): factors that make the logits comparable."""
    return np.array([1 / each.temperature for each in members])


def _stage(
    sample: Sample,
    members: Sequence[Member],
    sure: FloatArray,
    targets: FloatArray | None = None,
) -> Stage:
    logits = [each.logits for each in members]
    model, read = read_noise(sample, logits, scales_of(members), sure)
    return Stage(members, model, model.posterior(logits, sample.codes), read, targets)


def linear_model(
    sample: Sample, stage: Stage, *, discriminant: bool = True
) -> tuple[list[Member], LabelModel]:
    """Return the linear members of a stage, and their label model.

    The weights are fitted again, because the votes of the nearest rows are left out. Without
    `discriminant`, the discriminant is left out too, unless it is the only linear member.
    """
    linear = [each for each in stage.members if not isinstance(each.recipe, VotesRecipe)]
    if not discriminant:
        probes = [each for each in linear if isinstance(each.recipe, Recipe)]
        linear = probes or linear
    logits = [each.logits for each in linear]
    return linear, fit_weights(sample, logits, stage.model.noise, scales_of(linear))


def read_noise(
    sample: Sample, logits: Sequence[FloatArray], scales: FloatArray, sure: FloatArray
) -> tuple[LabelModel, "AnchorNoise"]:
    """Return the label model, and the noise estimated from the anchor rows.

    If labels of anchor rows equal the predictions more often at larger margins, by a one-sided test
    at level 5 %, then classes overlap even among anchor rows. The noise is then reduced to the rate
    of the rows with the largest margins (see `surest_rate`). If a test of the likelihoods of the
    labels rejects this rate, the noise is reduced to the smallest rate that the test does not
    reject.
    """
    counts = anchor_counts(sure, sample.codes, sample.weights)
    noise = shrink(counts, confusions(sure))
    read = AnchorNoise(sample, logits, scales, fit_weights(sample, logits, noise, scales))
    if agreement_rises(sure, sample.codes, sample.groups) <= REFUTED:
        return read.model, read
    kept = surest_rate(sure, sample.codes, sample.groups) / (1 - np.trace(counts) / counts.sum())
    if kept >= 1:
        return read.model, read
    return read.reduced_to(max(kept, read.least)), read


@dataclass(frozen=True, eq=False)
class AnchorNoise:
    """The label model with the noise of the anchor rows, before correction for overlap."""

    sample: Sample
    logits: Sequence[FloatArray]
    scales: FloatArray
    model: LabelModel

    def reduced_to(self, part: float) -> LabelModel:
        """Return the label model with the rates of wrong labels in Q multiplied by `part`."""
        noise = part * self.model.noise
        noise.flat[:: len(noise) + 1] += 1 - part
        return fit_weights(self.sample, self.logits, noise, self.scales)

    @cached_property
    def least(self) -> float:
        """The smallest `part` of `reduced_to` that a one-sided test at level 5 % does not reject.

        The test compares the likelihoods of the given labels with and without the reduction.
        """
        rows = self.sample.model_rows
        some, codes = [each[rows] for each in self.logits], self.sample.codes[rows]
        groups = self.sample.groups[rows]
        found = row_likelihoods(self.model, some, codes)
        upper, z_upper = 1.0, 0.0
        for part in (number / N_PARTS for number in reversed(range(N_PARTS))):
            z = z_score(row_likelihoods(self.reduced_to(part), some, codes) - found, groups)
            if z < -REFUTED:
                return float(part + (upper - part) * (z + REFUTED) / (z - z_upper))
            upper, z_upper = part, z
        return 0.0


def fit_weights(
    sample: Sample, logits: Sequence[FloatArray], noise: FloatArray, scales: FloatArray
) -> LabelModel:
    """Return the label model with Q = `noise`; its weights are fitted on a subset of the rows."""
    rows = sample.model_rows
    weights = None if sample.weights is None else sample.weights[rows]
    return weigh([each[rows] for each in logits], sample.codes[rows], noise, scales, weights)


def shift_to_mean(doubt: FloatArray, mean: float, weights: FloatArray | None = None) -> float:
    """Return the number to add to the logits of `doubt` so that its mean becomes `mean`."""
    odds = bounded_logit(doubt)
    goal = min(max(mean, LEAST_PROBABILITY), 1 - LEAST_PROBABILITY)
    most = -2 * float(bounded_logit(np.zeros(1))[0])  # interval that contains all bounded logits

    def gap(shift: float) -> float:
        return float(np.average(expit(odds + shift), weights=weights)) - goal

    return float(brentq(gap, -most, most))


def shifted(doubt: FloatArray, shift: float) -> FloatArray:
    """Return probabilities after adding `shift` to their logits."""
    return np.asarray(expit(bounded_logit(doubt) + shift))
