"""The folder of an audit: its files, reading it again, and rejected changes."""

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audits import ANIMALS, HOSTILE, applied_labels, audit_rows
from twohot.audit import folder as audit_folder
from twohot.audit.folder import FILES, read_audit_folder, write_audit_folder
from twohot.audit.issue_files import audit_tables, read_issues, write_reviewed
from twohot.base.labels import NO_LABEL
from twohot.review.records import AlikeClasses, Method, ReviewRows, ReviewSummary, RowFinding
from twohot.tables.csv_file import read_csv, write_csv
from twohot.tables.row_ids import RowIds

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1)
UNIT = st.floats(0, 1)


@st.composite
def any_rows(draw) -> ReviewRows:
    classes = tuple(draw(st.lists(TEXT, min_size=1, max_size=5, unique=True)))
    n_rows = draw(st.integers(0, 6))

    def cells(values, **options):
        return st.lists(values, min_size=n_rows, max_size=n_rows, **options)

    def column(values, dtype):
        return np.array(draw(cells(values)), dtype=dtype)

    given_labels = column(st.integers(NO_LABEL, len(classes) - 1), int)
    return ReviewRows(
        classes=classes,
        ids=RowIds(draw(cells(TEXT, unique=True)), "column", "nr"),
        given_labels=given_labels,
        suggested_labels=column(st.integers(0, len(classes) - 1), int),
        second_labels=column(st.integers(NO_LABEL, len(classes) - 1), int),
        label_quality=column(UNIT | st.just(np.nan), float),
        confidence=column(UNIT, float),
        second_confidence=column(UNIT, float),
        is_label_issue=column(st.booleans(), bool) & (given_labels != NO_LABEL),
        is_undecided=column(st.booleans(), bool),
        items=draw(st.none() | cells(TEXT | st.just(""))),
        item_kind=draw(st.sampled_from(["image", "text", ""])),
    )


@settings(max_examples=60)
@given(any_rows())
def test_reads_back_any_issues_exactly(tmp_path_factory, rows) -> None:
    path = tmp_path_factory.getbasetemp() / "issues.csv"
    write_csv(path, *audit_tables(rows, ReviewSummary())["issues.csv"])
    named = {"classes": rows.classes, "id_kind": rows.ids.kind, "id_column": rows.ids.column}
    items = {"item_kind": rows.item_kind, "has_items": rows.items is not None}
    again = read_issues(path, named | items)
    for field in fields(ReviewRows):
        before, after = getattr(rows, field.name), getattr(again, field.name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after, err_msg=field.name)
        else:
            assert (before is None) == (after is None)
            assert list(before or []) == list(after or [])
    assert again.report_id() == rows.report_id()


def test_files_hold_the_results(tmp_path) -> None:
    rows = audit_rows(12, given_labels=np.array([0, NO_LABEL, *[1, 1, 2, 2, 3, 3, 0, 0, 1, 1]]))
    summary = ReviewSummary(
        noise_rate=0.25,
        corruption=np.eye(4),
        methods=(Method("teacher", np.float64(0.7), float("nan"), np.bool_(True)),),
        messages=("Look.",),
        details={"version": "1"},
    )
    folder = tmp_path / "a" / "audit"
    report = write_audit_folder(folder, rows, summary)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)

    issues = pd.read_csv(folder / "issues.csv", dtype={"item": str})
    assert issues["is_label_issue"].dtype == bool
    np.testing.assert_array_equal(issues["is_label_issue"], rows.is_label_issue)
    for name in ("confidence", "second_confidence"):
        np.testing.assert_array_equal(issues[name], getattr(rows, name))
    assert issues["given_label"].isna().sum() == 1

    corrected = pd.read_csv(folder / "corrected.csv", keep_default_na=False)
    taken = rows.is_label_issue & ~rows.is_undecided
    names = np.array([*ANIMALS, ""])
    expected = np.where(taken, names[rows.suggested_labels], names[rows.given_labels])
    assert corrected["label"].tolist() == expected.tolist()

    method = {"name": "teacher", "agreement": 0.7, "chosen": True, "method": ""}
    expected = {"report": report, "n_issues": 6, "n_undecided": 2, "n_unlabelled": 1}
    expected |= {"corruption": np.eye(4).tolist(), "methods": [method | {"standard_error": None}]}
    assert expected.items() <= json.loads((folder / "summary.json").read_text()).items()


def test_findings_are_written_by_id_one_line_per_row(tmp_path) -> None:
    related = (np.array([5, 1]), np.array([2]))
    copies = RowFinding(
        "copies", "", np.array([2, 5]), np.array([0.75, np.nan]), related, np.array([1, 1])
    )
    outliers = RowFinding("outliers", "", np.array([9]), np.array([0.125]))
    rows = audit_rows(12, ids=RowIds.of_column("pet", [f"p{i}" for i in range(12)]))
    alike = (AlikeClasses(0, 3, 0.875),)
    summary = ReviewSummary(findings=(copies, outliers), alike_classes=alike)
    write_audit_folder(tmp_path, rows, summary)
    assert read_csv(tmp_path / "findings.csv") == [
        ["finding", "group", "id", "label", "other_id", "other_label", "score"],
        ["copies", "1", "p2", "dog", "p5", "fox", "0.75"],
        ["copies", "1", "p5", "fox", "p2", "dog", ""],
        ["outliers", "", "p9", "cat", "", "", "0.125"],
        ["classes alike", "", "", "cat", "", "owl", "0.875"],
    ]


def test_accepts_hostile_text_and_lone_surrogates(tmp_path) -> None:
    n_rows = 2 * len(HOSTILE)
    items = tuple(text + "\ud83d" for text in HOSTILE for _ in range(2))
    rows = audit_rows(n_rows, classes=HOSTILE, items=items, item_kind="image")
    write_audit_folder(tmp_path / "audit", rows, ReviewSummary(title="\ud83d"))
    again = read_audit_folder(tmp_path / "audit")
    assert again.classes == HOSTILE
    assert again.items[0] == HOSTILE[0] + "\\ud83d"


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_replaces_an_earlier_audit_only_by_force(tmp_path) -> None:
    write_audit_folder(tmp_path, audit_rows(12), ReviewSummary())
    (tmp_path / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"already holds report\.html, issues.* force=True"):
        write_audit_folder(tmp_path, audit_rows(14), ReviewSummary())
    assert contents(tmp_path) == before
    write_audit_folder(tmp_path, audit_rows(14), ReviewSummary(), force=True)
    assert read_audit_folder(tmp_path).n_rows == 14
    assert contents(tmp_path)["notes.txt"] == b"mine"


CHANGED = {
    "issues.csv": [
        (lambda text: text.replace("0,,cat", "0,,owl"), "have different rows"),
        (lambda text: text.replace(",dog,", ",fox,", 1), "was changed"),
        (lambda text: text.replace("0,,cat", "0,,yak"), "was changed .'yak'."),
        (lambda text: text.replace("true", "yes", 1), "was changed .'yes'."),
        (lambda text: text.replace("0,,cat", "0,cat"), "was changed"),
        (lambda text: text.replace("0,,cat", f"{'1' * 30},,cat"), "was changed"),
        (lambda text: text.replace("id,", "line,"), r"has the columns \['line'"),
    ],
    "summary.json": [
        (lambda text: text[:50], "is not the summary of an audit"),
        (lambda text: text.replace('"classes"', '"kinds"'), "not the summary of"),
        (lambda _: "[" * 100_000, "is not the summary of an audit .*too deep"),
        ({"format_version": 1}, "version 1, but this versi"),
        ({"format_version": np.inf}, "format_version inf"),
        ({"classes": None}, "classes=None has a type that"),
        ({"classes": "cat"}, "classes='cat' has a type"),
        ({"classes": ["cat", 3]}, "pass a tuple of strings"),
        ({"classes": ["cat"] * 2}, "holds 'cat' twice"),
        ({"has_items": 1}, "has_items=1 has a type that"),
        ({"item_kind": None}, "item_kind=None has a type"),
        ({"id_kind": 7}, "id_kind=7 has a type that"),
        ({"id_kind": "foo"}, "id_kind='foo' is not known"),
        ({"id_column": "key"}, "id_column='key' and id_kind='position' contra"),
    ],
}


@pytest.mark.parametrize(
    ("name", "change", "message"), [(name, *case) for name in CHANGED for case in CHANGED[name]]
)
def test_rejects_a_changed_folder(tmp_path, name, change, message) -> None:
    write_audit_folder(tmp_path, audit_rows(12), ReviewSummary())
    text = (tmp_path / name).read_text()
    changed = change(text) if callable(change) else json.dumps(json.loads(text) | change)
    assert changed != text
    (tmp_path / name).write_text(changed)
    with pytest.raises(ValueError, match=message):
        read_audit_folder(tmp_path)


def test_names_a_folder_without_an_audit(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"summary\.json does not exist: pass the folder"):
        read_audit_folder(tmp_path)


@pytest.mark.parametrize("drop_excluded", [False, True])
def test_writes_reviewed_labels_and_notes(tmp_path, drop_excluded) -> None:
    rows = audit_rows(4)
    applied = applied_labels(rows, [4, 0, 1, 1], new_classes=("yak",), excluded=[3])
    applied = replace(applied, notes={0: "sure"})
    write_reviewed(tmp_path / "a.csv", rows, applied, drop_excluded=drop_excluded)
    lines = [["0", "", "yak", "sure"], ["1", "", "cat", ""], ["2", "", "dog", ""]]
    lines += [["3", "", "", ""]] * (not drop_excluded)
    assert read_csv(tmp_path / "a.csv") == [["id", "item", "label", "note"], *lines]


def test_interrupted_audit_is_detected_and_can_be_repeated(tmp_path, monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    write_audit_folder(tmp_path, audit_rows(12), ReviewSummary())
    monkeypatch.setattr(audit_folder, "write_json", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_audit_folder(tmp_path, audit_rows(14), ReviewSummary(), force=True)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="run the audit again"):
        read_audit_folder(tmp_path)  # a table of 14 rows, and the summary of 12
    write_audit_folder(tmp_path, audit_rows(14), ReviewSummary())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert read_audit_folder(tmp_path).n_rows == 14
    with pytest.raises(FileExistsError):
        write_audit_folder(tmp_path, audit_rows(12), ReviewSummary())
