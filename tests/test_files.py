"""Files are whole or not there, keep what they replace, and leave nothing behind."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from twohot import _unfinished
from twohot._checks.outputs import check_output
from twohot._files import whole_file
from twohot._unfinished import new_unfinished, remove_abandoned


def write(path, content=b"new"):
    with whole_file(path) as file:
        file.write(content)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    target = tmp_path / "labels.csv"
    target.write_bytes(b"old")
    target.chmod(mode)
    write(target)
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path, exists):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "labels.csv", tmp_path / "link.csv"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to("elsewhere/labels.csv")
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "link.csv"]


def test_what_is_no_regular_file_is_refused(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for path in (pipe, link, Path("/dev/null"), tmp_path):
        with pytest.raises(OSError, match="is not a regular file"):
            write(path)
    for path in (pipe, link, Path("/dev/null")):
        with pytest.raises(ValueError, match=r"output=.* is not a regular file: pass the name"):
            check_output(path, force=True)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert Path("/dev/null").is_char_device()


KILLED = """
import os, signal, sys
from twohot._files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "noisy.features"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)  # noqa: S603
        (left,) = tmp_path.iterdir()
        assert left.read_bytes() == b"half"
    remove_abandoned.cache_clear()
    write(target)
    assert list(tmp_path.iterdir()) == [target]


def test_what_others_are_writing_stays(tmp_path, monkeypatch):
    mine = new_unfinished(tmp_path / "a.csv")
    os.close(mine[0])
    monkeypatch.setattr(_unfinished, "_machine", lambda: "0" * 8)
    far = new_unfinished(tmp_path / "a.csv")
    os.close(far[0])
    monkeypatch.undo()
    names = ["a.csv", ".a.unfinished", ".a.0-1-b.unfinished", f".{'a' * 8}-1-b.unfinished"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    remove_abandoned.cache_clear()
    remove_abandoned(tmp_path)
    expected = {mine[1].name, far[1].name, *names}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_names_of_any_length_can_be_written(tmp_path):
    for name in ("a" * 255, "ü" * 127):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"
