"""Targets of a round: the laws of the candidates, and targets by block against whole arrays."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import problems
import twin
from prepared import blocks_of, prepared_rows
from twohot import top_candidates
from twohot.probes.rounds import (
    CANDIDATES,
    LABELS,
    OutputTargets,
    StoredTargets,
    tied_classes,
    top_targets,
)


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
def test_rows_sum_to_one_and_weights_increase_with_scores(case):
    scores, n_candidates = case
    found = top_candidates(scores, n_candidates).toarray()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert found.min() >= 0
    assert found.max() <= (1 + 1e-12) / n_candidates
    for row, weights in zip(scores, found, strict=True):
        for k, j in permutations(range(len(row)), 2):
            if row[k] > row[j]:
                assert weights[k] >= weights[j]
                # Only classes that tie at the boundary have a weight between 0 and 1/n.
                assert weights[j] == 0 or weights[k] == pytest.approx(1 / n_candidates)
            elif row[k] == row[j]:
                assert weights[k] == weights[j]


@given(outputs_and_counts(distinct=True))
def test_keeps_the_largest_of_distinct_scores(case):
    scores, n_candidates = case
    weights = top_candidates(scores, n_candidates).toarray()
    for row, found in zip(scores, weights, strict=True):
        kept = set(sorted(range(len(row)), key=lambda k: -row[k])[:n_candidates])
        assert set(np.flatnonzero(found)) == kept
        np.testing.assert_allclose(found[list(kept)], 1 / n_candidates)


@given(outputs_and_counts(), st.randoms(use_true_random=False), st.floats(1e-6, 1e6))
def test_order_of_classes_and_scale_of_scores_do_not_matter(case, random, scale):
    scores, n_candidates = case
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    found = top_candidates(scores[:, order] * scale, n_candidates).toarray()
    expected = top_candidates(scores, n_candidates).toarray()[:, order]
    np.testing.assert_array_equal(found, expected)


def test_ties_at_the_boundary_share_the_rest():
    outputs = [[0.4, 0.2, 0.2, 0.2], [0.25, 0.25, 0.25, 0.25], [0.1, 0.3, 0.3, 0.3]]
    expected = [[1 / 2, 1 / 6, 1 / 6, 1 / 6], [1 / 4] * 4, [0, 1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(top_candidates(outputs).toarray(), expected)


@pytest.mark.parametrize(("gap", "shared"), [(1e-7, True), (0.9e-6, True), (1.1e-6, False)])
def test_ties_are_equal_within_the_tolerance(gap, shared):
    weights = top_candidates([[0.6, 0.3, 0.3 * (1 - gap)], [0.6, 0.3, 0.1]]).toarray()
    np.testing.assert_allclose(weights[0], [0.5, 0.25, 0.25] if shared else [0.5, 0.5, 0])
    np.testing.assert_allclose(weights[1], [0.5, 0.5, 0])


def test_candidates_are_sparse():
    found = top_candidates(np.random.default_rng(0).random((10, 1000)))
    assert isinstance(found, sp.csr_array)
    assert found.nnz == 20


# By block ----------------------------------------------------------------------------------------


def make_rows(n_jobs=1):
    rows = prepared_rows(problems.synthetic().X, n_classes=5, n_jobs=n_jobs)
    rows.attach(LABELS, problems.synthetic().given_labels)
    return rows


def whole(targets, rows):
    found = [targets.of(block) for block in blocks_of(rows)]
    return np.vstack([each.toarray() if sp.issparse(each) else each for each in found])


def test_output_targets_equal_the_outputs():
    coef, rows = np.random.default_rng(0).normal(size=(5, 12)), make_rows()
    expected = twin.outputs(twin.prepare(rows.X), coef)
    targets = OutputTargets(coef)
    np.testing.assert_allclose(whole(targets, rows), expected, atol=1e-14)
    # The next block does not overwrite the targets of this one.
    first = targets.of(rows.block(0))
    targets.of(rows.block(1))
    np.testing.assert_allclose(first, expected[:64], atol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_candidates", [1, 2, 3])
def test_candidates_of_a_round_equal_those_of_its_outputs(n_candidates, n_jobs):
    coef, rows = np.random.default_rng(0).normal(size=(5, 12)), make_rows(n_jobs)
    outputs = twin.outputs(twin.prepare(rows.X), coef)
    rows.derive(CANDIDATES, top_targets, OutputTargets(coef), n_candidates)
    expected = top_candidates(outputs, n_candidates).toarray()
    np.testing.assert_allclose(whole(StoredTargets(CANDIDATES), rows), expected, rtol=1e-7)


@given(st.integers(0, 2**32 - 1), st.integers(3, 7))
@settings(max_examples=50)
def test_tied_classes_are_candidates_of_the_same_rows(seed, n_classes):
    generator = np.random.default_rng(seed)
    columns = generator.choice([0, 0.25, 0.5], (150, n_classes))
    # Copies of some columns, in any place.
    columns = columns[:, generator.integers(0, n_classes, n_classes)]
    rows = prepared_rows(generator.normal(size=(150, 3)), n_classes=n_classes)
    rows.attach(CANDIDATES, sp.csr_array(columns.astype(np.float32)))
    found = {frozenset(tied.tolist()) for tied in tied_classes(rows, StoredTargets(CANDIDATES))}
    groups = {}
    for label, column in enumerate(columns.T):
        groups.setdefault(column.tobytes(), []).append(label)
    assert found == {frozenset(group) for group in groups.values() if len(group) > 1}
