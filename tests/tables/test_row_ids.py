"""A row keeps its id, whatever is taken, stored or left out."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from twohot.tables import FeatureTable, read_features, read_table, write_features
from twohot.tables.row_ids import RowIds

NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1)


def table_of(ids: RowIds) -> FeatureTable:
    n_rows = len(ids)
    return FeatureTable(
        features=np.arange(n_rows * 2.0).reshape(n_rows, 2),
        labels=np.zeros(n_rows, int),
        classes=("a",),
        ids=ids,
    )


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.data())
def test_ids_stay_with_their_rows_through_a_feature_file(tmp_path_factory, names, data):
    path = tmp_path_factory.getbasetemp() / "ids.features"
    rows = data.draw(st.lists(st.sampled_from(range(len(names))), min_size=1, unique=True))
    taken = table_of(RowIds(names, "column", "ticket")).take(rows)
    write_features(path, taken)
    again = read_features(path)
    assert list(again.ids) == [names[row] for row in rows]
    assert (again.ids.kind, again.ids.column) == ("column", "ticket")
    assert again.features[:, 0].tolist() == [2 * row for row in rows]


def test_positions_are_those_of_the_users_file_after_some_were_taken(tmp_path):
    table = table_of(RowIds.by_position(5)).take([4, 1]).take([1, 0])
    write_features(tmp_path / "t.features", table)
    assert list(read_features(tmp_path / "t.features").ids) == ["1", "4"]


@given(st.lists(NAMES, unique=True), st.data())
def test_places_are_those_of_a_plain_search(names, data):
    wanted = data.draw(st.permutations(names))
    found = RowIds(names).places_of(wanted, "x.csv")
    assert found.tolist() == [names.index(name) for name in wanted]


def test_the_index_of_a_frame_is_kept():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}, index=pd.Index([7, 3], name="nr"))
    table = read_table(frame)
    assert (list(table.ids), table.ids.column) == (["7", "3"], "nr")
    assert table.ids.values.tolist() == [7, 3]
    # One that counts rows, or names two alike, is none.
    assert list(read_table(frame.reset_index(drop=True)).ids) == ["0", "1"]
    assert list(read_table(frame.set_axis([7, 7])).ids) == ["0", "1"]
    # A column of ids goes first.
    assert list(read_table(frame.assign(id=["p", "q"])).ids) == ["p", "q"]


def test_cells_of_ids_keep_the_numbers_that_they_are():
    large = np.array([2**63 + 5, 7], dtype=np.uint64)
    cells = RowIds.of_column("hash", large).cells(slice(2))
    assert cells.tolist() == [2**63 + 5, 7]
    assert RowIds.by_position(3).cells(slice(1, 3)).dtype == np.int64
