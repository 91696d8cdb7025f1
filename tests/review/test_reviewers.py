"""Decisions of several reviewers: merged decisions, disputed rows, and agreement."""

from dataclasses import replace

import numpy as np
import pytest
from page_script import json_of
from sklearn.metrics import cohen_kappa_score

from audits import ANIMALS, HOSTILE, audit_rows
from twohot.base import parse_json
from twohot.review.decisions import SPELLING, Decision, accept_above, apply_decisions
from twohot.review.reviewers import (
    _kappa_and_variance,
    cohen_kappa,
    merge_reviews,
    write_disputed,
    write_settle_page,
)
from twohot.tables.csv_file import read_csv

ROWS = audit_rows(12, items=tuple(f"item {i}" for i in range(12)), item_kind="text")
REPORT = ROWS.report_id()
FORMULA = HOSTILE[5]


def made(row: int, decision: str, label: str = "", **more: str) -> Decision:
    return Decision(REPORT, str(row), decision, label, **more)


ANNA = [made(0, "accept"), made(2, "reject", note="sure"), made(4, "relabel", "owl")]
ANNA += [made(6, "exclude")]
BEN = [made(0, "relabel", "dog"), made(2, "accept"), made(4, "reject"), made(8, "second")]


def test_applies_agreement_and_lists_disputes() -> None:
    merged = merge_reviews(ROWS, {"in/anna.csv": ANNA, "ben.csv": BEN})
    labels = {2: {"anna": "dog", "ben": "fox"}, 4: {"anna": "owl", "ben": "fox"}}
    assert merged.disputed == labels
    applied = apply_decisions(ROWS, merged.decisions)
    expected = np.array(ROWS.given_labels)
    expected[[0, 6, 8]] = [1, -1, ROWS.second_labels[8]]
    assert applied.labels.tolist() == expected.tolist()
    # A note on a disputed row is kept.
    assert applied.notes == {2: "sure"}
    agreement = merged.agreement
    assert (agreement.reviewers, agreement.n_rows, agreement.n_agreeing) == (("anna", "ben"), 3, 1)


def test_settled_decisions_are_final_in_any_order(tmp_path) -> None:
    final = [replace(made(2, "accept"), report=f"{REPORT}-settled"), made(4, "open")]
    files = {"anna.csv": ANNA, "ben.csv": BEN, "final.csv": final}
    for order in (files, dict(reversed(files.items()))):
        merged = merge_reviews(ROWS, order)
        assert ([*merged.disputed], [*merged.settled]) == ([4], [2])
        assert apply_decisions(ROWS, merged.decisions).labels[2] == ANIMALS.index("fox")
        # They do not count in the agreement.
        assert (merged.agreement.n_rows, merged.agreement.n_agreeing) == (3, 1)
    write_settle_page(tmp_path / "p.html", ROWS, merged)
    assert sorted(parse_json(json_of(tmp_path / "p.html"))["id"]) == ["2", "4"]


def test_probable_suggestions_do_not_settle_disputes() -> None:
    merged = merge_reviews(ROWS, {"a.csv": ANNA, "b.csv": BEN})
    more = accept_above(ROWS, 0.0, [*ANNA, *BEN])
    applied = apply_decisions(ROWS, [*merged.decisions, *more])
    assert applied.labels[[2, 4]].tolist() == ROWS.given_labels[[2, 4]].tolist()
    assert applied.labels[10] == ROWS.suggested_labels[10]


def test_reviewers_are_named_by_decisions_or_files() -> None:
    named = [replace(decision, reviewer="Anna") for decision in ANNA]
    found = merge_reviews(
        ROWS, {"x.csv": named, "one/d.csv": BEN, "two/d.csv": [made(2, "exclude")]}
    )
    assert found.agreement.reviewers == ("Anna", "one/d", "two/d")
    assert found.disputed[2] == {"Anna": "dog", "one/d": "fox", "two/d": None}


def test_names_are_compared_without_case_and_blanks() -> None:
    line = Decision(REPORT, "0", "accept", "", reviewer="Anna")
    again = replace(line, reviewer="anna ")
    merged = merge_reviews(
        ROWS, {"x.csv": [line], "y.csv": [again], "ANNA.csv": [made(2, "reject")]}
    )
    assert merged.agreement.reviewers == ("Anna",)
    assert merged.agreement.n_rows == 0
    with pytest.raises(ValueError, match="row 0 was decided twice by reviewer 'Anna'"):
        merge_reviews(ROWS, {"x.csv": [line], "y.csv": [replace(again, decision="reject")]})
    # Files without names keep their own.
    files = {"one/Anna.csv": [made(2, "reject")], "two/anna.csv": [made(2, "accept")]}
    assert merge_reviews(ROWS, files).agreement.reviewers == ("one/Anna", "two/anna")


def test_merged_spellings_are_no_disagreement() -> None:
    rows = audit_rows(12, classes=("cat", "CAT", "fox", "owl"))
    name = rows.report_id()
    ann = [Decision(name, "0", "accept", ""), Decision(name, "", SPELLING, "cat", "CAT")]
    merged = merge_reviews(rows, {"a.csv": ann, "b.csv": [Decision(name, "0", "reject", "")]})
    assert not merged.disputed
    applied = apply_decisions(rows, merged.decisions)
    names = [applied.classes[code] for code in applied.labels.tolist()]
    assert names == ["cat" if k < 2 else rows.classes[k] for k in rows.given_labels.tolist()]
    assert (applied.n_respelt, applied.n_changed) == (4, 0)
    # The two labels of row 8 are spellings of one class: it needs no decision.
    assert applied.n_open == len(rows.flagged) - 2


def both(**changes: str) -> tuple[Decision, Decision]:
    """Return two decisions on row 0 that contradict each other."""
    return replace(made(0, "accept"), **changes), replace(made(0, "reject"), **changes)


TWICE, DOG_AND_CAT = "row 0 was decided twice", "as 'dog' in a.csv and as 'cat' in"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (*both(reviewer="Anna"), f"{TWICE} by reviewer 'Anna', {DOG_AND_CAT} b.csv"),
        (*both(report=f"{REPORT}-settled"), f"row 0 was settled twice, {DOG_AND_CAT} b.csv"),
        (made(2, "accept"), made(99, "accept"), "b.csv: row 99 was decided but is not in the aud"),
        (made(2, "accept"), made(0, "relabel", "yak"), "b.csv: row 0 has the label 'yak', which"),
        (
            made(2, "accept"),
            replace(made(0, "accept"), report="r0"),
            r"report 'r0', but the audit has report '\w+' \(in b.csv\): pass the",
        ),
    ],
)
def test_rejects_files(first, second, message) -> None:
    with pytest.raises(ValueError, match=message):
        merge_reviews(ROWS, {"a.csv": [first], "b.csv": [second]})


def test_rejects_file_that_contradicts_itself() -> None:
    accepted, rejected = both()
    decisions = [replace(accepted, reviewer="A"), replace(rejected, reviewer="B")]
    with pytest.raises(ValueError, match=f"{TWICE}, {DOG_AND_CAT} a.csv"):
        merge_reviews(ROWS, {"a.csv": decisions, "b.csv": []})


# Proportions of rows by the labels of two reviewers, with agreement above, at and below chance.
EVEN, SKEWED, THREE = np.full(2, 0.5), np.array([0.8, 0.2]), np.array([0.5, 0.3, 0.2])
TABLES = {
    f"{len(labels)} labels, {labels[0]} of the first, kappa {kappa}": (
        kappa * np.diag(labels) + (1 - kappa) * np.outer(labels, labels)
    )
    for labels in (EVEN, SKEWED, THREE)
    for kappa in (0.94, 0.6, 0.2, 0)
}
TABLES["kappa -0.8"] = np.array([[0.05, 0.45], [0.45, 0.05]])
TABLES["two labels, kappa -0.6"] = np.array([[0.03, 0.67], [0.27, 0.03]])
TABLES["three labels, kappa -0.4"] = np.array([[2, 30, 10], [10, 2, 14], [20, 10, 2]]) / 100


@pytest.mark.parametrize("shares", TABLES.values(), ids=TABLES)
def test_kappa_is_that_of_scikit_learn_and_its_interval_covers_it(shares) -> None:
    rng = np.random.default_rng(1)
    marginals = shares.sum(1) @ shares.sum(0)
    truth = (np.trace(shares) - marginals) / (1 - marginals)
    for n_rows in (20, 60):
        n_covered = n_defined = 0
        for _ in range(400):
            cells = rng.choice(shares.size, size=n_rows, p=shares.ravel())
            first, second = np.divmod(cells, len(shares))
            found = cohen_kappa(list(zip(first.tolist(), second.tolist(), strict=True)))
            if np.isnan(found[0]):
                continue
            kappa, low, high = found
            assert -1 <= low <= kappa + 1e-12
            assert kappa - 1e-12 <= high <= 1
            n_covered, n_defined = n_covered + (low <= truth <= high), n_defined + 1
        assert n_covered / n_defined >= 0.92
    assert kappa == pytest.approx(cohen_kappa_score(first, second))


def test_variance_of_kappa_is_that_of_its_estimates() -> None:
    rng, n_rows = np.random.default_rng(0), 2000
    for shares in TABLES.values():
        drawn = rng.multinomial(n_rows, shares.ravel(), size=2000).reshape(-1, *shares.shape)
        kappas = [_kappa_and_variance(counts)[0] for counts in drawn]
        variance = _kappa_and_variance(shares)[1]
        assert n_rows * np.var(kappas) == pytest.approx(variance, rel=0.15)


def test_agreement_of_several_is_a_weighted_mean_over_pairs() -> None:
    files = {
        "a.csv": [made(row, "accept") for row in (0, 2, 4, 6)],
        "b.csv": [made(row, "accept" if row else "reject") for row in (0, 2, 4, 6)],
        "c.csv": [made(0, "reject"), made(2, "accept")],
    }
    agreement = merge_reviews(ROWS, files).agreement
    suggested = [ANIMALS[k] for k in ROWS.suggested_labels[[0, 2, 4, 6]]]
    b, c = ["cat", *suggested[1:]], ["cat", suggested[1]]
    pairs = [(suggested, b), (suggested[:2], c), (b[:2], c)]
    kappas = [cohen_kappa_score(*pair) for pair in pairs]
    assert agreement.kappa == pytest.approx(np.average(kappas, weights=[4, 2, 2]))
    assert (agreement.n_rows, agreement.n_agreeing) == (4, 3)
    assert "75.0% of 4 rows that two or more decided. The mean of Cohen's kappa" in str(agreement)
    assert "(95 % confidence interval" in str(agreement)


def test_agreement_can_be_undefined() -> None:
    nothing = merge_reviews(ROWS, {})
    assert (nothing.decisions, nothing.disputed, nothing.agreement.reviewers) == ((), {}, ())
    apart = merge_reviews(ROWS, {"a.csv": [made(0, "accept")], "b.csv": [made(2, "accept")]})
    assert "unknown, because no row was decided by two" in str(apart.agreement)
    same = merge_reviews(ROWS, {name: [made(0, "accept")] for name in ("a.csv", "b.csv")})
    assert str(same.agreement).endswith("both used only one label.")
    assert np.isnan([*same.agreement.interval, same.agreement.kappa]).all()
    equal = [made(row, "accept") for row in range(0, 12, 2)]
    agreement = merge_reviews(ROWS, {"a.csv": equal, "b.csv": equal}).agreement
    assert agreement.kappa == 1
    # Six rows are weak evidence.
    assert agreement.interval[0] < 0.6


def test_writes_disputed_rows_as_a_table_and_a_page(tmp_path) -> None:
    hostile = HOSTILE[1]
    rows = replace(ROWS, classes=("cat", "dog", "fox", hostile))
    name = rows.report_id()
    reviews = {
        "a.csv": [Decision(name, "2", "new_class", "yak", reviewer=HOSTILE[0])],
        "b.csv": [Decision(name, "2", "relabel", hostile), Decision(name, "3", "exclude", "")],
        "c.csv": [Decision(name, "3", "reject", "", reviewer=FORMULA)],
    }
    merged = merge_reviews(rows, reviews)
    write_disputed(tmp_path / "d.csv", rows, merged)
    # Formulas of spreadsheets are always guarded.
    written = (tmp_path / "d.csv").read_text("utf-8")
    assert f"'{FORMULA}" in written.replace('""', '"')
    assert read_csv(tmp_path / "d.csv")[1:] == [
        ["2", "item 2", "dog", "fox", HOSTILE[0], "yak"],
        ["2", "item 2", "dog", "fox", "b", hostile],
        ["3", "item 3", "dog", "dog", "b", ""],
        ["3", "item 3", "dog", "dog", FORMULA, "dog"],
    ]
    report = write_settle_page(tmp_path / "p.html", rows, merged)
    data = parse_json(json_of(tmp_path / "p.html"))
    assert (report, data["report"]) == (f"{name}-settled", f"{name}-settled")
    assert sorted(data["id"]) == ["2", "3"]
    by_row = dict(zip(data["id"], data["verdicts"], strict=True))
    assert by_row == {"2": [[HOSTILE[0], "yak"], ["b", 3]], "3": [["b", None], [FORMULA, 1]]}
    text = (tmp_path / "p.html").read_text("utf-8")
    assert "2 rows to settle" in text
    assert HOSTILE[0] not in text.replace("\\u003c", "")


def test_page_leaves_out_rows_without_a_given_label(tmp_path) -> None:
    given = np.array(ROWS.given_labels)
    given[3] = -1
    rows = replace(ROWS, given_labels=given)
    reviews = {
        name: [Decision(rows.report_id(), "3", "relabel", label)]
        for name, label in (("a.csv", "cat"), ("b.csv", "dog"))
    }
    merged = merge_reviews(rows, reviews)
    assert [*merged.disputed] == [3]
    write_settle_page(tmp_path / "p.html", rows, merged)
    assert "Not shown: 1 row without a given label" in (tmp_path / "p.html").read_text("utf-8")
