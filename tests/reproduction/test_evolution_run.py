"""The outputs of four classes: those of the estimator, on the rows of these classes alone."""

import numpy as np
import pytest

from small_data import small_data
from twohot import DistilledProbe
from twohot.base.messages import ArgumentError
from twohot_paper.runs import as_json, from_json
from twohot_paper.structure import EvolutionResult, EvolutionRun, measure_evolution


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("features"))


def test_outputs_are_those_of_a_probe_on_the_chosen_rows(small):
    data, paths = small
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


def test_unknown_classes_are_named(small):
    data, paths = small
    with pytest.raises(ArgumentError, match=r"oak.*are not classes of flowers102_small"):
        measure_evolution(EvolutionRun(data.key, ("ash", "oak"), 0.1, 0.4, 0, 1), paths)
