"""Steps: one length for all classes that adapts, or one per class with fewer passes."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from prepared import posed
from twohot.probes.rounds import LABELS, SOFT, LabelTargets, StoredTargets
from twohot.rows.coordinates import Coordinates
from twohot.rows.rows import Rows
from twohot.solve.loss_kernels import CHANGE
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy, pose
from twohot.solve.solver import Settings, Solver
from twohot.solve.steps import (
    KEPT_LOGITS,
    LATE_GRADIENT,
    LEAST_FEATURES,
    MOST_LOOKS,
    SHORTER,
    Line,
    WholeSteps,
    choose_steps,
    search_lengths,
)

N_SAMPLES, N_FEATURES, N_CLASSES = 400, 120, 6
LOSSES = {"ce": CrossEntropy(), "gce": GeneralizedCrossEntropy(0.7)}
CE, GCE = LOSSES.values()
TARGETS = LabelTargets(N_CLASSES)
RIDGE = 0.2
# Another BLAS may change the number of passes by one: tests compare fits over draws of the data.
DRAWS = range(3)


def coordinates(seed=0, *, weighted=False, n_features=N_FEATURES, **options) -> Coordinates:
    """Return raw features like those of a network: a large mean, falling variances, and noise."""
    generator = np.random.default_rng(seed)
    true = generator.integers(N_CLASSES, size=N_SAMPLES)
    spread = np.arange(1, n_features + 1) ** -0.7
    centres = 3 * generator.normal(size=(N_CLASSES, n_features)) * spread
    X = 2 + centres[true] + 3 * generator.normal(size=(N_SAMPLES, n_features)) * spread
    weights = generator.uniform(0.5, 2, N_SAMPLES) if weighted else None
    noisy = generator.random(N_SAMPLES) < 0.4
    given = np.where(noisy, generator.integers(N_CLASSES, size=N_SAMPLES), true)
    problem = posed(X, given, center=False, normalize=False, weights=weights, **options)
    return problem.coordinates


def solvers(at: Coordinates, tol: float = 1e-8) -> list[Solver]:
    """Return a solver with one length for all classes, and one with a length per class."""
    return [
        Solver(at, Settings(tol=tol, max_iter=2000, kept_logits=most_bytes))
        for most_bytes in (0, KEPT_LOGITS)
    ]


# One length for all classes -----------------------------------------------------------------------

DIRECTION = 1.8  # times the step to the optimum; steps of length one are accepted all the same
FAR = np.full((1, 1), 3.0)


def quadratic(*, is_convex: bool) -> SimpleNamespace:
    """Return a problem: half the square of the coefficients, whose optimum is zero."""

    def evaluate(coef: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(coef=coef, gradient=coef, value=0.5 * float(np.sum(coef**2)))

    return SimpleNamespace(
        axes=SimpleNamespace(variances=np.ones(1)),
        rows=SimpleNamespace(dtype=np.dtype(np.float64)),
        loss=SimpleNamespace(is_convex=is_convex),
        evaluate=evaluate,
    )


@pytest.mark.parametrize("is_convex", [True, False])
def test_usual_length_adapts_to_directions_of_a_convex_fit(is_convex):
    steps = WholeSteps(quadratic(is_convex=is_convex))
    here = steps.begin(FAR)
    for _ in range(40):
        there, shortened = steps.take(here, -DIRECTION * here.gradient, 10)
        assert there is not None
        assert not shortened
        if not is_convex:
            assert there.coef == here.coef - DIRECTION * here.gradient  # length one
        here = there
    assert steps.usual_length == (pytest.approx(1 / DIRECTION) if is_convex else None)


# The search for a length per class ----------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_and_curvature_are_the_derivatives(loss, weighted):
    generator = np.random.default_rng(1)
    weights = generator.uniform(0.5, 2, 50) if weighted else None
    logits = Rows(generator.normal(size=(50, 6)), weights=weights, n_classes=6, block_rows=20)
    logits.attach(CHANGE, generator.normal(size=(50, 6)))
    logits.attach(LABELS, generator.integers(6, size=50))
    kernel = LOSSES[loss].along(pose(coordinates(), LOSSES[loss], TARGETS, 1.0, None))
    at = generator.normal(size=6)

    value, slope, curvature, alone = logits.sum(kernel, at, 2)
    for order, derivative in enumerate((slope, curvature)):
        differences = [
            (logits.sum(kernel, at + small, 1)[order] - logits.sum(kernel, at - small, 1)[order])
            for small in 1e-5 * np.eye(6)
        ]
        np.testing.assert_allclose(derivative, np.array(differences) / 2e-5, rtol=0, atol=1e-6)
    assert (alone >= np.diag(curvature)).all()
    for found, expected in zip(logits.sum(kernel, at, 1), (value, slope), strict=True):
        np.testing.assert_allclose(found, expected)


def line(terms, slope, reach=1e6) -> Line:
    """Return a line without a penalty; `terms` may return more than the order asks for."""
    n = len(slope)
    return Line(
        lambda lengths, order: terms(lengths)[: 2 * order],
        np.array(slope),
        np.zeros(n),
        np.broadcast_to(reach, n).astype(float),
        rounding=0.0,
        least_bend=1e-4,
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_lengths_of_a_quadratic_are_exact(sign):
    """With sign -1 every length increases the objective, against its slope."""
    root = np.random.default_rng(2).normal(size=(5, 5))
    hessian, slope = root @ root.T + np.eye(5), np.array([-1.0, -2, 0.5, -3, -1])

    def terms(lengths):
        value = sign * (0.5 * lengths @ hessian @ lengths + slope @ lengths)
        return np.asarray(value), slope + hessian @ lengths, hessian, np.diag(hessian)

    found = search_lengths(line(terms, slope))
    expected = np.linalg.solve(hessian, -slope) if sign > 0 else np.zeros(5)
    np.testing.assert_allclose(found, expected)


def test_much_too_long_move_is_shortened_until_the_objective_decreases():
    # |t| rises from 1e-5 on; by the curvature at zero, a move of 1e4 would be best.
    slope, kink = -1.0, 1e-5

    def terms(lengths):
        t = float(lengths[0])
        value, steepness = (slope * t, slope) if t < kink else (slope * kink + (t - kink), 1.0)
        flat = np.array([[1e-4]])
        return value, np.array([steepness]), flat, flat[0]

    found = search_lengths(line(terms, [slope]))
    assert 0 < found[0] < 2 * kink
    assert found[0] < 1e4 * SHORTER**MOST_LOOKS


def test_length_of_a_class_is_bounded_by_its_reach():
    # The first class decreases for ever, like the intercept of a class without rows.
    def terms(lengths):
        t = np.float64(lengths)
        value = np.exp(-t[0]) + 0.5 * (t[1] - 1) ** 2
        slope = np.array([-np.exp(-t[0]), t[1] - 1])
        bend = np.array([np.exp(-t[0]), 1.0])
        return value, slope, np.diag(bend), bend

    found = search_lengths(line(terms, [-1.0, -1.0], [0.7, 9.0]))
    assert found[0] == 0.7
    assert abs(found[1] - 1) < 0.2


# Fits with a length per class ---------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_lengths_per_class_reach_the_same_optimum_in_fewer_passes(weighted, intercept):
    ratios = [_ratio_of_passes(seed, weighted=weighted, intercept=intercept) for seed in DRAWS]
    # An intercept beside a large mean that is not subtracted makes this problem hard.
    assert np.median(ratios) < (0.6 if intercept else 1)


def _ratio_of_passes(seed: int, **options: bool) -> float:
    """Return the passes with stored logits over the passes without; compare the optima."""
    at = coordinates(seed, **options)
    fits, passes = [], []
    for solver in solvers(at):
        passes_before = at.rows.n_passes
        fits.append(solver.fit(CE, TARGETS, RIDGE * at.unit_penalty))
        passes.append(at.rows.n_passes - passes_before)
    assert all(fit.converged for fit in fits)
    expected, found = (fit.evaluation for fit in fits)
    scale = np.abs(expected.coef).max()
    np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=1e-5 * scale)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    # Every step takes one pass; before them, the length of the first step and its end.
    assert passes[1] == fits[1].n_iter + 0.5 + 1
    assert set(at.rows.columns) == {LABELS}  # logits are dropped
    return passes[1] / passes[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_end_of_a_fit_is_the_result_of_a_pass(loss):
    at = coordinates()
    found = solvers(at)[1].fit(LOSSES[loss], TARGETS, at.unit_penalty)
    problem = pose(at, LOSSES[loss], TARGETS, at.unit_penalty, None)
    again = problem.evaluate(found.evaluation.coef)
    assert found.converged
    np.testing.assert_allclose(again.gradient, found.evaluation.gradient, rtol=0, atol=1e-12)
    assert again.value == pytest.approx(found.evaluation.value, rel=1e-12)


def test_student_with_stored_logits_reaches_the_same_optimum():
    at = coordinates()
    soft = np.random.default_rng(3).dirichlet(np.ones(N_CLASSES), N_SAMPLES)
    at.rows.attach(SOFT, sp.csr_array(soft))
    found = []
    for solver in solvers(at):
        teacher = solver.fit(CE, TARGETS, at.unit_penalty).evaluation
        found.append(solver.fit(CE, StoredTargets(SOFT), at.unit_penalty, teacher).evaluation.coef)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-6)


N_BYTES = N_SAMPLES * N_CLASSES * 8


@pytest.mark.parametrize(
    ("loss", "targets", "n_classes", "most_bytes", "tol", "by_class"),
    [
        (CE, TARGETS, N_CLASSES, N_BYTES, 1e-4, "always"),
        (CE, TARGETS, N_CLASSES, N_BYTES - 1, 1e-4, "never"),
        # Targets that are computed from the rows would be computed for every length.
        (GCE, StoredTargets("outputs"), N_CLASSES, N_BYTES, 1e-4, "never"),
        # With many classes the search saves no time, but passes late in a fit that is not convex.
        (CE, TARGETS, N_FEATURES // 4, 2**30, 1e-4, "never"),
        (GCE, TARGETS, N_FEATURES // 4, 2**30, 1e-4, "late"),
        (GCE, TARGETS, N_FEATURES // 4, 2**30, LATE_GRADIENT, "never"),
        (GCE, TARGETS, N_FEATURES // 2, 2**30, 1e-4, "never"),
    ],
)
def test_logits_are_stored_if_that_is_cheap(loss, targets, n_classes, most_bytes, tol, by_class):  # noqa: PLR0917 - a table
    at = coordinates()
    at.rows.attach("outputs", np.full((N_SAMPLES, N_CLASSES), 1 / N_CLASSES))
    problem = pose(at, loss, targets, 1.0, None)
    at.rows.n_classes = n_classes
    late = LATE_GRADIENT * np.linalg.norm(problem.gradient_at_zero())
    with choose_steps(problem, most_bytes, tol) as steps:
        below = getattr(steps, "below", 0.0)
    assert below == {"always": np.inf, "late": late, "never": 0.0}[by_class]


def test_fit_that_is_not_convex_changes_its_steps_only_at_the_end():
    passes = np.array([_passes_changed_late(seed) for seed in DRAWS])
    whole, changed = passes.sum(axis=0)
    assert changed < whole


def _passes_changed_late(seed: int) -> tuple[float, float]:
    """Return the passes without and with a change of the steps; compare them step by step."""
    at, traces = coordinates(seed, n_features=N_CLASSES * (LEAST_FEATURES - 1)), ([], [])
    fits = []
    for solver, trace in zip(solvers(at, tol=1e-9), traces, strict=True):
        solver.callback = lambda *step, trace=trace: trace.append(step)
        fits.append(solver.fit(GCE, TARGETS, RIDGE * at.unit_penalty))
    whole, changed = traces
    assert fits[1].converged
    assert fits[1].evaluation.value == pytest.approx(fits[0].evaluation.value, rel=1e-9)
    # The first step below the limit is still like the steps before.
    n_early = sum(norm > LATE_GRADIENT for _, _, norm in whole) + 1
    assert 2 < n_early < len(whole)
    assert changed[:n_early] == whole[:n_early]
    # The first logits take half a pass; then every step takes one.
    n_late = fits[1].n_iter - n_early
    assert changed[-1][1] - whole[n_early - 1][1] == n_late + 0.5
    return whole[-1][1], changed[-1][1]
