"""The candidates that AutoProbe chooses from, each a recipe and where its fit starts.

    teacher         cross-entropy on the given labels
    rounds          students of the teacher, on its soft outputs
    two-hot         the paper's partial-label student
    robust          generalised cross-entropy on the given labels
    robust rounds   a robust student of the robust probe, on half its most likely label and half the
                    given one

All of them on rows as they are prepared, and again on half-whitened rows. A candidate starts from
the solution of another one on the same kind of rows, which is already there: with coarse tolerances
each takes a few passes.
"""

import json
from dataclasses import dataclass, replace

from twohot.distill.recipe import ROBUST, ROBUST_ROUNDS, ROUNDS, TEACHER, TWO_HOT, Recipe
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

# Methods, and whether they keep a share of the given label, from worst to best on real features
# under many kinds of noise. One that is not listed is worse than all that are.
PREFERENCE = (
    (TEACHER, False),
    (ROUNDS, False),
    (TWO_HOT, False),
    (ROBUST, False),
    (ROBUST_ROUNDS, True),
)

# A candidate that starts within its tolerance would be its start under another name.
LEAST_STEPS = 1


@dataclass(frozen=True)
class Candidate:
    """One way to make a probe, and where its last round starts."""

    recipe: Recipe
    start: Recipe | None = None  # whose coefficients the fit starts from; None: the teacher's

    @property
    def preference(self) -> int:
        """Place among candidates that cannot be told apart: larger is better."""
        kind = (self.recipe.method, self.recipe.given_share > 0)
        return PREFERENCE.index(kind) if kind in PREFERENCE else -1

    @property
    def key(self) -> str:
        """What it is known by in a file."""
        start = None if self.start is None else self.start.to_json()
        return json.dumps([self.recipe.to_json(), start])

    @property
    def half_whitened(self) -> "Candidate":
        """The same candidate on half-whitened rows, as is what it starts from."""
        start = None if self.start is None else self.start.half_whitened
        return Candidate(self.recipe.half_whitened, start)


# At its optimum the penalty is balanced by the labels, and the weaker it is, the smaller both are:
# on clean Flowers-102 a teacher of ridge 0.64 is at 84 % where its gradient is 0.03 of that at
# zero, and at 94 % in the end. From this ridge on a tolerance is taken as it is.
FULL_RIDGE = 30.0

# The gradient at zero, to which tolerances are relative, is the larger for a robust loss the fewer
# classes there are: of few, a fit would hardly have begun. From so many on a tolerance is taken as
# it is.
FULL_CLASSES = 100


def scaled_tol(recipe: Recipe, tol: float) -> float:
    """Return the relative gradient at which a recipe is as finished as others are at a tolerance.

    Robust fits and students start near their optimum, and are finished much earlier.
    """
    if recipe.loss.is_robust or recipe.teacher is not None:
        return tol
    return tol * min(1.0, (recipe.ridge or 0.0) / FULL_RIDGE)


def coarse_tol(recipe: Recipe, n_classes: int) -> float:
    """Return the relative gradient at which a recipe is compared with others."""
    loss = recipe.loss
    share = min(1.0, loss.scale_at_zero(FULL_CLASSES) / loss.scale_at_zero(n_classes))
    if recipe.teacher is not None:
        return share * loss.coarse_student_tol
    return share * scaled_tol(recipe, loss.coarse_tol)


# The strengths around which every method is at its best on the sets it was measured on; a robust
# probe is the one whose strength matters most, so it is searched further (see `search`).
# The power of the robust loss: .5 and .9 were never clearly better, at any ridge and noise.
_PLAIN, _ROBUST = CrossEntropy(), GeneralizedCrossEntropy()

TEACHER_30 = Candidate(Recipe(_PLAIN, ridge=30.0))
TEACHER_10 = Candidate(Recipe(_PLAIN, ridge=10.0), start=TEACHER_30.recipe)
TEACHER_100 = Candidate(Recipe(_PLAIN, ridge=100.0), start=TEACHER_30.recipe)

ROUND_2 = Candidate(Recipe(_PLAIN, ridge=10.0, teacher=TEACHER_10.recipe))
ROUND_3 = Candidate(Recipe(_PLAIN, ridge=10.0, teacher=ROUND_2.recipe))

PARTIAL = Candidate(Recipe(_ROBUST, ridge=10.0, teacher=TEACHER_10.recipe, n_candidates=2))

STEP = 2.5  # between neighbouring strengths of one method
# From so many features on a probe of a smaller ridge learns single labels by heart, at any noise;
# of fewer it cannot, and the best may have a tenth of it.
MANY_FEATURES, LEAST_RIDGE, LEAST_RIDGE_OF_FEW = 64, 0.5, 0.05
FIRST_ROBUST = Candidate(Recipe(_ROBUST, ridge=10.0), start=TEACHER_30.recipe)


def weaker(candidate: Candidate, n_features: int) -> Candidate | None:
    """Return the teacher or robust probe with the next smaller penalty, if it is worth trying."""
    ridge = _ridge(candidate) / STEP
    recipe = replace(candidate.recipe, ridge=ridge)
    least = LEAST_RIDGE if n_features >= MANY_FEATURES else LEAST_RIDGE_OF_FEW
    return Candidate(recipe, start=candidate.recipe) if ridge >= least else None


def stronger(robust: Candidate) -> Candidate:
    """Return the robust probe with the next larger penalty.

    It starts from the teacher: what a large penalty has flattened does not rise again.
    """
    recipe = replace(robust.recipe, ridge=_ridge(robust) * STEP)
    return Candidate(recipe, start=teacher_for(recipe))


def teacher_for(robust: Recipe) -> Recipe:
    """Return the teacher that a robust probe may start from, on the same kind of rows."""
    return replace(TEACHER_30.recipe, whiten=robust.whiten)


def path_to(recipe: Recipe) -> list[Recipe]:
    """Return what is fitted on the way to a robust recipe, its teacher first and itself last.

    Penalties between those of the teacher and of the probe were candidates of their own, and can be
    left out.
    """
    return [teacher_for(recipe.rounds[0]), *recipe.rounds]


def gentle_path_to(recipe: Recipe) -> list[Recipe]:
    """Return the same by way of the first robust probe, if the penalty is smaller than its.

    At a small penalty labels of the teacher's that are wrong may be learnt by heart at once; at a
    larger one they are passed over first. (BANKING77 with 30 % noise: 92.8 instead of 92.4 %.)
    """
    teacher, first, *students = path_to(recipe)
    medium = replace(first, ridge=FIRST_ROBUST.recipe.ridge)
    between = [medium] if _strength(first) < _strength(medium) else []
    return [teacher, *between, first, *students]


def robust_round(robust: Candidate) -> Candidate:
    """Return the second round of a robust probe."""
    recipe = robust.recipe
    return Candidate(replace(recipe, teacher=recipe, n_candidates=1, given_share=0.5))


def _ridge(candidate: Candidate) -> float:
    return _strength(candidate.recipe)


def _strength(recipe: Recipe) -> float:
    return recipe.ridge or 0.0


# Of one search: teachers, students, the two-hot student, robust probes and the round of one, on two
# kinds of rows.
MOST_TRIALS = 2 * (7 + 2 + 1 + 6 + 1)
