"""A corrected file has the decided labels in the rows that they were decided for."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import ANIMALS, applied_labels, audit_rows
from twohot.base.labels import NO_LABEL
from twohot.review.corrected_file import write_corrected_file
from twohot.tables.csv_file import read_csv, write_csv
from twohot.tables.row_ids import RowIds

N_ROWS = 8
NAMES = [f"T{7 * row % 11}" for row in range(N_ROWS)]
BY_NAME = audit_rows(N_ROWS, ids=RowIds(NAMES, "column", "nr"))
NEW = np.where(BY_NAME.is_label_issue, BY_NAME.suggested_labels, BY_NAME.given_labels)
APPLIED = applied_labels(BY_NAME, NEW)


def write_own(folder, order=range(N_ROWS), *, extra=(), spell=ANIMALS):
    """Write a user's file a.csv: the rows of the audit in another order, and other rows."""
    lines = [[NAMES[row], f"text {row}", spell[BY_NAME.given_labels[row]]] for row in order]
    write_csv(folder / "a.csv", ["nr", "text", "kind"], [*lines, *extra])
    return folder / "a.csv"


@given(st.permutations(range(N_ROWS)))
def test_labels_find_their_rows_in_any_order(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("own")
    own = write_own(folder, order, extra=[["X", "", "cat"], ["Y", "", ""]])
    done = write_corrected_file(own, folder / "b.csv", BY_NAME, APPLIED)
    assert (done.label_column, done.n_not_audited) == ("kind", 2)
    header, *lines = read_csv(folder / "b.csv")
    assert header == ["nr", "text", "kind", "given_label"]
    expected = [
        [NAMES[row], f"text {row}", ANIMALS[NEW[row]], ANIMALS[BY_NAME.given_labels[row]]]
        for row in order
    ]
    assert lines == [*expected, ["X", "", "cat", "cat"], ["Y", "", "", ""]]


def test_positions_count_rows_of_the_file_without_its_header(tmp_path):
    given, flagged = np.array([0, 1, NO_LABEL]), np.array([True, False, False])
    rows = audit_rows(3, ids=RowIds([0, 2, 3]), given_labels=given, is_label_issue=flagged)
    own, target = tmp_path / "a.csv", tmp_path / "b.csv"
    own.write_text("text,label\na,cat\n,\nc,dog\nd,NA\n")
    write_corrected_file(own, target, rows, applied_labels(rows, [2, 1, 3]))
    assert target.read_text() == "text,label,given_label\na,fox,cat\n,,\nc,dog,dog\nd,owl,NA\n"


def test_labels_that_are_positions_of_classes_stay_positions(tmp_path):
    own = write_own(tmp_path, spell="0123")
    applied = applied_labels(BY_NAME, [*NEW[:-1], 4], new_classes=("yak",))
    done = write_corrected_file(own, tmp_path / "b.csv", BY_NAME, applied)
    assert done.new_classes == ("4",)
    written = [line[2] for line in read_csv(tmp_path / "b.csv")[1:]]
    assert written == [str(code) for code in [*NEW[:-1], 4]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_writes_new_classes_and_excluded_rows(tmp_path, suffix):
    own = write_own(tmp_path)
    if suffix == ".parquet":
        own = tmp_path / "a.parquet"
        pl.read_csv(tmp_path / "a.csv").write_parquet(own)
    applied = applied_labels(BY_NAME, [4, *NEW[1:]], new_classes=("yak",), excluded=[2])
    for drop in (False, True):
        target = tmp_path / f"b{drop}{suffix}"
        write_corrected_file(own, target, BY_NAME, applied, drop_excluded=drop)
        table = pl.read_csv(target) if suffix == ".csv" else pl.read_parquet(target)
        expected = ["yak", *(ANIMALS[code] for code in NEW[1:])]
        expected[2] = None
        kept = [row for row in range(N_ROWS) if not (drop and row == 2)]
        assert table["kind"].to_list() == [expected[row] for row in kept]
        assert table["nr"].to_list() == [NAMES[row] for row in kept]
        assert table["given_label"].to_list() == [ANIMALS[BY_NAME.given_labels[r]] for r in kept]


@pytest.mark.parametrize(
    ("name", "message"),
    [("yak", ".*'yak'.*choose new classes"), ("007", ", .*'007' would become '7'")],
)
def test_rejects_a_name_in_a_column_of_numbers(tmp_path, name, message):
    classes = ("3", "5", "7", "9")
    rows = audit_rows(4, classes=classes)
    labels = [int(classes[code]) for code in rows.given_labels]
    pl.DataFrame({"x": [0.5] * 4, "label": labels}).write_parquet(tmp_path / "a.parquet")
    applied = applied_labels(rows, [4, 0, 1, 1], new_classes=(name,))
    with pytest.raises(ValueError, match=rf"has type int64 in the column 'label'{message}"):
        write_corrected_file(tmp_path / "a.parquet", tmp_path / "b.parquet", rows, applied)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("0,cat", "0,owl"), "row T0 the column 'kind' has 'owl'"),
        (lambda text: text.replace("T7,", "T0,"), r"holds 'T0' more than once \(in rows 0, 1"),
        (lambda text: text.replace("T7,", "Z,"), r"lacks 1 row of the audit \('T7'\)"),
        (lambda text: text.replace("nr,", "id,"), r"but no column 'nr' of ids"),
    ],
)
def test_rejects_another_file_and_writes_nothing(tmp_path, change, message):
    own = write_own(tmp_path)
    own.write_text(change(own.read_text()))
    with pytest.raises(ValueError, match=message):
        write_corrected_file(own, tmp_path / "b.csv", BY_NAME, APPLIED)
    assert not (tmp_path / "b.csv").exists()


def test_rejects_two_possible_label_columns(tmp_path):
    labels, target = [ANIMALS[code] for code in BY_NAME.given_labels], tmp_path / "b.csv"
    own = tmp_path / "a.csv"
    write_csv(own, ["nr", "one", "two"], zip(NAMES, labels, labels, strict=True))
    with pytest.raises(ValueError, match=r"'one' and 'two' could both be .*: .* label_co"):
        write_corrected_file(own, target, BY_NAME, APPLIED)
    done = write_corrected_file(own, target, BY_NAME, APPLIED, label_column="two")
    assert done.label_column == "two"
    assert [line[1] for line in read_csv(target)[1:]] == labels


def test_rejects_a_file_that_was_corrected_before(tmp_path):
    own = write_own(tmp_path)
    write_corrected_file(own, tmp_path / "b.csv", BY_NAME, APPLIED)
    with pytest.raises(
        ValueError, match="in row T0 the column 'kind' has 'dog', but the audit has 'c"
    ):
        write_corrected_file(tmp_path / "b.csv", tmp_path / "c.csv", BY_NAME, APPLIED)


def test_rejects_a_file_for_an_audit_of_images(tmp_path):
    own = write_own(tmp_path)
    rows = audit_rows(N_ROWS, ids=RowIds(NAMES, "path"))
    with pytest.raises(ValueError, match=r"is a file, but the audited rows are images of a fold"):
        write_corrected_file(own, tmp_path / "b.csv", rows, APPLIED)
