"""`twohot describe` prints what a description holds, and writes whole files."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from label_tables import done
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


def test_prints_the_tables_of_the_description(source, digits, monkeypatch):
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
    # Three and nine are most similar, and a name in brackets is no style.
    assert ["nine", "180", "superclass 1", f"{means[9, 9]:.3f}", "3", f"{means[9, 3]:.3f}"] in rows
    assert any(row[0] == "zero [0]" for row in rows)
    # The first screen has the pairs that are most similar.
    rows = cells(done("describe", source).output)
    first = rows.index(["class", "with", "correlation"]) + 1
    between = np.sort(means[np.triu_indices(10, 1)])[::-1]
    assert [float(row[2]) for row in rows[first:]] == [float(f"{each:.3f}") for each in between[:4]]
    assert rows[first][:2] == ["3", "nine"]
    # With too many features, the standard deviations are left out.
    monkeypatch.setattr(description, "MAX_FEATURES", 63)
    output = done("describe", source, "--verbose").output
    caption = "No standard deviations and superclasses: there are too many features."
    assert caption in " ".join(output.split())
    assert {"same class", "other class"} <= {row[0] for row in cells(output)}


def test_writes_figures_and_json_to_a_folder(source, digits, tmp_path):
    folder = tmp_path / "a" / "report"
    for _ in range(2):  # writing again replaces them
        done("describe", source, "-o", folder, "--superclasses", 4)
    names = ["dendrogram.png", "description.json", "map.png"]
    assert sorted(path.name for path in folder.iterdir()) == names
    content = json.loads((folder / "description.json").read_text())
    assert content == describe_table(digits, n_superclasses=4).to_json()
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")


def test_uses_the_superclasses_of_a_file_unless_asked_to_cluster(digits, tmp_path):
    target, noisy = tmp_path / "grouped.features", tmp_path / "noisy.features"
    structure = describe_table(digits, n_superclasses=3).structure
    named = {"superclass": structure.superclass, "superclass_names": structure.superclass_names}
    write_features(target, replace(digits, **named))
    assert "Superclasses (named in the file)" in done("describe", target).output
    assert "cut at 0.3" in done("describe", target, "--cut", 0.3).output
    done("corrupt", target, "--kind", "superclass", "--rate", "0.6", "-o", noisy)
    table = read_features(noisy)
    assert 0.3 < np.mean(table.labels != table.true_labels) < 0.7
    kept = table.labels >= 0
    groups = table.superclass[table.labels[kept]], table.superclass[table.true_labels[kept]]
    np.testing.assert_array_equal(*groups)


def test_describes_one_class_without_correlations_and_separate_labels(digits, tmp_path):
    table = FeatureTable(features=np.eye(3), labels=np.array([0, -1, 0]), classes=("cat",))
    write_features(tmp_path / "bare.features", table)
    result = done("describe", tmp_path / "bare.features", "-o", tmp_path / "report")
    assert "No correlations: fewer than two classes have rows." in result.output
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["description.json"]
    np.save(tmp_path / "rows.npy", digits.features)
    lines = [f"{row},{row % 10}" for row in range(digits.n_rows)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,digit", *lines]))
    options = ("--labels", tmp_path / "labels.csv", "--label-column", "digit")
    result = done("describe", tmp_path / "rows.npy", *options)
    assert "rows with a label: 1797, without: 0" in result.output
    assert "rows per class: 179 to 180, median 180" in result.output


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], "the split 'train'"),
        (["--split", "test"], "the split 'test'"),
        (["--split", "all"], "all rows"),
    ],
)
def test_lists_splits_and_describes_one(digits, tmp_path, options, shown):
    split = np.arange(digits.n_rows) % 3 // 2
    table = replace(digits, split=split, split_names=("train", "test"))
    write_features(tmp_path / "split.features", table)
    said = done("describe", tmp_path / "split.features", *options).output
    assert f"splits: train 1198, test 599; the description below is of {shown}" in said
