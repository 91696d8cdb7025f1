"""The paper's models against the estimators, and their scores by hand."""

from dataclasses import replace

import numpy as np
import pytest

from small_data import write_small_data
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe
from twohot_paper.data_set import read_data_set
from twohot_paper.probe_run import (
    FAMILIES,
    ROUNDS,
    TWO_HOT,
    NoisyLabels,
    ProbeRun,
    assess,
    draw_labels,
    measure_exactly,
)

RAW = {"center": False, "normalize": False, "tol": 1e-6}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = write_small_data(tmp_path_factory.mktemp("data"))
    return str(path), read_data_set(path)


def run_of(data, **changes):
    run = ProbeRun(data.key, "symmetric", 0.4, 0, 0.02, "paper", tol=1e-6)
    return replace(run, **changes)


def measured(data, **changes):
    path, rows = data
    run = run_of(rows, **changes)
    return measure_exactly(run, {rows.key: path}), draw_labels(rows, run)


def test_models_match_the_estimators(data):
    result, labels = measured(data)
    _, rows = data
    rounds = DistilledProbe(n_rounds=5, l2=0.02, **RAW).fit(rows.X, labels.given)
    student = PartialLabelProbe(l2=0.02, **RAW).fit(rows.X, labels.given)
    for probe, name in ((rounds, ROUNDS[-1]), (student, TWO_HOT)):
        assert result.models[name].test_accuracy == probe.score(rows.X_test, rows.test_labels)
        outputs = probe.predict_proba(rows.X)[np.arange(len(rows.X)), rows.labels]
        clean = ~labels.noisy
        assert result.models[name].clean_true.mean == pytest.approx(outputs[clean].mean(), abs=2e-4)
        assert result.models[name].noisy_true.std == pytest.approx(outputs[~clean].std(), abs=2e-4)


def test_robust_model_matches_linear_probe(data):
    result, labels = measured(data, family="losses")
    _, rows = data
    probe = LinearProbe(loss="gce", l2=0.02, **RAW).fit(rows.X, labels.given)
    outputs = probe.predict_proba(rows.X)[np.arange(len(rows.X)), labels.given]
    found = result.models["robust"].noisy_given.mean
    assert found == pytest.approx(outputs[labels.noisy].mean(), abs=1e-3)


def test_tuned_teacher_chooses_a_larger_penalty(data):
    result, _ = measured(data, family="tuned teacher", l2=1e-4, tol=1e-3)
    assert result.models["round 1"].l2 / 1e-4 in (1, 3, 10, 30, 100, 300, 1000)
    assert result.models["round 1"].l2 > 1e-4  # 40 % of the labels are wrong


def test_prepared_features_are_centred_and_of_unit_norm(data):
    result, labels = measured(data, prepared=True, l2=1e-3)
    _, rows = data
    probe = LinearProbe(l2=1e-3, tol=1e-6).fit(rows.X, labels.given)
    assert result.models["round 1"].test_accuracy == probe.score(rows.X_test, rows.test_labels)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_models_of_a_family_converge(data, family):
    result, _ = measured(data, family=family, tol=1e-3)
    assert all(model.converged and model.n_passes > 0 for model in result.models.values())


def test_few_rows_match_linear_probe(tmp_path):
    path = write_small_data(tmp_path, n_train=12)
    data = read_data_set(path)
    wide = np.hstack([data.X, np.random.default_rng(0).normal(size=(12, 30))])
    test = np.hstack([data.X_test, np.zeros((60, 30))])
    np.savez(path, X_train=wide, y_train=data.labels, X_test=test, y_test=data.test_labels)
    rows = read_data_set(path)
    result, labels = measured((str(path), rows), corruption="none", noise_rate=0.0)
    probe = LinearProbe(l2=0.02, **RAW).fit(rows.X, labels.given)
    assert result.models["round 1"].test_accuracy == probe.score(rows.X_test, rows.test_labels)


def test_scores_of_a_model_by_hand():
    labels = NoisyLabels(
        true=np.array([0, 1, 2, 0]), given=np.array([0, 1, 0, 1]), test=np.array([0, 2])
    )
    outputs = np.array([[0.8, 0.1, 0.1], [0.5, 0.4, 0.1], [0.5, 0.2, 0.3], [0.6, 0.3, 0.1]])
    before = np.array([[0.1, 0.8, 0.1], [0.1, 0.8, 0.1], [0.5, 0.2, 0.3], [0.2, 0.7, 0.1]])
    test = np.array([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    cost = {"l2": 1.0, "n_passes": 3, "cpu_seconds": 0.5, "gradient_norm": None, "converged": None}
    model = assess(labels, outputs, test, before, **cost)
    assert model.test_accuracy == 0.5
    assert model.train_accuracy == 0.5  # rows 0 and 3
    assert model.given_agreement == 0.5  # rows 0 and 2
    assert (model.n_corrected, model.n_broken) == (2, 1)
    assert model.truth_in_top == {"1": 0.5, "2": 1.0, "3": 1.0}
    assert model.clean_true.mean == pytest.approx(0.6)
    assert model.noisy_true.mean == pytest.approx(0.45)
    assert model.noisy_given.std == pytest.approx(0.1)
