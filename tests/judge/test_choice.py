"""The candidates of AutoProbe as records, a table, a figure and JSON."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import problems
from twohot import AutoProbe, DiscriminantProbe, LinearProbe, load
from twohot.base.labels import code_labels
from twohot.judge.choice import Choice, Tried, choice_from_json
from twohot.judge.nearest import VotesRecipe
from twohot.probes.recipe import DiscriminantRecipe, Recipe
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

DATA = problems.digits(0.5, 300)
PROBES = {"LinearProbe": LinearProbe, "DiscriminantProbe": DiscriminantProbe}
TEACHER = Recipe(CrossEntropy(), ridge=30.0)
ROBUST = Recipe(GeneralizedCrossEntropy(), ridge=3.0, whiten=True)


@pytest.fixture(scope="module")
def probe():
    return AutoProbe(n_jobs=1).fit(DATA.X, DATA.given_labels)


SCORES = {"agreement_error": 0.011, "likelihood": -1.5, "noise_rate": 0.36, "temperature": 0.5}
CHOICE = Choice(
    tried=(
        Tried(TEACHER, 0.5, n_passes=20.0, **SCORES),
        Tried(ROBUST, 0.625, n_passes=20.0, weight=1.25, **SCORES),
        Tried(DiscriminantRecipe(0.3), 0.625, n_passes=1.0, weight=0.5, **SCORES),
        Tried(VotesRecipe(15), 0.3, n_passes=0.0, **SCORES),
    ),
    n_rows=1000,
    n_folds=5,
    n_rounds=2,
    agreement=0.64,
    agreement_error=0.01,
    noise_rate=0.31,
    interval=(0.2, 0.4),
    learnt=True,
    parts=(("teacher (ridge 3)", 1.5), ("discriminant (shrinkage 0.3)", 0.5)),
)


def test_table_marks_members_and_names_the_fit():
    lines = str(CHOICE).splitlines()
    assert lines[0].split()[0] == "member"
    assert [line[0] for line in lines[1:5]] == [" ", "+", "+", " "]
    assert lines[1].split()[:3] == ["teacher", "(ridge", "30)"]
    assert lines[2].split()[-4:] == ["-1.5000", "36%", "1.25", "20"]
    assert len({len(line) for line in lines[:5]}) == 1
    assert lines[5].startswith("Fitted: anchored self-distillation, 2 rounds: teacher (ridge 3)")
    assert lines[6] == (
        "About 31.0% of the labels are wrong: at least 20.0% and at most 40.0%, with a margin of "
        "two standard errors."
    )


def test_table_says_that_nothing_was_learnt():
    nothing = replace(CHOICE, learnt=False)
    assert str(nothing).splitlines()[-1] == nothing.nothing_learnt()
    assert nothing.nothing_learnt().startswith("Nothing was learnt: the features predict 64.0%")
    assert not CHOICE.nothing_learnt()


def test_best_has_the_largest_likelihood():
    better = replace(CHOICE.tried[1], recipe=replace(ROBUST, ridge=1.0), likelihood=-1.4)
    choice = replace(CHOICE, tried=(*CHOICE.tried, better))
    assert choice.best("robust") is better
    assert choice.chosen == (*CHOICE.tried[1:3], better)


def test_members_have_names_and_estimators():
    teacher, robust, discriminant, votes = CHOICE.tried
    assert (robust.kind, robust.whiten, robust.ridge) == ("robust, half-whitened", True, 3.0)
    assert (teacher.kind, discriminant.ridge, votes.ridge) == ("teacher", None, None)
    assert str(robust.probe()) == str(
        LinearProbe(fit_intercept=True, loss="gce", ridge=3.0, whiten=True)
    )
    assert votes.estimator == ""
    with pytest.raises(TypeError, match="votes of the nearest rows have no probe: use another"):
        votes.probe()


def test_each_linear_member_can_be_fitted_alone(probe):
    for tried in probe.choice_.tried:
        if tried.method != "neighbours":
            alone = eval(tried.estimator, PROBES)  # noqa: S307 - own code
            assert repr(alone) == repr(tried.probe())
    likeliest = probe.choice_.best("robust").probe().fit(DATA.X, DATA.given_labels)
    assert likeliest.score(DATA.X_test, DATA.test_labels) > 0.6


def test_records_make_a_frame(probe):
    choice = probe.choice_
    table = pd.DataFrame(choice.records())
    assert len(table) == len(choice.tried)
    assert table["method"].tolist() == [each.method for each in choice.tried]
    assert table["chosen"].tolist() == [each.weight > 0 for each in choice.tried]
    assert {"teacher", "robust", "discriminant", "neighbours"} == set(table["method"])
    assert (choice.n_rows, choice.n_folds, choice.n_rounds) == (300, 5, 2)


def test_agreement_is_from_the_first_label_model(probe):
    anchored = AutoProbe(n_jobs=1).fit_coded(DATA.X, code_labels(DATA.given_labels)).anchored
    agrees = anchored.first.predicted == DATA.given_labels
    assert probe.choice_.agreement == pytest.approx(agrees.mean())
    assert probe.choice_.agreement_error == pytest.approx(agrees.std() / np.sqrt(300))


def test_random_labels_are_predicted_at_chance_level():
    """After rounds, the fits that predict a row depend on its label, by the targets of others."""
    draws = np.random.default_rng(0).normal(size=(6, 240, 20))
    fits = [AutoProbe(n_jobs=1).fit(rows, np.arange(240) % 2) for rows in draws]
    assert np.mean([fit.choice_.agreement for fit in fits]) == pytest.approx(0.5, abs=0.05)


def test_notebook_table_lists_candidates():
    shown = CHOICE._repr_html_()
    assert shown.count("<tr>") == 1 + len(CHOICE.tried)
    assert "<td>+</td><td>robust (ridge 3, half-whitened)</td>" in shown


def test_figure_shows_each_member(probe, tmp_path):
    figure = probe.choice_.figure()
    (axes,) = figure.axes
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    kinds = {each.kind for each in probe.choice_.tried if each.ridge is not None}
    assert {*kinds, "discriminant", "neighbours", "label model"} <= legend
    assert len(axes.containers) == len(kinds)
    (level,) = (line for line in axes.get_lines() if line.get_label() == "label model")
    assert level.get_ydata()[0] == 100 * probe.choice_.agreement
    figure.savefig(tmp_path / "choice.png")


def test_saved_probe_keeps_its_choice(probe, tmp_path):
    assert choice_from_json(json.loads(json.dumps(CHOICE.to_json()))) == CHOICE
    probe.save(tmp_path / "probe.safetensors")
    found = load(tmp_path / "probe.safetensors")
    assert found.choice_ == probe.choice_
    assert isinstance(found, AutoProbe)
    outputs = (each.predict_proba(DATA.X_test) for each in (found, probe))
    np.testing.assert_array_equal(*outputs)
