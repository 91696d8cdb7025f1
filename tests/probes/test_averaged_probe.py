"""An average of probes is the average of their logits, each at its temperature."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import problems
from stored import frame
from twohot import AveragedProbe, DiscriminantProbe, DistilledProbe, LinearProbe, load

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels

PROBES = (LinearProbe(ridge=4, fit_intercept=True), DistilledProbe(), DiscriminantProbe())


@pytest.fixture(scope="module")
def average():
    return AveragedProbe(probes=PROBES, temperatures=(1, 0.5, 2)).fit(X, Y)


def test_logits_are_averages_of_those_of_the_probes(average):
    expected = np.zeros((len(DATA.X_test), 5))
    for probe, temperature in zip(PROBES, (1, 0.5, 2), strict=True):
        again = type(probe)(**probe.get_params()).fit(X, Y)
        expected += again.decision_function(DATA.X_test) / temperature / 3
    np.testing.assert_allclose(average.decision_function(DATA.X_test), expected, atol=1e-12)


def test_outputs_are_geometric_means_of_those_of_the_probes():
    average = AveragedProbe(probes=PROBES).fit(X, Y)
    outputs = [probe.predict_proba(DATA.X_test) for probe in average.probes_]
    expected = np.prod(outputs, axis=0) ** (1 / 3)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(average.predict_proba(DATA.X_test), expected, atol=1e-12)


def test_the_record_is_that_of_all_probes(average):
    (entry,) = average.rounds_
    steps = [step for probe in average.probes_ for step in probe.rounds_]
    assert len(steps) == 5
    assert entry.n_passes == sum(step.n_passes for step in steps)
    assert average.n_iter_ == sum(step.n_iter for step in steps)
    ends = [probe.rounds_[-1] for probe in average.probes_]
    assert entry.gradient_norm == max(end.gradient_norm for end in ends)
    assert entry.converged


def test_given_probes_are_not_fitted(average):
    assert average.probes == PROBES
    for probe in PROBES:
        with pytest.raises(NotFittedError):
            probe.predict(X)


def test_one_probe_is_its_own_average():
    average = AveragedProbe(probes=[LinearProbe()]).fit(X, Y)
    np.testing.assert_array_equal(average.coef_, LinearProbe().fit(X, Y).coef_)


def test_weights_and_names_reach_every_probe():
    v = problems.random_weights(len(X))
    average = AveragedProbe(probes=[LinearProbe()]).fit(frame(X), Y, v)
    np.testing.assert_allclose(average.coef_, LinearProbe().fit(X, Y, v).coef_, atol=1e-12)
    assert average.probes_[0].feature_names_in_.tolist() == average.feature_names_in_.tolist()


def test_files_hold_what_predicts_and_what_was_asked_for(tmp_path):
    probes = (*PROBES, LinearProbe(loss="gce", start=np.ones((5, 12)), dtype=np.float64))
    average = AveragedProbe(probes=probes, temperatures=(1, 2, 3, 4), n_jobs=1).fit(X, Y)
    average.save(tmp_path / "average.safetensors")
    again = load(tmp_path / "average.safetensors")
    assert type(again) is AveragedProbe
    np.testing.assert_array_equal(again.predict_proba(X), average.predict_proba(X))
    assert again.n_jobs == 1
    assert not hasattr(again, "probes_")
    np.testing.assert_array_equal(again.fit(X, Y).coef_, average.coef_)


def test_a_file_with_a_probe_that_is_not_known(tmp_path):
    path = tmp_path / "average.safetensors"
    AveragedProbe(probes=[LinearProbe()]).fit(X, Y).save(path)
    path.write_bytes(path.read_bytes().replace(b"LinearProbe", b"FutureProbe"))
    with pytest.raises(ValueError, match=r"part of it is missing or wrong .*FutureProbe"):
        load(path)
