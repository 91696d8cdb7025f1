"""Whether labels look wrong where classes meet."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import twohot
from twohot.select.boundary import SUREST, surest_weights, wrong_at_boundary
from twohot.select.scored import Scored


def scored(agrees, margin, weights, predicted=None):
    agrees = np.asarray(agrees, float)
    return Scored(
        **dict.fromkeys(("recipe", "calibration")),
        predicted=np.zeros(len(agrees), int) if predicted is None else predicted,
        agrees=agrees,
        margin=np.asarray(margin),
        agreement=float(np.average(agrees, weights=weights)),
        agreement_error=0.0,
        n_passes=0.0,
    )


def said(where_sure, elsewhere, predicted=None):
    """Of 1,000 rows the surest 200 agree with a share of their labels, the others with another."""
    agrees = np.zeros(1000)
    agrees[: round(200 * where_sure)] = 1
    agrees[200 : 200 + round(800 * elsewhere)] = 1
    margin, weights = np.repeat([5.0, 1.0], [200, 800]), np.ones(1000)
    return wrong_at_boundary(scored(agrees, margin, weights, predicted), weights)


@pytest.mark.parametrize(
    ("where_sure", "elsewhere", "expected"),
    [
        (0.85, 0.55, True),  # the surest are mostly right
        (0.95, 0.75, True),
        (0.965, 0.60, True),
        (0.975, 0.60, False),  # classes overlap, labels are right
        (0.70, 0.65, False),  # wrong everywhere alike
        (0.55, 0.20, False),  # and predicted badly
        (0.75, 0.45, True),  # of .49 that is wrong, .24 is left unexplained
        (0.69, 0.45, False),  # of .502, .192
        (0.90, 0.80, False),  # of .18, .08: more is asked where few are wrong
        (0.96, 0.87, True),
        (0.96, 0.89, False),  # hardly any is wrong
    ],
)
def test_labels_look_wrong_at_the_boundary(where_sure, elsewhere, expected):
    assert said(where_sure, elsewhere) is expected


def test_labels_of_some_classes_alone_may_be_wrong_at_random():
    # One half of the rows is predicted to be of a class whose labels are all right and sure, the
    # other of one whose labels are wrong as often where it is surest.
    rng = np.random.default_rng(0)
    predicted = np.repeat([0, 1], 1000)
    agrees = np.where(predicted == 0, rng.random(2000) < 0.96, rng.random(2000) < 0.5)
    margin = np.where(predicted == 0, 2.0, 1.0) + rng.random(2000)
    weights = np.ones(2000)
    assert not wrong_at_boundary(scored(agrees, margin, weights, predicted), weights)
    # Told apart by nothing but the classes that they are predicted to be of.
    assert wrong_at_boundary(scored(agrees, margin, weights), weights)


@given(st.integers(0, 2**32 - 1))
def test_a_row_of_weight_two_is_two_rows(seed):
    rng = np.random.default_rng(seed)
    weights, groups = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    margin = rng.permutation(30).astype(float)
    kept = surest_weights(margin, weights.astype(float), groups)
    repeated = np.repeat(np.arange(30), weights)
    alone = surest_weights(margin[repeated], np.ones(len(repeated)), groups[repeated])
    np.testing.assert_allclose(kept, np.bincount(repeated, alone, minlength=30), atol=1e-9)
    for group in range(3):
        here = groups == group
        assert kept[here].sum() == pytest.approx(SUREST * weights[here].sum())
        counted = here & (kept > 0)
        left_out = here & (kept == 0) & (weights > 0)
        if counted.any() and left_out.any():
            assert margin[counted].min() > margin[left_out].max()


@pytest.mark.parametrize("kind", ["boundary", "uniform"])
def test_three_are_averaged_where_noise_is_at_the_boundary(kind):
    X, y = load_digits(return_X_y=True)
    clean = twohot.LinearProbe(ridge=4, n_jobs=1).fit(X, y).predict_proba(X)
    rng = np.random.default_rng(0)
    own = clean[np.arange(len(y)), y]
    rate = 0.3 * (1.05 - own) / np.mean(1.05 - own) if kind == "boundary" else 0.3
    others = np.where(np.arange(10) == y[:, np.newaxis], 0, clean if kind == "boundary" else 1)
    others = others / others.sum(axis=1, keepdims=True)
    drawn = (others.cumsum(axis=1) > rng.random((len(y), 1))).argmax(axis=1)
    given = np.where(rng.random(len(y)) < np.minimum(rate, 0.95), drawn, y)
    chosen = twohot.AutoProbe(n_jobs=1, random_state=0).fit(X, given).choice_.chosen
    parts = [part.method for part in chosen.recipe.parts]
    assert (parts[-1] == "discriminant" and len(parts) == 3) is (kind == "boundary")
