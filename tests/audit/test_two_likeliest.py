"""Candidates are those of a slow plain twin, and a budget buys the most doubtful rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twohot.audit.flags import flag_for_budget
from twohot.audit.two_likeliest import join, two_likeliest
from twohot.audit.verdict import count_transitions

# Few distinct values, so that ties and zeros are frequent.
SCORES = st.integers(0, 4)


@st.composite
def outputs(draw):
    """Draw rows of probabilities with ties and zeros."""
    n_rows, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    rows = st.lists(SCORES, min_size=n_classes, max_size=n_classes).filter(any)
    scores = np.array(draw(st.lists(rows, min_size=n_rows, max_size=n_rows)), dtype=float)
    return scores / scores.sum(axis=1, keepdims=True)


@given(outputs(), st.sampled_from([np.float32, np.float64]))
def test_candidates_are_those_of_a_plain_twin(probabilities, dtype):
    probabilities = probabilities.astype(dtype)
    with np.errstate(divide="ignore"):
        scores = np.log(probabilities)
    before = scores.copy()
    found = two_likeliest(scores, probabilities)
    np.testing.assert_array_equal(scores, before)
    for row, p in enumerate(probabilities.tolist()):
        # The larger first, of equal ones the lower class.
        order = sorted(range(len(p)), key=lambda k: (-p[k], k))
        assert [found.first[row], found.second[row]] == order[:2]
        assert [found.confidence[row], found.runner_up[row]] == [p[k] for k in order[:2]]


@given(outputs(), st.integers(1, 5))
def test_blocks_are_joined_in_order(probabilities, size):
    whole = two_likeliest(probabilities, probabilities)
    pieces = [probabilities[first : first + size] for first in range(0, len(probabilities), size)]
    joined = join([two_likeliest(piece, piece) for piece in pieces])
    for name, column in vars(whole).items():
        np.testing.assert_array_equal(getattr(joined, name), column)


@given(
    st.lists(st.tuples(st.floats(0, 1) | st.just(np.nan), st.booleans()), min_size=1, max_size=40),
    st.integers(0, 50),
)
def test_a_budget_buys_the_most_doubtful_of_those_that_may_be_flagged(rows, budget):
    doubt = np.array([value for value, _ in rows])
    eligible = np.array([chosen for _, chosen in rows]) & ~np.isnan(doubt)
    flagged = flag_for_budget(doubt, eligible, budget)
    assert flagged.sum() == min(budget, eligible.sum())
    assert not flagged[~eligible].any()
    left = doubt[eligible & ~flagged]
    if flagged.any() and left.size:
        assert doubt[flagged].min() >= left.max()


def test_transitions_are_shares_of_each_true_class():
    found = count_transitions(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 3)
    np.testing.assert_allclose(found, [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1]])
