"""The library: a few kinds of classifiers, and what each says of rows whose labels it has not seen.

    teacher         cross-entropy on the given labels
    robust          generalised cross-entropy on the given labels
    discriminant    linear discriminant analysis; what it says without a row is a closed form
    neighbours      labels of the nearest rows

Teachers and robust probes are fitted on rows as they are and on half-whitened ones. The penalty of
each kind is the one at which the given labels are likeliest beside even noise; of a robust kind the
one that predicts most of them is a member too. Fits are coarse, and each starts where its neighbour
ended. Penalties are compared on as many folds as hold out SCORED_ROWS rows, and what is chosen is
fitted without each of the others.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.judge.choice import MemberRecipe, Tried
from twohot.judge.label_model import centre, fit_even_noise, standard_error
from twohot.judge.nearest import VotesRecipe, nearest_rows, vote_logits
from twohot.judge.sample import Sample
from twohot.probes import (
    LABELS,
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

# Penalties that are tried, as ridges (see `LinearProbe`), by a factor of about three: which one is
# used is learnt. Each kind begins in the middle, to save fits, and goes on as long as it gains.
RIDGES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
FIRST_TEACHER, FIRST_ROBUST = RIDGES.index(30.0), RIDGES.index(10.0)

# Cost: rows that penalties are compared on. The standard error of a share of one half is .011.
SCORED_ROWS = 2_000

# Chosen, cost: gradient at which fits of the library end, relative to that of cross-entropy at
# zero: what is left moves logits by less than neighbouring penalties differ. A robust loss has
# small gradients long before it ends.
COARSE_TOL, ROBUST_TOL = 0.05, 0.0125

# Chosen: numbers of nearest rows that vote. Which one is used is learnt.
VOTERS = (15, 40)


@dataclass(frozen=True, eq=False)
class Member:
    """A classifier, and what it says of rows whose labels it has not seen."""

    recipe: MemberRecipe
    logits: FloatArray  # (n, K), centred, of the rows of the sample
    temperature: float = 1.0  # that its logits are divided by; a fit to the posterior has its own
    ends: tuple[Evaluation, ...] = ()  # one per fold, of a linear probe


@dataclass(eq=False)
class Library:
    """Members so far, on the folds of a sample."""

    sample: Sample
    settings: Settings
    say: Callable[[Tried], None] | None = None
    checkpoint: Checkpoint | None = None
    tried: dict[MemberRecipe, Tried] = field(default_factory=dict)
    members: dict[MemberRecipe, Member] = field(default_factory=dict)  # fitted without each fold
    _ends: dict[Recipe, dict[int, Evaluation]] = field(default_factory=dict)
    _starts: dict[Recipe, Recipe | None] = field(default_factory=dict)

    # Folds ---------------------------------------------------------------------------------------

    @cached_property
    def splits(self) -> list[tuple[Coordinates, Coordinates, IntArray]]:
        """Rows to fit on, rows held out and their numbers, for every fold."""
        folds, rows = self.sample.folds, self.sample.searched
        return [
            (rows.take(np.flatnonzero(folds != fold)), rows.take(held_out), held_out)
            for fold in range(self.sample.n_folds)
            for held_out in [np.flatnonzero(folds == fold)]
        ]

    @cached_property
    def scored(self) -> tuple[list[int], IntArray]:
        """Folds that penalties are compared on, and the rows that these hold out."""
        chosen: list[int] = []
        n_rows = 0
        for fold, (_, _, held_out) in enumerate(self.splits):
            if n_rows < SCORED_ROWS:
                chosen.append(fold)
                n_rows += len(held_out)
        return chosen, np.flatnonzero(np.isin(self.sample.folds, chosen))

    # Linear probes -------------------------------------------------------------------------------

    def attempt(self, recipe: Recipe, start: Recipe | None) -> Tried:
        """Fit a probe on the folds that are compared on, from where another one ended."""
        folds, rows = self.scored
        self._starts[recipe] = start
        n_passes = sum(self._fit(recipe, fold) for fold in folds)
        logits = centre(self._predict(recipe, folds)[rows]).astype(np.float32)
        return self._score(recipe, logits, n_passes)

    def complete(self, recipe: Recipe) -> None:
        """Fit a probe on the other folds, with those that it starts from."""
        folds, tried = range(len(self.splits)), self.tried[recipe]
        n_passes = tried.n_passes + sum(self._fit(recipe, fold) for fold in folds)
        self.tried[recipe] = replace(tried, n_passes=n_passes)
        logits, ends = self._predict(recipe, folds), self._ends[recipe]
        in_order = tuple(ends[fold] for fold in folds)
        self.members[recipe] = Member(recipe, logits, tried.temperature, in_order)

    def _fit(self, recipe: Recipe, fold: int) -> float:
        """Fit a probe without a fold, if it is not there; return passes."""
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
        """Return the logits (n, K) of the rows that some folds hold out; others have none."""
        logits = np.empty((len(self.sample.codes), self.sample.n_classes), np.float32)
        for fold in folds:
            _, held_out, rows = self.splits[fold]
            logits[rows] = held_out_logits(held_out, recipe, self._ends[recipe][fold])
        return logits

    def _score(self, recipe: MemberRecipe, logits: FloatArray, n_passes: float) -> Tried:
        """Score logits of the rows that penalties are compared on; keep the result."""
        _, scored = self.scored
        weights, codes = self.sample.weights, self.sample.codes[scored]
        own = None if weights is None else weights[scored]
        agrees = (logits.argmax(axis=1) == codes).astype(np.float64)
        agreement = float(np.average(agrees, weights=own))
        error = standard_error(agrees, self.sample.groups[scored], own)
        fit = fit_even_noise(logits, codes, own)
        found = Tried(
            recipe,
            agreement,
            error,
            fit.log_likelihood,
            fit.noise_rate,
            fit.temperature,
            n_passes,
        )
        self.tried[recipe] = found
        if self.say is not None:
            self.say(found)
        return found

    def _add(self, recipe: MemberRecipe, logits: FloatArray, n_passes: float) -> None:
        """Score logits of all rows of the sample; keep them."""
        logits = centre(logits).astype(np.float32)
        tried = self._score(recipe, logits[self.scored[1]], n_passes)
        self.members[recipe] = Member(recipe, logits, tried.temperature)

    # Kinds ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Try every kind; complete what is chosen of each."""
        # Rows enough for a fit: two of each class, on average.
        if len(self.sample.codes) >= 2 * self.sample.n_classes:
            for whiten in (False, True):
                first = self._walk(CrossEntropy(), FIRST_TEACHER, None, whiten=whiten)
                self._walk(GeneralizedCrossEntropy(), FIRST_ROBUST, first, whiten=whiten)
        self._discriminant()
        targets = one_hot(self.sample.codes, self.sample.n_classes).toarray()
        for n_voters in VOTERS:
            if len(self.sample.codes) > n_voters:
                self._add(VotesRecipe(n_voters), self.vote(n_voters, targets), 0.0)
        for recipe in self.chosen():
            if isinstance(recipe, Recipe):
                self.complete(recipe)

    def _walk(self, loss: Loss, first: int, start: Recipe | None, *, whiten: bool) -> Recipe:
        """Try penalties of one kind, smaller ones while they gain, else larger ones.

        Return the first of them.
        """
        recipes = [Recipe(loss, ridge=ridge, whiten=whiten) for ridge in RIDGES]
        begun = last = self.attempt(recipes[first], start)
        at = first
        for place in range(first + 1, len(RIDGES)):
            weaker = self.attempt(recipes[place], recipes[at])
            if not _gains(weaker, last):
                break
            last, at = weaker, place
        if last is begun:
            for place in range(first - 1, -1, -1):
                # What a large penalty has flattened does not rise again in a robust loss.
                stronger = self.attempt(recipes[place], start if loss.is_robust else recipes[at])
                if not _gains(stronger, last):
                    break
                last, at = stronger, place
        return recipes[first]

    def _discriminant(self) -> None:
        # Of all rows, wherever they are: one read of them.
        sample, whole = self.sample, self.sample.whole
        n_before = whole.rows.n_passes
        whole.rows.attach(LABELS, np.maximum(sample.all_codes, 0))
        self.moments = half_whitened_moments(whole)
        n_passes = whole.rows.n_passes - n_before
        everything = len(sample.index) == whole.rows.n_samples
        rows = whole.rows if everything else whole.rows.take(sample.index)
        # Weights have mean one over the rows at hand: those without a label count in the one.
        unit = rows.n_samples / rows.total_weight * whole.rows.total_weight / whole.rows.n_samples
        moments = replace(self.moments, weights=unit * self.moments.weights)
        shrinkage = choose_shrinkage(rows, moments)
        logits = leave_one_out_logits(rows, moments, shrinkage)
        self._leave_groups_out(logits, shrinkage)
        self._add(DiscriminantRecipe(shrinkage), logits, n_passes)

    def _leave_groups_out(self, logits: FloatArray, shrinkage: float) -> None:
        """Judge rows that share a group by the discriminant of the other folds, in place.

        The other rows of the group would vouch for a label if the row alone was left out.
        """
        shared = self.sample.shared[self.sample.index]
        for (_, held_out, rows), (coef, offset) in zip(
            self.splits, self.discriminants(shrinkage) if shared.any() else (), strict=False
        ):
            found = np.concatenate(list(held_out.rows.map(affine, coef, offset)))
            logits[rows[shared[rows]]] = found[shared[rows]]

    def discriminants(self, shrinkage: float) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield coefficients on the axes that are searched, and intercepts, without each fold."""
        for fitted, _, _ in self.splits:
            yield discriminant_coef(half_whitened_moments(fitted), shrinkage)

    @cached_property
    def nearest(self) -> IntArray:
        """(n, most voters), the nearest rows of each row, none of its own group."""
        points, groups = self.sample.points, self.sample.groups
        most = min(max(VOTERS), len(points) - 1)
        index, _ = nearest_rows(points, most, groups=groups, n_jobs=self.sample.whole.rows.n_jobs)
        return index

    def vote(self, n_voters: int, targets: FloatArray) -> FloatArray:
        """Return the logits (n, K) of what the nearest rows of each row have as their targets."""
        return vote_logits(self.nearest[:, :n_voters], targets)

    # What is chosen ------------------------------------------------------------------------------

    def _kinds(self) -> Iterable[list[Tried]]:
        """Return what was tried of each kind."""
        kinds: dict[str, list[Tried]] = {}
        for tried in self.tried.values():
            kinds.setdefault(tried.kind, []).append(tried)
        return kinds.values()

    def robust(self) -> list[MemberRecipe]:
        """Return the robust member of each kind that predicts most labels."""
        robust = [kind for kind in self._kinds() if is_robust(kind[0].recipe)]
        return [max(kind, key=lambda each: each.agreement).recipe for kind in robust]

    def chosen(self) -> list[MemberRecipe]:
        """Return the member of each kind by which labels are likeliest, and the robust ones."""
        likeliest = [max(kind, key=lambda each: each.likelihood).recipe for kind in self._kinds()]
        return list(dict.fromkeys([*likeliest, *self.robust()]))


def coarse_tol(loss: Loss, n_classes: int) -> float:
    """Return the gradient at which a fit ends, relative to that of its loss at zero."""
    if not loss.is_robust:
        return COARSE_TOL
    return min(ROBUST_TOL / loss.scale_at_zero(n_classes), 0.5)


def is_robust(recipe: MemberRecipe) -> bool:
    """Return whether one wrong label can change little of what a member says."""
    return isinstance(recipe, VotesRecipe) or (isinstance(recipe, Recipe) and recipe.loss.is_robust)


def _gains(one: Tried, other: Tried) -> bool:
    """Return whether one member explains the labels better, or, if robust, predicts more."""
    if one.likelihood > other.likelihood:
        return True
    return is_robust(one.recipe) and one.agreement > other.agreement


def held_out_logits(held_out: Coordinates, recipe: Recipe, end: Evaluation) -> FloatArray:
    """Return the centred logits of held-out rows."""
    coef = recipe.coordinates(held_out).on_rows(end.coef)
    coef = coef.astype(held_out.rows.dtype, copy=False)
    return np.concatenate(list(held_out.rows.map(projected, coef)))


def affine(block: Block, coef: FloatArray, offset: FloatArray) -> FloatArray:
    """Return logits of a block by coefficients on the features of the rows. A kernel."""
    return np.asarray(block.prepared() @ coef.T + offset)


def projected(block: Block, coef: FloatArray) -> FloatArray:
    """Return the centred logits of a block. A kernel."""
    return centre(block.project(coef)).astype(np.float32)
