"""Linear discriminant analysis equals scikit-learn's, a plain twin, and fits without each row."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import discriminant_twin
import problems
import twin
from twohot import DiscriminantProbe
from twohot.probes import discriminant
from twohot.probes.discriminant import (
    LITTLE_SHRINKAGES,
    SHRINKAGES,
    class_moments,
    discriminant_coef,
    leave_one_out_logits,
)
from twohot.probes.discriminant_probe import LEAST_SHRINKAGE
from twohot.rows.open import open_rows
from twohot.rows.preparation import AS_THEY_ARE

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels

# Classes of 30, 12, 6, 2 and 1 rows in 4 dimensions.
SIZES = (30, 12, 6, 2, 1)
GENERATOR = np.random.default_rng(0)
CODES = GENERATOR.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
Z = GENERATOR.normal(size=(len(CODES), 4)) + GENERATOR.normal(size=(5, 4))[CODES]
Z *= [3, 1, 1, 0.2]


def rows_and_moments(order=slice(None), v=None):
    """Return the rows of Z as they are, in blocks, with their labels, and the class moments."""
    rows = open_rows(Z[order], AS_THEY_ARE, n_classes=5, weights=v, block_rows=16)
    rows.attach("labels", CODES[order])
    return rows, class_moments(rows, np.eye(4))


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


# The fit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [np.ones(12), np.linspace(1, 6, 12)], ids=["alike", "unlike"])
@pytest.mark.parametrize("n_axes", [5, 512])
@pytest.mark.parametrize("shrinkage", [0.003, 0.3, 1])
def test_logits_equal_those_of_scikit_learn(shrinkage, n_axes, units):
    X, X_test = DATA.X * units, DATA.X_test * units
    prepared = twin.prepare(np.vstack([X, X_test]) - X.mean(axis=0), center=False)
    train = prepared[: len(X)]
    probe = DiscriminantProbe(shrinkage=shrinkage, n_axes=n_axes).fit(X, Y)
    # Axes are those of the training rows: a linear map of the features.
    axes, *_ = np.linalg.lstsq(train, discriminant_twin.along_axes(train, n_axes=n_axes))
    known = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(train @ axes, Y)
    for rows, along in ((X, train @ axes), (X_test, prepared[len(X) :] @ axes)):
        assert_near(probe.decision_function(rows), known.decision_function(along))
        np.testing.assert_array_equal(probe.predict(rows), known.predict(along))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [11, 300])  # fewer than features, and more
@pytest.mark.parametrize(("center", "normalize"), [(True, True), (False, True), (True, False)])
def test_logits_equal_those_of_the_plain_twin(center, normalize, n_rows, weighted):
    v = 0.5 + problems.random_weights(n_rows) if weighted else None
    rows, labels = X[:n_rows] + 0.1, Y[:n_rows]
    probe = DiscriminantProbe(shrinkage=0.1, center=center, normalize=normalize)
    found = probe.fit(rows, labels, v).decision_function(rows)
    v = None if v is None else v / v.mean()
    prepared = twin.prepare(rows, center=center, normalize=normalize, v=v)
    along = discriminant_twin.along_axes(prepared, v=v)
    assert_near(found, discriminant_twin.logits(along, labels, 5, 0.1, v))


def test_scale_of_features_does_not_matter():
    one, other = (
        DiscriminantProbe(normalize=False).fit(scale * X, Y).predict_proba(scale * X)
        for scale in (1, 1000)
    )
    assert_near(other, one)


@pytest.mark.parametrize(("stored", "atol"), [(sp.csr_array, 1e-9), (np.float32, 2e-4)])
def test_storage_does_not_matter(stored, atol):
    logits = DiscriminantProbe().fit_leave_one_out(stored(X), Y)
    expected = DiscriminantProbe().fit_leave_one_out(X, Y)
    np.testing.assert_allclose(logits, expected, rtol=0, atol=atol)


def test_number_of_products_with_all_rows():
    # Rows onto axes and their second moment; to choose, rows onto axes and three for a shrinkage.
    assert DiscriminantProbe(shrinkage=0.1).fit(X, Y).rounds_[0].n_passes * 2 == 2
    n_tried = len((*LITTLE_SHRINKAGES, *SHRINKAGES, 1.0))
    assert DiscriminantProbe().fit(X, Y).rounds_[0].n_passes * 2 == 3 + 3 * n_tried


# Leave one out -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shrinkage", [1e-6, 0.003, 0.3, 1])
def test_leave_one_out_equals_fits_without_each_row(shrinkage, weighted):
    v = np.random.default_rng(1).uniform(0.5, 2, len(Z)) if weighted else None
    found = leave_one_out_logits(*rows_and_moments(v=v), shrinkage)
    v = None if v is None else v / v.mean()
    assert_near(found, discriminant_twin.leave_one_out(Z, CODES, 5, shrinkage, v))


def test_probe_leaves_out_rows_along_the_axes_of_all_rows():
    found = DiscriminantProbe(shrinkage=0.1).fit_leave_one_out(X[:60], Y[:60])
    along = discriminant_twin.along_axes(twin.prepare(X[:60]))
    assert_near(found, discriminant_twin.leave_one_out(along, Y[:60], 5, 0.1))


def test_left_out_row_without_weight_has_the_logits_of_the_fit():
    v = np.where(np.arange(len(X)) % 4, 1.0, 0.0)
    probe = DiscriminantProbe(shrinkage=0.1)
    left_out = probe.fit_leave_one_out(X, Y, v)[v == 0]
    assert_near(left_out, probe.decision_function(X[v == 0]))


TRIED = (0.001, 0.01, 0.5, 0.99, 1)


@pytest.fixture
def compared(monkeypatch):
    """Return a function that chooses one of TRIED: the rows of the sample, and the choice."""
    monkeypatch.setattr(discriminant, "shrinkages_for", lambda _: TRIED)

    def choose(rows, moments, most_rows=60):
        monkeypatch.setattr(discriminant, "COMPARED_ROWS", most_rows)
        taken, take = [], rows.take
        rows.take = lambda index: taken.append(index) or take(index)
        return taken, discriminant.choose_shrinkage(rows, moments)

    return choose


def test_shrinkage_agrees_best_without_each_row(compared):
    left_out = {each: discriminant_twin.leave_one_out(Z, CODES, 5, each) for each in TRIED}
    agreement = {each: np.mean(left_out[each].argmax(axis=1) == CODES) for each in TRIED}
    assert len(set(agreement.values())) > 2
    taken, chosen = compared(*rows_and_moments())
    assert taken == []  # all rows are compared
    assert chosen == max(each for each in TRIED if agreement[each] == max(agreement.values()))


@pytest.mark.parametrize("seed", range(3))
def test_compared_rows_do_not_depend_on_the_order(seed, compared):
    order = np.random.default_rng(seed).permutation(len(Z))
    rows, moments = rows_and_moments()
    (expected,), _ = compared(rows, moments, 20)
    (found,), _ = compared(rows_and_moments(order)[0], moments, 20)
    assert len(found) == 20
    np.testing.assert_array_equal(np.sort(order[found]), expected)


def test_rows_without_weight_are_not_compared(compared):
    weights = (np.arange(len(Z)) % 3 == 0).astype(float)
    rest, moments = rows_and_moments(weights > 0)
    rows, _ = rows_and_moments(v=weights)
    (taken,), chosen = compared(rows, moments, int(weights.sum()))
    np.testing.assert_array_equal(taken, np.flatnonzero(weights))
    assert chosen == compared(rest, moments)[1]


def test_leaves_out_row_that_is_the_whole_spread_of_its_class():
    rows, labels = np.repeat(np.eye(4), 30, axis=0), np.repeat(np.arange(4), 30)
    labels[0] = 1
    for dtype in (np.float32, np.float64):
        logits = DiscriminantProbe(shrinkage=0.003).fit_leave_one_out(rows.astype(dtype), labels)
        assert logits[0].argmax() == 0, dtype
    generator = np.random.default_rng(0)
    wide, codes = generator.normal(size=(60, 100)), np.arange(60) % 3
    found, exact = (
        DiscriminantProbe(shrinkage=0.1).fit_leave_one_out(wide.astype(dtype), codes)
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(found, exact, rtol=1e-2, atol=1e-2)


def test_chosen_shrinkage_is_stored():
    probe = DiscriminantProbe().fit(X, Y)
    assert probe.shrinkage_ in (*LITTLE_SHRINKAGES, *SHRINKAGES)
    again = DiscriminantProbe(shrinkage=probe.shrinkage_).fit(X, Y)
    np.testing.assert_array_equal(again.coef_, probe.coef_)


# Degenerate input --------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(20, 3), (20, 30)])
def test_equal_rows_are_predicted_by_the_class_shares(shape):
    labels = np.array([0] * 15 + [1] * 5)
    probe = DiscriminantProbe()
    left_out = probe.fit_leave_one_out(np.full(shape, 0.3), labels)
    np.testing.assert_allclose(probe.predict_proba(np.ones((1, shape[1]))), [[0.75, 0.25]])
    np.testing.assert_allclose(left_out[0], np.log([14 / 19, 5 / 19]))


def test_separates_classes_without_spread():
    rows, labels = np.repeat(X[:4], 3, axis=0), np.repeat(np.arange(4), 3)
    probe = DiscriminantProbe()
    left_out = probe.fit_leave_one_out(rows, labels)
    assert np.isfinite(left_out).all()
    np.testing.assert_array_equal(left_out.argmax(axis=1), labels)
    assert probe.score(rows, labels) == 1


def test_left_out_row_is_not_predicted_its_unique_label():
    labels = DATA.true_labels.copy()
    probe = DiscriminantProbe(shrinkage=0.1).fit(X, labels)
    row = int(np.argmax(probe.decision_function(X)[:, 2]))  # the most confident one of class 2
    labels[row] = 5
    left_out = probe.fit_leave_one_out(X, labels)
    assert probe.predict(X[[row]])[0] == 5
    assert left_out[row].argmax() == 2


def test_equal_rows_with_two_labels_are_predicted_equally():
    rows, labels = np.repeat(X[:40], 2, axis=0), np.tile([0, 1], 40)
    outputs = DiscriminantProbe(shrinkage=0.1).fit(rows, labels).predict_proba(rows)
    np.testing.assert_allclose(outputs, 0.5, atol=1e-9)


def test_fits_one_row_with_all_of_the_weight():
    v = np.zeros(len(X))
    v[0] = 1
    probe = DiscriminantProbe(shrinkage=0.1)
    assert np.isfinite(probe.fit_leave_one_out(X, Y, v)).all()
    assert probe.predict(X[:1])[0] == Y[0]


def test_class_without_weight_has_the_mean_of_all_rows():
    v = np.where(CODES == 2, 0.0, 1.0)
    found = discriminant_coef(rows_and_moments(v=v)[1], 0.1)
    expected = discriminant_twin.fit(Z, CODES, 5, 0.1, v / v.mean())
    for one, other in zip(found, expected, strict=True):
        assert_near(one, other)


def test_verbose_prints_the_shrinkage(capsys):
    probe = DiscriminantProbe(verbose=1, n_axes=7).fit(X, Y)
    said = f"DiscriminantProbe: shrinkage {probe.shrinkage_:g} along 7 axes\n"
    assert capsys.readouterr().err == said


def test_least_shrinkage_is_invertible():
    rows = np.hstack([X, X])  # half of the axes have no variance
    probe = DiscriminantProbe(shrinkage=LEAST_SHRINKAGE).fit(rows, Y)
    assert np.isfinite(probe.coef_).all()
