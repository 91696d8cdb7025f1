"""Decisions give the labels that follow from them, or an error that says why not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import ANIMALS, audit_rows
from twohot.base.labels import NO_LABEL
from twohot.review.decisions import (
    DECISIONS,
    OPEN,
    Decision,
    accept_above,
    apply_decisions,
    read_decisions,
)

ROWS = audit_rows(12)
REPORT = ROWS.report_id()
HEADER = "report,id,decision,label"


def decided(row: int, decision: str, label: str = "", **fields: str) -> Decision:
    return Decision(REPORT, str(row), decision, label, **fields)


@given(st.dictionaries(st.integers(0, 11), st.sampled_from(DECISIONS)), st.integers(0, 3))
def test_labels_follow_the_decisions_and_all_others_stay(chosen, other) -> None:
    named = {"relabel": ANIMALS[other], "new_class": " yak "}
    made = [decided(row, kind, named.get(kind, "")) for row, kind in chosen.items()]
    applied = apply_decisions(ROWS, made)
    expected = ROWS.given_labels.tolist()
    assert applied.classes == (*ANIMALS, *["yak"] * ("new_class" in chosen.values()))
    for row, kind in chosen.items():
        expected[row] = {
            "accept": ROWS.suggested_labels[row],
            "reject": ROWS.given_labels[row],
            "second": ROWS.second_labels[row],
            "relabel": other,
            "new_class": len(ANIMALS),
            "exclude": NO_LABEL,
        }[kind]
    assert applied.labels.tolist() == expected
    excluded = [chosen.get(row) == "exclude" for row in range(12)]
    assert applied.excluded.tolist() == excluded
    changed = np.array(expected) != ROWS.given_labels
    assert applied.n_changed == sum(changed & ~np.array(excluded))
    assert sum(applied.n_decided.values()) == len(chosen)
    assert applied.n_open == sum(row not in chosen for row in range(0, 12, 2))
    # Neither the order nor a repeated decision changes the result.
    again = apply_decisions(ROWS, [*reversed(made), *made])
    assert again.labels.tolist() == expected
    assert again.n_decided == applied.n_decided


def test_a_new_class_that_the_audit_knows_is_that_class() -> None:
    applied = apply_decisions(ROWS, [decided(0, "new_class", "owl")])
    assert (applied.classes, applied.labels[0]) == (ANIMALS, 3)


def test_keeps_notes_without_a_decision() -> None:
    made = [
        decided(0, OPEN, note="ask Maria"),
        decided(2, "accept", note="sure"),
        decided(2, "accept", note="me too"),
        decided(4, OPEN, note=""),
    ]
    applied = apply_decisions(ROWS, made)
    assert applied.notes == {0: "ask Maria", 2: "sure\nme too"}
    assert sum(applied.n_decided.values()) == 1
    assert applied.n_open == 5
    # Row 4 is open, so its suggestion is accepted. Rows 0 and 6 are close calls.
    assert {made.id for made in accept_above(ROWS, 0, made)} == {"4", "8", "10"}


def test_close_calls_are_left_for_a_review() -> None:
    close = np.arange(12) % 4 == 0
    rows = replace(ROWS, is_undecided=close)
    accepted = {int(made.id) for made in accept_above(rows, 0)}
    assert accepted == set(rows.flagged.tolist()) - set(np.flatnonzero(close).tolist())


@pytest.mark.parametrize("written", [np.float32, np.float64])
def test_accepts_suggestions_at_the_exact_probability(written) -> None:
    scores = {
        "is_undecided": np.zeros(12, dtype=bool),
        "confidence": np.full(12, 0.9, np.float32).astype(written),
        "label_quality": np.full(12, 0.1, np.float32).astype(written),
    }
    rows = replace(ROWS, **scores)
    assert len(accept_above(rows, 0.9)) == len(rows.flagged)
    assert accept_above(rows, 0.91) == []


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            [decided(99, "accept")],
            r"row 99 was decided but is not in the audit, which has 12 rows \('0', '1', ",
        ),
        (
            [replace(decided(0, "accept"), report="r0")],
            rf"decided in report 'r0', but the audit has report '{REPORT}': pass the audit folder",
        ),
        ([decided(0, "relabel", "yak")], r"label 'yak', which is none of the 4 classes: use one"),
        ([decided(0, "relabel")], r"row 0 has decision relabel and no label"),
        ([decided(0, "accept", "owl")], r"accept, which gives the label 'dog', but label 'owl'"),
        (
            [decided(0, "accept"), decided(0, "reject")],
            r"row 0 was decided twice, as 'dog' and as 'cat': keep one",
        ),
        ([decided(0, "new_class", "  ")], r"row 0 has decision new_class and label '  '"),
        ([decided(0, "exclude", "owl")], r"exclude, which gives no label, but label 'owl'"),
        (
            [decided(0, "reject"), decided(0, "exclude")],
            r"row 0 was decided twice, as 'cat' and as excluded",
        ),
        ([decided(0, "accept", given_label="owl")], r"given_label 'owl' .* but 'cat' in the audit"),
        ([decided(0, "accept", suggested_label="owl")], r"suggested_label 'owl' .* but 'dog' in"),
    ],
)
def test_rejects_decisions_of_another_audit(made, message) -> None:
    with pytest.raises(ValueError, match=message):
        apply_decisions(ROWS, made)


def test_rejects_a_missing_second_candidate() -> None:
    rows = audit_rows(4, second_labels=np.full(4, NO_LABEL))
    with pytest.raises(ValueError, match="no second candidate: use decision relabel"):
        apply_decisions(rows, [Decision(rows.report_id(), "0", "second", "")])


def test_reads_files_with_and_without_notes(tmp_path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("report,id,given_label,suggested_label,decision,label\nr1,7,a,b,accept,b\n")
    assert read_decisions(path) == [Decision("r1", "7", "accept", "b", "a", "b", note="")]
    path.write_text(f'{HEADER},note\nr1,7,open,,"\'=1\nand ""more"""\n')
    assert read_decisions(path) == [Decision("r1", "7", OPEN, "", note='=1\nand "more"')]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"lacks 4 columns \(report, id, decision, label\): the"),
        ("report,id,decision\n", r"decisions\.csv lacks 1 column \(label\):"),
        (f"{HEADER},mood\n", r"has 1 unknown column \('mood'\)"),
        (f"{HEADER},id\n", r"repeats 1 column \('id'\)"),
        ("report;row;decision;label\n", "Separate them by commas"),
        (f"{HEADER}\nr1,1,accept\n", "decision 1 has 3 fields, but the header has 4"),
        (f"{HEADER}\nr1,1,dance,\n", "decision 'dance': use one of accept, reject, second, rel"),
    ],
)
def test_rejects_a_file_without_decisions(tmp_path, text, message) -> None:
    (tmp_path / "decisions.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_decisions(tmp_path / "decisions.csv")
