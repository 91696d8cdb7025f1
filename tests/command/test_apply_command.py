"""`twohot apply` writes the labels that follow from a review, or nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from label_tables import done, refused, run

from audits import ANIMALS, audit_rows
from twohot.audit.folder import write_audit_folder
from twohot.review.records import ReviewSummary
from twohot.tables.csv_file import read_csv, write_csv

COLUMNS = ["report", "id", "decision", "label"]
ROWS = audit_rows(12, items=tuple(f"item, {i}" for i in range(12)), item_kind="text")
REPORT = ROWS.report_id()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with an audit in audit/ and decisions next to it."""
    monkeypatch.chdir(tmp_path)
    write_audit_folder(tmp_path / "audit", ROWS, ReviewSummary())
    lines = [
        ["0", "accept", "dog"],
        ["2", "reject", ""],
        ["4", "second", ""],
        ["6", "relabel", "fox"],
    ]
    write_csv(tmp_path / "decisions.csv", COLUMNS, [[REPORT, *line] for line in lines])
    return tmp_path


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("folder")
def test_the_labels_follow_from_the_decisions() -> None:
    result = done("apply", "decisions.csv", "--audit", "audit", "-o", "corrected.csv")
    expected = np.array(ROWS.given_labels)
    expected[[0, 2, 4, 6]] = [1, 1, 0, 2]
    lines = [[str(i), f"item, {i}", ANIMALS[k]] for i, k in enumerate(expected)]
    assert read_csv("corrected.csv") == [["id", "item", "label"], *lines]
    assert (
        "4 rows decided: 1 suggestion accepted, 1 second candidate taken, 1 relabelled, "
        "1 given label kept."
    ) in result.output
    assert (
        "3 of 12 rows have a label of another class now; 2 flagged rows without a decision"
        in result.output
    )
    assert "corrected.csv" in result.output


def test_the_audit_is_looked_for_beside_the_decisions_then_here(folder, monkeypatch) -> None:
    (folder / "decisions.csv").rename(folder / "audit" / "decisions.csv")
    done("apply", "audit/decisions.csv")
    assert (folder / "audit" / "reviewed.csv").exists()
    (folder / "audit" / "decisions.csv").rename(folder / "decisions.csv")
    monkeypatch.chdir(folder / "audit")
    (folder / "audit" / "reviewed.csv").unlink()
    done("apply", "../decisions.csv")
    assert (folder / "audit" / "reviewed.csv").exists()


def test_an_output_is_replaced_only_when_asked(folder) -> None:
    (folder / "out.csv").write_text("mine")
    arguments = ("decisions.csv", "--audit", "audit", "-o", "out.csv")
    result = refused("apply", *arguments)
    assert "out.csv already exists" in result
    assert (folder / "out.csv").read_text() == "mine"
    done("apply", *arguments, "--force")
    assert (folder / "out.csv").read_text() != "mine"


@pytest.mark.usefixtures("folder")
def test_suggestions_that_are_probable_enough_are_taken_without_a_review() -> None:
    is_clear = ROWS.is_label_issue & ~ROWS.is_undecided
    sure = is_clear & (ROWS.confidence >= 0.7)
    assert 0 < sure.sum() < ROWS.is_label_issue.sum()
    result = done("apply", "--audit", "audit", "--accept-all", "0.7", "-o", "out.csv")
    expected = np.where(sure, ROWS.suggested_labels, ROWS.given_labels)
    assert [line[2] for line in read_csv("out.csv")[1:]] == [ANIMALS[k] for k in expected]
    assert f"{sure.sum()} rows decided: {sure.sum()} suggestions accepted" in result.output
    # What a person decided stays decided.
    run("apply", "decisions.csv", "--audit", "audit", "--accept-all", "0", "-o", "all.csv")
    expected = np.where(is_clear, ROWS.suggested_labels, ROWS.given_labels)
    expected[[0, 2, 4, 6]] = [1, 1, 0, 2]
    assert [line[2] for line in read_csv("all.csv")[1:]] == [ANIMALS[k] for k in expected]


def test_a_users_own_file_is_written_again(folder) -> None:
    lines = [f"{i};'{i}';{ANIMALS[k]}" for i, k in enumerate(ROWS.given_labels)]
    (folder / "own.csv").write_text("n;text;kind\n" + "\n".join([*lines, "12;;cat"]))
    result = done(
        "apply", "decisions.csv", "--audit", "audit", "--to", "own.csv", "-o", "clean.csv"
    )
    assert "labels in column 'kind', old labels in 'given_label'. 1 row not in the" in (
        result.output
    )
    expected = np.array(ROWS.given_labels)
    expected[[0, 2, 4, 6]] = [1, 1, 0, 2]
    changed = [
        f"{i};'{i}';{ANIMALS[k]};{ANIMALS[ROWS.given_labels[i]]}" for i, k in enumerate(expected)
    ]
    assert (folder / "clean.csv").read_text() == (
        "n;text;kind;given_label\n" + "\n".join([*changed, "12;;cat;cat"])
    )


NEW_ACTIONS = [
    ["0", "new_class", "yak", "a calf"],
    ["2", "exclude", "", ""],
    ["4", "open", "", "?"],
]


@pytest.mark.usefixtures("folder")
def test_new_classes_exclusions_and_notes_are_written() -> None:
    write_csv("more.csv", [*COLUMNS, "note"], [[REPORT, *line] for line in NEW_ACTIONS])
    result = done("apply", "more.csv", "--audit", "audit", "-o", "out.csv")
    assert "2 rows decided" in result.output
    assert "1 relabelled, new classes 'yak', 0 given labels kept, 1 row excluded" in result.output
    assert "Note" not in result.output
    header, *lines = read_csv("out.csv")
    assert header == ["id", "item", "label", "note"]
    assert [line[2:] for line in lines[:5]] == [
        ["yak", "a calf"], ["cat", ""], ["", ""], ["dog", ""], ["fox", "?"],
    ]  # fmt: skip
    result = run("apply", "more.csv", "--audit", "audit", "-o", "less.csv", "--drop-excluded")
    assert "1 row excluded, left out." in result.output
    assert "excluded rows keep their label if you pass this file as --la" in result.output
    assert read_csv("less.csv")[1:] == [*lines[:2], *lines[3:]]


@pytest.mark.usefixtures("folder")
def test_a_new_class_that_is_another_spelling_is_said() -> None:
    write_csv("more.csv", COLUMNS, [[REPORT, "0", "new_class", "Dog"]])
    result = run("apply", "more.csv", "--audit", "audit", "-o", "out.csv")
    assert "the new class 'Dog' may be another spelling of 'dog'." in result.output


def test_a_column_of_an_earlier_correction_stays_and_is_said(folder) -> None:
    lines = [f"{i},{ANIMALS[k]},owl" for i, k in enumerate(ROWS.given_labels)]
    (folder / "own.csv").write_text("\n".join(["n,kind,given_label", *lines]))
    result = done(
        "apply", "decisions.csv", "--audit", "audit", "--to", "own.csv", "-o", "clean.csv"
    )
    assert "old labels in 'given_label_2' ('given_label' already exists" in result.output
    assert read_csv("clean.csv")[1] == ["0", "dog", "owl", "cat"]


@pytest.mark.parametrize("drop", [False, True])
def test_a_users_own_file_has_new_classes_and_excluded_rows(folder, drop) -> None:
    write_csv("more.csv", [*COLUMNS, "note"], [[REPORT, *line] for line in NEW_ACTIONS])
    own = [f"{i},{ANIMALS[k]}" for i, k in enumerate(ROWS.given_labels)]
    (folder / "own.csv").write_text("\n".join(["n,kind", *own]))
    arguments = ["more.csv", "--audit", "audit", "--to", "own.csv", "-o", "clean.csv"]
    result = run("apply", *arguments, *["--drop-excluded"] * drop)
    assert ("left out" if drop else "without a label now") in result.output
    expected = [f"{i},{ANIMALS[k]},{ANIMALS[k]}" for i, k in enumerate(ROWS.given_labels)]
    expected[0], expected[2] = "0,yak,cat", "2,,dog"
    if drop:
        del expected[2]
    assert (folder / "clean.csv").read_text().split("\n")[1:] == expected


@pytest.fixture
def reviewed_twice(folder) -> Path:
    """Beside decisions.csv, those of Ben, who disagrees on row 2."""
    lines = [["0", "accept", "dog", "Ben"], ["2", "accept", "", "Ben"], ["8", "reject", "", "Ben"]]
    write_csv(folder / "ben.csv", [*COLUMNS, "reviewer"], [[REPORT, *line] for line in lines])
    return folder


def test_decisions_of_several_reviewers_are_merged_and_settled(reviewed_twice) -> None:
    names = [*ANIMALS]
    own = [f"{i},{names[k]}" for i, k in enumerate(ROWS.given_labels)]
    (reviewed_twice / "own.csv").write_text("\n".join(["n,kind", *own]))
    where = ("--audit", "audit", "--to", "own.csv", "-o", "out.csv")
    result = done("apply", "decisions.csv", "ben.csv", *where)
    said = "Agreement of 2 reviewers ('decisions', 'Ben'): 50.0% of 2 rows decided by two; Cohen's"
    assert said in result.output
    assert "Reviewers disagree on 1 row, which keeps its given label: out.disagree" in result.output
    expected = np.array(ROWS.given_labels)
    expected[[0, 4, 6]] = [1, 0, 2]
    assert [line[1] for line in read_csv("out.csv")[1:]] == [names[k] for k in expected]
    assert read_csv("out.disagreements.csv") == [
        ["id", "item", "given_label", "suggested_label", "reviewer", "label"],
        ["2", "item, 2", "dog", "fox", "decisions", "dog"],
        ["2", "item, 2", "dog", "fox", "Ben", "fox"],
    ]
    settled = f"decisions-{REPORT}-settled.csv"
    (command,) = [line for line in result.output.split("\n") if settled in line]
    assert command.strip() in Path("out.settle.html").read_text()
    # The line can be pasted: it replaces the output, and nothing is left to settle.
    write_csv(settled, COLUMNS, [[f"{REPORT}-settled", "2", "accept", ""]])
    result = done(*command.split()[1:])
    assert "Reviewers disagree on" not in result.output
    stale = "out.disagreements.csv and out.settle.html, of an earlier run"
    assert f"nothing is left to settle. Out of date: {stale}" in result.output
    assert read_csv("out.csv")[3][1] == "fox"


def test_long_texts_are_settled(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    # No path is as long as this.
    rows = audit_rows(12, items=("long " * 1000,) * 12, item_kind="text")
    report = write_audit_folder("audit", rows, ReviewSummary())
    for name, kind in (("a.csv", "accept"), ("b.csv", "reject")):
        write_csv(name, COLUMNS, [[report, "0", kind, ""]])
    done("apply", "a.csv", "b.csv", "--audit", "audit", "-o", "out.csv")
    assert Path("out.settle.html").exists()


@pytest.mark.usefixtures("reviewed_twice")
def test_nothing_is_written_where_a_list_to_settle_would_be_replaced() -> None:
    Path("out.settle.html").write_text("mine")
    result = refused("apply", "decisions.csv", "ben.csv", "--audit", "audit", "-o", "out.csv")
    assert "out.settle.html already exists" in result
    assert not Path("out.csv").exists()
    arguments = ("decisions.csv", "ben.csv", "--audit", "audit", "-o", "out.csv", "--force")
    # What is accepted unseen is not what reviewers disagree on.
    done("apply", *arguments, "--accept-all", "0")
    assert read_csv("out.csv")[3][2] == "dog"
    assert "1 row to settle" in Path("out.settle.html").read_text()


def test_merged_spellings_are_written_into_every_row_of_a_users_file(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = audit_rows(12, classes=("cat", "CAT", "fox", "owl"))
    report = write_audit_folder("audit", rows, ReviewSummary())
    own = [f"{i},{rows.classes[k]}" for i, k in enumerate(rows.given_labels)]
    # A row that was not audited, of another split for instance, is spelt alike.
    Path("own.csv").write_text("\n".join(["n,kind", *own, "12,CAT"]))
    line = ",".join([report, "", "CAT", "spelling", "cat"])
    Path("d.csv").write_text(f"report,id,given_label,decision,label\n{line}\n")
    result = done("apply", "d.csv", "--audit", "audit", "--to", "own.csv", "-o", "clean.csv")
    assert "Spellings merged: 'CAT' as 'cat' (4 undecided rows)." in result.output
    assert "0 of 12 rows have a label of another class now" in result.output
    assert Path("clean.csv").read_text().split("\n")[1:] == [
        f"{line.replace('CAT', 'cat')},{line.partition(',')[2]}" for line in [*own, "12,CAT"]
    ]


def test_a_file_is_corrected_whose_spellings_the_audit_merged(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    merged = {" cat": "cat", "CAT": "cat"}
    report = write_audit_folder("audit", replace(ROWS, spellings=merged), ReviewSummary())
    given = enumerate(ROWS.given_labels.tolist())
    spelled = [" cat" if k == 0 and i % 8 else ANIMALS[k] for i, k in given]
    lines = [f"{i},{name}" for i, name in enumerate(spelled)]
    Path("own.csv").write_text("\n".join(["n,kind", *lines]))
    write_csv("d.csv", COLUMNS, [[report, "0", "accept", ""]])
    result = done("apply", "d.csv", "--audit", "audit", "--to", "own.csv", "-o", "clean.csv")
    assert "Spellings merged: '␣cat' as 'cat', 'CAT' as 'cat'." in result.output
    now = ["dog", *(ANIMALS[k] for k in ROWS.given_labels[1:])]
    assert [line[1:] for line in read_csv("clean.csv")[1:]] == [
        [new, old] for new, old in zip(now, spelled, strict=True)
    ]
