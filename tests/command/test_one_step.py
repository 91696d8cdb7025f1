"""A folder of images or a table straight into a probe: what `extract` and then `predict` do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from label_tables import column, done, everything, refused

from pictures import write_photos, write_picture
from twohot import LinearProbe, load
from twohot.base.labels import code_labels
from twohot.extract.backbones import Backbone
from twohot.extract.output import FeatureOrigin
from twohot.tables import read_features
from twohot.tables.csv_file import read_csv, write_csv

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def count_letters(texts):
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts], np.float32)


COUNTS = Backbone("counts", "text", lambda text: text, count_letters, {"weights": "w"})


@pytest.fixture
def photos(here):
    """Work in a folder with photos, and a probe fitted on their pixels."""
    write_photos(here / "photos")
    arguments = ("extract", "photos", "--backbone", "pixels", "-o", "photos.features", "--quiet")
    done(*arguments)
    table = read_features("photos.features")
    probe = LinearProbe(ridge=1).fit(np.array(table.features), table.coded)
    probe.feature_origin_ = FeatureOrigin.of_table(table).to_json()
    probe.save("p.safetensors")
    for seed in range(3):
        write_picture(here / "new" / f"{seed}.png", 50 + seed)
    (here / "new" / "broken.png").write_bytes(b"no picture")
    return here


@pytest.fixture
def tickets(tmp_path, monkeypatch):
    """Work in a folder with tickets, and a probe fitted on the letters in others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(FeatureOrigin, "load", lambda _: COUNTS)
    texts = ["pay", "bill pay", "refund", "crash", "crash boom", "boom"]
    kinds = ["money"] * 3 + ["bug"] * 3
    probe = LinearProbe(ridge=0.1).fit(count_letters(texts), code_labels(kinds))
    probe.feature_origin_ = FeatureOrigin("counts", "text", "w", "float32").to_json()
    probe.save("p.safetensors")
    lines = [["t7", "3", "pay bill", "money"], ["t8", "1", "", "bug"], ["t9", "2", "boom", "money"]]
    write_csv("tickets.csv", ["ticket_id", "urgency", "text", "label"], lines)
    write_csv("other.csv", ["ticket_id", "urgency", "body", "label"], lines)
    return tmp_path


def predicted(*arguments):
    """Return the ids and labels that the probe predicts, and what is printed."""
    said = done(
        "predict", "p.safetensors", *arguments, "-o", "out.csv", "--quiet", "--force"
    ).output
    return column("out.csv", "id"), column("out.csv", "predicted_label"), said


def test_predicts_a_folder_like_its_features(photos):
    done("fit", "photos.features", "-o", "fitted.safetensors", "--quiet")
    assert load("fitted.safetensors").feature_origin_["backbone"] == "pixels"
    done("extract", "new", "--unlabelled", "--backbone", "pixels", "-o", "new.features")
    done("predict", "p.safetensors", "new.features", "-o", "two.csv")
    before = set(everything(photos))
    ids, _, said = predicted("new")
    assert read_csv("out.csv") == read_csv("two.csv")
    assert ids == ["0.png", "1.png", "2.png"]
    assert "1 item could not be read:\n  new/broken.png" in said
    assert "Extracting features with pixels, the backbone of p.safetensors" in said
    assert set(everything(photos)) - before == {photos / "out.csv"}
    said = done("evaluate", "p.safetensors", "photos", "--quiet").output
    assert "Accuracy 100.0% (95% confidence interval 67.6% to 100.0%), on 8 rows" in said


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("columns", [["tickets.csv"], ["other.csv", "--item-column", "body"]])
def test_predicts_a_table_of_texts_with_its_ids(columns):
    ids, labels, said = predicted(*columns)
    assert (ids, labels) == (["t7", "t9"], ["money", "bug"])
    assert "id: ticket_id; not used: urgency" in said
    assert "row t8" in said  # an empty text


@pytest.mark.usefixtures("tickets")
def test_a_probe_knows_the_column_of_its_texts():
    write_csv("both.csv", ["text", "body"], [["crash", "pay bill"], ["boom", "refund"]])
    probe = load("p.safetensors")
    probe.feature_origin_ = {**probe.feature_origin_, "item_column": "body"}
    probe.save("p.safetensors")
    assert predicted("both.csv")[1] == ["money", "money"]
    for source in ("tickets.csv", "other.csv"):  # the usual name if its own is not there
        assert predicted(source)[1] == ["money", "bug"]


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize(
    ("labels", "accuracy"), [([], "50.0%"), (["--labels", "labels.csv"], "100.0%")]
)
def test_evaluates_a_table_of_texts(labels, accuracy):
    write_csv("labels.csv", ["ticket_id", "label"], [["t9", "bug"], ["t7", "money"]])
    said = done("evaluate", "p.safetensors", "tickets.csv", "--quiet", *labels).output
    assert f"Accuracy {accuracy}" in said
    assert "on 2 rows" in said


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("kind", ["texts", "column of lists", "wide"])
def test_a_file_lists_texts_unless_it_has_as_many_columns_as_features_or_lists(kind):
    texts, source = ["pay bill", "boom"], "tickets.parquet"
    if kind == "wide":
        source, rows = "wide.csv", (count_letters(texts) + 0.5).tolist()
        names = [f"n_{letter}" for letter in LETTERS]
        write_csv(
            source, ["ticket_id", *names], [[f"t{i}", *map(str, r)] for i, r in enumerate(rows)]
        )
    else:
        columns = {"ticket_id": ["t0", "t1"], "text": texts}
        lists = {} if kind == "texts" else {"embedding": count_letters(texts).tolist()}
        pd.DataFrame(columns | lists).to_parquet(source)
    ids, labels, said = predicted(source)
    assert ids == ["t0", "t1"]
    assert kind == "wide" or labels == ["money", "bug"]
    assert ("Extracting features with counts" in said) == (kind == "texts")


@pytest.mark.usefixtures("tickets")
def test_writes_the_probabilities_of_all_classes():
    predicted("tickets.csv", "--probabilities")
    outputs = load("p.safetensors").predict_proba(count_letters(["pay bill", "boom"]))
    for place, name in enumerate(["bug", "money"]):
        found = np.array(column("out.csv", f"probability of {name}"), dtype=float)
        np.testing.assert_allclose(found, outputs[:, place], atol=1e-6)


LETTERS_TOLD = (
    "fitted on features of texts, from 'counts', and other.csv has the columns "
    "'ticket_id', 'urgency', 'body', 'label': name the column of the texts by"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["other.csv"], LETTERS_TOLD),
        (["."], ". is a folder of images, but p.safetensors was fitted on features of texts"),
        (
            ["other.csv", "--item-column", "no"],
            "--item-column='no' is not a column of other.csv: pass",
        ),
        (["gone.csv"], "gone.csv does not exist"),
    ],
    ids=["column", "folder", "no column", "gone"],
)
def test_a_probe_of_texts_rejects(tickets, arguments, message):
    before = everything(tickets)
    assert message in refused("predict", "p.safetensors", *arguments, "-o", "out.csv", "--quiet")
    assert everything(tickets) == before


LISTS_TEXTS = (
    "tickets.csv lists texts in its column 'text', but p.safetensors was fitted on features of "
    "images, from 'pixels': pass a probe that was fitted on features of texts, or name the column "
    "of the images by --item-column=…."
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("predict unknown.st new", "new is a folder, and unknown.st does not store its backbone"),
        ("predict old.st new", "backbone='pixels' has other weights now"),
        ("predict p.safetensors tickets.csv", LISTS_TEXTS),
        (
            "predict p.safetensors large",
            "large has 2880 features, but p.safetensors was fitted on 1440",
        ),
        ("evaluate p.safetensors photos --classes names.txt", "is for tables of features"),
        ("evaluate p.safetensors photos/cat", "by --labels=…, or have a sub-folder of images for"),
        ("evaluate p.safetensors list.csv", "by --labels=…, or choose the label column by --label"),
    ],
)
def test_a_probe_of_images_rejects(photos, arguments, message):
    origin = load("p.safetensors").feature_origin_
    for name, known in {"unknown.st": {}, "old.st": {**origin, "weights": "old"}}.items():
        probe = load("p.safetensors")
        probe.feature_origin_ = known
        probe.save(name)
    write_picture(photos / "large" / "0.png", 1, (48, 20))
    write_csv("tickets.csv", ["ticket_id", "text"], [["t1", "pay"], ["t2", "boom"]])
    write_csv("list.csv", ["path", "note"], [["photos/cat/000.png", "x"]])
    Path("names.txt").write_text("cat\ndog\n")
    words = arguments.split() + (["-o", "out.csv"] if "predict" in arguments else [])
    before = everything(photos)
    assert message in refused(*words, "--quiet")
    assert everything(photos) == before
