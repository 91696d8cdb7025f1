"""Fits end at an optimum: by a twin, by other solvers and by the theory, in few passes."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import problems
import twin
from prepared import posed
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.rows.rows import Block
from twohot.solve.curvature import History
from twohot.solve.solver import Settings, minimize
from twohot.theory import LabelAveraging, softmax_rounds

# With fewer rows than features, the fit runs in the span of the rows.
EVERY_DATA = pytest.mark.parametrize(
    "data",
    [problems.digits(), problems.synthetic(), problems.synthetic(5, 20, 130)],
    ids=["digits", "synthetic", "few rows"],
)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])
INTERCEPT = pytest.mark.parametrize("intercept", [False, True])
EVERY_LOSS = pytest.mark.parametrize("loss", ["ce", "gce"])


# Every round of every probe ends at an optimum for its targets, by the plain twin ----------------

PROBES = [
    DistilledProbe(n_rounds=4),
    DistilledProbe(n_rounds=2, loss="gce"),
    DistilledProbe(n_rounds=2, teacher_loss="gce"),
    PartialLabelProbe(),
    PartialLabelProbe(n_candidates=1, loss="ce"),
]


def targets_of(probe, entry, given, last):
    """Return the targets of a round, from the outputs of the previous round."""
    if entry.targets != "candidates":
        return given if entry.targets == "labels" else last
    kept = np.argsort(last, axis=1)[:, -probe.n_candidates :]
    candidates = np.zeros_like(last)
    np.put_along_axis(candidates, kept, 1 / probe.n_candidates, axis=1)
    return candidates


def check_certificates(probe, data, v=None, *, dtype=np.float64, **preparation):
    """Fit a probe; compare gradient and value of every round with those of the twin."""
    probe.set_params(**preparation).fit(data.X.astype(dtype), data.given_labels, v)
    rows = twin.prepare(data.X.astype(dtype), v=v, **preparation)
    given, outputs = twin.one_hot(data.given_labels), None
    for entry in probe.rounds_:
        assert entry.converged
        targets = targets_of(probe, entry, given, outputs)
        b = entry.intercept if entry.intercept.any() else None
        options = {"v": v, "loss": entry.loss}
        found = twin.relative_gradient(rows, targets, entry.coef, entry.l2, b=b, **options)
        if dtype == np.float32:  # the gradient has an error of a few 1e-8 of that at zero
            assert found <= 2e-6
        else:
            assert found <= 1.01e-6
            assert found == pytest.approx(entry.gradient_norm, rel=1e-3, abs=1e-12)
            value = twin.value(rows, targets, entry.coef, entry.l2, b=entry.intercept, **options)
            assert entry.value == pytest.approx(value)
        outputs = twin.outputs(rows, entry.coef, entry.intercept)


@WEIGHTED
@INTERCEPT
@pytest.mark.parametrize("ridge", [0.1, 1e4])
@EVERY_LOSS
@EVERY_DATA
def test_one_round_ends_at_an_optimum(data, loss, ridge, intercept, weighted):
    v = problems.random_weights(len(data.X)) if weighted else None
    probe = LinearProbe(loss=loss, ridge=ridge, fit_intercept=intercept)
    check_certificates(probe, data, v)


@WEIGHTED
@INTERCEPT
@pytest.mark.parametrize("probe", PROBES, ids=repr)
@EVERY_DATA
def test_several_rounds_end_at_optima(data, probe, intercept, weighted):
    v = problems.random_weights(len(data.X)) if weighted else None
    check_certificates(probe.set_params(fit_intercept=intercept), data, v)


@pytest.mark.parametrize(("center", "normalize"), [(False, False), (True, False), (False, True)])
@EVERY_LOSS
@EVERY_DATA
def test_optimum_on_rows_prepared_otherwise(data, loss, center, normalize):
    check_certificates(LinearProbe(loss=loss), data, center=center, normalize=normalize)


@EVERY_LOSS
@EVERY_DATA
def test_optimum_in_single_precision(data, loss):
    probe = PartialLabelProbe(loss=loss, ridge=5.0)
    check_certificates(probe, data, dtype=np.float32)


@EVERY_LOSS
@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_rare_class_with_a_large_weight_converges(ridge, loss):
    # One class has a hundredth of the rows, and a hundred times the weight.
    data = problems.digits(0.2)
    kept = (data.given_labels != 0) | (np.arange(len(data.X)) % 10 == 0)
    probe = PartialLabelProbe(loss=loss, ridge=ridge, class_weight="balanced")
    probe.fit(data.X[kept], data.given_labels[kept])
    assert all(entry.converged for entry in probe.rounds_)


# Other solvers -----------------------------------------------------------------------------------


@WEIGHTED
@INTERCEPT
@EVERY_DATA
def test_cross_entropy_is_logistic_regression_of_scikit_learn(data, intercept, weighted):
    v = problems.random_weights(len(data.X)) if weighted else None
    l2 = 3e-4
    probe = LinearProbe(l2=l2, fit_intercept=intercept, tol=1e-10)
    probe.fit(data.X, data.given_labels, v)
    rows = twin.prepare(data.X, v=v)
    total = len(rows) if v is None else v.sum()
    reference = LogisticRegression(
        C=1 / (l2 * total),
        fit_intercept=intercept,
        solver="newton-cholesky",
        tol=1e-10,
        max_iter=1000,
    ).fit(rows, data.given_labels, v)
    np.testing.assert_allclose(probe.coef_, reference.coef_, rtol=0, atol=1e-6)
    # Intercepts are determined up to a constant; here they sum to zero.
    expected = reference.intercept_ - reference.intercept_.mean()
    np.testing.assert_allclose(probe.intercept_, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("start", ["zero", "teacher", "array"])
def test_generalized_cross_entropy_ends_where_scipy_does(start):
    data, l2 = problems.synthetic(), 0.004
    rows, targets = twin.prepare(data.X), twin.one_hot(data.given_labels)
    given = np.random.default_rng(0).normal(size=(5, 12))
    given -= given.mean(axis=0)  # fits leave out the part that all classes share
    first = {"zero": None, "teacher": twin.minimize(rows, targets, l2), "array": given}[start]
    start = given if start == "array" else start
    probe = LinearProbe(loss="gce", l2=l2, tol=1e-9, start=start).fit(data.X, data.given_labels)
    expected = twin.minimize(rows, targets, l2, start=first, loss="gce")
    np.testing.assert_allclose(probe.coef_, expected, rtol=0, atol=1e-5)


# Fits that cannot converge, or need not -----------------------------------------------------------


@EVERY_LOSS
@pytest.mark.parametrize("start", ["zero", "teacher"])
def test_fit_with_zero_gradient_at_zero_is_converged(loss, start):
    X = np.random.default_rng(0).normal(size=(40, 3))
    probe = LinearProbe(loss=loss, start=start).fit_soft(X, np.full((40, 4), 0.25))
    (entry,) = probe.rounds_
    assert (entry.converged, entry.gradient_norm, entry.n_iter) == (True, 0, 0)
    np.testing.assert_array_equal(entry.coef, 0)


@pytest.mark.parametrize("fit", ["fit", "fit_soft"])
@EVERY_LOSS
def test_fit_warns_at_the_maximum_of_steps(loss, fit):
    data = problems.digits()
    probe = LinearProbe(loss=loss, max_iter=2)
    targets = data.given_labels if fit == "fit" else twin.one_hot(data.given_labels)
    message = r"after 2 steps.*raise max_iter, tol or the penalty"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        getattr(probe, fit)(data.X, targets)
    assert caught[0].filename == __file__  # the warning points to the line that fits
    (entry,) = probe.rounds_
    assert (entry.converged, entry.n_iter) == (False, 2)
    assert entry.gradient_norm > 1e-6
    assert probe.score(data.X_test, data.test_labels) > 0.5


def test_fit_with_a_tolerance_below_rounding_ends_early():
    data = problems.synthetic(dtype=np.float32)
    probe = LinearProbe(tol=1e-14)
    with pytest.warns(ConvergenceWarning, match="or pass dtype='float64'"):
        probe.fit(data.X, data.given_labels)
    assert probe.rounds_[0].n_iter < 100
    assert probe.rounds_[0].gradient_norm < 1e-6


class WrongHistory(History):
    """A history whose directions lead upwards, some times or always."""

    wrong: int | None = None  # number of pairs at which it is wrong once; None: always

    def solve(self, vector, metrics):
        if self.wrong is None:
            return -vector
        if len(self.pairs) == self.wrong:
            self.wrong = -1
            return -super().solve(vector, metrics)
        return super().solve(vector, metrics)


def minimized(history):
    """Return the end of a fit with a given history."""
    data, settings = problems.synthetic(), Settings(tol=1e-10, max_iter=500, kept_logits=0)
    return minimize(posed(data.X, data.given_labels), None, settings, history)


def test_pairs_that_lead_upwards_are_forgotten():
    dtype = np.dtype(np.float64)
    history = WrongHistory(dtype)
    history.wrong = 3
    found, expected = minimized(history), minimized(History(dtype))
    assert history.wrong == -1
    assert found.converged
    np.testing.assert_allclose(found.evaluation.coef, expected.evaluation.coef, atol=1e-8)
    # A fit that finds no direction ends.
    stopped = minimized(WrongHistory(dtype))
    assert (stopped.converged, stopped.n_iter) == (False, 1)


# Late rounds, and the theory ---------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [10.0, 1000.0])
def test_late_rounds_in_float32_equal_exact_newton_steps(ridge):
    # Targets of round 6 differ from uniform by 1e-5 and less: an absolute tolerance, or the
    # rounding of 1/K, would leave zero coefficients and chance.
    data = problems.digits(0.5, 600)
    X = data.X.astype(np.float32)
    probe = DistilledProbe(n_rounds=6, ridge=ridge).fit(X, data.given_labels)
    assert all(entry.converged for entry in probe.rounds_)
    rows, l2 = twin.prepare(X), ridge / (10 * len(X))
    averaging = LabelAveraging.from_features(rows)
    reference = softmax_rounds(averaging, twin.one_hot(data.given_labels), l2=l2, n_rounds=6)
    for entry, expected in zip(probe.rounds_, reference, strict=True):
        assert entry.l2 == pytest.approx(l2)
        found = twin.outputs(rows, entry.coef) - 0.1
        exact = expected.outputs - 0.1
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-4 * np.abs(exact).max())
        assert np.mean(found.argmax(1) != exact.argmax(1)) <= 2 / len(X)
    assert probe.score(data.X_test, data.test_labels) > 0.55


@pytest.mark.parametrize("n_rounds", [1, 2, 4])
def test_rounds_with_a_large_ridge_average_labels(n_rounds):
    data = problems.digits(0.5, 600)
    ridge = 1e5
    probe = DistilledProbe(n_rounds=n_rounds, ridge=ridge).fit(data.X, data.given_labels)
    rows, targets = twin.prepare(data.X), twin.one_hot(data.given_labels)
    l2 = ridge / (10 * len(rows))
    averaging = LabelAveraging.from_features(rows)
    predicted = averaging.outputs(targets, l2=l2, n_rounds=n_rounds) - 0.1
    found = twin.outputs(rows, probe.coef_) - 0.1
    # The error of linearising the softmax falls as 1/ridge.
    np.testing.assert_allclose(found, predicted, rtol=0, atol=1e-3 * np.abs(predicted).max())
    expected = averaging.coef(targets, l2=l2, n_rounds=n_rounds)
    np.testing.assert_allclose(probe.coef_, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


# Counts ------------------------------------------------------------------------------------------


@pytest.fixture
def products(monkeypatch):
    """List the products of rows with dense matrices, in passes."""
    listed = []

    def listing(product):
        def method(self, matrix):
            # A sum over labels or candidates, which are sparse, costs a K-th of a product.
            if isinstance(matrix, np.ndarray):
                listed.append(0.5 * len(self.x) / len(problems.synthetic().X))
            return product(self, matrix)

        return method

    for name in ("project", "gather"):
        monkeypatch.setattr(Block, name, listing(getattr(Block, name)))
    return listed


ROBUST = {"loss": "gce"}
COUNTED = [
    *(LinearProbe(**options) for options in ({}, ROBUST, {**ROBUST, "start": "zero"})),
    DistilledProbe(n_rounds=4),
    *(DistilledProbe(n_rounds=3, **{name: "gce"}) for name in ("loss", "teacher_loss")),
    *(PartialLabelProbe(**options) for options in ({}, {"loss": "ce"}, {"teacher_loss": "gce"})),
]


@pytest.mark.parametrize("probe", COUNTED, ids=repr)
def test_results_count_the_passes(probe, products):
    data = problems.synthetic()
    fits = [(probe.fit, data.given_labels)]
    if isinstance(probe, LinearProbe):
        fits.append((probe.fit_soft, problems.random_targets(len(data.X), 5)))
    for fit, targets in fits:
        products.clear()
        fit(data.X, targets)
        assert sum(entry.n_passes for entry in probe.rounds_) == pytest.approx(sum(products))


def passes(probe, data):
    probe.fit(data.X, data.given_labels)
    assert all(entry.converged for entry in probe.rounds_)
    return [entry.n_passes for entry in probe.rounds_]


# Number of classes, rows per class and features: a small size, and that of CIFAR-100.
SMALLER, MAIN = (40, 100, 128), (100, 500, 512)
EVERY_SIZE = pytest.mark.parametrize("size", [SMALLER, pytest.param(MAIN, marks=pytest.mark.slow)])


def draws(size):
    return [problems.synthetic(*size, 0.6, np.float32, seed=seed) for seed in range(3)]


def median_passes(count, size):
    """Return the median over draws of the data of numbers of passes.

    With another BLAS, other rounding, a fit may take two or three passes more. So tests assert the
    median, with a margin.
    """
    return np.median([count(data) for data in draws(size)], axis=0)


@EVERY_SIZE
@pytest.mark.parametrize("l2", [5e-5, 1.5e-4, 5e-4])
def test_cross_entropy_fit_takes_few_passes(size, l2):
    def count(data):
        return [passes(LinearProbe(l2=l2, tol=tol), data)[0] for tol in (1e-4, 1e-6)]

    coarse, fine = median_passes(count, size)
    assert coarse <= 12
    assert fine <= 16


@EVERY_SIZE
def test_students_and_candidates_take_few_passes(size):
    def count(data):
        rounds = passes(DistilledProbe(n_rounds=7, l2=5e-5), data)
        partial = passes(PartialLabelProbe(loss="ce", l2=5e-5), data)
        return max(rounds + partial), sum(rounds) + partial[1]

    longest, total = median_passes(count, size)
    assert longest <= 21
    assert total <= 110


@EVERY_SIZE
@pytest.mark.parametrize("l2", [5e-5, 5e-4])
def test_robust_fit_takes_few_passes_from_its_teacher(size, l2):
    def count(data):
        (whole,) = passes(LinearProbe(loss="gce", l2=l2, tol=1e-4), data)
        (teacher,) = passes(LinearProbe(l2=l2, tol=1e-4), data)
        return whole - teacher, passes(PartialLabelProbe(l2=l2, tol=1e-4), data)[1]

    beyond, partial = median_passes(count, size)
    assert 0 < beyond <= 25
    assert partial <= 25


def test_start_from_the_teacher_saves_passes():
    from_teachers, alone = 0.0, 0.0
    for data in draws(SMALLER):
        probe = DistilledProbe(n_rounds=3, l2=5e-5)
        outputs = list(probe.fit(data.X, data.given_labels).staged_predict_proba(data.X))
        for entry, targets in zip(probe.rounds_[1:], outputs[:-1], strict=True):
            single = LinearProbe(l2=5e-5).fit_soft(data.X, targets).rounds_[0]
            from_teachers += entry.n_passes
            alone += single.n_passes - 0.5  # half a pass is the moment of the targets
    assert from_teachers < alone
