"""A CSV file gives back what was written, as lines and as columns."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.tables import read_table
from twohot.tables.csv_file import csv_columns, read_csv, write_csv

FIELDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.lists(FIELDS, min_size=1)))
def test_reading_gives_back_what_was_written(tmp_path_factory, lines) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    write_csv(path, ["first", "second"], lines)
    assert read_csv(path) == [["first", "second"], *lines]


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1))
def test_columns_hold_what_was_written(tmp_path_factory, lines) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    for columns in (["first", "second"], ["first"]):
        write_csv(path, columns, [line[: len(columns)] for line in lines])
        found = csv_columns(path)
        assert {name: found[name].tolist() for name in columns} == {
            name: [line[place] for line in lines] for place, name in enumerate(columns)
        }


def test_a_mark_of_byte_order_in_a_name_is_kept(tmp_path) -> None:
    write_csv(tmp_path / "mark.csv", ["\ufeffrow", "b"], [["1", "\ufeff"]])
    assert read_csv(tmp_path / "mark.csv") == [["\ufeffrow", "b"], ["1", "\ufeff"]]


def test_a_long_field_is_read_and_the_limit_put_back(tmp_path) -> None:
    limit = csv.field_size_limit()
    write_csv(tmp_path / "long.csv", ["a", "b"], [["x" * (limit + 1), "y"]])
    assert len(read_csv(tmp_path / "long.csv")[1][0]) == limit + 1
    assert len(csv_columns(tmp_path / "long.csv")["a"][0]) == limit + 1
    assert csv.field_size_limit() == limit


def test_digits_that_are_grouped_by_code_alone_are_words(tmp_path) -> None:
    write_csv(tmp_path / "m.csv", ["x", "month"], [["1", "2010_01"], ["2", "2010_02"]])
    found = csv_columns(tmp_path / "m.csv", is_text=lambda _: False)
    assert found["x"].tolist() == [1, 2]
    assert found["month"].tolist() == [None, None]
    # Names of columns, too.
    write_csv(tmp_path / "n.csv", ["2010_01", "2010_02"], [["1", "2"]])
    assert list(csv_columns(tmp_path / "n.csv")) == ["2010_01", "2010_02"]


def test_a_byte_order_mark_and_blank_lines_are_passed_over(tmp_path) -> None:
    (tmp_path / "mark.csv").write_bytes("\ufeffrow,label\r\n\r\n1,é\r\n".encode())
    assert read_csv(tmp_path / "mark.csv") == [["row", "label"], ["1", "é"]]


def test_a_truth_value_among_other_numbers_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,label\n1.5,TRUE,x\n2.5,false,y\nTRUE,0,x\n")
    with pytest.raises(
        ValueError, match=r"column 'a' holds numbers, but 'TRUE' in row 2 \(from 0\)"
    ):
        read_table(path)
    path.write_text("a,b,label\n1.5,TRUE,x\n2.5,false,y\n0,0,x\n")
    assert read_table(path).features.tolist() == [[1.5, 1], [2.5, 0], [0, 0]]
