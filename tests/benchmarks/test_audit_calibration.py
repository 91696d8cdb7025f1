"""Calibration in the audit's benchmark: what is counted, what is promised, what is drawn."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import problems
from benchmarks.audit.calibration import (
    BINS,
    PRECISIONS,
    Promise,
    covered,
    measure_calibration,
    promises,
    reliability,
)
from benchmarks.audit.data import prepared
from benchmarks.audit.families import AUTO_PROBE, OURS, auto_probe
from benchmarks.audit.noisy_data import NoisyData
from benchmarks.audit.reliability import draw_reliability, grouped, reliability_part
from benchmarks.audit.runs import AuditRecord, AuditResult, AuditRun, Outcome, Score, Setting
from twohot import find_label_issues
from twohot.experiment import Record

SETTING = Setting("digits", "symmetric", 0.4)


def noisy_digits() -> NoisyData:
    data = problems.digits(0.4, 300)
    superclass = np.zeros(10, dtype=int)
    stored = prepared(
        "digits", data.X, data.true_labels, data.X_test, data.test_labels, superclass=superclass
    )
    return NoisyData(stored, data.given_labels, seed=0)


def record(found: dict, setting: Setting = SETTING, noise_rate: float = 0.4) -> AuditRecord:
    outcome = Outcome({OURS: Score(0.9)}, {"fit": 1.0}, {"calibration": found})
    result = AuditResult(outcome, noise_rate, outvoted=0.0)
    return Record(AuditRun(setting, 0, AUTO_PROBE), result, None, 1.0, 1.0, {"numpy": "2"})


def made(bins: list[list[float]], interval: tuple[float, float] = (0.3, 0.5)) -> dict:
    rest = [[0.0, 0.0, 0.0]] * (len(BINS) - 1 - len(bins))
    promised = {"0.5": [10, 6], "0.9": [0, 0]}
    return {"noise_interval": list(interval), "bins": bins + rest, "promised": promised}


def test_the_family_audits_as_find_label_issues_does() -> None:
    noisy = noisy_digits()
    outcome = auto_probe(noisy)
    issues = find_label_issues(noisy.data.raw, noisy.given_labels, n_jobs=1, random_state=0)
    assert outcome.scores[OURS].flagged == issues.is_label_issue.mean()
    found = outcome.chosen["calibration"]
    assert found["noise_rate"] == pytest.approx(issues.noise_rate)
    assert found["noise_interval"] == pytest.approx(list(issues.noise_interval))
    asked = find_label_issues(
        noisy.data.raw, noisy.given_labels, n_jobs=1, random_state=0, precision=0.9
    )
    assert found["promised"]["0.9"][0] == asked.n_issues


def test_labels_are_counted_by_how_probably_they_are_wrong() -> None:
    doubt = np.array([0.0, 0.05, 0.31, 0.39, 1.0])
    wrong = np.array([False, True, False, True, True])
    verdict = SimpleNamespace(
        doubt=doubt,
        noise_rate=0.35,
        noise_interval=(0.1, 0.4),
        flag_for=lambda precision: doubt >= precision,
    )
    found = measure_calibration(verdict, SimpleNamespace(wrong=wrong))
    bins = np.array(found["bins"])
    np.testing.assert_array_equal(bins[:, 0], [2, 0, 0, 2, 0, 0, 0, 0, 0, 1])
    np.testing.assert_allclose(bins[[0, 3, 9], 1], [0.05, 0.7, 1.0])
    np.testing.assert_array_equal(bins[[0, 3, 9], 2], [1, 1, 1])
    assert found["promised"] == {f"{each:g}": [1, 1] for each in PRECISIONS}
    assert found["n_wrong"] == 3


@pytest.mark.parametrize(
    ("asked", "n_flagged", "n_wrong", "kept"),
    [(0.9, 0, 0, True), (0.9, 10_000, 8_500, True), (0.9, 10_000, 8_400, False), (0.9, 4, 3, True)],
)
def test_a_promise_may_be_missed_by_chance_and_a_little_more(asked, n_flagged, n_wrong, kept):
    assert Promise(SETTING, asked, n_flagged, n_wrong).is_kept == kept


def test_every_run_counts_alike() -> None:
    few = record(made([[10, 0.5, 1]]), noise_rate=0.4)
    many = record(made([[1000, 50, 300]]), noise_rate=0.2)
    found = reliability([few, many])
    np.testing.assert_allclose(found[0], [2, 0.05, 0.2])
    assert [inside for _, inside in covered([few, many])] == [True, False]
    assert [(each.asked, each.n_flagged) for each in promises([few])] == [(0.5, 10), (0.9, 0)]


def test_the_page_has_a_line_and_the_picture_a_curve_for_each_kind(tmp_path: Path) -> None:
    kinds = [
        Setting("digits", "symmetric", 0.4),
        Setting("digits", "few, idn", 0.2),
        Setting("overlap 1", "uniform", 0.1),
        Setting("overlap 1", "clean", 0.0),
    ]
    records = [record(made([[10, 0.5, 1], [10, 1.5, 2]]), setting) for setting in kinds]
    names = ["drawn noise", "noise at the boundary", "overlapping classes", "no wrong label"]
    assert list(grouped(records)) == names
    part = "\n".join(reliability_part(records, "figures/reliability.png"))
    assert "![Reliability diagram](figures/reliability.png)" in part
    assert "| drawn noise | 1 | 1 of 1 | 1 of 2 | 1 of 1 |" in part
    draw_reliability(records, tmp_path / "reliability.png")
    assert (tmp_path / "reliability.png").stat().st_size > 10_000
    assert reliability_part([], "") == []
