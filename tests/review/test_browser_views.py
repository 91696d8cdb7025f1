"""The rows of a report in a real browser: order, filters, safe text, screens of any size."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browser_page import Page, text_rows, window_of
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from audits import HOSTILE, audit_rows
from twohot.base.labels import NO_LABEL
from twohot.review.decisions import apply_decisions, read_decisions
from twohot.review.page import write_review
from twohot.review.records import (
    AlikeClasses,
    ChoiceCurve,
    Curve,
    Method,
    ReviewSummary,
    RowFinding,
)
from twohot.tables.csv_file import read_csv
from twohot.tables.row_ids import RowIds


def test_sorts_rows(opened) -> None:
    rows = audit_rows(40)
    page = opened(rows)

    def flagged(key: Any) -> list[int]:
        return sorted(rows.flagged.tolist(), key=lambda row: key[row])

    assert page.shown() == flagged(rows.label_quality)
    page.choose("sort", "confidence")
    assert page.shown() == flagged(-rows.confidence)
    page.click("direction")
    assert page.shown() == flagged(rows.confidence)
    page.choose("sort", "given")
    page.click("direction")
    assert page.shown() == flagged(rows.given_labels)
    page.choose("sort", "row")
    assert page.shown() == list(range(0, 40, 2))
    page.browser.find_element(By.XPATH, "//th/button[starts-with(text(), 'Row')]").click()
    assert page.shown() == list(range(38, -1, -2))
    assert page.texts("th[aria-sort=descending]") == ["Row ↓"]


def test_filters_rows(opened) -> None:
    rows = text_rows(40)
    page = opened(rows)
    page.choose("sort", "row")
    page.choose("filter-given", 2)
    page.choose("filter-close", 1)
    wanted = [i for i in range(0, 40, 6) if rows.given_labels[i] == 2]
    assert page.shown() == wanted
    # The options are classes that occur, with numbers of rows.
    offered = page.texts("#filter-suggested option")
    assert offered == [f"any suggestion ({len(wanted)})", f"owl ({len(wanted)})"]
    assert page.said("more-filters") == "Filters (2)"
    page.click("clear-filters")
    page.find("#search").send_keys("no such row")
    assert "No row matches" in page.said("list")
    page.click("clear-filters")
    page.find("#search").send_keys("TEXT 1")
    assert sorted(page.shown()) == [10, 12, 14, 16, 18]
    page.find("#search").send_keys(Keys.ENTER)
    page.press("a")
    page.click("clear-filters")
    page.choose("filter-decision", "accept")
    assert page.shown() == [18]


def test_hostile_text_stays_text(opened) -> None:
    # Each text has two rows; the first one is flagged.
    items = tuple(text for text in HOSTILE for _ in range(2))
    ids = RowIds([text + ", 2nd" * (row % 2) for row, text in enumerate(items)], "column", "ticket")
    rows = audit_rows(len(items), classes=HOSTILE, items=items, item_kind="text", ids=ids)
    n_classes = len(HOSTILE)
    page = opened(
        rows,
        title=HOSTILE[0],
        corruption=np.full((n_classes, n_classes), 1 / n_classes),
        correlation=np.eye(n_classes),
        methods=tuple(Method(text, 0.5) for text in HOSTILE),
        choice=ChoiceCurve(HOSTILE[1], tuple(Curve(text, ((1, 0.1),)) for text in HOSTILE)),
        messages=HOSTILE,
        details={text: text for text in HOSTILE},
    )
    assert page.browser.title == HOSTILE[0]
    assert page.script("return window.hacked") is None
    assert page.script("return document.scripts.length") == 2
    assert page.script("return document.querySelectorAll('img, iframe, object').length") == 0
    both = "['.text', '.given'].map(part => made.querySelector(part).textContent)"
    shown = [item if len(item) <= 2000 else item[:2000] + "…" for item in items]
    expected = [[shown[i], HOSTILE[rows.given_labels[i]]] for i in rows.flagged.tolist()]
    assert page.each(".card", both) == expected
    page.press(*"a" * len(HOSTILE), "l", Keys.ESCAPE)
    decided, path, names = page.decided(), page.export(), rows.id_texts()
    read = read_decisions(path)
    assert {names.index(made.id): [made.decision, made.label] for made in read} == decided
    assert apply_decisions(rows, read).n_changed == len(decided) == len(HOSTILE)
    page.press(*"u" * len(HOSTILE))
    assert f"{len(HOSTILE)} rows" in page.bring(path)
    assert page.decided() == decided
    # No field is a formula in a spreadsheet.
    assert not any(field[:1] in set("=+-@\t\r\n") for line in read_csv(path) for field in line)
    assert page.script("return window.hacked") is None


def test_page_can_run_and_load_nothing_else(opened, browser) -> None:
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
    # The blocked requests are in the log.
    browser.get_log("browser")


@pytest.mark.usefixtures("opened")
def test_shows_embedded_linked_and_missing_pictures(tmp_path, browser) -> None:
    names = ["a b#1.png", "missing.png", "broken.png", "linked?.png"]
    for name in (names[0], names[3]):
        Image.new("RGB", (300, 200), "red").save(tmp_path / name)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    rows = audit_rows(
        4,
        items=tuple(names),
        item_kind="image",
        is_label_issue=np.ones(4, dtype=bool),
        label_quality=np.arange(4) / 4,
    )
    path = tmp_path / "report.html"
    write_review(path, rows, ReviewSummary(), image_root=tmp_path, embed_limit=3)
    page = Page(browser, path, tmp_path)
    state = """made.querySelector('img') ? [made.querySelector('img').src.slice(0, 5),
        made.querySelector('img').naturalWidth] : made.querySelector('.picture').textContent"""
    page.wait(lambda: page.each(".card", state)[3] == ["file:", 300])
    assert page.each(".card", state)[:3] == [["data:", 192], "no picture", "no picture"]
    assert page.each(".path a", "made.href")[0] == (tmp_path / names[0]).as_uri()
    assert "2 of the first 3 pictures could not be read" in page.said("overview")
    page.layout("focus")  # the file itself, once it is there
    page.wait(lambda: page.script("return document.images[0].naturalWidth") == 300)


def test_card_shows_one_probability_and_the_others_as_title(opened) -> None:
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
    assert page.texts(".card .wrong") == [f"label wrong {share} %" for share in (90, 80, 70)]
    assert page.each(".wrong", "made.title") == [
        "Held-out prediction\ndog: 60 %\nfox: 25 %",
        "Held-out prediction\nfox: 50 %\ndog: 40 %",
        "Held-out prediction\nowl: 70 %",
    ]


def test_findings_show_their_rows_for_decisions(opened) -> None:
    rows = text_rows(12)
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
    page.find("#findings li:nth-child(2) button").click()
    assert page.shown() == [7, 1]
    assert page.said("progress-text") == "0 of 2 reviewed"
    # A row without a suggestion cannot be accepted.
    offered = page.each(".card:first-child [data-action]", "made.dataset.action")
    assert offered == ["reject", "second", "relabel", "exclude", "note"]
    page.press("2")
    assert page.said("progress-text") == "1 of 2 reviewed"
    page.choose("filter-finding", 0)
    assert page.shown() == [3, 10]
    assert page.texts(".neighbour") == ["dogtext 10", "dogtext 3"]
    assert page.texts(".card .mark")[0] == HOSTILE[0]
    page.choose("filter-finding", "")
    assert sorted(page.shown()) == [0, 1, 2, 3, 4, 6, 7, 8, 10]
    applied = apply_decisions(rows, read_decisions(page.export()))
    assert np.flatnonzero(applied.labels != rows.given_labels).tolist() == [7]
    page.click("clear-filters")
    assert page.shown() == flagged
    assert page.script("return window.hacked") is None


def test_long_class_names_stay_within_their_card(opened) -> None:
    classes = ("cat " * 15, "dog " * 500, "fox", "owl")
    page = opened(audit_rows(8, classes=classes, items=tuple("abcdefgh"), item_kind="text"))
    size = "[made.textContent, made.scrollHeight - made.clientHeight, made.clientHeight]"
    chips = page.each(".card .labels .label", size)
    hidden = {name: [cut, height] for name, cut, height in chips}
    assert hidden[classes[0]][0] <= 1  # a pixel of rounding
    assert hidden[classes[1]][0] > 100
    assert hidden[classes[1]][1] < 100
    # On one line, the middle is cut: long names often differ at the end.
    page.layout("table")
    cut = """const chip = document.querySelector('td .label'), [head] = chip.children;
        return [head.scrollWidth > head.clientWidth, chip.lastChild.data]"""
    page.choose("filter-given", 1)
    assert page.script(cut) == [True, classes[1][-5:]]


def test_phone_folds_filters_and_shows_the_first_card(opened, browser) -> None:
    with window_of(browser, 390, 844):
        page = opened(text_rows(12))
        search = page.find("#search")
        assert page.each(".card", "made.getBoundingClientRect().bottom")[0] < 844
        assert not search.is_displayed()
        page.click("more-filters")
        assert search.is_displayed()


@pytest.mark.slow
def test_page_of_100000_rows_has_few_elements(opened) -> None:
    n_rows = 200_000
    items = tuple(f"text of row {i}" for i in range(n_rows))
    page = opened(audit_rows(n_rows, items=items, item_kind="text"))
    count = "return document.querySelectorAll('*').length"
    n_elements = page.script(count)
    assert n_elements < 3000
    assert len(page.shown()) == 48
    page.choose("sort", "row")
    assert page.shown()[:2] == [0, 2]
    page.click("direction")
    assert page.shown()[:2] == [n_rows - 2, n_rows - 4]
    page.find("#search").send_keys("199998")
    assert page.shown() == [199998]
    page.find("#search").send_keys(Keys.ENTER)
    page.press("a")
    page.click("clear-filters")
    page.find("#pager-bottom button:last-child").click()
    page.press("k", "a", "a")
    assert page.said("progress-text") == "3 of 100,000 reviewed"
    assert abs(page.script(count) - n_elements) < 100


def test_phone_does_not_scroll_sideways(opened, browser) -> None:
    rows = audit_rows(12, classes=("a" * 200, "b" * 60, "c", "d"), items=("x" * 900,) * 12)
    rows = replace(rows, ids=RowIds([f"{'y' * 400}{row}" for row in range(12)], "column", "nr"))
    wide = "return document.documentElement.scrollWidth"
    with window_of(browser, 320, 640):
        page = opened(rows, title="t" * 300, corruption=np.eye(4), methods=(Method("m" * 60, 0.5),))
        page.press("a")
        for layout in ("focus", "cards", "table"):
            page.layout(layout)
            assert page.script(wide) <= 320
        page.click("tab-overview")
        page.click("details")
        assert page.script(wide) <= 320


def test_selected_lines_are_decided_together(opened) -> None:
    page = opened(audit_rows(40))
    rows = page.shown()
    lines = page.browser.find_elements(By.CSS_SELECTOR, "tbody td.number")
    lines[2].click()
    keys = ActionChains(page.browser).key_down(Keys.SHIFT).click(lines[5]).key_up(Keys.SHIFT)
    keys.key_down(Keys.CONTROL).click(lines[8]).click(lines[3]).key_up(Keys.CONTROL).perform()
    selected = [rows[place] for place in (2, 4, 5, 8)]
    assert page.said("bulk-count") == "4 selected"
    page.find("[data-bulk=accept]").click()
    assert sorted(page.decided()) == sorted(selected)
    page.press("u")
    assert page.decided() == {}
    assert not page.find("#bulk").is_displayed()
    page.press("s", "j")
    page.chord(Keys.SHIFT, Keys.ARROW_DOWN)
    assert page.said("bulk-count") == "2 selected"
    page.press("l", "yak", Keys.ENTER)
    assert list(page.decided().values()) == [["new_class", "yak"]] * 2
    page.click("select-page")
    page.press(Keys.ESCAPE)
    page.click("select-page")
    page.press("x")
    assert {made[0] for made in page.decided().values()} == {"exclude"}
    assert len(page.decided()) == 20


def test_menu_of_a_line_has_the_other_decisions(opened) -> None:
    page = opened(audit_rows(8))
    row = page.shown()[0]
    page.find("[data-action=more]").click()
    assert page.texts("#row-menu button > span")[1:] == ["Other…", "Exclude", "Note…"]
    page.find("#row-menu [data-action=exclude]").click()
    assert page.decided() == {row: ["exclude", ""]}


def test_screen_shows_25_lines_or_the_buttons_of_cards(opened, browser) -> None:
    rows = audit_rows(120, items=("a text of some length " * 9,) * 120, item_kind="text")
    with window_of(browser, 1280, 800):
        page = opened(rows)
        bottom = "made.getBoundingClientRect().bottom"
        buttons = page.each(".card:nth-child(-n + 4) .actions", bottom)
        assert max(buttons) < 800
        page.press("j", "j", "j", "j", "k")  # to the second line and back
        assert page.script("return scrollY") == 0
        page.layout("table")
        assert sum(place <= 800 for place in page.each("tbody tr", bottom)) >= 25
        page.script("document.querySelector('.table-scroll').scrollTop = 400")
        assert page.each("thead td", bottom)[0] < 200


def test_controls_have_names_and_tab_stops_only_at_the_current_row(opened) -> None:
    page = opened(text_rows(96))
    names = "made.textContent.trim() || made.ariaLabel || made.labels?.length"
    current = "made.closest('[data-row]')?.getAttribute('aria-current')"
    for layout in ("cards", "table"):
        page.layout(layout)
        assert all(page.each("button, input, select", names))
        stops = page.each("#list *", f"made.tabIndex >= 0 ? {current} : 0")
        stops = [stop for stop in stops if stop != 0]
        assert len(stops) < 20
        assert set(stops) - {None} == {"true"}


def test_prints_all_rows_that_match(opened) -> None:
    rows = audit_rows(240, items=HOSTILE[:12] * 20, item_kind="text")
    page = opened(rows)
    page.press("a", "x")
    page.note("mine")
    page.script("dispatchEvent(new Event('beforeprint'))")
    lines = page.texts("#print tbody tr")
    assert len(lines) == 120
    assert lines[0].startswith("238")
    assert "excluded" in lines[1]
    assert lines[2].endswith("mine")
    page.script("dispatchEvent(new Event('afterprint'))")
    assert page.texts("#print tr") == []
    assert page.script("return window.hacked") is None
