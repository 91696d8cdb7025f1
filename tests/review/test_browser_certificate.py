"""Pages for certificates in a real browser: a review with a bound, a check, a certified list."""

import json
import re

import numpy as np
import pytest
from browser_page import BrowserPage
from selenium.webdriver.common.keys import Keys

from audits import HOSTILE, audit_rows
from twohot.audit import (
    certify_folder,
    read_audit_folder,
    verify_certificate,
    write_audit_folder,
    write_check,
    write_review_page,
)
from twohot.base import ArgumentError
from twohot.review import ReviewSummary, apply_decisions, read_decisions
from twohot.tables import read_csv, write_csv

N_ROWS = 300
POSITION = np.arange(N_ROWS)
# The even rows are flagged, the last one is the most suspicious. The upper third of them is wrong.
WRONG = (POSITION % 2 == 0) & (POSITION >= 200)
WRONG[[7, 121]] = True
DOUBT_WORDS = ("probab", "doubt", "suspicious", "random", "suggest", "confidence")


@pytest.fixture(scope="module")
def rows():
    return audit_rows(
        N_ROWS,
        items=[HOSTILE[row % len(HOSTILE)] for row in range(N_ROWS)],
        item_kind="text",
        # The second candidate must not distinguish flagged rows from others.
        second_labels=(POSITION // 2 + 2) % 4,
    )


class VerdictPage(BrowserPage):
    """A page of verdicts, which are given by keys."""

    def row(self) -> int | None:
        """Return the row that the page shows; None at the end."""
        names = self.texts(".focus .id")
        return int(names[0].removeprefix("Row ")) if names else None

    def decide(self, n_most: int, is_wrong, wrong: str = "x", right: str = "r") -> int:
        for count in range(n_most):
            row = self.row()
            if row is None:
                return count
            self.press(wrong if is_wrong(row) else right)
        return n_most


@pytest.fixture
def verdicts(fresh, downloads):
    return lambda path: VerdictPage(fresh, path, downloads)


def test_review_shows_the_bound_resumes_and_is_verified(rows, verdicts, tmp_path) -> None:
    labels = [rows.label_name(code) for code in rows.given_labels]
    write_csv(tmp_path / "labels.csv", ["note", "label"], [["x", label] for label in labels])
    page = verdicts(write_review_page(tmp_path, rows, until=0.05, n_wrong=60))
    assert page.said("bound").startswith(
        "The model estimates that about 20 % of the 300 labels are w"
    )
    seen = page.find("main").text.lower()
    assert not any(word in seen.partition("is the given label right?")[2] for word in DOUBT_WORDS)
    assert page.script("return window.hacked") is None
    assert page.decide(60, lambda row: bool(WRONG[row])) == 60
    page.press("u", "u")
    page.browser.refresh()
    assert page.said("progress-text") == "58 decisions"
    page.press("a")  # another class is right
    assert page.row() is not None
    page.press("l")
    page.press("owl", Keys.ENTER)
    page.press("s")
    assert page.said("progress-text") == "61 decisions"
    page.press("u", "u", "u")
    given = page.script("return className(report.given[shown])")
    page.press("l")
    page.press(given, Keys.ENTER)  # the given label by its name: it is right
    assert page.script("return verdictOf(log.at(-1))") == "right"
    page.press("u")
    n_more = page.decide(N_ROWS, lambda row: bool(WRONG[row]))
    assert n_more < N_ROWS - 60
    reached = "wrong (95 % confidence); the target of 5 % is reached."
    assert re.fullmatch(
        rf"At most [\d.]+ % of the 300 labels are still {re.escape(reached)}", page.said("bound")
    )
    path = page.saved("certificate.json", "export")
    full = verify_certificate(path, rows)
    alone = verify_certificate(path, data=tmp_path / "labels.csv")
    assert full.looks == alone.looks
    assert full.bound == alone.bound <= full.target
    assert f"At most {100 * full.bound / N_ROWS:.2f}".rstrip("0") in page.said("bound")
    assert {look.row for look in full.looks if look.verdict == "wrong"} == {
        look.row for look in full.looks if WRONG[look.row]
    }
    applied = apply_decisions(
        rows, read_decisions(page.saved(f"decisions-{rows.report_id()}.csv", "export-decisions"))
    )
    assert np.flatnonzero(applied.excluded).tolist() == sorted(
        look.row for look in full.looks if look.verdict == "wrong"
    )
    # The same labels in another order are not those of the certificate.
    write_csv(tmp_path / "labels.csv", ["label"], [[label] for label in labels[::-1]])
    with pytest.raises(ArgumentError, match="are not those for which"):
        verify_certificate(path, data=tmp_path / "labels.csv")


def test_second_looks_correct_the_bound(rows, verdicts, tmp_path) -> None:
    page = verdicts(write_review_page(tmp_path, rows, until=0.2, twice=0.2))
    looks: dict[int, int] = {}

    def is_wrong(row: int) -> bool:
        looks[row] = looks.get(row, 0) + 1
        # The second look at one row differs; the third look decides.
        return bool(WRONG[row]) and not (row == 298 and looks[row] == 2)

    page.decide(2 * N_ROWS, is_wrong)
    assert max(looks.values()) == looks[298] == 3
    assert "Second verdicts differ on" in page.said("correction")
    path = page.saved("certificate.json", "export")
    found = verify_certificate(path, rows)
    assert found.corrected is not None
    assert found.corrected.disagreement > 0
    again = {int(row): said for row, *said in json.loads(path.read_text())["again"]}
    assert again[298] == ["right", "wrong"]
    shown = {row for row, count in looks.items() if count > 1}
    assert shown == again.keys()
    assert {look.row for look in found.looks if look.verdict == "wrong"} <= shown
    # If a stored verdict is missing, the later ones are ignored.
    page.script(
        "const kept = JSON.parse(localStorage[logKey(0)]); kept.rows.splice(30, 1);"
        "localStorage[logKey(0)] = JSON.stringify(kept);"
    )
    page.browser.refresh()
    assert page.said("progress-text") == "30 decisions"
    assert "stored verdicts of another review, or after a missing" in page.said("status")
    kept = "return localStorage[logKey(0)]"
    before = page.script(kept)
    page.press("r")  # a copy of what was stored is kept
    untaken = (
        "const name = Object.keys(localStorage).find((key) => key.includes(':untaken '));"
        "return JSON.parse(localStorage[name]).rows"
    )
    assert page.script(untaken) == json.loads(before)["rows"]
    assert len(json.loads(page.script(kept))["rows"]) == 31
    # The verdicts also count for another target.
    page = verdicts(write_review_page(tmp_path, rows, until=0.05, twice=0.2))
    assert page.said("progress-text") == "31 decisions"


def test_check_page_saves_verdicts_for_certify(rows, verdicts, tmp_path) -> None:
    write_audit_folder(tmp_path, rows, ReviewSummary())
    check = write_check(tmp_path, read_audit_folder(tmp_path), 0.1)
    page = verdicts(tmp_path / "check.html")
    seen = page.find("body").text.lower()
    assert not any(word in seen for word in DOUBT_WORDS)
    assert page.row() == min(check.draw.rows)
    page.press("s", "u")
    assert page.decide(2, lambda _row: True, wrong="w") == 2
    # Another draw from the same audit has separate verdicts.
    other = tmp_path / "other"
    write_audit_folder(other, rows, ReviewSummary())
    write_check(other, read_audit_folder(other), 0.1, seed=1)
    page = verdicts(other / "check.html")
    assert page.said("progress-text") == f"0 of {len(check.draw.rows)} checked"
    page.press("r")
    page = verdicts(tmp_path / "check.html")
    assert page.decide(N_ROWS, lambda _row: True, wrong="w") == len(check.draw.rows) - 2
    done = page.saved("check_done.csv", "export")
    header, *lines = read_csv(done)
    assert header == ["id", "item", "given_label", "verdict"]
    assert [int(line[0]) for line in lines] == np.sort(check.draw.rows).tolist()
    listed = certify_folder(check, done, tmp_path)
    assert len(listed.rows) > 50
    page = verdicts(tmp_path / "certified.html")
    assert f"Of the {len(listed.rows)} most suspicious labels, at most {listed.most_right}" in (
        page.said("bound")
    )
    page.find("#length").send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert page.said("bound").startswith("Of the 2 most suspicious labels, at most 2 are right")
    assert len(page.texts("#lines tr")) == 2
    assert page.script("return window.hacked") is None
