"""Extraction: every item once, in complete batches, also if a run is interrupted."""

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import Counting
from pictures import encoded, noise, write_photos, write_picture
from twohot.extract import (
    Extraction,
    ExtractionProgress,
    LabelledItems,
    Skipped,
    extract,
    read_image_folder,
    read_item_table,
)
from twohot.tables import read_features


@pytest.fixture
def photos(tmp_path):
    return write_photos(tmp_path / "photos")


@pytest.fixture
def output(tmp_path):
    return tmp_path / "photos.features"


def means(seeds):
    """The first feature of images with these seeds, as float16 keeps it."""
    return np.array([noise(seed).ravel()[:48].mean(dtype=np.float32) for seed in seeds], np.float16)


def test_writes_all_images_in_order(photos, output):
    counting, seen = Counting(), []
    items = read_image_folder(photos)
    report = extract(items, counting.backbone(), output, batch_size=3, progress=seen.append)
    assert counting.batches == [3, 3, 2]
    assert report == Extraction(output, 8, 2, n_extracted=8, skipped=(), up_to_date=False)
    assert seen == [ExtractionProgress(n_done, 8, n_done) for n_done in (0, 3, 6, 8)]
    table = read_features(output)
    assert table.features.dtype == np.float16
    np.testing.assert_array_equal(table.features[:, 0], means(range(8)))
    assert table.given_labels.tolist() == ["cat"] * 4 + ["dog"] * 4
    assert (table.items[4], table.item_kind) == (str(photos / "dog" / "000.png"), "image")
    expected = {"backbone": "counting", "source": str(photos), "skipped": []}
    assert expected.items() <= table.provenance.items()


def test_keeps_all_fields_of_items(output):
    items = LabelledItems(
        kind="image",
        items=("a", "b", "c"),
        images=np.stack([noise(seed, (4, 4)) for seed in range(3)]),
        labels=np.array([0, -1, 1]),
        classes=("x", "y"),
        superclass=np.array([0, 0]),
        superclass_names=("all",),
        split=np.array([1, 0, 0]),
        split_names=("train", "test"),
        true_labels=np.array([1, 1, 0]),
        source="memory",
    )
    extract(items, "pixels", output, dtype="float32")
    table = read_features(output)
    np.testing.assert_array_equal(table.features, items.images.reshape(3, -1))
    assert table.features.dtype == np.float32
    for name in ("labels", "superclass", "split", "true_labels", "items"):
        np.testing.assert_array_equal(getattr(table, name), getattr(items, name))
    assert (table.superclass_names, table.split_names) == (("all",), ("train", "test"))
    assert table.item_kind == ""


def test_skips_empty_texts(tmp_path, output):
    (tmp_path / "texts.csv").write_text('text,label\nno,a\n"  ",a\nyes,b\n')
    report = extract(read_item_table(tmp_path / "texts.csv"), Counting().backbone("text"), output)
    assert report.skipped == (Skipped("1", "  ", "the text is empty"),)
    table = read_features(output)
    assert (list(table.items), list(table.ids)) == (["no", "yes"], ["0", "2"])
    assert table.item_kind == "text"


def test_unreadable_items_are_listed_and_skipped(photos, output):
    (photos / "cat" / "000.png").write_text("This is no image.")
    whole = photos / "cat" / "002.png"
    whole.write_bytes(whole.read_bytes()[:200])
    (photos / "dog" / "001.png").write_bytes(b"")
    items, counting = read_image_folder(photos), Counting()
    (photos / "dog" / "003.png").unlink()
    report = extract(items, counting.backbone(), output, batch_size=3)
    reasons = {
        "cat/000.png": "not an image in a format that Pillow can read",
        "cat/002.png": "truncated",
        "dog/001.png": "not an image in a format that Pillow can read",
        "dog/003.png": "No such file or directory",
    }
    for skipped, (name, reason) in zip(report.skipped, reasons.items(), strict=True):
        assert skipped.item == str(photos / name)
        assert reason in skipped.reason
    table = read_features(output)
    np.testing.assert_array_equal(table.features[:, 0], means([1, 3, 4, 6]))
    assert (table.labels.tolist(), len(table.items)) == ([0, 0, 1, 1], 4)
    assert table.provenance["skipped"] == [asdict(skipped) for skipped in report.skipped]
    # Batches are full without these items.
    assert counting.batches == [3, 1]


def test_strict_stops_at_unreadable_item_and_resumes(photos, output):
    (photos / "dog" / "001.png").write_text("This is no image.")
    counting = Counting()
    with pytest.raises(ValueError, match=r"dog/001.png could not be read \(not an image"):
        extract(read_image_folder(photos), counting.backbone(), output, batch_size=2, strict=True)
    assert not output.exists()
    assert counting.batches == [2, 2]
    write_picture(photos / "dog" / "001.png", 5)
    extract(read_image_folder(photos), counting.backbone(), output, batch_size=2, strict=True)
    assert counting.batches == [2, 2, 2, 2]
    np.testing.assert_array_equal(read_features(output).features[:, 0], means(range(8)))


def test_rejects_items_that_are_all_unreadable(photos, output):
    for path in photos.rglob("*.png"):
        path.write_text("This is no image.")
    with pytest.raises(ValueError, match=r"none of the 8 items .*cat/000.png, .*: not an image"):
        extract(read_image_folder(photos), Counting().backbone(), output)
    assert sorted(path.name for path in output.parent.iterdir()) == ["photos"]


def test_second_run_extracts_nothing(photos, output):
    (photos / "cat" / "000.png").write_text("This is no image.")
    items = read_image_folder(photos)
    first = extract(items, Counting().backbone(), output)
    before, counting, seen = output.read_bytes(), Counting(), []
    report = extract(items, counting.backbone(), output, progress=seen.append)
    assert report == Extraction(output, 7, 2, 0, first.skipped, up_to_date=True)
    assert first.skipped
    assert counting.n_prepared == 0
    assert seen == [ExtractionProgress(8, 8, 0)]
    assert output.read_bytes() == before
    with pytest.raises(ValueError, match=r"cat/000\.png could not be read .*remove strict=True"):
        extract(items, counting.backbone(), output, strict=True)
    assert sorted(path.name for path in output.parent.iterdir()) == ["photos", output.name]


@pytest.mark.parametrize("change", ["content", "label", "dtype", "backbone", "unrelated", "broken"])
def test_output_from_other_content_is_not_overwritten(photos, output, change):
    extract(read_image_folder(photos), Counting().backbone(), output)
    options = {"dtype": "float32"} if change == "dtype" else {}
    backbone = "pixels" if change == "backbone" else Counting().backbone()
    if change == "content":
        write_picture(photos / "cat" / "000.png", 77)
    elif change == "label":
        (photos / "cat" / "000.png").rename(photos / "dog" / "999.png")
    elif change == "unrelated":
        extract(read_image_folder(photos), "pixels", output, force=True)
    elif change == "broken":
        output.write_text("my notes")
    before, items = output.read_bytes(), read_image_folder(photos)
    with pytest.raises(
        FileExistsError, match="was made from other items or settings: pass force=True"
    ):
        extract(items, backbone, output, **options)
    assert output.read_bytes() == before
    assert not extract(items, backbone, output, force=True, **options).up_to_date
    assert output.read_bytes() != before


def test_the_same_content_is_extracted_once(photos, output):
    # Copies in the same batch and in later ones.
    seeds = [0, 0, 1, 2, 0, 3, 3, 1]
    for seed, path in zip(seeds, sorted(photos.rglob("*.png")), strict=True):
        write_picture(path, seed)
    counting = Counting()
    report = extract(read_image_folder(photos), counting.backbone(), output, batch_size=3)
    assert counting.batches == [3, 1]
    assert (report.n_rows, report.n_extracted, report.n_duplicates) == (8, 4, 4)
    np.testing.assert_array_equal(read_features(output).features[:, 0], means(seeds))


# Which of twelve images cannot be read or are copies, and which batches are interrupted.
@settings(max_examples=40)
@given(
    batch_size=st.integers(1, 5),
    unreadable=st.sets(st.integers(0, 11), max_size=4),
    copies=st.sets(st.integers(0, 11), max_size=3),
    stops=st.lists(st.integers(0, 11), max_size=3, unique=True).map(sorted),
    n_workers=st.integers(1, 3),
)
def test_interrupted_runs_give_the_same_file(batch_size, unreadable, copies, stops, n_workers):
    with tempfile.TemporaryDirectory() as folder:
        photos = Path(folder) / "photos" / "class"
        photos.mkdir(parents=True)
        for seed in range(12):
            content = encoded(noise(0 if seed in copies else seed + 1, (4, 4)))
            content = b"none" if seed in unreadable else content
            (photos / f"{seed:02d}.png").write_bytes(content)
        items = read_image_folder(photos.parent)
        whole, broken = Counting(), Counting(stops)
        outputs = [Path(folder) / name for name in ("whole.features", "broken.features")]
        extract(items, whole.backbone(), outputs[0], batch_size=batch_size, n_workers=1)
        options = {"batch_size": batch_size, "n_workers": n_workers}
        for _ in range(len(stops) + 1):
            try:
                extract(items, broken.backbone(), outputs[1], **options)
            except KeyboardInterrupt:
                assert not outputs[1].exists()
        assert outputs[0].read_bytes() == outputs[1].read_bytes()
        # The model processed each batch once, with the same items.
        assert broken.batches == whole.batches


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size=0 is not allowed"),
        ({"n_workers": 0}, "n_workers=0 is not allowed"),
        ({"dtype": "float64"}, "dtype='float64' is not known: pass one of 'float16', 'float32'"),
        ({"output": "photos.npz"}, r"output=photos.npz does not end in \.features"),
        ({"output": "none/a.features"}, "is in a folder that does not exist: create the fo"),
        ({"output": "folder.features"}, "is a folder: pass the name of a file"),
        ({"backbone": Counting().backbone("text")}, "takes texts, but the items are images"),
        ({"backbone": Counting(scale=1e4).backbone()}, "'float16' cannot store .*000.png"),
        ({"backbone": Counting(scale=np.nan).backbone()}, "infinite or NaN features for .*000.png"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_rejects_invalid_arguments(photos, monkeypatch, options, message):
    monkeypatch.chdir(photos.parent)
    Path("folder.features").mkdir()
    arguments = {"backbone": Counting().backbone(), "output": "a.features", **options}
    with pytest.raises((ValueError, OSError), match=message):
        extract(read_image_folder(photos), **arguments)
    assert sorted(path.name for path in Path().iterdir()) == ["folder.features", "photos"]


def test_missing_pillow_raises(photos, output, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'images need pillow: pip install "twohot\[vision\]"'):
        extract(read_image_folder(photos), "pixels", output)


def test_output_keeps_link_and_mode(photos, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "kept.features", tmp_path / "link.features"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to(target)
    extract(read_image_folder(photos), "pixels", link, force=True)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert read_features(target).n_rows == 8
    assert list(folder.iterdir()) == [target]


def test_rejects_second_extraction_to_one_output(photos, output):
    items, n_refused = read_image_folder(photos), []

    def extract_too(progress):
        with pytest.raises(ValueError, match=r"another process is writing to .*features\.parts"):
            extract(items, "pixels", output)
        n_refused.append(progress.n_done)

    report = extract(items, "pixels", output, batch_size=3, progress=extract_too)
    assert (report.n_rows, n_refused) == (8, [0, 3, 6, 8])
    assert sorted(path.name for path in output.parent.iterdir()) == ["photos", "photos.features"]
