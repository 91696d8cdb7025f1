"""From a user's file to their corrected file: every row keeps its own label."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from label_tables import blobs, column, done, refused, run, write_table, wrong_every
from PIL import Image

from twohot.extract import Backbone, extract, read_item_table
from twohot.tables import FeatureTable, read_features, write_features

WORDS = {"billing": "invoice, charge", "bug": 'a "crash"', "login": "password; mail"}
N_TICKETS = 90
SKIPPED = (3, 40)  # tickets without a text
UNLABELLED = (7, 41)
WRONG = range(0, N_TICKETS, 9)


def true_kind(row):
    return sorted(WORDS)[row % 3]


def given_kind(row):
    if row in UNLABELLED:
        return ""
    return true_kind(row + 1 if row in WRONG else row)


def write_tickets(path: Path, delimiter: str, *, ids: bool) -> Path:
    """Write tickets as a program may: ids in no order, quotes, commas, and texts that are empty."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow([*(["ticket_id"] * ids), "text", "category", "note"])
        for row in range(N_TICKETS):
            text = "" if row in SKIPPED else f"{WORDS[true_kind(row)]} number {row}"
            name = [f"T{(row * 37) % N_TICKETS}"] * ids
            writer.writerow([*name, text, given_kind(row), "x" * (row % 2)])
    return path


def letters(texts):
    """Return how often each letter occurs: a backbone that needs no weights."""
    found = np.array([[text.count(letter) for letter in "abcdefghilmnoprstuvw"] for text in texts])
    return found.astype(np.float32)


BACKBONE = Backbone("letters", "text", lambda text: text, letters, {})


def rows_of(path: Path, delimiter: str):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.parametrize(
    ("delimiter", "ids", "separate"),
    [(",", True, True), (";", True, False), (";", False, True), (",", False, False)],
)
def test_tickets_with_empty_texts_end_with_their_own_labels(here, delimiter, ids, separate):
    tickets = write_tickets(here / "tickets.csv", delimiter, ids=ids)
    extract(read_item_table(tickets, label_column="category"), BACKBONE, "tickets.features")
    labels = ["--labels", "tickets.csv"] if separate else []  # the features know "category"
    done("audit", "tickets.features", *labels, "-o", "audit", "--quiet")
    accepted = ["--audit", "audit", "--accept-all", "0.2"]
    done("apply", *accepted, "--to", "tickets.csv", "-o", "clean.csv")
    before, after = rows_of(tickets, delimiter), rows_of(here / "clean.csv", delimiter)
    assert len(after) == N_TICKETS
    for row, (own, clean) in enumerate(zip(before, after, strict=True)):
        assert clean.pop("given_label") == own["category"]
        label = clean.pop("category")
        assert {"category": label, **clean} == {**own, "category": label}
        expected = true_kind(row) if row in WRONG and row not in SKIPPED else given_kind(row)
        assert label == expected, row
    # A probe that is fitted next reads the labels of the review by the same ids.
    names = [row.get("ticket_id", str(place)) for place, row in enumerate(before)]
    kept = [name for row, name in enumerate(names) if row not in SKIPPED]
    assert column(here / "audit" / "corrected.csv", "id") == kept
    done("fit", "tickets.features", "--labels", "audit/corrected.csv", "-o", "p.st", "--quiet")


def test_photos_end_in_the_folders_of_their_classes(here):
    colours = {"grass": (20, 200, 40), "sky": (40, 80, 220), "brick": (200, 60, 30)}
    generator = np.random.default_rng(0)
    content = {}
    for row in range(60):
        kind = sorted(colours)[row % 3]
        folder = sorted(colours)[(row + (row % 12 == 0)) % 3]
        pixels = np.clip(generator.normal(colours[kind], 20, (6, 5, 3)), 0, 255).astype(np.uint8)
        path = here / "photos" / folder / f"{row // 3}.png"  # the same names in every folder
        path = path.with_stem(f"{row}") if path.exists() else path
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        content[path.read_bytes()] = kind
    (here / "photos" / "sky" / "broken.png").write_bytes(b"no image")
    done("extract", "photos", "--backbone", "pixels", "-o", "photos.features", "--quiet")
    done("audit", "photos.features", "-o", "audit", "--quiet")
    accepted = ["--audit", "audit", "--accept-all", "0.2"]
    said = done("apply", *accepted, "--to", "photos", "-o", "clean").output
    assert "5 of 60 rows have a label of another class now" in said
    assert "60 images, linked" in said
    found = {path.read_bytes(): path.parent.name for path in Path("clean").rglob("*.png")}
    assert found == content
    assert "sky/broken.png" not in column(here / "audit" / "issues.csv", "id")


SAID = "features: 6 columns x0 … x5; label: kind; item: remark; id: nr; not used: Unnamed: 0, note"


@pytest.fixture
def table(here):
    """A data frame as it is saved: an index, ids, words, and its labels under another name."""
    features, true = blobs(90)
    return write_table(
        here / "frame.csv",
        features,
        **{"Unnamed: 0": [str(row) for row in range(90)]},
        nr=[f"N{row}" for row in reversed(range(90))],
        kind=wrong_every(true, 9),
        remark=[f"remark {row}" for row in range(90)],
        note=["words"] * 90,
    )


CHOSEN = ["--label-column", "kind", "--id-column", "nr", "--item-column", "remark"]


def test_records_have_the_roles_of_the_columns_and_predictions_the_ids(table):
    done("audit", table, *CHOSEN, "--quiet", "-o", "audit")
    assert json.loads(Path("audit/summary.json").read_text())["details"]["columns"] == SAID
    assert "remark 9" in Path("audit/report.html").read_text()  # beside the user's own embeddings
    done("forecast", table, *CHOSEN, "--quiet", "-o", "out")
    assert json.loads(Path("out/forecast.json").read_text())["columns"] == SAID
    done("describe", table, *CHOSEN, "-o", "about")
    about = json.loads(Path("about/description.json").read_text())
    assert about["provenance"]["columns"] == SAID
    done("corrupt", table, *CHOSEN, "--rate", "0.1", "-o", "n.features")
    assert read_features("n.features").provenance["columns"] == SAID
    assert f"Columns: {SAID}" in run("describe", "n.features").output
    # A feature file that was not extracted from columns has none.
    features, true = blobs(90)
    plain = FeatureTable(features=features, labels=true, classes=("a", "b", "c"))
    write_features("plain.features", plain)
    said = run("describe", "plain.features").stdout.splitlines()[0]
    assert said == "Columns: features: 6 numbers a row; id: positions in the file, from 0"
    done("fit", table, *CHOSEN, "--quiet", "-o", "p.safetensors")
    result = done("predict", "p.safetensors", table, *CHOSEN, "-o", "new.csv")
    assert f"Columns: {SAID}" in result.stdout
    assert column(Path("new.csv"), "id") == [f"N{row}" for row in reversed(range(90))]


@pytest.mark.usefixtures("here")
def test_texts_of_a_label_file_are_shown_with_own_embeddings():
    features, true = blobs(90)
    np.save("X.npy", features)
    lines = [f"N{row},say {row},{label}" for row, label in enumerate(wrong_every(true, 9))]
    Path("y.csv").write_text("\n".join(["nr,message,kind", *lines]))
    chosen = ["--label-column", "kind", "--id-column", "nr", "--item-column", "message"]
    result = done("audit", "X.npy", "--labels", "y.csv", *chosen, "--quiet", "-o", "audit")
    assert "y.csv: label: kind; item: message; id: nr" in result.stdout
    issues = Path("audit/issues.csv")
    assert column(issues, "id") == [f"N{row}" for row in range(90)]
    assert column(issues, "item") == [f"say {row}" for row in range(90)]


def test_a_missing_number_is_reported_at_its_id(here):
    features, true = blobs(90)
    features[50, 2] = np.nan
    labels = ["" if row < 20 else label for row, label in enumerate(wrong_every(true, 9))]
    table = write_table(here / "t.csv", features, label=labels, id=[f"T{row}" for row in range(90)])
    assert "X contains NaN at row T50, column 'x2'" in refused("forecast", table)
