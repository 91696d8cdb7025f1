"""Grids list their runs, and compare models of the same draw."""

from dataclasses import replace

import numpy as np
import pytest

from small_data import MODEL, small_data
from twohot.base.messages import ArgumentError
from twohot_paper.grid import (
    ACCURACIES,
    NOISE_RATES,
    TUNED_TEACHER,
    ProbeGrid,
    absent_note,
    among,
    gain,
    grid_notes,
    level,
    model_panels,
    model_table,
    titles,
)
from twohot_paper.probe_run import CLEAN, TEACHER, ProbeResult, ProbeRun, lost_share
from twohot_paper.table import Mean


def model(test_accuracy, **others):
    return replace(MODEL, test_accuracy=test_accuracy, **others)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    return [small_data(folder)[0], small_data(folder, "birds", seed=1)[0]]


def test_grid_lists_each_run_once_by_seed(data):
    grid = ProbeGrid()
    runs = grid.runs(data)
    n_rates = len(NOISE_RATES)
    assert len(runs) == len(set(runs)) == 2 * (3 * (n_rates - 1) + 1)
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)
    assert {run.data for run in runs[: 2 * n_rates]} == {each.key for each in data}
    # As the paper has it: raw features at its penalty, 0.0005 for Flowers-102.
    expected = ProbeRun(data[0].key, "superclass", 0.9, 2, 5e-4, "paper")
    assert expected in runs


def test_clean_labels_need_one_run(data):
    clean = {
        run
        for corruption in ("superclass", "symmetric", "asymmetric")
        for run in ProbeGrid(corruption).runs(data[:1])
        if run.noise_rate == 0
    }
    assert clean == {ProbeRun(data[0].key, CLEAN, 0.0, 0, 5e-4, "paper")}


def test_penalty_on_prepared_features_is_equivalent(data):
    raw = ProbeGrid()
    prepared = replace(raw, prepared=True)
    assert all(run.prepared for run in prepared.runs(data))
    for each in data:
        np.testing.assert_allclose(prepared.l2(each) * each.mean_square, raw.l2(each), rtol=1e-5)


@pytest.mark.parametrize(
    "wrong", [{"corruption": "none"}, {"strength": "huge"}, {"families": ("x",)}]
)
def test_rejects_unknown_settings(wrong):
    with pytest.raises(ArgumentError, match="is not known"):
        ProbeGrid(**wrong)


def test_gains_compare_models_of_one_draw(data):
    grid = ProbeGrid(families=("tuned teacher", "paper"), noise_rates=(0.5,), seeds=(0, 1, 2))
    results = {
        grid.run(data[0], 0.5, 0, "paper"): ProbeResult(
            {TEACHER: model(0.5), "two-hot": model(0.6)}, 0.5
        ),
        grid.run(data[0], 0.5, 1, "paper"): ProbeResult(
            {TEACHER: model(0.4), "two-hot": model(0.7)}, 0.5
        ),
        grid.run(data[0], 0.5, 1, "tuned teacher"): ProbeResult({TEACHER: model(0.45)}, 0.5),
        # Without the paper's teacher of the same labels, there is nothing to compare with.
        grid.run(data[0], 0.5, 2, "tuned teacher"): ProbeResult({TEACHER: model(0.9)}, 0.5),
    }
    draws = grid.draws(results, data[0], 0.5)
    assert [set(draw) for draw in draws] == [
        {TEACHER, "two-hot"},
        {TEACHER, "two-hot", TUNED_TEACHER},
        {TUNED_TEACHER},
    ]
    points = gain(ACCURACIES["test"])
    assert points(draws, "two-hot") == Mean(20.0, 10.0, 2)
    assert points(draws, TUNED_TEACHER) == Mean(5.0, 0.0, 1)
    assert points(draws, "round 2") is None
    assert level(ACCURACIES["test"])(draws, TEACHER) == Mean(45.0, 5.0, 2)


def test_panels_skip_missing_results(data):
    grid = ProbeGrid(noise_rates=(0.0, 0.5), seeds=(0, 1))
    models = {TEACHER: model(0.5), "two-hot": model(0.6)}
    results = {grid.run(data[1], 0.5, 0, "paper"): ProbeResult(models, 0.5)}
    (panel,) = model_panels(grid, results, data, {"two-hot": "two-hot"}, gain(ACCURACIES["test"]))
    assert panel.title == "birds"
    np.testing.assert_allclose(panel.curves[0].means, [np.nan, 10.0])
    # One draw has no spread.
    assert np.isnan(panel.curves[0].stds).all()


def test_grids_with_only_clean_runs_are_empty(data):
    grid = ProbeGrid("symmetric", noise_rates=(0.0, 0.5))
    models = {TEACHER: model(0.5), "two-hot": model(0.6)}
    clean = {grid.run(data[0], 0.0, 0, "paper"): ProbeResult(models, 0.0)}
    noisy = {grid.run(data[0], 0.5, 0, "paper"): ProbeResult(models, 0.5)}
    assert grid.begun(clean, data) == []
    assert grid.begun(clean | noisy, data) == data[:1]
    points = gain(ACCURACIES["test"])
    assert model_panels(grid, clean, data, {"two-hot": "two-hot"}, points) == []
    assert model_table("Gain", grid, clean, data, {"two-hot": ("two-hot", points)}).rows == ()


def test_notes_list_unconverged_models(data):
    grid = ProbeGrid(noise_rates=(0.5, 0.9), seeds=(0,))
    solved = {TEACHER: model(0.5), "two-hot": model(0.6)}
    stuck = solved | {"two-hot": model(0.6, converged=False)}
    results = {
        grid.run(data[0], rate, 0, "paper"): ProbeResult(models, 0.5)
        for rate, models in ((0.5, solved), (0.9, stuck))
    }
    columns = {"two-hot": ("two-hot", level(ACCURACIES["test"]))}
    table = model_table("Accuracy", grid, results, data, columns)
    assert [row[1] for row in table.rows] == ["0.5", "0.9†‡"]
    points = gain(ACCURACIES["test"])
    (panel,) = model_panels(grid, results, data, {"two-hot": "two-hot"}, points)
    assert panel.rate_names == ("0.5", "0.9†‡")
    count, named, *_ = grid_notes(grid, results, data)
    assert count.startswith("Models solved to convergence: 3 of 4.")
    where = "Flowers-102, superclass noise, η = 0.9, seed 0"
    assert named == f"Not converged (‡): {where}: two-hot student."


@pytest.mark.parametrize(
    ("corruption", "last"),
    [
        ("symmetric", 5 / 6),  # 1 - 1/K
        ("superclass", 2 / 3),  # 1 - 1/s, of superclasses of three
        ("asymmetric", 3 / 4),  # 1 - η = 2η/K
    ],
)
def test_noise_is_beyond_recovery_if_the_true_label_is_not_most_frequent(data, corruption, last):
    assert np.bincount(data[0].superclass).tolist() == [3, 3]
    grid = ProbeGrid(corruption)
    assert not grid.is_lost(data[0], 0.0)
    assert not grid.is_lost(data[0], last)  # a tie
    assert grid.is_lost(data[0], last + 1e-6)


def test_small_superclass_is_partly_beyond_recovery(tmp_path):
    few = small_data(tmp_path)[0]
    vars(few)["superclass"] = np.array([0, 0, 1, 1, 1, 1])
    grid = ProbeGrid(noise_rates=(0.7, 0.8), seeds=(0,))
    assert lost_share(few, "superclass", 0.7) == pytest.approx(1 / 3)  # beyond 1 - 1/2, not 1 - 1/4
    assert not grid.is_lost(few, 0.7)
    assert grid.is_lost(few, 0.8)
    results = {run: ProbeResult({TEACHER: model(0.5)}, 0.5) for run in grid.runs([few])}
    _, lost, part, *_ = grid_notes(grid, results, [few])
    assert "left out of claims about accuracy: Flowers-102, superclass noise at η = 0.8." in lost
    assert "In part beyond recovery: Flowers-102, superclass noise at η = 0.7 (33% of rows)" in part


def test_notes_count_missing_runs(data):
    grid = ProbeGrid(noise_rates=(0.0, 0.5), seeds=(0, 1))
    results = {grid.run(data[0], 0.5, 0, "paper"): ProbeResult({TEACHER: model(0.5)}, 0.5)}
    unfinished, nothing = grid.notes(results, data)
    assert unfinished == "Not finished on Flowers-102: 2 of 3 runs."
    assert nothing == "Not finished on birds: 3 of 3 runs."


def test_titles_of_datasets_are_unique(data, tmp_path):
    again = small_data(tmp_path, "flowers102_other", seed=2)[0]
    assert set(titles(data).values()) == {"Flowers-102", "birds"}
    assert set(titles([data[0], again]).values()) == {
        "Flowers-102 (flowers102_small)",
        "Flowers-102 (flowers102_other)",
    }
    assert among(data, ("Flowers-102",)) == data[:1]
    assert among(data, ()) == data
    others = "CIFAR-100, Caltech-101, Caltech-256, Food-101, StanfordCars"
    assert absent_note(data) == (f"Not run, because there are no features: {others}.",)
