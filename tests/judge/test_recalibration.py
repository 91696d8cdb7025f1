"""What a person checked: how it is read, what is refused, and probabilities that agree with it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from audits import audit_rows
from twohot.audit.checked_rows import read_checked
from twohot.base.labels import NO_LABEL
from twohot.base.messages import ArgumentError
from twohot.judge.recalibration import ISOTONIC_ROWS, check_checked, recalibrate
from twohot.review.decisions import apply_decisions, read_decisions
from twohot.tables.row_ids import RowIds

GIVEN = np.array([0, 1, 2, NO_LABEL, 1])
CLASSES = np.array(["cat", "dog", "fox"], dtype=object)
IDS = RowIds(["T7", "T3", "8", "T1", "T9"])

# What is checked


@pytest.mark.parametrize(
    ("checked", "rows", "wrong", "labels"),
    [
        ({0: "dog", 1: "dog"}, [0, 1], [True, False], [1, 1]),
        ({4: "right", 2: True}, [2, 4], [False, False], [2, 1]),
        ({4: "wrong", 2: np.False_}, [2, 4], [True, True], [-1, -1]),
        ({3: "fox"}, [3], [False], [2]),
        ({"1": "fox", np.int8(0): "cat", 2.0: "fox"}, [0, 1, 2], [0, 1, 0], [0, 2, 2]),
        # Said twice, and the same.
        ([(1, "fox"), ("1", False)], [1], [True], [2]),
        ([("1", "wrong"), (1, "fox")], [1], [True], [2]),
        ([(1, "dog"), (1, "right"), (1, True)], [1], [False], [1]),
        ({}, [], [], []),
    ],
    ids=str,
)
def test_rows_labels_and_verdicts(checked, rows, wrong, labels) -> None:
    found = check_checked(checked, GIVEN, CLASSES)
    assert found.rows.tolist() == rows
    assert found.wrong.tolist() == wrong
    assert found.labels.tolist() == labels
    assert (found.rows.dtype.kind, found.wrong.dtype.kind, found.labels.dtype.kind) == tuple("ibi")


def test_rows_are_found_by_their_ids() -> None:
    found = check_checked({"T9": "fox", 8: "right"}, GIVEN, CLASSES, ids=IDS)
    assert (found.rows.tolist(), found.labels.tolist()) == ([2, 4], [2, 2])


def test_labels_may_be_numbers_or_called_like_a_verdict() -> None:
    found = check_checked({0: 20, 1: False, 2: "10"}, np.array([0, 1, 1]), np.array([10, 20]))
    assert (found.wrong.tolist(), found.labels.tolist()) == ([True, True, True], [1, -1, 0])
    words = np.array(["right", "wrong"])
    found = check_checked({0: "wrong", 1: True}, np.array([0, 1]), words)
    assert (found.wrong.tolist(), found.labels.tolist()) == ([True, False], [1, 1])


@pytest.mark.parametrize(
    ("checked", "options", "message"),
    [
        ({9: "cat"}, {}, r"names 1 row that is not in the data \('9'\), where ids are positions"),
        ({-1: "cat", 7: "dog"}, {}, r"names 2 rows that are not in the data \('-1', '7'\), wh"),
        ({0: "cat"}, {"ids": IDS}, r"not in the data \('0'\), where ids are positions"),
        ({0.5: "cat"}, {}, r"not in the data \('0.5'\)"),
        ({"a": "cat"}, {"ids": RowIds(["a", "b", "a", "c", "d"])}, "several rows .* have this id"),
        ([(0, "dog"), ("0", "right")], {}, "names row '0' twice, with different verdicts: keep"),
        ([(0, "dog"), ("0", "fox")], {}, "names row '0' twice"),
        ([(0, True), ("0", False)], {}, "names row '0' twice"),
        ({0: "owl"}, {}, r"says 'owl' of row '0', none of the 3 classes \('cat', 'dog', 'fox'\)"),
        ({0: "Right"}, {}, 'no verdict: pass its true label, "right" .True. or "wrong" .False.'),
        ({0: 1}, {}, "says 1 of row '0', none of"),
        ({0: None}, {}, "says None of row '0', none of"),
        ({0: float("nan")}, {}, "says nan of row '0', none of"),
        ({0: ["cat"]}, {}, r"says \['cat'\] of row '0', none of"),
        ({3: "right"}, {}, "says 'right' of row '3', which has no given label: pass its true"),
        ({3: False}, {}, "says False of row '3', which has no given label: pass its true"),
        ([0, 1], {}, "is a list that does not say which row has which verdict: pass a mapping"),
        ("cat", {}, "is a str that does not say"),
        (5, {}, "is a int that does not say"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(checked, options, message) -> None:
    with pytest.raises(ArgumentError, match=f"^checked .*{message}"):
        check_checked(checked, GIVEN, CLASSES, **options)


# Decisions of a review

MADE = {0: "accept", 1: "reject", 2: "second", 4: "relabel", 6: "new_class", 8: "exclude"}


def decisions_table(rows):
    """Return what the page exports, as text."""
    named = {"relabel": "owl", "new_class": "yak", "exclude": ""}
    lines = []
    for row, kind in MADE.items():
        given, suggested, second = (
            rows.label_name(codes[row])
            for codes in (rows.given_labels, rows.suggested_labels, rows.second_labels)
        )
        meant = {"accept": suggested, "reject": given, "second": second}
        label = meant.get(kind, named.get(kind))
        lines.append([rows.report_id(), str(row), given, suggested, kind, label, ""])
    lines.append([rows.report_id(), "10", "dog", "fox", "open", "", "ask Ann"])
    header = ["report", "id", "given_label", "suggested_label", "decision", "label", "note"]
    return pd.DataFrame(lines, columns=header)


@pytest.fixture
def exported(tmp_path):
    table = decisions_table(audit_rows(12))
    path = tmp_path / "decisions.csv"
    table.to_csv(path, index=False)
    return table, path


def as_checked(source):
    rows = audit_rows(12)
    return check_checked(read_checked(source), rows.given_labels, np.array(rows.classes))


@pytest.mark.parametrize("form", ["path", "text", "exported", "read again", "polars"])
def test_decisions_are_the_labels_that_follow_from_them(exported, form) -> None:
    table, path = exported
    sources = {
        "path": path,
        "text": str(path),
        "exported": table,
        "read again": pd.read_csv(path),
        "polars": pl.read_csv(path),
    }
    found, rows = as_checked(sources[form]), audit_rows(12)
    applied = apply_decisions(rows, read_decisions(path))
    is_class = applied.labels < len(rows.classes)
    expected = np.where(is_class, applied.labels, NO_LABEL)[list(MADE)]
    assert found.rows.tolist() == list(MADE)
    np.testing.assert_array_equal(found.labels, expected)
    np.testing.assert_array_equal(found.wrong, expected != rows.given_labels[list(MADE)])


def test_a_file_with_nothing_but_decisions_gives_verdicts() -> None:
    rows, labels = audit_rows(12), {4: "owl"}
    table = pd.DataFrame(
        [(row, kind, labels.get(row)) for row, kind in MADE.items()],
        columns=["id", "decision", "label"],
    )
    found = as_checked(table)
    assert found.wrong.tolist() == [True, False, True, True, True, True]
    assert found.labels.tolist() == [-1, rows.given_labels[1], -1, 3, -1, -1]


def test_a_mapping_is_taken_as_it_is() -> None:
    checked = {0: "cat"}
    assert read_checked(checked) is checked


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pd.DataFrame({"id": ["1"]}), "checked lacks the column 'decision': pass the file of"),
        (pd.DataFrame({"id": [1], "decision": ["maybe"]}), "decision 'maybe' for row '1': pass"),
        (5, "checked is a int: pass a mapping"),
        ([1, 2], "checked is a list: pass a mapping"),
    ],
    ids=["column", "decision", "number", "list"],
)  # fmt: skip
def test_what_holds_no_decisions_is_refused(source, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_checked(source)


# Recalibration


def checked_data(seed, n_checked, n_rows=400):
    """Probabilities that are half as high as they should be, and checked rows."""
    generator = np.random.default_rng(seed)
    p = generator.beta(1, 3, n_rows)
    p[generator.integers(0, n_rows, 5)] = np.nan
    rows = generator.choice(np.flatnonzero(~np.isnan(p)), n_checked, replace=False)
    wrong = generator.uniform(size=n_checked) < np.minimum(2 * p[rows], 1)
    return p, rows, wrong, generator


SIZES = [1, 10, ISOTONIC_ROWS - 1, ISOTONIC_ROWS, 150]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(SIZES))
def test_the_order_of_the_rows_stays_and_checked_rows_have_their_verdict(seed, n_checked) -> None:
    p, rows, wrong, generator = checked_data(seed, n_checked)
    found = recalibrate(p, rows, wrong)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(p))
    np.testing.assert_array_equal(found[rows], wrong)
    others = np.setdiff1d(np.flatnonzero(~np.isnan(p)), rows)
    assert (np.diff(found[others][np.argsort(p[others])]) >= 0).all()
    assert ((found[others] >= 0) & (found[others] <= 1)).all()
    # Neither the order of the rows nor that of the checks matters, to the last bit.
    moved = generator.permutation(len(p))
    place, shuffled = np.argsort(moved), generator.permutation(n_checked)
    again = recalibrate(p[moved], place[rows[shuffled]], wrong[shuffled])
    np.testing.assert_array_equal(again, found[moved])


def slow_platt(p, y):
    """The most probable shift and slope, by ever finer grids."""
    z, a, c, width = logit(p), 0.0, 0.0, 8.0
    for _ in range(60):
        steps = width * np.linspace(-1, 1, 9)
        shifts, slopes = (grid.ravel() for grid in np.meshgrid(a + steps, c + steps))
        logits = shifts + np.exp(slopes) * z[:, np.newaxis]
        likelihood = -np.logaddexp(0, np.where(y[:, np.newaxis], -logits, logits)).sum(axis=0)
        best = np.argmax(likelihood - shifts**2 / 18 - slopes**2 / 2)
        a, c, width = shifts[best], slopes[best], 0.7 * width
    return a, np.exp(c)


@pytest.mark.parametrize("n_checked", [1, 12, 49])
@pytest.mark.parametrize("seed", range(4))
def test_few_checks_shift_and_stretch_the_logits(seed, n_checked) -> None:
    p, rows, wrong, _ = checked_data(seed, n_checked)
    a, b = slow_platt(p[rows], wrong)
    others = np.setdiff1d(np.arange(len(p)), rows)
    expected = expit(a + b * logit(p[others]))
    np.testing.assert_allclose(recalibrate(p, rows, wrong)[others], expected, atol=1e-5)


def slow_isotonic(x, y, weights):
    """Pool neighbours that are out of order, one pair at a time."""
    pools = [[a, b * w, w] for a, b, w in sorted(zip(x, y, weights, strict=True))]
    blocks = [[[a], total, w] for a, total, w in pools]
    k = 0
    while k + 1 < len(blocks):
        first, second = blocks[k], blocks[k + 1]
        if first[1] / first[2] > second[1] / second[2]:
            merged = [first[0] + second[0], first[1] + second[1], first[2] + second[2]]
            blocks[k : k + 2], k = [merged], max(k - 1, 0)
        else:
            k += 1
    places = [a for block in blocks for a in block[0]]
    return places, [block[1] / block[2] for block in blocks for _ in block[0]]


@pytest.mark.parametrize("n_checked", [50, 200])
@pytest.mark.parametrize("seed", range(4))
def test_many_checks_are_regressed_on_beside_the_model(seed, n_checked) -> None:
    p, rows, wrong, _ = checked_data(seed, n_checked)
    own = np.quantile(p[~np.isnan(p)], np.linspace(0.02, 0.98, 25))
    weights = np.append(np.ones(n_checked), np.full(25, 20 / 25))
    x, y = np.append(p[rows], own), np.append(wrong, own)
    places, values = slow_isotonic(x.tolist(), y.tolist(), weights.tolist())
    others = np.setdiff1d(np.flatnonzero(~np.isnan(p)), rows)
    expected = np.interp(p[others], places, values)
    np.testing.assert_allclose(recalibrate(p, rows, wrong)[others], expected, atol=1e-9)


def test_nothing_checked_changes_nothing() -> None:
    p, rows, wrong, _ = checked_data(0, 5)
    np.testing.assert_array_equal(recalibrate(p, rows[:0], wrong[:0]), p)
    # A row without a label says nothing of labels.
    p[rows] = np.nan
    np.testing.assert_array_equal(recalibrate(p, rows, wrong), p)


@pytest.mark.parametrize("n_checked", [49, 200])
def test_certain_probabilities_stay_finite(n_checked) -> None:
    p = np.tile([0.0, 1.0, 0.5, 1e-300], 100)
    wrong = np.arange(n_checked) % 3 == 0
    found = recalibrate(p, np.arange(n_checked), wrong)
    assert np.isfinite(found).all()
    zero, one, half, tiny = found[-4:]
    assert 0 <= zero <= tiny <= half <= one <= 1


def test_checks_correct_a_model_that_is_too_sure_of_labels() -> None:
    errors = []
    for seed in range(5):
        p, rows, wrong, _ = checked_data(seed, 100, n_rows=4000)
        others = np.setdiff1d(np.flatnonzero(~np.isnan(p)), rows)
        true = np.minimum(2 * p[others], 1)
        found = recalibrate(p, rows, wrong)[others]
        errors.append((np.abs(p[others] - true).mean(), np.abs(found - true).mean()))
    before, after = np.mean(errors, axis=0)
    assert after < before / 2
