"""A fit that fails changes nothing, and inputs of unusual types are taken or refused clearly."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

import problems
from twohot import LinearProbe, PartialLabelProbe
from twohot.rows.threads import one_blas_thread


def test_a_fit_that_fails_leaves_the_last_one():
    data = problems.synthetic()
    probe = LinearProbe(loss="gce").fit(data.X, data.given_labels)
    before = probe.predict_proba(data.X)
    probe.set_params(start=np.ones((2, 2)))
    with pytest.raises(ValueError, match="start has shape"):
        probe.fit(data.X + 100, data.given_labels)
    np.testing.assert_array_equal(probe.predict_proba(data.X), before)


def test_a_first_fit_that_fails_leaves_the_probe_unfitted():
    data = problems.synthetic()
    probe = LinearProbe(loss="gce", start=np.ones((2, 2)))
    with pytest.raises(ValueError, match="start has shape"):
        probe.fit(data.X, data.given_labels)
    with pytest.raises(NotFittedError):
        probe.predict(data.X)


@pytest.mark.parametrize("loss", ["ce", "gce"])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.coo_matrix, sp.csc_array, sp.coo_array])
def test_soft_targets_may_be_any_sparse_matrix(form, loss):
    data = problems.synthetic()
    dense = np.eye(data.n_classes)[data.given_labels]
    expected = LinearProbe(loss=loss).fit_soft(data.X, dense)
    found = LinearProbe(loss=loss).fit_soft(data.X, form(dense))
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)


def test_soft_targets_in_float16_are_summed_in_float64():
    generator = np.random.default_rng(0)
    targets = generator.dirichlet(np.ones(1000), 40)
    X = generator.normal(size=(40, 5))
    stored = np.asfortranarray(targets.astype(np.float16))
    assert LinearProbe(tol=1e-4).fit_soft(X, stored).coef_.shape == (1000, 5)


def test_class_names_out_of_order_are_refused():
    with pytest.raises(ValueError, match=r"out of order.*pass one name per column"):
        LinearProbe().fit_soft(np.eye(3), np.eye(3), classes=["b", "a", "c"])


class Tensor:
    """An array of another library: its dtype is not numpy's."""

    dtype = "float32 of another library"

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype, copy=copy)


def test_arrays_of_other_libraries_are_taken():
    data = problems.synthetic()
    expected = LinearProbe().fit(data.X, data.given_labels)
    found = LinearProbe().fit(Tensor(data.X), data.given_labels)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_text_in_a_list_or_a_frame_is_refused_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"w": ["a", "b"], "n": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"X holds text .*: pass real numbers"):
        LinearProbe().fit([["a", 1.0], ["b", 2.0]], [0, 1])
    with pytest.raises(ValueError, match="X is not numeric in the column 'w': pass numbers"):
        LinearProbe().fit(frame, [0, 1])


def test_float64_rows_far_from_zero_are_centred_before_they_are_rounded():
    data = problems.synthetic()
    X = data.X.astype(np.float64)
    near = LinearProbe(dtype="float32").fit(X, data.given_labels)
    far = LinearProbe(dtype="float32").fit(X + 1e6, data.given_labels)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-3 * abs(near.coef_).max())


def test_one_absurd_row_does_not_hide_the_others():
    data = problems.synthetic()
    X = data.X.astype(np.float64)
    X[0] = 1e12
    with pytest.warns(UserWarning, match=r"X has row 0 of norm .*Correct the row, or leave it out"):
        probe = PartialLabelProbe().fit(X, data.given_labels)
    outputs = probe.predict_proba(X[1:])
    assert np.ptp(outputs, axis=0).max() > 0


def n_blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_the_limit_on_blas_does_not_outlive_the_thread_that_set_it():
    before = n_blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread(), one_blas_thread():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with one_blas_thread():
        with one_blas_thread():
            thread.start()
            entered.wait()
        assert set(n_blas_threads()) == {1}
    assert n_blas_threads() == before
    leave.set()
    thread.join()
    assert n_blas_threads() == before
