"""Rows prepared block by block are the rows prepared all at once, whatever they are stored in."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import twin
from prepared import blocks_of, peak_bytes, prepared_rows
from stored import memory_map
from twohot import DistilledProbe, LinearProbe
from twohot.rows.open import fit_preparation
from twohot.rows.preparation import can_widen, widen

N_SAMPLES, N_FEATURES, N_CLASSES = 200, 7, 3
ROUNDING = {"float32": 2e-6, "float64": 1e-13}


def raw_rows(offset=0.5):
    """Rows with a third of the entries zero, so that they are worth storing sparse."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(N_SAMPLES, N_FEATURES)) + offset
    rows[generator.random(rows.shape) < 1 / 3] = 0
    return rows


STORED = {
    "float16": lambda rows, _: rows.astype(np.float16),
    "float32": lambda rows, _: rows.astype(np.float32),
    "float64": lambda rows, _: rows,
    "fortran": lambda rows, _: np.asfortranarray(rows),
    "fortran float32": lambda rows, _: np.asfortranarray(rows, dtype=np.float32),
    "every second row": lambda rows, _: np.repeat(rows, 2, axis=0)[::2],
    "memory map": memory_map,
    "memory map float16": lambda rows, folder: memory_map(rows.astype(np.float16), folder),
    "csr": lambda rows, _: sp.csr_array(rows),
    "csr float32": lambda rows, _: sp.csr_array(rows.astype(np.float32)),
}


def as_float64(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


class CountedRows:
    """Rows that remember how many of them were read."""

    def __init__(self, rows):
        self.rows, self.shape, self.dtype, self.n_read = rows, rows.shape, rows.dtype, 0

    def __getitem__(self, index):
        found = self.rows[index]
        self.n_read += len(found)
        return found


@pytest.mark.parametrize(("keep_small", "passes_read"), [(True, 1), (False, 3)])
def test_small_rows_are_read_once_if_they_are_kept(keep_small, passes_read):
    features = prepared_rows(raw_rows().astype(np.float32), keep_small=keep_small)
    features.X = CountedRows(features.X)
    first = stacked(features)
    for _ in range(2):
        np.testing.assert_array_equal(stacked(features), first)
    assert features.X.n_read == passes_read * N_SAMPLES


def stacked(features):
    return np.vstack([block.prepared().copy() for block in blocks_of(features)])


def assert_close(found, expected, dtype):
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING[dtype.name])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("stored", STORED)
def test_blocks_are_the_whole_array_prepared_at_once(stored, center, normalize, weighted, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    v = np.random.default_rng(1).random(N_SAMPLES) if weighted else None
    features = prepared_rows(X, center=center, normalize=normalize, weights=v)
    assert features.n_blocks == 4
    expected = twin.prepare(as_float64(X), center=center, normalize=normalize, v=v)
    assert_close(stacked(features), expected, features.dtype)


@pytest.mark.parametrize("keep_small", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("steps", [("center", "normalize"), ("normalize",), ("center",)])
@pytest.mark.parametrize("stored", STORED)
def test_products_are_those_of_the_prepared_rows(stored, steps, intercept, keep_small, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    center, normalize = "center" in steps, "normalize" in steps
    features = prepared_rows(
        X, center=center, normalize=normalize, intercept=intercept, keep_small=keep_small
    )
    expected = twin.prepare(as_float64(X), center=center, normalize=normalize)
    if intercept:
        expected = np.hstack([expected, np.ones((N_SAMPLES, 1))])
    generator = np.random.default_rng(2)
    coef = generator.normal(size=(N_CLASSES, features.n_features)).astype(features.dtype)
    e = generator.normal(size=(N_SAMPLES, N_CLASSES)).astype(features.dtype)
    for found in blocks_of(features):
        rows = slice(found.first, found.first + len(found))
        assert_close(found.project(coef), expected[rows] @ coef.T, features.dtype)
        product = e[rows].astype(np.float64).T @ expected[rows] / 10  # a tenth: sums of 64 terms
        assert_close(found.gather(e[rows].copy()) / 10, product, features.dtype)
        assert_close(found.gather(sp.csr_array(e[rows])) / 10, product, features.dtype)


@pytest.mark.parametrize("stored", ["float32", "fortran float32", "csr float32", "float16"])
@pytest.mark.parametrize("offset", [0.0, 1.0, 30.0, 1000.0])
def test_a_mean_much_larger_than_the_spread_costs_no_digits(stored, offset, tmp_path):
    # The mean is taken off the rows: x·w - m·w would lose the digits that x and m have in common.
    X = STORED[stored](np.random.default_rng(0).normal(size=(N_SAMPLES, 7)) + offset, tmp_path)
    features = prepared_rows(X)
    expected = twin.prepare(as_float64(X))
    generator = np.random.default_rng(2)
    coef = generator.normal(size=(N_CLASSES, N_FEATURES)).astype(np.float32)
    e = generator.normal(size=(N_SAMPLES, N_CLASSES)).astype(np.float32)
    # What subtracting a mean rounded to float32 costs is all that is allowed.
    allowed = 5e-6 + 2e-7 * offset
    for found in blocks_of(features):
        rows = slice(found.first, found.first + len(found))
        logits = expected[rows] @ coef.T
        np.testing.assert_allclose(found.project(coef), logits, rtol=0, atol=allowed)
        moment = e[rows].T @ expected[rows] / 10
        gathered = found.gather(e[rows].copy()) / 10
        np.testing.assert_allclose(gathered, moment, rtol=0, atol=allowed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_at_the_mean_is_prepared_to_zero(dtype):
    # Symmetric pairs of rows with few digits, so that the mean is exact.
    half = np.random.default_rng(0).integers(-8, 8, (70, N_FEATURES)) / 4
    X = (np.vstack([half, -half, np.zeros((1, N_FEATURES))]) + 0.5).astype(dtype)
    features = prepared_rows(X, intercept=True)
    last = features.n_blocks - 1
    np.testing.assert_array_equal(features.block(last).prepared()[-1], 0)
    coef = np.random.default_rng(1).normal(size=(N_CLASSES, N_FEATURES + 1)).astype(dtype)
    np.testing.assert_array_equal(features.block(last).project(coef)[-1], coef[:, -1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [0.1, 123.4, 1e-20, 1e15])
def test_rows_that_are_all_equal_are_prepared_to_zero(dtype, value):
    # The mean of equal rows differs from them by rounding, which unit norm would blow up.
    X = np.full((77, N_FEATURES), value, dtype=dtype)
    np.testing.assert_array_equal(stacked(prepared_rows(X)), 0)


def test_a_row_at_the_mean_of_the_others_is_prepared_to_zero():
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, N_FEATURES)) + 3
    X[5] = X[np.arange(N_SAMPLES) != 5].mean(axis=0)
    prepared = stacked(prepared_rows(X))
    np.testing.assert_array_equal(prepared[5], 0)
    np.testing.assert_allclose(np.linalg.norm(np.delete(prepared, 5, axis=0), axis=1), 1)


def test_a_short_row_that_is_not_the_mean_keeps_unit_norm():
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, N_FEATURES))
    X[3] = X.mean(axis=0) + 1e-9
    np.testing.assert_allclose(np.linalg.norm(stacked(prepared_rows(X)), axis=1), 1)
    tiny = prepared_rows(X * 1e-30, center=False)
    np.testing.assert_allclose(np.linalg.norm(stacked(tiny), axis=1), 1)


def test_weights_have_mean_one_and_keep_their_total():
    v = np.random.default_rng(0).random(N_SAMPLES)
    features = prepared_rows(raw_rows(), weights=v)
    assert features.total_weight == pytest.approx(v.sum())
    columns = [block.weights for block in blocks_of(features)]
    np.testing.assert_allclose(np.vstack(columns)[:, 0], v / v.mean())
    plain = prepared_rows(raw_rows())
    assert plain.total_weight == N_SAMPLES
    assert plain.block(0).weights is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stored", STORED)
def test_rows_taken_are_rows_of_the_whole(stored, weighted, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    v = 1 + np.random.default_rng(1).random(N_SAMPLES) if weighted else None
    features = prepared_rows(X, weights=v, intercept=True)
    index = np.random.default_rng(2).permutation(N_SAMPLES)[:150]
    taken = features.take(index)
    assert (taken.n_samples, taken.n_features) == (150, N_FEATURES + 1)
    np.testing.assert_array_equal(stacked(taken), stacked(features)[index])
    again = taken.take(np.arange(10, 20))
    np.testing.assert_array_equal(stacked(again), stacked(features)[index[10:20]])
    if v is None:
        assert taken.given_weights is None
        assert taken.total_weight == 150
    else:
        np.testing.assert_allclose(features.given_weights, v)
        np.testing.assert_allclose(taken.given_weights, v[index])
        assert taken.total_weight == pytest.approx(v[index].sum())
        np.testing.assert_allclose(taken.weights.mean(), 1)


@pytest.mark.parametrize("stored", ["float32", "csr", "memory map"])
def test_taking_rows_copies_none(stored, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    taken = prepared_rows(X).take(np.arange(0, N_SAMPLES, 2))
    assert taken.X.X is X
    assert taken.X.dtype == X.dtype


@pytest.mark.parametrize("stored", STORED)
def test_the_mean_is_accumulated_in_float64(stored, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    v = np.random.default_rng(1).random(N_SAMPLES)
    for weights in (None, v):
        fitted = fit_preparation(X, center=True, normalize=False, weights=weights)
        assert fitted.mean.dtype == np.float64
        truth = np.average(as_float64(X), axis=0, weights=weights)
        np.testing.assert_allclose(fitted.mean, truth, rtol=0, atol=1e-14)


@pytest.mark.parametrize("stored", ["float16", "float64", "csr", "memory map"])
@pytest.mark.parametrize(("bad", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_nan_and_infinity_are_found_with_their_place(stored, bad, kind, tmp_path):
    rows = raw_rows()
    rows[131, 4] = bad
    with pytest.raises(ValueError, match=f"contains {kind} at row 131, column 4"):
        prepared_rows(STORED[stored](rows, tmp_path))


@pytest.mark.parametrize("stored", ["float32", "float16", "fortran", "csr", "memory map"])
def test_a_fit_holds_no_second_copy_of_the_features(stored, tmp_path):
    n_samples, n_features = 40_000, 512
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_samples, n_features)).astype(np.float32)
    if stored == "csr":
        X[generator.random(X.shape) < 0.9] = 0
    labels = generator.integers(0, 10, n_samples)
    X = {
        "float32": lambda: X,
        "float16": lambda: X.astype(np.float16),
        "fortran": lambda: np.asfortranarray(X),
        "csr": lambda: sp.csr_array(X),
        "memory map": lambda: memory_map(X, tmp_path),
    }[stored]()
    whole = 4 * n_samples * n_features  # as float32: 82 MB
    probe = LinearProbe(tol=0.1, n_jobs=2)
    # Blocks of 2 MB for two threads, and a few (d, d) and (K, d) matrices in float64.
    assert peak_bytes(lambda: probe.fit(X, labels)) < whole / 2
    assert peak_bytes(lambda: probe.predict(X)) < whole / 2


def test_no_array_of_all_outputs_is_held():
    n_samples, n_classes = 20_000, 200
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_samples, 16)).astype(np.float32)
    labels = np.arange(n_samples) % n_classes
    outputs = 4 * n_samples * n_classes  # as float32: 16 MB
    probe = DistilledProbe(n_rounds=3, tol=0.1, n_jobs=2)
    assert peak_bytes(lambda: probe.fit(X, labels)) < outputs * 0.75
    gce = LinearProbe(loss="gce", tol=0.1, n_jobs=2)
    assert peak_bytes(lambda: gce.fit(X, labels)) < outputs * 0.75


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "megabytes"), [(100, 60), (1000, 250)])
@pytest.mark.parametrize("loss", ["ce", "gce"])
def test_memory_above_the_features_when_the_history_is_full(loss, n_classes, megabytes):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(10_000, 512)).astype(np.float32)
    labels = np.arange(len(X)) % n_classes
    # As many steps as the history keeps, and a tolerance that lets no fit end before.
    probe = LinearProbe(loss=loss, start="zero", l2=1e-6, tol=1e-12, max_iter=32, n_jobs=2)

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            probe.fit(X, labels)

    assert peak_bytes(fit) < megabytes * 1e6
    assert probe.n_iter_ == 32


# Half precision to single -------------------------------------------------------------------------

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]


def test_every_finite_number_is_kept_to_the_last_bit():
    out = np.empty(len(FINITE), np.float32)
    widen(FINITE, out)
    assert out.tobytes() == FINITE.astype(np.float32).tobytes()  # minus zero too


def test_rows_that_are_not_neighbours_in_memory():
    rows = FINITE[: 2 * 3000].reshape(3000, 2)[::-3, ::-1]
    out = np.empty(rows.shape, np.float32)
    widen(rows, out)
    assert np.array_equal(out, rows.astype(np.float32))


@pytest.mark.parametrize(("stored", "out"), [("f4", "f4"), ("f2", "f8"), (">f2", "f4")])
def test_nothing_else_is_widened(stored, out):
    assert not can_widen(np.ones(1, stored), np.ones(1, out))
