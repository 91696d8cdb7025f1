"""Rows and summary of a review, with the classes in the order of the table."""

from dataclasses import replace

import numpy as np
import pytest

import problems
from twohot import AutoProbe, LinearProbe, find_label_issues
from twohot.audit.report import review_rows, review_summary
from twohot.base.labels import code_labels
from twohot.review.decisions import Decision, apply_decisions
from twohot.tables import FeatureTable
from twohot.tables.row_ids import RowIds

# Sorted neither as text nor as numbers; the last class has no row.
CLASSES = ("30", "2", "10", "none")


@pytest.fixture(scope="module")
def audited():
    """A table with every seventh label wrong, its audit, and the true labels."""
    true = np.arange(150) % 3
    noise = np.random.default_rng(0).normal(0, 0.15, (150, 6))
    given = np.where(np.arange(150) % 7 == 0, (true + 1) % 3, true)
    table = FeatureTable(features=np.eye(3, 6)[true] + noise, labels=given, classes=CLASSES)
    return table, find_label_issues(table.features, table.coded), true


@pytest.fixture(scope="module")
def summary(audited):
    table, issues, _ = audited
    return review_summary(table.features, issues, title="Blobs", details={"source": "here"})


def test_rows_have_the_codes_and_ids_of_the_table(audited) -> None:
    table, issues, true = audited
    rows = review_rows(replace(table, ids=RowIds(np.arange(150)[::-1] * 2)), issues)
    assert rows.classes == CLASSES
    assert list(rows.ids) == [str(number) for number in range(298, -1, -2)]
    assert rows.suggested_labels.tolist() == true.tolist()
    assert rows.given_labels.tolist() == table.labels.tolist()
    assert np.flatnonzero(rows.is_label_issue).tolist() == list(range(0, 150, 7))
    assert np.all(rows.second_labels != rows.suggested_labels)
    assert list(review_rows(table, issues).ids) == [str(row) for row in range(150)]


def test_corruption_and_correlation_of_the_table(audited, summary) -> None:
    table, _, true = audited
    expected = np.eye(4)
    for k in range(3):
        expected[k] = np.bincount(table.labels[true == k], minlength=4) / np.sum(true == k)
    np.testing.assert_allclose(summary.corruption, expected)
    assert summary.title == "Blobs"
    assert summary.details["source"] == "here"
    # A class without rows has no correlation.
    assert np.isnan(summary.correlation[3]).all()
    assert np.isnan(summary.correlation[:, 3]).all()
    assert np.isfinite(summary.correlation[:3, :3]).all()
    assert sorted(summary.class_order[:3].tolist()) == [0, 1, 2]
    assert summary.class_order[3] == 3


def test_the_correlation_is_by_corrected_labels(audited, summary) -> None:
    table, _, true = audited
    rows = table.features - table.features.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for first, second in ((0, 1), (1, 2)):
        mean = (rows[true == first] @ rows[true == second].T).mean()
        assert summary.correlation[first, second] == pytest.approx(mean, abs=1e-6)
    assert sorted(summary.class_order.tolist()) == [0, 1, 2, 3]


def test_summary_shows_the_choice(audited, summary) -> None:
    issues = audited[1]
    assert isinstance(issues.probe, AutoProbe)
    choice = issues.probe.choice_
    # The label model is chosen, not one of its members.
    (model,) = (method for method in summary.methods if method.chosen)
    assert (model.name, model.agreement) == ("label model", choice.agreement)
    assert {method.method for method in summary.methods} - {"label model"} == {
        entry.method for entry in choice.tried
    }
    n_points = sum(len(curve.points) for curve in summary.choice.curves)
    assert n_points == sum(entry.ridge is not None for entry in choice.tried)
    # The accuracy of the label model is a detail, not a message.
    assert summary.messages == issues.messages
    said = f"predicts {choice.agreement:.1%} ± {choice.agreement_error:.1%} (standard error) of 150"
    assert summary.details["label model"].startswith(said)


@pytest.mark.parametrize("known", [[10, 2, 7, 30], ["10", "2", "7", "30"]])
def test_classes_of_a_probe_follow_those_of_the_table(audited, known) -> None:
    table, _, true = audited
    names = code_labels(np.array(known)[np.array([3, 1, 0])[true]])
    probe = LinearProbe().fit(table.features, names)
    probe.classes_ = np.array(known)  # with a class that has no row
    probe.predict_proba = lambda rows: np.full((len(rows), 4), 0.25)
    issues = find_label_issues(table.features, table.coded, probe=probe)
    assert issues.classes.tolist() == [*CLASSES, "7"]
    rows = review_rows(table, issues)
    assert rows.classes == (*CLASSES, "7")
    assert rows.given_labels.tolist() == table.labels.tolist()
    assert review_summary(table.features, issues, title="", details={}).corruption.shape == (5, 5)


def test_classes_without_a_row_are_offered(audited) -> None:
    table, _, true = audited
    rows = np.flatnonzero(true != 1)
    # A part of the table without rows of the second class and of the last.
    part = table.take(rows[table.labels[rows] != 1])
    issues = find_label_issues(part.features, part.coded)
    assert len(issues.probe.classes_) == 2
    review = review_rows(part, issues)
    assert review.classes == CLASSES
    assert set(review.suggested_labels.tolist()) == {0, 2}
    relabelled = Decision(review.report_id(), review.ids[0], "relabel", "none")
    assert apply_decisions(review, [relabelled]).labels[0] == 3
    assert issues.corruption[1].tolist() == [0, 1, 0, 0]


def test_choice_curve_has_all_candidates() -> None:
    data = problems.digits(0.3, 300)
    issues = find_label_issues(data.X, data.given_labels)
    choice, tried = issues.probe.choice_, review_summary(None, issues, title="", details={}).choice
    kinds = {entry.kind: entry for entry in choice.tried if entry.ridge is not None}
    drawn = {curve.name: (curve.method, curve.whiten) for curve in tried.curves}
    assert drawn == {name: (entry.method, entry.whiten) for name, entry in kinds.items()}
    without = {entry.method for entry in choice.tried if entry.ridge is None}
    # The label model is a level line too.
    assert {level.method for level in tried.levels} == without | {"label model"}
    assert [level.method for level in tried.levels if level.chosen] == ["label model"]
