"""The outputs of four classes: those of the estimator, on the rows of these classes alone."""

import numpy as np
import pytest
from tiny_features import tiny_data

from twohot import DistilledProbe
from twohot._checks.messages import ArgumentError
from twohot.experiment.json_values import as_json, from_json
from twohot.reproduce.evolution_run import EvolutionResult, EvolutionRun, measure_evolution


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_data(tmp_path_factory.mktemp("features"))


def test_outputs_are_those_of_a_probe_on_the_chosen_rows(tiny):
    data, paths = tiny
    run = EvolutionRun(data.key, ("pike", "ash", "elm"), 0.1, 0.4, 3, 2)
    found = measure_evolution(run, paths)
    rows = np.flatnonzero(data.labels != 2)
    # Labels are numbered as the run names the classes.
    assert list(found.true_labels) == [{3: 0, 0: 1, 1: 2}[label] for label in data.labels[rows]]
    given = np.array(found.given_labels)
    assert 0 < np.mean(given != found.true_labels) < 0.8
    probe = DistilledProbe(n_rounds=2, l2=0.1, center=False, normalize=False, tol=1e-8)
    probe.fit(data.X[rows], given)
    expected = list(probe.staged_predict_proba(data.X[rows]))
    np.testing.assert_allclose(found.outputs, expected, atol=2e-4)
    assert found.converged == (True, True)
    assert from_json(EvolutionResult, as_json(found)) == found


def test_unknown_classes_are_named(tiny):
    data, paths = tiny
    with pytest.raises(ArgumentError, match=r"oak.*are not classes of flowers102_tiny"):
        measure_evolution(EvolutionRun(data.key, ("ash", "oak"), 0.1, 0.4, 0, 1), paths)
