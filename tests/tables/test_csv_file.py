"""CSV files return what was written, and safe files contain no formulas."""

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from audits import audit_rows
from twohot.audit.folder import read_audit_folder, write_audit_folder
from twohot.review.records import ReviewSummary
from twohot.tables import read_table
from twohot.tables.csv_file import csv_columns, csv_line, guarded, read_csv, unguarded, write_csv
from twohot_command.commands import app

FIELDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
FORMULA = "=cmd|' /C calc'!A0"
# Excel, LibreOffice and Google Sheets execute cells that start with one of these.
EXECUTED = tuple("=+-@\t\r\n")


@pytest.mark.parametrize("columns", [["first", "second"], ["first"]])
@pytest.mark.parametrize("safe", [False, True])
@given(lines=st.lists(st.tuples(FIELDS, FIELDS), min_size=1))
def test_reading_returns_what_was_written(tmp_path_factory, columns, safe, lines):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    cells = [list(line[: len(columns)]) for line in lines]
    write_csv(path, columns, cells, spreadsheet_safe=safe)
    assert read_csv(path) == [columns, *cells]
    found = {name: column.tolist() for name, column in csv_columns(path).items()}
    assert found == {name: [line[place] for line in cells] for place, name in enumerate(columns)}


def test_byte_order_mark_is_kept_in_names_and_dropped_before_them(tmp_path):
    write_csv(tmp_path / "mark.csv", ["\ufeffrow", "b"], [["1", "\ufeff"]])
    assert read_csv(tmp_path / "mark.csv") == [["\ufeffrow", "b"], ["1", "\ufeff"]]
    (tmp_path / "mark.csv").write_bytes("\ufeffrow,label\r\n\r\n1,é\r\n".encode())
    assert read_csv(tmp_path / "mark.csv") == [["row", "label"], ["1", "é"]]


def test_long_field_is_read_and_the_limit_restored(tmp_path):
    limit = csv.field_size_limit()
    write_csv(tmp_path / "long.csv", ["a", "b"], [["x" * (limit + 1), "y"]])
    assert len(read_csv(tmp_path / "long.csv")[1][0]) == limit + 1
    assert csv.field_size_limit() == limit


def test_digits_with_underscores_are_words(tmp_path):
    write_csv(tmp_path / "m.csv", ["x", "month"], [["1", "2010_01"], ["2", "2010_02"]])
    found = csv_columns(tmp_path / "m.csv", is_text=lambda _: False)
    assert found["x"].tolist() == [1, 2]
    assert found["month"].tolist() == [None, None]
    write_csv(tmp_path / "n.csv", ["2010_01", "2010_02"], [["1", "2"]])
    assert list(csv_columns(tmp_path / "n.csv")) == ["2010_01", "2010_02"]


def test_truth_values_are_features_only_beside_zero_and_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,label\n1.5,TRUE,x\n2.5,false,y\n0,0,x\n")
    assert read_table(path).features.tolist() == [[1.5, 1], [2.5, 0], [0, 0]]
    path.write_text("a,b,label\n1.5,TRUE,x\n2.5,false,y\nTRUE,0,x\n")
    message = r"column 'a' holds numbers, but the cell in row 2 \(.*\) is 'TRUE'"
    with pytest.raises(ValueError, match=message):
        read_table(path)


# Cells that a spreadsheet would execute ----------------------------------------------------------


def test_unguarding_removes_one_apostrophe_from_formulas_only(tmp_path):
    for text in ("=1", "+1", "-1", "@x", "\tx", "\rx", "\nx"):
        assert unguarded("'" + text) == text
        assert unguarded("''" + text) == "'" + text
        assert unguarded(text) == text
    for text in ("", "'", "''", "cat", "'tis", "x=1", "' =1"):
        assert unguarded(text) == text
    (tmp_path / "labels.csv").write_text("label\n'=x\n")  # not written as a safe file
    assert csv_columns(tmp_path / "labels.csv")["label"].tolist() == ["'=x"]


@given(FIELDS)
def test_guarded_cell_is_no_formula(text):
    cell = guarded(text)
    assert unguarded(cell) == text
    is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", cell)
    assert not cell.startswith(EXECUTED) or is_number


def test_safe_audit_has_no_formulas_and_can_be_applied(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items = tuple(f"{FORMULA}{row}" for row in range(12))
    rows = audit_rows(12, items=items, item_kind="text")
    write_audit_folder("plain", rows, ReviewSummary())
    line = (tmp_path / "plain" / "corrected.csv").read_text().splitlines()[1]
    assert line.startswith(csv_line(["0", items[0]]).strip())
    write_audit_folder("audit", rows, ReviewSummary(), spreadsheet_safe=True)
    assert read_audit_folder("audit").items == items
    lines = [[rows.report_id(), "0", "reject", ""]]
    write_csv("decisions.csv", ["report", "id", "decision", "label"], lines)
    arguments = ["apply", "decisions.csv", "--audit", "audit", "--spreadsheet-safe"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    for name in ("issues.csv", "corrected.csv", "reviewed.csv"):
        lines = (tmp_path / "audit" / name).read_text().splitlines()
        cells = [cell.strip('"') for line in lines for cell in line.split(",")]
        assert not [cell for cell in cells if cell[:1] in EXECUTED]
