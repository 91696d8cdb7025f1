"""Laws: what does not change the data does not change the verdicts and the predictions.

In another order, sums have other last digits. A fit may then end a step earlier, and a probability
changes by some hundredths at the most. Rows whose probability is that near the threshold may be
flagged or not: a handful of the labels.
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

# A step of a fit more or less moves a probability by less; as many flags may differ.
STEP, HANDFUL = 0.05, 4


@pytest.fixture(scope="module")
def issues():
    return find_label_issues(X, Y, n_jobs=1)


@pytest.fixture(scope="module")
def probe():
    return AutoProbe(n_jobs=1).fit(X, Y)


def assert_same_verdicts(found, expected, chosen=slice(None), *, handful=HANDFUL, step=STEP):
    """Verdicts are those expected of chosen rows, up to a step of a fit."""
    flags = found.is_label_issue != expected.is_label_issue[chosen]
    assert flags.sum() <= handful
    difference = np.abs(found.probability_wrong - expected.probability_wrong[chosen])
    assert np.nanmax(difference) < step
    assert np.nanmean(difference) < step / 10
    assert np.mean(found.predicted != expected.predicted[chosen]) <= handful / N_ROWS
    assert found.noise_rate == pytest.approx(expected.noise_rate, abs=2e-3)
    assert found.noise_interval == pytest.approx(expected.noise_interval, abs=5e-3)


def assert_same_bits(found, expected):
    np.testing.assert_array_equal(found.is_label_issue, expected.is_label_issue)
    np.testing.assert_array_equal(found.probability_wrong, expected.probability_wrong)
    np.testing.assert_array_equal(found.predicted, expected.predicted)
    np.testing.assert_array_equal(found.confidence, expected.confidence)
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
    own = probe if normalize == "auto" else AutoProbe(n_jobs=1, normalize=normalize).fit(X, Y)
    for scaled, plain in ((np.ldexp(DATA.X_test, k), DATA.X_test), (np.ldexp(X, k), X)):
        np.testing.assert_array_equal(found.predict(scaled), own.predict(plain))
    if normalize == "auto":
        assert_same_bits(find_label_issues(np.ldexp(X, k), Y, n_jobs=1), issues)


@pytest.mark.parametrize("value", [0.0, 7.0, -1e4])
def test_constant_column(issues, value):
    padded = np.column_stack([X, np.full(N_ROWS, value)])
    assert_same_verdicts(find_label_issues(padded, Y, n_jobs=1), issues)


def test_column_order(issues):
    columns = np.random.default_rng(0).permutation(X.shape[1])
    assert_same_verdicts(find_label_issues(X[:, columns], Y, n_jobs=1), issues)


# Rows without a label ----------------------------------------------------------------------------


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


# Containers --------------------------------------------------------------------------------------

SAME_NUMBERS = {
    "memory map": lambda folder: memory_map(X, folder),
    "columns": lambda _: np.asfortranarray(X),
    "CSR": lambda _: sp.csr_array(X),
    "COO": lambda _: sp.coo_array(X),
    "pandas": lambda _: pd.DataFrame(X).add_prefix("x"),
    "polars": lambda _: polars_frame(X),
    "list": lambda _: X.tolist(),
}
CHUNKS = [(100, 0, 200, 100), (250, 150)]


@pytest.mark.parametrize("container", SAME_NUMBERS)
def test_containers_in_memory(container, issues, tmp_path):
    found = find_label_issues(SAME_NUMBERS[container](tmp_path), Y, n_jobs=1)
    assert_same_verdicts(found, issues)


def in_chunks(values, sizes):
    return da.from_array(values, chunks=(sizes, *((-1,) * (values.ndim - 1))))


@pytest.mark.parametrize("sizes", CHUNKS)
def test_chunks_of_dask(sizes, issues, probe):
    chunked = in_chunks(X, sizes)
    assert_same_bits(find_label_issues(chunked, in_chunks(Y, sizes)), issues)
    found = AutoProbe(n_jobs=1).fit(chunked, in_chunks(Y, sizes))
    np.testing.assert_array_equal(found.coef_, probe.coef_)


def test_chunks_do_not_decide_ties_between_members():
    """Of few features, classifiers tie: the rounding of a sum would decide which one judges."""
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


def test_single_precision(issues):
    assert_same_verdicts(find_label_issues(X.astype(np.float32), Y, n_jobs=1), issues)


# A sample ----------------------------------------------------------------------------------------

MANY = problems.digits(0.3, 1200)


@pytest.fixture(scope="module")
def sampled():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sample_module, "SAMPLE_ROWS", 700)
        yield find_label_issues(MANY.X, MANY.given_labels, n_jobs=1)


@pytest.mark.parametrize("sizes", [(500, 700), (300, 300, 300, 300)])
def test_sample_of_chunks_equals_sample_of_array(sampled, set_sample_rows, sizes):
    set_sample_rows(700)
    chunked = in_chunks(MANY.X, sizes)
    assert_same_verdicts(
        find_label_issues(chunked, in_chunks(MANY.given_labels, sizes)), sampled, handful=12
    )


def test_sample_does_not_depend_on_row_order(sampled, set_sample_rows):
    set_sample_rows(700)
    order = np.random.default_rng(0).permutation(1200)
    found = find_label_issues(MANY.X[order], MANY.given_labels[order], n_jobs=1)
    assert_same_verdicts(found, sampled, order, handful=12)


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
