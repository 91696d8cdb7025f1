"""Groups that a user passes, in every container, and what is no group."""

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
CONTAINERS = [list, tuple, np.array, pd.Series, pl.Series, pa.array, pd.Index]


@pytest.mark.parametrize("values", [NAMES, NUMBERS, [1.5, 2.5, 1.5, 0.0]], ids=str)
@pytest.mark.parametrize("container", CONTAINERS)
def test_groups_are_numbered_by_first_occurrence(container, values) -> None:
    assert check_groups(container(values), 4).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    "groups",
    [
        pd.DataFrame({"patient": NAMES}),
        pl.DataFrame({"patient": NAMES}),
        np.array(NUMBERS)[:, np.newaxis],
        pd.Series(NAMES, dtype="category"),
        pd.Series([date(2024, 1, day) for day in NUMBERS]),
        [True, False, True, 2],
    ],
    ids=["frame", "polars frame", "column", "category", "dates", "mixed"],
)
def test_groups_accept_any_hashable_value(groups) -> None:
    assert check_groups(groups, 4).tolist() == [0, 1, 0, 2]


def test_no_groups_return_none() -> None:
    assert check_groups(None, 4) is None


@given(st.lists(st.one_of(st.integers(), st.text(min_size=1).filter(str.strip)), min_size=2))
def test_group_numbers_are_equal_for_equal_values(values) -> None:
    if len(set(values)) > 1:
        codes = check_groups(values, len(values))
        same = [[a == b for a in values] for b in values]
        np.testing.assert_array_equal(codes == codes[:, np.newaxis], same)


@pytest.mark.parametrize("gap", GAPS, ids=repr)
def test_missing_group_is_named(gap) -> None:
    with pytest.raises(ArgumentError, match=r"groups names no group in 1 row \(row 2, from 0\): g"):
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
        ([{}, {}, {}, {}], "groups holds a dict, which is not hashable: pass"),
        (["a"] * 4, r"groups puts all 4 rows into one group \('a'\): pass at least two groups"),
        ([None, float("nan"), "", "a"], r"no group in 3 rows \(row 0, 1, 2, from 0\): give each"),
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
    # One that ignores groups may keep them together; this is no warning.
    assert _folds_of(KFold(3), codes, PAIRED, EVERY).tolist() == np.repeat([0, 1, 2], 4).tolist()
    with pytest.raises(ArgumentError, match="cv puts rows of one group in different folds: pass"):
        _folds_of(KFold(4), codes, PAIRED, EVERY)


def test_fold_without_labels_is_ignored() -> None:
    codes = np.where(EVERY < 4, -1, 0)
    assert _folds_of(KFold(3), codes, None, EVERY[4:]).tolist() == [0] * 4 + [1] * 4
    with pytest.raises(ArgumentError, match="cv holds out all rows with a label and a weight at o"):
        _folds_of(KFold(3), codes, None, EVERY[4:8])
    data = problems.synthetic()
    weights = np.ones(len(data.X))
    weights[: len(weights) // 3] = 0
    probe = AutoProbe(cv=KFold(3), n_jobs=1).fit(data.X, data.given_labels, weights)
    assert probe.choice_.n_folds == 2


def test_members_are_fitted_without_the_group_of_a_row() -> None:
    """Ten noisy copies of a row share its label; nothing else tells the label."""
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 10)
    rows = generator.normal(size=(30, 40))[groups] + 0.3 * generator.normal(size=(300, 40))
    probe = AutoProbe(n_jobs=1).fit(rows, (np.arange(30) % 3)[groups], groups=groups)
    assert max(tried.agreement for tried in probe.choice_.tried) < 0.6
    assert not probe.choice_.learnt


def grouped_rows(n_groups, n_features=40, spread=0.3):
    """Noisy copies of rows share a label of chance: nothing else tells the label."""
    made = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), 4)
    rows = made.normal(size=(n_groups, n_features))[groups]
    return rows + spread * made.normal(size=rows.shape), (np.arange(n_groups) % 3)[groups], groups


@pytest.mark.parametrize("copies", [False, True], ids=["groups", "copies"])
def test_rows_outside_the_sample_are_judged_without_their_group(copies, set_sample_rows) -> None:
    X, labels, groups = grouped_rows(150, spread=0 if copies else 0.3)
    set_sample_rows(300)
    how = {} if copies else {"groups": groups}
    judged = AutoProbe(n_jobs=1).fit_coded(X, Labels(labels, np.arange(3)), **how)
    outside = np.setdiff1d(np.arange(600), judged.anchored.sample.index)
    assert len(outside) == 300
    # With all of the group in sight, nearly all labels are predicted.
    assert np.mean(judged.verdict.first[outside] == labels[outside]) < 0.5
    # Nor are rows of the sample, where the targets of the probe are computed.
    judge = BlockJudge.of(judged.anchored)
    found = judged.anchored.sample.whole.rows.map(judge.log_probabilities)
    assert np.mean(np.concatenate(list(found)).argmax(axis=1) == labels) < 0.5


def test_sampled_rows_are_judged_without_their_group_outside(set_sample_rows) -> None:
    X, labels, groups = grouped_rows(150)
    set_sample_rows(150)
    sample = AutoProbe(n_jobs=1).fit_coded(X, code_labels(labels), groups=groups).anchored.sample
    alone = np.bincount(sample.groups)[sample.groups] == 1
    assert alone.any()
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
    said = " ".join(find_label_issues(X, y, groups=groups, n_jobs=1).messages)
    assert (
        f"near-duplicates: {sample.n_copies} rows. Each is judged by a fit without its copies."
        in said
    )
    assert f"near-duplicates: {sample.n_split} rows with a copy in another fold, because" in said


def test_groups_are_not_counted_as_copies() -> None:
    X = np.random.default_rng(0).normal(size=(60, 16))
    labels = code_labels(X[:, 0] > 0)
    judged = AutoProbe(n_jobs=1).fit_coded(X, labels, groups=np.arange(60) // 3)
    sample = judged.anchored.sample
    assert (sample.n_copies, sample.n_split) == (0, 0)
