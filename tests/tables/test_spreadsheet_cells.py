"""No cell of a file for spreadsheets is computed, and reading gives every text back."""

import re

import numpy as np
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
# What Excel, LibreOffice and Google Sheets take for the start of a formula.
EXECUTED = tuple("=+-@\t\r\n")


def test_one_apostrophe_is_taken_from_what_a_spreadsheet_would_compute(tmp_path) -> None:
    for text in ("=1", "+1", "-1", "@x", "\tx", "\rx", "\nx"):
        assert unguarded("'" + text) == text
        assert unguarded("''" + text) == "'" + text
        assert unguarded(text) == text
    for text in ("", "'", "''", "cat", "'tis", "x=1", "' =1"):
        assert unguarded(text) == text
    (tmp_path / "labels.csv").write_text("label\n'=x\n")  # of somebody else: no column says so
    assert csv_columns(tmp_path / "labels.csv")["label"].tolist() == ["'=x"]


@given(FIELDS)
def test_a_guarded_cell_is_no_formula_and_comes_back(text) -> None:
    cell = guarded(text)
    assert unguarded(cell) == text
    is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", cell)
    assert not cell.startswith(EXECUTED) or is_number


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1))
def test_a_safe_file_is_read_as_it_was(tmp_path_factory, lines) -> None:
    path = tmp_path_factory.getbasetemp() / "safe.csv"
    write_csv(path, ["first", "second"], lines, spreadsheet_safe=True)
    assert read_csv(path) == [["first", "second"], *map(list, lines)]
    columns = csv_columns(path)
    assert list(columns) == ["first", "second"]
    assert columns["second"].tolist() == [second for _, second in lines]


def cells_of(path):
    """All cells as they stand in the file, that is, as a spreadsheet finds them."""
    text = path.read_text()
    return [cell.strip('"') for line in text.splitlines() for cell in line.split(",")]


def test_a_safe_audit_holds_no_formula_and_is_applied(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = tuple(f"{FORMULA}{i}" for i in range(12))
    rows = audit_rows(12, items=items, item_kind="text")
    write_audit_folder("audit", rows, ReviewSummary(), spreadsheet_safe=True)
    assert read_audit_folder("audit").items == items
    lines = [[rows.report_id(), "0", "reject", ""]]
    write_csv("decisions.csv", ["report", "id", "decision", "label"], lines)
    arguments = ["apply", "decisions.csv", "--audit", "audit", "--spreadsheet-safe"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    for name in ("issues.csv", "corrected.csv", "reviewed.csv"):
        assert not [cell for cell in cells_of(tmp_path / "audit" / name) if cell[:1] in EXECUTED]


def test_labels_of_a_safe_file_are_the_labels(tmp_path) -> None:
    path = tmp_path / "corrected.csv"
    lines = [["0", FORMULA], ["1", "-1"], ["2", "'=x"]]
    write_csv(path, ["row", "label"], lines, spreadsheet_safe=True)
    np.save(tmp_path / "X.npy", np.eye(3))
    table = read_table(tmp_path / "X.npy", labels=path)
    assert table.given_labels.tolist() == [FORMULA, "-1", "'=x"]


def test_an_audit_is_as_it_was_unless_asked(tmp_path) -> None:
    rows = audit_rows(12, items=(FORMULA,) * 12, item_kind="text")
    write_audit_folder(tmp_path, rows, ReviewSummary())
    header, first, *_ = (tmp_path / "corrected.csv").read_text().splitlines()
    assert header == "id,item,label"
    assert first.startswith(csv_line(["0", FORMULA]).strip())
