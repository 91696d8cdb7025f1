"""Images are sorted into folders of their corrected classes; the source stays unchanged."""

import numpy as np
import pytest

from audits import applied_labels, audit_rows
from twohot.base.labels import NO_LABEL
from twohot.review import sorted_folder
from twohot.review.sorted_folder import write_sorted_folder
from twohot.tables.row_ids import RowIds

# Classes cat and dog; two images have one name.
NAMES = ["cat/1.png", "cat/deep/2.png", "dog/1.png", "dog/3.png"]
GIVEN = np.array([0, 0, 1, 1])


def audited(names=NAMES, given=GIVEN, **changes):
    fields = {"ids": RowIds(names, "path"), "given_labels": given}
    return audit_rows(len(names), **fields | {"is_label_issue": given != NO_LABEL} | changes)


@pytest.fixture
def photos(tmp_path):
    for name in NAMES:
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "photos" / name).write_text(name)
    return tmp_path / "photos"


@pytest.fixture
def sort(photos, tmp_path):
    def write(labels=GIVEN, rows=None, target=tmp_path / "clean", **applied):
        rows = audited() if rows is None else rows
        return write_sorted_folder(photos, target, rows, applied_labels(rows, labels, **applied))

    return write


def content(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def test_images_are_sorted_by_their_corrected_class(sort, photos, tmp_path):
    done = sort([1, 1, 1, 0])
    assert (done.n_images, done.n_copied) == (4, 0)
    assert content(tmp_path / "clean") == {
        "dog/1 (cat).png": "cat/1.png",
        "dog/deep/2.png": "cat/deep/2.png",
        "dog/1.png": "dog/1.png",
        "cat/3.png": "dog/3.png",
    }
    assert (tmp_path / "clean" / "cat/3.png").samefile(photos / "dog/3.png")
    assert content(photos) == {name: name for name in NAMES}


def test_folders_whose_spellings_were_merged_become_one(sort, tmp_path):
    # The folder dog is read as a spelling of cat.
    sort([0, 0, 0, 1], audited(given=np.zeros(4, dtype=int), spellings={"dog": "cat"}))
    assert content(tmp_path / "clean") == {
        "cat/1.png": "cat/1.png",
        "cat/deep/2.png": "cat/deep/2.png",
        "cat/1 (cat).png": "dog/1.png",
        "dog/3.png": "dog/3.png",
    }


def test_copies_images_that_cannot_be_linked(sort, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("another disk")

    monkeypatch.setattr(sorted_folder.os, "link", refuse)
    assert sort().n_copied == 4
    assert sorted(content(tmp_path / "clean").values()) == sorted(NAMES)


def test_leaves_out_images_without_a_label(sort, photos, tmp_path):
    (photos / "dog" / "broken.png").write_text("no image")
    (photos / ".DS_Store").write_text("of the system")
    labels = np.array([0, NO_LABEL, 1, 1])
    assert sort(labels, audited(given=labels)).left_out == ("cat/deep/2.png", "dog/broken.png")
    assert set(content(tmp_path / "clean")) == {"cat/1.png", "dog/1.png", "dog/3.png"}


def test_a_new_class_gets_a_folder_and_an_excluded_image_none(sort, tmp_path):
    done = sort([4, 0, 1, 1], new_classes=("yak",), excluded=[3])
    assert content(tmp_path / "clean") == {
        "yak/1.png": "cat/1.png",
        "cat/deep/2.png": "cat/deep/2.png",
        "dog/1.png": "dog/1.png",
    }
    assert done.left_out == ("dog/3.png",)


def test_renames_images_that_differ_only_in_case(sort, photos, tmp_path):
    (photos / "dog" / "1.png").rename(photos / "dog" / "1.PNG")
    sort([0, 0, 0, 1], audited([*NAMES[:2], "dog/1.PNG", NAMES[3]]))
    names = {"cat/1.png", "cat/deep/2.png", "cat/1 (dog).PNG", "dog/3.png"}
    assert set(content(tmp_path / "clean")) == names


def test_never_writes_through_a_link(photos):
    place = photos / "made.png"
    sorted_folder._put(photos / NAMES[0], place)
    with pytest.raises(FileExistsError):
        sorted_folder._put(photos / NAMES[2], place)
    assert (photos / NAMES[0]).read_text() == NAMES[0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a/../b"], r"class 'a/../b' cannot be the name of a folder"),
        (["é" * 128], f"class '{'é' * 128}' cannot be the name of a folder"),
        ([".fox"], r"class '.fox' begins with a dot, and such folders are not read"),
        (["Cat", "cat"], "classes 'Cat' and 'cat' differ only in"),
        (["caf\u00e9", "cafe\u0301"], "classes 'caf\u00e9' and 'cafe\u0301' differ only in"),
    ],
)
def test_rejects_a_class_that_cannot_name_a_folder(sort, tmp_path, names, message):
    with pytest.raises(ValueError, match=message):
        sort([4, 3 + len(names), 1, 1], new_classes=tuple(names))
    assert not (tmp_path / "clean").exists()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (audited(ids=RowIds(range(4))), "is a folder, and the ids of the audit are positions in"),
        (audited([*NAMES[:3], "dog/4.png"]), r"lacks 1 image of the audit \('dog/4.png'\)"),
        (audited([*NAMES[:3], "../x.png"]), r"images outside of the audited folder \('../x.png'\)"),
        (audited([*NAMES[:3], "/x.png"]), r"images outside of the audited folder \('/x.png'\)"),
        (audited(classes=("../up", "dog", "fox", "owl")), "class '../up' cannot be the name of"),
    ],
)
def test_rejects_another_folder(sort, tmp_path, rows, message):
    (tmp_path / "x.png").write_text("mine")
    with pytest.raises(ValueError, match=message):
        sort(rows=rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos", "x.png"]


def test_rejects_an_existing_folder(sort, tmp_path):
    (tmp_path / "clean").mkdir()
    (tmp_path / "clean" / "mine.txt").write_text("mine")
    with pytest.raises(
        ValueError, match=r"clean already exists, and is not an empty folder: choose another"
    ):
        sort()
    assert content(tmp_path / "clean") == {"mine.txt": "mine"}


def test_rejects_a_result_inside_its_source(sort, photos, tmp_path):
    (tmp_path / "link").symlink_to(photos)
    before = content(photos)
    for target in (photos / "inside", photos / "cat" / "new", tmp_path / "link" / "inside"):
        with pytest.raises(ValueError, match=r"output=.* is inside .*photos, the folder that is"):
            sort(target=target)
    assert content(photos) == before


def test_names_classes_that_windows_cannot_hold(sort, tmp_path):
    rows = audited(classes=("cat", "dog", "con", "Aux.txt"))
    assert sort([0, 2, 3, 1], rows, tmp_path / "a").unusual == ("con", "Aux.txt")
    assert sort(GIVEN, rows, tmp_path / "b").unusual == ()
