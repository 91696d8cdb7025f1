"""A row keeps its id, whatever is taken, stored or left out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.tables import FeatureTable, read_features, read_table, write_features
from twohot.tables.row_ids import RowIds

NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1)


def table_of(ids):
    features = np.arange(len(ids) * 2.0).reshape(-1, 2)
    return FeatureTable(features=features, labels=np.zeros(len(ids), int), classes=("a",), ids=ids)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.data())
def test_ids_stay_with_their_rows_in_a_feature_file(tmp_path_factory, names, data):
    path = tmp_path_factory.getbasetemp() / "ids.features"
    rows = data.draw(st.lists(st.sampled_from(range(len(names))), min_size=1, unique=True))
    write_features(path, table_of(RowIds(names, "column", "ticket")).take(rows))
    again = read_features(path)
    assert list(again.ids) == [names[row] for row in rows]
    assert (again.ids.kind, again.ids.column) == ("column", "ticket")
    assert again.features[:, 0].tolist() == [2 * row for row in rows]


def test_positions_are_those_of_the_source(tmp_path):
    write_features(
        tmp_path / "t.features", table_of(RowIds.by_position(5)).take([4, 1]).take([1, 0])
    )
    assert list(read_features(tmp_path / "t.features").ids) == ["1", "4"]


@given(st.lists(NAMES, unique=True), st.data())
def test_places_are_those_of_a_plain_search(names, data):
    wanted = data.draw(st.permutations(names))
    found = RowIds(names).places_of(wanted, "x.csv")
    assert found.tolist() == [names.index(name) for name in wanted]


def test_index_of_a_frame_gives_the_ids():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}, index=pd.Index([7, 3], name="nr"))
    table = read_table(frame)
    assert (list(table.ids), table.ids.column) == (["7", "3"], "nr")
    assert table.ids.values.tolist() == [7, 3]
    # An index that counts rows, or has equal entries, is not used.
    assert list(read_table(frame.reset_index(drop=True)).ids) == ["0", "1"]
    assert list(read_table(frame.set_axis([7, 7])).ids) == ["0", "1"]
    assert list(read_table(frame.assign(id=["p", "q"])).ids) == ["p", "q"]


@pytest.mark.parametrize("values", [range(4), ["a", "b", "c", "d"], pd.Index([7, 8, 9, 5])])
def test_several_ids_are_a_list(values):
    ids, texts = RowIds(values), [str(value) for value in values]
    assert ids[2] == ids[np.int64(2)] == texts[2]
    assert ids[1:3] == ids[[1, 2]] == ids[np.array([1, 2])] == texts[1:3]
    assert ids[np.array([True, False, False, True])] == [texts[0], texts[3]]


def test_cells_keep_whole_numbers():
    large = np.array([2**63 + 5, 7], dtype=np.uint64)
    assert RowIds.of_column("hash", large).cells(slice(2)).tolist() == [2**63 + 5, 7]
    assert RowIds.of_column("no", ["7", "8"]).cells(slice(1)) == ["7"]
    positions = RowIds.by_position(3).cells(slice(1, 3))
    assert (positions.dtype, positions.tolist()) == (np.int64, [1, 2])
