"""The order, the names and the container of the data change neither verdicts nor predictions.

In another order, sums have other last digits. Then a fit may end a step earlier, which changes a
probability by at most some hundredths. The flags of a few rows near the threshold may change.
"""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import problems
from stored import memory_map, polars_frame
from twohot import AutoProbe, find_label_issues
from twohot.judge import sample as sample_module

DATA = problems.digits(0.3, 400)
X, Y, WRONG = DATA.X, DATA.given_labels, DATA.given_labels != DATA.true_labels
N_ROWS = len(Y)
ORDER = np.random.default_rng(0).permutation(N_ROWS)

# Maximum change of a probability by one step of a fit, and maximum number of flags that change.
STEP, HANDFUL = 0.05, 4


@pytest.fixture(scope="module")
def issues():
    return find_label_issues(X, Y, n_jobs=1)


@pytest.fixture(scope="module")
def probe():
    return AutoProbe(n_jobs=1).fit(X, Y)


def assert_same_verdicts(found, expected, rows=slice(None), *, handful=HANDFUL):
    """Assert the expected verdicts on the given rows, up to a step of a fit."""
    flags = found.is_label_issue != expected.is_label_issue[rows]
    assert flags.sum() <= handful
    difference = np.abs(found.probability_wrong - expected.probability_wrong[rows])
    assert np.nanmax(difference) < STEP
    assert np.nanmean(difference) < STEP / 10
    assert np.mean(found.predicted != expected.predicted[rows]) <= handful / N_ROWS
    assert found.noise_rate == pytest.approx(expected.noise_rate, abs=2e-3)
    assert found.noise_interval == pytest.approx(expected.noise_interval, abs=5e-3)


def assert_same_bits(found, expected):
    for name in ("is_label_issue", "probability_wrong", "predicted", "confidence"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.noise_rate == expected.noise_rate
    assert found.noise_interval == expected.noise_interval


def test_data_have_flags_to_compare(issues):
    found = issues.is_label_issue
    assert 2 * (found & WRONG).sum() / (found.sum() + WRONG.sum()) > 0.9


# Rows and classes --------------------------------------------------------------------------------


def test_row_order(issues, probe):
    assert_same_verdicts(find_label_issues(X[ORDER], Y[ORDER], n_jobs=1), issues, ORDER)
    found = AutoProbe(n_jobs=1).fit(X[ORDER], Y[ORDER])
    assert np.mean(found.predict(DATA.X_test) != probe.predict(DATA.X_test)) < 0.005


@pytest.mark.parametrize("seed", [0, 1])
def test_class_order(issues, probe, seed):
    renamed = np.random.default_rng(seed).permutation(10)
    found = find_label_issues(X, renamed[Y], n_jobs=1)
    flags = found.is_label_issue != issues.is_label_issue
    assert flags.sum() <= HANDFUL
    np.testing.assert_allclose(found.probability_wrong, issues.probability_wrong, atol=STEP)
    assert np.mean(found.predicted_label != renamed[issues.predicted_label]) < 0.005
    corruption = found.corruption[np.ix_(renamed, renamed)]
    np.testing.assert_allclose(corruption, issues.corruption, atol=0.03)
    other = AutoProbe(n_jobs=1).fit(X, renamed[Y]).predict(DATA.X_test)
    assert np.mean(other != renamed[probe.predict(DATA.X_test)]) < 0.005


def test_class_names(issues, probe):
    names = np.array([*"abcdefghij"])
    found = find_label_issues(X, names[Y], n_jobs=1)
    assert_same_bits(found, issues)
    assert found.predicted_label.tolist() == names[issues.predicted_label].tolist()
    named = AutoProbe(n_jobs=1).fit(X, names[Y])
    np.testing.assert_array_equal(named.coef_, probe.coef_)


@pytest.mark.parametrize("weight", [2.0**-30, 1 / N_ROWS, 4.0])
def test_unit_of_weights(probe, weight):
    found = AutoProbe(n_jobs=1).fit(X, Y, np.full(N_ROWS, weight))
    np.testing.assert_allclose(found.coef_, probe.coef_, rtol=1e-3, atol=1e-3)
    assert found.choice_.noise_rate == pytest.approx(probe.choice_.noise_rate, abs=1e-4)


# Features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [-20, 10])
@pytest.mark.parametrize("normalize", ["auto", False])
def test_power_of_two_changes_no_bit(issues, probe, k, normalize):
    found = AutoProbe(n_jobs=1, normalize=normalize).fit(np.ldexp(X, k), Y)
    plain = probe if normalize == "auto" else AutoProbe(n_jobs=1, normalize=normalize).fit(X, Y)
    for rows in (DATA.X_test, X):
        np.testing.assert_array_equal(found.predict(np.ldexp(rows, k)), plain.predict(rows))
    if normalize == "auto":
        assert_same_bits(find_label_issues(np.ldexp(X, k), Y, n_jobs=1), issues)


CHANGED = {
    "constant zero": lambda _: np.column_stack([X, np.zeros(N_ROWS)]),
    "constant seven": lambda _: np.column_stack([X, np.full(N_ROWS, 7.0)]),
    "large constant": lambda _: np.column_stack([X, np.full(N_ROWS, -1e4)]),
    "column order": lambda _: X[:, np.random.default_rng(0).permutation(X.shape[1])],
    "single precision": lambda _: X.astype(np.float32),
    "memory map": lambda folder: memory_map(X, folder),
    "columns": lambda _: np.asfortranarray(X),
    "CSR": lambda _: sp.csr_array(X),
    "COO": lambda _: sp.coo_array(X),
    "pandas": lambda _: pd.DataFrame(X).add_prefix("x"),
    "polars": lambda _: polars_frame(X),
    "list": lambda _: X.tolist(),
}


@pytest.mark.parametrize("change", CHANGED)
def test_columns_precision_and_containers(change, issues, tmp_path):
    assert_same_verdicts(find_label_issues(CHANGED[change](tmp_path), Y, n_jobs=1), issues)


@pytest.mark.parametrize("first", [True, False])
def test_unlabelled_rows(issues, probe, first):
    more = DATA.X_test[:150]
    rows, labels = [more, X], [[None] * 150, Y.tolist()]
    if not first:
        rows, labels = rows[::-1], labels[::-1]
    rows, labels = np.concatenate(rows), [label for part in labels for label in part]
    found = find_label_issues(rows, labels, n_jobs=1)
    labelled = np.array([label is not None for label in labels])
    assert_same_verdicts(found[labelled], issues)
    absent = found[~labelled]
    assert not absent.is_label_issue.any()
    assert np.isnan(absent.probability_wrong).all()
    assert np.mean(absent.predicted_label == probe.predict(more)) > 0.9
    assert np.mean(absent.predicted_label == DATA.test_labels[:150]) > 0.85


# Chunks and parts --------------------------------------------------------------------------------


def in_chunks(values, sizes):
    return da.from_array(values, chunks=(sizes, *((-1,) * (values.ndim - 1))))


@pytest.mark.parametrize("sizes", [(100, 0, 200, 100), (250, 150)])
def test_chunks_of_dask(sizes, issues, probe):
    chunked = in_chunks(X, sizes)
    assert_same_bits(find_label_issues(chunked, in_chunks(Y, sizes)), issues)
    found = AutoProbe(n_jobs=1).fit(chunked, in_chunks(Y, sizes))
    np.testing.assert_array_equal(found.coef_, probe.coef_)


def test_chunks_do_not_decide_ties_between_members():
    """With few features, classifiers tie: the rounding of a sum would decide which one judges."""
    few, labels = X[:, ::4], problems.digits(0.2, 400).given_labels
    found = find_label_issues(in_chunks(few, (100,) * 4), in_chunks(labels, (100,) * 4))
    assert_same_bits(found, find_label_issues(few, labels, n_jobs=1))


# pandas warns of a keyword that Dask's reader uses.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_parts_of_parquet(issues, tmp_path):
    frame = pd.DataFrame(X).add_prefix("x")
    for number, rows in enumerate(np.split(np.arange(N_ROWS), [120, 310])):
        frame.iloc[rows].to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    parts = dd.read_parquet(tmp_path)
    assert_same_verdicts(find_label_issues(parts, Y), issues)


# A sample ----------------------------------------------------------------------------------------

MANY = problems.digits(0.3, 1200)


@pytest.fixture(scope="module")
def sampled():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sample_module, "SAMPLE_ROWS", 700)
        yield find_label_issues(MANY.X, MANY.given_labels, n_jobs=1)


IN_ORDER, MOVED = np.arange(1200), np.random.default_rng(0).permutation(1200)


@pytest.mark.parametrize(
    ("X", "labels", "rows"),
    [
        (in_chunks(MANY.X, (500, 700)), in_chunks(MANY.given_labels, (500, 700)), IN_ORDER),
        (in_chunks(MANY.X, (300,) * 4), in_chunks(MANY.given_labels, (300,) * 4), IN_ORDER),
        (MANY.X[MOVED], MANY.given_labels[MOVED], MOVED),
    ],
    ids=["two chunks", "four chunks", "another order"],
)
def test_sample_depends_neither_on_chunks_nor_on_order(X, labels, rows, sampled, set_sample_rows):
    set_sample_rows(700)
    assert_same_verdicts(find_label_issues(X, labels), sampled, rows, handful=12)


def test_unlabelled_rows_are_not_sampled(sampled, set_sample_rows):
    set_sample_rows(700)
    rows = np.concatenate([MANY.X_test[:200], MANY.X])
    labels = [None] * 200 + MANY.given_labels.tolist()
    found = find_label_issues(rows, labels, n_jobs=1)
    assert_same_verdicts(found[200:], sampled, handful=12)
    assert np.mean(found.predicted_label[:200] == MANY.test_labels[:200]) > 0.85


def test_final_probe_is_fitted_on_all_rows(set_sample_rows):
    whole = AutoProbe(n_jobs=1).fit(MANY.X, MANY.given_labels)
    set_sample_rows(400)
    found = AutoProbe(n_jobs=1).fit(MANY.X, MANY.given_labels)
    assert found.choice_.n_rows == 400
    least = whole.score(MANY.X_test, MANY.test_labels) - 0.03
    assert found.score(MANY.X_test, MANY.test_labels) > least
