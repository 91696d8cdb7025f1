"""`twohot extract`: what it prints, what it refuses, and that a kill at any point does no harm."""

from pathlib import Path

import numpy as np
import pytest
from label_tables import done, refused, run, run_python

import archives
from pictures import write_photos
from twohot.extract import load_backbone, read_image_folder
from twohot.extract.backbones import load_torchvision
from twohot.tables import read_features

PIXELS = ["photos", "-o", "photos.features", "--backbone", "pixels"]
BATCHES = [*PIXELS, "--batch-size", "3"]


@pytest.fixture
def photos(here):
    """A folder of twelve images of two classes, seen from the folder it is in."""
    return write_photos(here / "photos", n_per_class=6)


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


def test_a_csv_of_texts_with_real_weights(here):
    (here / "texts.csv").write_text("q,intent\nWhere is my card?,card\nReset my PIN.,pin\n")
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
        from twohot_command.commands import app
        try:
            app(["extract", "digits", "--backbone", "pixels", "-o", "digits.features"])
        except SystemExit as end:
            assert end.code == 0, end.code
        found = {"torch", "torchvision", "timm", "PIL", "sentence_transformers"} & set(sys.modules)
        assert not found, found
    """
    result = run_python(script, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert read_features(tmp_path / "digits.features").features.shape == (1797, 64)


def test_a_data_set_with_human_labels(tmp_path, monkeypatch):
    load_torchvision("tests")
    labels = archives.write_cifar100(tmp_path / "root", monkeypatch)
    archives.write_human_labels(tmp_path / "root", labels["train"], np.arange(7))
    output = tmp_path / "cifar.features"
    options = ["--root", str(tmp_path / "root"), "--labels", "human"]
    done("extract", "cifar100", "--backbone", "pixels", "-o", str(output), *options)
    table = read_features(output)
    assert table.labels.tolist() == [*range(7), *labels["test"]]
    assert table.true_labels.tolist() == labels["train"] + labels["test"]
    assert table.split_names == ("train", "test")


def test_a_second_run_has_nothing_to_do(photos):
    done("extract", *PIXELS)
    said = done("extract", *PIXELS).output
    assert "photos.features is up to date and has 12 rows" in said
    assert "0 items went through the model" in said
    (photos / "cat" / "000.png").unlink()
    assert "made from other items or settings" in refused("extract", *PIXELS)
    assert "has 11 rows" in done("extract", *PIXELS, "--force").output


@pytest.mark.parametrize("n_bad", [1, 30])
def test_lists_some_of_the_unreadable_files(photos, n_bad):
    for number in range(n_bad):
        (photos / "dog" / f"bad{number:02d}.png").write_text("[red]no image[/red]")
    said = refused("extract", *PIXELS, "--strict")
    assert "photos/dog/bad00.png could not be read" in said
    assert not Path("photos.features").exists()
    _, contents, skipped, *listed, advice = done("extract", *PIXELS).stdout.splitlines()
    assert "has 12 rows" in contents
    assert skipped == f"{n_bad} item{'s' * (n_bad > 1)} could not be read:"
    assert advice == "Next: twohot audit photos.features -o audit/"
    assert listed[0] == "  photos/dog/bad00.png: not an image in a format that Pillow can read"
    assert [line for line in listed if "bad" not in line] == [
        "  … and 10 more, all listed in the file's provenance."
    ] * (n_bad > 20)
    assert len(read_features("photos.features").provenance["skipped"]) == n_bad


# Runs the real command in a process that kills itself at the n-th call of a function, before the
# function does its work or after. Every kill has a process of its own, forked off this one.
KILLS = """
    import os, signal, sys
    import twohot.extract
    from twohot_command.commands import app

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
            app(["extract", *{arguments}, "--quiet"])
        status = os.waitpid(child, 0)[1]
        assert os.WTERMSIG(status) == signal.SIGKILL, (folder, status)
"""
# What is called, at which call and when; then how many of twelve images are left to extract.
KILL_POINTS = {
    "before the first batch": ("twohot.extract.run", "_embed", 1, True, 12),
    "after the third batch": ("twohot.extract.run", "_embed", 3, False, 3),
    "while a part has another name": ("os", "fsync", 2, False, 9),
    "while the output is not on disk": ("os", "fsync", 5, True, 0),
    "while the output is elsewhere": ("twohot.extract.output", "write_features", 1, False, 0),
    "before the work is cleared away": ("twohot.extract.run", "assemble", 1, False, 0),
}


def kill(kills, arguments, cwd):
    """Kill a command in some folders, each at its point."""
    result = run_python(KILLS.format(kills=kills, arguments=arguments), cwd=cwd)
    assert result.returncode == 0, result.stderr


def check_resumed(arguments, n_left):
    """Continue a command that was killed, and compare with a run that was not."""
    assert f"{n_left} items went through the model" in done("extract", *arguments).stdout
    resumed = Path("photos.features").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == ["photos", "photos.features"]
    Path("photos.features").unlink()
    assert "12 items went through the model" in done("extract", *arguments).stdout
    assert Path("photos.features").read_bytes() == resumed


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Folders in which the command was killed, by kill point."""
    folders = {point: tmp_path_factory.mktemp("killed") for point in KILL_POINTS}
    for folder in folders.values():
        write_photos(folder / "photos", n_per_class=6)
    kill({str(folders[point]): KILL_POINTS[point][:4] for point in folders}, BATCHES, folder)
    return folders


@pytest.mark.parametrize("point", KILL_POINTS)
def test_continues_after_a_kill_at_any_point(killed, point, monkeypatch):
    monkeypatch.chdir(killed[point])
    check_resumed(BATCHES, KILL_POINTS[point][-1])


@pytest.mark.parametrize(
    ("options", "call", "n_left"),
    [
        (["--unlabelled"], 3, 3),
        # The features of a model depend on the batch in their last bit.
        pytest.param(
            ["--backbone", "efficientnet_lite0", "--dtype", "float32"],
            2,
            6,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_continues_after_a_kill_without_labels_or_with_a_model(photos, options, call, n_left):
    arguments = [*BATCHES, *options]
    kill({str(photos.parent): ("twohot.extract.run", "_embed", call, False)}, arguments, ".")
    check_resumed(arguments, n_left)


@pytest.mark.usefixtures("photos")
def test_rejects_a_backbone_for_other_items_before_the_progress_bar():
    (line,) = refused("extract", "photos", "--backbone", "minilm", "-o", "x.features").splitlines()
    assert line.startswith("Error: --backbone='minilm' takes texts, but the items are images: pass")


def test_skipped_files_are_counted_and_named(photos):
    (photos / "cat" / "up").symlink_to("..")
    (photos / "cat" / "x.heic").write_bytes(b"any")
    result = done("extract", "photos", "--backbone", "pixels", "-o", "photos.features", "--quiet")
    assert result.stderr.splitlines() == [
        "Note: 1 file was skipped (link to a folder): 'photos/cat/up'.",
        "Note: 1 file was skipped (file ending not supported): 'photos/cat/x.heic'.",
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
