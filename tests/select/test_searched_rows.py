"""With thousands of classes a choice is made on rows of some; what is chosen knows all of them."""

import dask.array as da
import numpy as np
import pytest

import problems
from twohot import AutoProbe, forecast
from twohot._checks.labels import code_labels
from twohot.select import sampling
from twohot.select import shares as shares_module
from twohot.select.auto_probe import search_probe
from twohot.select.sampling import choose_labels
from twohot.select.searched_rows import searched_rows

DATA = problems.synthetic(n_classes=12, n_per_class=80)
LABELS = code_labels(DATA.given_labels)


@pytest.fixture
def few_cells(monkeypatch):
    """Let four classes be too many to be looked at together."""
    monkeypatch.setattr(sampling, "SPLIT_ROWS", 100)
    monkeypatch.setattr(sampling, "CHOICE_CELLS", 1_500)


@pytest.mark.parametrize(
    ("size", "n_classes", "n_chosen"),
    [(500, 100, 100), (5, 500, 500), (5, 10_000, 500), (1280, 1000, 200), (50, 1000, 316)],
)
def test_rows_times_classes_are_bounded(size, n_classes, n_chosen):
    chosen = choose_labels(np.full(n_classes, size), np.random.default_rng(0))
    assert len(chosen) == n_chosen
    n_rows = min(size * n_chosen, sampling.CHOICE_ROWS)
    assert n_chosen == n_classes or n_rows * n_chosen <= sampling.CHOICE_CELLS


@pytest.mark.usefixtures("few_cells")
def test_classes_of_one_row_are_not_looked_at():
    sizes = np.array([1, 9, 1, 90, 90, 90, 90, 1])
    chosen = choose_labels(sizes, np.random.default_rng(0))
    assert set(chosen) <= {1, 3, 4, 5, 6}
    assert len(choose_labels(np.ones(1000, dtype=int), np.random.default_rng(0))) == 1000


@pytest.mark.usefixtures("few_cells")
def test_rows_of_some_classes_alone_are_looked_at():
    weights = np.linspace(1, 2, len(DATA.X))
    found = searched_rows(LABELS, weights, None, 0)
    assert 2 <= len(found.classes) < 12
    np.testing.assert_array_equal(found.index, np.flatnonzero(np.isin(LABELS.codes, found.classes)))
    np.testing.assert_array_equal(found.classes[found.codes], LABELS.codes[found.index])
    np.testing.assert_array_equal(found.weights, weights[found.index])


@pytest.mark.usefixtures("few_cells")
@pytest.mark.parametrize("in_chunks", [False, True])
def test_classes_without_weight_are_not_looked_at(in_chunks):
    weights = np.isin(LABELS.codes, [1, 4, 7]).astype(float)
    weights[np.flatnonzero(LABELS.codes == 4)[:-1]] = 0  # all but one row
    if in_chunks:
        X = da.from_array(DATA.X, chunks=(170, -1))
        y, w = (da.from_array(each, chunks=170) for each in (DATA.given_labels, weights))
        probe = AutoProbe(n_jobs=1).fit(X, y, sample_weight=w)
    else:
        found = searched_rows(LABELS, weights, None, 0)
        np.testing.assert_array_equal(found.classes, [1, 7])
        assert found.weights.all()
        probe = AutoProbe(n_jobs=1).fit(DATA.X, DATA.given_labels, sample_weight=weights)
    assert probe.coef_.shape == (12, DATA.X.shape[1])


@pytest.mark.usefixtures("few_cells")
def test_rows_that_a_user_names_are_all_looked_at():
    found = searched_rows(LABELS, None, 5, 0)
    assert found.index is None
    assert len(found.classes) == 12


@pytest.mark.usefixtures("few_cells")
def test_what_is_chosen_on_some_classes_is_fitted_on_all():
    probe = AutoProbe(n_jobs=1).fit(DATA.X, DATA.given_labels)
    assert probe.coef_.shape == (12, DATA.X.shape[1])
    assert probe.choice_.n_held_out < len(DATA.X) / 2
    assert all(each.converged for each in probe.rounds_)
    alone = AutoProbe(n_jobs=1, cv=5).fit(DATA.X, DATA.given_labels)
    scores = [each.score(DATA.X_test, DATA.test_labels) for each in (probe, alone)]
    assert scores[0] > scores[1] - 0.1
    assert scores[0] > 0.5


@pytest.mark.usefixtures("few_cells")
def test_rows_in_chunks_are_of_some_classes_too():
    X, y = da.from_array(DATA.X, chunks=(170, -1)), da.from_array(DATA.given_labels, chunks=170)
    probe = AutoProbe(n_jobs=1).fit(X, y)
    assert probe.coef_.shape == (12, DATA.X.shape[1])
    assert probe.choice_.n_held_out < len(DATA.X) / 2
    assert probe.score(DATA.X_test, DATA.test_labels) > 0.5


@pytest.mark.usefixtures("few_cells")
def test_a_forecast_speaks_of_the_classes_by_their_own_numbers():
    _, found = search_probe(AutoProbe(n_jobs=1), DATA.X, LABELS)
    classes = found.search.classes
    assert len(classes) < 12
    comparison = forecast(DATA.X, DATA.given_labels).comparison
    assert set(comparison.given) <= set(classes)
    for predicted in comparison.predicted.values():
        assert set(predicted) <= set(classes)


def test_where_a_fit_is_dear_a_discriminant_that_is_as_good_is_taken_alone(monkeypatch):
    few_wrong = problems.synthetic(noise_rate=0.1)

    def members():
        labels = code_labels(few_wrong.given_labels)
        _, found = search_probe(AutoProbe(n_jobs=1), few_wrong.X, labels)
        return [each.recipe.method for each in found.members]

    cheap = members()
    monkeypatch.setattr(shares_module, "DEAR_CELLS", 0)
    dear = members()
    assert "discriminant" in cheap
    assert len(cheap) == 2
    assert dear == ["discriminant"]
