"""Figures and tables of real data, from runs on small features."""

import numpy as np
import pytest

from small_data import small_data, write_small_data
from twohot_paper import Log, run_plan
from twohot_paper.data_set import read_data_set, two_backbones
from twohot_paper.exhibit import MAKERS, RUN_KINDS, load_makers
from twohot_paper.grid import SHOWN
from twohot_paper.grid_makers import COMPARED
from twohot_paper.structure import StructureRun
from twohot_paper.table import Mean

load_makers()

SMALL = {"noise_rates": (0.0, 0.5), "seeds": (0, 1)}
SMALLEST = {"noise_rates": (0.5,), "seeds": (0,)}

# Every maker, with settings that make it small.
CASES = {
    "gains": SMALL,
    "accuracy tables": SMALL,
    "correlation maps": {},
    "dendrograms": {},
    "pair correlations": {},
    "evolution": {"n_rounds": 3, "rounds": (1, 3)},
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Return two feature files of one dataset, and the results of all runs on them."""
    folder = tmp_path_factory.mktemp("features")
    files = [
        small_data(folder, f"flowers102_{name}", seed=seed) for name, seed in (("a", 0), ("b", 1))
    ]
    data = [each for each, _ in files]
    paths = {key: path for _, places in files for key, path in places.items()}
    log = Log(folder / "runs.jsonl")
    makers = [MAKERS[name](**settings) for name, settings in CASES.items()]
    others = [MAKERS["gains"](prepared=True, **SMALLEST)]
    others += [MAKERS["gains"](families=(family, "paper"), **SMALLEST) for family in COMPARED]
    # One file is enough for what compares no files.
    plan = dict.fromkeys(run for maker in [*makers, *others] for run in maker.runs(data[:1]))
    plan |= dict.fromkeys(makers[0].runs(data))
    records = run_plan(plan, log, lambda run: RUN_KINDS[type(run)].measure(run, paths))
    assert [record.error for record in records if record.error] == []
    finished = log.finished_of_kinds({kind.run: kind.result for kind in RUN_KINDS.values()})
    return data, {record.run: record.result for record in finished}


def write(made):
    """Return all tables as text, and draw all figures."""
    for figure in made.figures.values():
        figure.canvas.draw()
    return "\n".join(
        text for table in made.tables.values() for text in (table.to_markdown(), table.to_csv())
    )


@pytest.mark.parametrize("name", CASES)
def test_every_maker_draws_partial_results(name, measured):
    data, results = measured
    maker = MAKERS[name](**CASES[name])
    made = maker.make(results, data)
    assert write(made) or made.figures
    # Of half the runs, and of none, what is there is shown and the rest is noted.
    half = {run: results[run] for run in list(results)[::2]}
    for some in (half, {}):
        write(maker.make(some, data))
    empty = maker.make({}, data)
    assert empty.figures == {}
    assert empty.notes != ()
    write(maker.make({}, []))


def test_bars_and_table_show_the_recorded_gains(measured):
    data, results = measured
    maker = MAKERS["gains"](**SMALL)
    made = maker.make(results, data[:1])
    (axes,) = (axes for axes in made.figures["gains"].axes if axes.get_visible())
    bars = {each.get_label(): each for each in axes.containers if len(each) == 2}
    draws = [results[run].models for run in maker.runs(data[:1]) if run.noise_rate == 0.5]
    assert len(draws) == 2
    row = dict(zip(made.tables["gains"].columns, made.tables["gains"].rows[1], strict=True))
    assert (row["dataset"], row["η"]) == ("Flowers-102", "0.5")
    shares = [results[run].noise_rate for run in maker.runs(data[:1]) if run.noise_rate == 0.5]
    assert row["wrong labels, %"].mean == pytest.approx(100 * np.mean(shares))
    for name in ("round 2", "round 3", "round 4", "round 5", "two-hot"):
        gains = [100 * (each[name].test_accuracy - each["round 1"].test_accuracy) for each in draws]
        label = SHOWN[name]
        assert bars[label][1].get_height() == pytest.approx(np.mean(gains), abs=1e-9)
        assert row[label].mean == pytest.approx(np.mean(gains), abs=1e-9)
        assert row[label].std == pytest.approx(np.std(gains), abs=1e-9)


def test_accuracy_tables_show_the_records(measured):
    data, results = measured
    maker = MAKERS["accuracy tables"](**SMALL)
    tables = maker.make(results, data[:1]).tables
    clean = next(run for run in maker.runs(data[:1]) if run.noise_rate == 0)
    accuracy = tables["flowers102_a_accuracy"]
    assert accuracy.columns[1:3] == ("η", "wrong labels, %")
    assert accuracy.rows[0][2] == Mean(0.0, 0.0, 1)
    shares = [100 * results[run].noise_rate for run in maker.runs(data[:1]) if run.noise_rate]
    wrong = Mean(pytest.approx(np.mean(shares)), pytest.approx(np.std(shares)), 2)
    assert accuracy.rows[1][2] == wrong
    assert maker.wrong_labels({}, data[0], 0.5) is None
    assert accuracy.rows[0][3] == Mean(
        pytest.approx(100 * results[clean].models["round 1"].test_accuracy), 0.0, 1
    )
    rows = tables["flowers102_a_rows"]
    assert [row[:2] for row in rows.rows[:2]] == [("0", "teacher"), ("0", "student t = 2")]
    teacher = dict(zip(rows.columns, rows.rows[0], strict=True))
    assert teacher["rows corrected"].mean == teacher["rows broken"].mean == 0
    assert teacher["noisy rows, truth in top 2, %"] is None
    noisy = dict(zip(rows.columns, rows.rows[6], strict=True))
    assert noisy["noisy rows, truth in top 2, %"].n == 2


def test_table_names_the_best_number_of_candidates(measured):
    data, results = measured
    tables = (
        MAKERS["gains"](families=("candidates", "paper"), **SMALLEST).make(results, data[:1]).tables
    )
    for gains, (_, _, best, lead) in zip(tables["gains"].rows, tables["best"].rows, strict=True):
        named = zip(tables["gains"].columns[4:], gains[4:], strict=True)
        cells = {name: cell for name, cell in named if cell is not None}
        assert len(cells) == 4  # of six classes, one to five candidates
        assert cells[best].mean == max(cell.mean for cell in cells.values())
        assert lead == pytest.approx(cells[best].mean - cells["top-2 (two-hot)"].mean)


def test_table_shows_the_penalty_of_the_tuned_teacher(measured):
    data, results = measured
    maker = MAKERS["gains"](families=("tuned teacher", "paper"), **SMALLEST)
    (row,) = maker.make(results, data[:1]).tables["gains"].rows
    own = next(run for run in maker.runs(data[:1]) if run.family == "tuned teacher")
    assert row[-1].mean == pytest.approx(results[own].models["round 1"].l2 / own.l2)


def test_compares_only_files_of_one_dataset(measured, tmp_path):
    data, results = measured
    maker = MAKERS["gains"](two_backbones=True, **SMALL)
    shown = [axes.get_title() for axes in maker.make(results, data).figures["gains"].axes]
    where = "superclass noise, base λ = 0.0005, 2 draws"
    assert shown == [f"Flowers-102 (flowers102_{name})\n{where}" for name in "ab"]
    # Numbered classes do not identify a dataset.
    others = [
        read_data_set(write_small_data(tmp_path, name, classes=tuple("012345")))
        for name in ("birds", "trees")
    ]
    assert two_backbones([data[0], *others]) == []
    assert maker.runs(others) == []


def test_evolution_uses_four_classes_of_the_largest_file(measured):
    data, results = measured
    maker = MAKERS["evolution"](**CASES["evolution"])
    runs = maker.runs(data)
    assert {run.data for run in runs} == {data[0].key}
    assert {run.classes for run in runs} == {("ash", "elm", "fir", "carp")}
    raw, unit = (run.l2 for run in runs)
    assert unit == pytest.approx(raw * data[0].mean_square, rel=1e-5)
    named = MAKERS["evolution"](classes=("pike", "ash")).runs(data)[0]
    assert named.classes == ("pike", "ash")
    made = maker.make(results, data)
    (figure,) = made.figures.values()
    assert figure.get_suptitle() == made.subject
    names = "Flowers-102 (flowers102_a), symmetric noise among four classes, η = 0.5, 1 draw"
    assert made.subject == names
    assert "no file of CIFAR-100. This is flowers102_a, the first of 2 files" in made.notes[-1]
    table = made.tables["clusters"]
    assert [row[1] for row in table.rows] == [1, 2, 3] * 2


def test_table_of_correlations_includes_the_paper(measured):
    data, results = measured
    table = MAKERS["pair correlations"]().make(results, data[:1]).tables["correlations"]
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["paper: same class"] == "0.36 ± 0.15"
    found = results[StructureRun(data[0].key)].same_class
    assert row["same class"] == f"{found.mean:.3f} ± {found.std:.3f}"
