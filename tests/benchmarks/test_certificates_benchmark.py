"""The simulation of certificates: it counts what it says, and its page is that of its records."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.audit.plan import Setting
from benchmarks.certificates import report, reviews, run
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
from twohot.audit.guaranteed_list import draw_check
from twohot_paper import Log

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


def test_a_number_that_leaves_no_row_to_list_is_not_simulated() -> None:
    doubt, wrong = doubts()
    doubt[:1_000] = np.nan
    found = simulate_lists(doubt, wrong, 100, 4, 0)
    assert {each.n_checked for each in found.lists} == {100}
    assert list(found.missed) == ["100"]


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
    cells = [Lists(n, fdr, 0.04, 0.001, 1.0, 0.5, 0.95) for n in CHECKED for fdr in RATES]

    def measure(each: ListRun, _features: Path | None) -> ListResult:
        measured.append(str(each))
        return ListResult(9, 3, 3, cells, {"100": 0.05, "300": 0.056})

    monkeypatch.setitem(run.MEASURES, ListRun, measure)
    (tmp_path / "figures").mkdir()
    command = ["--records", str(tmp_path / "runs.jsonl"), "--only", "lists"]
    command += ["--runs", "digits, pair", "--output", str(tmp_path / "page.md")]
    for _ in range(2):
        run.main(command)
    assert measured == ["digits, pair 0.3, all, 1000 draws"]
    assert "| digits, pair 0.3, all, 1000 draws |" in (tmp_path / "page_lines.md").read_text(
        "utf-8"
    )
