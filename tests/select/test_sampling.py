"""A sample of rows has every label, each in its share."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twohot.rows.stratified import FEWEST, shares_of_labels
from twohot.select.sampling import draw_rows

sizes_of_labels = st.lists(st.integers(0, 500), min_size=1, max_size=12).map(np.array)


@given(sizes_of_labels, st.integers(1, 800))
def test_no_label_is_left_without_and_each_has_its_share(sizes, n_rows):
    shares = shares_of_labels(sizes, n_rows)
    least = np.minimum(sizes, FEWEST)
    assert np.all((shares >= least) & (shares <= sizes))
    assert shares.sum() == min(sizes.sum(), max(n_rows, least.sum()))
    # In proportion, up to what the least has taken and rounding.
    expected = sizes * n_rows / max(1, sizes.sum())
    assert np.all(shares <= expected + FEWEST + 1)


def test_a_rare_label_is_in_every_sample():
    codes = np.zeros(5000, dtype=int)
    codes[[17, 4000]] = 2
    codes[::2] = np.where(codes[::2] == 2, 2, 1)
    counted = np.flatnonzero(np.arange(5000) != 3)
    for seed in range(5):
        drawn = draw_rows(counted, codes, 50, np.random.default_rng(seed))
        assert len(set(drawn.tolist())) == 50
        assert {17, 4000} <= set(drawn.tolist())
        assert 3 not in drawn
        assert abs(np.mean(codes[drawn] == 1) - 0.5) < 0.05


def test_few_rows_are_all_taken():
    drawn = draw_rows(np.arange(20), np.zeros(20, dtype=int), 20, np.random.default_rng(0))
    assert sorted(drawn.tolist()) == list(range(20))
    expected = np.random.default_rng(0).permutation(20)  # as ever, so that no choice has moved
    assert drawn.tolist() == expected.tolist()
