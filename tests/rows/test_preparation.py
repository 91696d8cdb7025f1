"""Rows prepared block by block equal rows prepared all at once, in every container."""

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
    """Return rows with a third of the entries zero, for sparse arrays."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(N_SAMPLES, N_FEATURES)) + offset
    rows[generator.random(rows.shape) < 1 / 3] = 0
    return rows


STORED = {
    "float16": lambda rows, _: rows.astype(np.float16),
    "float32": lambda rows, _: rows.astype(np.float32),
    "float64": lambda rows, _: rows,
    "fortran float32": lambda rows, _: np.asfortranarray(rows, dtype=np.float32),
    "every second row": lambda rows, _: np.repeat(rows, 2, axis=0)[::2],
    "memory map": memory_map,
    "memory map float16": lambda rows, folder: memory_map(rows.astype(np.float16), folder),
    "csr": lambda rows, _: sp.csr_array(rows),
    "csr float32": lambda rows, _: sp.csr_array(rows.astype(np.float32)),
}
EVERY_STORE = pytest.mark.parametrize("stored", STORED)


def as_float64(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def stacked(features):
    return np.vstack([block.prepared().copy() for block in blocks_of(features)])


def check_products(features, expected, atol):
    """Compare the two products of a pass with those of the expected prepared rows."""
    generator = np.random.default_rng(2)
    coef = generator.normal(size=(N_CLASSES, features.n_features)).astype(features.dtype)
    e = generator.normal(size=(N_SAMPLES, N_CLASSES)).astype(features.dtype)
    for found in blocks_of(features):
        rows = slice(found.first, found.first + len(found))
        np.testing.assert_allclose(found.project(coef), expected[rows] @ coef.T, rtol=0, atol=atol)
        product = e[rows].astype(np.float64).T @ expected[rows]
        for each in (e[rows].copy(), sp.csr_array(e[rows])):
            # Ten times the error: sums of 64 terms.
            np.testing.assert_allclose(found.gather(each), product, rtol=0, atol=10 * atol)


NO_OR_YES = (False, True)
STEPS = [{"center": center, "normalize": unit} for center in NO_OR_YES for unit in NO_OR_YES]
OPTIONS = [{"intercept": one, "keep_small": kept} for one in NO_OR_YES for kept in NO_OR_YES]


@pytest.mark.parametrize("weighted", NO_OR_YES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("steps", STEPS, ids=str)
@EVERY_STORE
def test_blocks_equal_rows_prepared_at_once(stored, steps, options, weighted, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    v = np.random.default_rng(1).random(N_SAMPLES) if weighted else None
    features = prepared_rows(X, weights=v, **steps, **options)
    assert features.n_blocks == 4
    expected, atol = twin.prepare(as_float64(X), v=v, **steps), ROUNDING[features.dtype.name]
    ones = np.ones((N_SAMPLES, int(options["intercept"])))
    check_products(features, np.hstack([expected, ones]), atol)
    np.testing.assert_allclose(stacked(features), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("stored", ["float32", "fortran float32", "csr float32", "float16"])
@pytest.mark.parametrize("offset", [1.0, 30.0, 1000.0])
def test_large_mean_costs_no_digits(stored, offset, tmp_path):
    # x·w - m·w would lose the digits that x and m share.
    X = STORED[stored](np.random.default_rng(0).normal(size=(N_SAMPLES, 7)) + offset, tmp_path)
    # Only the error of subtracting a mean in float32 is allowed.
    check_products(prepared_rows(X), twin.prepare(as_float64(X)), 5e-6 + 2e-7 * offset)


@pytest.mark.parametrize(("keep_small", "passes_read"), [(True, 1), (False, 3)])
def test_small_rows_are_read_once_if_kept(keep_small, passes_read):
    class CountedRows(np.ndarray):
        n_read = 0

        def __getitem__(self, index):
            found = super().__getitem__(index)
            CountedRows.n_read += len(found)
            return found.view(np.ndarray)

    features = prepared_rows(raw_rows().astype(np.float32), keep_small=keep_small)
    features.X = features.X.view(CountedRows)
    first = stacked(features)
    for _ in range(2):
        np.testing.assert_array_equal(stacked(features), first)
    assert CountedRows.n_read == passes_read * N_SAMPLES


# Rows at the mean, and weights --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_row_at_the_mean_becomes_zero(dtype):
    # Symmetric pairs of rows with few digits have an exact mean.
    half = np.random.default_rng(0).integers(-8, 8, (70, N_FEATURES)) / 4
    X = (np.vstack([half, -half, np.zeros((1, N_FEATURES))]) + 0.5).astype(dtype)
    features = prepared_rows(X, intercept=True)
    last = features.n_blocks - 1
    np.testing.assert_array_equal(features.block(last).prepared()[-1], 0)
    coef = np.random.default_rng(1).normal(size=(N_CLASSES, N_FEATURES + 1)).astype(dtype)
    np.testing.assert_array_equal(features.block(last).project(coef)[-1], coef[:, -1])
    # The mean of equal rows differs from them by rounding, which unit norm would amplify.
    for value in (0.1, 123.4, 1e-20, 1e15):
        equal = prepared_rows(np.full((77, N_FEATURES), value, dtype=dtype))
        np.testing.assert_array_equal(stacked(equal), 0)


def test_only_a_row_at_the_mean_loses_unit_norm():
    X = np.random.default_rng(0).normal(size=(N_SAMPLES, N_FEATURES)) + 3
    X[5] = X[np.arange(N_SAMPLES) != 5].mean(axis=0)
    prepared = stacked(prepared_rows(X))
    np.testing.assert_array_equal(prepared[5], 0)
    np.testing.assert_allclose(np.linalg.norm(np.delete(prepared, 5, axis=0), axis=1), 1)
    X[3] = X.mean(axis=0) + 1e-7
    np.testing.assert_allclose(np.linalg.norm(stacked(prepared_rows(X))[3]), 1)
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
@EVERY_STORE
def test_taken_rows_are_rows_of_the_whole(stored, weighted, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    v = 1 + np.random.default_rng(1).random(N_SAMPLES) if weighted else None
    features = prepared_rows(X, weights=v, intercept=True)
    index = np.random.default_rng(2).permutation(N_SAMPLES)[:150]
    taken = features.take(index)
    assert taken.X.X is X  # nothing is copied
    assert (taken.n_samples, taken.n_features) == (150, N_FEATURES + 1)
    np.testing.assert_array_equal(stacked(taken), stacked(features)[index])
    again = taken.take(np.arange(10, 20))
    np.testing.assert_array_equal(stacked(again), stacked(features)[index[10:20]])
    given = np.ones(N_SAMPLES) if v is None else v
    assert taken.total_weight == pytest.approx(given[index].sum())
    if weighted:
        np.testing.assert_allclose(taken.given_weights, v[index])
        np.testing.assert_allclose(taken.weights.mean(), 1)


@EVERY_STORE
def test_mean_is_summed_in_float64(stored, tmp_path):
    X = STORED[stored](raw_rows(), tmp_path)
    for weights in (None, np.random.default_rng(1).random(N_SAMPLES)):
        fitted = fit_preparation(X, center=True, normalize=False, weights=weights)
        assert fitted.mean.dtype == np.float64
        truth = np.average(as_float64(X), axis=0, weights=weights)
        np.testing.assert_allclose(fitted.mean, truth, rtol=0, atol=1e-14)


@pytest.mark.parametrize("stored", ["float16", "float64", "csr", "memory map"])
@pytest.mark.parametrize(("bad", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_refuses_nan_and_infinity(stored, bad, kind, tmp_path):
    rows = raw_rows()
    rows[131, 4] = bad
    with pytest.raises(ValueError, match=f"contains {kind} at row 131, column 4"):
        prepared_rows(STORED[stored](rows, tmp_path))


# Memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["float16", "float32", "fortran float32", "csr", "memory map"])
def test_fit_makes_no_copy_of_the_features(stored, tmp_path):
    n_samples, n_features = 40_000, 512
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_samples, n_features)).astype(np.float32)
    if stored == "csr":
        X[generator.random(X.shape) < 0.9] = 0
    labels = generator.integers(0, 10, n_samples)
    X = STORED[stored](X, tmp_path)
    whole = 4 * n_samples * n_features  # as float32: 82 MB
    probe = LinearProbe(tol=0.1, n_jobs=2)
    # Blocks of 2 MB for two threads, and a few (d, d) and (K, d) matrices in float64.
    assert peak_bytes(lambda: probe.fit(X, labels)) < whole / 2
    assert peak_bytes(lambda: probe.predict(X)) < whole / 2


@pytest.mark.parametrize(
    "probe", [DistilledProbe(n_rounds=3, tol=0.1, n_jobs=2), LinearProbe(loss="gce", tol=0.1)]
)
def test_fit_holds_no_array_of_all_outputs(probe):
    n_samples, n_classes = 20_000, 200
    X = np.random.default_rng(0).normal(size=(n_samples, 16)).astype(np.float32)
    outputs = 4 * n_samples * n_classes  # as float32: 16 MB
    probe.set_params(n_jobs=2)
    assert peak_bytes(lambda: probe.fit(X, np.arange(n_samples) % n_classes)) < outputs * 0.75


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "megabytes"), [(100, 60), (1000, 250)])
@pytest.mark.parametrize("loss", ["ce", "gce"])
def test_full_history_takes_little_memory(loss, n_classes, megabytes):
    X = np.random.default_rng(0).normal(size=(10_000, 512)).astype(np.float32)
    labels = np.arange(len(X)) % n_classes
    # As many steps as the history holds, and a tolerance that no fit reaches before.
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


@pytest.mark.parametrize(
    "rows", [FINITE, FINITE[:6000].reshape(3000, 2)[::-3, ::-1]], ids=["all", "with strides"]
)
def test_widen_keeps_every_bit(rows):
    out = np.empty(rows.shape, np.float32)
    widen(rows, out)
    assert out.tobytes() == rows.astype(np.float32).tobytes()  # also of minus zero


@pytest.mark.parametrize(("stored", "out"), [("f4", "f4"), ("f2", "f8"), (">f2", "f4")])
def test_other_types_are_not_widened(stored, out):
    assert not can_widen(np.ones(1, stored), np.ones(1, out))
