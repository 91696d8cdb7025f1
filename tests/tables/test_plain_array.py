"""Arrays are as large as their file, whatever their headers claim."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from twohot.tables import read_table
from twohot.tables.numpy_files import load_arrays, map_array

X = np.arange(12.0).reshape(4, 3)


def array_bytes(array=X, **claimed):
    """Return an array in numpy's format, with other claims in its header."""
    header = {"descr": "<f8", "fortran_order": False, "shape": array.shape} | claimed
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + array.tobytes()


def write_archive(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


@pytest.mark.parametrize("n_rows", [5, 10**6, 10**9, 10**12, 10**20, 10**40])
@pytest.mark.parametrize("suffix", ["npz", "npy"])
def test_missing_rows_take_no_memory(tmp_path, suffix, n_rows):
    path = tmp_path / f"a.{suffix}"
    content = array_bytes(shape=(n_rows, 3))
    if suffix == "npz":
        write_archive(path, X=content, y=array_bytes(np.zeros(4)))
    else:
        path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"a\.{suffix} cannot be read.*shape \({n_rows}, 3\)"):
            read_table(path, labels=range(4))
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"notes", "y is not an array"),
        (b"", "y is not an array"),
        (b"\x93NUMPY\x09\x00", r"y has version \(9, 0\)"),
        (array_bytes(descr="|O"), r"y contains Python objects, .* \.astype\(str\), or to numbers"),
        (array_bytes(descr=[("a", "<f8")]), r"y is of .*not an array of numbers or text"),
        (array_bytes(descr="<V8"), "not an array of numbers or text"),
        (array_bytes(shape=(-4, 3)), r"y is of shape \(-4, 3\)"),
        (array_bytes(shape="4"), "a.npz cannot be read"),
        (array_bytes(descr="<f8" * 5000), "a.npz cannot be read"),
        (array_bytes()[:30], "a.npz cannot be read"),
    ],
)
def test_invalid_array_is_refused(tmp_path, content, problem):
    path = write_archive(tmp_path / "a.npz", X=array_bytes(), y=content)
    with pytest.raises(ValueError, match=problem) as caught:
        load_arrays(path)
    assert str(caught.value).startswith(f"{path} cannot be read (")


def test_bytes_after_an_array_are_ignored(tmp_path):
    (tmp_path / "a.npy").write_bytes(array_bytes() + b"more")
    np.testing.assert_array_equal(map_array(tmp_path / "a.npy"), X)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_plain_arrays_are_read(tmp_path, save):
    arrays = {
        "floats": X.astype(np.float16),
        "fortran": np.asfortranarray(X),
        "text": np.array(["a", "ü"]),
        "bytes": np.array([b"a"]),
        "flags": np.array([True]),
        "empty": np.zeros((0, 3)),
        "one": np.array(3),
    }
    save(tmp_path / "a.npz", **arrays)
    found = load_arrays(tmp_path / "a.npz")
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_archive_larger_than_memory_is_refused(tmp_path):
    path = write_archive(tmp_path / "bomb.npz", X=array_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more", "")
        archive.infolist()[0].file_size = 2**60
    with pytest.raises(ValueError, match=r"bomb\.npz contains arrays of 1,152,.* when unpacked"):
        read_table(path, labelled=False)
