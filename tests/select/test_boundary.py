"""Whether labels look wrong where classes meet."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import twohot
from twohot.select.boundary import wrong_at_boundary
from twohot.select.scored import Scored


def scored(agrees, margin, weights):
    about = dict.fromkeys(("recipe", "predicted", "calibration"))
    agreement = float(np.average(agrees, weights=weights))
    return Scored(
        **about,
        agrees=np.asarray(agrees, float),
        margin=np.asarray(margin),
        agreement=agreement,
        agreement_error=0.0,
        n_passes=0.0,
    )


def said(where_sure, elsewhere, weights=None):
    """Of 1,000 rows the surest 200 agree with a share of their labels, the others with another."""
    agrees = np.zeros(1000)
    agrees[: round(200 * where_sure)] = 1
    agrees[200 : 200 + round(800 * elsewhere)] = 1
    weights = np.ones(1000) if weights is None else weights
    return wrong_at_boundary(scored(agrees, np.repeat([5.0, 1.0], [200, 800]), weights), weights)


@pytest.mark.parametrize(
    ("where_sure", "elsewhere", "expected"),
    [
        (0.85, 0.55, True),  # the surest are mostly right
        (0.95, 0.75, True),
        (0.70, 0.65, False),  # wrong everywhere alike
        (0.62, 0.20, False),  # and predicted badly
        (1.00, 0.60, False),  # classes overlap, labels are right
        (0.95, 0.92, False),  # hardly any is wrong
    ],
)
def test_labels_look_wrong_at_the_boundary(where_sure, elsewhere, expected):
    assert said(where_sure, elsewhere) is expected


def test_rows_without_weight_have_no_say():
    weights = np.ones(1000)
    assert said(0.85, 0.55, weights)
    weights[170:200] = 0  # all that is wrong of the surest
    assert not said(0.85, 0.55, weights)


@pytest.mark.parametrize("kind", ["boundary", "uniform"])
def test_the_discriminant_counts_for_more_where_noise_is_at_the_boundary(kind):
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
