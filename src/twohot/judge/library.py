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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from twohot.base import FloatArray, IntArray
from twohot.judge.label_model import EvenFit, centre, fit_even_noise
from twohot.judge.nearest import nearest_rows
from twohot.judge.sample import Sample
from twohot.probes import (
    LABELS,
    Checkpoint,
    DiscriminantRecipe,
    LabelTargets,
    Recipe,
    choose_shrinkage,
    fit_round,
    half_whitened_moments,
    leave_one_out_logits,
    one_hot,
)
from twohot.rows import Block, Coordinates
from twohot.solve import CrossEntropy, Evaluation, GeneralizedCrossEntropy, Loss, Settings, Solver

# Penalties, as ridges (see `LinearProbe`), by a factor of about three; every kind begins where it
# is neither memorising nor flat, and goes on as long as it gains.
RIDGES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
FIRST_TEACHER, FIRST_ROBUST = RIDGES.index(30.0), RIDGES.index(10.0)

# Rows that penalties are compared on: a share of one half is known to about one hundredth then.
SCORED_ROWS = 2_000

# Gradient at which fits of the library end, relative to that of cross-entropy at zero: what is left
# moves logits by less than neighbouring penalties differ. A robust loss has small gradients long
# before it ends.
COARSE_TOL, ROBUST_TOL = 0.05, 0.0125

# Numbers of nearest rows that vote.
VOTERS = (15, 40)


@dataclass(frozen=True)
class VotesRecipe:
    """Votes of the nearest rows.

    Examples
    --------
    >>> print(VotesRecipe(15))
    neighbours (15)
    """

    n_voters: int

    method = "neighbours"

    def __str__(self) -> str:
        return f"{self.method} ({self.n_voters})"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON has it."""
        return dict(vars(self))


MemberRecipe = Recipe | DiscriminantRecipe | VotesRecipe


@dataclass(frozen=True, eq=False)
class Member:
    """A classifier of the library, and what it says of held-out rows."""

    recipe: MemberRecipe
    logits: FloatArray  # (n, K), centred, of rows whose labels it has not seen
    scored: IntArray  # rows of the sample that it was compared on
    fit: EvenFit  # on these
    agreement: float  # share of their labels that it predicts
    agreement_error: float  # standard error
    n_passes: float  # over the rows fitted on
    ends: tuple[Evaluation, ...] = ()  # one per fold, of a linear probe

    @property
    def temperature(self) -> float:
        """What its logits are divided by, at which the labels are likeliest."""
        return self.fit.temperature


Say = Callable[[Member], None]


@dataclass(eq=False)
class Library:
    """Members so far, on the folds of a sample."""

    sample: Sample
    settings: Settings
    say: Say | None = None
    checkpoint: Checkpoint | None = None
    members: dict[MemberRecipe, Member] = field(default_factory=dict)
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

    @cached_property
    def all_rows(self) -> IntArray:
        """All rows of the sample."""
        return np.arange(len(self.sample.codes))

    # Linear probes -------------------------------------------------------------------------------

    def attempt(self, recipe: Recipe, start: Recipe | None) -> Member:
        """Fit a probe on the folds that are compared on, from where another one ended."""
        folds, rows = self.scored
        self._starts[recipe] = start
        n_passes = sum(self._fit(recipe, fold) for fold in folds)
        return self._score(recipe, folds, rows, n_passes)

    def complete(self, recipe: Recipe) -> Member:
        """Fit a probe on the other folds, with those that it starts from."""
        folds = range(len(self.splits))
        member = self.members[recipe]
        n_passes = sum(self._fit(recipe, fold) for fold in folds)
        logits = np.empty((len(self.all_rows), self.sample.n_classes), np.float32)
        for fold, (_, held_out, rows) in enumerate(self.splits):
            logits[rows] = _logits(held_out, recipe, self._ends[recipe][fold])
        ends = tuple(self._ends[recipe][fold] for fold in folds)
        n_passes += member.n_passes
        whole = replace(member, logits=logits, ends=ends, n_passes=n_passes)
        self.members[recipe] = whole
        return whole

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

    def _score(
        self, recipe: Recipe, folds: Sequence[int], rows: IntArray, n_passes: float
    ) -> Member:
        place = np.searchsorted(rows, self.all_rows)
        logits = np.empty((len(rows), self.sample.n_classes), np.float32)
        for fold in folds:
            _, held_out, numbers = self.splits[fold]
            logits[place[numbers]] = _logits(held_out, recipe, self._ends[recipe][fold])
        return self._add(recipe, logits, rows, n_passes)

    def _add(
        self, recipe: MemberRecipe, logits: FloatArray, rows: IntArray, n_passes: float
    ) -> Member:
        """Score logits of rows of the sample on those that penalties are compared on; keep them."""
        logits = centre(logits).astype(np.float32)
        _, scored = self.scored
        said = logits if len(rows) == len(scored) else logits[scored]
        weights = self.sample.weights
        own = None if weights is None else weights[scored]
        codes = self.sample.codes[scored]
        agrees = (said.argmax(axis=1) == codes).astype(np.float64)
        agreement = float(np.average(agrees, weights=own))
        error = float(np.sqrt(agreement * (1 - agreement) / len(scored)))
        fit = fit_even_noise(said, codes, own)
        member = Member(recipe, logits, rows, fit, agreement, error, n_passes)
        self.members[recipe] = member
        if self.say is not None:
            self.say(member)
        return member

    # Kinds ---------------------------------------------------------------------------------------

    def run(self) -> None:
        """Try every kind; complete what is chosen of each."""
        if self.sample_has_rows_to_fit:
            for whiten in (False, True):
                first = self._walk(CrossEntropy(), FIRST_TEACHER, None, whiten=whiten)
                self._walk(GeneralizedCrossEntropy(), FIRST_ROBUST, first.recipe, whiten=whiten)
        self._discriminant()
        self._votes()
        for recipe in dict.fromkeys([*self.chosen(), *self.robust()]):
            if isinstance(recipe, Recipe):
                self.complete(recipe)

    @property
    def sample_has_rows_to_fit(self) -> bool:
        """Whether there are rows enough for a fit: two of each class, on average."""
        return len(self.sample.codes) >= 2 * self.sample.n_classes

    def _walk(self, loss: Loss, first: int, start: Any, *, whiten: bool) -> Member:
        """Try penalties of one kind, smaller ones while they gain, else larger ones.

        Return the first of them.
        """

        def attempt(place: int, from_: Recipe | None) -> Member:
            return self.attempt(Recipe(loss, ridge=RIDGES[place], whiten=whiten), from_)

        begun = last = attempt(first, start)
        for place in range(first + 1, len(RIDGES)):
            weaker = attempt(place, last.recipe)  # type: ignore[arg-type]
            if not _gains(weaker, last):
                break
            last = weaker
        if last is begun:
            for place in range(first - 1, -1, -1):
                # What a large penalty has flattened does not rise again in a robust loss.
                stronger = attempt(place, start if loss.is_robust else last.recipe)  # type: ignore[arg-type]
                if not _gains(stronger, last):
                    break
                last = stronger
        return begun

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
        self._add(DiscriminantRecipe(shrinkage), logits, self.all_rows, n_passes)

    def _votes(self) -> None:
        targets = one_hot(self.sample.codes, self.sample.n_classes).toarray()
        for n_voters in VOTERS:
            if len(self.all_rows) > n_voters:
                logits = self.vote(n_voters, targets)
                self._add(VotesRecipe(n_voters), logits, self.all_rows, 0.0)

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

    def _kinds(self) -> Iterator[list[Member]]:
        """Yield the members of each kind."""
        kinds: dict[Any, list[Member]] = {}
        for member in self.members.values():
            whiten = isinstance(member.recipe, Recipe) and member.recipe.whiten
            kinds.setdefault((member.recipe.method, whiten), []).append(member)
        yield from kinds.values()

    def chosen(self) -> list[MemberRecipe]:
        """Return the member of each kind by which the labels are likeliest."""
        return [max(kind, key=_likelihood).recipe for kind in self._kinds()]

    def robust(self) -> list[MemberRecipe]:
        """Return the robust member of each kind that predicts most labels."""
        return [
            max(kind, key=lambda each: each.agreement).recipe
            for kind in self._kinds()
            if is_robust(kind[0].recipe)
        ]


def coarse_tol(loss: Loss, n_classes: int) -> float:
    """Return the gradient at which a fit ends, relative to that of its loss at zero."""
    if not loss.is_robust:
        return COARSE_TOL
    return min(ROBUST_TOL / loss.scale_at_zero(n_classes), 0.5)


def is_robust(recipe: MemberRecipe) -> bool:
    """Return whether one wrong label can change little of what a member says."""
    return isinstance(recipe, VotesRecipe) or (isinstance(recipe, Recipe) and recipe.loss.is_robust)


def _likelihood(member: Member) -> float:
    return member.fit.log_likelihood


def _gains(one: Member, other: Member) -> bool:
    """Return whether one member explains the labels better, or, if robust, predicts more."""
    if _likelihood(one) > _likelihood(other):
        return True
    return is_robust(one.recipe) and one.agreement > other.agreement


def _logits(held_out: Coordinates, recipe: Recipe, end: Evaluation) -> FloatArray:
    """Return the centred logits of held-out rows."""
    coef = recipe.coordinates(held_out).on_rows(end.coef)
    coef = coef.astype(held_out.rows.dtype, copy=False)
    return np.concatenate(list(held_out.rows.map(projected, coef)))


def projected(block: Block, coef: FloatArray) -> FloatArray:
    """Return the centred logits of a block. A kernel."""
    return centre(block.project(coef)).astype(np.float32)


def vote_logits(nearest: IntArray, targets: FloatArray) -> FloatArray:
    """Return logits (n, K) of the targets of the nearest rows; -1 is no row.

    One vote is spread evenly over all classes, so that none is impossible.
    """
    votes = np.full((len(nearest), targets.shape[1]), 1 / targets.shape[1], np.float32)
    for column in nearest.T:
        there = column >= 0
        votes[there] += targets[column[there]]
    return centre(np.log(votes)).astype(np.float32)
