"""A folder of images or a table straight into a probe: what `extract` and then `predict` do."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from label_tables import column, done, everything, refused, run
from pyarrow import parquet

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
def photos(tmp_path, monkeypatch):
    """Work in a folder with photos, and a probe fitted on their pixels."""
    monkeypatch.chdir(tmp_path)
    write_photos(tmp_path / "photos")
    arguments = ("extract", "photos", "--backbone", "pixels", "-o", "photos.features", "--quiet")
    done(*arguments)
    table = read_features("photos.features")
    probe = LinearProbe(ridge=1).fit(np.array(table.features), table.coded)
    probe.feature_origin_ = FeatureOrigin.of_table(table).to_json()
    probe.save("p.safetensors")
    for seed in range(3):
        write_picture(tmp_path / "new" / f"{seed}.png", 50 + seed)
    (tmp_path / "new" / "broken.png").write_bytes(b"no picture")
    return tmp_path


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


@pytest.mark.usefixtures("photos")
def test_fit_writes_what_predict_needs():
    done("fit", "photos.features", "-o", "fitted.safetensors", "--quiet")
    assert load("fitted.safetensors").feature_origin_["backbone"] == "pixels"


def test_a_folder_is_predicted_as_its_features_are(photos):
    done("extract", "new", "--unlabelled", "--backbone", "pixels", "-o", "new.features")
    done("predict", "p.safetensors", "new.features", "-o", "two.csv")
    before = set(everything(photos))
    result = done("predict", "p.safetensors", "new", "-o", "one.csv", "--quiet")
    assert read_csv("one.csv") == read_csv("two.csv")
    assert column("one.csv", "id") == ["0.png", "1.png", "2.png"]
    assert "1 item skipped, which could not be read:\n  new/broken.png" in result.output
    assert "Extracting features with pixels, the backbone of p.safetensors" in result.output
    assert set(everything(photos)) - before == {photos / "one.csv"}


@pytest.mark.usefixtures("photos")
def test_photos_by_class_are_evaluated():
    result = done("evaluate", "p.safetensors", "photos", "--quiet")
    assert "Accuracy 100.0% (67.6% to 100.0%), on 8 rows" in result.output


@pytest.mark.usefixtures("photos")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["photos", "--classes", "names.txt"], "--classes='names.txt' is for tables of features"),
        (["photos/cat"], "which are needed here, by --labels=…, or have a sub-folder of images"),
        (["list.csv"], "which are needed here, by --labels=…, or choose a column of them by"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_features_are_made(arguments, message):
    Path("names.txt").write_text("cat\ndog\n")
    write_csv("list.csv", ["path", "note"], [["photos/cat/000.png", "x"]])
    result = run("evaluate", "p.safetensors", *arguments, "--quiet")
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Features by" not in result.output


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("columns", [["tickets.csv"], ["other.csv", "--item-column", "body"]])
def test_a_table_of_texts_is_predicted_and_rows_keep_their_ids(columns):
    result = done("predict", "p.safetensors", *columns, "-o", "out.csv", "--quiet")
    assert "id: ticket_id; not used: urgency" in result.output
    assert column("out.csv", "id") == ["t7", "t9"]
    assert column("out.csv", "predicted_label") == ["money", "bug"]
    assert "row t8" in result.output  # an empty text


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("source", ["tickets.csv", "other.csv"])
def test_a_probe_knows_the_column_of_its_texts(source):
    """It is taken where it is there, whatever else is; else the usual name is."""
    write_csv("both.csv", ["text", "body"], [["crash", "pay bill"], ["boom", "refund"]])
    probe = load("p.safetensors")
    probe.feature_origin_ = {**probe.feature_origin_, "item_column": "body"}
    probe.save("p.safetensors")
    for path, predicted in [(source, ["money", "bug"]), ("both.csv", ["money", "money"])]:
        done("predict", "p.safetensors", path, "-o", "out.csv", "--quiet", "--force")
        assert column("out.csv", "predicted_label") == predicted


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("labels", [[], ["--labels", "labels.csv"]], ids=["own", "separate"])
def test_a_table_of_texts_is_evaluated(labels):
    write_csv("labels.csv", ["ticket_id", "label"], [["t9", "bug"], ["t7", "money"]])
    result = done("evaluate", "p.safetensors", "tickets.csv", "--quiet", *labels)
    accuracy = "100.0%" if labels else "50.0%"
    assert f"Accuracy {accuracy}" in result.output
    assert "on 2 rows" in result.output


@pytest.mark.usefixtures("tickets")
def test_a_table_as_wide_as_the_probe_holds_features():
    features = count_letters(["pay bill", "boom"]) + 0.5
    write_csv(
        "wide.csv",
        [f"n_{letter}" for letter in LETTERS],
        [[str(number) for number in row] for row in features],
    )
    result = done("predict", "p.safetensors", "wide.csv", "-o", "out.csv")
    assert "Features by" not in result.output
    assert column("out.csv", "id") == ["0", "1"]


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("kind", ["texts", "features"])
def test_a_parquet_file_lists_texts_unless_a_column_holds_lists(kind, monkeypatch):
    texts = ["pay bill", "boom"]
    columns = {"ticket_id": ["t1", "t2"], "text": texts}
    if kind == "features":
        columns["embedding"] = count_letters(texts).tolist()
    pd.DataFrame(columns).to_parquet("tickets.parquet")
    n_read, file = [], parquet.ParquetFile
    read = file.read
    monkeypatch.setattr(file, "read", lambda *a, **k: n_read.append(1) or read(*a, **k))
    result = run("predict", "p.safetensors", "tickets.parquet", "-o", "out.csv", "--quiet")
    assert len(n_read) == 1
    assert result.exit_code == 0, result.output
    assert ("Extracting features with counts" in result.output) == (kind == "texts")
    assert column("out.csv", "id") == ["t1", "t2"]
    assert column("out.csv", "predicted_label") == ["money", "bug"]


@pytest.mark.usefixtures("tickets")
def test_probabilities_of_all_classes_are_written():
    arguments = ("predict", "p.safetensors", "tickets.csv", "--quiet", "--probabilities")
    done(*arguments, "-o", "out.csv")
    outputs = load("p.safetensors").predict_proba(count_letters(["pay bill", "boom"]))
    for place, name in enumerate(["bug", "money"]):
        said = np.array(column("out.csv", f"probability of {name}"), dtype=float)
        np.testing.assert_allclose(said, outputs[:, place], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["other.csv"],
            (
                "fitted on features of texts, from 'counts', and other.csv has the columns "
                "'ticket_id', 'urgency', 'body', 'label': name the column of the texts by"
            ),
        ),
        (["."], ". is a folder of images, and p.safetensors was fitted on features of texts"),
        (["other.csv", "--item-column", "no"], "--item-column='no' is missing: the columns are"),
        (["gone.csv"], "gone.csv is not a file"),
    ],
    ids=["column", "folder", "no column", "gone"],
)
def test_items_of_another_kind_are_refused(tickets, arguments, message):
    before = everything(tickets)
    result = refused("predict", "p.safetensors", *arguments, "-o", "out.csv", "--quiet")
    assert message in result
    assert everything(tickets) == before


@pytest.mark.usefixtures("photos")
def test_a_probe_that_does_not_know_its_backbone_says_so():
    probe = load("p.safetensors")
    probe.feature_origin_ = {}
    probe.save("q.safetensors")
    result = refused("predict", "q.safetensors", "new", "-o", "out.csv")
    assert "new is a folder, and q.safetensors does not store its backbone" in result


def test_images_of_another_size_have_other_pixels(photos):
    write_picture(photos / "large" / "0.png", 1, (48, 20))
    result = refused("predict", "p.safetensors", "large", "-o", "out.csv", "--quiet")
    assert "large has 2880 features, but p.safetensors expects 1440" in result


@pytest.mark.usefixtures("photos")
def test_weights_that_changed_are_refused():
    probe = load("p.safetensors")
    origin = FeatureOrigin.from_json(probe.feature_origin_)
    probe.feature_origin_ = replace(origin, weights="old").to_json()
    probe.save("q.safetensors")
    result = refused("predict", "q.safetensors", "new", "-o", "out.csv", "--quiet")
    assert "backbone='pixels' has other weights than those" in result


def test_a_probe_of_images_says_that_a_table_lists_texts(photos):
    write_csv("tickets.csv", ["ticket_id", "text"], [["t1", "pay"], ["t2", "boom"]])
    result = refused("predict", "p.safetensors", "tickets.csv", "-o", "out.csv")
    assert (
        "tickets.csv lists texts in its column 'text', but p.safetensors was fitted on features "
        "of images, from 'pixels': pass a probe of texts, or name the column of the images by "
        "--item-column=…."
    ) in result
    assert not (photos / "out.csv").exists()
