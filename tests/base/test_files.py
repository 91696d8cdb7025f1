"""Files are written completely or not at all, and only where that replaces nothing by mistake."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from twohot.audit.folder import read_summary
from twohot.base import files
from twohot.base.files import (
    check_output,
    check_writable,
    name_beside,
    new_unfinished,
    remove_abandoned,
    whole_file,
)
from twohot.review.decisions import read_decisions
from twohot.tables import read_table
from twohot.tables.csv_file import read_csv
from twohot.tables.numpy_files import load_arrays, map_array
from twohot.tables.parquet_files import open_files


def write(path, content=b"new"):
    with whole_file(path) as file:
        file.write(content)


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_replaced_file_keeps_its_mode(tmp_path, mode):
    target = tmp_path / "labels.csv"
    target.write_bytes(b"old")
    target.chmod(mode)
    write(target)
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_new_file_has_the_mode_of_the_umask(tmp_path):
    umask = os.umask(0o027)
    try:
        write(tmp_path / "a.csv")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_link_is_followed(tmp_path, exists):
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


@pytest.mark.parametrize("name", ["a" * 255, "ü" * 127])
def test_writes_files_with_long_names(tmp_path, name):
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a" * 240, "ü" * 122, "😀" * 60])
def test_file_beside_a_long_name_has_a_valid_name(tmp_path, name):
    beside = name_beside(tmp_path / f"{name}.st", ".checkpoint")
    write(beside)
    assert beside != name_beside(tmp_path / f"{name}.features", ".checkpoint")


def test_error_names_the_target_and_keeps_the_old_file(tmp_path):
    target = tmp_path / "none" / "p.safetensors"
    with pytest.raises(FileNotFoundError) as found:
        write(target)
    assert found.value.filename == str(target)

    def fail(path):
        with whole_file(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "a.csv").write_bytes(b"old")
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.csv'"):
        fail(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


# Unfinished files of processes that were killed ---------------------------------------------------

KILLED = """
import os, signal, sys
from twohot.base.files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_next_process_removes_the_file_of_a_killed_one(tmp_path):
    target = tmp_path / "noisy.features"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)  # noqa: S603
        (left,) = tmp_path.iterdir()
        assert left.read_bytes() == b"half"
    write(target)
    assert list(tmp_path.iterdir()) == [target]


def test_first_write_removes_only_abandoned_files(tmp_path):
    descriptor, mine = new_unfinished(tmp_path / "a.csv")
    os.close(descriptor)
    remove_abandoned.cache_clear()  # as in another process
    far = mine.name.replace(files._machine(), "0" * 8)  # of another machine
    names = [far, "a.csv", ".a.unfinished", ".a.0-1-b.unfinished", f".{'a' * 8}-1-b.unfinished"]
    abandoned = f".a.csv.{files._machine()}-4194304-ab12.unfinished"  # there is no such process
    for name in [abandoned, *names]:
        (tmp_path / name).write_bytes(b"")
    write(tmp_path / "b.csv")
    assert {path.name for path in tmp_path.iterdir()} == {mine.name, "b.csv", *names}


# Paths that are refused before the work -----------------------------------------------------------


def test_refuses_pipes_and_devices(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for path in (pipe, link, Path("/dev/null")):
        with pytest.raises(OSError, match="is a pipe or a device"):
            write(path)
        with pytest.raises(ValueError, match=r"output=.* is a pipe or a device: pass the"):
            check_output(path, force=True)
    with pytest.raises(OSError, match="is a folder: pass the name of a file"):
        write(tmp_path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    "read",
    [
        read_csv,
        map_array,
        load_arrays,
        read_decisions,
        read_summary,
        lambda path: open_files([path]),
        lambda path: read_table(path.with_name("x.npy"), labels=path),
        lambda path: read_table(path.with_name("x.npy"), labels=[0, 1, 1], classes=path),
    ],
)
def test_readers_refuse_a_pipe(tmp_path, read):
    np.save(tmp_path / "x.npy", np.eye(3))
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(OSError, match=r"pipe\.parquet is a pipe or a device: pass a file on"):
        read(tmp_path / "pipe.parquet")


def test_refuses_outputs_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(target):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(target))

    problem = r"output=.* cannot be written \(Read-only file system\): choose a folder"
    with monkeypatch.context() as patched:
        patched.setattr(files, "new_unfinished", refuse)
        with pytest.raises(ValueError, match=problem):
            check_output(tmp_path / "labels.csv", force=True)
        with pytest.raises(ValueError, match=problem):
            check_writable(tmp_path / "new" / "folder", {"output": tmp_path})
    url = Path("s3://bucket/folder")
    with pytest.raises(ValueError, match="is not a local path: pass a local path"):
        check_writable(url, {"output": url})
    with pytest.raises(ValueError, match="is not a local path: pass a local path"):
        check_output(url, force=True)
    (tmp_path / "file").touch()
    inside = tmp_path / "file" / "folder"
    with pytest.raises(ValueError, match=r"is inside .*file, which is a file: choose"):
        check_writable(inside, {"output": inside})
    check_writable(tmp_path / "new" / "folder", {"output": tmp_path})
    check_output(tmp_path / "a.csv", force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
