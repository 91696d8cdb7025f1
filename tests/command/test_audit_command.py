"""`twohot audit` finds wrong labels and writes a folder that can be reviewed, or nothing."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from label_tables import (
    N_FEATURES,
    NAMES,
    blobs,
    column,
    done,
    everything,
    refused,
    write_table,
    wrong_every,
)

from pictures import write_picture
from twohot import LinearProbe, load
from twohot.tables import read_features
from twohot.tables.csv_file import write_csv

FOLDER = {"report.html", "findings.csv", "issues.csv", "corrected.csv", "summary.json"}


def issues(folder, name):
    """Return a column of the table of all rows."""
    return column(folder / "issues.csv", name)


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def flags(step, rows):
    """Return the flags if every so many labels are wrong."""
    return ["true" if row % step == 0 else "false" for row in rows]


def test_finds_and_corrects_wrong_labels(work, true) -> None:
    audit, said, given = (
        work / "audit",
        (work / "said.txt").read_text(),
        column("table.csv", "label"),
    )
    assert {path.name for path in audit.iterdir()} == FOLDER
    assert issues(audit, "is_label_issue") == flags(7, range(len(true)))
    assert column(audit / "corrected.csv", "label") == true
    assert "Of 150 labels, about 14.7% are wrong (between " in said
    accept = ["apply", "--audit", "audit", "--to", "table.csv", "-o", "clean.csv", "--force"]
    done(*accept, "--accept-all", "0.9")
    # Of so few rows no label is wrong with the probability that is suggested: none is changed.
    assert column("clean.csv", "label") == given
    done(*accept, "--accept-all", "0.5")
    assert (column("clean.csv", "label"), column("clean.csv", "given_label")) == (true, given)
    # Classes come in the order of numbers, and the noise in the order of the classes.
    assert summary(audit)["classes"] == list(NAMES)
    counts = pd.crosstab(pd.Series(true), pd.Series(given), normalize="index")
    expected = counts.loc[list(NAMES), list(NAMES)]
    np.testing.assert_allclose(summary(audit)["corruption"], expected, atol=1e-12)


def test_a_feature_file_is_extracted_corrupted_audited_and_reviewed(here) -> None:
    done("extract", "digits", "--backbone", "pixels", "-o", "clean.features", "--quiet")
    done("corrupt", "clean.features", "--rate", "0.2", "--exact", "-o", "noisy.features")
    done("audit", "noisy.features", "-o", "audit", "--quiet")
    table = read_features("noisy.features")
    true = [table.classes[k] for k in table.true_labels]
    folder = here / "audit"
    corrected = column(folder / "corrected.csv", "label")
    n_wrong_before = np.count_nonzero(table.labels != table.true_labels)
    assert sum(a != b for a, b in zip(corrected, true, strict=True)) < n_wrong_before / 4
    # Images that are in no file are named, and no picture of them is looked for.
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '"digits/' in page
    assert '"links":null' in page
    assert "could not be read" not in page

    rows = np.flatnonzero(np.array(issues(folder, "is_label_issue")) == "true")
    report = summary(folder)["report"]
    decisions = [[report, str(rows[0]), "accept", ""], [report, str(rows[1]), "reject", ""]]
    write_csv(folder / "decisions.csv", ["report", "id", "decision", "label"], decisions)
    done("apply", folder / "decisions.csv")
    expected = [table.classes[k] for k in table.labels]
    expected[rows[0]] = issues(folder, "predicted_label")[rows[0]]
    assert column(folder / "reviewed.csv", "label") == expected


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ([], [row for row in range(180) if row % 4]),
        (["--split", "test"], range(0, 180, 4)),
        (["--split", "all"], range(180)),
    ],
)
def test_rows_of_a_split_keep_their_positions_in_the_file(tmp_path, options, rows) -> None:
    features, true = blobs(180)
    split = ["test" if row % 4 == 0 else "train" for row in range(180)]
    table = write_table(tmp_path / "table.csv", features, label=wrong_every(true, 7), split=split)
    done("audit", table, "-o", tmp_path, "--quiet", *options)
    assert issues(tmp_path, "id") == [str(row) for row in rows]
    assert issues(tmp_path, "is_label_issue") == flags(7, rows)


def test_the_report_has_the_chosen_map_and_the_groups(noisy, tmp_path, monkeypatch) -> None:
    features, true = blobs(60)
    groups = ["ward a" if row % 2 else "ward b" for row in range(60)]
    table = write_table(tmp_path / "t.csv", features, label=wrong_every(true, 7), ward=groups)
    judged = ("--probe", noisy / "probe.safetensors", "--group-column", "ward", "--quiet")
    monkeypatch.setitem(sys.modules, "umap", None)
    said = refused("audit", table, "-o", tmp_path / "audit", *judged, "--map", "umap")
    assert 'need umap-learn: pip install "twohot[umap]"' in " ".join(said.split())
    assert not (tmp_path / "audit").exists()
    for asked, is_there in (((), True), (("--map", "none"), False)):
        done("audit", table, "-o", tmp_path / "audit", *judged, "--force", *asked)
        page = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
        assert ('"groups":["ward a","ward b"]' in page) == is_there


def test_a_lower_precision_flags_more(tmp_path) -> None:
    features, true = blobs()
    # So that no label can be called wrong for certain.
    features += np.random.default_rng(0).normal(scale=0.4, size=features.shape)
    table = write_table(tmp_path / "table.csv", features, label=wrong_every(true, 7))
    counts = []
    for precision in ("0.2", "1"):
        folder = tmp_path / precision
        done("audit", table, "-o", folder, "--precision", precision)
        counts.append(issues(folder, "is_label_issue").count("true"))
        assert summary(folder)["details"]["precision"] == precision
    assert counts[0] > counts[1]


def test_fits_on_the_corrected_labels_of_a_split(tmp_path) -> None:
    features, true = blobs()
    given = wrong_every(true, 7)
    split = ["test" if row % 5 == 0 else "train" for row in range(len(true))]
    table = write_table(tmp_path / "table.csv", features, label=given, split=split)
    done("audit", table, "-o", tmp_path / "audit", "--quiet")
    corrected = tmp_path / "audit" / "corrected.csv"
    # As a spreadsheet may leave it: by label.
    head, *lines = corrected.read_text().splitlines()
    by_label = sorted(lines, key=lambda line: line.split(",")[-1])
    corrected.write_text("\n".join([head, *by_label]) + "\n")
    output = tmp_path / "probe.safetensors"
    done("fit", table, "--labels", corrected, "-o", output, "--quiet")
    # The probe knows its columns, as if it had been fitted on a frame.
    frame = pd.DataFrame(features, columns=[f"x{i}" for i in range(features.shape[1])])
    assert (load(output).predict(frame) == np.array([NAMES[k] for k in true])).all()


def test_a_probe_judges_instead_of_a_choice_and_force_replaces(noisy, true, tmp_path) -> None:
    table, audit = noisy / "table.csv", tmp_path / "audit"
    judged = ["audit", table, "--probe", noisy / "probe.safetensors", "-o", audit]
    done(*judged)
    assert issues(audit, "predicted_label") == true
    assert summary(audit)["details"]["probe"] == "probe.safetensors"
    assert "seed" not in summary(audit)["details"]
    before = everything(tmp_path)
    said = "summary.json: choose another folder, or pass --force"
    assert said in refused(*judged, "--budget", 3)
    assert everything(tmp_path) == before
    for budget in (3, 0):
        done(*judged, "--budget", budget, "--force")
        assert issues(audit, "is_label_issue").count("true") == budget


def test_a_probe_may_name_classes_by_numbers_and_know_more_of_them(tmp_path) -> None:
    features, true = blobs(160, n_classes=4)
    LinearProbe().fit(features, np.array([2, 10, 30, 7])[true]).save(tmp_path / "p.safetensors")
    # Rows of the fourth class have labels of the others: no label is 7.
    table = write_table(tmp_path / "table.csv", features, label=[NAMES[k % 3] for k in true])
    done("audit", table, "--probe", tmp_path / "p.safetensors", "-o", tmp_path / "audit")
    names = [*NAMES, "7"]
    assert issues(tmp_path / "audit", "predicted_label") == [names[k] for k in true]
    assert column(tmp_path / "audit" / "corrected.csv", "label") == [names[k] for k in true]
    assert summary(tmp_path / "audit")["classes"] == names


def test_keeps_a_class_with_one_row_and_rows_without_a_label(tmp_path) -> None:
    features, true = blobs(120)
    labels = wrong_every(true, 7)
    labels[5], labels[11] = "lonely", ""
    table = write_table(tmp_path / "table.csv", features, label=labels)
    result = done("audit", table, "-o", tmp_path / "audit", "--quiet")
    assert "Classes with only one labelled row: 1 ('lonely')" in result.output
    assert "Rows without a label: 1" in result.output
    corrected = column(tmp_path / "audit" / "corrected.csv", "label")
    assert (corrected[5], corrected[11]) == ("lonely", "")


def test_rows_of_a_group_are_not_evidence_for_each_other(tmp_path) -> None:
    features, true = blobs(120)
    # Every row is there three times with the same label: too different to be taken for a copy,
    # and nearer to the other two than to any other row.
    rows = np.repeat(np.arange(120), 3)
    near = features[rows] + np.random.default_rng(0).normal(scale=0.02, size=(360, N_FEATURES))
    given = np.array(wrong_every(true, 7))[rows]
    owners, two = [f"owner {row}" for row in rows], np.where(rows < 60, "ann", "bob")
    table = write_table(tmp_path / "table.csv", near, label=given, owner=owners, half=two)
    flagged = {}
    for name, arguments in {
        "alone": ["--feature-column", "x*"],
        "owner": ["--group-column", "owner", "--feature-column", "x*"],
        "half": ["--group-column", "half", "--feature-column", "x*"],
    }.items():
        result = done("audit", table, "-o", tmp_path / name, "--quiet", *arguments)
        assert (f"group: {name}" in result.output) == (name != "alone")
        flagged[name] = issues(tmp_path / name, "is_label_issue")
    assert flagged["owner"] == flags(7, rows)
    assert flagged["alone"].count("true") < flagged["owner"].count("true") / 2


def test_a_second_audit_uses_the_decisions_of_a_review(noisy, true, tmp_path) -> None:
    table, audit, checked = noisy / "table.csv", tmp_path / "audit", tmp_path / "decisions.csv"
    # Two wrong labels are corrected, and one wrong label is called right.
    decided = {"0": true[0], "7": column(table, "label")[7], "1": true[1]}
    lines = [["r1", row, "relabel", label] for row, label in decided.items()]
    write_csv(checked, ["report", "id", "decision", "label"], lines)
    done("audit", table, "-o", audit, "--checked", checked, "--quiet")
    assert issues(audit, "is_label_issue")[:8] == ["true", *["false"] * 7]
    wrong = [float(cell) for cell in issues(audit, "probability_wrong")]
    assert (wrong[0], wrong[1], wrong[7]) == (1, 0, 0)
    assert issues(audit, "predicted_label")[0] == true[0]
    assert summary(audit)["details"]["checked"] == "decisions.csv"


def test_counts_labels_after_the_checks(tmp_path) -> None:
    features, codes = blobs()
    true, labels = [NAMES[k] for k in codes], ["", "", "", "", "", *wrong_every(codes, 7)[5:]]
    table = write_table(tmp_path / "table.csv", features, label=labels)
    # Two rows get their first label by a check, and one loses its label.
    lines = [["r1", "0", "relabel", true[0]], ["r1", "1", "relabel", true[1]]]
    lines += [["r1", "9", "exclude", ""]]
    checked = tmp_path / "decisions.csv"
    write_csv(checked, ["report", "id", "decision", "label"], lines)
    result = done("audit", table, "-o", tmp_path / "audit", "--checked", checked, "--quiet")
    assert "Rows without a given or checked label: 3. They are predicted" in result.output
    said = summary(tmp_path / "audit")["details"]["label model"]
    assert said.endswith(f" of {len(labels) - 4} held-out given or checked labels")


def test_finds_images_next_to_the_table_here_or_in_a_folder(tmp_path, monkeypatch) -> None:
    features, true = blobs(60)
    (tmp_path / "here" / "photos").mkdir(parents=True)
    (tmp_path / "tables").mkdir()
    paths = [f"photos/{row}.png" for row in range(60)]
    for path in paths:
        write_picture(tmp_path / "here" / path, 0)
    table = {"features": features, "label": wrong_every(true, 7), "path": paths}
    beside = write_table(tmp_path / "here" / "table.csv", **table)
    elsewhere = write_table(tmp_path / "tables" / "table.csv", **table)
    audits = {
        "beside": (tmp_path, [beside]),
        "run here": (tmp_path / "here", [elsewhere]),
        "asked": (tmp_path, [elsewhere, "--images", tmp_path / "here"]),
    }
    for name, (folder, arguments) in audits.items():
        monkeypatch.chdir(folder)
        done("audit", *arguments, "-o", tmp_path / name, "--quiet")
        assert "could not be read" not in (tmp_path / name / "report.html").read_text()
    monkeypatch.chdir(tmp_path)
    done("audit", elsewhere, "-o", tmp_path / "lost", "--quiet")
    assert "pictures could not be read" in (tmp_path / "lost" / "report.html").read_text()


def test_an_audit_of_other_labels_has_the_classes_of_these(tmp_path) -> None:
    features, true = blobs()
    path = tmp_path / "x.npz"
    np.savez(path, X=features, y=true, classes=[f"class {k}" for k in range(26)])
    write_csv(tmp_path / "y.csv", ["label"], ([f"class {k}"] for k in true))
    asked = ("audit", path, "--labels", tmp_path / "y.csv", "-o", tmp_path / "audit", "--quiet")
    done(*asked)
    summary = json.loads((tmp_path / "audit" / "summary.json").read_text())
    assert summary["classes"] == ["class 0", "class 1", "class 2"]
