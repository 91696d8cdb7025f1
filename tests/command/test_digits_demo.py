"""`twohot demo` prints what the probes find, and writes an audit."""

import re

import numpy as np
import pytest
from label_tables import done, refused, run
from PIL import Image

import twohot
from twohot import LinearProbe, PartialLabelProbe
from twohot.audit.folder import read_audit_folder
from twohot.describe import demo_data
from twohot_command.demo import check_demo_folder


def test_prints_the_version_or_the_help():
    assert done("--version").output == f"twohot {twohot.__version__}\n"
    result = run()
    assert result.exit_code == 2
    assert "demo" in result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "audit"


@pytest.fixture(scope="module")
def output(folder):
    return done("demo", "--noise", "0.6", "--kind", "symmetric", "--seed", "1", "-o", folder).output


@pytest.fixture(scope="module")
def data():
    return demo_data(0.6, 1, "symmetric")


@pytest.fixture(scope="module")
def counts(output):
    """Return the cells of the printed table, by method."""
    rows = [re.split(r"\s*[│┃]\s*", line.strip()) for line in output.splitlines()]
    return {row[1]: row[2:-1] for row in rows if len(row) > 5}


def test_prints_the_number_of_wrong_labels(output, data):
    wrong = data.given_labels != data.true_labels
    # The share is that of every class, up to one image.
    by_class = np.bincount(data.true_labels, wrong) - 0.6 * np.bincount(data.true_labels)
    assert np.abs(by_class).max() < 1
    assert f"1257 images to train on, {wrong.sum()} of them with a wrong label, 540" in output


def test_half_of_mixed_noise_is_the_next_digit():
    data = demo_data(0.3, 0)
    wrong = data.given_labels != data.true_labels
    is_next = (data.given_labels - data.true_labels) % 10 == 1
    assert wrong.mean() == pytest.approx(0.3, abs=0.01)
    # The next digit is also one of the nine that the other half are drawn from.
    assert is_next[wrong].mean() == pytest.approx(0.5 + 0.5 / 9, abs=0.02)


def test_counts_the_errors_of_every_method(counts, data):
    _, *methods = counts
    assert methods == [
        "given labels",
        "plain probe",
        "teacher (round 1)",
        "round 2",
        "round 3",
        "round 4",
        "partial labels (two-hot)",
        "robust loss (GCE)",
        "AutoProbe",
    ]
    for method, probe in {
        "teacher (round 1)": LinearProbe(ridge=10),
        "partial labels (two-hot)": PartialLabelProbe(),
        "robust loss (GCE)": LinearProbe(loss="gce"),
    }.items():
        probe.fit(data.features, data.given_labels)
        test_errors = int((probe.predict(data.test_features) != data.test_labels).sum())
        training_errors = int((probe.predict(data.features) != data.true_labels).sum())
        accuracy = f"{1 - test_errors / 540:.1%}"
        assert counts[method][:3] == [accuracy, str(test_errors), str(training_errors)]
    teacher = int(counts["teacher (round 1)"][1])
    assert int(counts["round 4"][1]) < teacher
    assert int(counts["partial labels (two-hot)"][1]) < teacher


def test_writes_an_audit_with_a_picture_of_every_digit(output, data, folder):
    rows = read_audit_folder(folder)
    assert rows.given_labels.tolist() == data.given_labels.tolist()
    wrong, found = data.given_labels != data.true_labels, rows.is_label_issue
    right = rows.suggested_labels == data.true_labels
    assert (found & wrong).sum() > 0.9 * wrong.sum()
    assert (
        f"Audit: {found.sum()} labels flagged, including {(found & wrong).sum()} of the "
        f"{wrong.sum()} wrong labels. The suggestion is right for "
        f"{(found & right).sum()} flagged labels."
    ) in output
    assert f"Review the flagged labels in a browser: {folder / 'report.html'}" in output
    for place in (0, 1256):
        picture = np.asarray(Image.open(folder / "images" / rows.item(place)))
        expected = 255 - np.minimum(16 * data.features[place].reshape(8, 8), 255)
        assert np.array_equal(picture, expected)
    assert "could not be read" not in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("output")
def test_replaces_only_the_folder_of_a_demo(folder, tmp_path):
    for accepted in (folder, tmp_path, tmp_path / "new"):
        check_demo_folder(accepted)
    for content in ("{}", "[]", "half", '{"title": "Labels of mine"}'):
        (tmp_path / "summary.json").write_text(content)
        assert "has files that are not from a demo" in refused("demo", "-o", tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
