"""Decisions in a real browser: keys, buttons, undo, storage, export and import."""

from pathlib import Path

import numpy as np
import pytest
from browser_page import Page, text_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from selenium.webdriver.common.keys import Keys

from audits import ANIMALS, HOSTILE, audit_rows
from twohot.review.decisions import Decision, apply_decisions, read_decisions
from twohot.review.page import write_review
from twohot.review.records import ReviewSummary
from twohot.review.reviewers import merge_reviews, write_settle_page
from twohot.tables.csv_file import read_csv, unguarded


def test_keys_decide_move_and_undo(opened) -> None:
    rows = audit_rows(24)
    page = opened(rows)
    order = page.shown()
    page.press("a", "r", "2", "j", "k")
    assert page.current() == order[3]
    columns = {"accept": rows.suggested_labels, "reject": rows.given_labels}
    columns["second"] = rows.second_labels
    expected = {
        row: [kind, ANIMALS[columns[kind][row]]] for row, kind in zip(order, columns, strict=False)
    }
    assert page.decided() == expected
    page.layout("cards")
    pressed = page.texts("[aria-pressed=true] bdi")
    assert pressed == [label for _, label in expected.values()]
    page.layout("table")
    assert page.said("progress-text") == "3 of 12 reviewed"
    page.press("u")
    assert page.current() == order[2]
    page.press("u", "u", "u")
    assert page.decided() == {}
    assert page.current() == order[0]
    page.press(Keys.ARROW_UP, Keys.ARROW_DOWN)
    assert page.current() == order[1]


def test_accepts_all_listed_suggestions_after_a_question(opened) -> None:
    rows = audit_rows(240)  # more than a page of them is flagged
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
    accepted = {**first, **{i: ["accept", names[i]] for i in wanted}}
    assert page.decided() == accepted
    assert not page.find("#accept-shown").is_enabled()
    page.press("u")
    page.click("clear-filters")
    page.click("accept-shown")
    assert page.said("confirm-title") == "Accept 119 suggestions at once?"
    assert page.decided() == first
    page.find("#confirm [value=no]").click()
    assert page.decided() == first
    page.click("accept-shown")
    page.find("#confirm [value=yes]").click()
    assert len(page.decided()) == 120
    page.press("u")
    assert page.decided() == first


def test_types_any_class(opened) -> None:
    classes = tuple(f"kind {k}" for k in range(300))
    page = opened(audit_rows(8, classes=classes))
    first, second, *_ = page.shown()
    page.press("l")
    assert len(page.texts("#relabel-list li")) < 50
    page.press("299", Keys.ENTER)
    assert page.decided() == {first: ["relabel", "kind 299"]}
    # In the dialog, keys are text. The first match may be the suggestion.
    page.press("l", "a", "r", "u", Keys.ESCAPE)
    assert page.decided() == {first: ["relabel", "kind 299"]}
    page.press("l", Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    assert page.decided()[second][0] == "accept"


def test_excludes_notes_and_new_classes_take_one_undo_each(opened) -> None:
    page = opened(text_rows(12))
    first, second, third, *_ = page.shown()
    page.press("x")
    assert page.decided() == {first: ["exclude", ""]}
    assert page.current() == second
    page.press("l", "  yak ", Keys.ENTER)
    assert page.decided()[second] == ["new_class", "yak"]
    # A new class is offered again; a known class is no new one.
    page.press("l", "ya", Keys.ENTER)
    assert page.decided()[third] == ["new_class", "yak"]
    page.press("l", "cat")
    assert page.texts("#relabel-list bdi") == ["cat"]
    page.press(Keys.ESCAPE, "k")
    page.note("ask Maria")
    assert page.noted() == {third: "ask Maria"}
    assert page.decided()[third] == ["new_class", "yak"]
    assert page.current() == third
    page.note(" again")
    assert page.noted() == {third: "ask Maria again"}
    page.press("n", "not kept", Keys.ESCAPE)
    assert page.noted() == {third: "ask Maria again"}
    page.export()
    assert page.said("status").startswith("3 decisions and 1 note saved as ")
    assert page.said("progress-text") == "3 of 6 reviewed"
    shown = """return [...document.querySelectorAll('.card')].map(
        made => made.querySelector(arguments[0])?.textContent ?? '')"""
    assert page.script(shown, ".note")[:3] == ["", "", "ask Maria again"]
    assert page.script(shown, "[aria-pressed=true] > span")[:2] == ["Exclude", "Other…"]
    assert page.script(shown, ".outcome")[:3] == ["", "⇒yak", "⇒yak"]
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


@pytest.mark.parametrize("name", [HOSTILE[0], "__proto__"])
def test_new_classes_and_notes_stay_text_and_survive(opened, name) -> None:
    rows = text_rows(12)
    page = opened(rows)
    first, second, third, *_ = page.shown()
    page.script("decideRows([0], 'relabel', arguments[0])", name)
    page.script("openNote([1]); byId('note-text').value = arguments[0]", name)
    # The dialog closes after the click; then the page goes back to the row.
    page.script("byId('note').addEventListener('close', () => { window.noteClosed = true })")
    page.click("note-save")
    page.wait(lambda: page.script("return window.noteClosed"))
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
    page.script("put([0, 1, 2].map((i) => [i, {}])); past.length = 0")
    assert "decisions and notes on 3 rows" in page.bring(path)
    assert (page.decided(), page.noted()) == (decided, noted)
    page.press("u")
    assert (page.decided(), page.noted()) == ({}, {})
    assert page.script("return window.hacked") is None


def test_imports_keep_notes_and_are_taken_whole_or_not_at_all(opened, tmp_path) -> None:
    rows, file = audit_rows(12), tmp_path / "decisions.csv"
    page = opened(rows)
    page.note("mine")
    first = page.shown()[0]
    line = f"report,id,decision,label\n{rows.report_id()},{first},"
    for decision, answer in {
        "dance": f"Nothing was imported: row {first} has the unknown decision dance.",
        "reject": "Imported the decisions and notes on 1 row (press u to undo).",
    }.items():
        assert page.decided() == {}
        file.write_text(f"{line}{decision},\n")
        assert page.bring(file) == answer
    assert page.decided()[first][0] == "reject"
    assert page.noted() == {first: "mine"}


def test_buttons_decide_and_open_again(opened) -> None:
    page = opened(text_rows(8))
    row = page.shown()[1]
    for kinds in (["accept"], []):
        page.find("#list li:nth-child(2) [data-action=accept]").click()
        assert [kind for kind, _ in page.decided().values()] == kinds
        assert page.current() == row


def test_decisions_survive_a_killed_browser(killed_and_started_again, tmp_path, downloads) -> None:
    write_review(tmp_path / "r.html", audit_rows(12), ReviewSummary())
    page = Page(killed_and_started_again(), tmp_path / "r.html", downloads)
    page.press("a", "r", "a", "u", "x", "l", "yak", Keys.ENTER)
    page.note("mine")
    decided, noted = page.decided(), page.noted()
    kept = """const done = arguments[0];
        durable.then((database) => {
          const store = database.transaction(STORE).objectStore(STORE);
          store.get(partKey(0)).onsuccess = (event) => done(event.target.result);
        });"""
    # Reading waits for the writes before it.
    assert '"reject"' in page.browser.execute_async_script(kept)
    again = Page(killed_and_started_again(), tmp_path / "r.html", downloads)
    again.wait(lambda: again.decided() == decided)
    assert again.noted() == noted
    assert (len(decided), len(noted)) == (4, 1)


def test_ignores_invalid_storage(opened) -> None:
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
    first.wait(lambda: first.decided() == decided)
    assert first.said("progress-text") == "1 of 6 reviewed"


def test_warns_if_the_browser_stores_nothing(opened) -> None:
    page = opened(audit_rows(12))
    warning = page.find("#storage-warning")
    page.script(
        "for (const kind of [Storage, IDBObjectStore]) for (const set of ['setItem', 'put'])"
        "  kind.prototype[set] = () => { throw new Error('full'); }"
    )
    assert not warning.is_displayed()
    page.press("a", "r")
    page.wait(warning.is_displayed)
    page.wait(lambda: page.said("saved") == "Not saved")
    assert len(page.decided()) == 2
    assert len(read_decisions(page.export())) == 2


def test_decisions_survive_in_a_browser_without_room(opened) -> None:
    page = opened(audit_rows(12))
    page.script("localStorage.setItem('full', 'x'.repeat(5 * 1024 * 1024 - 64))")
    page.press("a", "r", "x")
    page.note("mine")
    decided, noted = page.decided(), page.noted()
    page.wait(page.find("#storage-warning").is_displayed)
    page.wait(lambda: page.said("saved") == "✓ Saved")
    # Otherwise the browser asks before it leaves the page.
    page.script(
        "addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)"
    )
    page.load()
    page.wait(lambda: page.decided() == decided)
    assert page.noted() == noted
    page.script("onStorage({ key: null })")  # of another window, which has no room either
    assert page.decided() == decided


def test_held_key_decides_one_row(opened) -> None:
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


@settings(max_examples=40)
@given(st.lists(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=2)))
def test_csv_is_the_same_in_the_browser_and_in_python(browser, tmp_path_factory, lines) -> None:
    folder = tmp_path_factory.getbasetemp()
    if not (folder / "csv.html").exists():
        write_review(folder / "csv.html", audit_rows(2), ReviewSummary())
    if not browser.current_url.endswith("csv.html"):
        browser.get((folder / "csv.html").as_uri())
    text = browser.execute_script("return csvText(arguments[0])", lines)
    assert browser.execute_script("return parseCsv(arguments[0])", text) == lines
    (folder / "csv.csv").write_bytes(text.encode())
    assert [[unguarded(f) for f in line] for line in read_csv(folder / "csv.csv")] == lines


def test_one_click_merges_spellings_and_decisions_are_signed(opened) -> None:
    rows = audit_rows(12, classes=("cat", "CAT", "fox", "fox "))
    page = opened(rows, corruption=np.eye(4))
    page.choose("filter-given", 0)
    page.click("tab-overview")
    spellings = ["'CAT'4 rows", "'cat'4 rows", "'fox'2 rows", "'fox␣'2 rows"]
    assert page.texts("#spellings li > div > span") == spellings
    buttons = "return [...document.querySelectorAll('#spellings button')]"
    page.script(buttons)[0].click()
    # In rows 0 and 8 the labels cat and CAT become one: they need no decision.
    assert page.decided() == {0: ["accept", "CAT"], 8: ["accept", "CAT"]}
    # Maps and filters have one class for both, also the filter that was set.
    assert page.texts("#noise-map thead th") == ["CAT", "fox", "fox "]
    options = ["any given label (6)", "CAT (4)", "fox (1)", "fox␣ (1)"]
    assert page.texts("#filter-given option") == options
    page.click("tab-review")
    assert set(page.shown()) == {k for k in rows.flagged if rows.given_labels[k] < 2}
    page.click("clear-filters")
    page.click("tab-overview")
    # A second click, also after a reload, or the undo of an import reverts both.
    path = page.export()
    page.wait(lambda: page.said("saved") == "✓ Saved")
    page.load()
    page.click("tab-overview")
    page.script(buttons)[0].click()
    assert (page.decided(), page.texts("#spellings [aria-pressed=true]")) == ({}, [])
    assert page.said("status").endswith("separate classes again; 2 rows have no decision again.")
    assert "decisions and notes on 2 rows" in page.bring(path)
    assert len(page.texts("#spellings [aria-pressed=true]")) == 1
    page.click("undo")
    assert (page.decided(), page.texts("#spellings [aria-pressed=true]")) == ({}, [])
    page.script(buttons)[0].click()
    page.script(buttons)[1].click()
    page.script(buttons)[1].click()  # kept apart again
    page.wait(lambda: page.said("saved") == "✓ Saved")
    page.find("#reviewer").send_keys(HOSTILE[0][:80], Keys.TAB)
    page.load()
    assert page.texts("#spellings [aria-pressed=true] .visually-hidden") == [" into 'CAT'"]
    decisions = read_decisions(page.export())
    assert {decision.reviewer for decision in decisions} == {HOSTILE[0][:80]}
    applied = apply_decisions(rows, decisions)
    assert applied.spellings == {"cat": "CAT"}
    assert not (applied.labels == 0).any()
    page.script("localStorage.clear()")


def test_click_on_a_decision_settles_a_row(opened, tmp_path) -> None:
    rows = text_rows(12)
    name = rows.report_id()
    first, second = ([Decision(name, "0", "new_class", "yak")], [Decision(name, "0", "accept", "")])
    first += [Decision(name, "3", "exclude", "")]
    second += [Decision(name, "3", "relabel", "owl", reviewer=HOSTILE[1])]
    reviews = {"anna.csv": first, "ben.csv": second}
    write_settle_page(tmp_path / "settle.html", rows, merge_reviews(rows, reviews))
    other = opened(rows)
    other.press("r")  # decisions on the page of the audit are not those of this one
    page = Page(other.browser, tmp_path / "settle.html", other.downloads)
    assert sorted(page.shown()) == [0, 1]  # of two rows
    assert page.decided() == {}
    page.layout("focus")
    assert page.texts(".verdicts .who") == ["anna", "ben"]
    page.script("return document.querySelector('.verdicts button')").click()
    assert page.texts(".verdicts .who") == ["anna", HOSTILE[1]]
    page.script("return document.querySelector('.verdicts button')").click()
    final = read_decisions(page.export())
    merged = merge_reviews(rows, {**reviews, "final.csv": final})
    assert not merged.disputed
    applied = apply_decisions(rows, merged.decisions)
    assert (applied.classes[applied.labels[0]], bool(applied.excluded[3])) == ("yak", True)
