"""Labels of a separate file are joined to their rows, whatever their order."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.tables import FeatureTable, read_table, write_features
from twohot.tables.row_ids import RowIds

X = np.eye(4)


def write_csv(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_sources(folder, labels, classes, **others):
    """Write the same table as an archive and as a feature file; return their paths."""
    np.savez(folder / "x.npz", X=X, y=labels, classes=classes, **others)
    table = FeatureTable(features=X, labels=np.array(labels), classes=tuple(classes))
    write_features(folder / "x.features", table)
    return folder / "x.npz", folder / "x.features"


@given(st.permutations(range(4)))
def test_labels_with_ids_come_in_any_order(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("labels")
    np.savez(folder / "x.npz", X=X)
    names = ["ant", "bee", "cat", "dog"]
    path = write_csv(folder / "l.csv", "row,item,label", *(f"{k},,{names[k]}" for k in order))
    assert read_table(folder / "x.npz", labels=path).given_labels.tolist() == names


def test_rows_that_are_not_listed_keep_their_label(tmp_path):
    path = write_csv(tmp_path / "l.csv", "row,label", "2,dog", "0,")
    for source in write_sources(tmp_path, [0, 1, 0, -1], ["cat", "dog"]):
        found = read_table(source, labels=path)
        assert found.given_labels.tolist() == [None, "dog", "dog", None]
        assert found.classes == ("cat", "dog")
    # Features without labels have none to keep.
    np.save(tmp_path / "x.npy", X)
    path = write_csv(tmp_path / "l.csv", "row,label", "3,b", "1,a")
    assert read_table(tmp_path / "x.npy", labels=path).labels.tolist() == [-1, 0, -1, 1]


def test_label_file_may_have_new_classes(tmp_path):
    path = write_csv(tmp_path / "l.csv", "row,label", "2,yak", "0,ant")
    other = write_csv(tmp_path / "o.csv", "row,label", *(f"{row},yak" for row in range(4)))
    codes, classes = [0, 1, 0, -1], ["dog", "cat"]
    for source in write_sources(tmp_path, codes, classes, true_label=[0, 1, 1, 1]):
        found = read_table(source, labels=path)
        assert found.classes == ("dog", "cat", "ant", "yak")
        assert found.given_labels.tolist() == ["ant", "cat", "yak", None]
        assert found.columns_in_words.endswith("new classes: 'ant', 'yak'")
        with pytest.raises(ValueError, match="labels that belong to these rows: at least one"):
            read_table(source, labels=other)
    assert read_table(tmp_path / "x.npz", labels=path).true_labels.tolist() == [0, 1, 1, 1]
    with pytest.raises(ValueError, match="2 labels that are not among the 2 classes"):
        read_table(tmp_path / "x.npz", labels=path, classes=classes)


def test_new_classes_need_a_superclass(tmp_path):
    path = write_csv(tmp_path / "l.csv", "row,label", "2,yak", "0,ant")
    archive, file = write_sources(tmp_path, [0, 1, 0, -1], ["dog", "cat"], superclass=[0, 0])
    groups = {"superclass": np.array([0, 0]), "superclass_names": ("pet",)}
    write_features(file, replace(read_table(file), **groups))
    for source in (archive, file):
        with pytest.raises(ValueError, match="'ant', 'yak' are in none of the superclasses"):
            read_table(source, labels=path)


@pytest.mark.parametrize("rows", [range(4), (3, 1)])
def test_whole_numbers_are_positions_among_words(tmp_path, rows):
    path = write_csv(tmp_path / "l.csv", "row,label", *(f"{row},1" for row in rows))
    expected = ["cat" if row in rows else "dog" for row in range(4)]
    for source in write_sources(tmp_path, [0, 0, 0, 0], ["dog", "cat"]):
        found = read_table(source, labels=path)
        assert found.given_labels.tolist() == expected
        assert found.classes == ("dog", "cat")
        kept = "rows that are not in l.csv and keep their label: 2"
        assert (kept in found.columns_in_words) == (len(rows) == 2)


def test_corrected_parquet_file_is_a_label_file(tmp_path):
    source, _ = write_sources(tmp_path, [0, 0, 0, 0], ["dog", "cat"])
    labels = {"id": [2, 0], "label": ["cat", "yak"], "given_label": ["dog", "dog"]}
    pd.DataFrame(labels).to_parquet(tmp_path / "l.parquet")
    found = read_table(source, labels=tmp_path / "l.parquet")
    assert found.given_labels.tolist() == ["yak", "dog", "cat", "dog"]


def test_missing_texts_apply_to_both_labels(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=["cat", "NA", "dog", "dog"], classes=["cat", "dog"])
    path = write_csv(tmp_path / "l.csv", "row,label", "2,cat", "3,NA")
    found = read_table(tmp_path / "x.npz", labels=path, missing=["NA"])
    assert found.given_labels.tolist() == ["cat", None, "cat", None]


def test_labels_that_are_all_replaced_are_not_checked(tmp_path):
    np.savez(tmp_path / "x.npz", X=X, y=[0.5, 1, 2, 3])  # 0.5 is not a label
    path = write_csv(tmp_path / "l.csv", "row,label", "3,b", "1,a", "0,a", "2,a")
    assert read_table(tmp_path / "x.npz", labels=path).labels.tolist() == [0, 0, 0, 1]


def stored(tmp_path, ids, skipped):
    """Write features of three rows with ids, and the ids of skipped rows."""
    table = FeatureTable(
        features=X[:3],
        labels=np.array([0, 1, 0]),
        classes=("cat", "dog"),
        ids=ids,
        provenance={"skipped": [{"id": skipped, "item": "", "reason": ""}]},
    )
    write_features(tmp_path / "x.features", table)
    return tmp_path / "x.features"


def test_labels_of_skipped_rows_are_left_out(tmp_path):
    features = stored(tmp_path, RowIds.by_position(4).take([0, 2, 3]), skipped="1")
    path = write_csv(tmp_path / "l.csv", "text,label", "a,dog", ",cat", "c,dog", "d,cat")
    table = read_table(features, labels=path)
    assert table.given_labels.tolist() == ["dog", "dog", "cat"]
    assert list(table.ids) == ["0", "2", "3"]
    assert list(table.items) == ["a", "c", "d"]
    # One line for each row of the features: the skipped row may be among them.
    short = write_csv(tmp_path / "s.csv", "text,label", "a,dog", "c,dog", "d,cat")
    with pytest.raises(ValueError, match=r"3 labels for 3 rows of features: .* a column 'id'"):
        read_table(features, labels=short)


def test_ids_are_found_by_the_column_of_the_features(tmp_path):
    features = stored(tmp_path, RowIds.of_column("ticket", ["T7", "T8", "T9"]), skipped="T1")

    def read(*lines, **options):
        return read_table(features, labels=write_csv(tmp_path / "l.csv", *lines), **options)

    for lines in (
        ("ticket,id,label", "T9,1,dog", "T1,2,cat", "T7,3,dog"),
        ("id,item,label", "T9,,dog", "T7,,dog"),  # as in the files of an audit
    ):
        assert read(*lines).given_labels.tolist() == ["dog"] * 3
    other = ("nr,label", "T7,cat", "T8,cat", "T9,cat")
    assert read(*other, id_column="nr").labels.tolist() == [0, 0, 0]
    for lines, message in (
        (other, r"l.csv has no column of ids.*the column 'ticket'"),
        (("ticket,label", "T7,cat", "T5,cat", "T6,dog"), r"2 ids that no row has \('T5', 'T6'\)"),
        (("ticket,label", "T7,cat", "T7,cat"), r"has 1 id more than once \('T7'\)"),
    ):
        with pytest.raises(ValueError, match=message):
            read(*lines)


def test_audit_files_are_read_with_the_options_of_the_audit(tmp_path):
    lines = (f"{x},{2 * x},N{x},cat" for x in range(4))
    table = write_csv(tmp_path / "t.csv", "a,b,nr,kind", *lines)
    audits = write_csv(tmp_path / "audits.csv", "id,item,label", "N3,,dog", "N0,,dog", "N1,,cat")
    found = read_table(table, labels=audits, id_column="nr")
    assert found.given_labels.tolist() == ["dog", "cat", None, "dog"]
    assert list(found.ids) == ["N0", "N1", "N2", "N3"]
    assert found.items is None


def test_features_without_ids_take_those_of_the_label_file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    lines = ("id,message,label", "9,a,cat", "4,b,dog", "7,c,cat", "2,d,dog")
    path = write_csv(tmp_path / "l.csv", *lines)
    table = read_table(tmp_path / "x.npy", labels=path, item_column="message")
    assert (list(table.ids), table.ids.column) == (["9", "4", "7", "2"], "id")
    assert (list(table.items), table.item_kind) == (["a", "b", "c", "d"], "text")
    # Positions in another order may be ids, or not.
    shuffled = write_csv(tmp_path / "s.csv", "id,label", "3,a", "1,a", "0,b", "2,b")
    with pytest.raises(ValueError, match=r"positions of rows as ids 'id', in another order: ren"):
        read_table(tmp_path / "x.npy", labels=shuffled)
    in_order = read_table(tmp_path / "x.npy", labels=shuffled, id_column="")
    assert in_order.given_labels.tolist() == ["a", "a", "b", "b"]


def test_series_indexed_by_ids_in_another_order_is_refused(tmp_path):
    ids = [f"r{number}" for number in range(6)]
    rows = pd.DataFrame({"id": ids, "a": range(6), "b": [0.5] * 6})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    labels = pd.Series([*"xyxyxy"], index=ids)
    for source in (tmp_path / "rows.csv", rows):
        for same in (labels, labels.reset_index(drop=True)):
            assert read_table(source, labels=same).given_labels.tolist() == [*"xyxyxy"]
        with pytest.raises(ValueError, match="has the row ids as its index"):
            read_table(source, labels=labels[::-1])


@pytest.mark.parametrize("kind", ["features", "csv"])
def test_sorted_label_file_without_ids_is_refused(kind, tmp_path):
    texts, labels = ["to pay", "late", "a refund", "lost"], ["bill", "post", "bill", "post"]
    if kind == "features":
        source = tmp_path / "x.features"
        none = {"labels": np.full(4, -1), "classes": ()}
        write_features(source, FeatureTable(features=X, items=texts, item_kind="text", **none))
    else:
        rows = (f"{text},{','.join(map(str, row))}" for text, row in zip(texts, X, strict=True))
        source = write_csv(tmp_path / "x.csv", "text,a,b,c,d", *rows)
    lines = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
    same = write_csv(tmp_path / "same.csv", "text,label", *lines)
    assert read_table(source, labels=same).given_labels.tolist() == labels
    other = write_csv(tmp_path / "sorted.csv", "text,label", *sorted(lines))
    with pytest.raises(ValueError, match="items of the features in the column 'text', but in"):
        read_table(source, labels=other)
