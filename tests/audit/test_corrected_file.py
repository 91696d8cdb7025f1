"""Corrected labels reach the rows that they were decided for, and no others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import ANIMALS, audit_rows
from twohot._checks.labels import NO_LABEL
from twohot.audit.corrected_file import write_corrected_file
from twohot.tables.csv_file import read_csv, write_csv
from twohot.tables.row_ids import RowIds

N_ROWS = 8
NAMES = [f"T{7 * row % 11}" for row in range(N_ROWS)]
BY_NAME = audit_rows(N_ROWS, ids=RowIds(NAMES, "column", "nr"))
NEW = np.where(BY_NAME.is_label_issue, BY_NAME.suggested_labels, BY_NAME.given_labels)


def write_own(path, order, *, extra=(), spell=ANIMALS):
    """Write the rows of the audit in another order, and rows that it does not know."""
    lines = [[NAMES[row], f"text {row}", spell[BY_NAME.given_labels[row]]] for row in order]
    write_csv(path, ["nr", "text", "kind"], [*lines, *extra])
    return path


@given(st.permutations(range(N_ROWS)))
def test_labels_find_their_rows_in_any_order(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("own")
    own = write_own(folder / "a.csv", order, extra=[["X", "", "cat"], ["Y", "", ""]])
    done = write_corrected_file(own, folder / "b.csv", BY_NAME, NEW)
    assert (done.label_column, done.n_changed, done.n_not_audited) == ("kind", 4, 2)
    header, *lines = read_csv(folder / "b.csv")
    assert header == ["nr", "text", "kind", "given_label"]
    expected = [
        [NAMES[row], f"text {row}", ANIMALS[NEW[row]], ANIMALS[BY_NAME.given_labels[row]]]
        for row in order
    ]
    assert lines == [*expected, ["X", "", "cat", "cat"], ["Y", "", "", ""]]


def test_positions_count_rows_of_the_file_without_its_header(tmp_path):
    given, flagged = np.array([0, 1, NO_LABEL]), np.array([True, False, False])
    rows = audit_rows(3, ids=RowIds([0, 2, 3]), given_labels=given, is_label_issue=flagged)
    (tmp_path / "a.csv").write_text("text,label\na,cat\n,\nc,dog\nd,NA\n")
    write_corrected_file(tmp_path / "a.csv", tmp_path / "b.csv", rows, np.array([2, 1, 3]))
    assert (tmp_path / "b.csv").read_text() == (
        "text,label,given_label\na,fox,cat\n,,\nc,dog,dog\nd,owl,NA\n"
    )


def test_labels_that_are_positions_of_classes_stay_positions(tmp_path):
    own = write_own(tmp_path / "a.csv", range(N_ROWS), spell="0123")
    write_corrected_file(own, tmp_path / "b.csv", BY_NAME, NEW)
    assert [line[2] for line in read_csv(tmp_path / "b.csv")[1:]] == [str(code) for code in NEW]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace("text 0,cat", "text 0,owl"),
            "row T0 the column 'kind' has 'owl'",
        ),
        (lambda text: text.replace("T7,", "T0,"), r"holds 'T0' more than once \(in rows 0, 1"),
        (lambda text: text.replace("T7,", "Z,"), r"the audit has 1 id that no row has \('T7'\)"),
        (lambda text: text.replace("nr,", "id,"), r"has no column 'nr', by which rows were aud"),
    ],
)
def test_another_file_is_refused_and_nothing_written(tmp_path, change, message):
    own = write_own(tmp_path / "a.csv", range(N_ROWS))
    own.write_text(change(own.read_text()))
    with pytest.raises(ValueError, match=message):
        write_corrected_file(own, tmp_path / "b.csv", BY_NAME, NEW)
    assert not (tmp_path / "b.csv").exists()


def test_two_columns_with_the_labels_are_not_chosen_between(tmp_path):
    labels = [ANIMALS[code] for code in BY_NAME.given_labels]
    lines = zip(NAMES, labels, labels, strict=True)
    write_csv(tmp_path / "a.csv", ["nr", "one", "two"], lines)
    with pytest.raises(ValueError, match=r"'one' and 'two' could both be meant: .* label_column"):
        write_corrected_file(tmp_path / "a.csv", tmp_path / "b.csv", BY_NAME, NEW)
    done = write_corrected_file(
        tmp_path / "a.csv", tmp_path / "b.csv", BY_NAME, NEW, label_column="two"
    )
    assert done.label_column == "two"
    assert [line[1] for line in read_csv(tmp_path / "b.csv")[1:]] == labels


def test_a_file_is_not_corrected_twice_by_one_audit(tmp_path):
    own = write_own(tmp_path / "a.csv", range(N_ROWS))
    write_corrected_file(own, tmp_path / "b.csv", BY_NAME, NEW)
    with pytest.raises(ValueError, match="in row T0 the column 'kind' has 'dog', and the audit 'c"):
        write_corrected_file(tmp_path / "b.csv", tmp_path / "c.csv", BY_NAME, NEW)


def test_images_of_a_folder_are_in_no_file(tmp_path):
    own = write_own(tmp_path / "a.csv", range(N_ROWS))
    rows = audit_rows(N_ROWS, ids=RowIds(NAMES, "path"))
    with pytest.raises(ValueError, match=r"is a file, and the rows .* images of a folder: pass"):
        write_corrected_file(own, tmp_path / "b.csv", rows, NEW)
