"""Values and gradients equal those of a plain float64 twin, itself checked numerically."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse as sp
import scipy.special

import problems
import twin
from prepared import prepared_rows
from twohot.probes.rounds import (
    CANDIDATES,
    LABELS,
    SOFT,
    LabelTargets,
    OutputTargets,
    StoredTargets,
    top_targets,
)
from twohot.rows.coordinates import choose_coordinates
from twohot.solve.loss_kernels import deviation, softmax
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy, pose, target_moment

N_SAMPLES, N_FEATURES, N_CLASSES = 150, 6, 4
L2 = 0.03
POWER = 0.6
LOSSES = {"ce": CrossEntropy(), "gce": GeneralizedCrossEntropy(POWER)}
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
KINDS = ["labels", "soft", "soft csr", "outputs", "candidates"]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


class Case:
    """A problem and its twin: the same rows, targets and weights as whole arrays."""

    def __init__(
        self, loss, kind="labels", *, weighted=False, intercept=False, dtype="float64", **prepared
    ):
        generator = np.random.default_rng(0)
        X = (generator.normal(size=(N_SAMPLES, N_FEATURES)) + 0.5).astype(dtype)
        v = generator.random(N_SAMPLES) if weighted else None
        options = {"weights": v, "intercept": intercept, "n_jobs": 2, **prepared}
        at = choose_coordinates(prepared_rows(X, n_classes=N_CLASSES, **options))
        self.intercept, self.options = intercept, {"v": v, "loss": loss, "power": POWER}
        self.rows = twin.prepare(X, v=v, **prepared)
        if intercept:
            self.rows = np.hstack([self.rows, np.ones((N_SAMPLES, 1))])
        targets, self.dense = self._targets(kind, at.rows, generator)
        self.problem = pose(at, LOSSES[loss], targets, L2, last=None)
        self.coef = generator.normal(size=(N_CLASSES, at.rows.n_features))

    def _targets(self, kind, rows, generator):
        labels = generator.integers(0, N_CLASSES, N_SAMPLES)
        soft = problems.random_targets(N_SAMPLES, N_CLASSES)
        coef = generator.normal(size=(N_CLASSES, rows.n_features)).astype(rows.dtype)
        last = twin.outputs(self.rows, coef)
        if kind == "labels":
            rows.attach(LABELS, labels)
            return LabelTargets(N_CLASSES), twin.one_hot(labels, N_CLASSES)
        if kind in ("soft", "soft csr"):
            rows.attach(SOFT, soft if kind == "soft" else sp.csr_array(soft))
            return StoredTargets(SOFT), soft
        if kind == "outputs":
            return OutputTargets(coef), last
        two = np.argsort(last, axis=1)[:, -2:]
        dense = np.zeros_like(last)
        np.put_along_axis(dense, two, 0.5, axis=1)
        rows.derive(CANDIDATES, top_targets, OutputTargets(coef), 2)
        return StoredTargets(CANDIDATES), dense

    def on_features(self, coef):
        return self.problem.axes.to_rows(coef, 1)

    def expected(self, coef):
        """Return value and gradient of the twin, with respect to coefficients on the features."""
        W, b, rows = coef, np.zeros(N_CLASSES), self.rows
        if self.intercept:
            W, b, rows = coef[:, :-1], coef[:, -1], rows[:, :-1]
        gradient = twin.gradient(rows, self.dense, W, L2, b=b, **self.options)
        value = twin.value(rows, self.dense, W, L2, b=b, **self.options)
        return value, gradient if self.intercept else gradient[:, :-1]

    def check(self):
        found = self.problem.evaluate(self.coef)
        value, gradient = self.expected(self.on_features(self.coef))
        rounding = 1e-12 if self.problem.rows.dtype == np.float64 else 3e-6
        assert found.value == pytest.approx(value, abs=rounding)
        np.testing.assert_allclose(
            self.on_features(found.gradient), gradient, rtol=0, atol=rounding
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("intercept", [False, True])
@WEIGHTED
@EVERY_KIND
@EVERY_LOSS
def test_value_and_gradient_are_those_of_the_twin(loss, kind, weighted, intercept, dtype):
    Case(loss, kind, weighted=weighted, intercept=intercept, dtype=dtype).check()


@EVERY_LOSS
@pytest.mark.parametrize(("center", "normalize"), [(False, True), (True, False), (False, False)])
def test_value_and_gradient_on_rows_prepared_otherwise(loss, center, normalize):
    Case(loss, weighted=True, center=center, normalize=normalize).check()


@EVERY_LOSS
def test_gradient_of_the_twin_is_the_numerical_derivative(loss):
    generator = np.random.default_rng(3)
    X, W = generator.normal(size=(20, 3)), generator.normal(size=(4, 3))
    T, v = problems.random_targets(20, 4), generator.random(20)
    options = {"v": v, "loss": loss, "power": POWER}

    def value(flat):
        Wb = flat.reshape(4, 4)
        return twin.value(X, T, Wb[:, :-1], L2, b=Wb[:, -1], **options)

    b = generator.normal(size=4)
    numerical = so.approx_fprime(np.hstack([W, b[:, None]]).ravel(), value, 1e-7)
    gradient = twin.gradient(X, T, W, L2, b=b, **options)
    np.testing.assert_allclose(gradient.ravel(), numerical, rtol=0, atol=1e-6)


@WEIGHTED
@EVERY_KIND
@EVERY_LOSS
def test_gradient_at_zero_takes_no_pass(loss, kind, weighted):
    case = Case(loss, kind, weighted=weighted, intercept=True)
    passes = case.problem.rows.n_passes
    found = case.on_features(case.problem.gradient_at_zero())
    np.testing.assert_allclose(found, case.expected(np.zeros_like(case.coef))[1], atol=1e-13)
    assert case.problem.rows.n_passes == passes


@WEIGHTED
@EVERY_LOSS
def test_curvature_is_the_mean_second_derivative_of_each_logit(loss, weighted):
    case = Case(loss, weighted=weighted)
    p = twin.outputs(case.rows, case.on_features(case.coef))
    agreement = 1 if loss == "ce" else np.sum(case.dense * p**POWER, axis=1, keepdims=True)
    expected = np.average(agreement * p * (1 - p), axis=0, weights=case.options["v"])
    found = case.problem.evaluate(case.coef)
    np.testing.assert_allclose(found.curvature, expected, rtol=1e-10)


def test_evaluation_for_other_targets_takes_no_pass():
    case = Case("ce", weighted=True)
    known, other = case.problem.evaluate(case.coef), Case("ce", "candidates", weighted=True).problem
    evaluated, passes = other.evaluate(known.coef), other.rows.n_passes
    without_pass = other.loss.evaluate_known(other, known)
    assert other.rows.n_passes == passes
    assert without_pass.value == evaluated.value
    np.testing.assert_array_equal(without_pass.gradient, evaluated.gradient)
    np.testing.assert_array_equal(without_pass.curvature, evaluated.curvature)
    robust = Case("gce").problem.evaluate(known.coef)
    assert [loss.evaluate_known(other, robust) for loss in LOSSES.values()] == [None, None]


@EVERY_LOSS
@pytest.mark.parametrize("kind", ["soft", "soft csr", "labels"])
def test_evaluation_does_not_change_the_targets(kind, loss):
    case = Case(loss, kind, weighted=True)
    column = case.problem.rows.columns[case.problem.targets.name]
    before = column.copy()
    case.problem.evaluate(case.coef)
    target_moment(case.problem.coordinates, case.problem.targets)
    assert abs(column - before).max() == 0


def test_generalized_cross_entropy_of_a_small_power_is_cross_entropy():
    case = Case("ce", "soft")
    found = GeneralizedCrossEntropy(1e-6).evaluate(case.problem, case.coef)
    expected = case.problem.evaluate(case.coef)
    assert found.value == pytest.approx(expected.value, rel=1e-5)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=0, atol=1e-5)


def exact_deviation(logits):
    """Return softmax(z) - 1/K of one row, computed with 60 digits."""
    with localcontext(prec=60):
        exponentials = [Decimal(float(logit)).exp() for logit in logits]
        partition = sum(exponentials)
        return [float(value / partition - 1 / Decimal(len(logits))) for value in exponentials]


@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-6, 1e-9, 1e-20])
@pytest.mark.parametrize("n_classes", [2, 10, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_deviations_from_uniform_keep_all_digits(dtype, n_classes, size):
    logits = np.random.default_rng(0).uniform(-size, size, (5, n_classes)).astype(dtype)
    expected = np.array([exact_deviation(row) for row in logits])
    found, log_sum = deviation(logits.copy())
    assert found.dtype == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * eps * np.abs(expected).max())
    exact_sum = np.log(np.exp(logits.astype(np.float64)).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(log_sum, exact_sum, rtol=4 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0.2, 5.0, 500.0, 1e30])
def test_large_logits_give_the_softmax(dtype, size):
    logits = np.random.default_rng(0).uniform(-size, size, (5, 7)).astype(dtype)
    logits[0] = -dtype(size)  # all exponentials would underflow
    exact = logits.astype(np.float64)
    expected = scipy.special.softmax(exact, axis=1)
    expected_sum = scipy.special.logsumexp(exact, axis=1, keepdims=True)
    rounding = 10 * np.finfo(dtype).eps
    atol = 1e-4 if dtype == np.float32 and size > 100 else rounding
    for function, uniform in ((softmax, 0), (deviation, 1 / 7)):
        found, log_sum = function(logits.copy())
        np.testing.assert_allclose(found, expected - uniform, rtol=0, atol=atol)
        np.testing.assert_allclose(log_sum, expected_sum, rtol=rounding)


def test_softmax_of_no_rows_is_empty():
    assert softmax(np.empty((0, 3), np.float32))[0].shape == (0, 3)
