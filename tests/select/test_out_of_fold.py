"""Probabilities out of fold are those of probes fitted without the row."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from twohot import LinearProbe
from twohot.select.out_of_fold import out_of_fold_probabilities
from twohot.select.splits import choose_splits


def some_digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:200], y[:200]


def test_every_row_is_judged_by_a_probe_that_has_not_seen_it():
    X, y = some_digits()
    found = out_of_fold_probabilities(LinearProbe(ridge=4), X, y, n_folds=3, random_state=1)
    seen = np.zeros(len(y), dtype=int)
    for train, held_out in choose_splits(3, y, None, 1):
        assert not set(train) & set(held_out)
        alone = LinearProbe(ridge=4).fit(X[train], y[train])
        np.testing.assert_array_equal(found[held_out], alone.predict_proba(X[held_out]))
        seen[held_out] += 1
    assert (seen == 1).all()


def test_names_and_sparse_rows_change_nothing():
    X, y = some_digits()
    expected = out_of_fold_probabilities(LinearProbe(), X, y, random_state=0)
    names = np.array(["a", "b", "c", "d"])[y]
    found = out_of_fold_probabilities(LinearProbe(), csr_array(X), names, random_state=0)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_class_of_one_row_is_impossible_where_it_is_held_out():
    X, y = some_digits()
    y[y == 3] = 2
    y[7] = 3
    found = out_of_fold_probabilities(LinearProbe(), X, y, random_state=0)
    assert found[7, 3] == 0
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_bad_input():
    X, y = some_digits()
    with pytest.raises(ValueError, match="y has 199 labels and X has 200 rows"):
        out_of_fold_probabilities(LinearProbe(), X, y[1:])
    with pytest.raises(ValueError, match="y has no label in 1 row"):
        out_of_fold_probabilities(LinearProbe(), X, [None, *y[1:]])
    with pytest.raises(ValueError, match="n_folds=1 is not allowed: pass an integer of at least 2"):
        out_of_fold_probabilities(LinearProbe(), X, y, n_folds=1)
    with pytest.raises(ValueError, match="n_folds=201 is more than 200 rows: pass at most 200"):
        out_of_fold_probabilities(LinearProbe(), X, y, n_folds=201)
