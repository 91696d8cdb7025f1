"""Class correlations against a plain Gram matrix, and outputs on a few classes."""

import numpy as np
import pytest

from small_data import small_data
from twohot import DistilledProbe
from twohot.base import ArgumentError
from twohot_paper.runs import as_json, from_json
from twohot_paper.structure import (
    EvolutionResult,
    EvolutionRun,
    StructureRun,
    measure_evolution,
    measure_structure,
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    data, paths = small_data(tmp_path_factory.mktemp("features"))
    return data, measure_structure(StructureRun(data.key), paths), paths


@pytest.fixture(scope="module")
def gram(measured):
    data, _, _ = measured
    rows = data.X - data.X.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def pairs_by_kind(data, superclass, gram):
    first, second = np.triu_indices(len(gram), k=1)
    same_class = data.labels[first] == data.labels[second]
    groups = np.array(superclass)[data.labels]
    same_superclass = groups[first] == groups[second]
    pairs = gram[first, second]
    return [pairs[same_class], pairs[same_superclass & ~same_class], pairs[~same_superclass]]


def test_kinds_of_pairs_match_the_gram_matrix(measured, gram):
    data, found, _ = measured
    assert found.n_superclasses == 2
    expected = pairs_by_kind(data, found.superclass, gram)
    for kind, pairs in zip(found.kinds, expected, strict=True):
        assert kind.n_pairs == len(pairs)
        np.testing.assert_allclose((kind.mean, kind.std), (pairs.mean(), pairs.std()), atol=1e-9)


def test_class_means_match_the_gram_matrix(measured, gram):
    data, found, _ = measured
    blocks = [
        [gram[np.ix_(data.labels == k, data.labels == j)].mean() for j in (0, 1)] for k in (2, 3)
    ]
    np.testing.assert_allclose(np.array(found.means)[2:4, :2], blocks, atol=1e-4)


def test_evolution_matches_a_probe_on_the_chosen_rows(measured):
    data, _, paths = measured
    run = EvolutionRun(data.key, ("pike", "ash", "elm"), 0.1, 0.4, 3, 2)
    found = measure_evolution(run, paths)
    rows = np.flatnonzero(np.isin(data.labels, [0, 1, 4]))
    # Labels are numbered as the run names the classes.
    assert list(found.true_labels) == [{4: 0, 0: 1, 1: 2}[label] for label in data.labels[rows]]
    given = np.array(found.given_labels)
    assert 0 < np.mean(given != found.true_labels) < 0.8
    probe = DistilledProbe(n_rounds=2, l2=0.1, center=False, normalize=False, tol=1e-8)
    probe.fit(data.X[rows], given)
    expected = list(probe.staged_predict_proba(data.X[rows]))
    np.testing.assert_allclose(found.outputs, expected, atol=2e-4)
    assert found.converged == (True, True)
    assert from_json(EvolutionResult, as_json(found)) == found


def test_rejects_unknown_classes(measured):
    data, _, paths = measured
    with pytest.raises(ArgumentError, match=r"oak.*are not classes of flowers102_small"):
        measure_evolution(EvolutionRun(data.key, ("ash", "oak"), 0.1, 0.4, 0, 1), paths)
