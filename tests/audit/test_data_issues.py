"""Copies, outliers, ambiguous rows and overlapping classes that are planted are found."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from audits import prepared_once
from twohot import find_data_issues, find_label_issues
from twohot.audit import rows_of_issues
from twohot.audit.data_issues import FEW, class_mixing, copies, far_out, search_neighbourhood
from twohot.audit.folder import write_audit_folder
from twohot.audit.report import review_summary
from twohot.base.labels import NO_LABEL
from twohot.judge.nearest import intrinsic_dimension
from twohot.review.page_data import rows_of_page
from twohot.tables.csv_file import read_csv

N = 240


def blobs(n_classes=3, seed=0):
    """Well separated classes in twelve dimensions."""
    true = np.arange(N) % n_classes
    noise = np.random.default_rng(seed).normal(0, 0.4, (N, 12))
    return 3 * np.eye(n_classes, 12)[true] + noise, true


@pytest.fixture(scope="module")
def found():
    X, given = blobs()
    # Rows 3 and 30 are copies except for rounding, rows 60, 63 and 66 are equal. Rows 30 and 66
    # have another label than their copies.
    X[30], X[63], X[66] = X[3] * (1 + 1e-6), X[60], X[60]
    given[30], given[66] = 1, 2
    X[100] = -8 * np.eye(3, 12).sum(axis=0)  # an outlier, opposite to all classes
    X[150] = (X[0] + X[1]) / 2
    y = given.astype(object)
    y[63] = None
    return find_data_issues(X, find_label_issues(X, y))


def test_finds_planted_copies_and_outliers(found) -> None:
    assert [group.tolist() for group in found.duplicates] == [[3, 30], [60, 63, 66]]
    assert [group.tolist() for group in found.conflicting] == [[3, 30], [60, 63, 66]]
    assert found.outliers.tolist() == [100]
    assert found.closeness[0] < 0.3
    assert found.messages[:2] == (
        "Near-duplicates: 5 rows in 2 groups; groups with different labels: 2.",
        "Outliers: 1 row far from all other rows.",
    )


def test_finds_no_issues_in_clean_data() -> None:
    X, given = blobs()
    found = find_data_issues(X, find_label_issues(X, given))
    assert (found.duplicates, found.outliers.tolist(), found.alike_classes) == ((), [], ())
    assert found.messages == ()
    assert repr(found) == "No other issues were found."


def test_rows_between_two_classes_are_ambiguous(found) -> None:
    issues = found.issues
    expected = np.flatnonzero(issues.is_undecided & (issues.given != NO_LABEL))
    assert sorted(found.ambiguous.tolist()) == expected.tolist()
    assert (np.diff(issues.confidence[found.ambiguous]) >= 0).all()


def test_findings_have_all_rows_of_a_group_and_their_copies(found) -> None:
    first = found.findings()[0]
    assert first.name == "copies with different labels"
    groups = dict(zip(first.rows.tolist(), first.groups.tolist(), strict=True))
    assert groups[3] == groups[30] != groups[60] == groups[63] == groups[66]
    assert sorted(groups) == [3, 30, 60, 63, 66]  # 63 has no label
    assert sorted(set(groups.values())) == [1, 2]
    related = dict(zip(first.rows.tolist(), map(np.ndarray.tolist, first.related), strict=True))
    # Copies with another label come first.
    assert related == {3: [30], 30: [3], 60: [66, 63], 63: [60, 66], 66: [60, 63]}
    np.testing.assert_array_equal(first.scores, found.issues.probability_wrong[first.rows])


def test_no_copy_is_lost_in_a_large_group(tmp_path) -> None:
    X, given = blobs()
    X[:21:3] = X[0]
    y = given.astype(object)
    y[6], y[9] = 1, None
    issues = find_label_issues(X, y)
    rows, summary = rows_of_issues(issues), review_summary(X, issues, title="", details={})
    write_audit_folder(tmp_path, rows, summary)
    lines = [line for line in read_csv(tmp_path / "findings.csv") if line[0].startswith("copies")]
    assert {line[2] for line in lines} == {str(row) for row in range(0, 21, 3)}
    assert len({line[1] for line in lines}) == 1
    (unlabelled,) = (line for line in lines if line[2] == "9")
    assert (unlabelled[3], unlabelled[-1]) == ("", "")
    # The page shows only rows with a label.
    assert 9 not in rows_of_page(rows.flagged, summary.findings, rows.given_labels != NO_LABEL)


def test_finds_a_class_that_was_split_at_random() -> None:
    X, true = blobs()
    split = np.where((true == 1) & (np.random.default_rng(1).random(N) < 0.4), 3, true)
    mixing = class_mixing(search_neighbourhood(prepared_once(X)), split, 4)
    assert 0.8 < mixing[1, 3] < 1.2
    mixing[[1, 3], [3, 1]] = 0
    np.testing.assert_array_equal(mixing, 0)
    found = find_data_issues(X, find_label_issues(X, split))
    assert [(pair.first, pair.second) for pair in found.alike_classes] == [(1, 3)]
    assert found.messages[-1] == "Overlapping classes: 1 pair (1 and 3)."


def test_mixing_counts_neighbours_as_a_plain_loop_does() -> None:
    generator = np.random.default_rng(3)
    X, codes = generator.normal(size=(60, 4)), generator.integers(0, 2, 60)
    codes[5] = NO_LABEL
    nearby = search_neighbourhood(prepared_once(X))
    pairs = [
        (codes[i], codes[j])
        for i, others in zip(nearby.rows, nearby.neighbours, strict=True)
        for j in others
        if codes[i] != NO_LABEL and codes[j] != NO_LABEL
    ]
    across = np.mean([a != b for a, b in pairs])
    a, b = np.sum(codes == 0), np.sum(codes == 1)
    expected = 2 * a * b / ((a + b) * (a + b - 1))
    assert class_mixing(nearby, codes, 2)[0, 1] == pytest.approx(across / expected)


def test_confused_classes_do_not_overlap() -> None:
    X, true = blobs()
    swapped = np.where((np.arange(N) % 3 < 2) & (np.arange(N) % 10 < 3), (true + 1) % 2, true)
    found = find_data_issues(X, find_label_issues(X, swapped))
    assert found.issues.n_issues >= 40
    assert found.alike_classes == ()


def test_small_classes_have_no_mixing() -> None:
    X, true = blobs()
    few = true.copy()
    few[:24:3] = 3  # eight rows of class 0
    assert (class_mixing(search_neighbourhood(prepared_once(X)), few, 4)[3] == 0).all()


def test_copies_with_the_same_label_are_no_conflict() -> None:
    X, given = blobs()
    X[6] = X[3]
    issues = find_label_issues(X, given)
    found = find_data_issues(pd.DataFrame(X, index=[f"r{i}" for i in range(N)]), issues)
    assert [group.tolist() for group in found.duplicates] == [[3, 6]]
    assert found.conflicting == ()
    assert [finding.name for finding in found.findings()][:1] == ["near-duplicates"]
    assert "in a random sample of 100 of 240 rows" in replace(found, n_searched=100).messages[-1]


@pytest.mark.parametrize("dimension", [2, 3, 6, 12])
def test_finds_only_real_copies_in_any_dimension(dimension) -> None:
    X = np.random.default_rng(dimension).normal(size=(1000, dimension + 1))
    X[900] = X[10]
    nearby = search_neighbourhood(prepared_once(X))
    assert [group.tolist() for group in copies(nearby)] == [[10, 900]]
    # Rows of unit norm are on a sphere, which has a dimension less.
    assert intrinsic_dimension(nearby.distances) == pytest.approx(dimension, rel=0.25)


def test_rows_that_are_mostly_copies_are_no_outliers() -> None:
    X = np.repeat(np.eye(3), 40, axis=0)
    X[0] += 0.01
    nearby = search_neighbourhood(prepared_once(X))
    assert far_out(nearby)[0].size == 0
    assert max(map(len, copies(nearby))) == 40


def test_message_names_a_few_of_six_overlapping_pairs() -> None:
    X, true = blobs(2)
    many = np.where(true == 0, 0, 1 + np.random.default_rng(0).integers(0, 4, N))
    found = find_data_issues(X, find_label_issues(X, many))
    # All pairs, although corrections give the rows of three classes to the fourth.
    assert len(found.alike_classes) == 6 > FEW
    assert all(pair.first for pair in found.alike_classes)
    assert found.messages[-1].endswith(", …).")


def test_rejects_invalid_arguments():
    X, true = blobs()
    issues = find_label_issues(X, true)
    with pytest.raises(ValueError, match="issues is ndarray, not LabelIssues"):
        find_data_issues(X, true)
    with pytest.raises(ValueError, match="X has 9 rows, but issues has 240: pass all audited rows"):
        find_data_issues(X[:9], issues)
    with pytest.raises(ValueError, match="random_state='x' is not a random state"):
        find_data_issues(X, issues, random_state="x")
