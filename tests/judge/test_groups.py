"""Groups that a user passes: containers, errors, folds and held-out rows."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold

import problems
from twohot import AutoProbe, find_label_issues
from twohot.base.labels import Labels, code_labels
from twohot.base.messages import ArgumentError
from twohot.judge.folds import check_groups, connected, merge_groups
from twohot.judge.sample import _folds_of
from twohot.judge.verdict import BlockJudge

GAPS = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "D"), np.ma.masked]
GAPS += [pa.scalar(None, pa.string()), "", "  ", "\t\n\u00a0"]
NAMES = ["ann", "bob", "ann", "cleo"]
NUMBERS = [7, 9, 7, 2]
SAME_GROUPS = {
    f"{container.__module__} {container.__name__} {values[0]!r}": container(values)
    for values in (NAMES, NUMBERS, [1.5, 2.5, 1.5, 0.0])
    for container in (list, tuple, np.array, pd.Series, pl.Series, pa.array, pd.Index)
}
SAME_GROUPS |= {
    "frame": pd.DataFrame({"patient": NAMES}),
    "polars frame": pl.DataFrame({"patient": NAMES}),
    "column": np.array(NUMBERS)[:, np.newaxis],
    "category": pd.Series(NAMES, dtype="category"),
    "dates": pd.Series([date(2024, 1, day) for day in NUMBERS]),
    "mixed": [True, False, True, 2],
}


@pytest.mark.parametrize("kind", SAME_GROUPS)
def test_groups_are_numbered_by_first_occurrence(kind) -> None:
    assert check_groups(SAME_GROUPS[kind], 4).tolist() == [0, 1, 0, 2]
    assert check_groups(None, 4) is None


@given(st.lists(st.one_of(st.integers(), st.text(min_size=1).filter(str.strip)), min_size=2))
def test_group_numbers_are_equal_for_equal_values(values) -> None:
    if len(set(values)) > 1:
        codes = check_groups(values, len(values))
        same = [[a == b for a in values] for b in values]
        np.testing.assert_array_equal(codes == codes[:, np.newaxis], same)


@pytest.mark.parametrize("gap", GAPS, ids=repr)
def test_missing_group_is_named(gap) -> None:
    with pytest.raises(
        ArgumentError, match=r"groups has no value in 1 row \(2; the first row is 0\): gi"
    ):
        check_groups(["a", "b", gap, "d"], 4)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (NAMES[:3], "groups has 3 entries for 4 rows: pass one group per row"),
        ([], "groups has 0 entries for 4 rows: pass one"),
        (np.eye(4), r"groups has shape \(4, 4\): pass one group per row"),
        (pd.DataFrame({"a": NAMES, "b": NAMES}), r"groups has shape \(4, 2\): pass"),
        ([(1, 2)] * 4, r"groups has shape \(4, 2\): pass"),
        ("patient", r"groups has shape \(\): pass"),
        (3, r"groups has shape \(\): pass"),
        ([{}] * 4, r"groups has a value that is not hashable \(unhashable type: 'dict'\): pass"),
        (["a"] * 4, r"groups puts all 4 rows into one group \('a'\): pass at least two groups"),
        (
            [None, float("nan"), "", "a"],
            r"no value in 3 rows \(0, 1, 2; the first row is 0\): give",
        ),
    ],
    ids=str,
)
def test_rejects_invalid_groups(groups, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        check_groups(groups, 4)


groupings = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30)


@given(groupings)
def test_merged_groups_follow_chains(pairs) -> None:
    a, b = np.array(pairs).T
    label = np.arange(len(a))
    for i in range(len(a)):
        for j in range(len(a)):
            if a[i] == a[j] or b[i] == b[j]:
                label[label == label[j]] = label[i]
    merged = merge_groups(a, b)
    np.testing.assert_array_equal(merged == merged[:, np.newaxis], label == label[:, np.newaxis])
    assert sorted(set(merged.tolist())) == list(range(merged.max() + 1))
    np.testing.assert_array_equal(merge_groups(b, a), merged)


def test_repeated_links_count_once() -> None:
    links = np.zeros(512, int)
    assert connected(links, links + 1, 3).tolist()[:2] == [0, 0]
    assert merge_groups(links, links).tolist() == [0] * 512


# Folds that a user passes -------------------------------------------------------------------------

EVERY = np.arange(12)
PAIRED = np.repeat(np.arange(6), 2)


def test_splitter_gets_groups() -> None:
    codes = np.zeros(12, np.intp)
    folds = _folds_of(GroupKFold(3), codes, PAIRED, EVERY)
    assert (folds[::2] == folds[1::2]).all()
    # A splitter that ignores groups may keep them together. Then there is no warning.
    assert _folds_of(KFold(3), codes, PAIRED, EVERY).tolist() == np.repeat([0, 1, 2], 4).tolist()
    with pytest.raises(ArgumentError, match="cv puts rows of one group in different folds: pass"):
        _folds_of(KFold(4), codes, PAIRED, EVERY)


def test_fold_without_labels_is_ignored() -> None:
    codes = np.where(EVERY < 4, -1, 0)
    assert _folds_of(KFold(3), codes, None, EVERY[4:]).tolist() == [0] * 4 + [1] * 4
    with pytest.raises(
        ArgumentError, match="cv holds out all rows with a label and a positive weight in o"
    ):
        _folds_of(KFold(3), codes, None, EVERY[4:8])
    data = problems.synthetic()
    weights = np.ones(len(data.X))
    weights[: len(weights) // 3] = 0
    probe = AutoProbe(cv=KFold(3), n_jobs=1).fit(data.X, data.given_labels, weights)
    assert probe.choice_.n_folds == 2


def grouped_rows(n_groups, *, size=4, spread=0.3):
    """Return noisy copies of random rows, labels and groups; only copies have equal labels."""
    made = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), size)
    rows = made.normal(size=(n_groups, 40))[groups]
    return rows + spread * made.normal(size=rows.shape), (np.arange(n_groups) % 3)[groups], groups


def test_members_are_fitted_without_the_group_of_a_row() -> None:
    X, labels, groups = grouped_rows(30, size=10)
    probe = AutoProbe(n_jobs=1).fit(X, labels, groups=groups)
    assert max(tried.agreement for tried in probe.choice_.tried) < 0.6
    assert not probe.choice_.learnt


@pytest.mark.parametrize("copies", [False, True], ids=["groups", "copies"])
def test_rows_outside_the_sample_are_judged_without_their_group(copies, set_sample_rows) -> None:
    X, labels, groups = grouped_rows(150, spread=0 if copies else 0.3)
    set_sample_rows(300)
    how = {} if copies else {"groups": groups}
    judged = AutoProbe(n_jobs=1).fit_coded(X, Labels(labels, np.arange(3)), **how)
    outside = np.setdiff1d(np.arange(600), judged.anchored.sample.index)
    assert len(outside) == 300
    # A fit with other rows of the group would predict nearly all labels.
    assert np.mean(judged.verdict.first[outside] == labels[outside]) < 0.5
    # The same holds for rows of the sample in the targets of the probe.
    judge = BlockJudge.of(judged.anchored)
    found = judged.anchored.sample.whole.rows.map(judge.log_probabilities)
    assert np.mean(np.concatenate(list(found)).argmax(axis=1) == labels) < 0.5


def test_sampled_rows_are_judged_without_their_group_outside(set_sample_rows) -> None:
    X, labels, groups = grouped_rows(150)
    set_sample_rows(150)
    sample = AutoProbe(n_jobs=1).fit_coded(X, code_labels(labels), groups=groups).anchored.sample
    assert (np.bincount(sample.groups) == 1).any()
    assert sample.shared.all()


def test_copies_do_not_chain_groups_into_one_fold() -> None:
    made = np.random.default_rng(0)
    X = made.normal(size=(60, 16)).repeat(3, axis=0)
    y, rows = (X[:, 0] > 0).astype(int), np.arange(180)
    # Copies link the groups of the first half of the rows, and none of the others.
    groups = np.where(rows < 90, made.integers(30, size=180), 30 + rows // 3)
    sample = AutoProbe(n_jobs=1).fit_coded(X, code_labels(y), groups=groups).anchored.sample
    assert np.bincount(sample.folds).max() < 60
    assert all(len(set(sample.folds[groups == each])) == 1 for each in set(groups.tolist()))
    assert 0 < sample.n_split <= 90
    assert sample.n_copies == 180 - sample.n_split
    messages = " ".join(find_label_issues(X, y, groups=groups, n_jobs=1).messages)
    for n_rows, rest in (
        (sample.n_copies, ". Each row is judged by a fit without its copies."),
        (sample.n_split, " with a copy in another fold, because"),
    ):
        assert f"near-duplicates: {n_rows} rows{rest}" in messages
    # Rows of one group are no copies.
    X = made.normal(size=(60, 16))
    judged = AutoProbe(n_jobs=1).fit_coded(X, code_labels(X[:, 0] > 0), groups=np.arange(60) // 3)
    assert (judged.anchored.sample.n_copies, judged.anchored.sample.n_split) == (0, 0)
