"""`twohot describe` prints what a description holds, and writes whole files."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from label_tables import done, refused, run
from sklearn.datasets import load_digits

from twohot.describe import description
from twohot.describe.description import describe_table
from twohot.tables import FeatureTable, read_features, write_features

NAMES = ("zero [0]", *"12345678", "nine")


@pytest.fixture(scope="module")
def digits():
    X, labels = load_digits(return_X_y=True)
    labels[:7] = -1
    return FeatureTable(
        features=X, labels=labels, classes=NAMES, provenance={"made": {"by": "hand"}}
    )


@pytest.fixture
def source(digits, tmp_path):
    write_features(tmp_path / "digits.features", digits)
    return tmp_path / "digits.features"


def cells(output):
    """Rows of all tables, as lists of cells."""
    rows = [re.split(r"\s*[│┃]\s*", line.strip()) for line in output.splitlines()]
    return [row[1:-1] for row in rows if len(row) > 3]


def test_the_tables_are_those_of_the_description(source, digits):
    result = done("describe", source, "--verbose")
    lines = result.output.splitlines()[1:]  # after the columns
    assert lines[0] == "digits.features: 1797 rows of 64 features (float64), 10 classes"
    assert lines[1] == "rows with a label: 1790, without: 7"
    assert 'made: {"by": "hand"}' in lines
    structure = describe_table(digits).structure
    rows = cells(result.output)
    for name, group in (
        ("same class", structure.statistics.same_class),
        ("same superclass, other class", structure.statistics.same_superclass),
        ("other superclass", structure.statistics.elsewhere),
    ):
        assert [name, str(group.n_pairs), f"{group.mean:.3f}", f"{group.std:.3f}"] in rows
    assert "Superclasses (complete linkage, cut at 0.8)" in result.output
    means = structure.correlation.means
    # Three and nine are most alike, and a name in brackets is no style.
    assert ["nine", "180", "superclass 1", f"{means[9, 9]:.3f}", "3", f"{means[9, 3]:.3f}"] in rows
    assert any(row[0] == "zero [0]" for row in rows)


def test_the_first_screen_has_the_classes_that_are_most_alike(source, digits):
    rows = cells(run("describe", source).output)
    means = describe_table(digits).structure.correlation.means
    first = rows.index(["class", "with", "correlation"]) + 1
    shown = [float(row[2]) for row in rows[first:]]
    between = np.sort(means[np.triu_indices(10, 1)])[::-1]
    assert shown == [float(f"{mean:.3f}") for mean in between[:4]]
    assert rows[first][:2] == ["3", "nine"]


def test_pictures_and_json_are_written_to_a_folder(source, digits, tmp_path):
    for _ in range(2):  # writing again replaces them
        result = run("describe", source, "-o", tmp_path / "a" / "report", "--superclasses", 4)
    assert result.exit_code == 0, result.output
    folder = tmp_path / "a" / "report"
    names = ["dendrogram.png", "description.json", "map.png"]
    assert sorted(path.name for path in folder.iterdir()) == names
    content = json.loads((folder / "description.json").read_text())
    assert content == describe_table(digits, n_superclasses=4).to_json()
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")


def test_superclasses_of_a_file_are_used_unless_a_clustering_is_asked_for(digits, tmp_path):
    target, noisy = tmp_path / "grouped.features", tmp_path / "noisy.features"
    structure = describe_table(digits, n_superclasses=3).structure
    named = {"superclass": structure.superclass, "superclass_names": structure.superclass_names}
    write_features(target, replace(digits, **named))
    assert "Superclasses (named in the file)" in run("describe", target).output
    assert "cut at 0.3" in run("describe", target, "--cut", 0.3).output
    options = ["--kind", "superclass", "--rate", "0.6", "-o", str(noisy)]
    done("corrupt", str(target), *options)
    table = read_features(noisy)
    wrong = table.labels != table.true_labels
    assert 0.3 < wrong.mean() < 0.7
    kept = table.labels >= 0
    groups = table.superclass[table.labels[kept]], table.superclass[table.true_labels[kept]]
    np.testing.assert_array_equal(*groups)


def test_a_table_of_one_class_is_described_without_correlations(tmp_path):
    table = FeatureTable(features=np.eye(3), labels=np.array([0, -1, 0]), classes=("cat",))
    write_features(tmp_path / "bare.features", table)
    result = done("describe", tmp_path / "bare.features", "-o", tmp_path / "report")
    assert "No correlations: fewer than two classes have rows." in result.output
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["description.json"]


def test_other_formats_and_separate_labels_are_read(tmp_path):
    X, labels = load_digits(return_X_y=True)
    np.save(tmp_path / "rows.npy", X)
    text = "\n".join(["id,digit", *(f"{row},{label}" for row, label in enumerate(labels))])
    (tmp_path / "labels.csv").write_text(text)
    options = ("--labels", tmp_path / "labels.csv", "--label-column", "digit")
    result = done("describe", tmp_path / "rows.npy", *options)
    assert "rows with a label: 1797, without: 0" in result.output
    assert "rows per class: 174 to 183, median 180" in result.output


def test_nan_in_the_features_is_named(digits, tmp_path):
    X = digits.features.copy()
    X[12, 3] = np.nan
    write_features(
        tmp_path / "bad.features",
        FeatureTable(features=X, labels=digits.labels, classes=digits.classes),
    )
    result = refused("describe", tmp_path / "bad.features")
    assert "X contains NaN at row 12, column 3" in result


def test_splits_are_listed_and_one_is_described(digits, tmp_path):
    split = np.arange(digits.n_rows) % 3 // 2
    table = replace(digits, split=split, split_names=("train", "test"))
    write_features(tmp_path / "split.features", table)
    sizes = "splits: train 1198, test 599"
    for arguments, shown in (
        ([], "the rows of train"),
        (["--split", "test"], "the rows of test"),
        (["--split", "all"], "all rows"),
    ):
        assert (
            f"{sizes}; below are {shown}"
            in run("describe", tmp_path / "split.features", *arguments).output
        )


def test_many_features_have_means_without_a_spread(source, monkeypatch):
    monkeypatch.setattr(description, "MAX_FEATURES", 63)
    output = run("describe", source, "--verbose").output
    assert "Too many features for the spread" in output
    assert {"same class", "other class"} <= {row[0] for row in cells(output)}
