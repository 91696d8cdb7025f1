"""The two trainers side by side: what is drawn and told is what the runs recorded."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.sgd.claims import judge_cost, judge_last_epoch
from benchmarks.sgd.comparison import MODELS, TrainerMaker, trainer_pairs
from benchmarks.sgd.trainer import SgdRun, measure_sgd
from small_data import write_small_data
from twohot.base.pictures import write_figure
from twohot_paper.claim import Answer
from twohot_paper.data_set import read_data_set
from twohot_paper.probe_run import TEACHER, TWO_HOT, ProbeRun, measure_exactly

MAKER = TrainerMaker(noise_rates=(0.5, 0.3), n_epochs=5, rates=(0.05, 0.01))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_small_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def data(path):
    return [read_data_set(path)]


@pytest.fixture(scope="module")
def results(path, data):
    paths = {data[0].key: str(path)}
    return {
        run: (measure_sgd if isinstance(run, SgdRun) else measure_exactly)(run, paths)
        for run in MAKER.runs(data)
    }


def with_costs(results, two_hot):
    """Return results whose models cost ten each, but for two-hot students, by trainer."""

    def costed(run, name, model):
        cost = two_hot[type(run)] if name == TWO_HOT else 10.0
        return replace(model, cpu_seconds=cost, n_passes=cost)

    return {
        run: replace(result, models={k: costed(run, k, v) for k, v in result.models.items()})
        for run, result in results.items()
    }


def with_accuracies(results, sgd, exact):
    """Return results in which all models of a trainer have one test accuracy."""
    accuracy = {SgdRun: sgd, ProbeRun: exact}
    return {
        run: replace(
            result,
            models={
                name: replace(model, test_accuracy=accuracy[type(run)])
                for name, model in result.models.items()
            },
        )
        for run, result in results.items()
    }


def test_every_sgd_run_comes_with_the_exact_run_on_the_same_labels(data, results):
    runs = MAKER.runs(data)
    assert [type(run) for run in runs] == [ProbeRun] * 2 + [SgdRun] * 2
    assert [run.exact for run in runs[2:]] == runs[:2]
    assert [run.noise_rate for run in runs[2:]] == [0.5, 0.3]
    for run in runs[2:]:
        assert results[run].noise_rate == results[run.exact].noise_rate
        assert run.l2 == data[0].l2("base")


def test_the_figure_draws_the_curves_with_the_optimum_and_the_pick(data, results, tmp_path):
    made = MAKER.make(results, data)
    figure = made.figures["trainers"]
    assert len(figure.axes) == 6
    assert figure.get_suptitle() == made.subject
    assert "superclass noise, λ = " in made.subject
    run = next(run for run in results if isinstance(run, SgdRun) and run.noise_rate == 0.3)
    lines = {line.get_label(): line for line in figure.axes[4].get_lines()}  # two-hot, η = .2
    np.testing.assert_allclose(
        lines["SGD"].get_ydata(), 100 * np.array(results[run].test_curves[TWO_HOT])
    )
    optimum = 100 * results[run.exact].models[TWO_HOT].test_accuracy
    assert set(lines["exact optimum"].get_ydata()) == {optimum}
    pick = results[run].paper_way[TWO_HOT]
    (star,) = [line for label, line in lines.items() if "the paper's way" in label]
    assert star.get_xydata().tolist() == [[pick.epoch, 100 * pick.test_accuracy]]
    write_figure(tmp_path / "trainers.svg", figure)


def test_the_tables_tell_accuracies_and_costs(data, results):
    tables = MAKER.make(results, data).tables
    rows = tables["trainers"].rows
    assert [row[0] for row in rows] == [0.3] * 6 + [0.5] * 6
    pair = next(trainer_pairs(results, data))
    assert rows[0][3] == round(100 * pair.sgd.models[TEACHER].test_accuracy, 1)
    assert rows[0][6] == round(100 * pair.exact.models[TEACHER].test_accuracy, 1)
    # Ten for every model but the two-hot student.
    costed = with_costs(results, {SgdRun: 30.0, ProbeRun: 2.5})
    costed = {
        run: replace(result, grid_seconds=20.0) if isinstance(run, SgdRun) else result
        for run, result in costed.items()
    }
    cost = {row[0]: row[1:] for row in MAKER.make(costed, data).tables["trainers-cost"].rows}
    assert cost["four students"][:3] == (40.0, 40.0, 1.0)
    assert cost["two-hot student"][:3] == (30.0, 2.5, 12.0)
    assert cost["choice among 2 rates, by the teacher"][:2] == (20.0, None)
    assert cost["one run in all"] == (100, 52.5, 1.9, 88.0, 52.5, 1.7)  # 8 epochs for the choice
    grid = "8 η × 3 seeds, extrapolated from 2 runs"
    assert cost[grid][:3] == (2400.0, 1260.0, 1.9)
    assert cost[f"{grid}, if every model chose its own rate"][:3] == (4800.0, 1260.0, 3.8)


@pytest.mark.parametrize(
    ("two_hot", "answer", "condition"),
    [
        ({SgdRun: 10.0, ProbeRun: 10.0}, Answer.CONFIRMED, ""),
        ({SgdRun: 10.0, ProbeRun: 20.0}, Answer.CONDITIONAL, "SGD"),
        ({SgdRun: 20.0, ProbeRun: 10.0}, Answer.CONDITIONAL, "exactly"),
        ({SgdRun: 20.0, ProbeRun: 20.0}, Answer.REFUTED, ""),
    ],
)
def test_the_two_hot_student_is_cheap_if_it_halves_the_cost(
    data, results, two_hot, answer, condition
):
    # Teacher and four students cost 50: 20 is less than half of it, 30 is more.
    verdict = judge_cost(with_costs(results, two_hot), data)
    assert verdict.answer == answer
    assert condition in verdict.condition
    assert len(verdict.table.rows) == 4


@pytest.mark.parametrize(
    ("sgd", "answer"), [(0.705, Answer.CONFIRMED), (0.72, Answer.REFUTED), (0.6, Answer.REFUTED)]
)
def test_the_last_epoch_is_at_the_optimum_if_all_models_are_within_a_point(
    data, results, sgd, answer
):
    verdict = judge_last_epoch(with_accuracies(results, sgd, 0.7), data)
    assert verdict.answer == answer
    assert f"{100 * (sgd - 0.7):+.1f} points from the exact optimum" in verdict.evidence
    assert verdict.table.columns[2:] == MODELS


def test_exact_models_that_did_not_converge_are_no_optimum_to_compare_with(data, results):
    stuck = {
        run: replace(
            result,
            models={name: replace(each, converged=False) for name, each in result.models.items()},
        )
        if isinstance(run, ProbeRun)
        else result
        for run, result in results.items()
    }
    verdict = judge_last_epoch(stuck, data)
    assert verdict.answer == Answer.NOT_TESTABLE
    assert "Left out, because a model did not converge" in verdict.evidence
    assert judge_cost(stuck, data).answer == Answer.NOT_TESTABLE
