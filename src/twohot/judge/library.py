"""The library: several kinds of classifiers and their held-out logits.

    teacher         cross-entropy on the given labels
    robust          generalised cross-entropy on the given labels
    discriminant    linear discriminant analysis, with closed-form leave-one-out logits
    neighbours      labels of the nearest rows

Teachers and robust probes are fitted on plain and on half-whitened rows (see
`rows.principal_axes`), which makes four kinds. The candidates of such a kind differ in their
penalty. The agreement of a candidate is the fraction of held-out given labels that it predicts. For
each kind, the candidate with the largest likelihood of the given labels (with uniform noise)
becomes a member of the label model. For a robust kind (robust probes or neighbours), the candidate
with the largest agreement becomes a member too.

Fits have a loose tolerance. A fit starts from the coefficients fitted at the previous penalty.
Candidates are compared on the first few folds, which hold out at least SCORED_ROWS rows, if there
are so many. The members are then fitted for all folds.

A kernel is a function of a block of rows, see `twohot.rows.rows`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.judge.choice import MemberRecipe, Tried
from twohot.judge.label_model import centre, fit_uniform_noise, standard_error
from twohot.judge.nearest import VotesRecipe, nearest_rows, vote_logits
from twohot.judge.sample import Sample
from twohot.probes import (
    LABELS,
    STUDENT_RIDGE,
    Checkpoint,
    DiscriminantRecipe,
    LabelTargets,
    Recipe,
    choose_shrinkage,
    discriminant_coef,
    fit_round,
    half_whitened_moments,
    leave_one_out_logits,
    one_hot,
)
from twohot.rows import Block, Coordinates
from twohot.solve import CrossEntropy, Evaluation, GeneralizedCrossEntropy, Loss, Settings, Solver

# Learnt from the data: the penalty, among these ridges (see `LinearProbe`) in steps of about a
# factor of three. The search of each kind starts at STUDENT_RIDGE, to save fits.
RIDGES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)

# Cost: number of rows on which penalties are compared. An agreement of one half then has a standard
# error of .011.
SCORED_ROWS = 2_000

# Cost: tolerance of the library's fits, relative to the gradient of cross-entropy at zero
# coefficients. The remaining error of the logits is smaller than their change at the next penalty.
# The tolerance of a robust loss is smaller, because the gradients of such a loss can be small even
# far from the optimum.
COARSE_TOL, ROBUST_TOL = 0.05, 0.0125

# Learnt from the data: the number of nearest rows that vote, among these numbers.
VOTERS = (15, 40)


@dataclass(frozen=True, eq=False)
class Member:
    """A classifier, and its held-out logits."""

    recipe: MemberRecipe
    logits: FloatArray  # (n, K), held-out, centred, for the rows of the sample
    temperature: float = 1.0  # divisor of its logits; 1 for a fit to the posterior
    ends: tuple[Evaluation, ...] = ()  # ends of the fits of a linear probe, one per fold


@dataclass(eq=False)
class Library:
    """The candidates and members fitted so far in the folds of a sample."""

    sample: Sample
    settings: Settings
    say: Callable[[str], object] | None = None
    checkpoint: Checkpoint | None = None
    tried: dict[MemberRecipe, Tried] = field(default_factory=dict)
    members: dict[MemberRecipe, Member] = field(default_factory=dict)  # fitted for all folds
    _ends: dict[Recipe, dict[int, Evaluation]] = field(default_factory=dict)
    _starts: dict[Recipe, Recipe | None] = field(default_factory=dict)

    # Folds ---------------------------------------------------------------------------------------

    @cached_property
    def splits(self) -> list[tuple[Coordinates, Coordinates, IntArray]]:
        """For each fold: training rows, held-out rows, and positions of the held-out rows."""
        folds, rows = self.sample.folds, self.sample.searched
        return [
            (rows.take(np.flatnonzero(folds != fold)), rows.take(held_out), held_out)
            for fold in range(self.sample.n_folds)
            for held_out in [np.flatnonzero(folds == fold)]
        ]

    @cached_property
    def scored(self) -> tuple[list[int], IntArray]:
        """Folds on which penalties are compared, and positions of their held-out rows."""
        chosen: list[int] = []
        n_rows = 0
        for fold, (_, _, held_out) in enumerate(self.splits):
            if n_rows < SCORED_ROWS:
                chosen.append(fold)
                n_rows += len(held_out)
        return chosen, np.flatnonzero(np.isin(self.sample.folds, chosen))

    # Linear probes -------------------------------------------------------------------------------

    def attempt(self, recipe: Recipe, start: Recipe | None) -> Tried:
        """For each scored fold, fit a candidate without the fold; return its scores.

        The fits start from those of the recipe `start`, which are run first if necessary.
        """
        folds, rows = self.scored
        self._starts[recipe] = start
        n_passes = sum(self._fit(recipe, fold) for fold in folds)
        logits = centre(self._predict(recipe, folds)[rows]).astype(np.float32)
        return self._score(recipe, logits, n_passes)

    def complete(self, recipe: Recipe) -> None:
        """For each remaining fold, fit a candidate without the fold; store it as a member."""
        folds, tried = range(len(self.splits)), self.tried[recipe]
        n_passes = tried.n_passes + sum(self._fit(recipe, fold) for fold in folds)
        self.tried[recipe] = replace(tried, n_passes=n_passes)
        logits, ends = self._predict(recipe, folds), self._ends[recipe]
        in_order = tuple(ends[fold] for fold in folds)
        self.members[recipe] = Member(recipe, logits, tried.temperature, in_order)

    def _fit(self, recipe: Recipe, fold: int) -> float:
        """Fit a candidate without one fold, or use the stored fit; return the number of passes."""
        ends = self._ends.setdefault(recipe, {})
        if fold in ends:
            return 0.0
        key = f"{recipe} without fold {fold}"
        if self.checkpoint is not None:
            end, n_passes = self.checkpoint.tried(key)
            if end is not None:
                ends[fold] = end
                return n_passes
        start, n_passes = self._starts[recipe], 0.0
        if start is not None:
            n_passes += self._fit(start, fold)
        fitted, _, _ = self.splits[fold]
        settings = replace(self.settings, tol=coarse_tol(recipe.loss, self.sample.n_classes))
        solver = Solver(recipe.coordinates(fitted), settings)
        last = None if start is None else self._ends[start][fold]
        given = LabelTargets(self.sample.n_classes)
        solution, _, more = fit_round(solver, given, recipe, last)
        ends[fold] = solution.evaluation
        if self.checkpoint is not None:
            self.checkpoint.add_tried(key, ends[fold], n_passes + more)
        return n_passes + more

    def _predict(self, recipe: Recipe, folds: Iterable[int]) -> FloatArray:
        """Return logits (n, K), in which only the held-out rows of the given folds are set."""
        logits = np.empty((len(self.sample.codes), self.sample.n_classes), np.float32)
        for fold in folds:
            _, held_out, rows = self.splits[fold]
            logits[rows] = held_out_logits(held_out, recipe, self._ends[recipe][fold])
        return logits

    def _score(self, recipe: MemberRecipe, logits: FloatArray, n_passes: float) -> Tried:
        """Score a candidate by its logits of the scored rows; store and return the scores."""
        _, scored = self.scored
        weights, codes = self.sample.weights, self.sample.codes[scored]
        weights = None if weights is None else weights[scored]
        agrees = (logits.argmax(axis=1) == codes).astype(np.float64)
        agreement = float(np.average(agrees, weights=weights))
        error = standard_error(agrees, self.sample.groups[scored], weights)
        fit = fit_uniform_noise(logits, codes, weights)
        scores = fit.log_likelihood, fit.noise_rate, fit.temperature
        self.tried[recipe] = tried = Tried(recipe, agreement, error, *scores, n_passes)
        if self.say is not None:
            share = f"{agreement:.1%} of the held-out labels"
            self.say(f"{recipe}: predicts {share} (standard error {error:.1%})")
        return tried

    def _add(self, recipe: MemberRecipe, logits: FloatArray, n_passes: float) -> None:
        """Score the held-out logits of all rows of the sample; store them as a member."""
        logits = centre(logits).astype(np.float32)
        tried = self._score(recipe, logits[self.scored[1]], n_passes)
        self.members[recipe] = Member(recipe, logits, tried.temperature)

    # Kinds ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Fit the candidates of every kind; fit the chosen candidates for all folds."""
        # Chosen: a fit needs two rows per class on average.
        if len(self.sample.codes) >= 2 * self.sample.n_classes:
            for whiten in (False, True):
                first = self._walk(CrossEntropy(), None, whiten=whiten)
                self._walk(GeneralizedCrossEntropy(), first, whiten=whiten)
        self._discriminant()
        targets = one_hot(self.sample.codes, self.sample.n_classes).toarray()
        for n_voters in VOTERS:
            if len(self.sample.codes) > n_voters:
                self._add(VotesRecipe(n_voters), self.vote(n_voters, targets), 0.0)
        for recipe in self.chosen():
            if isinstance(recipe, Recipe):
                self.complete(recipe)

    def _walk(self, loss: Loss, start: Recipe | None, *, whiten: bool) -> Recipe:
        """Fit one kind at smaller and smaller penalties, while the scores improve (see `_gains`).

        If the first smaller penalty is no better, try larger penalties instead. Return the recipe
        of the first penalty, as a warm start for other kinds.
        """
        recipes = [Recipe(loss, ridge=ridge, whiten=whiten) for ridge in RIDGES]
        first = at = RIDGES.index(STUDENT_RIDGE)
        best = self.attempt(recipes[first], start)
        weaker, stronger = range(first + 1, len(RIDGES)), range(first - 1, -1, -1)
        for places in (weaker, stronger):
            for place in places if at == first else ():
                # A robust loss does not recover from the small coefficients of a large penalty.
                is_cold = loss.is_robust and places is stronger
                tried = self.attempt(recipes[place], start if is_cold else recipes[at])
                if not _gains(tried, best):
                    break
                best, at = tried, place
        return recipes[first]

    def _discriminant(self) -> None:
        # Read all rows only once, because they can be remote.
        sample, whole = self.sample, self.sample.whole
        n_before = whole.rows.n_passes
        whole.rows.attach(LABELS, np.maximum(sample.all_codes, 0))
        self.moments = half_whitened_moments(whole)
        n_passes = whole.rows.n_passes - n_before
        is_whole = len(sample.index) == whole.rows.n_samples
        rows = whole.rows if is_whole else whole.rows.take(sample.index)
        # Weights have mean one over all rows, even if some rows have no label.
        unit = rows.n_samples / rows.total_weight * whole.rows.total_weight / whole.rows.n_samples
        moments = replace(self.moments, weights=unit * self.moments.weights)
        shrinkage = choose_shrinkage(rows, moments)
        logits = leave_one_out_logits(rows, moments, shrinkage)
        self._leave_groups_out(logits, shrinkage)
        self._add(DiscriminantRecipe(shrinkage), logits, n_passes)

    def _leave_groups_out(self, logits: FloatArray, shrinkage: float) -> None:
        """Give rows that share a group the logits of discriminants fitted on other folds.

        For such a row, leaving out only the row is not enough: the other rows of its group would
        confirm its label.
        """
        shared = self.sample.shared[self.sample.index]
        if not shared.any():
            return
        pairs = zip(self.splits, self.discriminants(shrinkage), strict=True)
        for (_, held_out, rows), (coef, offset) in pairs:
            replaced = shared[rows]
            by_fold = np.concatenate(list(held_out.rows.map(affine, coef, offset)))
            logits[rows[replaced]] = by_fold[replaced]

    def discriminants(self, shrinkage: float) -> Iterator[tuple[FloatArray, FloatArray]]:
        """For each fold, yield coefficients and intercepts of a discriminant fitted without it."""
        for fitted, _, _ in self.splits:
            yield discriminant_coef(half_whitened_moments(fitted), shrinkage)

    @cached_property
    def nearest(self) -> IntArray:
        """Positions (n, max(VOTERS)) of the nearest rows of each row, outside the row's group."""
        points, groups = self.sample.points, self.sample.groups
        most = min(max(VOTERS), len(points) - 1)
        index, _ = nearest_rows(points, most, groups=groups, n_jobs=self.sample.whole.rows.n_jobs)
        return index

    def vote(self, n_voters: int, targets: FloatArray) -> FloatArray:
        """Return logits (n, K): the `n_voters` nearest rows vote with their targets (n, K)."""
        return vote_logits(self.nearest[:, :n_voters], targets)

    # Selection ------------------------------------------------------------------------------

    def _best(self, score: str) -> list[MemberRecipe]:
        """For each kind, return the recipe with the largest `score`, a field of `Tried`."""
        best: dict[str, Tried] = {}
        for tried in self.tried.values():
            rival = best.setdefault(tried.kind, tried)
            if getattr(tried, score) > getattr(rival, score):
                best[tried.kind] = tried
        return [tried.recipe for tried in best.values()]

    def robust(self) -> list[MemberRecipe]:
        """For each robust kind, return the recipe with the largest agreement."""
        return [recipe for recipe in self._best("agreement") if is_robust(recipe)]

    def chosen(self) -> list[MemberRecipe]:
        """Return the recipes of the members: the likeliest fit of each kind, and `robust()`."""
        return list(dict.fromkeys([*self._best("likelihood"), *self.robust()]))


def coarse_tol(loss: Loss, n_classes: int) -> float:
    """Return the tolerance of a fit, relative to the loss's gradient at zero coefficients."""
    if not loss.is_robust:
        return COARSE_TOL
    # With many classes, ROBUST_TOL could exceed the gradient at zero. So the tolerance is at most
    # half of this gradient.
    return min(ROBUST_TOL / loss.scale_at_zero(n_classes), 0.5)


def is_robust(recipe: MemberRecipe) -> bool:
    """Return whether one wrong label has little influence on a member."""
    return isinstance(recipe, VotesRecipe) or (isinstance(recipe, Recipe) and recipe.loss.is_robust)


def _gains(one: Tried, other: Tried) -> bool:
    """Return whether a candidate is better than another candidate of its kind.

    It is better if its likelihood is larger, or if it is robust and its agreement is larger.
    """
    if one.likelihood > other.likelihood:
        return True
    return is_robust(one.recipe) and one.agreement > other.agreement


def held_out_logits(held_out: Coordinates, recipe: Recipe, end: Evaluation) -> FloatArray:
    """Return the centred logits of held-out rows."""
    coef = recipe.coordinates(held_out).on_rows(end.coef)
    coef = coef.astype(held_out.rows.dtype, copy=False)
    return np.concatenate(list(held_out.rows.map(projected, coef)))


def affine(block: Block, coef: FloatArray, offset: FloatArray) -> FloatArray:
    """Return the logits of a block, given coefficients on the features. A kernel."""
    return np.asarray(block.prepared() @ coef.T + offset)


def projected(block: Block, coef: FloatArray) -> FloatArray:
    """Return the centred logits of a block. A kernel."""
    return centre(block.project(coef)).astype(np.float32)
