"""`twohot extract`: what it prints, what it refuses, and that a kill at any point does no harm."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from label_tables import WIDE, done, refused, run

import archives
from pictures import write_photos
from twohot.extract import load_backbone, read_image_folder
from twohot.extract.backbones import load_torchvision
from twohot.tables import read_features


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder of twelve images of two classes, seen from the folder it is in."""
    monkeypatch.chdir(tmp_path)
    return write_photos(tmp_path / "photos", n_per_class=6)


@pytest.mark.usefixtures("photos")
def test_a_folder_with_real_weights():
    result = done("extract", "photos", "--backbone", "efficientnet_lite0", "-o", "photos.features")
    columns, said, advice = result.stdout.splitlines()
    assert columns == "Columns: label: sub-folder; id: path below photos"
    assert said == (
        "photos.features has 12 rows of 1280 features, 2 classes. 12 items went through the model."
    )
    assert advice == "Next: twohot audit photos.features -o audit/"
    assert "12/12" in result.stderr
    assert "items/s" in result.stderr
    table = read_features("photos.features")
    backbone, items = load_backbone("efficientnet_lite0"), read_image_folder("photos")
    assert list(table.items) == list(items.items)
    from PIL import Image  # noqa: PLC0415 (an extra)

    images = [Image.open(path) for path in items.items]
    expected = backbone.embed([backbone.prepare(image) for image in images])
    np.testing.assert_array_equal(table.features, expected.astype(np.float16))


def test_a_csv_of_texts_with_real_weights(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("q,intent\nWhere is my card?,card\nReset my PIN.,pin\n")
    options = ["--text-column", "q", "--label-column", "intent", "--dtype", "float32", "--quiet"]
    result = done("extract", "texts.csv", "--backbone", "minilm", "-o", "texts.features", *options)
    assert result.stderr == ""
    table = read_features("texts.features")
    expected = load_backbone("minilm", "text").embed(["Where is my card?", "Reset my PIN."])
    np.testing.assert_array_equal(table.features, expected)
    assert table.classes == ("card", "pin")


def test_a_data_set_without_torch(tmp_path):
    """The digits as pixels need no extra: none is even imported."""
    script = """
        import sys
                try:
            app(["extract", "digits", "--backbone", "pixels", "-o", "digits.features"])
        except SystemExit as end:
            assert end.code == 0, end.code
        found = {"torch", "torchvision", "timm", "PIL", "sentence_transformers"} & set(sys.modules)
        assert not found, found
    """
    result = in_a_process(script, tmp_path)
    assert result.returncode == 0, result.stderr
    assert read_features(tmp_path / "digits.features").features.shape == (1797, 64)


def test_a_data_set_with_human_labels(tmp_path, monkeypatch):
    load_torchvision("tests")
    labels = archives.write_cifar100(tmp_path / "root", monkeypatch)
    np.save(tmp_path / "root" / "CIFAR-100_human.npy", np.arange(7))
    output = tmp_path / "cifar.features"
    options = ["--root", str(tmp_path / "root"), "--labels", "human"]
    done("extract", "cifar100", "--backbone", "pixels", "-o", str(output), *options)
    table = read_features(output)
    assert table.labels.tolist() == [*range(7), *labels["test"]]
    assert table.true_labels.tolist() == labels["train"] + labels["test"]
    assert table.split_names == ("train", "test")


def test_a_second_run_has_nothing_to_do(photos):
    arguments = ["photos", "--backbone", "pixels", "-o", "photos.features"]
    run("extract", *arguments)
    result = run("extract", *arguments)
    assert "photos.features is up to date and has 12 rows" in result.stdout
    assert "0 items went through the model" in result.stdout
    (photos / "cat" / "000.png").unlink()
    refused = run("extract", *arguments)
    assert refused.exit_code == 1
    assert "made from other content" in refused.stderr
    assert "has 11 rows" in run("extract", *arguments, "--force").stdout


def test_unreadable_files_are_listed_but_not_without_end(photos):
    for number in range(30):
        (photos / "dog" / f"bad{number:02d}.png").write_text("[red]no image[/red]")
    result = done("extract", "photos", "--backbone", "pixels", "-o", "photos.features")
    assert "has 12 rows" in result.stdout
    assert "30 items skipped, which could not be read:" in result.stdout
    assert "  photos/dog/bad19.png: is not an image in a format that Pillow reads" in result.stdout
    assert "bad20.png" not in result.stdout
    assert "… and 10 more" in result.stdout
    assert len(read_features("photos.features").provenance["skipped"]) == 30


def test_one_unreadable_file_is_all_that_is_listed(photos):
    (photos / "dog" / "003.png").write_text("no image")
    result = run("extract", "photos", "--backbone", "pixels", "-o", "photos.features")
    assert result.stdout.splitlines()[2:] == [
        "1 item skipped, which could not be read:",
        "  photos/dog/003.png: is not an image in a format that Pillow reads",
        "Next: twohot audit photos.features -o audit/",
    ]


def test_strict(photos):
    (photos / "dog" / "003.png").write_text("no image")
    result = run("extract", "photos", "--backbone", "pixels", "-o", "photos.features", "--strict")
    assert result.exit_code == 1
    assert "photos/dog/003.png could not be read" in result.stderr
    assert not (photos.parent / "photos.features").exists()


def in_a_process(script, folder):
    return subprocess.run(  # noqa: S603 (our own script)
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env={**os.environ, **WIDE, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


# Runs the real command in a process that kills itself at the n-th call of a function, before the
# function does its work or after. Every kill has a process of its own, forked off this one.
KILLS = """
    import os, signal, sys
    import twohot.extract
    
    def deadly(function, call, before):
        n_calls = 0
        def wrapped(*args, **options):
            nonlocal n_calls
            n_calls += 1
            if n_calls == call and before:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **options)
            if n_calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        return wrapped

    for folder, (module, name, call, before) in {kills}.items():
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            owner = sys.modules[module]
            setattr(owner, name, deadly(getattr(owner, name), call, before))
            app({arguments})
        status = os.waitpid(child, 0)[1]
        assert os.WTERMSIG(status) == signal.SIGKILL, (folder, status)
"""
EXTRACT = ["extract", "photos", "--batch-size", "3", "-o", "photos.features", "--quiet"]
PIXELS = [*EXTRACT, "--backbone", "pixels"]
OUTPUT = "twohot.extract.output"
# What is called, at which call and when; then how many of twelve images are left to extract.
KILL_POINTS = {
    "before the first batch": ("twohot.extract.run", "_embed", 1, True, 12),
    "after the third batch": ("twohot.extract.run", "_embed", 3, False, 3),
    "while a part has another name": ("os", "fsync", 2, False, 9),
    "while the output is not on disk": ("os", "fsync", 5, True, 0),
    "while the output is elsewhere": (
        "twohot.extract.output",
        "write_features",
        1,
        False,
        0,
    ),
    "before the work is cleared away": ("twohot.extract.run", "assemble", 1, False, 0),
}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Folders in which the command was killed, by kill point."""
    folders = {point: tmp_path_factory.mktemp("killed") for point in KILL_POINTS}
    for folder in folders.values():
        write_photos(folder / "photos", n_per_class=6)
    kills = {str(folders[point]): kill[:4] for point, kill in KILL_POINTS.items()}
    result = in_a_process(KILLS.format(kills=kills, arguments=PIXELS), folders.popitem()[1])
    assert result.returncode == 0, result.stderr
    return {point: Path(folder) for point, folder in zip(KILL_POINTS, kills, strict=True)}


@pytest.mark.parametrize("point", KILL_POINTS)
def test_killed_at_any_point_and_run_again(killed, point, monkeypatch):
    folder, n_left = killed[point], KILL_POINTS[point][-1]
    monkeypatch.chdir(folder)
    assert f"{n_left} items went through the model" in run("extract", *PIXELS[1:]).stdout
    resumed = Path("photos.features").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["photos", "photos.features"]
    Path("photos.features").unlink()
    assert "12 items went through the model" in run("extract", *PIXELS[1:]).stdout
    assert Path("photos.features").read_bytes() == resumed


def test_killed_without_labels(photos):
    arguments = [*PIXELS, "--unlabelled"]
    kills = {str(photos.parent): ("twohot.extract.run", "_embed", 3, False)}
    result = in_a_process(KILLS.format(kills=kills, arguments=arguments), photos.parent)
    assert result.returncode == 0, result.stderr
    assert "no labels. 3 items went through the model" in run("extract", *arguments[1:]).stdout
    resumed = Path("photos.features").read_bytes()
    Path("photos.features").unlink()
    assert "no labels. 12 items went through the model" in run("extract", *arguments[1:]).stdout
    assert Path("photos.features").read_bytes() == resumed


@pytest.mark.slow
def test_killed_with_a_real_model(photos):
    """The features of a model depend on the batch in their last bit, and on nothing else here."""
    arguments = [*EXTRACT, "--backbone", "efficientnet_lite0", "--dtype", "float32"]
    kills = {str(photos.parent): ("twohot.extract.run", "_embed", 2, False)}
    result = in_a_process(KILLS.format(kills=kills, arguments=arguments), photos.parent)
    assert result.returncode == 0, result.stderr
    assert "6 items went through the model" in run("extract", *arguments[1:]).stdout
    resumed = Path("photos.features").read_bytes()
    Path("photos.features").unlink()
    assert "12 items went through the model" in run("extract", *arguments[1:]).stdout
    assert Path("photos.features").read_bytes() == resumed


def test_files_that_are_not_taken_are_counted_and_named(photos):
    (photos / "cat" / "up").symlink_to("..")
    (photos / "cat" / "x.heic").write_bytes(b"any")
    result = done("extract", "photos", "--backbone", "pixels", "-o", "photos.features", "--quiet")
    assert result.stderr.splitlines() == [
        "Note: 1 file not taken (link to a folder): 'photos/cat/up'.",
        "Note: 1 file not taken (not an image file name): 'photos/cat/x.heic'.",
    ]
    assert "has 12 rows" in result.stdout


def test_items_that_are_not_extracted_again_are_accounted_for(photos):
    (photos / "dog" / "000.png").write_bytes((photos / "cat" / "000.png").read_bytes())
    max(photos.rglob("*.png")).write_text("no image")
    arguments = ["photos", "--backbone", "pixels", "--batch-size", "4", "-o"]
    result = run("extract", *arguments, "photos.features")
    assert "10 items went through the model, 1 duplicate skipped." in result.stdout
    refused("extract", *arguments, "again.features", "--strict")
    result = run("extract", *arguments, "again.features")
    assert (
        "2 items went through the model, 1 duplicate skipped, 8 extracted before." in result.stdout
    )
