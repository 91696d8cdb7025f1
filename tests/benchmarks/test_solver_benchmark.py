"""The harness of `make bench`: what it plans, what its runs leave, what its page is made of."""

from pathlib import Path

import pytest

from benchmarks.pages import NOT_MEASURED
from benchmarks.solver import problems
from benchmarks.solver.document import render, render_details
from benchmarks.solver.passes import PLL, CountGeneralized, CountRounds
from benchmarks.solver.plan import SMALL_L2, SizeOf, plan, read_results
from benchmarks.solver.problems import Size, Source
from benchmarks.solver.reference import CompareLateRound
from benchmarks.solver.run import write_pages
from benchmarks.solver.timings import TimeOverProducts
from twohot import DistilledProbe
from twohot_paper import Log, identity, run_plan

TINY = Source("synthetic", Size(4, 200, 16, -0.01))
DIGITS = Source("digits, float32")
QUICK = (SizeOf, CountRounds, CountGeneralized, CompareLateRound)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Return all that is counted on digits, and nothing that is timed."""
    log = Log(tmp_path_factory.mktemp("solver") / "runs.jsonl")
    runs = [run for run in plan() if isinstance(run, QUICK) and run.source == DIGITS]
    done = run_plan(runs, log, lambda run: run.measure(problems.load))
    assert [record.error for record in done] == [None] * len(runs)
    return log


def test_every_run_is_planned_once() -> None:
    runs, quick = plan(), plan(quick=True)
    assert len({identity(run) for run in runs}) == len(set(runs)) == len(runs)
    # On digits and real features there is nothing to shrink.
    assert {run.source.name for run in set(quick) - set(runs)} == {
        "synthetic",
        "synthetic, many classes",
    }
    assert set(plan(real=False)) < set(runs)


def test_results_are_those_of_the_probes_in_the_order_of_the_plan(log: Log) -> None:
    results = read_results(log)
    found = results.select(penalty=SMALL_L2, tol=1e-6)
    problem = problems.load(DIGITS)
    probe = DistilledProbe(n_rounds=7, l2=SMALL_L2.strength).fit(problem.X, problem.given_labels)
    assert [entry.name for entry in found] == [
        "teacher",
        *(f"student {number}" for number in range(1, 7)),
        PLL,
    ]
    assert [entry.n_passes for entry in found[:-1]] == [each.n_passes for each in probe.rounds_]
    assert results.minutes > 0


def test_the_pages_show_what_was_measured_and_say_what_was_not(log: Log) -> None:
    results = read_results(log)
    page = render(results, "details.md", "figure.png")
    assert "| the sixth round at ridge 1000 |" in page
    assert "so on 1 of 1 problems" in page
    assert f"| ≥ 40 | {NOT_MEASURED} | {NOT_MEASURED} |" in page
    assert "[Another page](details.md)" in page
    details = render_details(results)
    assert "digits, float32: K=10, N=1,797, d=64" in details
    assert details.count("| digits, float32 | λ") == 2 + 4  # cross-entropy, then generalised
    assert "## Real features\n\nNot measured: `--features` was not given." in details


def test_a_page_is_written_with_its_second_page_and_its_figure(log: Log, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    write_pages(read_results(log), tmp_path / "fits.md")
    assert "(fits_details.md)" in (tmp_path / "fits.md").read_text(encoding="utf-8")
    assert "## Late rounds" in (tmp_path / "fits_details.md").read_text("utf-8")
    assert (tmp_path / "figures" / "fits.png").stat().st_size > 10_000


def test_a_fit_is_timed_in_turn_with_its_products() -> None:
    run = TimeOverProducts(TINY, SMALL_L2, n_rounds=2, n_threads=1, n_repeats=3)
    found = run.measure(problems.load)
    assert [ratio.name for ratio in found] == ["synthetic: teacher and 1 student"] * 2
    assert [len(ratio.each) for ratio in found] == [3, 3]
    assert str(run) == "synthetic: 2 rounds over matrix products, 1 thread"


def test_real_features_need_their_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="BANKING77 is made of real features: name their folder"):
        problems.load(Source("BANKING77"))
    with pytest.raises(FileNotFoundError, match=r"has no banking77_minilm\.npz"):
        problems.load(Source("BANKING77"), tmp_path)
