"""A check from the draw to the certificate: accepted and rejected verdicts, and verification."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from audits import audit_rows
from twohot import find_label_issues
from twohot.audit.certificate_file import (
    _fields_digest,
    certify_folder,
    extend_check,
    plan_check,
    read_check,
    verdicts_of_draw,
    write_check,
)
from twohot.audit.review_certificate import (
    review_of,
    share_wrong_bounds,
    verify_certificate,
    write_review_certificate,
)
from twohot.base import ArgumentError
from twohot.tables.csv_file import guarded, read_csv, write_csv
from twohot.tables.row_ids import RowIds

N_ROWS = 900
CLASSES = ("ant", "bee", "cat")


@pytest.fixture(scope="module")
def rows():
    """Rows, most suspicious first: 150 are flagged, and the labels of the first 140 are wrong.

    For every second row that is not flagged, the suggestion is the given label.
    """
    position = np.arange(N_ROWS)
    differs = (position < 150) | (position % 2 == 0)
    return audit_rows(
        N_ROWS,
        classes=CLASSES,
        ids=RowIds.of_column("ticket", [f"T{number}" for number in position]),
        given_labels=position % 3,
        suggested_labels=(position + differs) % 3,
        second_labels=(position + 2) % 3,
        label_quality=np.linspace(0, 1, N_ROWS),
        is_label_issue=position < 150,
        is_undecided=position < 0,
    )


def verdict(row: int) -> str:
    return "wrong" if row < 140 else "right"


def filled(folder: Path, verdict_of=verdict) -> Path:
    """Write a copy of check.csv with a verdict on every row."""
    header, *lines = read_csv(folder / "check.csv")
    done = [[*line[:-1], verdict_of(int(line[0].removeprefix("T")))] for line in lines]
    write_csv(folder / "done.csv", header, done)
    return folder / "done.csv"


@pytest.fixture
def check(rows, tmp_path):
    return write_check(tmp_path, rows, 0.1)


def test_draws_certifies_and_verifies_a_check(rows, check, tmp_path):
    header, *lines = read_csv(tmp_path / "check.csv")
    assert header == ["id", "item", "given_label", "verdict"]
    assert [line[0] for line in lines] == [f"T{row}" for row in np.sort(check.draw.rows)]
    assert {line[3] for line in lines} == {""}
    again = read_check(tmp_path, rows)
    np.testing.assert_array_equal(again.draw.rows, check.draw.rows)
    listed = certify_folder(again, filled(tmp_path), tmp_path)
    assert len(listed.rows) > 80
    _, *found = read_csv(tmp_path / "certified.csv")
    assert [line[0] for line in found] == [f"T{row}" for row in listed.rows]
    assert [line[2:] for line in found[:3]] == [
        [CLASSES[row % 3], CLASSES[(row + 1) % 3]] for row in listed.rows[:3]
    ]
    verified = verify_certificate(tmp_path / "certificate.json", rows)
    np.testing.assert_array_equal(verified.rows, listed.rows)


@pytest.mark.parametrize(
    ("n_listable", "n_flagged", "fdr", "n_pool", "n_drawn"),
    [
        (20_000, 2_000, 0.1, 3_000, 45),
        (20_000, 151, 0.1, 227, 45),  # the number of drawn rows does not depend on the flags
        (20_000, 2_000, 0.05, 3_000, 90),
        (20_000, 151, 0.05, 227, 90),
        (200, 160, 0.1, 200, 38),  # ceil(3 * 200 / (0.1 * 160))
    ],
)
def test_number_of_drawn_rows(n_listable, n_flagged, fdr, n_pool, n_drawn):
    doubt = np.where(np.arange(20_000) < n_listable, np.linspace(1, 0, 20_000), np.nan)
    draw = plan_check(doubt, n_flagged, fdr)
    assert (len(draw.pool), len(draw.rows)) == (n_pool, n_drawn)


def test_draws_only_rows_with_another_suggestion(rows, check, tmp_path):
    differs = np.flatnonzero(rows.suggested_labels != rows.given_labels)
    np.testing.assert_array_equal(check.draw.pool, differs[:225])
    certify_folder(check, filled(tmp_path, lambda _row: "unsure"), tmp_path)
    extended = extend_check(tmp_path, rows, 150)
    np.testing.assert_array_equal(extended.draw.pool, differs[:225])


GIVEN = np.array([0, 1, 2] * 200)
NAMES = np.array(CLASSES)
DRAW = plan_check(np.linspace(1, 0, 600), 150, 0.1)


def said(**changes):
    return {str(row): verdict(row) for row in DRAW.rows.tolist()} | changes


def true_label(row, word):
    return CLASSES[GIVEN[int(row)] - (word == "wrong")]


def decisions(pairs):
    made = ["reject" if word == "right" else "exclude" for word in pairs.values()]
    return pd.DataFrame({"id": list(pairs), "decision": made})


FORMS = {
    "words": lambda pairs: pairs,
    "other case": lambda pairs: {row: f" {word.title()} " for row, word in pairs.items()},
    "flags": lambda pairs: {int(row): word == "right" for row, word in pairs.items()},
    "frame": lambda pairs: pd.DataFrame({"id": list(pairs), "verdict": list(pairs.values())}),
    "series": pd.Series,
    "true labels": lambda pairs: {row: true_label(row, word) for row, word in pairs.items()},
    "decisions": decisions,
}


OTHER = next(str(row) for row in range(600) if row not in DRAW.rows)
FIRST = str(DRAW.rows[0])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_accepts_verdicts_in_any_form(form):
    found = verdicts_of_draw(form(said()), DRAW, GIVEN, NAMES, RowIds.by_position(600))
    np.testing.assert_array_equal(found == "wrong", DRAW.rows < 140)


def test_keeps_unsure_verdicts():
    words = said(**{FIRST: "unsure"})
    found = verdicts_of_draw(words, DRAW, GIVEN, NAMES, RowIds.by_position(600))
    assert found.tolist() == list(words.values())


@pytest.mark.parametrize("names", [("left", "right"), ("right", "wrong"), ("False", "True")])
def test_words_of_a_file_are_verdicts_not_classes(names, tmp_path):
    words = ["Right ", "UNSURE", *["wrong"] * (len(DRAW.rows) - 2)]
    path = tmp_path / "done.csv"
    write_csv(path, ["id", "verdict"], zip(map(str, DRAW.rows), words, strict=True))
    found = verdicts_of_draw(path, DRAW, GIVEN % 2, np.array(names), RowIds.by_position(600))
    assert found.tolist() == [word.strip().lower() for word in words]


@pytest.mark.parametrize("is_guarded", [False, True])
def test_accepts_guarded_ids_and_ids_with_a_quote(is_guarded, tmp_path):
    names = [f"{mark}{row}" for row in range(300) for mark in ("=", "'=")]
    ids = RowIds.of_column("id", names)
    cells = [guarded(names[row]) if is_guarded else names[row] for row in DRAW.rows]
    path = tmp_path / "done.csv"
    write_csv(path, ["id", "verdict"], [[cell, verdict(int(cell.strip("'=")))] for cell in cells])
    found = verdicts_of_draw(path, DRAW, GIVEN, NAMES, ids)
    assert found.tolist() == [verdict(row // 2) for row in DRAW.rows.tolist()]


@pytest.mark.parametrize(
    ("checked", "says"),
    [
        (said(**{OTHER: "right"}), rf"checked has 1 row outside the draw \('{OTHER}'\)"),
        (said(**{FIRST: ""}), rf"no verdict on 1 of the 45 rows that were drawn \('{FIRST}'\)"),
        (said(**{FIRST: None}), r"no verdict on 1 of the 45 rows"),
        (said(**{FIRST: "perhaps"}), r"'perhaps' for row .* neither one of the 3 classes"),
        (said(**{"9000": "right"}), r"1 id \('9000'\) that is not in the data"),
        (
            pd.DataFrame({"id": [FIRST, *said()], "verdict": ["unsure", *["wrong"] * 45]}),
            rf"has different verdicts on row '{FIRST}': pass only one",
        ),
        (7, r"is a int"),
    ],
)
def test_rejects_verdicts_on_other_rows(checked, says):
    with pytest.raises(ArgumentError, match=says):
        verdicts_of_draw(checked, DRAW, GIVEN, NAMES, RowIds.by_position(600))


@pytest.mark.parametrize(
    ("n_flagged", "asked", "says"),
    [
        (0, {}, r"fdr=0.1 needs flagged labels to list, and this audit flags none"),
        (30, {}, r"fdr=0.1 needs 45 checked rows, and only 30 labels are flagged: rev"),
        (
            150,
            {"n_checked": 9},
            r"n_checked=9 and fdr=0.1 cannot certify a list of fewer than 216 labels, but at most",
        ),
        (150, {"n_checked": "45"}, r"n_checked='45' is not allowed: pass an integer of at least 1"),
    ],
)
def test_rejects_a_check_that_cannot_certify_a_list(n_flagged, asked, says):
    with pytest.raises(ArgumentError, match=says):
        plan_check(np.linspace(1, 0, 600), n_flagged, 0.1, **asked)


def test_rejects_a_second_draw_and_repeats_an_interrupted_one(rows, check, tmp_path):
    with pytest.raises(FileExistsError, match=r"already holds check\.csv and check\.json, and"):
        write_check(tmp_path, rows, 0.1, seed=1)
    csv = (tmp_path / "check.csv").read_bytes()
    (tmp_path / "check.csv").unlink()
    with pytest.raises(FileExistsError, match=r"already holds check\.json, and a second draw"):
        write_check(tmp_path, rows, 0.1, seed=1)
    again = write_check(tmp_path, rows, 0.1)
    np.testing.assert_array_equal(again.draw.rows, check.draw.rows)
    assert (tmp_path / "check.csv").read_bytes() == csv


@pytest.mark.parametrize(
    "columns",
    [
        {"label_quality": np.linspace(0, 0.99, N_ROWS)},
        {"given_labels": (np.arange(N_ROWS) + 1) % 3},
        {"suggested_labels": (np.arange(N_ROWS) + 1) % 3},
        {"is_label_issue": np.arange(N_ROWS) < 140},
        {"ids": RowIds.by_position(N_ROWS)},
    ],
    ids=lambda columns: next(iter(columns)),
)
def test_rejects_the_draw_of_another_audit(rows, check, tmp_path, columns):
    assert len(check.draw.rows) == 45
    with pytest.raises(ArgumentError, match="another audit, because labels or scores changed"):
        read_check(tmp_path, replace(rows, **columns))


@pytest.fixture
def certificate(check, tmp_path):
    certify_folder(check, filled(tmp_path), tmp_path)
    return tmp_path / "certificate.json"


@pytest.mark.parametrize("word", ["unsure", "right", "wrong"])
def test_bounds_count_unsure_rows_both_ways(rows, check, tmp_path, word):
    certify_folder(check, filled(tmp_path, lambda _row: word), tmp_path)
    least, most = share_wrong_bounds(tmp_path / "certificate.json", rows)
    assert (least > 0) == (word == "wrong")
    assert (most < 1) == (word == "right")


@pytest.fixture
def emptied(check, tmp_path):
    """A folder whose first check gave no list; the user has added a column to check.csv."""
    words = ("right", "unsure")
    header, *lines = read_csv(tmp_path / "check.csv")
    lines = [[*line[:3], words[k % 2], f"note {k}"] for k, line in enumerate(lines)]
    write_csv(tmp_path / "check.csv", [*header, "note"], lines)
    listed = certify_folder(check, tmp_path / "check.csv", tmp_path)
    assert str(listed).startswith("No list: ")
    return {line[0]: line[3] for line in lines}


def test_extension_keeps_the_sheet_and_its_verdicts(rows, emptied, tmp_path):
    sheet = (tmp_path / "check.csv").read_bytes()
    extended = extend_check(tmp_path, rows, 150)
    assert (tmp_path / "check_1.csv").read_bytes() == sheet
    _, *lines = read_csv(tmp_path / "check.csv")
    assert len(lines) == 150
    assert {line[0]: line[3] for line in lines if line[3]} == emptied
    done = filled(tmp_path, lambda row: emptied.get(f"T{row}", verdict(row)))
    listed = certify_folder(extended, done, tmp_path)
    together = "the lists of all attempts together have at most 15%."
    verified = verify_certificate(tmp_path / "certificate.json", rows)
    assert str(verified) == str(listed)
    assert str(verified).endswith(f"Attempt 2 has a false discovery rate of at most 5%; {together}")
    assert together in (tmp_path / "certified.html").read_text("utf-8")


@pytest.mark.parametrize("stopped", [("check.html", "check.csv"), ("check.csv",), ()])
def test_repeats_an_interrupted_extension(rows, emptied, tmp_path, stopped):
    before = {name: (tmp_path / name).read_bytes() for name in stopped}
    extend_check(tmp_path, rows, 150)
    after = {path.name: path.read_bytes() for path in tmp_path.glob("check.*")}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    if "check.csv" in stopped:
        (tmp_path / "check_1.csv").unlink()
    with pytest.raises(ArgumentError, match="has no certificate of its last draw"):
        extend_check(tmp_path, rows, 160)
    extend_check(tmp_path, rows, 150)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("check.*")} == after
    kept = [
        dict(zip(*np.transpose(read_csv(path))[[0, 3]], strict=True))
        for path in sorted(tmp_path.glob("check_*.csv"))
    ]
    assert emptied.items() <= kept[0].items()
    assert len(kept) == 1 + (not stopped)


def test_guards_the_cells_of_a_sheet(tmp_path):
    items = [f"=HYPERLINK({row})" for row in range(300)]
    check = write_check(tmp_path, audit_rows(300, items=items, item_kind="text"), 0.1)
    assert (tmp_path / "check.csv").read_text().count(",'=HYPERLINK(") == len(check.draw.rows)


def forge(path, change, **unsigned):
    """Change fields of a certificate; `change` is signed, `unsigned` is not."""
    fields = json.loads(path.read_text())
    fields |= change(fields) if callable(change) else change
    path.write_text(json.dumps(fields | {"sha256": _fields_digest(fields)} | unsigned))


@pytest.mark.parametrize(
    ("signed", "unsigned", "says"),
    [
        *(
            ({}, fields, r"certificate\.json was changed after it was written")
            for fields in ({"listed": []}, {"fdr": 0.2}, {"seed": 1}, {"most_right": 0}, {"n": 1})
        ),
        ({"listed": []}, {}, r"because the verdicts in it give other values of listed: run twohot"),
        ({"seed": 1}, {}, r"has verdicts on rows that were not drawn with its seed"),
        ({"digest": "0"}, {}, r"belongs to another audit"),
        ({"format_version": 2}, {}, r"has format_version 2, but this version of twohot reads 1"),
    ],
)
def test_rejects_a_changed_or_forged_certificate(rows, certificate, signed, unsigned, says):
    forge(certificate, signed, **unsigned)
    with pytest.raises(ArgumentError, match=says):
        verify_certificate(certificate, rows)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"fdr": 0.1}'])
def test_rejects_a_file_that_is_not_a_check_or_a_certificate(rows, tmp_path, text):
    with pytest.raises(FileNotFoundError, match="draw rows first, with twohot audit --draw-check"):
        read_check(tmp_path, rows)
    write_check(tmp_path, rows, 0.1)
    with pytest.raises(ArgumentError, match=r"check\.json describes a draw of rows to check"):
        verify_certificate(tmp_path / "check.json", rows)
    (tmp_path / "check.json").write_text(text)
    with pytest.raises(ArgumentError, match=r"check\.json was not written by twohot"):
        read_check(tmp_path, rows)


# Reviews -----------------------------------------------------------------------------------------


@pytest.fixture
def review(rows):
    review = review_of(rows, until=0.02, seed=3)
    while review.bound > review.target:
        review.decide(verdict(review.next().row))
    return review


def test_verifies_the_certificate_of_a_review(rows, review, tmp_path):
    path = tmp_path / "certificate.json"
    write_review_certificate(path, rows, review)
    again = verify_certificate(path, rows)
    assert again.bound == review.bound <= review.target
    assert str(again) == str(review)
    review.decide("unsure")
    write_review_certificate(path, rows, review)
    assert verify_certificate(path, rows).looks == review.looks


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda fields: {"bound": fields["bound"] - 1}, r"has a bound of \d+ \(.*, but its verdi"),
        (lambda fields: {"looks": fields["looks"][:30] + fields["looks"][31:]}, r"log has row 31"),
        (
            lambda fields: {"looks": [["T?", *fields["looks"][0][1:]]]},
            r"log has row -1, from the l",
        ),
        (
            lambda fields: {"looks": [*fields["looks"][:-1], [*fields["looks"][-1][:2], "wrong"]]},
            r"has a bound of \d+ \(.*, but its verdicts give",
        ),
        ({"digest": "0"}, r"belongs to another audit"),
        ({"seed": 9}, r"log has row \d+, drawn at random, as decision \d+, but this"),
    ],
    ids=["bound", "gap", "row", "verdict", "audit", "seed"],
)
def test_rejects_a_forged_certificate_of_a_review(rows, review, tmp_path, change, says):
    path = tmp_path / "certificate.json"
    write_review_certificate(path, rows, review)
    forge(path, change)
    with pytest.raises(ArgumentError, match=says):
        verify_certificate(path, rows)


def test_issues_draw_and_certify_as_a_folder_does(rows, tmp_path):
    check = write_check(tmp_path, rows, 0.1, seed=4)
    probabilities = np.eye(3)[rows.suggested_labels]
    issues = find_label_issues(None, rows.given_labels, probabilities=probabilities)
    same = ("label_quality", "is_label_issue", "ids")
    issues = replace(issues, **{name: getattr(rows, name) for name in same})
    draw = issues.draw_check(fdr=0.1, seed=4)
    np.testing.assert_array_equal(draw.rows, check.draw.rows)
    done = filled(tmp_path)
    listed = certify_folder(check, done, tmp_path)
    np.testing.assert_array_equal(issues.certify(done, fdr=0.1, seed=4).rows, listed.rows)
