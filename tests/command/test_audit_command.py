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
    run,
    write_table,
    wrong_every,
)

from pictures import write_picture
from twohot import LinearProbe, load
from twohot.tables import read_features
from twohot.tables.csv_file import write_csv

FOLDER = {"report.html", "findings.csv", "issues.csv", "corrected.csv", "summary.json"}


def test_the_wrong_labels_are_found_and_corrected(work, true) -> None:
    tmp_path, table, said = work, work / "table.csv", (work / "said.txt").read_text()
    assert {path.name for path in (tmp_path / "audit").iterdir()} == FOLDER
    flagged = column(tmp_path / "audit" / "issues.csv", "is_label_issue")
    assert flagged == ["true" if row % 7 == 0 else "false" for row in range(len(true))]
    assert column(tmp_path / "audit" / "corrected.csv", "label") == true
    assert "Of 150 labels, about 14.7% are wrong (between " in said
    accept = ["apply", "--audit", "audit", "--to", "table.csv", "-o", "table_clean.csv"]
    done(*accept, "--accept-all", "0.9")
    # Of so few rows no label is wrong with the probability that is suggested: none is changed.
    assert column(table.with_name("table_clean.csv"), "label") == column(table, "label")
    done(*accept, "--accept-all", "0.5", "--force")
    assert column(table.with_name("table_clean.csv"), "label") == true
    assert column(table.with_name("table_clean.csv"), "given_label") == column(table, "label")
    # Classes come in the order of numbers, and the noise in the order of the classes.
    summary = json.loads((tmp_path / "audit" / "summary.json").read_text())
    assert summary["classes"] == list(NAMES)
    given = column(table, "label")
    counts = np.zeros((3, 3))
    for truth, label in zip(true, given, strict=True):
        counts[NAMES.index(truth), NAMES.index(label)] += 1
    np.testing.assert_allclose(
        summary["corruption"], counts / counts.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_a_feature_file_goes_all_the_way_to_reviewed_labels(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = [
        ["extract", "digits", "--backbone", "pixels", "-o", "clean.features", "--quiet"],
        ["corrupt", "clean.features", "--rate", "0.2", "--exact", "-o", "noisy.features"],
        ["audit", "noisy.features", "-o", "audit", "--quiet"],
    ]
    for step in steps:
        done(*step)
    table = read_features("noisy.features")
    true = [table.classes[k] for k in table.true_labels]
    folder = tmp_path / "audit"
    corrected = column(folder / "corrected.csv", "label")
    n_wrong_before = np.count_nonzero(table.labels != table.true_labels)
    assert sum(a != b for a, b in zip(corrected, true, strict=True)) < n_wrong_before / 4
    # Images that are in no file are named, and no picture of them is looked for.
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '"digits/' in page
    assert '"links":null' in page
    assert "could not be read" not in page

    flagged = column(folder / "issues.csv", "is_label_issue")
    rows = [row for row, flag in enumerate(flagged) if flag == "true"]
    report = json.loads((folder / "summary.json").read_text())["report"]
    decisions = [[report, str(rows[0]), "accept", ""], [report, str(rows[1]), "reject", ""]]
    write_csv(folder / "decisions.csv", ["report", "id", "decision", "label"], decisions)
    done("apply", folder / "decisions.csv")
    expected = [table.classes[k] for k in table.labels]
    expected[rows[0]] = column(folder / "issues.csv", "predicted_label")[rows[0]]
    assert column(folder / "reviewed.csv", "label") == expected


def test_rows_of_a_split_keep_the_numbers_they_have_in_the_file(tmp_path) -> None:
    features, true = blobs(180)
    split = ["test" if row % 4 == 0 else "train" for row in range(180)]
    table = write_table(tmp_path / "table.csv", features, label=wrong_every(true, 7), split=split)
    outcomes = {}
    for asked, arguments in {
        "train": [],
        "test": ["--split", "test"],
        "all": ["--split", "all"],
    }.items():
        done("audit", table, "-o", tmp_path / asked, "--quiet", *arguments)
        issues = tmp_path / asked / "issues.csv"
        outcomes[asked] = [int(row) for row in column(issues, "id")]
        flagged = column(issues, "is_label_issue")
        for row, flag in zip(outcomes[asked], flagged, strict=True):
            assert (flag == "true") == (row % 7 == 0)
    assert outcomes["test"] == list(range(0, 180, 4))
    assert outcomes["train"] == [row for row in range(180) if row % 4]
    assert outcomes["all"] == list(range(180))


def test_the_rows_are_mapped_as_asked_and_know_their_groups(noisy, tmp_path, monkeypatch) -> None:
    features, true = blobs(60)
    groups = ["ward a" if row % 2 else "ward b" for row in range(60)]
    table = write_table(tmp_path / "t.csv", features, label=wrong_every(true, 7), ward=groups)
    judged = ("--probe", noisy / "probe.safetensors", "--group-column", "ward", "--quiet")
    monkeypatch.setitem(sys.modules, "umap", None)
    refused = run("audit", table, "-o", tmp_path / "audit", *judged, "--map", "umap")
    assert refused.exit_code != 0
    assert 'need umap-learn: pip install "twohot[umap]"' in " ".join(refused.output.split())
    assert not (tmp_path / "audit").exists()
    for asked, is_there in (((), True), (("--map", "none"), False)):
        done("audit", table, "-o", tmp_path / "audit", *judged, "--force", *asked)
        page = (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")
        assert ('"groups":["ward a","ward b"]' in page) == is_there


@pytest.mark.parametrize(("arguments", "n_flagged"), [(["--budget", 5], 5), (["--budget", 0], 0)])
def test_a_budget_flags_so_many_rows(noisy, tmp_path, arguments, n_flagged) -> None:
    table, probe = noisy / "table.csv", noisy / "probe.safetensors"
    done("audit", table, "--probe", probe, "-o", tmp_path / "audit", *arguments)
    flagged = column(tmp_path / "audit" / "issues.csv", "is_label_issue")
    assert flagged.count("true") == n_flagged


def test_a_lower_precision_flags_more(tmp_path) -> None:
    features, true = blobs()
    # So that no label can be called wrong for certain.
    features += np.random.default_rng(0).normal(scale=0.4, size=features.shape)
    table = write_table(tmp_path / "table.csv", features, label=wrong_every(true, 7))
    counts = []
    for precision in ("0.2", "0.5", "1"):
        folder = tmp_path / precision
        done("audit", table, "-o", folder, "--precision", precision)
        counts.append(column(folder / "issues.csv", "is_label_issue").count("true"))
        assert (
            json.loads((folder / "summary.json").read_text())["details"]["precision"] == precision
        )
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_the_labels_of_an_audited_split_can_be_fitted_on(tmp_path) -> None:
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


def test_a_probe_judges_in_place_of_a_choice(noisy, true, tmp_path) -> None:
    table, probe = noisy / "table.csv", noisy / "probe.safetensors"
    result = done("audit", table, "--probe", probe, "-o", tmp_path / "audit")
    assert column(tmp_path / "audit" / "issues.csv", "predicted_label") == true
    assert "Judged by" not in result.output
    details = json.loads((tmp_path / "audit" / "summary.json").read_text())["details"]
    assert details["probe"] == "probe.safetensors"
    assert "seed" not in details


def test_a_probe_may_know_classes_that_no_row_has_and_name_them_by_numbers(tmp_path) -> None:
    features, true = blobs(160, n_classes=4)
    LinearProbe().fit(features, np.array([2, 10, 30, 7])[true]).save(tmp_path / "p.safetensors")
    # Rows of the fourth class are given as the others: nobody calls them 7.
    table = write_table(tmp_path / "table.csv", features, label=[NAMES[k % 3] for k in true])
    done("audit", table, "--probe", tmp_path / "p.safetensors", "-o", tmp_path / "audit")
    names = [*NAMES, "7"]
    assert column(tmp_path / "audit" / "issues.csv", "predicted_label") == [names[k] for k in true]
    assert column(tmp_path / "audit" / "corrected.csv", "label") == [names[k] for k in true]
    assert json.loads((tmp_path / "audit" / "summary.json").read_text())["classes"] == names


def test_a_class_with_one_row_and_rows_without_a_label_are_kept(tmp_path) -> None:
    features, true = blobs(120)
    labels = wrong_every(true, 7)
    labels[5], labels[11] = "lonely", ""
    table = write_table(tmp_path / "table.csv", features, label=labels)
    result = done("audit", table, "-o", tmp_path / "audit", "--quiet")
    assert "Classes with one label only: 1 ('lonely')" in result.output
    assert "Rows without a label: 1" in result.output
    corrected = column(tmp_path / "audit" / "corrected.csv", "label")
    assert (corrected[5], corrected[11]) == ("lonely", "")


def write_decisions(path, decided):
    """Write labels of rows as a review exports them; leading zeros are left out of ids."""
    lines = [["r1", row.lstrip("0") or "0", "relabel", label] for row, label in decided.items()]
    write_csv(path, ["report", "id", "decision", "label"], lines)


def test_rows_of_a_group_do_not_vouch_for_each_other(tmp_path) -> None:
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
        flagged[name] = column(tmp_path / name / "issues.csv", "is_label_issue")
    assert flagged["owner"] == ["true" if row % 7 == 0 else "false" for row in rows]
    assert flagged["alone"].count("true") < flagged["owner"].count("true") / 2


def test_a_second_audit_goes_on_from_a_review(noisy, true, tmp_path) -> None:
    table = noisy / "table.csv"
    checked = tmp_path / "decisions.csv"
    # Two wrong labels are corrected, and one that is wrong is said to be right.
    given = column(table, "label")
    write_decisions(checked, {"0": true[0], "7": given[7], "1": true[1]})
    done("audit", table, "-o", tmp_path / "audit", "--checked", checked, "--quiet")
    issues = tmp_path / "audit" / "issues.csv"
    assert column(issues, "is_label_issue")[:8] == ["true", *["false"] * 7]
    assert [float(cell) for cell in column(issues, "probability_wrong")[:2]] == [1, 0]
    assert float(column(issues, "probability_wrong")[7]) == 0
    assert column(issues, "predicted_label")[0] == true[0]
    details = json.loads((tmp_path / "audit" / "summary.json").read_text())["details"]
    assert details["checked"] == "decisions.csv"
    inside = run("audit", table, "-o", tmp_path / "audit", "--checked", issues, "--force")
    assert "would be replaced by the audit" in inside.output


def test_an_audit_is_replaced_only_by_force(noisy, tmp_path) -> None:
    table, probe = noisy / "table.csv", noisy / "probe.safetensors"
    arguments = ["audit", table, "--probe", probe, "-o", tmp_path / "audit"]
    done(*arguments)
    before = everything(tmp_path)
    result = refused(*arguments, "--budget", 3)
    assert "summary.json: choose another folder, or replace them by --force" in result
    assert everything(tmp_path) == before
    done(*arguments, "--budget", 3, "--force")
    flagged = column(tmp_path / "audit" / "issues.csv", "is_label_issue")
    assert flagged.count("true") == 3


def test_pictures_are_found_from_the_table_from_here_or_where_asked(tmp_path, monkeypatch) -> None:
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


@pytest.mark.parametrize("name", ["issues.csv", "corrected.csv"])
def test_an_audit_does_not_replace_what_it_reads(noisy, tmp_path, name) -> None:
    table, probe = noisy / "table.csv", noisy / "probe.safetensors"
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_bytes(table.read_bytes())
    asked = ("audit", folder / name, "--probe", probe, "-o", folder, "--force")
    result = refused(*asked)
    assert f"{name} is an input and would be replaced by the audit in {folder}" in result
    assert (folder / name).read_bytes() == table.read_bytes()
    labels = run("audit", table, "--labels", folder / name, "-o", folder, "--force")
    assert "would be replaced" in labels.output


def test_an_audit_of_other_labels_has_the_classes_of_these(tmp_path) -> None:
    features, true = blobs()
    path = tmp_path / "x.npz"
    np.savez(path, X=features, y=true, classes=[f"class {k}" for k in range(26)])
    write_csv(tmp_path / "y.csv", ["label"], ([f"class {k}"] for k in true))
    asked = ("audit", path, "--labels", tmp_path / "y.csv", "-o", tmp_path / "audit", "--quiet")
    done(*asked)
    summary = json.loads((tmp_path / "audit" / "summary.json").read_text())
    assert summary["classes"] == ["class 0", "class 1", "class 2"]
