"""`twohot audit` of what is larger than memory: the full table in parts, a report of some rows."""

import json
import shlex

import numpy as np
import pyarrow.parquet as pq
import pytest
from label_tables import column, done, everything, refused, run
from parquet_source import GIVEN, IDS, WRONG, small_parts, stop_after, write_source

from twohot.audit import issue_files
from twohot.audit.folder import FILES, UNFINISHED, begin_audit_parts
from twohot.base.messages import FileThereError
from twohot.tables import read_table
from twohot.tables.csv_file import write_csv
from twohot_command import parts

PARTED = ["issues.parquet", "report.html", "summary.json"]


@pytest.fixture
def source(tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    return write_source(tmp_path / "embeddings")


KIND = ("--label-column", "kind", "--quiet")


def test_the_issues_are_those_of_an_audit_in_memory(source, tmp_path, cluster):
    folder, memory = tmp_path / "audit", tmp_path / "memory"
    done("audit", source, "-o", memory, *KIND)
    result = done("audit", source, "-o", folder, *KIND, "--scheduler", cluster.scheduler_address)
    table = pq.read_table(folder / "issues.parquet")
    assert table["id"].to_pylist() == IDS.tolist()
    assert table["given_label"].to_pylist() == GIVEN.tolist()
    flagged = np.array(table["is_label_issue"].to_pylist())
    assert np.array_equal(np.flatnonzero(flagged), np.flatnonzero(WRONG))
    expected = memory / "issues.csv"
    assert column(expected, "is_label_issue") == [str(flag).lower() for flag in flagged]
    for name in ("predicted_label", "second_label"):
        assert np.mean(np.array(table[name].to_pylist()) == column(expected, name)) > 0.99
    quality = np.array(column(expected, "label_quality"), dtype=float)
    assert np.abs(table["label_quality"].to_numpy() - quality).max() < 0.02
    sizes = [pq.read_metadata(file).num_rows for file in sorted(folder.glob("*/*.parquet"))]
    assert sizes == [200, 50, 50, 200, 100]
    assert f"All rows: {folder / 'issues.parquet'} (5 parts)." in result.output
    assert sorted(path.name for path in folder.iterdir()) == PARTED
    here, there = (json.loads((each / "summary.json").read_text()) for each in (memory, folder))
    for name in ("n_rows", "n_unlabelled", "n_issues", "n_undecided", "classes", "id_column"):
        assert there[name] == here[name]


@pytest.mark.usefixtures("tiny_memory")
def test_a_report_of_the_most_doubtful_rows_links_the_table(source, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "MOST_SHOWN", 7)
    folder = tmp_path / "audit"
    result = done("audit", source, "-o", folder, *KIND)
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
    done(*command)
    assert pq.read_table(clean)["kind"].to_pylist() != GIVEN.tolist()


@pytest.mark.usefixtures("tiny_memory")
def test_a_stopped_audit_is_resumed_by_the_same_run(source, tmp_path, monkeypatch):
    done("audit", source, "-o", tmp_path / "whole", *KIND)
    folder = tmp_path / "audit"
    with stop_after(2, issue_files):
        assert run("audit", source, "-o", folder, *KIND).exit_code != 0
    assert len(list((folder / "issues.parquet").glob("*.parquet"))) == 2
    assert not (folder / "summary.json").exists()
    other = refused("audit", source, "-o", folder, *KIND, "--budget", "3")
    assert "holds parts of another run, which differs in budget" in other
    said = done("audit", source, "-o", folder, *KIND).output
    assert "Continued from the checkpoint" in said
    assert "(5 parts, 2 of them already there)" in said
    found, expected = (
        {path.relative_to(root): text for path, text in everything(root).items()}
        for root in (folder, tmp_path / "whole")
    )
    assert found == expected
    # An audit that was stopped at the last step is finished.
    (folder / UNFINISHED).touch()  # removed last
    done("audit", source, "-o", folder, *KIND)
    assert {path.name for path in folder.iterdir()} == {*PARTED}
    # A finished audit is replaced by --force: by one in parts, or by one in memory.
    assert "already holds report.html" in refused("audit", source, "-o", folder, *KIND)
    done("audit", source, "-o", folder, *KIND, "--budget", "3", "--force")
    flagged = pq.read_table(folder / "issues.parquet")["is_label_issue"].to_pylist()
    assert flagged.count(True) == 3
    monkeypatch.undo()
    done("audit", source, "-o", folder, *KIND, "--force")
    assert {path.name for path in folder.iterdir()} == {*FILES}


@pytest.mark.parametrize(("force", "error"), [(True, KeyboardInterrupt), (False, FileThereError)])
def test_an_earlier_audit_stays_until_the_next_is_finished(
    source, tmp_path, monkeypatch, force, error
):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    folder = tmp_path / "audit"
    begin_audit_parts(folder, {"budget": 1}, 1, force=False)
    (folder / "summary.json").touch()
    before = everything(folder)
    monkeypatch.setattr(parts, "find_label_issues", stopped)
    table = read_table(source, label_column="kind")
    find, write = {"budget": 2, "groups": None, "checked": None}, {"force": force}
    with pytest.raises(error):
        parts.audit_in_parts(table, folder, find, {}, write, client=None, quiet=True)
    assert everything(folder) == before


@pytest.mark.usefixtures("tiny_memory")
def test_rows_of_a_split_are_in_parts_of_their_own(tmp_path, monkeypatch):
    small_parts(monkeypatch, 2)
    is_used = np.arange(len(IDS)) >= 250  # none of the first file
    split = np.where(is_used, "train", "test")
    texts = np.array([f"text of {name}" for name in IDS])
    source = write_source(tmp_path / "embeddings", split=split, text=texts)
    done("audit", source, "-o", tmp_path / "audit", *KIND)
    assert pq.read_table(tmp_path / "audit" / "issues.parquet")["id"].to_pylist() == [*IDS[is_used]]
    items = pq.read_table(tmp_path / "audit" / "issues.parquet")["item"].to_pylist()
    assert items == texts[is_used].tolist()
    record = json.loads((tmp_path / "audit" / "issues.parquet" / "_twohot.json").read_text())
    files = list((tmp_path / "audit").glob("*/*.parquet"))
    assert record["n_parts"] == len(files)


@pytest.mark.usefixtures("tiny_memory")
def test_what_parts_cannot_have_and_few_rows(source, tmp_path):
    inside = run("audit", source, "-o", source / "audit", *KIND)
    assert "and would be read as data of this source: choose a path outside of" in inside.output
    probe = tmp_path / "p.safetensors"
    done("fit", source, "-o", probe, "--label-column", "kind", "--quiet")
    refused = run("audit", source, "-o", tmp_path / "audit", *KIND, "--probe", probe)
    assert "needs all rows in memory, but these rows are read in parts: leave it" in refused.output
    write_csv(tmp_path / "c.csv", ["report", "id", "decision", "label"], [["r", "x", "reject", ""]])
    unknown = run("audit", source, "-o", tmp_path / "audit", *KIND, "--checked", tmp_path / "c.csv")
    assert "has 1 id ('x') that is not in the data" in unknown.output
    assert not (tmp_path / "audit").exists()
    # So few rows leave no checkpoint.
    lines = [[str(row), f"kind {row % 8}", str(row % 5), str(row % 3)] for row in range(12)]
    write_csv(tmp_path / "few.csv", ["id", "kind", "a", "b"], lines)
    done("audit", tmp_path / "few.csv", "-o", tmp_path / "audit", *KIND)
    assert sorted(path.name for path in (tmp_path / "audit").iterdir()) == PARTED


@pytest.mark.usefixtures("tiny_memory")
def test_groups_and_checked_rows_are_those_of_the_parts(tmp_path):
    owners = np.array([f"owner {row // 3}" for row in range(len(IDS))])
    source = write_source(tmp_path / "embeddings", owner=owners)
    checked = tmp_path / "checked.csv"
    row = int(np.flatnonzero(WRONG)[0])
    write_csv(
        checked, ["report", "id", "decision", "label"], [["r", str(IDS[row]), "reject", GIVEN[row]]]
    )
    asked = ("--group-column", "owner", "--checked", checked)
    folder = tmp_path / "audit"

    with stop_after(0, issue_files):
        assert run("audit", source, "-o", folder, *KIND, *asked).exit_code != 0
    for others, name in {asked[:2]: "checked", asked[2:]: "columns, groups"}.items():
        refused = run("audit", source, "-o", folder, *KIND, *others)
        assert f"holds parts of another run, which differs in {name}" in refused.output
    done("audit", source, "-o", folder, *KIND, *asked)
    assert not pq.read_table(folder / "issues.parquet")["is_label_issue"][row].as_py()
