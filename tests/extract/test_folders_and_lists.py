"""Labelled items from folders and tables, and errors for invalid ones."""

import shutil

import numpy as np
import pandas as pd
import pytest

from pictures import write_photos, write_picture
from twohot.extract import LabelledItems, read_image_folder, read_item_table


@pytest.fixture
def photos(tmp_path):
    return write_photos(tmp_path / "photos")


def emptied(root):
    shutil.rmtree(root)
    root.mkdir()
    return root


def test_classes_are_folders_with_images_at_any_depth(photos):
    write_picture(photos / "cat" / "more" / "x.jpg", 9)
    write_picture(photos / "cat" / ".thumbnails" / "x.jpg", 9)
    write_picture(photos / ".trash" / "x.jpg", 9)
    (photos / "cat" / "notes.txt").write_text("Which cat?")
    (photos / "cat" / ".hidden.png").write_bytes(b"")
    (photos / "labels.csv").write_text("")
    items = read_image_folder(photos)
    assert items.kind == items.item_kind == "image"
    assert items.classes == ("cat", "dog")
    assert items.labels.tolist() == [0] * 5 + [1] * 4
    assert items.items[4:6] == (
        str(photos / "cat" / "more" / "x.jpg"),
        str(photos / "dog" / "000.png"),
    )


def test_numeric_classes_are_sorted_by_value(tmp_path):
    items = read_image_folder(write_photos(tmp_path / "photos", 1, ("10", "b", "2", "1")))
    assert items.classes == ("1", "2", "10", "b")
    # The images stay in the order of their paths, which a feature file has.
    assert list(items.ids) == ["1/000.png", "10/000.png", "2/000.png", "b/000.png"]
    assert items.labels.tolist() == [0, 2, 1, 3]


def test_unlabelled_images_may_be_anywhere(photos):
    write_picture(photos / "0.jpg", 9)
    write_picture(photos / "dog" / "more" / "x.jpg", 9)
    write_picture(photos / ".trash" / "x.jpg", 9)
    (photos / "notes.txt").write_text("Which dog?")
    items = read_image_folder(photos, unlabelled=True)
    names = [item.rsplit("photos/")[1] for item in items.items]
    by_class = [f"{name}/{number:03d}.png" for name in ("cat", "dog") for number in range(4)]
    assert names == ["0.jpg", *by_class, "dog/more/x.jpg"]
    assert items.labels.tolist() == [-1] * 10
    assert items.classes == ()


def add_folders(root, n_folders):
    for number in range(n_folders):
        (root / f"emu{number}").mkdir()


UNLABELLED = {"unlabelled": True}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (shutil.rmtree, {}, "is not a folder: pass a folder of images"),
        (emptied, {}, "has no sub-folder: create one per class"),
        (
            lambda root: write_picture(emptied(root) / "1.png", 1),
            {},
            r"1 image .* but no class folders",
        ),
        (lambda root: write_picture(root / "1.png", 1), {}, r"1 image .* next to .*unlabelled"),
        (lambda root: add_folders(emptied(root), 1), UNLABELLED, r"no images in 1 folder .*photos"),
        (lambda root: add_folders(root, 1), {}, r"no images in 1 folder \(.*emu0'\): add images"),
        (lambda root: add_folders(root, 7), {}, r"no images in 7 folders .*emu4' and 2 more\)"),
    ],
)
def test_rejects_invalid_folders(photos, change, options, message):
    change(photos)
    with pytest.raises((ValueError, NotADirectoryError), match=message):
        read_image_folder(photos, **options)


def test_paths_are_relative_to_the_csv_file(photos):
    listed = photos.parent / "list.csv"
    listed.write_text("path,label\nphotos/dog/000.png,dog\n./photos/cat/000.png,\n")
    items = read_item_table(listed)
    assert items.kind == "image"
    assert items.items == [str(photos / "dog" / "000.png"), str(photos / "cat" / "000.png")]
    assert items.labels.tolist() == [0, -1]
    assert items.classes == ("dog",)


def test_texts_of_a_csv_with_splits_and_true_labels(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text(
        'question,intent,true_label,split\n"Where, exactly?",b,a,train\nWhen?,b,b,test\n',
        encoding="utf-8-sig",
    )
    items = read_item_table(path, text_column="question", label_column="intent")
    assert items.kind == items.item_kind == "text"
    assert items.items == ["Where, exactly?", "When?"]
    assert items.classes == ("a", "b")
    assert items.labels.tolist() == [1, 1]
    assert items.true_labels.tolist() == [0, 1]
    assert (items.split.tolist(), items.split_names) == ([0, 1], ("train", "test"))
    without = read_item_table(path, text_column="question", unlabelled=True)
    assert without.labels.tolist() == [-1, -1]
    assert (without.classes, without.true_labels) == ((), None)
    assert without.split_names == ("train", "test")


def test_parquet_file_equals_csv_file(tmp_path):
    cells = {"text": ["a", None, "c"], "label": ["10", "2", None], "split": ["test"] * 3}
    frame = pd.DataFrame(cells)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    parquet, csv = (read_item_table(tmp_path / name) for name in ("t.parquet", "t.csv"))
    assert parquet.items == csv.items == ["a", "", "c"]
    assert parquet.labels.tolist() == csv.labels.tolist() == [1, 0, -1]
    assert parquet.classes == csv.classes == ("2", "10")
    assert parquet.split_names == csv.split_names == ("test",)


PATHS, BOTH = "path,label\na.png,x\n", "path,text,label\na,b,x\n"
GONE = "".join(f"gone{number}.png,x\n" for number in range(7))
BOTH_COLUMNS = {"path_column": "path", "text_column": "text"}


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("path,kind\na.png,x\n", {}, "name the label column by label_column=….*unlabelled=True"),
        (PATHS, {"label_column": "class"}, "label_column='class' is missing"),
        (PATHS, {"label_column": "label", **UNLABELLED}, "contradict each other: remove one"),
        (PATHS, {"path_column": "file"}, "path_column='file' is missing"),
        ("text,label\na,x\n", {"text_column": "words"}, "text_column='words' is missing"),
        ("a,label\na,x\n", {}, "no column 'path' .*columns are 'a', 'label'"),
        (BOTH, {}, "both a column 'path' and a column 'text'"),
        (BOTH, BOTH_COLUMNS, "both given: items are either images"),
        ("path,label\na.png,x\nb.png,x\n./a.png,y\n", {}, r"lists \S*a.png 2 times: keep one row"),
        ("path,label\n", {}, "no rows"),
        ("path,label\na.png\n", {}, "1 cell in row 0"),
        (f"{PATHS},y\nc.png,y\n,y\n", {}, r"no image path in 2 rows \(row 1, 3, where"),
        (f"path,label\nhere.png,x\n{GONE}", {}, r"7 missing files \(\S*gone0.png', .* and 2 more"),
    ],
)
def test_rejects_invalid_csv(tmp_path, text, options, message):
    write_picture(tmp_path / "here.png", 1)
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read_item_table(tmp_path / "list.csv", **options)


def test_column_can_be_chosen_if_both_names_occur(tmp_path):
    (tmp_path / "list.csv").write_text("path,text,label\nnone.png,b,x\n")
    assert read_item_table(tmp_path / "list.csv", text_column="text").items == ["b"]
    assert read_item_table(tmp_path / "list.csv", text_column="path").items == ["none.png"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "sound"}, "kind='sound' is not known"),
        ({"labels": np.zeros(3, int)}, r"labels has shape \(3,\) .* pass 2 integers"),
        ({"items": (), "labels": np.zeros(0, int)}, "items is empty: pass at least one"),
        ({"labels": np.array([0, 1])}, r"labels\[1\]=1 is out of range: there is 1 name"),
        ({"images": np.zeros((3, 8, 8), np.uint8)}, "images has 3 entries for 2 items"),
        ({"images": np.ma.masked_equal(np.zeros((2, 8), int), 0)}, "images has masked cells"),
    ],
)
def test_rejects_inconsistent_items(changes, message):
    good = {"kind": "image", "items": ("a", "b"), "labels": np.zeros(2, int), "classes": ("x",)}
    LabelledItems(**good, source="test")
    with pytest.raises(ValueError, match=message):
        LabelledItems(**{**good, **changes}, source="test")
