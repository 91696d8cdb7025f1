"""The same rule assigns the roles of columns in every format."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from twohot.tables import read_table
from twohot.tables.column_roles import ColumnChoice, assign_roles
from twohot.tables.csv_file import csv_header

N_ROWS = 12
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "e0": RNG.normal(size=N_ROWS),
        "e1": RNG.normal(size=N_ROWS),
        "category": ["a", "b"] * 6,
        "note": "words",
    }
)


def read_csv(frame, tmp_path, index=False, **options):
    frame.to_csv(tmp_path / "t.csv", index=index)
    return read_table(tmp_path / "t.csv", label_column="category", **options)


def read_text(text, tmp_path, name="t.csv"):
    (tmp_path / name).write_bytes(text.encode())
    return read_table(tmp_path / name)


def test_roles_are_described(tmp_path):
    frame = FRAME.assign(ticket_id=[f"T{row}" for row in range(N_ROWS)], e2=0.5)
    assert read_csv(frame, tmp_path).provenance["columns"] == (
        "features: 3 columns e0 … e2; label: category; id: ticket_id; not used: note"
    )


@pytest.mark.parametrize("rows", [slice(None), [3, 1, 7, 5, 0, 2]])
def test_saved_index_is_no_feature(rows, tmp_path):
    frame = FRAME.iloc[rows]
    table = read_csv(frame, tmp_path, index=True)
    np.testing.assert_array_equal(table.features, frame[["e0", "e1"]])
    assert table.provenance["columns"].endswith("not used: (no name), note")
    again = pd.read_csv(tmp_path / "t.csv")  # pandas names the column "Unnamed: 0"
    for found in (read_csv(again, tmp_path), read_table(again, label_column="category")):
        # Some versions of pandas do not read the last digit exactly.
        np.testing.assert_allclose(found.features, frame[["e0", "e1"]], rtol=1e-15)
        assert "not used: Unnamed: 0, note" in found.provenance["columns"]


@pytest.mark.parametrize("name", ["id", "ID", "ticket_id", "Ticket ID", "ticketId", "ids"])
def test_ids_are_found_by_name(name, tmp_path):
    frame = FRAME.assign(**{name: np.arange(N_ROWS)[::-1] + 100})
    for table in (
        read_csv(frame, tmp_path),
        read_table(frame, label_column="category"),
        read_table(pl.DataFrame(frame), label_column="category"),
    ):
        assert table.n_features == 2
        assert list(table.ids)[:2] == ["111", "110"]
        assert table.ids.column == name


@pytest.mark.parametrize("name", ["grid", "valid", "humid", "paid"])
def test_words_that_end_in_id_name_features(name, tmp_path):
    assert read_csv(FRAME.assign(**{name: 0.5}), tmp_path).n_features == 3


@pytest.mark.parametrize("tickets", [["T1", "T1", "T2"], ["T1", "", "T2"], [1, 2, 1]])
def test_repeated_or_empty_ids_are_not_used(tmp_path, tickets):
    frame = pd.DataFrame({"ticket_id": tickets, "a": [0.5, 1.5, 2.5], "category": list("xyx")})
    table = read_csv(frame, tmp_path)
    assert list(table.ids) == ["0", "1", "2"]
    words = "id: position of the row (ticket_id has repeated or empty values)"
    assert words in table.columns_in_words
    by_position = read_csv(frame, tmp_path, id_column="")
    assert "id: position of the row; not used: ticket_id" in by_position.columns_in_words


def test_two_columns_of_ids_are_refused(tmp_path):
    frame = FRAME.assign(a_id=range(N_ROWS), b_id=range(N_ROWS))
    message = r"'a_id' and 'b_id' could both be the id column .*: .* id_column"
    with pytest.raises(ValueError, match=message):
        read_csv(frame, tmp_path)
    assert read_csv(frame, tmp_path, id_column="b_id").ids.column == "b_id"
    assert read_csv(frame, tmp_path, id_column="").ids.kind == "position"


def test_column_that_numbers_the_rows_is_refused(tmp_path):
    frame = FRAME.assign(nr=RNG.permutation(N_ROWS) + 1)
    with pytest.raises(ValueError, match=r"'nr' has row numbers.*id_column='nr', or name the f"):
        read_csv(frame, tmp_path)
    assert read_csv(frame, tmp_path, id_column="nr").n_features == 2
    assert read_csv(frame, tmp_path, feature_column=["e*", "nr"]).n_features == 3


def test_features_by_patterns(tmp_path):
    frame = FRAME.assign(other=0.0, emotion="sad")
    for pattern, names in (("e?", "e0, e1"), (["e[01]"], "e0, e1"), (["e1", "e0"], "e1, e0")):
        words = read_csv(frame, tmp_path, feature_column=pattern).columns_in_words
        assert words.startswith(f"features: {names}; ")
    with pytest.raises(ValueError, match=r"feature_column='z\*' is missing .*: the columns are"):
        read_csv(frame, tmp_path, feature_column="z*")
    # A pattern does not match columns with another role.
    assert read_csv(FRAME[["e0", "category"]], tmp_path, feature_column="*").n_features == 1


@pytest.mark.parametrize("first", ["", "NA", "nan", "null", "None"])
def test_missing_first_cell_is_nan(first, tmp_path):
    table = read_text(f"a,b,label\n{first},1,x\n2,3,y\n4,5,y\n", tmp_path)
    np.testing.assert_array_equal(table.features, [[np.nan, 1], [2, 3], [4, 5]])


def test_numbers_of_any_kind_are_features():
    numbers = {
        "python": np.array([1, 2.5], dtype=object),
        "decimals": [Decimal("0.5"), Decimal(2)],
        "bools": [True, False],
        "objects": np.array([True, None], dtype=object),
        "fractions": [Fraction(1, 2), Fraction(2)],
    }
    table = read_table(pd.DataFrame(numbers | {"y": ["a", "b"]}))
    expected = [[1, 0.5, 1, 1, 0.5], [2.5, 2, 0, np.nan, 2]]
    np.testing.assert_array_equal(table.features, expected)


def test_word_among_numbers_is_refused(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1, "error", 3], "y": list("abc")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    message = r"'b' holds numbers, but the cell in row 1 \(.*\) is 'error': c"
    for source in (frame, tmp_path / "t.csv"):
        with pytest.raises(ValueError, match=message):
            read_table(source)
        for features in ("a", ["a"], "a*"):
            assert read_table(source, feature_column=features).n_features == 1


def test_long_column_of_words_is_not_used(tmp_path):
    columns = {"a": np.arange(300) / 2, "b": ["word"] * 299 + ["7"], "category": ["x", "y"] * 150}
    assert read_csv(pd.DataFrame(columns), tmp_path).columns_in_words.endswith("not used: b")


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_delimiters_decimal_commas_and_byte_order_marks(delimiter, mark, tmp_path):
    lines = [["size", "text", "label"], ["0,5", "a; b, c\td", "x"], ["-1,25e1", "", "y"], ["3"] * 3]
    if delimiter == ",":
        lines[1][0], lines[2][0] = "0.5", "-12.5"
    text = "\r\n".join(
        delimiter.join(f'"{cell}"' if delimiter in cell else cell for cell in line)
        for line in lines
    )
    table = read_text(mark + text, tmp_path)
    assert table.features.tolist() == [[0.5], [-12.5], [3]]
    assert table.classes == ("3", "x", "y")
    assert list(table.items) == ["a; b, c\td", "", "3"]


def test_tsv_file_is_separated_by_tabs(tmp_path):
    text = "last, first, middle\tsize\tlabel\nDoe, Jo, Q\t1,5\tx\nRoe, Al, K\t2\ty\n"
    assert read_text(text, tmp_path, "t.tsv").features.tolist() == [[1.5], [2]]
    assert csv_header(tmp_path / "t.tsv") == ["last, first, middle", "size", "label"]


@pytest.mark.parametrize(("cell", "kind"), [("a/b.jpg", "image"), ("Hello there.", "text")])
def test_kind_of_items_in_a_chosen_column(cell, kind, tmp_path):
    table = read_csv(FRAME.assign(shown=cell), tmp_path, item_column="shown")
    assert (table.items[3], table.item_kind) == (cell, kind)


def test_names_of_many_columns_are_compared_rarely():
    class Name(str):
        n_compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.n_compared += 1
            return str.__eq__(self, other)

    columns = {Name(f"c{place}"): np.array([0.5, 1.5]) for place in range(400)}
    assert len(assign_roles(columns, ColumnChoice()).features) == 400
    assert Name.n_compared < 40 * 400


def test_feature_columns_are_in_order():
    frame = pd.DataFrame({"b": [0.5, 1.5], "label": list("xy"), "a": [2.5, 3.5]})
    assert read_table(frame).feature_columns == ("b", "a")
    lists = pd.DataFrame({"embedding": [[0.5, 1.5], [2.5, 3.5]], "label": list("xy")})
    assert read_table(lists).feature_columns == ()
