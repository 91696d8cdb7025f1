"""Targets of a round: the laws of the candidates, and targets by block against whole arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import problems
import twin
from twohot import top_candidates
from twohot.distill.targets import StoredTargets, blend, candidates, keep, one_hot
from twohot.rows import preparation
from twohot.rows.preparation import FeatureSet, fit_preparation


@st.composite
def outputs_and_counts(draw, distinct=False):
    """Rows of scores, and how many candidates to keep. Few values, so that ties are common."""
    n_samples, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 7))
    if distinct:
        orders = st.permutations(range(n_classes))
        rows = [draw(orders) for _ in range(n_samples)]
        scores = (np.array(rows) + 1) / n_classes
    else:
        scores = draw(arrays(np.float64, (n_samples, n_classes), elements=st.integers(0, 4)))
    return scores, draw(st.integers(1, n_classes))


@given(outputs_and_counts())
def test_rows_sum_to_one_and_no_weight_exceeds_its_share(case):
    scores, n_candidates = case
    weights = top_candidates(scores, n_candidates).toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    assert weights.min() >= 0
    assert weights.max() <= (1 + 1e-12) / n_candidates


@given(outputs_and_counts())
def test_larger_scores_weigh_no_less_and_equal_ones_the_same(case):
    scores, n_candidates = case
    for row, weights in zip(scores, top_candidates(scores, n_candidates).toarray(), strict=True):
        for k in range(len(row)):
            for j in range(len(row)):
                if row[k] > row[j]:
                    assert weights[k] >= weights[j]
                    # Between a class that is out and one that is full, there is nothing.
                    assert weights[j] == 0 or weights[k] == pytest.approx(1 / n_candidates)
                elif row[k] == row[j]:
                    assert weights[k] == weights[j]


@given(outputs_and_counts(distinct=True))
def test_of_distinct_scores_the_largest_are_kept(case):
    scores, n_candidates = case
    weights = top_candidates(scores, n_candidates).toarray()
    for row, found in zip(scores, weights, strict=True):
        kept = set(sorted(range(len(row)), key=lambda k: -row[k])[:n_candidates])
        assert set(np.flatnonzero(found)) == kept
        np.testing.assert_allclose(found[list(kept)], 1 / n_candidates)


@given(outputs_and_counts(), st.randoms(use_true_random=False))
def test_the_order_of_the_classes_does_not_matter(case, random):
    scores, n_candidates = case
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    np.testing.assert_array_equal(
        top_candidates(scores[:, order], n_candidates).toarray(),
        top_candidates(scores, n_candidates).toarray()[:, order],
    )


@given(outputs_and_counts(distinct=True))
def test_one_candidate_is_the_most_likely_class(case):
    scores, _ = case
    weights = top_candidates(scores, 1).toarray()
    np.testing.assert_array_equal(weights, np.eye(scores.shape[1])[scores.argmax(axis=1)])


@given(outputs_and_counts())
def test_all_classes_as_candidates_are_uniform(case):
    scores, _ = case
    n_classes = scores.shape[1]
    weights = top_candidates(scores, n_classes).toarray()
    np.testing.assert_allclose(weights, 1 / n_classes)


@given(outputs_and_counts(), st.floats(1e-6, 1e6))
@settings(max_examples=50)
def test_the_scale_of_the_scores_does_not_matter(case, scale):
    scores, n_candidates = case
    np.testing.assert_array_equal(
        top_candidates(scores * scale, n_candidates).toarray(),
        top_candidates(scores, n_candidates).toarray(),
    )


def test_ties_at_the_boundary_share_what_is_left():
    outputs = [[0.4, 0.2, 0.2, 0.2], [0.25, 0.25, 0.25, 0.25], [0.1, 0.3, 0.3, 0.3]]
    expected = [[1 / 2, 1 / 6, 1 / 6, 1 / 6], [1 / 4] * 4, [0, 1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(top_candidates(outputs).toarray(), expected)


@pytest.mark.parametrize(("gap", "shared"), [(1e-7, True), (0.9e-6, True), (1.1e-6, False)])
def test_ties_are_equal_within_a_millionth(gap, shared):
    weights = top_candidates([[0.6, 0.3, 0.3 * (1 - gap)], [0.6, 0.3, 0.1]]).toarray()
    np.testing.assert_allclose(weights[0], [0.5, 0.25, 0.25] if shared else [0.5, 0.5, 0])
    np.testing.assert_allclose(weights[1], [0.5, 0.5, 0])


def test_logits_serve_as_well_as_probabilities():
    logits = np.random.default_rng(0).normal(size=(20, 5))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(
        top_candidates(logits).toarray(), top_candidates(probabilities).toarray()
    )


def test_candidates_are_kept_sparse():
    found = top_candidates(np.random.default_rng(0).random((10, 1000)))
    assert isinstance(found, sp.csr_array)
    assert found.nnz == 20


@pytest.mark.parametrize(
    "outputs",
    [[0.5, 0.5], [[np.nan, 1.0]], [[np.inf, 1.0]], [["a", "b"]], [[1j, 1.0]]],
    ids=["one row", "nan", "infinity", "strings", "complex"],
)
def test_outputs_must_be_rows_of_finite_scores(outputs):
    with pytest.raises(ValueError, match=r"outputs has shape.*pass one row of finite scores"):
        top_candidates(outputs)


@pytest.mark.parametrize("n_candidates", [0, -1, 1.5, True])
def test_the_number_of_candidates_is_a_count(n_candidates):
    with pytest.raises(ValueError, match=r"n_candidates=.*an integer of at least 1"):
        top_candidates([[0.5, 0.3, 0.2]], n_candidates)


def test_more_candidates_than_classes():
    with pytest.raises(ValueError, match="n_candidates=4 is more than the 3 classes: pass at most"):
        top_candidates([[0.5, 0.3, 0.2]], 4)


# By block ----------------------------------------------------------------------------------------


@pytest.fixture
def features(monkeypatch):
    monkeypatch.setattr(preparation, "BLOCK_ENTRIES", 1)
    X = problems.synthetic().X
    fitted = fit_preparation(X, center=True, normalize=True, weights=None)
    return FeatureSet(X, fitted, dtype=np.dtype(np.float64), n_classes=5)


def whole(targets, features):
    blocks = [targets.of(features.block(i)) for i in range(features.n_blocks)]
    return np.vstack([b.toarray() if sp.issparse(b) else b for b in blocks])


def test_given_labels_become_rows_of_the_identity(features):
    labels = problems.synthetic().given_labels
    np.testing.assert_array_equal(whole(one_hot(labels, 5), features), np.eye(5)[labels])


def test_outputs_are_kept_as_they_are(features):
    coef = np.random.default_rng(0).normal(size=(5, 12))
    expected = twin.outputs(twin.prepare(features.X), coef)
    targets = keep(features, coef)
    np.testing.assert_allclose(whole(targets, features), expected, atol=1e-14)
    # A block that was asked for stays as it is when the next is.
    first = targets.of(features.block(0))
    targets.of(features.block(1))
    np.testing.assert_allclose(first, expected[:64], atol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_candidates", [1, 2, 3])
def test_candidates_of_a_round_are_those_of_its_outputs(features, n_candidates, n_jobs):
    coef = np.random.default_rng(0).normal(size=(5, 12))
    outputs = twin.outputs(twin.prepare(features.X), coef)
    found = candidates(features, coef, n_candidates, n_jobs)
    expected = top_candidates(outputs, n_candidates).toarray()
    np.testing.assert_allclose(whole(found, features), expected, rtol=1e-7)


def test_targets_are_blended_by_hand():
    made = StoredTargets("candidates", sp.csr_array([[0.5, 0.5, 0], [0, 0, 1.0]]), 0.5)
    given = one_hot(np.array([2, 2]), 3)
    found = blend(made, given, 0.25)
    expected = [[0.375, 0.375, 0.25], [0, 0, 1]]
    np.testing.assert_array_equal(found.matrix.toarray(), expected)
    assert found.matrix.dtype == np.float32
    assert (found.name, found.making_passes) == ("candidates", 0.5)
    assert blend(made, given, 1.0).matrix.nnz == 2  # no zeros are stored
