"""`twohot apply` writes the labels that follow from a review, or nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from label_tables import column, done, refused

from audits import ANIMALS, audit_rows
from twohot.audit.folder import write_audit_folder
from twohot.review.records import ReviewSummary
from twohot.tables.csv_file import read_csv, write_csv

COLUMNS = ["report", "id", "decision", "label"]
ROWS = audit_rows(12, items=tuple(f"item, {i}" for i in range(12)), item_kind="text")
REPORT = ROWS.report_id()
DECIDED = {
    "0": ("accept", "dog"),
    "2": ("reject", ""),
    "4": ("second", ""),
    "6": ("relabel", "fox"),
}
MORE = {"0": ("new_class", "yak", "a calf"), "2": ("exclude", "", ""), "4": ("open", "", "?")}
AUDIT = ("--audit", "audit")


def write_decisions(path, decided, columns=COLUMNS, report=REPORT):
    write_csv(path, columns, [[report, row, *decision] for row, decision in decided.items()])


def labels(path):
    return [line[2] for line in read_csv(path)[1:]]


def names(codes):
    return [ANIMALS[k] for k in codes]


def write_own(path="own.csv", given=None, more=()):
    """Write a user's file with numbers and labels of the audited rows, and more rows."""
    rows = enumerate(names(ROWS.given_labels) if given is None else given)
    lines = [f"{i},{label}" for i, label in [*rows, *more]]
    Path(path).write_text("\n".join(["n,kind", *lines]))
    return lines


@pytest.fixture
def folder(here) -> Path:
    """Work in a folder with an audit in audit/ and decisions next to it."""
    write_audit_folder("audit", ROWS, ReviewSummary())
    write_decisions("decisions.csv", DECIDED)
    write_decisions("more.csv", MORE, [*COLUMNS, "note"])
    return here


@pytest.fixture
def expected(folder):  # noqa: ARG001 - in this folder
    """Return the names of the labels after these decisions."""
    codes = np.array(ROWS.given_labels)
    codes[[0, 2, 4, 6]] = [1, 1, 0, 2]
    return names(codes)


def test_the_labels_follow_from_the_decisions(expected) -> None:
    said = done("apply", "decisions.csv", *AUDIT, "-o", "corrected.csv").output
    lines = [[str(i), f"item, {i}", label] for i, label in enumerate(expected)]
    assert read_csv("corrected.csv") == [["id", "item", "label"], *lines]
    assert (
        "4 rows decided: 1 suggestion accepted, 1 second candidate taken, 1 relabelled, "
        "1 given label kept.\n"
        "3 of 12 rows have a label of another class now; 2 flagged rows without a decision"
    ) in said
    assert "corrected.csv" in said


def test_finds_the_audit_next_to_the_decisions_or_here(folder, monkeypatch) -> None:
    shutil.copy("decisions.csv", "audit")
    done("apply", "audit/decisions.csv")
    monkeypatch.chdir(folder / "audit")
    Path("reviewed.csv").unlink()
    done("apply", "../decisions.csv")
    assert Path("reviewed.csv").exists()


def test_accepts_probable_suggestions_without_a_review(expected) -> None:
    is_clear = ROWS.is_label_issue & ~ROWS.is_undecided
    sure = is_clear & (ROWS.confidence >= 0.7)
    assert 0 < sure.sum() < ROWS.is_label_issue.sum()
    said = done("apply", *AUDIT, "--accept-all", "0.7", "-o", "out.csv").output
    assert labels("out.csv") == names(np.where(sure, ROWS.suggested_labels, ROWS.given_labels))
    assert f"{sure.sum()} rows decided: {sure.sum()} suggestions accepted" in said
    # What a person decided stays decided.
    done("apply", "decisions.csv", *AUDIT, "--accept-all", "0", "-o", "all.csv")
    clear = names(np.where(is_clear, ROWS.suggested_labels, ROWS.given_labels))
    for row in (0, 2, 4, 6):
        clear[row] = expected[row]
    assert labels("all.csv") == clear


def test_corrects_a_copy_of_the_users_file(expected) -> None:
    own = [f"{i};'{i}';{label}" for i, label in enumerate(names(ROWS.given_labels))]
    Path("own.csv").write_text("n;text;kind\n" + "\n".join([*own, "12;;cat"]))
    said = done("apply", "decisions.csv", *AUDIT, "--to", "own.csv", "-o", "clean.csv").output
    assert "labels in column 'kind', old labels in 'given_label'. 1 row not in the" in said
    before = names(ROWS.given_labels)
    changed = [f"{i};'{i}';{label};{before[i]}" for i, label in enumerate(expected)]
    lines = ["n;text;kind;given_label", *changed, "12;;cat;cat"]
    assert Path("clean.csv").read_text() == "\n".join(lines)
    # The column of an earlier correction stays.
    earlier = [f"{i},{label},owl" for i, label in enumerate(before)]
    Path("own.csv").write_text("\n".join(["n,kind,given_label", *earlier]))
    said = done("apply", "decisions.csv", *AUDIT, "--to", "own.csv", "-o", "second.csv").output
    assert "old labels in 'given_label_2' ('given_label' already exists" in said
    assert read_csv("second.csv")[1] == ["0", "dog", "owl", "cat"]


@pytest.mark.usefixtures("folder")
def test_writes_new_classes_exclusions_and_notes() -> None:
    said = done("apply", "more.csv", *AUDIT, "-o", "out.csv").output
    assert "2 rows decided" in said
    assert "1 relabelled, new classes 'yak', 0 given labels kept, 1 row excluded" in said
    assert "Note" not in said
    header, *lines = read_csv("out.csv")
    assert header == ["id", "item", "label", "note"]
    assert [line[2:] for line in lines[:5]] == [
        ["yak", "a calf"], ["cat", ""], ["", ""], ["dog", ""], ["fox", "?"],
    ]  # fmt: skip
    said = done("apply", "more.csv", *AUDIT, "-o", "less.csv", "--drop-excluded").output
    assert "1 row excluded, left out." in said
    assert "excluded rows keep their label if you pass this file as --la" in said
    assert read_csv("less.csv")[1:] == [*lines[:2], *lines[3:]]
    write_decisions("dog.csv", {"0": ("new_class", "Dog")})
    said = done("apply", "dog.csv", *AUDIT, "-o", "dogs.csv").output
    assert "the new class 'Dog' is possibly another spelling of 'dog'." in said


@pytest.fixture
def reviewed_twice(folder) -> Path:
    """Next to decisions.csv, those of Ben, who disagrees on row 2."""
    decided = {
        "0": ("accept", "dog", "Ben"),
        "2": ("accept", "", "Ben"),
        "8": ("reject", "", "Ben"),
    }
    write_decisions("ben.csv", decided, [*COLUMNS, "reviewer"])
    return folder


@pytest.mark.usefixtures("reviewed_twice")
def test_decisions_of_several_reviewers_are_merged_and_settled() -> None:
    write_own()
    where = ("--to", "own.csv", "-o", "out.csv")
    said = done("apply", "decisions.csv", "ben.csv", *AUDIT, *where).output
    agreement = "Agreement of 2 reviewers ('decisions', 'Ben'): the labels are equal in 50.0%"
    assert agreement in said
    assert "Reviewers disagree on 1 row, which keeps its given label: out.disagree" in said
    codes = np.array(ROWS.given_labels)
    codes[[0, 4, 6]] = [1, 0, 2]
    assert column("out.csv", "kind") == names(codes)
    assert read_csv("out.disagreements.csv") == [
        ["id", "item", "given_label", "suggested_label", "reviewer", "label"],
        ["2", "item, 2", "dog", "fox", "decisions", "dog"],
        ["2", "item, 2", "dog", "fox", "Ben", "fox"],
    ]
    settled = f"decisions-{REPORT}-settled.csv"
    (command,) = [line for line in said.split("\n") if settled in line]
    assert command.strip() in Path("out.settle.html").read_text()
    # The line can be pasted: it replaces the output, and nothing is left to settle.
    write_decisions(settled, {"2": ("accept", "")}, report=f"{REPORT}-settled")
    said = done(*command.split()[1:]).output
    assert "Reviewers disagree on" not in said
    stale = "out.disagreements.csv and out.settle.html of an earlier run are out of date."
    assert f"the reviewers have no disagreement that is left to settle, so {stale}" in said
    assert read_csv("out.csv")[3][1] == "fox"


@pytest.mark.usefixtures("reviewed_twice")
def test_does_not_replace_a_page_to_settle_disagreements() -> None:
    Path("out.settle.html").write_text("mine")
    arguments = ("apply", "decisions.csv", "ben.csv", *AUDIT, "-o", "out.csv")
    assert "out.settle.html already exists" in refused(*arguments)
    assert not Path("out.csv").exists()
    # Suggestions that are accepted without a review settle no disagreement.
    done(*arguments, "--force", "--accept-all", "0")
    assert labels("out.csv")[2] == "dog"
    assert "1 row to settle" in Path("out.settle.html").read_text()


@pytest.mark.usefixtures("here")
def test_settles_texts_that_are_longer_than_a_path() -> None:
    rows = audit_rows(12, items=("long " * 1000,) * 12, item_kind="text")
    report = write_audit_folder("audit", rows, ReviewSummary())
    for name, kind in (("a.csv", "accept"), ("b.csv", "reject")):
        write_decisions(name, {"0": (kind, "")}, report=report)
    done("apply", "a.csv", "b.csv", *AUDIT, "-o", "out.csv")
    assert Path("out.settle.html").exists()


@pytest.mark.usefixtures("here")
def test_merged_spellings_are_written_into_every_row_of_a_users_file() -> None:
    rows = audit_rows(12, classes=("cat", "CAT", "fox", "owl"))
    report = write_audit_folder("audit", rows, ReviewSummary())
    # A row that was not audited, of another split for instance, gets the same spelling.
    own = write_own(given=[rows.classes[k] for k in rows.given_labels], more=[(12, "CAT")])
    line = ",".join([report, "", "CAT", "spelling", "cat"])
    Path("d.csv").write_text(f"report,id,given_label,decision,label\n{line}\n")
    said = done("apply", "d.csv", *AUDIT, "--to", "own.csv", "-o", "clean.csv").output
    assert "Spellings merged: 'CAT' as 'cat' (4 undecided rows)." in said
    assert "0 of 12 rows have a label of another class now" in said
    lines = [f"{line.replace('CAT', 'cat')},{line.partition(',')[2]}" for line in own]
    assert Path("clean.csv").read_text().split("\n")[1:] == lines


@pytest.mark.usefixtures("here")
def test_corrects_a_file_whose_spellings_the_audit_merged() -> None:
    merged = {" cat": "cat", "CAT": "cat"}
    report = write_audit_folder("audit", replace(ROWS, spellings=merged), ReviewSummary())
    given = enumerate(ROWS.given_labels.tolist())
    spelled = [" cat" if k == 0 and i % 8 else ANIMALS[k] for i, k in given]
    write_own(given=spelled)
    write_decisions("d.csv", {"0": ("accept", "")}, report=report)
    said = done("apply", "d.csv", *AUDIT, "--to", "own.csv", "-o", "clean.csv").output
    assert "Spellings merged: '␣cat' as 'cat', 'CAT' as 'cat'." in said
    assert "1 of 12 rows has a label of another class now" in said
    now = ["dog", *names(ROWS.given_labels[1:])]
    assert [line[1:] for line in read_csv("clean.csv")[1:]] == [
        [new, old] for new, old in zip(now, spelled, strict=True)
    ]
