"""What was tried, as records, a table, a picture and in a file."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from sklearn.model_selection import KFold

import problems
from twohot import AutoProbe, DistilledProbe, LinearProbe, PartialLabelProbe, load
from twohot.distill.average_recipe import AverageRecipe, DiscriminantRecipe
from twohot.distill.recipe import Recipe
from twohot.figures.palette import METHOD_COLOURS
from twohot.select.result import WIDTH, Choice, Tried, choice_from_json
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy, Loss

DATA = problems.digits(0.5, 300)
ROBUST = Recipe(GeneralizedCrossEntropy(), ridge=4.0)


@pytest.fixture(scope="module")
def probe():
    return AutoProbe().fit(DATA.X, DATA.given_labels)


def entry(**changes):
    fields = {
        "recipe": ROBUST,
        "fit_intercept": False,
        "agreement": 0.625,
        "agreement_error": 0.011,
        "chance": 0.1,
        "chance_error": 0.01,
        "likelihood": -1.5,
        "likelihood_error": 0.0,
        "noise_rate": 0.36,
        "temperature": 0.5,
        "n_passes": 20.0,
        "chosen": False,
    }
    return Tried(**(fields | changes))


CHOICE = Choice(
    (
        entry(recipe=Recipe(CrossEntropy(), ridge=30.0), agreement=0.5),
        entry(chosen=True),
        entry(recipe=replace(ROBUST, ridge=2.0, teacher=ROBUST, n_candidates=1, given_share=0.5)),
    ),
    n_held_out=1000,
    n_splits=5,
)


def test_the_table_marks_what_was_chosen():
    lines = str(CHOICE).splitlines()
    assert [line.split()[0] for line in lines] == ["candidate", "teacher", "→", "robust"]
    assert lines[1].split()[-6:] == ["50.0%", "±", "1.1%", "-1.5000", "36%", "20"]
    assert "robust rounds (ridge 2, round 2, 50% given)" in lines[3]
    assert len({len(line) for line in lines}) == 1
    longest = replace(CHOICE.tried[2].recipe.half_whitened, ridge=0.64)
    assert len(str(longest)) < WIDTH


def test_one_is_chosen_and_it_has_no_error_from_itself(probe):
    assert [each.chosen for each in probe.choice_.tried].count(True) == 1
    assert probe.choice_.chosen.chosen
    assert probe.choice_.chosen.likelihood_error == 0
    assert all(each.likelihood_error > 0 for each in probe.choice_.tried if not each.chosen)


def test_records_make_a_frame(probe):
    table = pd.DataFrame(probe.choice_.records())
    assert len(table) == len(probe.choice_.tried)
    assert table["method"].tolist() == [each.method for each in probe.choice_.tried]
    np.testing.assert_allclose(
        table["agreement_error"],
        np.sqrt(table["agreement"] * (1 - table["agreement"]) / probe.choice_.n_held_out),
    )


def test_the_picture_shows_every_candidate(probe, tmp_path):
    figure = probe.choice_.figure()
    (axes,) = figure.axes
    tried = [each for each in probe.choice_.tried if each.ridge is not None]
    kinds = list(dict.fromkeys(each.kind for each in tried))
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {*kinds, "discriminant"} <= set(legend)
    assert 3 <= sum("half-whitened" in kind for kind in kinds) <= len(kinds) / 2
    shown = {
        label: np.column_stack(bars.lines[0].get_data())
        for bars, label in zip(axes.containers, kinds, strict=True)
    }
    for each in tried:
        # Beside its ridge, where other kinds may stand too.
        x, y = np.abs(shown[each.kind] - [each.ridge, 100 * each.agreement]).T
        assert np.any((x < 0.22 * each.ridge) & (y < 1e-9))
    (level,) = (line for line in axes.get_lines() if line.get_label() == "discriminant")
    others = [each.agreement for each in probe.choice_.tried if each.method == "discriminant"]
    assert level.get_ydata()[0] == 100 * max(others)
    assert axes.get_xscale() == "log"
    assert probe.choice_.chosen.name in axes.get_title().replace("\n", " ")
    figure.savefig(tmp_path / "choice.png")


def test_a_candidate_that_is_chosen_is_ringed():
    (axes,) = CHOICE.figure().axes
    (ring,) = (line for line in axes.get_lines() if line.get_label() == "chosen")
    assert ring.get_ydata()[0] == 100 * CHOICE.chosen.agreement


def test_an_average_that_is_chosen_is_ringed_and_its_colour_is_that_of_the_palette():
    average = AverageRecipe((ROBUST, DiscriminantRecipe(0.1)), (1.0, 2.0))
    chosen = entry(recipe=average, chosen=True, agreement=0.7)
    tried = (CHOICE.tried[0], replace(CHOICE.tried[1], chosen=False), chosen)
    (axes,) = Choice(tried, n_held_out=10, n_splits=1).figure().axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert lines["chosen"].get_ydata()[0] == lines["average"].get_ydata()[0] == 70
    assert lines["average"].get_color() == METHOD_COLOURS["average"]


def test_candidates_that_all_predict_the_same_are_counted():
    same = [entry(likelihood=-0.1 * number) for number in range(30)]
    choice = Choice((*same, entry(chosen=True)), n_held_out=10, n_splits=1)
    _, chosen, others = str(choice).splitlines()
    assert chosen.startswith("→")
    assert others == "30 others predict as many: 62.5% ± 1.1%"


def test_a_notebook_shows_what_was_tried():
    shown = CHOICE._repr_html_()
    assert shown.count("<tr>") == 1 + len(CHOICE.tried)
    assert "<td>→</td><td>robust (ridge 4)</td><td>62.5% ± 1.1%</td>" in shown


def test_what_an_average_is_of_is_marked():
    average = AverageRecipe((CHOICE.tried[0].recipe, DiscriminantRecipe(0.1)), (1.0, 2.0))
    tried = [
        replace(CHOICE.tried[0]),
        replace(CHOICE.tried[1], chosen=False),
        entry(recipe=DiscriminantRecipe(0.1)),
        entry(recipe=DiscriminantRecipe(0.3)),
        entry(recipe=average, chosen=True),
    ]
    choice = Choice(tuple(tried), n_held_out=10, n_splits=1)
    assert [line[0] for line in str(choice).splitlines()[1:]] == ["+", " ", "+", " ", "→"]
    assert choice_from_json(json.loads(json.dumps(choice.to_json()))) == choice
    probe = choice.chosen.probe(n_jobs=1)
    assert (
        repr(probe.probes)
        == "(LinearProbe(n_jobs=1, ridge=30.0), DiscriminantProbe(n_jobs=1, shrinkage=0.1))"
    )
    assert probe.temperatures == (1.0, 2.0)


@dataclass(frozen=True)
class Other(CrossEntropy):
    """A loss that nobody has heard of."""

    name = "other"


def test_the_picture_has_a_colour_for_any_number_of_methods(monkeypatch):
    methods = [f"method {number}" for number in range(12)]
    monkeypatch.setattr(Recipe, "method", property(lambda self: f"method {self.ridge:g}"))
    entries = [entry(recipe=replace(ROBUST, ridge=float(n)), chosen=n == 3) for n in range(12)]
    figure = Choice(tuple(entries), n_held_out=10, n_splits=1).figure()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(legend) == sorted([*methods, "chosen"])


def test_a_recipe_of_a_new_loss_needs_nothing_else():
    other: Loss = Other()
    tried = entry(recipe=Recipe(other, ridge=3.0), chosen=True)
    assert tried.name == "teacher (ridge 3)"
    assert "LinearProbe(loss='other', ridge=3.0)" in tried.estimator
    assert Choice((tried,), 10, 1).figure() is not None


def test_every_candidate_can_be_fitted_again(probe):
    for each in probe.choice_.tried:
        again = each.probe(tol=0.1, n_jobs=1)
        assert each.estimator == " ".join(repr(each.probe()).split())
        if isinstance(each.recipe, Recipe):
            assert again.tol == 0.1
            assert again.whiten == each.whiten
    alone = probe.choice_.chosen.probe(tol=1e-3).fit(DATA.X, DATA.given_labels)
    assert np.mean(alone.predict(DATA.X) == probe.predict(DATA.X)) > 0.95


# Files -------------------------------------------------------------------------------------------


@pytest.fixture
def path(probe, tmp_path):
    probe.save(tmp_path / "probe.safetensors")
    return tmp_path / "probe.safetensors"


def test_a_file_keeps_predictions_and_the_choice(probe, path):
    for again in (load(path), AutoProbe.load(path)):
        assert type(again) is AutoProbe
        assert again.choice_ == probe.choice_
        assert again.temperature_ == probe.temperature_
        assert again.get_params() == probe.get_params()
        np.testing.assert_array_equal(
            again.predict_proba(DATA.X_test), probe.predict_proba(DATA.X_test)
        )
        assert len(again.rounds_) == len(probe.rounds_)


def test_load_returns_every_kind(tmp_path):
    path = tmp_path / "probe.safetensors"
    kinds = [
        LinearProbe(whiten=True),
        DistilledProbe(),
        PartialLabelProbe(given_share=0.5),
        AutoProbe(cv=2),
    ]
    for probe in kinds:
        probe.fit(DATA.X, DATA.given_labels).save(path)
        again = load(path)
        assert type(again) is type(probe)
        assert again.get_params() == probe.get_params()
        assert (again.n_iter_, again.n_features_in_) == (probe.n_iter_, probe.n_features_in_)
    with pytest.raises(ValueError, match="holds a 'AutoProbe' and not a LinearProbe: read it with"):
        LinearProbe.load(path)


def rewrite(path, change):
    """Change the header of a file."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["twohot"])
    change(header)
    save_file(load_file(path), path, {"twohot": json.dumps(header)})


def unchoose(header):
    for each in header["notes"]["tried"]:
        each["chosen"] = False


DAMAGE = {
    "no notes": lambda header: header.pop("notes"),
    "empty notes": lambda header: header.update(notes={}),
    "notes of another type": lambda header: header.update(notes=[1]),
    "nothing tried": lambda header: header["notes"].update(tried=[]),
    "nothing chosen": unchoose,
    "a number for a record": lambda header: header["notes"].update(tried=[3]),
    "a field too many": lambda header: header["notes"]["tried"][0].update(extra=1),
    "a field too few": lambda header: header["notes"]["tried"][0].pop("agreement"),
    "no recipe": lambda header: header["notes"]["tried"][0].update(recipe=None),
    "an unknown loss": lambda header: header["notes"]["tried"][0]["recipe"].update(
        loss={"name": "hinge"}
    ),
}


def test_files_from_before_rows_were_half_whitened_are_read(probe, path):
    def forget(header):
        for each in header["notes"]["tried"]:
            recipe = each["recipe"]
            while recipe is not None and "loss" in recipe:
                del recipe["whiten"]
                recipe = recipe["teacher"]

    rewrite(path, forget)
    tried = load(path).choice_.tried
    assert not any(each.whiten for each in tried)
    candidates = [each for each in probe.choice_.tried if isinstance(each.recipe, Recipe)]
    plain = [each for each in candidates if not each.whiten]
    assert [each for each in tried if each in plain] == plain


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_notes_give_a_clear_error(damage, path):
    rewrite(path, DAMAGE[damage])
    with pytest.raises(ValueError, match="says it holds a probe, but part of it is missing"):
        load(path)


def test_files_from_before_there_were_notes_are_read(tmp_path):
    path = tmp_path / "old.safetensors"
    probe = LinearProbe().fit(DATA.X, DATA.given_labels)
    probe.save(path)
    rewrite(path, lambda header: header.pop("notes"))
    np.testing.assert_array_equal(load(path).predict(DATA.X), probe.predict(DATA.X))


def test_a_splitter_cannot_be_written(tmp_path):
    probe = AutoProbe(cv=KFold(2)).fit(DATA.X, DATA.given_labels)
    with pytest.raises(ValueError, match=r"cv=KFold.* cannot be written to a file: set it to"):
        probe.save(tmp_path / "probe.safetensors")
    assert not list(tmp_path.iterdir())
