"""`twohot audit` of what is larger than memory: the full table in parts, a report of some rows."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from label_tables import column, everything, run
from parquet_source import GIVEN, IDS, WRONG, small_parts, write_source

from twohot.audit import issue_files as issue_parts
from twohot.audit.folder import FILES, UNFINISHED, begin_audit_parts
from twohot.base.messages import FileThereError
from twohot.tables import read_table
from twohot.tables.csv_file import write_csv
from twohot_command import parts as _parted_audit

PARTED = ["issues.parquet", "report.html", "summary.json"]


@pytest.fixture
def source(tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    return write_source(tmp_path / "embeddings")


def audited(source, folder, *more):
    return run("audit", source, "-o", folder, "--label-column", "kind", "--quiet", *more)


def check_same_issues(parts, memory):
    """Compare the table in parts with that of an audit in memory."""
    table = pq.read_table(parts)
    assert table["id"].to_pylist() == IDS.tolist()
    assert table["given_label"].to_pylist() == GIVEN.tolist()
    flagged = np.array(table["is_label_issue"].to_pylist())
    assert np.array_equal(np.flatnonzero(flagged), np.flatnonzero(WRONG))
    assert column(memory, "is_label_issue") == [str(flag).lower() for flag in flagged]
    for name in ("predicted_label", "second_label"):
        same = np.array(table[name].to_pylist()) == column(memory, name)
        assert same.mean() > 0.99
    quality = np.array(column(memory, "label_quality"), dtype=float)
    assert np.abs(table["label_quality"].to_numpy() - quality).max() < 0.02


def test_the_issues_are_those_of_an_audit_in_memory(source, tmp_path, cluster):
    assert audited(source, tmp_path / "memory").exit_code == 0
    folder = tmp_path / "audit"
    result = audited(source, folder, "--scheduler", cluster.scheduler_address)
    assert result.exit_code == 0, result.output
    check_same_issues(folder / "issues.parquet", tmp_path / "memory" / "issues.csv")
    sizes = [pq.read_metadata(file).num_rows for file in sorted(folder.glob("*/*.parquet"))]
    assert sizes == [200, 50, 50, 200, 100]
    assert f"All rows: {folder / 'issues.parquet'} (5 parts)." in result.output
    assert sorted(path.name for path in folder.iterdir()) == PARTED
    here, there = (
        json.loads((tmp_path / name / "summary.json").read_text()) for name in ("memory", "audit")
    )
    for name in ("n_rows", "n_unlabelled", "n_issues", "n_undecided", "classes", "id_column"):
        assert there[name] == here[name]


@pytest.mark.usefixtures("tiny_memory")
def test_a_report_of_the_most_doubtful_rows_links_the_table(source, tmp_path, monkeypatch):
    monkeypatch.setattr(_parted_audit, "MOST_SHOWN", 7)
    folder = tmp_path / "audit"
    result = audited(source, folder)
    assert result.exit_code == 0, result.output
    page = (folder / "report.html").read_text()
    assert '<a href="issues.parquet">' in page
    assert "The report has the 7 most suspicious of the flagged rows" in page
    assert f"flags {WRONG.sum()} labels" in page
    table = pq.read_table(folder / "issues.parquet").to_pandas()
    worst = table[table.is_label_issue].nsmallest(7, "label_quality")
    data = json.loads(page.split('id="report-data">')[1].split("<")[0])
    assert sorted(data["id"]) == sorted(map(str, worst.id))
    # What is printed as the next step can be run.
    *_, step = result.output.replace("\n", " ").partition("without a review:")
    command, clean = shlex.split(step)[1:], source.with_name("embeddings_clean")
    assert run(*command).exit_code == 0
    assert pq.read_table(clean)["kind"].to_pylist() != GIVEN.tolist()


@pytest.mark.slow
@pytest.mark.usefixtures("tiny_memory")
def test_a_stopped_audit_is_resumed(source, tmp_path, monkeypatch):
    assert audited(source, tmp_path / "whole").exit_code == 0
    folder, write, written = tmp_path / "audit", issue_parts.write_part, []

    def dying(url, tables):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(write(url, tables))

    with monkeypatch.context() as patched:
        patched.setattr(issue_parts, "write_part", dying)
        assert audited(source, folder).exit_code != 0
    assert len(list((folder / "issues.parquet").glob("*.parquet"))) == 2
    assert not (folder / "summary.json").exists()
    other = audited(source, folder, "--budget", "3")
    assert "holds parts of another run, which differs in budget" in other.output
    result = audited(source, folder)
    assert "Went on after what an earlier run had finished" in result.output
    assert "(5 parts, 2 of them already there)" in result.output
    found, expected = (
        {path.relative_to(root): text for path, text in everything(root).items()}
        for root in (folder, tmp_path / "whole")
    )
    assert found == expected
    # It is finished now, and replaced if that is asked for.
    assert "already holds report.html" in audited(source, folder).output
    assert audited(source, folder, "--budget", "3", "--force").exit_code == 0
    assert pq.read_table(folder / "issues.parquet")["is_label_issue"].to_pylist().count(True) == 3
    # One in memory takes the place of all of it.
    monkeypatch.undo()
    assert audited(source, folder, "--force").exit_code == 0
    assert {path.name for path in folder.iterdir()} == {*FILES}


@pytest.mark.usefixtures("tiny_memory")
def test_nothing_is_left_by_a_kill_at_the_last_step(source, tmp_path, monkeypatch):
    folder, unlink = tmp_path / "audit", Path.unlink

    def dying(path, **how):
        if path.name == UNFINISHED:
            raise KeyboardInterrupt
        unlink(path, **how)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", dying)
        assert audited(source, folder).exit_code != 0
    assert {path.name for path in folder.iterdir()} == {*PARTED, UNFINISHED}
    assert audited(source, folder).exit_code == 0
    assert {path.name for path in folder.iterdir()} == {*PARTED}


def test_an_earlier_audit_stays_until_there_is_another(source, tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "audit"
    begin_audit_parts(folder, {"budget": 1}, 1, force=False)
    (folder / "summary.json").touch()
    before = everything(folder)
    monkeypatch.setattr(_parted_audit, "find_label_issues", stopped)
    table = read_table(source, label_column="kind")
    written = {"about": {}, "image_root": None, "quiet": True}
    for force, error in {True: KeyboardInterrupt, False: FileThereError}.items():
        with pytest.raises(error):
            _parted_audit.audit_in_parts(table, folder, {"budget": 2}, force=force, **written)
        assert everything(folder) == before


@pytest.mark.usefixtures("tiny_memory")
def test_rows_of_a_split_are_in_parts_of_their_own(tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    is_used = np.arange(len(IDS)) >= 250  # none of the first file
    split = np.where(is_used, "train", "test")
    texts = np.array([f"text of {name}" for name in IDS])
    source = write_source(tmp_path / "embeddings", split=split, text=texts)
    assert audited(source, tmp_path / "audit").exit_code == 0
    assert pq.read_table(tmp_path / "audit" / "issues.parquet")["id"].to_pylist() == [*IDS[is_used]]
    items = pq.read_table(tmp_path / "audit" / "issues.parquet")["item"].to_pylist()
    assert items == texts[is_used].tolist()
    record = json.loads((tmp_path / "audit" / "issues.parquet" / "_twohot.json").read_text())
    files = list((tmp_path / "audit").glob("*/*.parquet"))
    assert record["n_parts"] == len(files)


@pytest.mark.usefixtures("tiny_memory")
def test_what_parts_cannot_have(source, tmp_path):
    inside = audited(source, source / "audit")
    assert "and would be read as a part of it: choose a folder next to it" in inside.output
    probe = tmp_path / "p.safetensors"
    assert run("fit", source, "-o", probe, "--label-column", "kind", "--quiet").exit_code == 0
    refused = audited(source, tmp_path / "audit", "--probe", probe)
    assert "judges rows in memory, but these are read in parts: leave it out" in refused.output
    write_csv(tmp_path / "c.csv", ["report", "id", "decision", "label"], [["r", "x", "reject", ""]])
    unknown = audited(source, tmp_path / "audit", "--checked", tmp_path / "c.csv")
    assert "names 1 row that is not in the data ('x')" in unknown.output
    assert not (tmp_path / "audit").exists()


@pytest.mark.usefixtures("tiny_memory")
def test_few_rows_that_leave_no_checkpoint_are_audited(tmp_path):
    lines = [[str(row), f"kind {row % 8}", str(row % 5), str(row % 3)] for row in range(12)]
    write_csv(tmp_path / "few.csv", ["id", "kind", "a", "b"], lines)
    result = audited(tmp_path / "few.csv", tmp_path / "audit")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == PARTED


@pytest.mark.usefixtures("tiny_memory")
def test_groups_and_checked_rows_are_those_of_the_parts(tmp_path, monkeypatch):
    owners = np.array([f"owner {row // 3}" for row in range(len(IDS))])
    source = write_source(tmp_path / "embeddings", owner=owners)
    checked = tmp_path / "checked.csv"
    row = int(np.flatnonzero(WRONG)[0])
    write_csv(
        checked, ["report", "id", "decision", "label"], [["r", str(IDS[row]), "reject", GIVEN[row]]]
    )
    asked = ("--group-column", "owner", "--checked", checked)
    folder = tmp_path / "audit"

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(issue_parts, "write_part", stopped)
        assert audited(source, folder, *asked).exit_code != 0
    for others, name in {asked[:2]: "checked", asked[2:]: "columns, groups"}.items():
        refused = audited(source, folder, *others)
        assert f"holds parts of another run, which differs in {name}" in refused.output
    result = audited(source, folder, *asked)
    assert result.exit_code == 0, result.output
    assert not pq.read_table(folder / "issues.parquet")["is_label_issue"][row].as_py()
