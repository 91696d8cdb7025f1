r"""Windows contacts another machine for a path such as \\host\share\x.png: none is ever opened.

On other systems a file may have such a name, and the tests would notice that it is opened.
"""

import ntpath
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from audits import audit_rows
from twohot.base import on_other_host
from twohot.extract import read_item_table
from twohot.review.page_data import PictureFiles, row_pictures
from twohot.tables.csv_file import write_csv
from twohot_command.sources import image_root

FAR = r"\\host\share\x.png"
OTHERS = ("//host/share/x.png", r"\\?\UNC\host\share\x.png", r"\\.\pipe\x.png")


@pytest.fixture
def windows(monkeypatch):
    """Let paths have the drives of Windows."""
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)


@pytest.fixture
def pictures(tmp_path):
    if os.name == "nt":
        pytest.skip("no file has such a name")
    for name in (FAR, "near.png"):
        Image.new("RGB", (8, 8), "navy").save(tmp_path / name)
    return tmp_path


def test_recognises_paths_on_another_host(monkeypatch, request):
    assert not any(on_other_host(path, "photos") for path in (FAR, *OTHERS))
    request.getfixturevalue("windows")
    assert all(on_other_host(path, "photos") for path in (FAR, *OTHERS))
    near = ("x.png", "a/x.png", "/data/x.png", r"C:\data\x.png", r"a\\b\x.png")
    assert not any(on_other_host(path, "photos") for path in near)
    # The user may pass a folder on another host.
    monkeypatch.setattr(os.path, "abspath", str)
    assert not on_other_host(FAR, r"\\HOST\share\photos")
    assert on_other_host(FAR, r"\\other\share\photos")


@pytest.mark.usefixtures("windows")
def test_report_neither_opens_nor_links_remote_images(pictures):
    rows = audit_rows(2, items=(FAR, "near.png"), item_kind="image")
    files = PictureFiles(pictures, pictures, 2, 8)
    found, said = row_pictures(rows, np.arange(2), files)
    assert [each is None for each in found["thumbnails"]] == [True, False]
    assert found["links"] == ["", "near.png"]
    assert said == ["1 of the first 2 pictures could not be read."]


@pytest.mark.usefixtures("windows")
def test_rejects_list_of_remote_images(pictures):
    write_csv(pictures / "list.csv", ["path", "label"], [[FAR, "a"], ["near.png", "b"]])
    with pytest.raises(ValueError, match=r"lists 1 image on another machine .*: copy the images"):
        read_item_table(Path(pictures / "list.csv"))


def test_commands_do_not_look_for_remote_images(pictures, request):
    evil = r"\\evil\share\x.png"
    (pictures / FAR).rename(pictures / evil)
    rows = audit_rows(1, items=(evil,), item_kind="image")
    # It would be found here, were its path not on another host.
    assert image_root(pictures, rows, [pictures]) == pictures
    request.getfixturevalue("windows")
    assert image_root(pictures, rows, [pictures]) is None
    near = audit_rows(1, items=("near.png",), item_kind="image")
    assert image_root(pictures, near, [pictures]) == pictures
