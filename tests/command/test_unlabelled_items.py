"""From labelled photos to predictions on new ones, which have no labels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from label_tables import column, done, everything, refused, run

from pictures import encoded
from twohot import load
from twohot.tables import read_features

# The colour that images of a class have, but for noise.
COLOURS = {"sky": (70, 120, 220), "grass": (60, 180, 50), "brick": (170, 60, 50)}
NEW = ("brick", "sky", "grass", "sky")  # colours of the new photos
PIXELS = ["--backbone", "pixels", "--quiet"]


def write_photo(path: Path, name: str, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-40, 40, (6, 5, 3))
    path.write_bytes(encoded((noise + COLOURS[name]).astype(np.uint8)))


@pytest.fixture
def folder(here):
    """Work in a folder with photos by class, and new ones that are not sorted."""
    for name in COLOURS:
        for number in range(12):
            write_photo(Path("photos", name, f"{number}.png"), name, number)
    for number, name in enumerate(NEW):
        write_photo(Path("new", f"{number}.png"), name, 100 + number)
    return here


@pytest.fixture
def probe(folder):
    done("extract", "photos", *PIXELS, "-o", "photos.features")
    done("fit", "photos.features", "-o", "p.safetensors", "--quiet")
    return folder / "p.safetensors"


def predicted(probe, features):
    done("predict", probe, features, "-o", "out.csv")
    return dict(zip(column("out.csv", "item"), column("out.csv", "predicted_label"), strict=True))


def test_predicts_new_photos_from_their_features(probe):
    probe_of_same = "a probe that was fitted on features of the same backbone"
    said = done("extract", "new", "--unlabelled", *PIXELS, "-o", "new.features").output
    assert said.splitlines() == [
        "Columns: id: path below new",
        "new.features has 4 rows of 90 features, no labels. 4 items went through the model.",
        f"Next: run `twohot predict` on this file, with {probe_of_same}.",
    ]
    names = [f"new/{number}.png" for number in range(4)]
    assert predicted(probe, "new.features") == dict(zip(names, NEW, strict=True))


@pytest.mark.parametrize("kind", ["csv", "parquet", "empty labels"])
def test_predicts_a_table_of_new_photos(probe, kind):
    frame, source = pd.DataFrame({"path": ["new/1.png", "new/0.png"]}), "list.csv"
    if kind == "parquet":
        source = "list.parquet"
        frame.to_parquet(source, index=False)
    else:
        labels = {"label": ""} if kind == "empty labels" else {"taken": 2023}
        frame.assign(**labels).to_csv(source, index=False)
    arguments = ["extract", source, *PIXELS, "-o", "new.features"]
    if kind != "empty labels":  # these need no option
        message = "name the label column by --label-column=…, or pass --unlabelled"
        assert message in refused(*arguments)
        arguments.append("--unlabelled")
    assert "no labels" in done(*arguments).output
    assert predicted(probe, "new.features") == {"new/1.png": "sky", "new/0.png": "brick"}


def test_continues_after_an_unreadable_file_and_shares_features(folder):
    arguments = ["extract", "new", "--unlabelled", *PIXELS, "--batch-size", "2", "-o"]
    (folder / "new" / "2.png").write_text("no image")
    # Stopped behind the first batch, which is not done again.
    stopped = refused(*arguments, "new.features", "--strict")
    assert "new/2.png could not be read" in stopped
    assert "or remove --strict" in stopped
    again = run(*arguments, "new.features")
    assert "has 3 rows of 90 features, no labels. 1 item went through" in again.output
    assert "  new/2.png: not an image in a format that Pillow can read" in again.output
    assert list(read_features("new.features").items) == ["new/0.png", "new/1.png", "new/3.png"]
    assert "is up to date and has 3 rows" in run(*arguments, "new.features").output

    # Features with labels or without are the same; the files are told apart.
    labelled = ["extract", "photos", *PIXELS, "-o"]
    assert "36 items went" in run(*labelled, "a.features").output
    bare = run(*labelled, "b.features", "--unlabelled")
    assert "36 rows of 90 features, no labels. 36 items went" in bare.output
    message = "made from other items or settings: pass --force to replace this file"
    assert message in refused(*labelled, "a.features", "--unlabelled")
    a, b = read_features("a.features"), read_features("b.features")
    np.testing.assert_array_equal(a.features, b.features)
    assert list(a.items) == list(b.items)


def test_commands_that_need_labels_take_a_label_file(folder):
    done("extract", "photos", "--unlabelled", *PIXELS, "-o", "bare.features")
    lines = [f"{name},{Path(name).parent.name}" for name in read_features("bare.features").ids]
    (folder / "labels.csv").write_text("\n".join(["id,label", *reversed(lines)]))
    asked = ("--rate", "0.3", "-o", "noisy.features")
    said = "pass a label file by --labels=…, or predict labels with `twohot predict`."
    assert said in refused("corrupt", "bare.features", *asked)
    assert not (folder / "noisy.features").exists()
    done("corrupt", "bare.features", *asked, "--labels", "labels.csv")
    assert read_features("noisy.features").classes == ("brick", "grass", "sky")


def test_texts_that_mean_no_label_stay_with_the_features(folder):
    files = sorted(Path("photos").rglob("*.png"))
    names = [path.parent.name if number % 6 else "n/a" for number, path in enumerate(files)]
    listed = pd.DataFrame({"path": files, "label": names, "id": range(100, 100 + len(files))})
    listed.to_csv("photos.csv", index=False)
    listed[["id", "label"]].to_csv("clean.csv", index=False)
    done("extract", "photos.csv", *PIXELS, "--missing", "n/a", "-o", "photos.features")
    options = ["--labels", "clean.csv", "-o", "p.safetensors", "--quiet", "--force"]
    result = done("fit", "photos.features", *options)
    assert "no label: 'n/a'" in result.output
    assert set(load("p.safetensors").classes_) == set(COLOURS)
    # Others may be named later, next to it.
    done("fit", "photos.features", *options, "--missing", "sky")
    assert set(load("p.safetensors").classes_) == {"brick", "grass"}
    # Other texts make another file. A text that is no label may be misspelt.
    before = everything(folder)
    with pytest.warns(UserWarning, match="'N/A' occurs nowhere in the label column 'label': check"):
        said = refused(
            "extract", "photos.csv", *PIXELS, "--missing", "N/A", "-o", "photos.features"
        )
    assert "photos.features already exists, and was made from other items or settings" in said
    assert everything(folder) == before
