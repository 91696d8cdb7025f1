"""Probabilities out of fold are those of probes fitted without the row."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from twohot import LinearProbe
from twohot.judge.folds import assign_folds, distance_from_mean
from twohot.judge.given import out_of_fold_probabilities

X, Y = (each[:200] for each in load_digits(n_class=4, return_X_y=True))


def test_each_row_is_predicted_by_a_held_out_probe():
    found = out_of_fold_probabilities(LinearProbe(ridge=4), X, Y, n_folds=3, random_state=1)
    fold = assign_folds(distance_from_mean(X, n_jobs=1), Y, 3, random_state=1)
    for number in range(3):
        alone = LinearProbe(ridge=4).fit(X[fold != number], Y[fold != number])
        held_out = fold == number
        np.testing.assert_array_equal(found[held_out], alone.predict_proba(X[held_out]))


def test_names_and_sparse_rows_change_nothing():
    expected = out_of_fold_probabilities(LinearProbe(), X, Y, random_state=0)
    names = np.array(["a", "b", "c", "d"])[Y]
    found = out_of_fold_probabilities(LinearProbe(), csr_array(X), names, random_state=0)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    order = np.random.default_rng(0).permutation(200)
    found = out_of_fold_probabilities(LinearProbe(), X[order], Y[order], random_state=0)
    np.testing.assert_allclose(found, expected[order], atol=1e-3)


def test_held_out_class_with_one_row_has_probability_zero():
    y = np.where(Y == 3, 2, Y)
    y[7] = 3
    found = out_of_fold_probabilities(LinearProbe(), X, y, random_state=0)
    assert found[7, 3] == 0
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_bad_input():
    with pytest.raises(ValueError, match="y has 199 labels and X has 200 rows"):
        out_of_fold_probabilities(LinearProbe(), X, Y[1:])
    with pytest.raises(ValueError, match="y has no label in 1 row"):
        out_of_fold_probabilities(LinearProbe(), X, [None, *Y[1:]])
    with pytest.raises(ValueError, match="n_folds=1 is not allowed: pass an integer of at least 2"):
        out_of_fold_probabilities(LinearProbe(), X, Y, n_folds=1)
    with pytest.raises(ValueError, match="n_folds=201 is more than 200 rows: pass at most 200"):
        out_of_fold_probabilities(LinearProbe(), X, Y, n_folds=201)
