"""Rows that a person checked: how verdicts are read, and which are rejected."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from audits import audit_rows
from twohot import find_label_issues
from twohot.audit.checked_rows import check_checked, read_checked
from twohot.base.labels import NO_LABEL
from twohot.base.messages import ArgumentError
from twohot.review.decisions import apply_decisions, read_decisions
from twohot.tables.row_ids import RowIds

GIVEN = np.array([0, 1, 2, NO_LABEL, 1])
CLASSES = np.array(["cat", "dog", "fox"], dtype=object)
IDS = RowIds(["T7", "T3", "8", "T1", "T9"])

# Verdicts


def check(checked, given=GIVEN, classes=CLASSES, ids=None):
    """Return the checked rows; a list of pairs may have a row twice."""
    pairs = checked if isinstance(checked, list) else read_checked(checked)
    return check_checked(pairs, given, classes, ids=ids)


@pytest.mark.parametrize(
    ("checked", "rows", "wrong", "labels"),
    [
        ({0: "dog", 1: "dog"}, [0, 1], [True, False], [1, 1]),
        ({4: "right", 2: True}, [2, 4], [False, False], [2, 1]),
        ({4: "wrong", 2: np.False_}, [2, 4], [True, True], [-1, -1]),
        ({3: "fox"}, [3], [False], [2]),
        ({"1": "fox", np.int8(0): "cat", 2.0: "fox"}, [0, 1, 2], [0, 1, 0], [0, 2, 2]),
        # Two verdicts that agree.
        ([(1, "fox"), ("1", False)], [1], [True], [2]),
        ([("1", "wrong"), (1, "fox")], [1], [True], [2]),
        ([(1, "dog"), (1, "right"), (1, True)], [1], [False], [1]),
        ({}, [], [], []),
    ],
    ids=str,
)
def test_rows_labels_and_verdicts(checked, rows, wrong, labels) -> None:
    found = check(checked)
    assert found.rows.tolist() == rows
    assert found.wrong.tolist() == wrong
    assert found.labels.tolist() == labels
    assert (found.rows.dtype.kind, found.wrong.dtype.kind, found.labels.dtype.kind) == tuple("ibi")


@pytest.mark.parametrize(
    "checked",
    [
        {"T9": "fox", 8: "right"},
        pd.Series({"T9": "fox", "8": "fox"}),
        pd.DataFrame({"id": ["T9", "8"], "true_label": ["fox", "fox"], "note": ["", ""]}),
        pl.DataFrame({"id": ["T9", "8"], "label": ["fox", "fox"]}),
    ],
    ids=["mapping", "series", "true_label", "label"],
)
def test_rows_are_found_by_their_ids_in_any_form(checked) -> None:
    found = check(checked, ids=IDS)
    assert (found.rows.tolist(), found.labels.tolist()) == ([2, 4], [2, 2])


def test_names_the_pandas_index_if_positions_are_passed() -> None:
    X = pd.DataFrame(np.eye(2)[[0, 1] * 4], index=[*"abcdefgh"])
    expected = r"\('3'\) .*; ids of the data are those of the pandas index: use .* issues.ids\[i\]"
    with pytest.raises(ArgumentError, match=expected):
        find_label_issues(X, ["cat", "dog"] * 4, checked={3: "cat"})


def test_accepts_numbers_and_classes_named_like_a_verdict() -> None:
    found = check({0: 20, 1: False, 2: "10"}, np.array([0, 1, 1]), np.array([10, 20]))
    assert (found.wrong.tolist(), found.labels.tolist()) == ([True, True, True], [1, -1, 0])
    found = check({0: "wrong", 1: True}, np.array([0, 1]), np.array(["right", "wrong"]))
    assert (found.wrong.tolist(), found.labels.tolist()) == ([True, False], [1, 1])


@pytest.mark.parametrize(
    ("checked", "options", "message"),
    [
        ({9: "cat"}, {}, r"has 1 id \('9'\) that is not in the data; ids of the data are pos"),
        ({-1: "cat", 7: "dog"}, {}, r"has 2 ids \('-1', '7'\) that are not in the data"),
        ({0: "cat"}, {"ids": IDS}, r"1 id \('0'\) .* not in the data; ids of the data are pos"),
        ({0.5: "cat"}, {}, r"1 id \('0.5'\) that is not in the data"),
        ({"a": "cat"}, {"ids": RowIds(["a", "b", "a", "c", "d"])}, "several rows .* have this id"),
        ([(0, "dog"), ("0", "right")], {}, "has different verdicts on row '0': pass only one"),
        ([(0, "dog"), ("0", "fox")], {}, "has different verdicts on row '0'"),
        ([(0, True), ("0", False)], {}, "has different verdicts on row '0'"),
        (
            {0: "owl"},
            {},
            r"has 'owl' for row '0', which is neither one of the 3 classes \('cat', 'd",
        ),
        ({0: "Right"}, {}, 'a verdict: pass the true label of the row, "right" .True. or "wr'),
        ({0: 1}, {}, "has 1 for row '0', which is neither"),
        ({0: None}, {}, "has None for row '0', which is neither"),
        ({0: float("nan")}, {}, "has nan for row '0', which is neither"),
        ({0: ["cat"]}, {}, r"has \['cat'\] for row '0', which is nei"),
        ({3: "right"}, {}, "has 'right' for row '3', which has no given label: pass its true"),
        ({3: False}, {}, "has False for row '3', which has no given label: pass its true"),
    ],
    ids=str,
)
def test_rejects_invalid_verdicts(checked, options, message) -> None:
    with pytest.raises(ArgumentError, match=f"^checked .*{message}"):
        check(checked, **options)


# Decisions of a review

MADE = {0: "accept", 1: "reject", 2: "second", 4: "relabel", 6: "new_class", 8: "exclude"}


def decisions_table(rows):
    """Return the table that the page exports."""
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


@pytest.mark.parametrize("read", [lambda path: path, str, pd.read_csv, pl.read_csv, None])
def test_decisions_give_the_labels_that_they_lead_to(read, tmp_path) -> None:
    rows, path = audit_rows(12), tmp_path / "decisions.csv"
    table = decisions_table(rows)
    table.to_csv(path, index=False)
    source = read(path) if read else table
    found = check(source, rows.given_labels, np.array(rows.classes))
    applied = apply_decisions(rows, read_decisions(path))
    is_class = applied.labels < len(rows.classes)
    expected = np.where(is_class, applied.labels, NO_LABEL)[list(MADE)]
    assert found.rows.tolist() == list(MADE)
    np.testing.assert_array_equal(found.labels, expected)
    np.testing.assert_array_equal(found.wrong, expected != rows.given_labels[list(MADE)])


def test_decisions_never_mean_a_class_named_like_a_verdict() -> None:
    table = pd.DataFrame({"id": ["0", "1", "2"], "decision": ["exclude", "reject", "new_class"]})
    for names in (["True", "False"], ["right", "wrong"]):
        found = check(table, np.array([0, 1, 1]), np.array(names))
        assert found.wrong.tolist() == [True, False, True]
        assert found.labels.tolist() == [NO_LABEL, 1, NO_LABEL]


@pytest.mark.parametrize("decision", ["accept", "second", "relabel"])
def test_rejects_a_decision_without_its_label(decision, tmp_path) -> None:
    table = pd.DataFrame({"report": ["r"], "id": ["7"], "decision": [decision], "label": [""]})
    table.to_csv(tmp_path / "decisions.csv", index=False)
    for source in (table, tmp_path / "decisions.csv"):
        message = f"has decision '{decision}' for row '7', but no label"
        with pytest.raises(ArgumentError, match=message):
            read_checked(source)
    suggested = table.assign(suggested_label="fox")
    if decision == "accept":
        assert read_checked(suggested) == [("7", "fox")]


def test_decisions_hold_for_the_labels_that_they_corrected() -> None:
    decided = [(0, "new_class", "fox"), (3, "exclude", ""), (1, "new_class", "yak")]
    table = pd.DataFrame(decided, columns=["id", "decision", "label"])
    # The label of row 0 was corrected to fox, that of row 3 was removed; row 1 is still a dog.
    found = check(table, np.array([2, 1, 2, NO_LABEL, 1]))
    assert found.rows.tolist() == [0, 1, 3]
    assert found.wrong.tolist() == [False, True, False]
    assert found.labels.tolist() == [2, NO_LABEL, NO_LABEL]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pd.DataFrame({"id": ["1"]}), "checked has the 1 column 'id': pass the column id and one"),
        (pd.DataFrame({"label": ["1"]}), "'label': pass the column id and one of label and true_"),
        (
            pd.DataFrame({"id": ["1"], "label": ["cat"], "true_label": ["dog"]}),
            "checked has the 3 columns 'id', 'label', 'true_label': pass the column id and one",
        ),
        (pd.DataFrame({"id": [1], "decision": ["maybe"]}), "decision 'maybe' for row '1': pass"),
        (pd.DataFrame({"id": [1], "decision": ["open"]}), "checked holds no decision: pass the"),
        (5, "checked is a int: pass a mapping"),
        ([1, 2], "checked is a list: pass a mapping"),
    ],
    ids=["column", "no id", "two labels", "decision", "open", "number", "list"],
)  # fmt: skip
def test_rejects_data_without_decisions(source, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        read_checked(source)


# Results for checked rows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("probabilities", "undecided"),
    [([0.6, 0.3, 0.1], False), ([0.4, 0.301, 0.299], True), ([0.3, 0.6, 0.1], False)],
)
def test_never_suggests_a_label_known_to_be_wrong(probabilities, undecided) -> None:
    rows = np.vstack([probabilities, np.tile(np.eye(3) * 0.85 + 0.05, (40, 1))])
    given = np.append(0, np.arange(120) % 3)
    issues = find_label_issues(None, given, probabilities=rows, checked={0: "wrong"})
    assert issues.is_label_issue[0]
    assert issues.predicted[0] == 1
    assert issues.is_undecided[0] == undecided
    assert issues.confidence[0] >= issues.second_confidence[0]
    assert issues.corrected_labels()[0] == (0 if undecided else 1)
