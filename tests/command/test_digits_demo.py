"""The command line prints what the probes find."""

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


def table_rows(output):
    """Cells of the table, by method."""
    rows = [re.split(r"\s*[│┃]\s*", line.strip()) for line in output.splitlines()]
    return {row[1]: row[2:-1] for row in rows if len(row) > 5}


def test_version():
    result = done("--version")
    assert result.output == f"twohot {twohot.__version__}\n"


def test_no_command_shows_the_help():
    result = run()
    assert result.exit_code == 2
    assert "demo" in result.output


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "audit"


@pytest.fixture(scope="module")
def demo(demo_folder):
    return run(
        "demo", "--noise", "0.6", "--kind", "symmetric", "--seed", "1", "-o", str(demo_folder)
    )


def test_the_demo_says_what_the_data_are(demo):
    assert demo.exit_code == 0
    data = demo_data(0.6, 1, "symmetric")
    wrong = data.given_labels != data.true_labels
    n_wrong = int(wrong.sum())
    # The share is that of every class, up to one image.
    by_class = np.bincount(data.true_labels, wrong) - 0.6 * np.bincount(data.true_labels)
    assert np.abs(by_class).max() < 1
    assert f"1257 images to train on, {n_wrong} of them with a wrong label, 540" in demo.output


def test_mixed_noise_takes_the_next_digit_for_half_of_the_wrong_labels():
    data = demo_data(0.3, 0)
    wrong = data.given_labels != data.true_labels
    is_next = (data.given_labels - data.true_labels) % 10 == 1
    assert wrong.mean() == pytest.approx(0.3, abs=0.01)
    # The next digit is also one of the nine that the other half are drawn from.
    assert is_next[wrong].mean() == pytest.approx(0.5 + 0.5 / 9, abs=0.02)


def test_the_demo_lists_every_method(demo):
    rows = table_rows(demo.output)
    assert list(rows)[1:] == [
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


def test_the_demo_counts_errors_as_the_probes_do(demo):
    rows, data = table_rows(demo.output), demo_data(0.6, 1, "symmetric")
    for method, probe in {
        "teacher (round 1)": LinearProbe(ridge=10),
        "partial labels (two-hot)": PartialLabelProbe(),
        "robust loss (GCE)": LinearProbe(loss="gce"),
    }.items():
        probe.fit(data.features, data.given_labels)
        test_errors = int((probe.predict(data.test_features) != data.test_labels).sum())
        training_errors = int((probe.predict(data.features) != data.true_labels).sum())
        accuracy, *counts, _ = rows[method]
        assert counts == [str(test_errors), str(training_errors)]
        assert accuracy == f"{1 - test_errors / 540:.1%}"


def test_the_demo_shows_that_students_gain(demo):
    errors = {
        name: int(row[1]) for name, row in table_rows(demo.output).items() if row[1].isdigit()
    }
    assert errors["round 4"] < errors["teacher (round 1)"]
    assert errors["partial labels (two-hot)"] < errors["teacher (round 1)"]


@pytest.mark.usefixtures("demo")
def test_the_demo_ends_with_an_audit_that_shows_every_digit(demo_folder):
    data, rows = demo_data(0.6, 1, "symmetric"), read_audit_folder(demo_folder)
    assert rows.given_labels.tolist() == data.given_labels.tolist()
    wrong, found = data.given_labels != data.true_labels, rows.is_label_issue
    assert (found & wrong).sum() > 0.9 * wrong.sum()
    for place in (0, 1256):
        picture = np.asarray(Image.open(demo_folder / "images" / rows.item(place)))
        expected = 255 - np.minimum(16 * data.features[place].reshape(8, 8), 255)
        assert np.array_equal(picture, expected)
    assert "could not be read" not in (demo_folder / "report.html").read_text(encoding="utf-8")


def test_the_demo_counts_what_its_audit_found(demo, demo_folder):
    data, rows = demo_data(0.6, 1, "symmetric"), read_audit_folder(demo_folder)
    wrong, found = data.given_labels != data.true_labels, rows.is_label_issue
    right = rows.suggested_labels == data.true_labels
    assert (
        f"Audit: {found.sum()} labels flagged, including {(found & wrong).sum()} of the "
        f"{wrong.sum()} wrong labels; the suggestion is right for {(found & right).sum()}."
    ) in demo.output
    assert f"Review them in a browser: {demo_folder / 'report.html'}" in demo.output


def test_the_demo_replaces_nothing_but_a_demo(demo_folder, demo, tmp_path):
    assert demo.exit_code == 0
    check_demo_folder(demo_folder)
    check_demo_folder(tmp_path)
    check_demo_folder(tmp_path / "new")
    for content in ("{}", "[]", "half", '{"title": "Labels of mine"}'):
        (tmp_path / "summary.json").write_text(content)
        result = refused("demo", "-o", str(tmp_path))
        assert "has files that are not from a demo" in result
        assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
