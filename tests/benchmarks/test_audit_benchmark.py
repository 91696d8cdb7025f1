"""The harness of `make bench-audit`: what is planned, drawn, compared and written."""

from argparse import Namespace
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.audit import data, report, run
from benchmarks.audit.data import Data, Task, draw_task, given_labels, prepare, shaped
from benchmarks.audit.ours import OurResult, measure_ours
from benchmarks.audit.peers import NEIGHBOURS, PeerResult, measure_peers, nearest_vote
from benchmarks.audit.plan import PEOPLE, SETS, TURNS, OurRun, PeerRun, Setting, settings
from twohot_paper import Log, Record

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "audit" / "runs.jsonl"
SETTING = Setting("digits", "symmetric", 0.6, "all")
OTHER = Setting("labelme", "people", 0.0, "all")


def blobs(class_sizes: list[int], seed: int = 0) -> Data:
    """Return directions with noise, far from the origin."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.repeat(np.arange(len(class_sizes)), class_sizes))
    rows = 5 + np.eye(len(class_sizes), 6)[labels] + 0.3 * generator.normal(size=(len(labels), 6))
    return Data(rows.astype(np.float32), labels, rows[:40].astype(np.float32), labels[:40])


def draw(of: Data, noise: str, rate: float, seed: int = 0) -> Task:
    prepared = prepare(of.rows, of.test_rows)
    setting = Setting("digits", noise, rate, "all")
    given = given_labels(of, prepared[0], setting, np.random.default_rng(seed))
    return Task(of.rows, of.test_rows, *prepared, given, of.labels, of.test_labels)


def peer_record(
    accuracy: dict[str, float], *, setting: Setting = SETTING, number: int = 0, digest: int = 1
) -> Record[PeerRun, PeerResult]:
    f1 = {"default": 0.5, "argmax": 0.7}
    accuracy = dict.fromkeys(report.REGRESSIONS, 0.5) | accuracy
    result = PeerResult(100, 0.3, digest, accuracy, f1, {"default": 0.2, "argmax": 0.3}, {})
    return Record(PeerRun(setting, number), result, None, 1.0, 1.0, {})


def our_record(
    accuracy: float, *, setting: Setting = SETTING, number: int = 0, digest: int = 1
) -> Record[OurRun, OurResult]:
    parts = [(place / 10, 0.3) for place in range(10)]
    result = OurResult(
        n_rows=100,
        noise_rate=0.3,
        digest=digest,
        accuracy=accuracy,
        f1=0.8,
        flagged=0.3,
        estimated=0.2,
        interval=(0.1, 0.25 + 0.1 * number),
        precision=0.9 - 0.2 * number,
        n_precise=60,
        deciles=parts,
        cpu={"AutoProbe": 1.0, "find_label_issues": 3.0},
    )
    return Record(OurRun(setting, number), result, None, 1.0, 1.0, {})


def log_of(path: Path, *records: Record) -> Path:
    for record in records:
        Log(path).append(record)
    return path


def test_the_plan_has_every_noise_and_every_shape_of_every_set() -> None:
    planned = settings()
    assert len(set(planned)) == len(planned) <= 120
    found = {(each.data, each.noise, each.rate) for each in planned}
    impossible = {("davidson", 0.8), ("banking77/3", 0.8), ("cifar100/2", 0.6), ("cifar100/2", 0.8)}
    for name, (noise, rate) in product(SETS, TURNS):
        is_possible = (name, rate) not in impossible or noise != "symmetric"
        is_possible &= noise != "superclass" or name in ("cifar100", "generated")
        assert ((name, noise, rate) in found) == is_possible
    assert {each.data for each in planned if each.noise in PEOPLE} == {
        "davidson",
        "labelme",
        "cifar100",
    }
    for name, known in SETS.items():
        shapes = {each.shape for each in planned if each.data == name}
        assert {"few", "tail", known.natural} <= shapes
        assert "balanced" in shapes or known.drawn_from or name == "generated"


def test_without_features_digits_and_generated_classes_are_left() -> None:
    asked = Namespace(features=None, settings="", all_rows=False, only=None, draws=None)
    chosen = run.select(settings(), asked)
    assert {each.data for each in chosen} == {"digits", "generated"}
    runs = run.plan(chosen, asked)
    assert [type(each) for each in runs[:2]] == [PeerRun, OurRun]
    assert len(runs) == 2 * sum(each.n_draws for each in chosen)


def test_a_draw_is_the_same_for_everybody() -> None:
    setting = Setting("digits", "symmetric", 0.3, "few")
    first, other = (draw_task(setting, number, None) for number in (0, 1))
    draw_task.cache_clear()
    again = draw_task(setting, 0, None)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.given, again.given)
    assert first.digest == again.digest != other.digest
    assert np.bincount(first.truth).tolist() == [15] * 10


def test_a_set_that_is_not_in_the_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"labelme_vgg\.npz, which labelme needs"):
        data.load("labelme", tmp_path)


def test_a_stored_set_is_read_with_its_votes(tmp_path: Path) -> None:
    y = np.array([0, 1, 1], dtype=np.int16)
    arrays = {"X_train": np.eye(3, dtype=np.float16), "y_train": y, "y_train_human": y[::-1]}
    np.savez(tmp_path / "labelme_vgg.npz", X_test=np.eye(3), y_test=y, **arrays)
    found = data.load("labelme", tmp_path)
    assert list(found.votes) == ["people"]
    kept = found.take(np.array([2, 0]))
    assert kept.votes["people"].tolist() == [0, 1]
    assert kept.superclass is None
    assert given_labels(kept, kept.rows, OTHER, np.random.default_rng(0)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shape", "sizes"), [("all", [200, 60, 30]), ("balanced", [30] * 3), ("few", [15] * 3)]
)
def test_shapes_have_the_class_sizes_that_the_page_says(shape: str, sizes: list[int]) -> None:
    labels = blobs([200, 60, 30]).labels
    kept = shaped(labels, shape, np.random.default_rng(0))
    assert np.bincount(labels[kept]).tolist() == sizes
    assert len(set(kept)) == len(kept)


def test_the_tail_falls_to_a_twentieth_in_random_order() -> None:
    labels = np.repeat(np.arange(5), 400)
    orders = set()
    for seed in range(3):
        sizes = np.bincount(labels[shaped(labels, "tail", np.random.default_rng(seed))])
        expected = np.rint(400 * 20.0 ** (-np.arange(5) / 4))
        np.testing.assert_array_equal(np.sort(sizes)[::-1], expected)
        orders.add(tuple(sizes))
    assert len(orders) > 1


def test_noise_does_what_the_page_says() -> None:
    problem = blobs([400, 150, 150])
    assert not draw(problem, "none", 0.0).wrong.any()
    assert draw(problem, "symmetric", 0.3).wrong.mean() == pytest.approx(0.3, abs=0.06)
    pair = draw(problem, "pair", 0.4)
    np.testing.assert_array_equal(pair.given[pair.wrong], (pair.truth[pair.wrong] + 1) % 3)
    one = draw(problem, "one class", 0.4)
    assert set(one.truth[one.wrong]) == {0}
    assert set(one.given[one.wrong]) == {1}
    assert one.wrong[one.truth == 0].mean() == pytest.approx(0.4, abs=0.08)


def test_noise_at_the_boundary_prefers_rows_that_look_like_others() -> None:
    problem = blobs([150, 150, 150])
    likely = data.clean_probabilities(prepare(problem.rows, problem.test_rows)[0], problem.labels)
    certainty = likely[np.arange(450), problem.labels]
    wrong = np.mean([draw(problem, "boundary", 0.2, seed).wrong for seed in range(4)], axis=0)
    assert wrong.mean() == pytest.approx(0.2, abs=0.04)
    assert np.average(certainty, weights=wrong) < certainty.mean() - 0.05


@pytest.mark.filterwarnings("ignore::UserWarning")  # of cleanlab and of folds, about rare labels
@pytest.mark.parametrize("n_left", [0, 1, 20])
def test_peers_learn_and_a_class_may_lose_its_labels(n_left: int) -> None:
    task = draw(blobs([60, 20, 60, 60]), "none", 0.0)
    given = task.truth.copy()
    given[np.flatnonzero(given == 1)[n_left:]] = 0
    found = measure_peers(replace(task, given=given))
    assert set(found.accuracy) == {"LogisticRegression", "CleanLearning", "LDA", "kNN"}
    assert min(found.accuracy.values()) > (0.9 if n_left == 20 else 0.6)
    assert found.noise_rate == pytest.approx((20 - n_left) / 200)
    assert (found.f1["argmax"] is None) == (n_left == 20)
    assert found.digest != task.digest or n_left == 20


def test_the_vote_is_that_of_scikit_learn() -> None:
    task = draw(blobs([30, 30, 30]), "symmetric", 0.3)
    X, y = task.prepared, task.given
    agreement = {
        k: cross_val_score(KNeighborsClassifier(k), X, y, cv=LeaveOneOut()).mean()
        for k in NEIGHBOURS
    }
    k, predicted = nearest_vote(X, y, task.prepared_test)
    assert agreement[k] == max(agreement.values())
    expected = KNeighborsClassifier(k).fit(X, y).predict(task.prepared_test)
    np.testing.assert_array_equal(predicted, expected)


def test_accuracy_has_the_class_shares_of_the_training_rows() -> None:
    task = draw(blobs([90, 10]), "none", 0.0)
    assert task.accuracy(np.zeros_like(task.test_labels)) == pytest.approx(0.9)
    assert task.accuracy(task.test_labels) == 1


def test_f1_is_that_of_its_definition() -> None:
    task = draw(blobs([50, 50]), "symmetric", 0.3)
    assert task.f1(task.wrong) == 1
    assert task.f1(~task.wrong) == 0
    assert draw(blobs([50, 50]), "none", 0.0).f1(task.wrong) is None


def test_ours_are_recorded_and_read_back(tmp_path: Path) -> None:
    task = draw(blobs([60, 60, 60]), "symmetric", 0.2)
    found = measure_ours(task)
    assert found.accuracy > 0.9
    assert found.digest == task.digest
    assert found.interval[0] <= found.estimated <= found.interval[1]
    assert set(found.cpu) == {"AutoProbe", "find_label_issues"}
    path = log_of(tmp_path / "runs.jsonl", Record(OurRun(SETTING, 0), found, None, 1.0, 1.0, {}))
    (record,) = Log(path).finished(OurRun, OurResult)
    assert record.result == found


def test_regret_is_against_the_peer_that_is_best_on_average(tmp_path: Path) -> None:
    path = log_of(
        tmp_path / "runs.jsonl",
        peer_record({"LDA": 0.9, "kNN": 0.5}),
        peer_record({"LDA": 0.7, "kNN": 0.8}, number=1),
        our_record(0.9),
        our_record(0.9, number=1),
        our_record(0.1, number=2),  # no peer has this draw
    )
    (row,) = report.compare(path, path)
    assert (row.peer, row.n_draws) == ("LDA", 2)
    np.testing.assert_allclose([row.gain, row.error], [10, 10])
    np.testing.assert_allclose(row.regression_gain, 40)
    np.testing.assert_allclose([row.f1, row.f1_gain], [80, 10])
    np.testing.assert_allclose([row.precision, row.n_precise, row.covered], [0.8, 120, 50])
    assert row.cpu == 4


def test_other_labels_are_not_compared(tmp_path: Path) -> None:
    path = log_of(tmp_path / "runs.jsonl", peer_record({"LDA": 0.9}), our_record(0.9, digest=2))
    with pytest.raises(ValueError, match=r"draw 0, ours: peers had other rows or labels"):
        report.compare(path, path)


def test_the_kept_records_are_of_the_plan_and_the_pages_are_theirs() -> None:
    known = {(each, number) for each in settings() for number in range(each.n_draws)}
    kept = Log(RECORDS).finished(PeerRun, PeerResult)
    assert {(record.run.setting, record.run.draw) for record in kept} == known
    rows = report.compare(RECORDS, RECORDS)
    page = (ROOT / "docs" / "audit_benchmark.md").read_text(encoding="utf-8")
    details = ROOT / "docs" / "audit_benchmark_settings.md"
    assert page == report.render(rows, details.name, "figures/audit_benchmark.png")
    assert len(page.split()) <= 600
    assert details.read_text(encoding="utf-8") == report.render_settings(rows)


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/comparison.md"])
def test_tables_of_results_have_the_means_of_the_records(page: str) -> None:
    rows, text = report.compare(RECORDS, RECORDS), (ROOT / page).read_text(encoding="utf-8")
    means = {name: cells for name, *cells in report.grouped(rows, lambda row: row.setting.noise)}
    for noise in ("none", "symmetric", "pair", "one class", "boundary", "people"):
        cells = [each.split(" / ")[0].replace("-", "−") for each in means[noise]]
        assert f"| {' | '.join(cells)} |" in text.replace("*", ""), noise


def test_the_command_measures_once_and_writes_both_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def peers_of(task: Task) -> PeerResult:
        measured.append(len(task.given))
        return peer_record({"LDA": 0.5}).result

    (tmp_path / "figures").mkdir()
    monkeypatch.setitem(run.MEASURES, PeerRun, peers_of)
    monkeypatch.setitem(run.MEASURES, OurRun, lambda _: our_record(0.6).result)
    command = ["--records", str(tmp_path / "runs.jsonl"), "--settings", "digits, none, all"]
    for _ in range(2):
        run.main([*command, "--output", str(tmp_path / "page.md")])
    assert measured == [1257]
    assert "(page_settings.md)" in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| digits, none, all | 1 |" in (tmp_path / "page_settings.md").read_text(
        encoding="utf-8"
    )
