"""A user's file is written again with other labels and the same other bytes."""

import csv
import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.review.own_file import OwnCsv, open_own_file, raw_records, unquoted
from twohot.tables.csv_file import write_csv

CELL = st.text(alphabet=st.sampled_from('ab,;\t"\r\n é'), max_size=5)
DELIMITERS = st.sampled_from([",", ";", "\t"])


@st.composite
def csv_texts(draw):
    """Return a CSV file with any quoting, line ends and blank lines."""
    delimiter, text = draw(DELIMITERS), ""
    for line in draw(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5)):
        cells = [
            '"' + cell.replace('"', '""') + '"'
            if draw(st.booleans()) or set(cell) & {delimiter, '"', "\r", "\n"}
            else cell
            for cell in line
        ]
        text += delimiter.join(cells) + draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
    return delimiter, text[: -1 if text.endswith("\n\n") and draw(st.booleans()) else None]


@given(csv_texts())
def test_records_are_those_of_the_csv_module(written):
    delimiter, text = written
    records = list(raw_records(text, delimiter))
    expected = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    found = [[unquoted(cell) for cell in record.cells] for record in records]
    assert [[] if cells == [""] else cells for cells in found] == expected
    assert "".join(delimiter.join(record.cells) + record.end for record in records) == text


MESSY = (
    '\ufeff"id";text;"label";n\r\n'
    'T1;"a ""b""; c";"cat";0,50\r\n'
    "\r\n"
    "T2;d, e;dog;  1\r\n"
    'T3;"two\r\nlines";"";x\n'
    "T4;;cat;"
)


def test_other_cells_keep_every_byte(tmp_path):
    path, target = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_bytes(MESSY.encode())
    file = OwnCsv(path)
    assert file.names == ["id", "text", "label", "n"]
    assert file.cells("label") == ["cat", "dog", "", "cat"]
    assert file.cells("text") == ['a "b"; c', "d, e", "two\r\nlines", ""]
    file.write(target, "label", ["dog; big", "dog", "cat", "cat"])
    assert file.before == "given_label"
    assert target.read_bytes().decode() == (
        '\ufeff"id";text;"label";n;"given_label"\r\n'
        'T1;"a ""b""; c";"dog; big";0,50;"cat"\r\n'
        "\r\n"
        "T2;d, e;dog;  1;dog\r\n"
        'T3;"two\r\nlines";"cat";x;""\n'
        "T4;;cat;;cat"
    )


def test_old_labels_of_every_round_are_kept(tmp_path):
    (tmp_path / "a.csv").write_text("label\ncat\n\ndog\n")
    for source, target, name in (("a", "b", "given_label"), ("b", "c", "given_label_2")):
        file = OwnCsv(tmp_path / f"{source}.csv")
        cells = ["fox"] * len(file.cells("label"))
        file.write(tmp_path / f"{target}.csv", "label", cells)
        assert file.before == name
    assert (tmp_path / "c.csv").read_text() == (
        "label,given_label,given_label_2\nfox,cat,fox\nfox,,fox\nfox,dog,fox\n"
    )


def test_parquet_file_keeps_its_schema_and_other_columns(tmp_path):
    table = pa.table(
        {
            "n": pa.array([1, None, 3], pa.int8()),
            "label": pa.array([7, 8, None], pa.int16()),
            "day": pd.to_datetime(["2024-01-01"] * 3),
        }
    ).replace_schema_metadata({"mine": "kept"})
    pq.write_table(table, tmp_path / "t.parquet")
    file = open_own_file(tmp_path / "t.parquet")
    assert file.cells("label") == ["7", "8", ""]
    file.write(tmp_path / "out.parquet", "label", ["8", "9", ""])
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.schema.metadata[b"mine"] == b"kept"
    assert found["label"].to_pylist() == [8, 9, None]
    assert found["given_label"].to_pylist() == [7, 8, None]
    for name in ("n", "day"):
        assert found[name] == table[name]
    assert found.schema.types == [*table.schema.types, pa.int16()]


def test_other_files_are_refused(tmp_path):
    for ending in (".features", ".npz", ".npy", ".jsonl", ".txt", ""):
        message = rf"ends in '{ending}', .*: pass the .parquet, .csv or .tsv file with the labels"
        with pytest.raises(ValueError, match=message):
            open_own_file(tmp_path / f"a{ending}")
    path = tmp_path / "safe.csv"
    write_csv(path, ["text", "label"], [["=1", "cat"]], spreadsheet_safe=True)
    with pytest.raises(ValueError, match=r"is a copy for spreadsheets.*pass the original file"):
        open_own_file(path)


def test_damaged_parquet_file_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"label": [f"class {row}" for row in range(1000)]}), path)
    content = bytearray(path.read_bytes())
    content[20:200] = bytes(180)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.parquet is damaged"):
        open_own_file(path)
