"""Claims about real features: every rule gives every answer."""

from dataclasses import replace

import numpy as np
import pytest

from small_data import MODEL, write_small_data
from twohot_paper import Log
from twohot_paper.accuracy_claims import MARGIN, STATEMENTS, ahead, one_file_each
from twohot_paper.claim import Answer
from twohot_paper.data_set import read_data_set
from twohot_paper.exhibit import choose_exhibits
from twohot_paper.grid import ProbeGrid
from twohot_paper.probe_run import FAMILIES, ROUNDS, TEACHER, TWO_HOT, ProbeResult, Spread
from twohot_paper.real_claims import judge_best_everywhere, judge_larger_backbone, judge_three_kinds
from twohot_paper.reproduction import Reproduction, all_claims
from twohot_paper.structure import PairKind, StructureResult, StructureRun

CLAIMS = {claim.id: claim for claim in all_claims()}


def rounds(*accuracies, **changes):
    """Return the models of one draw, of some test accuracies."""
    named = zip(ROUNDS, accuracies, strict=True)
    return {name: replace(MODEL, test_accuracy=each, **changes) for name, each in named}


FLAT = rounds(*[0.5] * 5)
ENDS_AT_TRUTH = {ROUNDS[-1]: replace(MODEL, noisy_true=Spread(0.5, 0.1))}


def outputs(*means):
    """Return the models of one draw with these mean outputs at the label of clean rows."""
    pairs = zip(FLAT.items(), means, strict=True)
    return {name: replace(model, clean_true=Spread(mean, 0.2)) for (name, model), mean in pairs}


def truth_in_top(*shares):
    return rounds(*[0.5] * 5, truth_in_top=dict(zip("123", shares, strict=False)))


def candidates(**accuracies):
    named = {name.replace("_", "-"): accuracy for name, accuracy in accuracies.items()}
    return {name: replace(MODEL, test_accuracy=each) for name, each in named.items()}


FALLS = {"output": "clean_true", "moment": "mean", "up": False}
RISES = FALLS | {"up": True}


# A statement, its arguments, the models of one draw; the number to show, and whether it holds.
# None: the draw does not decide.
OUTCOMES = [
    ("rises", {}, rounds(0.5, 0.51, 0.52, 0.53, 0.54), 4, True),
    ("rises", {}, rounds(0.5, 0.51, 0.506, 0.52, 0.53), 3, True),  # .4 points down is none
    ("rises", {}, rounds(0.5, 0.55, 0.53, 0.54, 0.56), 6, False),  # a step of 2 points down
    ("rises", {}, rounds(0.5, 0.5, 0.5, 0.5, 0.504), 0.4, False),
    ("truth_in_two", {}, truth_in_top(0.5, 0.995), 99.5, True),
    ("truth_in_two", {}, truth_in_top(0.5, 0.9), 90, False),
    ("truth_in_more", {}, truth_in_top(0.5, 0.7, 0.8), 30, True),
    ("truth_in_more", {}, truth_in_top(0.5, 0.7, 0.7), 20, False),
    ("truth_in_more", {}, rounds(*[0.5] * 5, truth_in_top=None), None, False),
    ("moves", FALLS, outputs(0.9, 0.8, 0.7, 0.6, 0.5), -40, True),
    ("moves", RISES, outputs(0.9, 0.8, 0.7, 0.6, 0.5), -40, False),
    ("moves", FALLS, FLAT, 0, False),
    ("moves", RISES | {"output": "noisy_true"}, rounds(*[0.5] * 5, noisy_true=None), None, False),
    # The truth overtakes only if it was behind.
    ("crosses", {}, FLAT, -10, False),
    ("crosses", {}, FLAT | ENDS_AT_TRUTH, 10, True),
    ("crosses", {}, FLAT | ENDS_AT_TRUTH | {TEACHER: ENDS_AT_TRUTH[ROUNDS[-1]]}, 10, False),
    ("early_gain", {}, rounds(0.5, 0.55, 0.59, 0.595, 0.6), 90, True),
    ("early_gain", {}, rounds(0.5, 0.52, 0.54, 0.57, 0.6), 40, False),
    ("early_gain", {}, rounds(0.5, 0.5, 0.5, 0.5, 0.505), None, False),  # no gain to speak of
    # More candidates than there are classes are no rivals.
    ("two_are_enough", {}, candidates(two_hot=0.5, top_3=0.4), 10, True),
    ("two_are_enough", {}, candidates(two_hot=0.5, top_3=0.4, top_5=0.6), -10, False),
    ("two_are_enough", {}, candidates(two_hot=0.5), None, False),
]


@pytest.mark.parametrize(("name", "arguments", "draw", "value", "holds"), OUTCOMES)
def test_statements_in_one_setting(name, arguments, draw, value, holds):
    judged = STATEMENTS[name]([draw], **arguments)
    if value is None:
        assert judged is None
    else:
        assert judged[0].mean == pytest.approx(value)
        assert judged[1] is holds


def test_best_model_has_the_largest_mean_over_draws():
    draws = [candidates(a=0.9, b=0.5, c=0.6), candidates(a=0.1, b=0.5, c=0.6)]
    value, holds = ahead(draws, ["a", "b"], ["c"])
    assert value.mean == pytest.approx(-10)  # not 0.9 of one draw and 0.5 of the other
    assert not holds


def test_incomplete_draws_do_not_count():
    partly, whole = candidates(a=0.9), candidates(a=0.8, b=0.7)
    assert ahead([partly, whole], ["a"], ["b"])[0].n == 1
    assert ahead([partly], ["a"], ["b"]) is None


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Return a dataset, and invented results of all its grids: students gain, two-hot most."""
    folder = tmp_path_factory.mktemp("data")
    path = write_small_data(folder, classes=tuple(f"class {number}" for number in range(24)))
    data = read_data_set(path)
    # Two superclasses of twelve: no noise of the grid is beyond recovery.
    vars(data)["superclass"] = np.repeat([0, 1], 12)
    results = {}
    models = rounds(0.5, 0.52, 0.54, 0.56, 0.58)
    names = {TWO_HOT, *(name for family in FAMILIES.values() for name in family)}
    models |= {name: replace(MODEL, test_accuracy=0.55) for name in names}
    models[TWO_HOT] = replace(MODEL, test_accuracy=0.7)
    for strength in ("small", "base", "big"):
        for corruption in ("superclass", "symmetric", "asymmetric"):
            for prepared in (False, True):
                grid = ProbeGrid(corruption, strength, tuple(FAMILIES), prepared=prepared)
                results |= {run: ProbeResult(models, 0.5) for run in grid.runs([data])}
    return path, data, results


def test_all_claims_are_judged_on_any_data(everything, tmp_path):
    path, data, results = everything
    work = Reproduction(choose_exhibits(["all"]), {str(path): data}, Log(tmp_path / "runs.jsonl"))
    verdicts = {claim.id: verdict for claim, verdict in work.judge(results)}
    assert verdicts.keys() == CLAIMS.keys()
    expected = {
        Answer.CONFIRMED: "rounds-raise-accuracy two-hot-at-high-noise more-candidates"
        " labels-or-loss two-candidates-best tuned-teacher larger-candidate-sets",
        Answer.REFUTED: "crossing",
        Answer.NOT_TESTABLE: "early-gain two-hot-with-vit larger-backbone",  # one backbone
    }
    for answer, names in expected.items():
        assert {verdicts[name].answer for name in names.split()} == {answer}
    assert "two backbones" in verdicts["early-gain"].evidence


@pytest.mark.parametrize("lead", [0.4, 0.6])
def test_rules_apply_the_margin_that_they_state(everything, lead):
    _, data, results = everything
    models = rounds(*[0.5] * 5)
    models |= {name: replace(MODEL, test_accuracy=0.5) for name in FAMILIES["candidates"]}
    models |= {name: replace(MODEL, test_accuracy=0.5) for name in FAMILIES["losses"]}
    models[TWO_HOT] = replace(MODEL, test_accuracy=0.5 + lead / 100)
    close = {run: ProbeResult(models, 0.5) for run in results}
    judged = [claim for claim in CLAIMS.values() if "than 0.5 points above the best" in claim.rule]
    assert len(judged) == 5
    for claim in judged:
        answer = Answer.CONFIRMED if lead > MARGIN else Answer.REFUTED
        assert claim.judge(close, [data]).answer is answer


def test_claims_need_settings_of_every_corruption(everything):
    _, data, results = everything
    # Runs without noise are shared by all corruptions.
    some = {run: each for run, each in results.items() if run.corruption in {"superclass", "none"}}
    for name in ("rounds-raise-accuracy-everywhere", "two-hot-everywhere"):
        verdict = CLAIMS[name].judge(some, [data])
        assert verdict.answer is Answer.NOT_TESTABLE
        assert "no setting of symmetric and asymmetric noise" in verdict.evidence
        assert CLAIMS[name].judge(results, [data]).answer is Answer.CONFIRMED
    assert CLAIMS["rounds-raise-accuracy"].judge(some, [data]).answer is Answer.CONFIRMED
    # At the other penalties, superclass noise is sufficient.
    at_small = CLAIMS["rounds-at-small-penalty"]
    verdict = at_small.judge(some, [data])
    assert verdict.answer is Answer.CONFIRMED
    assert "There is no setting of symmetric and asymmetric noise." in verdict.evidence
    assert "no setting of" not in at_small.judge(results, [data]).evidence


def test_settings_with_unconverged_models_are_left_out(everything):
    _, data, results = everything
    # Were it judged, the setting would be one in which accuracy falls.
    stuck = {TEACHER: replace(MODEL, test_accuracy=0.9, converged=False)}
    changed = {
        run: replace(result, models=result.models | stuck) if run.noise_rate == 0.5 else result
        for run, result in results.items()
    }
    verdict = CLAIMS["rounds-raise-accuracy"].judge(changed, [data])
    assert verdict.answer is Answer.CONFIRMED
    assert "in 6 of 6 settings" in verdict.evidence
    assert "Left out, because a model did not converge: pets, superclass noise, η = 0.5." in (
        verdict.evidence
    )
    assert "η = 0.5" not in verdict.table.columns
    best = judge_best_everywhere(changed, [data])
    assert "did not converge: pets, superclass noise, η = 0.5" in best.evidence


def test_noise_beyond_recovery_is_left_out_of_claims_about_accuracy(everything, tmp_path):
    models = next(iter(everything[2].values())).models
    data = read_data_set(write_small_data(tmp_path))  # superclasses of three
    results = {run: ProbeResult(models, 0.5) for run in ProbeGrid().runs([data])}
    verdict = CLAIMS["rounds-raise-accuracy"].judge(results, [data])
    assert verdict.basis == "superclass noise: 4 of 4 settings, 3 draws"
    where = "pets, superclass noise, η = 0.7, 0.8, 0.9"
    assert f"Left out, because the noise is beyond recovery: {where}." in verdict.evidence
    assert "beyond 1 − 1/s" in CLAIMS["rounds-raise-accuracy"].whole_rule
    # Claims about outputs include every rate.
    assert "beyond 1 − 1/s" not in CLAIMS["crossing"].whole_rule


def test_claims_without_data_are_not_testable(tmp_path):
    work = Reproduction(choose_exhibits(["all"]), {}, Log(tmp_path / "runs.jsonl"))
    verdicts = {claim.id: verdict for claim, verdict in work.judge(work.results())}
    assert verdicts.keys() == CLAIMS.keys()
    found = {name for name, verdict in verdicts.items() if verdict.answer != Answer.NOT_TESTABLE}
    assert found == {"softmax-error-negligible", "separation-near-two"}  # by formulas


def pairs(*means):
    kinds = [PairKind(10, mean, 0.1) for mean in means]
    return StructureResult(10, 1.0, ((1.0,),), (0, 1), (0, 1), (0, 1), (), *kinds)


@pytest.mark.parametrize(
    ("results", "answer"),
    [
        ([pairs(0.4, 0.1, 0.0), pairs(0.3, 0.2, 0.1)], Answer.CONFIRMED),
        ([pairs(0.4, 0.1, 0.0), pairs(0.1, 0.2, 0.3)], Answer.CONDITIONAL),
        ([pairs(0.0, 0.1, 0.0), pairs(0.1, 0.2, 0.3)], Answer.REFUTED),
        ([pairs(0.4, None, 0.0)], Answer.NOT_TESTABLE),
        ([], Answer.NOT_TESTABLE),
    ],
)
def test_verdict_on_three_kinds_of_pairs(tmp_path, results, answer):
    paths = [write_small_data(tmp_path, f"set {number}", seed=number) for number in range(2)]
    data = [read_data_set(path) for path in paths]
    found = {StructureRun(each.key): result for each, result in zip(data, results, strict=False)}
    assert judge_three_kinds(found, data).answer is answer


@pytest.mark.parametrize(
    ("levels", "answer"),
    [
        ({"cifar100_vit_b": 0.35, "cifar100_resnet34": 0.25}, Answer.CONFIRMED),
        ({"cifar100_vit_b": 0.2, "cifar100_resnet34": 0.25}, Answer.REFUTED),
        ({"cifar100_vit_b": 0.35, "cifar100_resnet50": 0.25}, Answer.NOT_TESTABLE),
        ({"cifar100_vit_b": 0.35, "pets_resnet34": 0.25}, Answer.NOT_TESTABLE),
    ],
)
def test_verdict_on_backbones_of_one_dataset(tmp_path, levels, answer):
    data = [read_data_set(write_small_data(tmp_path, name)) for name in levels]
    found = {
        StructureRun(each.key): pairs(level, 0.1, 0.0)
        for each, level in zip(data, levels.values(), strict=True)
    }
    assert judge_larger_backbone(found, data).answer is answer


def test_claims_about_a_backbone_need_its_features(tmp_path):
    data = [read_data_set(write_small_data(tmp_path, "pets"))]
    assert CLAIMS["two-hot-with-vit"].judge({}, data).answer is Answer.NOT_TESTABLE


@pytest.mark.parametrize(
    ("best", "answer"),
    [(TWO_HOT, Answer.CONFIRMED), ("top-1", Answer.REFUTED), ("top-10", Answer.REFUTED)],
)
def test_verdict_on_the_best_number_of_candidates(everything, best, answer):
    _, data, results = everything
    gains = {TWO_HOT: MODEL} | {best: replace(MODEL, test_accuracy=0.9)}
    changed = {
        run: replace(result, models=result.models | gains) for run, result in results.items()
    }
    assert judge_best_everywhere(changed, [data]).answer is answer
    assert judge_best_everywhere({}, [data]).answer is Answer.NOT_TESTABLE


@pytest.mark.parametrize(("n_seeds", "n_draws"), [(None, 3), (1, 1), (5, 5)])
def test_claims_and_tables_use_the_same_draws(everything, tmp_path, n_seeds, n_draws):
    path, data, results = everything
    models = next(iter(results.values())).models
    runs = ProbeGrid(seeds=tuple(range(6))).runs([data])
    results = {run: ProbeResult(models, run.noise_rate) for run in runs}
    (figure,) = choose_exhibits(["fig:real_gain"])
    log = Log(tmp_path / "runs.jsonl")
    work = Reproduction([figure], {str(path): data}, log, n_seeds=n_seeds)
    verdicts = {claim.id: verdict for claim, verdict in work.judge(results)}
    assert verdicts["rounds-raise-accuracy"].table.rows[0][-1].n == n_draws
    assert work.make(figure, results).tables["gains"].rows[-1][-1].n == n_draws


def test_two_files_of_a_dataset_count_once(tmp_path):
    sizes = {"cifar100_some": 60, "cifar100_whole": 120, "pets": 60}
    some, whole, other = (
        read_data_set(write_small_data(tmp_path, name, seed=n_train, n_train=n_train))
        for name, n_train in sizes.items()
    )
    assert one_file_each({}, [some, whole, other]) == [whole, other]
    rising, flat = rounds(0.5, 0.52, 0.54, 0.56, 0.58), rounds(*[0.5] * 5)
    results = {run: ProbeResult(rising, 0.5) for run in ProbeGrid().runs([some, other])}
    results |= {run: ProbeResult(flat, 0.5) for run in ProbeGrid(seeds=(0,)).runs([whole])}
    data = [some, whole, other]
    assert one_file_each(results, data) == [some, other]
    verdict = CLAIMS["rounds-raise-accuracy"].judge(results, data)
    assert "The statement holds in 8 of 8 settings." in verdict.evidence
    assert [row[0] for row in verdict.table.rows] == ["CIFAR-100 (cifar100_some)", "pets"]
    results |= {StructureRun(each.key): pairs(0.4, 0.1, 0.0) for each in data}
    assert "on 2 of 2 datasets" in judge_three_kinds(results, data).evidence


def test_every_claim_is_a_quote_or_a_question_of_our_own():
    for claim in CLAIMS.values():
        assert claim.of_paper != (claim.text.startswith("(") and claim.text.endswith(")"))
        assert claim.place
