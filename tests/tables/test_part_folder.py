"""Folders of parts: what is there at any time is known to be whole or not."""

import pyarrow as pa
import pytest

from twohot.tables.parquet_files import open_files
from twohot.tables.parts import begin_parts, write_part


def test_parts_that_are_half_removed_are_not_taken_for_whole(tmp_path, monkeypatch):
    folder = begin_parts(tmp_path / "parts", {"run": 1}, 3, force=False)
    for number in range(3):
        write_part(folder.path_of(number), [pa.table({"x": [number]})])
    with monkeypatch.context() as patched:
        removed = []

        def dying(_, path):
            if removed:
                raise KeyboardInterrupt
            removed.append(path)
            (tmp_path / "parts" / path.rsplit("/", 1)[1]).unlink()

        patched.setattr("fsspec.implementations.local.LocalFileSystem.rm_file", dying)
        with pytest.raises(KeyboardInterrupt):
            begin_parts(tmp_path / "parts", {"run": 2}, 3, force=True)
    with pytest.raises(ValueError, match="has 2 of 3 parts: run the command"):
        open_files([tmp_path / "parts"])
    assert begin_parts(tmp_path / "parts", {"run": 2}, 3, force=True).missing() == [0, 1, 2]


def test_a_part_that_fails_says_nothing_else(tmp_path):
    def tables():
        yield pa.table({"x": [1]})
        raise KeyError("x")

    # What a writer that was left open says when it is collected is a warning, and so an error.
    with pytest.raises(KeyError):
        write_part(str(tmp_path / "part-00000.parquet"), tables())
    assert not list(tmp_path.iterdir())
