"""Lengths for each class: derivatives, the same optimum as without them, and fewer passes."""

import numpy as np
import pytest
import scipy.sparse as sp

from twohot.probes.rounds import LABELS, SOFT, LabelTargets, StoredTargets
from twohot.rows.coordinates import Coordinates, prepare
from twohot.rows.rows import Rows
from twohot.solve.loss_kernels import CHANGE, Targets
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy, Loss
from twohot.solve.objective import Objective, pose
from twohot.solve.solver import Settings, Solver
from twohot.solve.steps import (
    KEPT_LOGITS,
    LATE_GRADIENT,
    LEAST_FEATURES,
    MOST_LOOKS,
    SHORTER,
    ClassSteps,
    LateClassSteps,
    Line,
    WholeSteps,
    choose_steps,
    search_lengths,
)

N_SAMPLES, N_FEATURES, N_CLASSES = 400, 120, 6
LOSSES = {"ce": CrossEntropy(), "gce": GeneralizedCrossEntropy(0.7)}
RIDGE = 0.2


def coordinates(
    seed: int = 0,
    *,
    weighted: bool = False,
    intercept: bool = False,
    n_features: int = N_FEATURES,
) -> Coordinates:
    """Return raw features as a network makes them: a large mean, variances that fall, and noise."""
    generator = np.random.default_rng(seed)
    true = generator.integers(N_CLASSES, size=N_SAMPLES)
    spread = np.arange(1, n_features + 1) ** -0.7
    centres = 3 * generator.normal(size=(N_CLASSES, n_features)) * spread
    X = 2 + centres[true] + 3 * generator.normal(size=(N_SAMPLES, n_features)) * spread
    _, made = prepare(
        X,
        center=False,
        normalize=False,
        weights=generator.uniform(0.5, 2, N_SAMPLES) if weighted else None,
        n_jobs=1,
        n_classes=N_CLASSES,
        intercept=intercept,
        block_rows=150,
    )
    noisy = generator.random(N_SAMPLES) < 0.4
    given = np.where(noisy, generator.integers(N_CLASSES, size=N_SAMPLES), true)
    made.rows.attach(LABELS, given)
    return made


# A fit may take a pass more or less with another BLAS: fits are compared over draws of the data.
DRAWS = range(3)


def solver(at: Coordinates, kept_logits: int, tol: float = 1e-8) -> Solver:
    return Solver(at, Settings(tol=tol, max_iter=2000, kept_logits=kept_logits))


# The search --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_and_curvature_are_the_derivatives(loss: str, weighted: bool) -> None:
    generator = np.random.default_rng(1)
    weights = generator.uniform(0.5, 2, 50) if weighted else None
    logits = Rows(generator.normal(size=(50, 4)), weights=weights, n_classes=4, block_rows=20)
    logits.attach(CHANGE, generator.normal(size=(50, 4)))
    logits.attach(LABELS, generator.integers(4, size=50))
    problem = pose(coordinates(), LabelTargets(N_CLASSES), 1.0, None)
    found = LOSSES[loss].along(problem)
    assert found is not None
    kernel, shared = found
    shared = tuple(LabelTargets(4) if each is problem.targets else each for each in shared)
    at = generator.normal(size=4)

    value, slope, curvature, by_itself = logits.sum(kernel, at, 2, *shared)
    small = 1e-5 * np.eye(4)
    ahead = [logits.sum(kernel, at + each, 1, *shared) for each in small]
    behind = [logits.sum(kernel, at - each, 1, *shared) for each in small]
    numerical = [(float(a[0]) - float(b[0])) / 2e-5 for a, b in zip(ahead, behind, strict=True)]
    np.testing.assert_allclose(slope, numerical, rtol=0, atol=1e-6)
    bends = [(a[1] - b[1]) / 2e-5 for a, b in zip(ahead, behind, strict=True)]
    np.testing.assert_allclose(curvature, bends, rtol=0, atol=1e-6)
    assert (by_itself >= np.diag(curvature)).all()
    first_order = logits.sum(kernel, at, 1, *shared)
    np.testing.assert_allclose(first_order[0], value)
    np.testing.assert_allclose(first_order[1], slope)


def line(hessian: np.ndarray, slope: np.ndarray, sign: float = 1.0) -> Line:
    """Return a quadratic; a `sign` below zero makes every length lead up, against its slope."""

    def terms(lengths: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        value = sign * (0.5 * lengths @ hessian @ lengths + slope @ lengths)
        first = np.asarray(value), slope + hessian @ lengths
        return first if order == 1 else (*first, hessian, np.diag(hessian))

    reach = np.full(len(slope), 1e6)
    return Line(terms, slope, np.zeros(len(slope)), reach, rounding=0.0, least_bend=1e-6)


def test_the_lengths_of_a_quadratic_are_found_at_once() -> None:
    root = np.random.default_rng(2).normal(size=(5, 5))
    hessian, slope = root @ root.T + np.eye(5), np.array([-1.0, -2, 0.5, -3, -1])
    found = search_lengths(line(hessian, slope))
    np.testing.assert_allclose(found, np.linalg.solve(hessian, -slope))


def test_there_are_no_lengths_where_all_lead_up() -> None:
    found = search_lengths(line(np.eye(3), np.array([-1.0, -1, -1]), sign=-1.0))
    assert not found.any()


FAR = np.full(1, 1e6)


def test_a_move_that_is_far_too_long_is_shortened_until_it_leads_down():
    # |t| rises from 1e-5 on: the curvature at zero promises a move of 1e4.
    slope, kink = -1.0, 1e-5

    def terms(lengths, order):
        t = float(lengths[0])
        value, steepness = (slope * t, slope) if t < kink else (slope * kink + (t - kink), 1.0)
        flat = np.array([[1e-4]])
        return (value, np.array([steepness]), flat, flat[0])[: 2 * order]

    line = Line(terms, np.array([slope]), np.zeros(1), FAR, rounding=0.0, least_bend=1e-4)
    found = search_lengths(line)
    assert 0 < found[0] < 2 * kink
    assert found[0] < 1e4 * SHORTER**MOST_LOOKS


def test_no_class_goes_farther_than_it_may():
    # The first class goes down for ever, as the intercept of a class without rows does.
    def terms(lengths, order):
        t = np.float64(lengths)
        value = np.exp(-t[0]) + 0.5 * (t[1] - 1) ** 2
        slope = np.array([-np.exp(-t[0]), t[1] - 1])
        bend = np.array([np.exp(-t[0]), 1.0])
        return (value, slope, np.diag(bend), bend)[: 2 * order]

    line = Line(terms, np.array([-1.0, -1.0]), np.zeros(2), np.array([0.7, 9.0]), 0.0, 1e-4)
    found = search_lengths(line)
    assert found[0] == 0.7
    assert abs(found[1] - 1) < 0.2


# Fits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_the_same_in_fewer_passes(weighted: bool, intercept: bool) -> None:
    shares = [_share_of_passes(seed, weighted=weighted, intercept=intercept) for seed in DRAWS]
    # An intercept beside a large mean that is not taken out is what makes this problem hard.
    assert np.median(shares) < (0.6 if intercept else 1)


def _share_of_passes(seed: int, *, weighted: bool, intercept: bool) -> float:
    """Return the passes with kept logits as a share of those without; compare the optima."""
    at = coordinates(seed, weighted=weighted, intercept=intercept)
    l2 = RIDGE * at.unit_penalty
    fits, passes = {}, {}
    for kept in (0, KEPT_LOGITS):
        passes_before = at.rows.n_passes
        fits[kept] = solver(at, kept).fit(CrossEntropy(), LabelTargets(N_CLASSES), l2)
        passes[kept] = at.rows.n_passes - passes_before
        assert fits[kept].converged
    expected, found = (fits[kept].evaluation for kept in (0, KEPT_LOGITS))
    scale = np.abs(expected.coef).max()
    np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=1e-5 * scale)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    # Every step takes one pass, however often its lengths are looked at. Before them: the length of
    # the first step, and its end.
    assert passes[KEPT_LOGITS] == fits[KEPT_LOGITS].n_iter + 0.5 + 1
    return passes[KEPT_LOGITS] / passes[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_end_is_certified_by_a_pass_of_its_own(loss: str) -> None:
    at = coordinates()
    found = solver(at, KEPT_LOGITS).fit(LOSSES[loss], LabelTargets(N_CLASSES), at.unit_penalty)
    problem = pose(at, LabelTargets(N_CLASSES), at.unit_penalty, None)
    again = LOSSES[loss].evaluate(problem, found.evaluation.coef)
    assert found.converged
    np.testing.assert_allclose(again.gradient, found.evaluation.gradient, rtol=0, atol=1e-12)
    assert again.value == pytest.approx(found.evaluation.value, rel=1e-12)


def test_nothing_stays_beside_the_rows() -> None:
    at = coordinates()
    solver(at, KEPT_LOGITS, tol=1e-2).fit(CrossEntropy(), LabelTargets(N_CLASSES), at.unit_penalty)
    assert set(at.rows.columns) == {LABELS}


def test_a_student_starts_from_the_logits_of_its_teacher() -> None:
    at = coordinates()
    soft = np.random.default_rng(3).dirichlet(np.ones(N_CLASSES), N_SAMPLES)
    at.rows.attach(SOFT, sp.csr_array(soft))
    targets: list[Targets] = [LabelTargets(N_CLASSES), StoredTargets(SOFT)]
    found = []
    for kept in (0, KEPT_LOGITS):
        fit, last = solver(at, kept), None
        for each in targets:
            last = fit.fit(CrossEntropy(), each, at.unit_penalty, last).evaluation
        found.append(last)
    np.testing.assert_allclose(found[0].coef, found[1].coef, rtol=0, atol=1e-6)


def test_logits_are_kept_only_where_that_is_cheap() -> None:
    at = coordinates()

    def kind(loss: Loss, targets: Targets, most_bytes: int, tol: float = 1e-4) -> type:
        objective = Objective(pose(at, targets, 1.0, None), loss)
        with choose_steps(objective, most_bytes, tol) as steps:
            return type(steps)

    labels = LabelTargets(N_CLASSES)
    n_bytes = N_SAMPLES * N_CLASSES * 8
    at.rows.attach("outputs", np.full((N_SAMPLES, N_CLASSES), 1 / N_CLASSES))
    assert kind(CrossEntropy(), labels, n_bytes) is ClassSteps
    assert kind(CrossEntropy(), labels, n_bytes - 1) is WholeSteps
    # Targets that are computed from the rows would be asked for at every look.
    assert kind(GeneralizedCrossEntropy(), StoredTargets("outputs"), n_bytes) is WholeSteps
    # With this many classes the search saves no time, but passes at the end of a fit that is not
    # convex, if that goes so far.
    at.rows.n_classes = N_FEATURES // 4
    assert kind(CrossEntropy(), labels, 2**30) is WholeSteps
    assert kind(GeneralizedCrossEntropy(), labels, 2**30) is LateClassSteps
    assert kind(GeneralizedCrossEntropy(), labels, 2**30, tol=LATE_GRADIENT) is WholeSteps
    at.rows.n_classes = N_FEATURES // 2
    assert kind(GeneralizedCrossEntropy(), labels, 2**30) is WholeSteps


def test_a_fit_that_is_not_convex_changes_its_steps_only_at_the_end() -> None:
    passes = np.array([_passes_changed_late(seed) for seed in DRAWS])
    whole, changed = passes.sum(axis=0)
    assert changed < whole


def _passes_changed_late(seed: int) -> tuple[float, float]:
    """Return the passes of steps that never change and of those that do; compare their way."""
    few = N_CLASSES * (LEAST_FEATURES - 1)
    at, fits, traces = coordinates(seed, n_features=few), {}, {}
    for kept in (0, KEPT_LOGITS):
        fit, trace = solver(at, kept, tol=1e-9), []
        fit.callback = lambda *step, trace=trace: trace.append(step)
        loss, targets = GeneralizedCrossEntropy(0.7), LabelTargets(N_CLASSES)
        fits[kept], traces[kept] = fit.fit(loss, targets, RIDGE * at.unit_penalty), trace
    expected, found = fits[0], fits[KEPT_LOGITS]
    assert found.converged
    assert found.evaluation.value == pytest.approx(expected.evaluation.value, rel=1e-9)
    early = [step for step in traces[0] if step[2] > LATE_GRADIENT]
    n_early = len(early) + 1  # the first step below is made like those before
    assert 2 < n_early < len(traces[0])
    assert traces[KEPT_LOGITS][:n_early] == traces[0][:n_early]
    # The first logits take half a pass; then every step takes one.
    n_late = found.n_iter - n_early
    assert traces[KEPT_LOGITS][-1][1] - traces[0][n_early - 1][1] == n_late + 0.5
    return traces[0][-1][1], traces[KEPT_LOGITS][-1][1]
