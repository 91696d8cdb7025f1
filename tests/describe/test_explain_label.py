"""Explanations are rows of the theory's averaging matrix, never formed whole."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from twohot.describe.explanation import explain_label
from twohot.theory import LabelAveraging


def problem(n_rows, n_features, n_classes=3, seed=0):
    generator = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_classes
    X = generator.standard_normal((n_rows, n_features)) + 2.0
    X[:, 0] += labels
    return X, labels


def prepared(X, labelled=slice(None)):
    centred = X - X[labelled].mean(axis=0)
    return centred / np.linalg.norm(centred, axis=1, keepdims=True)


def averaging_of(X):
    rows = prepared(X)
    return LabelAveraging.from_gram(rows @ rows.T)


SHAPES = [(40, 5), (12, 30)]  # more rows than features, and fewer


@pytest.mark.parametrize(("n_rows", "n_features"), SHAPES)
@pytest.mark.parametrize("n_rounds", [1, 2, 4])
@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_weights_are_rows_of_the_averaging_matrix(n_rows, n_features, n_rounds, ridge):
    X, labels = problem(n_rows, n_features)
    matrix = averaging_of(X).matrix(ridge=ridge, n_rounds=n_rounds)
    found = explain_label(X, labels, [3, 0, 7], ridge=ridge, n_rounds=n_rounds, n_neighbours=n_rows)
    assert [each.row for each in found] == [3, 0, 7]
    for each in found:
        assert each.own_vote == pytest.approx(matrix[each.row, each.row], abs=1e-10)
        rows, weights, given = zip(
            *((other.row, other.weight, other.label) for other in each.neighbours), strict=True
        )
        assert sorted(rows) == [row for row in range(n_rows) if row != each.row]
        np.testing.assert_allclose(weights, matrix[each.row, rows], atol=1e-10)
        assert list(given) == labels[list(rows)].tolist()
        assert list(weights) == sorted(weights, reverse=True)


@given(
    shape=st.sampled_from(SHAPES),
    seed=st.integers(0, 10_000),
    ridge=st.floats(0.01, 100.0),
    n_rounds=st.integers(1, 4),
)
def test_votes_are_the_outputs_of_the_theory(shape, seed, ridge, n_rounds):
    X, labels = problem(*shape, seed=seed)
    l2 = ridge / (3 * len(X))
    expected = averaging_of(X).outputs(np.eye(3)[labels], l2=l2, n_rounds=n_rounds)
    found = explain_label(X, labels, np.arange(len(X)), ridge=ridge, n_rounds=n_rounds)
    np.testing.assert_allclose([each.outputs for each in found], expected, atol=1e-9)


def test_a_ridge_means_the_same_for_features_of_any_scale():
    X, labels = problem(40, 5)
    one, other = (
        explain_label(scale * X, labels, [5], normalize=False)[0] for scale in (1.0, 30.0)
    )
    np.testing.assert_allclose(one.votes, other.votes, rtol=1e-9)
    centred = X - X.mean(axis=0)
    ridge = 10 * (centred**2).sum(axis=1).mean()
    matrix = LabelAveraging.from_gram(centred @ centred.T).matrix(ridge=ridge, n_rounds=1)
    np.testing.assert_allclose(one.own_vote, matrix[5, 5], rtol=1e-9)


def test_a_copy_of_the_row_has_the_largest_weight():
    X, labels = problem(60, 8)
    X[41] = X[17]
    (found,) = explain_label(X, labels, [17])
    assert found.neighbours[0].row == 41
    assert found.neighbours[0].weight == pytest.approx(found.own_vote, abs=1e-12)


def test_a_planted_wrong_label_is_outvoted():
    generator = np.random.default_rng(0)
    centres = 5 * np.eye(3, 6)
    labels = np.repeat([0, 1, 2], 20)
    X = centres[labels] + generator.standard_normal((60, 6))
    names = np.array(["cat", "dog", "eel"])[labels]
    names[25] = "eel"
    (found,) = explain_label(X, names, [25])
    assert (found.given_label, found.winner) == ("eel", "dog")
    assert {each.label for each in found.neighbours} == {"dog"}
    text = str(found)
    assert f"label 'dog' got votes of {found.votes[1]:.3f} from 19 rows" in text
    assert f"the given label 'eel' got {found.votes[2]:.3f} from 21" in text
    assert f"itself gave {found.own_vote:.3f} of it)" in text
    (right,) = explain_label(X, names, [24])
    assert "which is the given label" in str(right)


@pytest.mark.parametrize(("n_rows", "n_features"), SHAPES)
def test_rows_without_a_label_do_not_vote_and_can_be_asked_for(n_rows, n_features):
    X, labels = problem(n_rows, n_features)
    y = labels.astype(object)
    y[[2, 6]] = None, float("nan")
    labelled = np.delete(np.arange(n_rows), [2, 6])
    rows = prepared(X, labelled)
    targets = np.eye(3)[labels[labelled]]
    l2 = 10 / targets.size
    averaging = LabelAveraging.from_features(rows[labelled])
    seen, unseen = explain_label(X, y, [0, 6], n_neighbours=n_rows)
    expected = averaging.outputs(targets, l2=l2, n_rounds=1)[0]
    np.testing.assert_allclose(seen.outputs, expected, atol=1e-9)
    expected = averaging.unseen_outputs(rows[[6]], targets, l2=l2, n_rounds=1)[0]
    np.testing.assert_allclose(unseen.outputs, expected, atol=1e-9)
    assert unseen.given_label is None
    assert unseen.own_vote == 0
    assert "given label" not in str(unseen)
    assert {each.row for each in unseen.neighbours} == set(labelled.tolist())


def test_texts_that_mean_no_label_can_be_named():
    X, codes = problem(12, 4)
    y = np.array(["ant", "bee", "NA"])[codes]
    (found,) = explain_label(X, y, [2], missing=["NA"])
    assert (found.given_label, found.classes.tolist()) == (None, ["ant", "bee"])


def test_sparse_and_small_floats_are_taken():
    X, labels = problem(40, 5)
    small = X.astype(np.float16)
    same = (small.astype(np.float64), sp.csr_array(small.astype(np.float64)), small)
    dense, *others = (explain_label(rows, labels, [4])[0].votes for rows in same)
    for votes in others:
        np.testing.assert_allclose(votes, dense, rtol=1e-6)


def test_rows_that_are_all_the_same_have_no_votes():
    (found,) = explain_label(np.ones((6, 3)), [0, 1] * 3, [2])
    np.testing.assert_array_equal(found.votes, 0)
    assert explain_label(np.ones((6, 3)), [0, 1] * 3, []) == []
