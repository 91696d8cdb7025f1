"""The report in a real browser: what a reviewer sees, does and takes away."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from audits import ANIMALS, HOSTILE, audit_rows
from twohot.base.labels import NO_LABEL
from twohot.review.decisions import apply_decisions, read_decisions
from twohot.review.page import SCRIPTS, write_review
from twohot.review.records import (
    NO_ROW,
    AlikeClasses,
    ChoiceCurve,
    Curve,
    Evidence,
    Method,
    NearestRows,
    ReviewRows,
    ReviewSummary,
    RowFinding,
)
from twohot.tables.csv_file import read_csv, unguarded
from twohot.tables.row_ids import RowIds


class Page:
    """One report in the browser."""

    def __init__(self, browser: webdriver.Chrome, path: Path, downloads: Path) -> None:
        self.browser, self.address, self.downloads = browser, path.as_uri(), downloads
        self.load()

    def load(self) -> None:
        self.browser.get(self.address)
        self.browser.find_element(By.ID, "tab-review").click()

    def script(self, code: str, *arguments: Any) -> Any:
        return self.browser.execute_script(code, *arguments)

    def press(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def choose(self, name: str, value: object) -> None:
        Select(self.browser.find_element(By.ID, name)).select_by_value(str(value))

    def click(self, name: str) -> None:
        self.script("scrollTo(0, 0)")
        self.browser.find_element(By.ID, name).click()

    def shown(self) -> list[int]:
        """Numbers, in the data, of the rows in the page."""
        return self.script(
            "return [...document.querySelectorAll('#list [data-row]')]"
            ".map(made => report.row[made.dataset.row])"
        )

    def current(self) -> int:
        return self.script(
            "return report.row[document.querySelector('[aria-current=true]').dataset.row]"
        )

    def decided(self) -> dict[int, list[str]]:
        pairs = self.script(
            "return [...decisions].map(([i, d]) => [report.row[i], d.kind, className(d.label)])"
        )
        return {row: rest for row, *rest in pairs}

    def noted(self) -> dict[int, str]:
        return dict(self.script("return [...notes].map(([i, text]) => [report.row[i], text])"))

    def chord(self, held: str, key: str) -> None:
        ActionChains(self.browser).key_down(held).send_keys(key).key_up(held).perform()

    def said(self, name: str) -> str:
        return self.script("return document.getElementById(arguments[0]).textContent", name)

    def export(self) -> Path:
        target = self.downloads / f"decisions-{self.script('return report.report')}.csv"
        target.unlink(missing_ok=True)
        self.click("export")
        WebDriverWait(self.browser, 60, 0.05).until(lambda _: target.exists())
        return target

    def bring(self, path: Path) -> str:
        """Import a file and return what the page says about it."""
        self.script("document.getElementById('status').textContent = ''")
        self.browser.find_element(By.ID, "import-file").send_keys(str(path))
        WebDriverWait(self.browser, 60, 0.05).until(lambda _: self.said("status"))
        return self.said("status")


@pytest.fixture
def opened(browser, tmp_path, downloads):
    """Open a report of rows, in a browser that remembers nothing."""

    def write_and_open(rows: ReviewRows, name: str = "report.html", **summary: Any) -> Page:
        write_review(tmp_path / name, rows, ReviewSummary(**summary), image_root=tmp_path)
        return Page(browser, tmp_path / name, downloads)

    browser.get("file:///")
    browser.execute_script("localStorage.clear(); indexedDB.deleteDatabase('twohot-review')")
    browser.get_log("browser")
    yield write_and_open
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


def flagged(rows: ReviewRows, key: Any, **order: Any) -> list[int]:
    """Flagged row numbers in the order of a key: the plain twin of the page's sorting."""
    return sorted(rows.flagged.tolist(), key=key, **order)


def test_rows_stand_in_the_order_asked_for(opened) -> None:
    rows = audit_rows(40)
    page = opened(rows)
    assert page.shown() == flagged(rows, lambda i: rows.label_quality[i])
    page.choose("sort", "confidence")
    assert page.shown() == flagged(rows, lambda i: -rows.confidence[i])
    page.click("direction")
    assert page.shown() == flagged(rows, lambda i: rows.confidence[i])
    page.choose("sort", "given")
    page.click("direction")
    assert page.shown() == flagged(rows, lambda i: rows.given_labels[i])
    page.choose("sort", "row")
    assert page.shown() == list(range(0, 40, 2))


def test_the_headings_of_the_table_sort(opened) -> None:
    rows = audit_rows(20)
    page = opened(rows)  # without items a table is what shows most
    heading = "//th/button[starts-with(text(), 'Row')]"
    page.browser.find_element(By.XPATH, heading).click()
    assert page.shown() == list(range(0, 20, 2))
    page.browser.find_element(By.XPATH, heading).click()
    assert page.shown() == list(range(18, -1, -2))
    assert page.script("return document.querySelector('th[aria-sort=descending]').textContent")


def test_filters_leave_the_rows_that_match(opened) -> None:
    rows = audit_rows(40, items=tuple(f"text {i}" for i in range(40)), item_kind="text")
    page = opened(rows)
    page.choose("sort", "row")
    page.choose("filter-given", 2)
    assert page.shown() == [i for i in range(0, 40, 2) if rows.given_labels[i] == 2]
    page.choose("filter-undecided", 1)
    wanted = [i for i in range(0, 40, 6) if rows.given_labels[i] == 2]
    assert page.shown() == wanted
    page.choose("filter-suggested", 0)
    assert page.shown() == []
    assert "No row matches" in page.said("list")
    page.click("clear-filters")
    assert len(page.shown()) == 20
    page.browser.find_element(By.ID, "search").send_keys("TEXT 1")
    assert sorted(page.shown()) == [10, 12, 14, 16, 18]
    page.browser.find_element(By.ID, "search").send_keys(Keys.ENTER)
    page.press("a")
    page.click("clear-filters")
    page.choose("filter-decision", "open")
    assert len(page.shown()) == 19
    page.choose("filter-decision", "accept")
    assert page.shown() == [18]


def test_keys_decide_move_and_undo(opened) -> None:
    rows = audit_rows(24)
    page = opened(rows)
    order = page.shown()
    page.press("a", "r", "2", "j", "k")
    assert page.current() == order[3]
    names = np.array(ANIMALS)
    expected = {
        order[0]: ["accept", names[rows.suggested_labels[order[0]]]],
        order[1]: ["reject", names[rows.given_labels[order[1]]]],
        order[2]: ["second", names[rows.second_labels[order[2]]]],
    }
    assert page.decided() == expected
    page.click("layout")
    outcomes = (
        "return [...document.querySelectorAll('.card .labels .outcome')].map(o => o.textContent)"
    )
    assert page.script(outcomes) == [f"⇒{label}" for _, label in expected.values()]
    page.click("layout")
    assert page.said("progress-text") == "3 of 12 reviewed"
    page.press("u")
    assert page.current() == order[2]
    page.press("u", "u", "u")
    assert page.decided() == {}
    assert page.current() == order[0]
    page.press(Keys.ARROW_UP, Keys.ARROW_DOWN)
    assert page.current() == order[1]


def test_all_that_is_listed_is_accepted_in_one_step(opened) -> None:
    rows = audit_rows(200)  # more than a page of them is flagged
    page = opened(rows)
    page.press("r")
    first = page.decided()
    page.choose("filter-confidence", 900)
    sure = [i for i in rows.flagged.tolist() if round(1000 * rows.confidence[i]) >= 900]
    assert sorted(page.shown()) == sorted(sure)
    (row,) = first
    wanted = [i for i in sure if i != row]
    assert page.said("accept-shown") == f"Accept all {len(wanted)}"
    page.click("accept-shown")
    names = np.array(ANIMALS)[rows.suggested_labels]
    assert page.decided() == {**first, **{i: ["accept", names[i]] for i in wanted}}
    assert not page.browser.find_element(By.ID, "accept-shown").is_enabled()
    page.click("clear-filters")
    page.click("accept-shown")
    assert len(page.decided()) == 100
    page.press("u", "u")
    assert page.decided() == first


def test_any_class_can_be_typed(opened) -> None:
    classes = tuple(f"kind {k}" for k in range(300))
    page = opened(audit_rows(8, classes=classes))
    first, second, *_ = page.shown()
    page.press("l")
    assert len(page.browser.find_elements(By.CSS_SELECTOR, "#relabel-list li")) < 50
    page.press("299", Keys.ENTER)
    assert page.decided() == {first: ["relabel", "kind 299"]}
    # Keys typed in the dialog are text, and what is found there may be the suggestion itself.
    page.press("l", "a", "r", "u", Keys.ESCAPE)
    assert page.decided() == {first: ["relabel", "kind 299"]}
    page.press("l", Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    assert page.decided()[second][0] == "accept"


def note(page: Page, text: str) -> None:
    """Write a note on the current row."""
    page.press("n", text)
    page.chord(Keys.CONTROL, Keys.ENTER)


def test_rows_are_excluded_noted_and_given_new_classes_each_with_one_undo(opened) -> None:
    page = opened(audit_rows(12, items=tuple("abcdefghijkl"), item_kind="text"))
    first, second, third, *_ = page.shown()
    page.press("x")
    assert page.decided() == {first: ["exclude", ""]}
    assert page.current() == second
    page.press("l", "  yak ", Keys.ENTER)
    assert page.decided()[second] == ["new_class", "yak"]
    # A class that was made up is offered again; a known one is no new class.
    page.press("l", "ya", Keys.ENTER)
    assert page.decided()[third] == ["new_class", "yak"]
    page.press("l", "cat")
    offered = "return [...document.querySelectorAll('#relabel-list bdi')].map(b => b.textContent)"
    assert page.script(offered) == ["cat"]
    page.press(Keys.ESCAPE, "k")
    note(page, "ask Maria")
    assert page.noted() == {third: "ask Maria"}
    assert page.decided()[third] == ["new_class", "yak"]
    assert page.current() == third
    note(page, " again")
    assert page.noted() == {third: "ask Maria again"}
    page.press("n", "not kept", Keys.ESCAPE)
    assert page.noted() == {third: "ask Maria again"}
    page.export()
    assert page.said("status").startswith("3 decisions and 1 note saved as ")
    assert page.said("progress-text") == "3 of 6 reviewed"
    shown = """return [...document.querySelectorAll('.card')].map(
        made => made.querySelector(arguments[0])?.textContent ?? '')"""
    assert page.script(shown, ".note")[:3] == ["", "", "ask Maria again"]
    assert page.script(shown, ".excluded")[:3] == ["excluded", "", ""]
    page.choose("filter-decision", "noted")
    assert page.shown() == [third]
    page.choose("filter-decision", "exclude")
    assert page.shown() == [first]
    page.click("clear-filters")
    page.press("u", "u", "u", "u")
    assert page.noted() == {}
    assert page.decided() == {first: ["exclude", ""]}
    page.press("u")
    assert page.decided() == {}


@pytest.mark.parametrize("name", [HOSTILE[0], HOSTILE[5], "__proto__"])
def test_new_classes_and_notes_are_text_survive_and_come_back_whole(opened, name) -> None:
    rows = audit_rows(12, items=tuple("abcdefghijkl"), item_kind="text")
    page = opened(rows)
    first, second, third, *_ = page.shown()
    page.script("take(0, decisionFor(0, arguments[0]))", name)
    page.script("openNote(1); byId('note-text').value = arguments[0]", name)
    # The page goes back to the row when the dialog has closed, which is after the click.
    page.script("byId('note').addEventListener('close', () => { window.noteClosed = true })")
    page.browser.find_element(By.ID, "note-save").click()
    WebDriverWait(page.browser, 60, 0.05).until(lambda _: page.script("return window.noteClosed"))
    page.script("goTo(2)")
    page.press("x")
    decided, noted = page.decided(), page.noted()
    assert decided == {first: ["new_class", name], third: ["exclude", ""]}
    assert noted == {second: name}
    path = page.export()
    page.load()
    assert (page.decided(), page.noted()) == (decided, noted)
    applied = apply_decisions(rows, read_decisions(path))
    assert applied.classes[applied.labels[first]] == name
    assert applied.notes == {second: name}
    assert np.flatnonzero(applied.excluded).tolist() == [third]
    page.script("for (const i of [0, 1, 2]) keep(i, {}); storePart(0); past.length = 0")
    assert "3 decisions imported" in page.bring(path)
    assert (page.decided(), page.noted()) == (decided, noted)
    page.press("u")
    assert (page.decided(), page.noted()) == ({}, {})
    assert page.script("return window.hacked") is None


def test_decisions_of_an_older_report_are_imported_and_leave_notes_alone(opened, tmp_path) -> None:
    rows = audit_rows(12)
    page = opened(rows)
    note(page, "mine")
    first = page.shown()[0]
    columns = "report,id,decision,label"
    (tmp_path / "old.csv").write_text(f"{columns}\n{rows.report_id()},{first},reject,\n")
    assert "1 decision imported" in page.bring(tmp_path / "old.csv")
    assert page.decided()[first][0] == "reject"
    assert page.noted() == {first: "mine"}


def test_buttons_decide_and_open_again(opened) -> None:
    page = opened(audit_rows(8, items=tuple("abcdefgh"), item_kind="text"))
    row = page.shown()[1]
    button = "#list li:nth-child(2) [data-action=accept]"
    page.browser.find_element(By.CSS_SELECTOR, button).click()
    assert page.decided()[row][0] == "accept"
    assert page.current() == row
    page.browser.find_element(By.CSS_SELECTOR, button).click()
    assert page.decided() == {}


def test_decisions_survive_a_reload_and_stay_with_their_report(opened) -> None:
    rows = audit_rows(12)
    other = audit_rows(12, given_labels=np.array(rows.given_labels[::-1]))
    page = opened(rows)
    page.press("a", "r")
    decided = page.decided()
    page.load()
    assert page.decided() == decided
    assert len(decided) == 2
    beside = opened(other, "other.html")
    assert beside.decided() == {}
    beside.press("2")
    page.load()
    assert page.decided() == decided
    # The same audit written again is the same report.
    assert opened(rows, "again.html").decided() == decided


def test_decisions_survive_a_killed_browser(killed_and_started_again, tmp_path, downloads) -> None:
    write_review(tmp_path / "r.html", audit_rows(12), ReviewSummary())
    page = Page(killed_and_started_again(), tmp_path / "r.html", downloads)
    page.press("a", "r", "a", "u", "x", "l", "yak", Keys.ENTER)
    note(page, "mine")
    decided, noted = page.decided(), page.noted()
    kept = """const done = arguments[0];
        durable.then((database) => {
          const store = database.transaction(STORE).objectStore(STORE);
          store.get(partKey(0)).onsuccess = (event) => done(event.target.result);
        });"""
    # Reading waits for the writes before it.
    assert '"reject"' in page.browser.execute_async_script(kept)
    again = Page(killed_and_started_again(), tmp_path / "r.html", downloads)
    WebDriverWait(again.browser, 60, 0.05).until(lambda _: again.decided() == decided)
    assert again.noted() == noted
    assert (len(decided), len(noted)) == (4, 1)


def test_storage_that_makes_no_sense_is_passed_over(opened) -> None:
    page = opened(audit_rows(12))
    for nonsense in (
        '{"rows": [["0", "dance"], ["2", 99], ["4", "relabel"], ["6", {}], ["8", [7]], 3, null]}',
        '{"rows": {"0": "accept"}}',
        "[",
        "null",
        "7",
    ):
        page.script("localStorage.setItem(partKey(0), arguments[0])", nonsense)
        page.load()
        assert (page.decided(), page.noted()) == ({}, {})


def test_two_windows_of_a_report_agree(opened, browser) -> None:
    rows = audit_rows(12)
    first = opened(rows)
    window = browser.current_window_handle
    browser.switch_to.new_window("window")
    second = Page(browser, Path(first.address.removeprefix("file://")), first.downloads)
    second.press("a")
    decided = second.decided()
    assert len(decided) == 1
    browser.close()
    browser.switch_to.window(window)
    WebDriverWait(browser, 60, 0.05).until(lambda _: first.decided() == decided)
    assert first.said("progress-text") == "1 of 6 reviewed"


def test_a_browser_that_keeps_nothing_says_so(opened) -> None:
    page = opened(audit_rows(12))
    warning = page.browser.find_element(By.ID, "storage-warning")
    page.script("Storage.prototype.setItem = () => { throw new Error('full'); }")
    assert not warning.is_displayed()
    page.press("a", "r")
    assert warning.is_displayed()
    assert len(page.decided()) == 2
    assert len(read_decisions(page.export())) == 2


def test_decisions_are_shown_again_where_the_browser_has_no_room(opened) -> None:
    page = opened(audit_rows(12))
    page.script("localStorage.setItem('full', 'x'.repeat(5 * 1024 * 1024 - 64))")
    page.press("a", "r", "x")
    note(page, "mine")
    decided, noted = page.decided(), page.noted()
    assert page.browser.find_element(By.ID, "storage-warning").is_displayed()
    # No question about leaving the page stands in the way.
    page.script(
        "addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)"
    )
    page.load()
    WebDriverWait(page.browser, 10, 0.05).until(lambda _: page.decided() == decided)
    assert page.noted() == noted
    page.script("onStorage({ key: null })")  # of another window, which has no room either
    assert page.decided() == decided


def test_a_key_that_is_held_down_decides_one_row(opened) -> None:
    page = opened(audit_rows(40))
    held = """for (const repeat of [false, true, true]) {
      document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { key: arguments[0], repeat, bubbles: true }));
    }"""
    for decided, key in enumerate("ar2x", start=1):
        page.script(held, key)
        assert len(page.decided()) == decided
    page.script(held, "u")
    assert len(page.decided()) == 3
    place = page.script("return page.cursor")
    page.script(held, "j")
    assert page.script("return page.cursor") == place + 3


def test_export_applies_and_imports_again(opened) -> None:
    rows = audit_rows(12)
    page = opened(rows)
    page.press("a", "r", "2", "l", "owl", Keys.ENTER)
    decided = page.decided()
    path = page.export()
    assert page.said("status").endswith(f"Next: {page.script('return report.nextStep')}")
    read = read_decisions(path)
    assert {int(d.id): [d.decision, d.label] for d in read} == decided
    applied = apply_decisions(rows, read)
    names = np.array(ANIMALS)
    for row, (_, label) in decided.items():
        assert names[applied.labels[row]] == label
    page.press("u", "u", "u", "u")
    assert page.decided() == {}
    assert "4 decisions imported" in page.bring(path)
    assert page.decided() == decided
    page.press("u")
    assert page.decided() == {}


def test_decisions_carry_the_ids_of_the_user_whatever_their_text(opened) -> None:
    # Of two rows each, the first is flagged.
    names = [text for hostile in HOSTILE for text in (hostile, hostile + ", the second")]
    rows = audit_rows(len(names), ids=RowIds(names, "column", "ticket"))
    page = opened(rows)
    page.press(*"a" * len(HOSTILE))
    path = page.export()
    read = read_decisions(path)
    assert {decision.id for decision in read} == set(HOSTILE)
    applied = apply_decisions(rows, read)
    np.testing.assert_array_equal(applied.labels, rows.suggested_labels)
    page.press(*"u" * len(HOSTILE))
    assert f"{len(HOSTILE)} decisions imported" in page.bring(path)
    assert len(page.decided()) == len(HOSTILE)
    page.choose("sort", "row")
    shown = page.script("return document.querySelector('#list [data-row] td').textContent")
    assert shown == HOSTILE[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("\nr", "\nq"), "are those of report q"),
        (lambda text: text.replace("label", "lable"), "no column label"),
        (lambda text: text.replace(",10,", ",99,"), "row 99 is not in this report"),
        (lambda text: text.replace(",accept,", ",dance,"), "unknown decision dance"),
        (lambda text: text.replace(",accept,", ",relabel,").replace(",fox,", ",yak,"), "yak"),
        (lambda text: text.replace("accept,fox", "accept,owl"), "does not lead to owl"),
        (lambda text: text + '"', "not closed"),
        (lambda text: text + text.splitlines()[-1].replace("accept,fox", "relabel,owl"), "twice"),
    ],
)
def test_an_import_that_does_not_fit_changes_nothing(opened, tmp_path, change, said) -> None:
    page = opened(audit_rows(12))
    page.press("a", "a")
    decided = page.decided()
    text = page.export().read_text(encoding="utf-8-sig")
    (tmp_path / "changed.csv").write_text(change(text), encoding="utf-8")
    answer = page.bring(tmp_path / "changed.csv")
    assert "Nothing was imported" in answer
    assert said in answer
    assert page.decided() == decided


@settings(max_examples=40)
@given(st.lists(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=2)))
def test_csv_means_the_same_in_the_browser_and_here(browser, tmp_path_factory, lines) -> None:
    folder = tmp_path_factory.getbasetemp()
    if not (folder / "csv.html").exists():
        write_review(folder / "csv.html", audit_rows(2), ReviewSummary())
    if not browser.current_url.endswith("csv.html"):
        browser.get((folder / "csv.html").as_uri())
    text = browser.execute_script("return csvText(arguments[0])", lines)
    assert browser.execute_script("return parseCsv(arguments[0])", text) == lines
    (folder / "csv.csv").write_bytes(text.encode())
    assert [[unguarded(f) for f in line] for line in read_csv(folder / "csv.csv")] == lines


def test_hostile_text_is_shown_as_text_and_comes_back_whole(opened) -> None:
    n_rows = 2 * len(HOSTILE)
    items = tuple(text for text in HOSTILE for _ in range(2))
    rows = audit_rows(n_rows, classes=HOSTILE, items=items, item_kind="text")
    n_classes = len(HOSTILE)
    page = opened(
        rows,
        title=HOSTILE[0],
        corruption=np.full((n_classes, n_classes), 1 / n_classes),
        correlation=np.eye(n_classes),
        methods=tuple(Method(text, 0.5) for text in HOSTILE),
        choice=ChoiceCurve(
            HOSTILE[1], tuple(Curve(text, ((1, 0.1), (2, 0.2))) for text in HOSTILE)
        ),
        messages=HOSTILE,
        details={text: text for text in HOSTILE},
    )
    assert page.browser.title == HOSTILE[0]
    assert page.script("return window.hacked") is None
    assert page.script("return document.scripts.length") == 1 + len(SCRIPTS)
    assert page.script("return document.querySelectorAll('img, iframe, object').length") == 0
    cards = page.script(
        "return [...document.querySelectorAll('.card')].map(made => ["
        "made.querySelector('.text').textContent, made.querySelector('.given').textContent])"
    )
    expected = [(rows.items[i], HOSTILE[rows.given_labels[i]]) for i in rows.flagged.tolist()]
    for (text, label), (item, name) in zip(cards, expected, strict=True):
        assert text == (item if len(item) <= 2000 else item[:2000] + "…")
        assert label == name
    page.press(*"aaaaaaaaaaaaaaaaaa")
    page.press("l")
    page.press(Keys.ESCAPE)
    decided = page.decided()
    assert len(decided) == len(HOSTILE)
    path = page.export()
    read = read_decisions(path)
    assert {int(d.id): [d.decision, d.label] for d in read} == decided
    assert apply_decisions(rows, read).n_changed == len(HOSTILE)
    # As a spreadsheet sees them, no field is a formula.
    assert not any(field[:1] in set("=+-@\t\r\n") for line in read_csv(path) for field in line)
    assert page.script("return window.hacked") is None


def test_the_page_may_run_nothing_and_load_nothing_from_elsewhere(opened, browser) -> None:
    page = opened(audit_rows(4))
    page.browser.set_script_timeout(60)
    blocked = page.browser.execute_async_script(
        """
        const done = arguments[0], blocked = [];
        document.addEventListener("securitypolicyviolation", (event) => {
          blocked.push(event.effectiveDirective);
          if (blocked.length === 3) done(blocked);
        });
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        const image = document.createElement("img");
        image.src = "https://example.invalid/spy.png";
        document.body.append(image);
        fetch("https://example.invalid/").catch(() => {});
        """
    )
    assert sorted(blocked) == ["connect-src", "img-src", "script-src-elem"]
    assert page.script("return window.hacked") is None
    # What was blocked on purpose is in the log.
    browser.get_log("browser")


@pytest.mark.usefixtures("opened")
def test_pictures_are_shown_embedded_linked_or_as_missing(tmp_path, browser) -> None:
    names = ["a b#1.png", "missing.png", "broken.png", "linked?.png"]
    for name in (names[0], names[3]):
        Image.new("RGB", (8, 8), "red").save(tmp_path / name)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    rows = audit_rows(
        4,
        items=tuple(names),
        item_kind="image",
        given_labels=np.zeros(4, dtype=int),
        suggested_labels=np.ones(4, dtype=int),
        is_label_issue=np.ones(4, dtype=bool),
        label_quality=np.arange(4) / 4,
    )
    write_review(
        tmp_path / "report.html", rows, ReviewSummary(), image_root=tmp_path, embed_limit=3
    )
    page = Page(browser, tmp_path / "report.html", tmp_path)
    state = """return [...document.querySelectorAll('.card')].map(made => {
        const image = made.querySelector('img');
        return image ? [image.src.slice(0, 5), image.naturalWidth]
            : made.querySelector('.picture').textContent;
    })"""
    WebDriverWait(browser, 60, 0.05).until(lambda _: page.script(state)[3] == ["file:", 8])
    assert page.script(state)[:3] == [["data:", 8], "no picture", "no picture"]
    links = page.script("return [...document.querySelectorAll('.path a')].map(made => made.href)")
    assert links[0] == (tmp_path / names[0]).as_uri()
    assert "2 of the first 3 pictures could not be read" in page.said("overview")


def test_cards_show_the_nearest_rows_and_how_probably_a_label_is_wrong(opened) -> None:
    rows = audit_rows(
        8,
        items=HOSTILE[:8],
        item_kind="text",
        label_quality=np.array([1e-9, 1, 0.2, 1, 0.5, 1, 1, 1]),
    )
    near = NearestRows(np.array([[3, 1], [5, 7]]), np.array([[0.95, 0.91], [0.8, 0.75]]))
    none = NearestRows(np.full((2, 2), NO_ROW), np.full((2, 2), np.nan))
    page = opened(rows, evidence=Evidence(rows=np.array([0, 2]), suggested=near, given=none))
    cards = page.script(
        "return [...document.querySelectorAll('.card')].map(made => ["
        "made.querySelector('.scores strong').textContent,"
        "[...made.querySelectorAll('.nearest .label')].map(chip => chip.textContent),"
        "[...made.querySelectorAll('.neighbour')].map(other => other.textContent)])"
    )
    assert [card[0] for card in cards] == ["> 99.9 %", "80.0 %", "50.0 %", "< 0.1 %"]
    assert [card[1] for card in cards] == [["dog", "cat"], ["fox", "dog"], [], []]
    assert cards[0][2] == ["0.95" + HOSTILE[3], "0.91" + HOSTILE[1]]
    assert cards[1][2] == ["0.80" + HOSTILE[5], "0.75" + HOSTILE[7]]
    assert page.script("return window.hacked") is None


def test_cards_say_how_probable_the_two_top_candidates_are(opened) -> None:
    rows = audit_rows(
        6,
        items=tuple("abcdef"),
        item_kind="text",
        second_labels=np.array([2, 0, 1, 0, NO_LABEL, 0]),  # row 2: the given label
        confidence=np.array([0.6, 1, 0.5, 1, 0.7, 1]),
        second_confidence=np.array([0.25, 0, 0.4, 0, np.nan, 0]),
        label_quality=np.array([0.1, 1, 0.2, 1, 0.3, 1]),
    )
    page = opened(rows)
    said = """return [...document.querySelectorAll('.scores')].map(
        made => [...made.children].slice(1).map(part => part.textContent))"""
    assert page.script(said) == [
        ["suggestion: 60.0 %", "second: 25.0 %"],
        ["suggestion: 50.0 %", "given: 40.0 %"],
        ["suggestion: 70.0 %"],
    ]
    page.click("layout")
    cells = "return [...document.querySelectorAll('tbody tr')].map(r => r.cells[4].textContent)"
    assert page.script(cells) == ["foxsecond: 25.0 %", "doggiven: 40.0 %", ""]


def test_findings_lead_to_their_rows_which_can_be_decided(opened) -> None:
    rows = audit_rows(12, items=tuple(f"text {i}" for i in range(12)), item_kind="text")
    copies = RowFinding(
        HOSTILE[0], HOSTILE[1], np.array([3, 10]), np.zeros(2), (np.array([10]), np.array([3]))
    )
    page = opened(
        rows,
        findings=(copies, RowFinding("outliers", "alone", np.array([7, 1]), np.zeros(2))),
        alike_classes=(AlikeClasses(0, 2, 0.914),),
    )
    flagged = page.shown()
    assert flagged == rows.flagged.tolist()  # wrong labels are what one starts with
    page.click("tab-overview")
    assert "mixed to 91 %" in page.said("alike-classes")
    page.browser.find_element(By.CSS_SELECTOR, "#findings li:nth-child(2) button").click()
    assert page.shown() == [7, 1]
    assert page.said("progress-text") == "0 of 2 reviewed"
    # Nothing is suggested for a row that is not doubted: it is kept, or gets another label.
    actions = "return [...document.querySelector('.card').querySelectorAll('[data-action]')]"
    offered = page.script(actions + ".map(b => b.dataset.action)")
    assert offered == ["reject", "second", "relabel", "exclude", "note"]
    page.press("2")
    assert page.said("progress-text") == "1 of 2 reviewed"
    page.choose("filter-finding", 0)
    assert page.shown() == [3, 10]
    copy = "return [...document.querySelectorAll('.neighbour')].map(made => made.textContent)"
    assert page.script(copy) == ["dogtext 10", "dogtext 3"]
    marks = "return document.querySelector('.card .mark').textContent"
    assert page.script(marks) == HOSTILE[0]
    page.choose("filter-finding", "")
    assert sorted(page.shown()) == [0, 1, 2, 3, 4, 6, 7, 8, 10]
    applied = apply_decisions(rows, read_decisions(page.export()))
    assert np.flatnonzero(applied.labels != rows.given_labels).tolist() == [7]
    page.click("clear-filters")
    assert page.shown() == flagged
    assert page.script("return window.hacked") is None


def test_a_long_class_name_is_read_on_its_card_and_stays_within_it(opened) -> None:
    classes = ("cat " * 15, "dog " * 500, "fox", "owl")
    page = opened(audit_rows(8, classes=classes, items=tuple("abcdefgh"), item_kind="text"))
    chips = page.script(
        "return [...document.querySelectorAll('.card .labels .label')].map(chip => ["
        "chip.textContent, chip.scrollHeight - chip.clientHeight, chip.clientHeight])"
    )
    hidden = {name: [cut, height] for name, cut, height in chips}
    assert hidden[classes[0]][0] <= 1  # a pixel of rounding
    assert hidden[classes[1]][0] > 100
    assert hidden[classes[1]][1] < 100


def test_opening_the_review_leaves_the_filters_in_sight(opened) -> None:
    page = opened(audit_rows(12, items=tuple("abcdefghijkl"), item_kind="text"))
    # Cards end below the window.
    page.script("document.querySelector('style').sheet.insertRule('.card { min-height: 150vh }')")
    covered = """return document.querySelector('.top').getBoundingClientRect().bottom
        > document.getElementById('filters').getBoundingClientRect().top"""
    page.click("tab-overview")
    page.click("tab-review")
    assert not page.script(covered)
    page.script("goTo(11)")
    page.click("tab-overview")
    page.click("tab-review")
    assert page.script(covered)  # where the reviewer stood comes first


def test_on_a_phone_filters_fold_away_and_the_first_card_is_in_sight(opened) -> None:
    rows = audit_rows(12, items=tuple(f"text {i}" for i in range(12)), item_kind="text")
    page = opened(rows)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.load()
        page.script("scrollTo(0, 0)")
        end = "return document.querySelector('.card').getBoundingClientRect().bottom"
        search = page.browser.find_element(By.ID, "search")
        assert page.script(end) < size["height"]
        assert not search.is_displayed()
        page.click("more-filters")
        assert search.is_displayed()
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_a_hundred_thousand_rows_leave_the_page_small(opened) -> None:
    n_rows = 200_000
    items = tuple(f"text of row {i}" for i in range(n_rows))
    page = opened(audit_rows(n_rows, items=items, item_kind="text"))
    count = "return document.querySelectorAll('*').length"
    n_elements = page.script(count)
    assert n_elements < 2000
    assert len(page.shown()) == 48
    page.choose("sort", "row")
    assert page.shown()[:2] == [0, 2]
    page.click("direction")
    assert page.shown()[:2] == [n_rows - 2, n_rows - 4]
    page.browser.find_element(By.ID, "search").send_keys("199998")
    assert page.shown() == [199998]
    page.browser.find_element(By.ID, "search").send_keys(Keys.ENTER)
    page.press("a")
    page.click("clear-filters")
    page.browser.find_element(By.CSS_SELECTOR, "#pager-bottom button:last-child").click()
    page.press("k", "a", "a")
    assert page.said("progress-text") == "3 of 100,000 reviewed"
    assert abs(page.script(count) - n_elements) < 100


def test_the_overview_leads_to_the_rows_of_a_confusion(opened) -> None:
    noise = np.array([[0.8, 0, 0, 0.2], [0.3, 0.7, 0, 0], [0, 0, 1, 0], [0, 0, 0.1, 0.9]])
    rows = audit_rows(40)
    page = opened(
        rows,
        corruption=noise,
        correlation=np.eye(4),
        class_order=np.array([3, 1, 0, 2]),
        methods=(Method("teacher", 0.7, 0.01), Method("student", 0.8, 0.01, chosen=True)),
    )
    page.click("tab-overview")
    cells = page.script(
        "return [...document.querySelectorAll('#noise-map tbody tr')].map("
        "line => [...line.cells].map(cell => cell.textContent))"
    )
    order = [3, 1, 0, 2]
    assert [line[0] for line in cells] == [ANIMALS[k] for k in order]
    percent = np.array([[int(text) for text in line[1:]] for line in cells])
    np.testing.assert_array_equal(percent, np.rint(100 * noise[np.ix_(order, order)]))
    lines = page.script(
        "return [...document.querySelectorAll('#confusions li')].map(made => made.textContent)"
    )
    assert [line.split()[0] for line in lines] == ["dog", "cat", "owl"]
    assert "30.0 %" in lines[0]
    page.browser.find_element(By.CSS_SELECTOR, "#confusions button").click()
    shown = page.shown()
    assert shown
    assert all(rows.suggested_labels[i] == 1 and rows.given_labels[i] == 0 for i in shown)


def test_a_class_without_pairs_of_rows_is_left_out_of_the_correlations(opened) -> None:
    correlation = np.array([[0.5, 0.1, np.nan, 0.2], [0.1, 0.6, np.nan, 0.3], [np.nan] * 4])
    correlation = np.vstack([correlation, [0.2, 0.3, np.nan, 0.7]])
    page = opened(audit_rows(40), correlation=correlation, class_order=np.array([3, 1, 0, 2]))
    page.click("tab-overview")
    cells = page.script(
        "return [...document.querySelectorAll('#correlation-map tbody tr')].map("
        "line => [...line.cells].map(cell => cell.textContent))"
    )
    assert [line[0] for line in cells] == [ANIMALS[k] for k in (3, 1, 0)]
    assert [line[1:] for line in cells] == [
        [".70", ".30", ".20"],
        [".30", ".60", ".10"],
        [".20", ".10", ".50"],
    ]


def test_long_names_of_classes_can_be_read_above_and_beside_a_map(opened) -> None:
    classes = ("a ticket about billing", "a ticket about refunds", "delivery that is late", "owl")
    page = opened(audit_rows(40, classes=classes), corruption=np.eye(4), correlation=np.eye(4))
    page.click("tab-overview")
    headings = page.script(
        "return [...document.querySelectorAll('#noise-map th span')].map(made => [made.textContent,"
        "made.scrollWidth <= made.clientWidth && made.scrollHeight <= made.clientHeight])"
    )
    assert headings == [[name, True] for name in classes * 2]


def test_shares_are_blue_and_correlations_red_above_zero_as_in_figures(opened) -> None:
    values = np.array([[0.8, 0.2, 0, 0], [0.2, 0.8, 0, 0], [0, -0.5, 1, 0], [0, 0, 0, 1]])
    page = opened(audit_rows(40), corruption=np.abs(values), correlation=values)
    page.click("tab-overview")
    shades = """return [...document.querySelectorAll(`${arguments[0]} td > *`)].map(
        made => made.style.background.match(/[0-9]+/g).map(Number))"""
    share = page.script(shades, "#noise-map tbody")[0]
    correlations = page.script(shades, "#correlation-map tbody")
    assert share[2] > share[0]
    assert correlations[0][0] > correlations[0][2]
    below = correlations[4 * 2 + 1]
    assert below[2] > below[0]


def test_many_classes_are_mapped_on_a_canvas(opened) -> None:
    n_classes = 40
    classes = tuple(f"k{k}" for k in range(n_classes))
    noise = np.eye(n_classes)
    noise[3, 5] = 0.5
    page = opened(audit_rows(80, classes=classes), corruption=noise)
    pixel = """const canvas = document.querySelector('#noise-map canvas');
        return [canvas.width, [...canvas.getContext('2d').getImageData(...arguments, 1, 1).data]]"""
    width, diagonal = page.script(pixel, 7, 7)
    assert width == n_classes
    ground, confused = page.script(pixel, 3, 5)[1], page.script(pixel, 5, 3)[1]
    assert diagonal == [10, 98, 184, 255]  # the accent: the largest value
    assert confused not in (ground, diagonal)


def test_a_phone_shows_the_page_without_scrolling_sideways(opened, browser) -> None:
    rows = audit_rows(12, classes=("a" * 200, "b" * 200, "c", "d"), items=("x" * 900,) * 12)
    rows = replace(rows, ids=RowIds([f"{'y' * 400}{row}" for row in range(12)], "column", "nr"))
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page = opened(rows, title="t" * 300, corruption=np.eye(4), methods=(Method("m", 0.5),))
        wide = "return document.documentElement.scrollWidth"
        assert page.script(wide) <= 360
        page.click("tab-overview")
        assert page.script(wide) <= 360
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_control_has_a_name(opened) -> None:
    page = opened(audit_rows(12, items=tuple("abcdefghijkl"), item_kind="text"))
    unnamed = page.script(
        "return [...document.querySelectorAll('button, input, select')].filter(made =>"
        "!made.textContent.trim() && !made.ariaLabel && !made.labels?.length)"
        ".map(made => made.outerHTML)"
    )
    assert unnamed == []
