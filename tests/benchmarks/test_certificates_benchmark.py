"""The simulation of certificates: it counts what it says, and its page is that of its records."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.audit.plan import Setting
from benchmarks.certificates import lists, report, reviews, run
from benchmarks.certificates.lists import ListResult, Lists, best_threshold, simulate_lists
from benchmarks.certificates.plan import (
    CHECKED,
    COVERAGE,
    RATES,
    CostRun,
    CoverageRun,
    ErringRun,
    ListRun,
    runs,
)
from benchmarks.certificates.reviews import CostResult, CoverageResult, ErringResult
from twohot.audit.guaranteed_list import draw_check
from twohot_paper import Log, Record

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "certificates" / "runs.jsonl"
SETTING = Setting("digits", "symmetric", 0.3, "all")


def doubts(n_rows: int = 1_200, n_wrong: int = 300) -> tuple[np.ndarray, np.ndarray]:
    wrong = np.arange(n_rows) < n_wrong
    return np.random.default_rng(0).normal(size=n_rows) + 3 * wrong, wrong


def test_lists_are_counted_by_rate_and_number_of_rows() -> None:
    doubt, wrong = doubts()
    found = simulate_lists(doubt, wrong, 300, 40, 0)
    assert (found.n_rows, found.n_wrong, found.n_flagged) == (1_200, 300, 300)
    assert [(each.n_checked, each.fdr) for each in found.lists] == [
        (n_checked, fdr) for n_checked in CHECKED for fdr in RATES
    ]
    assert all(each.fdp <= each.fdr + 3 * each.error for each in found.lists)
    most = found.lists[-1]
    assert most.appeared == 1
    assert most.power > 0.9
    assert max(found.missed.values()) <= 0.2  # 40 draws


def test_the_best_threshold_is_that_of_its_definition() -> None:
    doubt, wrong = doubts(200, 60)
    draw = draw_check(doubt, 60, 20)
    left = [row for row in np.argsort(-doubt) if row not in draw.rows]
    hits = [
        int(wrong[left[:length]].sum())
        for length in range(1, len(left) + 1)
        if np.mean(~wrong[left[:length]]) <= 0.1
    ]
    assert best_threshold(draw, doubt, wrong, 0.1) == max(hits)
    assert best_threshold(draw, doubt, np.zeros(200, dtype=bool), 0.1) == 0


@pytest.mark.parametrize(("order", "n_wrong"), COVERAGE)
def test_reviews_of_every_order_end_and_mostly_cover(order: str, n_wrong: int) -> None:
    found = reviews.measure_coverage(CoverageRun(order, n_wrong, n_reviews=4), None)
    assert found.missed <= 0.5


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "audited", lambda *_: doubts(2_000, 400))


@pytest.mark.usefixtures("audited")
def test_a_review_by_the_list_costs_less_than_in_random_order() -> None:
    first, by_chance = (
        reviews.measure_cost(CostRun("any", rule, 2), None)
        for rule in ("list first", "random order")
    )
    assert np.mean(first.looks) < 0.7 * np.mean(by_chance.looks)
    assert by_chance.n_random == by_chance.looks
    for found in (first, by_chance):
        assert max(found.bound) <= 20
        assert all(a + b == 400 for a, b in zip(found.repairs, found.truth, strict=True))


@pytest.mark.usefixtures("audited")
def test_confirmation_spares_right_labels() -> None:
    confirmed, alone = (
        reviews.measure_erring(ErringRun(confirms, n_reviews=2), None) for confirms in (True, False)
    )
    assert max(confirmed.damaged) < min(alone.damaged)
    for found in (confirmed, alone):
        assert all(a >= b for a, b in zip(found.corrected, found.truth, strict=True))


def test_a_reviewer_without_errors_is_right() -> None:
    generator = np.random.default_rng(0)
    for is_wrong in (True, False):
        for confirms in (True, False):
            said = reviews.decide(generator, is_wrong=is_wrong, error_rate=0.0, confirms=confirms)
            assert said == (is_wrong, int(is_wrong and confirms))


def records(fdp: float = 0.04, truth: int = 40) -> list[Record]:
    cells = [
        Lists(n_checked, fdr, fdp, 0.001, 1.0, 0.5, 0.95) for n_checked in CHECKED for fdr in RATES
    ]
    found = {
        ListRun(SETTING, 1_000): ListResult(9, 3, 3, cells, {"100": 0.05, "300": 0.056}),
        CoverageRun(*COVERAGE[0]): CoverageResult(0.03),
        CostRun("banking77", "list first", 100): CostResult(
            9_000, 1_800, [2_400, 2_500], [1_750, 1_760], [300, 310], [50, 40], [90, 90]
        ),
        CostRun("banking77", "random order", 3): CostResult(
            9_000, 1_800, [8_800], [1_760], [8_800], [40], [90]
        ),
        ErringRun(confirms=True): ErringResult(9_000, 1_800, [4_500], [truth], [3], [90], [300]),
    }
    return [Record(each, result, None, 1.0, 1.0, {}) for each, result in found.items()]


def page_of(tmp_path: Path, made: list[Record]) -> str:
    log = Log(tmp_path / "runs.jsonl")
    for record in made:
        log.append(record)
    found = report.read(log)
    return report.render(found, "lines.md", "figure.png") + report.render_lines(found)


def test_the_page_says_what_is_met(tmp_path: Path) -> None:
    page = page_of(tmp_path, records())
    assert "| ≤ q + 3 standard errors | in 6 of 6 cells | yes |" in page
    assert "| ≤ q | 0.040 / 0.040 / 0.040 | yes |" in page
    assert "| 0.056 (mean of 2: 0.053) | yes |" in page
    assert "| ≥ 0.9 | 0.95 in 1 cells | yes |" in page
    assert "| 0.970 (mean of 1: 0.970) | yes |" in page
    assert "| ≤ 1 | 0.93 | yes |" in page
    assert "| ≤ 0.12 | 0.099 | yes |" in page
    assert "| digits, symmetric 0.3, all, 1000 draws | 3 | 3 |" in page
    assert "| 2% errors, with confirmation | 4,500 | 40 | 3 | 90 | 100% | 300 | 100% |" in page


def test_the_page_names_what_is_not_met_or_not_measured(tmp_path: Path) -> None:
    page = page_of(tmp_path, records(fdp=0.06, truth=400))
    assert "| ≤ q + 3 standard errors | in 4 of 6 cells | **no** |" in page
    assert "| ≤ q | 0.060 / 0.060 / 0.060 | **no** |" in page
    assert "| 400 | 3 | 90 | 0% | 300 | 0% |" in page
    assert page_of(tmp_path / "none", []).count("| not measured | not measured |") == 12


def test_the_kept_records_are_of_the_plan_and_the_page_is_theirs() -> None:
    log = Log(RECORDS)
    found = report.read(log)
    n_found = sum(map(len, (found.lists, found.coverage, found.cost, found.erring)))
    assert n_found == len(runs()) == len(log.identities())
    page = (ROOT / "docs" / "certificates_benchmark.md").read_text(encoding="utf-8")
    assert page == report.render(
        found, "certificates_benchmark_lines.md", "figures/certificates_benchmark.png"
    )
    lines = (ROOT / "docs" / "certificates_benchmark_lines.md").read_text(encoding="utf-8")
    assert lines == report.render_lines(found)


def test_the_command_simulates_once_and_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def measure(each: ListRun, _features: Path | None) -> ListResult:
        measured.append(str(each))
        return records()[0].result

    monkeypatch.setitem(run.MEASURES, ListRun, measure)
    (tmp_path / "figures").mkdir()
    command = ["run", "--records", str(tmp_path / "runs.jsonl"), "--only", "lists"]
    command += ["--runs", "digits, pair", "--output", str(tmp_path / "page.md")]
    monkeypatch.setattr(sys, "argv", command)
    run.main()
    run.main()
    assert measured == ["digits, pair 0.3, all, 1000 draws"]
    assert "| digits, pair 0.3, all, 1000 draws |" in (tmp_path / "page_lines.md").read_text(
        "utf-8"
    )


def test_without_features_only_what_is_there_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["run", "--records", str(tmp_path / "runs.jsonl"), "--list"])
    run.main()
    listed = capsys.readouterr().out
    assert "lists: digits" in listed
    assert "coverage: good doubts, 100 wrong" in listed
    assert "banking77" not in listed
    assert "erring" not in listed


def test_lists_are_of_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "CHECKED", (100,))
    found = lists.measure_lists(ListRun(SETTING, 3), None)
    assert found.n_rows == 1_257
    assert found.n_flagged > 250
    assert set(found.missed) == {"100"}
