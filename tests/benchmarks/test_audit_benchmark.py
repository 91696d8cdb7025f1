"""The harness of `make bench-audit`: what it skips, whom it compares, what it writes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.audit.cost import Cost, CostRun
from benchmarks.audit.data import prepared
from benchmarks.audit.discriminant import LDA, discriminant
from benchmarks.audit.document import render
from benchmarks.audit.families import (
    AUTO_PROBE,
    BEST_OF_GRID,
    ONE_OF_GRID,
    OURS,
    auto_probe,
    grid,
)
from benchmarks.audit.generated import GENERATED
from benchmarks.audit.logistic import (
    ARGMAX_RULE,
    CLEANED,
    DEFAULT_RULE,
    LADDER,
    PLAIN,
    TUNED,
    climb,
)
from benchmarks.audit.neighbours import VOTE, vote
from benchmarks.audit.noisy_data import NoisyData, draw_labels
from benchmarks.audit.plan import plan
from benchmarks.audit.run import PICTURE, measure
from benchmarks.audit.runs import AuditRecord, AuditResult, AuditRun, Outcome, Score, Setting
from benchmarks.audit.summary import RIVALS, Comparison
from benchmarks.audit.targets import accuracy_differences, targets
from twohot import LinearProbe
from twohot.experiment import Log, Record, run_plan, unfinished

ROOT = Path(__file__).parents[2]
SETTING = Setting("digits", "symmetric", 0.6)


def record(setting: Setting, seed: int, family: str, outcome: Outcome) -> AuditRecord:
    result = AuditResult(outcome, noise_rate=0.6, outvoted=0.0)
    return Record(AuditRun(setting, seed, family), result, None, 1.0, 1.0, {"numpy": "2"})


def linear(seed: int, plain: float, cleaned: float, setting: Setting = SETTING) -> AuditRecord:
    rule = Score(precision=0.9, recall=0.9, f1=0.9, average_precision=0.95)
    scores = {
        PLAIN: Score(plain),
        CLEANED: Score(cleaned),
        TUNED: Score(cleaned - 0.1),
        DEFAULT_RULE: rule,
        ARGMAX_RULE: replace(rule, f1=0.8),
    }
    outcome = Outcome(scores, {"folds, C 1": 2.0, "refit": 1.0}, {"C": 1.0, "tuned_C": 3.0})
    return record(setting, seed, "logistic", outcome)


def ours(
    seed: int,
    accuracy: float,
    f1: float = 0.85,
    setting: Setting = SETTING,
    family: str = AUTO_PROBE,
) -> AuditRecord:
    outcome = Outcome({OURS: Score(accuracy, 0.9, 0.9, f1, 0.97)}, {"fit": 1.0, "issues": 0.5}, {})
    return record(setting, seed, family, outcome)


def blobs(seed: int = 0) -> NoisyData:
    """Four directions with a third of the labels wrong, small enough for any method."""
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), 40)
    rows = np.eye(4, 6)[labels] + 0.3 * generator.normal(size=(160, 6))
    data = prepared(
        "blobs", rows, labels, rows[::3], labels[::3], superclass=np.array([0, 0, 1, 1])
    )
    return draw_labels(data, Setting("blobs", "symmetric", 0.3), seed)


def test_the_kept_records_are_all_read_and_the_page_is_theirs() -> None:
    folder = ROOT / "benchmarks" / "audit"
    log, costs = Log(folder / "runs.jsonl"), Log(folder / "costs.jsonl")
    records = log.finished(AuditRun, AuditResult)
    assert len(records) == len(log.records(AuditRun, AuditResult)) == len(log.identities()) == 2170
    page = (ROOT / "docs" / "audit_benchmark.md").read_text(encoding="utf-8")
    assert render(records, costs.finished(CostRun, Cost), PICTURE) == page


def test_finished_runs_are_skipped_and_the_others_keep_their_order(tmp_path: Path) -> None:
    runs, log = plan(["digits"], ["logistic", AUTO_PROBE]), Log(tmp_path / "runs.jsonl")
    done = [linear(0, 0.9, 0.8), ours(1, 0.91)]
    for each in done:
        log.append(each)
    left = unfinished(runs, log)
    assert left == [run for run in runs if run not in {record.run for record in done}]
    assert len(left) == len(runs) - 2


def test_a_run_leaves_what_its_family_found(tmp_path: Path) -> None:
    log, data = Log(tmp_path / "runs.jsonl"), blobs().data
    run = AuditRun(Setting("blobs", "symmetric", 0.3), 0, "neighbours")
    run_plan([run], log, lambda run: measure(run, data))
    (found,) = log.finished(AuditRun, AuditResult)
    assert found.result.noise_rate == blobs().wrong.mean()
    assert found.result.outcome.scores == vote(blobs()).scores


def test_a_plan_has_every_run_once_and_dear_ones_last() -> None:
    names = ["CIFAR-100", "CIFAR-100, 100 a class", "digits"]
    runs = plan(names, ["lda"])
    assert len(set(runs)) == len(runs) == 19 * 12 + 19 * 3 + 3
    # What takes minutes is planned for some settings of dear sets alone.
    assert len(plan(names, ["logistic"])) == 19 * 12 + 7 + 3
    assert len(plan(names, ["neighbours"])) == 19 * 12 + 19 + 3
    assert len(plan(names, ["grid"])) == 11 * 12
    assert [run.setting.data for run in runs[:228]] == ["digits"] * 228
    # Of all rows of CIFAR-100 one draw is made.
    assert {(run.setting.data, run.seed) for run in runs[228:231]} == {("CIFAR-100", 0)}
    assert {run.seed for run in runs[231:]} == {0, 1, 2}
    drawn = {"symmetric", "asymmetric", "superclass", "human", "clean", "idn", "pair"}
    assert {run.setting.kind for run in runs} == drawn
    thinned = {run.setting.noise for run in runs if run.setting.thinning}
    assert thinned == {"few, clean", "few, symmetric", "tail, clean", "tail, symmetric"}
    generated = plan(GENERATED, ["lda"])
    assert len(set(generated)) == len(generated) == 3 * (3 * 5 + 3)
    assert {run.setting.kind for run in generated} == {"clean", "uniform"}


def test_a_difference_is_paired_and_against_the_better_rival() -> None:
    records = [linear(0, 0.5, 0.4), linear(1, 0.6, 0.9), ours(0, 0.55), ours(1, 0.85)]
    found = Comparison(records).difference(SETTING, OURS, RIVALS, "accuracy")
    assert found.rival == CLEANED  # 0.65 against 0.55 on average
    np.testing.assert_allclose(found.mean.value, (0.15 - 0.05) / 2)
    np.testing.assert_allclose(found.mean.error, 0.1)  # of 0.15 and -0.05: half their distance


def test_the_best_rival_is_compared_on_all_its_seeds() -> None:
    said = Outcome({LDA: Score(0.6)}, {"fit": 1.0}, {})
    lda = [record(SETTING, seed, "lda", said) for seed in (0, 1, 2)]
    records = [linear(0, 0.5, 0.4), *lda, ours(0, 0.7), ours(1, 0.5), ours(2, 0.9)]
    found = Comparison(records).accuracy_difference(SETTING)
    assert (found.rival, found.mean.n) == (LDA, 3)
    np.testing.assert_allclose(found.mean.value, 0.1)


def test_a_seed_that_a_rival_lacks_is_not_compared() -> None:
    records = [linear(0, 0.5, 0.4), ours(0, 0.7), ours(1, 0.0)]
    found = Comparison(records).accuracy_difference(SETTING)
    assert found.mean.n == 1
    assert found.mean.error is None
    np.testing.assert_allclose(found.mean.value, 0.2)


def test_lda_is_a_rival_where_it_was_run() -> None:
    other = Setting("digits", "clean", 0.0)
    lda = record(SETTING, 0, "lda", Outcome({LDA: Score(0.8)}, {"fit": 1.0}, {}))
    records = [linear(0, 0.5, 0.4), ours(0, 0.7), lda]
    records += [linear(0, 0.5, 0.4, other), ours(0, 0.7, setting=other)]
    comparison = Comparison(records)
    assert comparison.accuracy_difference(SETTING).rival == LDA
    assert comparison.accuracy_difference(other).rival == PLAIN
    # Alone it is no comparison.
    assert Comparison([ours(0, 0.7), lda]).accuracy_difference(SETTING) is None
    assert "| 50.0 | 40.0 | 30.0 | 80.0 | – | 70.0 |" in render(records)


@given(st.floats(-0.02, 0.02))
def test_one_seed_is_held_to_the_slack_alone(difference: float) -> None:
    (found,) = accuracy_differences(Comparison([linear(0, 0.5, 0.4), ours(0, 0.5 + difference)]))
    assert found.is_within(0.003) == (found.mean.value >= -0.003)


def test_a_loss_beyond_chance_is_named_and_one_within_is_not() -> None:
    other = Setting("digits", "asymmetric", 0.6)
    lost = [r for seed in (0, 1) for r in (linear(seed, 0.9, 0.8), ours(seed, 0.85))]
    noisy = [linear(0, 0.9, 0.8, other), linear(1, 0.9, 0.8, other)]
    noisy += [ours(0, 0.80, setting=other), ours(1, 0.98, setting=other)]
    first = targets(Comparison(lost + noisy), [])[0]
    assert first.met is False
    assert "digits, symmetric 0.6: -5.0" in first.measured
    assert "asymmetric" not in first.measured


def test_one_model_of_the_grid_is_the_same_for_all_seeds() -> None:
    on_test = [{"a": 0.9, "b": 0.5, "c": 0.99}, {"a": 0.4, "b": 0.7}]
    grids = [
        record(
            SETTING,
            seed,
            "grid",
            Outcome({BEST_OF_GRID: Score(max(found.values()))}, {}, {"on_test": found}),
        )
        for seed, found in enumerate(on_test)
    ]
    comparison = Comparison([ours(0, 0.9), ours(1, 0.6), *grids])
    # c was tried once only; a is ahead of b on average.
    assert comparison.by_seed(SETTING, ONE_OF_GRID, "accuracy") == {0: 0.9, 1: 0.4}
    found = {target.what: target for target in targets(comparison, [])}
    best, one = (
        target for what, target in found.items() if "its own grid" in what or "the one" in what
    )
    assert (best.met, one.met) == (False, True)


def test_the_document_shows_means_differences_wins_and_losses() -> None:
    records = [linear(0, 0.90, 0.80), linear(1, 0.92, 0.80), ours(0, 0.93), ours(1, 0.97)]
    text = render(records)
    assert (
        "| symmetric 0.6 | 2 | 1 | 3 | 91.0 ± 1.0 | 80.0 ± 0.0 | 70.0 ± 0.0 | – | – | 95.0 ± 2.0 |"
        in text
    )
    assert "| +4.0 ± 1.0 | LogisticRegression |" in text
    assert f"| {DEFAULT_RULE} | – | 0 / 1 | 1 / 0 |" in text  # F1 lost, average precision won
    assert "| digits | 3.0 |" in text
    assert f"| F1 | digits, symmetric 0.6 | -5.0 ± 0.0 | 2 | {DEFAULT_RULE} |" in text
    assert "| test accuracy | digits, symmetric 0.6 |" not in text  # no loss
    assert "| digits | 2 of 228 | 0 of 228 | 0 of 228 | 2 of 228 | 0 of 132 |" in text
    assert "| overlap 1.5 | 0 of 15 | 0 of 15 | 0 of 15 | 0 of 15 | – |" in text
    assert "* Gaussians: all\n" in text  # not run
    assert "pair 0.4; few, clean; few, symmetric 0.3;" in text


def test_the_document_builds_without_ours() -> None:
    text = render([linear(0, 0.9, 0.8)])
    assert (
        "| symmetric 0.6 | 1, ours 0 | 1 | 3 | 90.0 | 80.0 | 70.0 | – | – | – | – | – | – |" in text
    )
    assert "not measured" in text


@pytest.mark.parametrize("peak", range(len(LADDER)))
def test_the_grid_of_c_goes_on_until_the_best_is_inside(peak: int) -> None:
    tried = climb(lambda C: -abs(LADDER.index(C) - peak))
    first, last = (LADDER.index(C) for C in (min(tried), max(tried)))
    assert sorted(tried) == list(LADDER[first : last + 1])
    assert first == max(min(peak - 1, LADDER.index(1.0)), 0)
    assert last == min(max(peak + 1, LADDER.index(3.0)), len(LADDER) - 1)


def test_the_vote_is_that_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.audit.neighbours.NEIGHBOURS", (7,))
    problem = blobs()
    X, y = problem.data.X, problem.given_labels
    alone = np.empty_like(y)
    for row in range(len(X)):  # leave one out, by hand
        rest = np.arange(len(X)) != row
        plain = KNeighborsClassifier(7, metric="cosine").fit(X[rest], y[rest])
        alone[row] = plain.predict(X[[row]])[0]
    full = KNeighborsClassifier(7, metric="cosine").fit(X, y)
    found = vote(problem)
    assert found.scores[VOTE].accuracy == problem.accuracy(full.predict(problem.data.X_test))
    assert found.scores[VOTE].recall == (alone != y)[problem.wrong].mean()
    assert found.chosen["agreement"] == {"7": (alone == y).mean()}


def test_a_class_that_is_outvoted_is_counted() -> None:
    problem = blobs()
    assert problem.outvoted == 0
    labels = problem.data.true_labels.copy()
    labels[labels == 3] = 2
    assert NoisyData(problem.data, labels, 0).outvoted == 0.25


def test_detection_scores_are_those_of_their_definition() -> None:
    problem = blobs()
    flagged = np.zeros(160, dtype=bool)
    flagged[:80] = True
    score = problem.detection(flagged, np.where(problem.wrong, 0.1, 0.9))
    assert score.precision == problem.wrong[:80].mean()
    assert score.recall == problem.wrong[:80].sum() / problem.wrong.sum()
    np.testing.assert_allclose(score.f1, 2 / (1 / score.precision + 1 / score.recall))
    assert score.average_precision == 1
    assert score.flagged == 0.5


def test_without_a_wrong_label_only_the_share_of_flags_is_known() -> None:
    data = blobs().data
    clean = draw_labels(data, Setting("blobs", "clean", 0.0), 0)
    flagged = np.arange(160) < 40
    assert clean.detection(flagged, np.ones(160), 0.9) == Score(0.9, flagged=0.25)
    setting = Setting("digits", "clean", 0.0)
    alarms = Outcome({OURS: Score(0.9, flagged=0.25)}, {"fit": 1.0}, {})
    text = render([record(setting, 0, AUTO_PROBE, alarms)])
    assert "| digits, clean | – | – | – | 25.0 |" in text
    assert "### digits" not in text.partition("## Detection")[2]


def test_autoprobe_gets_rows_as_they_come_and_the_others_prepared_ones() -> None:
    problem = blobs()
    data = problem.data
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1, rtol=1e-6)
    assert data.is_prepared
    far = replace(problem, data=replace(data, raw=data.raw + 100, raw_test=data.raw_test + 100))
    assert auto_probe(far).scores[OURS].accuracy == auto_probe(problem).scores[OURS].accuracy
    lost = replace(problem, data=replace(data, raw=0 * data.raw + np.arange(6), raw_test=data.raw))
    assert vote(lost).scores == vote(problem).scores
    assert discriminant(lost).scores == discriminant(problem).scores


def test_lda_is_that_of_scikit_learn() -> None:
    problem = blobs()
    plain = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    predicted = plain.fit(problem.data.X, problem.given_labels).predict(problem.data.X_test)
    assert discriminant(problem).scores == {LDA: Score(problem.accuracy(predicted))}


def test_the_grid_is_judged_on_test_rows_each_probe_fitted_alone() -> None:
    problem = blobs()
    found = grid(problem)
    on_test = found.chosen["on_test"]
    assert found.scores[BEST_OF_GRID].accuracy == max(on_test.values())
    alone = LinearProbe(loss="gce", ridge=10.0, tol=1e-2)
    predicted = alone.fit(problem.data.X, problem.given_labels).predict(problem.data.X_test)
    assert on_test["robust (ridge 10)"] == problem.accuracy(predicted)


def test_autoprobe_is_recorded_with_what_it_tried_and_chose() -> None:
    found = auto_probe(blobs())
    assert found.chosen["chosen"] in found.chosen["agreement"]
    assert set(found.cpu) == {"fit"}
    assert found.scores[OURS].accuracy > 0.9
    assert found.scores[OURS].f1 > 0.9


def test_a_grid_is_planned_for_cheap_runs_alone() -> None:
    runs = plan(["digits", "CIFAR-100"], ["grid"])
    assert len(runs) == 11 * 12
    assert {run.setting.data for run in runs} == {"digits"}
