"""Files of an image folder: links, pipes and other files are listed, and never followed."""

import os

import pytest

from pictures import write_photos, write_picture
from twohot.extract import read_image_folder
from twohot.extract.image_files import NotTaken

# Another entry of the folder of class a, and why it is skipped.
ODD_ENTRIES = {
    "self": (lambda path: path.symlink_to("."), "link to a folder"),
    "up": (lambda path: path.symlink_to(".."), "link to a folder"),
    "other": (lambda path: path.symlink_to("../b"), "link to a folder"),
    "pipe.png": (os.mkfifo, "pipe or device"),
    "zero.png": (lambda path: path.symlink_to("/dev/zero"), "pipe or device"),
    "gone.png": (lambda path: path.symlink_to("nothing.png"), "link to a missing file"),
    "circle.png": (lambda path: path.symlink_to("circle.png"), "Too many levels of symbolic links"),
    "again.png": (lambda path: path.symlink_to("001.png"), "same file as another image"),
    "cat.heic": (lambda path: path.write_bytes(b"any"), "file ending not supported"),
    "notes.txt": (lambda path: path.write_bytes(b"any"), "file ending not supported"),
    ".DS_Store": (lambda path: path.write_bytes(b"any"), "name begins with a dot"),
}


@pytest.fixture
def photos(tmp_path):
    return write_photos(tmp_path / "photos", 2, ("a", "b"))


def names_of(items, folder):
    return [os.path.relpath(item, folder) for item in items.items]


@pytest.mark.parametrize("unlabelled", [False, True])
@pytest.mark.parametrize("name", ODD_ENTRIES)
def test_other_files_are_listed_with_the_reason(photos, name, unlabelled):
    before = read_image_folder(photos, unlabelled=unlabelled)
    make, reason = ODD_ENTRIES[name]
    make(photos / "a" / name)
    items = read_image_folder(photos, unlabelled=unlabelled)
    assert names_of(items, photos) == names_of(before, photos)
    assert items.labels.tolist() == before.labels.tolist()
    assert items.not_taken == (NotTaken(str(photos / "a" / name), reason),)


def test_linked_image_counts_once_per_class(photos, tmp_path):
    write_picture(tmp_path / "elsewhere" / "x.png", 9)
    for place in ("a/x.png", "a/y.png", "b/x.png"):
        (photos / place).symlink_to(tmp_path / "elsewhere" / "x.png")
    items = read_image_folder(photos)
    expected = ["a/000.png", "a/001.png", "a/x.png", "b/000.png", "b/001.png", "b/x.png"]
    assert names_of(items, photos) == expected
    assert items.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert items.not_taken == (NotTaken(str(photos / "a" / "y.png"), "same file as another image"),)


def test_link_to_class_folder_is_no_class(photos, tmp_path):
    (photos / "c").symlink_to("b")
    (photos / "a" / "001.png").rename(photos / "a" / "x.jfif")  # an image too
    items = read_image_folder(photos)
    assert (items.classes, len(items)) == (("a", "b"), 4)
    assert items.not_taken == (NotTaken(str(photos / "c"), "link to a folder"),)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "a").symlink_to(photos / "a")
    with pytest.raises(ValueError, match=r"has no sub-folder.*\(link to a folder\).*linked/a'"):
        read_image_folder(linked)


def test_rejects_class_name_that_is_not_utf8(photos):
    (photos / "a").rename(photos / os.fsdecode(b"caf\xe9"))
    with pytest.raises(ValueError, match=r"classes holds 'caf\\udce9', which is not UTF-8: rename"):
        read_image_folder(photos)
