"""Nobody is judged by a fit that has seen the label, and everybody is judged."""

import numpy as np
import pytest

import problems
from twohot import AutoProbe, DiscriminantProbe
from twohot._checks.labels import code_labels
from twohot.select import grid, unseen
from twohot.select.auto_probe import search_probe
from twohot.select.split_fits import SplitFits
from twohot.select.unseen import unseen_density, unseen_logits

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels


def searched(labels):
    return search_probe(AutoProbe(n_jobs=1, normalize=True), X, code_labels(labels))[1].search


@pytest.fixture(scope="module")
def search():
    return searched(Y)


def test_labels_of_a_fold_do_not_change_what_is_said_of_it(search, monkeypatch):
    folds, others = unseen._folds(search, 0)
    assert others.size == 0
    held_out = folds[0][1]
    changed = Y.copy()
    changed[held_out] = (Y[held_out] + 1) % 5
    other = searched(changed)
    monkeypatch.setattr(unseen, "_folds", lambda *_: (folds, others))
    for recipe, trial in search.trials.items():
        if recipe not in other.trials or recipe.n_rounds > 2:
            continue
        found, again = unseen_logits(search, trial), unseen_logits(other, other.trials[recipe])
        np.testing.assert_array_equal(found[held_out], again[held_out])
        assert not np.array_equal(found, again)


def test_rows_beyond_those_drawn_are_judged_too(search, monkeypatch):
    monkeypatch.setattr("twohot.select.unseen.SEARCH_ROWS", 200)
    folds, others = unseen._folds(search, 0)
    assert len(others) == len(X) - 200
    assert not np.intersect1d(others, np.concatenate([rows for rows, _ in folds])).size
    logits = unseen_logits(search, search.best())
    assert logits.shape == (len(X), 5)
    assert logits.dtype == np.float32
    predicted = logits.argmax(axis=1)
    for rows in (others, np.setdiff1d(np.arange(len(X)), others)):
        assert np.mean(predicted[rows] == DATA.true_labels[rows]) > 0.6


def test_a_robust_probe_is_fitted_again_without_the_penalties_on_its_way(search, monkeypatch):
    fitted, fit = [], SplitFits.fit

    def noted(self, candidate, **how):
        fitted.append((candidate.recipe, how))
        return fit(self, candidate, **how)

    monkeypatch.setattr(SplitFits, "fit", noted)
    first = grid.FIRST_ROBUST
    search.attempt(grid.weaker(first, 64))
    half = grid.robust_round(grid.weaker(first, 64))
    chosen = search.attempt(half)
    fitted.clear()
    unseen_logits(search, chosen)
    recipes = [recipe for recipe, _ in fitted]
    assert recipes == [grid.TEACHER_30.recipe, *half.recipe.rounds]
    # The teacher is a start, and no more.
    assert {how["tol"] for _, how in fitted} == {grid.coarse_tol(first.recipe, 5)}


@pytest.mark.parametrize("normalize", [True, False])
def test_a_discriminant_without_each_row_is_that_of_its_probe(normalize):
    unlike = X * np.linspace(1, 6, X.shape[1])  # so that the probe half-whitens them, too
    probe = AutoProbe(n_jobs=1, normalize=normalize)
    selection = search_probe(probe, unlike, code_labels(Y))[1]
    expected = DiscriminantProbe(normalize=normalize).fit_leave_one_out(unlike, Y)
    np.testing.assert_allclose(unseen_density(selection.search), expected, rtol=0, atol=1e-3)


def test_a_probe_says_what_the_fits_without_each_fold_do():
    probe = AutoProbe(n_jobs=1, normalize=True)
    logits = probe.fit_out_of_fold(X, Y)
    search = searched(Y)
    np.testing.assert_array_equal(logits, unseen_logits(search, search.best(), 0))
    assert np.array_equal(probe.coef_, AutoProbe(n_jobs=1, normalize=True).fit(X, Y).coef_)
