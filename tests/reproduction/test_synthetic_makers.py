"""Figures and tables that need no data, at tiny settings."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from twohot_paper.exhibit import RUN_KINDS, Maker, choose_exhibits
from twohot_paper.runs import as_json, from_json
from twohot_paper.synthetic_figures import LabelledOutputs, output_plane_figure
from twohot_paper.synthetic_makers import LabelCorruption, SyntheticAccuracy, SyntheticEigenvalues
from twohot_paper.synthetic_outputs import (
    SeparationCurves,
    SoftmaxErrors,
    SyntheticLabelOutputs,
    SyntheticOutputPlane,
)
from twohot_paper.synthetic_setting import SyntheticSetting
from twohot_paper.table import Mean

TINY = SyntheticSetting(n_per_class=8, l2=4e-3)
ACCURACY = SyntheticAccuracy(TINY, noise_rates=(0.0, 0.5), seeds=(0, 1), n_rounds=2)
MAKERS: dict[str, Maker] = {
    "fig:acc_gain": ACCURACY,
    "fig:eigenspectrum": SyntheticEigenvalues(TINY, seeds=(0, 1), n_rounds=2),
    "fig:output_clst": SyntheticOutputPlane(TINY, rounds=(1, 2), n_rounds=2),
    "fig:output_evolution_full": SyntheticOutputPlane(TINY, rounds=(1,), n_rounds=1),
    "fig:clean_noisy_output": SyntheticLabelOutputs(TINY, seeds=(0, 1), n_rounds=2),
    "fig:sm_error": SoftmaxErrors(n_per_class=(10, 100), n_rounds=2),
    "fig:lambda_pq": SeparationCurves(),
    "table:label_corruption_three": LabelCorruption(),
}


def measured(maker: Maker) -> dict[Any, Any]:
    """Measure all runs and read each back from JSON, as a log would."""
    results = {}
    for run in maker.runs([]):
        kind = RUN_KINDS[type(run)]
        assert from_json(kind.run, as_json(run)) == run
        results[run] = from_json(kind.result, as_json(kind.measure(run, {})))
    return results


@pytest.fixture(scope="module")
def all_results() -> dict[str, dict[Any, Any]]:
    return {name: measured(maker) for name, maker in MAKERS.items()}


def test_every_exhibit_without_data_is_tested_here() -> None:
    found = {exhibit.id: type(exhibit.build()) for exhibit in choose_exhibits(["synthetic"])}
    assert found == {name: type(maker) for name, maker in MAKERS.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_makers_draw_and_report_missing_runs(
    name: str, all_results: dict[str, dict[Any, Any]]
) -> None:
    maker, results = MAKERS[name], all_results[name]
    made = maker.make(results, [])
    assert made.figures
    assert not any("missing" in note for note in made.notes)
    for table in made.tables.values():
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert table.to_markdown()
    if results:
        some = dict(list(results.items())[:1])
        partly = maker.make(some, [])
        assert partly.figures
        assert f"{len(results) - 1} of {len(results)} runs are missing." in partly.notes
        nothing = maker.make({}, [])
        assert not nothing.figures
        assert nothing.notes


def test_accuracies_are_drawn_as_measured(all_results: dict[str, dict[Any, Any]]) -> None:
    results = all_results["fig:acc_gain"]
    made = MAKERS["fig:acc_gain"].make(results, [])
    block, repaired, raw = made.figures["acc_gain"].axes
    labels = [line.get_label() for line in block.get_lines()]
    assert labels[:2] == ["teacher (t = 1)", "student (t = 2)"]
    for axes, kind in ((block, "block"), (repaired, "repaired"), (raw, "raw")):
        runs = [run for run in ACCURACY.of_kind(kind) if run.noise_rate == 0.5]
        mean = 100 * np.mean([results[run].rounds[0].accuracy for run in runs])
        teacher = axes.get_lines()[0]
        assert teacher.get_xdata() == pytest.approx([0.0, 0.5])
        assert teacher.get_ydata()[1] == pytest.approx(mean)
    rows = {row[:2]: row for row in made.tables["acc_gain"].rows}
    cell = rows["Perturbed, as the authors drew it", 0.5][2]
    assert isinstance(cell, Mean)
    assert cell.n == 2
    assert cell.mean == pytest.approx(raw.get_lines()[0].get_ydata()[1])


def test_eigenvalues_of_later_rounds_are_powers(all_results: dict[str, dict[Any, Any]]) -> None:
    made = MAKERS["fig:eigenspectrum"].make(all_results["fig:eigenspectrum"], [])
    first, marked, second = made.figures["eigenspectrum"].axes[0].get_lines()[:3]
    np.testing.assert_allclose(first.get_ydata() ** 2, second.get_ydata(), atol=1e-7)
    assert len(marked.get_xdata()) == 4
    p, q = (value / (0.512 + value) for value in (0.6, 0.6 + 8 * 0.3))
    assert first.get_ydata()[[3, 4]] == pytest.approx([q, p], abs=1e-7)
    row = made.tables["eigenspectrum"].rows[1]
    assert row[4].mean == pytest.approx((q / p) ** 2, abs=1e-6)


def test_outputs_are_pooled_over_draws(all_results: dict[str, dict[Any, Any]]) -> None:
    maker, results = MAKERS["fig:clean_noisy_output"], all_results["fig:clean_noisy_output"]
    made = maker.make(results, [])
    row = next(row for row in made.tables["clean_noisy_output"].rows if row[0].startswith("Pert"))
    outputs = []
    plane = SyntheticOutputPlane(TINY, n_rounds=1)
    true, given = TINY.labels(0.5)
    for seed in (0, 1):
        run = replace(plane, seeds=(seed,)).runs([])[1]
        teacher = np.array(RUN_KINDS[type(run)].measure(run, {}).outputs[0])
        outputs.append(teacher[np.arange(len(true)), true][true == given])
    pooled = np.concatenate(outputs)
    assert row[2:4] == pytest.approx((pooled.mean(), pooled.std()), abs=1e-4)


def test_table_of_corruption_matrices() -> None:
    made = LabelCorruption(superclass=(0, 0, 0, 1), noise_rate=0.6).make({}, [])
    rows = {row[:2]: row[2:] for row in made.tables["label_corruption_three"].rows}
    assert rows["symmetric", 0] == pytest.approx((0.4, 0.2, 0.2, 0.2))
    assert rows["asymmetric", 3] == pytest.approx((0.3, 0.15, 0.15, 0.4))
    assert rows["superclass", 1] == pytest.approx((0.3, 0.4, 0.3, 0))
    assert rows["superclass", 3] == (0, 0, 0, 1)


def test_plane_labels_corners_and_circles_clusters() -> None:
    outputs = np.array([[[0.9, 0.05, 0.05], [0.05, 0.9, 0.05]], [[0.4, 0.35, 0.25]] * 2])
    labels = np.array([0, 0])
    rows = {"two samples": LabelledOutputs(outputs, labels, labels)}
    drawn = output_plane_figure(rows, rounds=(1, 2), class_names=["ant", "bee", "cow"])
    apart, together = drawn.axes
    assert [text.get_text() for text in apart.texts] == ["ant", "bee", "cow"]
    assert (len(apart.get_lines()), len(together.get_lines())) == (1, 2)
