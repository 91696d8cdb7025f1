"""One row at a time in a real browser: its content, keys, address, and the end."""

import numpy as np
from browser_page import text_rows
from selenium.webdriver.common.keys import Keys

from audits import HOSTILE, audit_rows
from twohot.review.records import NO_ROW, Evidence, NearestRows, RowFinding


def test_primary_button_leads_to_the_first_label(opened) -> None:
    page = opened(text_rows(200))
    page.click("tab-overview")
    assert page.said("start") == "Start reviewing 100 labels"
    assert len(page.texts("main .primary")) == 1
    assert not page.find("#export").is_enabled()
    page.click("start")
    page.press("a", "r")
    assert page.said("pager-top") == "←3 of 100→"
    assert page.find("#export").is_enabled()
    page.wait(lambda: page.said("saved") == "✓ Saved")
    page.click("tab-overview")
    assert page.said("start") == "Continue reviewing 98 labels"
    page.click("start")
    assert page.said("pager-top") == "←3 of 100→"


def test_mouse_decides_rows_and_open_ones_come_first(opened) -> None:
    page = opened(text_rows(12))
    order = page.shown()
    page.layout("focus")
    page.press("j")
    for _ in range(5):
        page.find(".focus [data-action=accept]").click()
    assert page.current() == order[0]  # the one that was passed over
    page.press("k", "a")
    assert len(page.decided()) == 6
    assert "All rows of this list are reviewed" in page.said("list")
    page.find("#list .primary").click()
    page.wait(lambda: page.said("status").startswith("6 decisions saved as decisions-"))
    assert page.said("status").endswith(f"Next: {page.script('return report.nextStep')}")
    page.press("u")
    assert len(page.decided()) == 5


def test_row_shows_labels_nearest_rows_and_a_reason(opened) -> None:
    rows = audit_rows(
        8, items=HOSTILE[:8], item_kind="text", label_quality=np.array([0, 1, 0.2, 1, 0.5, 1, 1, 1])
    )
    near = NearestRows(np.array([[3, 1], [5, 7]]), np.array([[0.95, 0.91], [0.8, 0.7]]))
    given = NearestRows(np.array([[5, 7], [1, NO_ROW]]), np.array([[0.4, 0.3], [0.9, np.nan]]))
    page = opened(
        rows,
        evidence=Evidence(rows=np.array([0, 2]), suggested=near, given=given),
        findings=(RowFinding("outliers", "Like no other row.", np.array([1]), np.zeros(1)),),
    )
    parts = "[...made.querySelectorAll('.nearest .label, .neighbour')].map(p => p.textContent)"
    near_both = ["0.40" + HOSTILE[5], "0.30" + HOSTILE[7], "0.95" + HOSTILE[3], "0.91" + HOSTILE[1]]
    assert page.each(".card", parts)[::2] == [["dog", *near_both[2:], "cat", *near_both[:2]], []]
    page.layout("focus")
    assert page.texts(".focus .text") == [HOSTILE[0]]
    assert page.texts(".candidate > .label") == ["cat", "dog"]
    assert page.texts(".candidate .neighbour") == near_both
    # The predicted distribution, not the probability that the label is wrong.
    assert page.texts(".predicted > span") == ["dog50 %", "fox50 %", "others < 1 %"]
    reasons = [page.texts(".why")[0]]
    for _ in range(3):
        page.press("j")
        reasons += page.texts(".why")
    nearer = (
        "the nearest rows labelled “{}” are more similar than "
        "those labelled “{}” (mean cosine {} against {})."
    )
    assert reasons[:3] == [
        "“cat” is wrong with probability > 99 %; a close call between “dog” and “fox”: "
        + nearer.format("dog", "cat", 0.93, 0.35),
        "“dog” is wrong with probability 80 %, although "
        + nearer.format("dog", "fox", "0.90", 0.75),
        "“fox” is wrong with probability 50 %; the most probable class is “owl”.",
    ]
    page.choose("filter-finding", 0)
    assert page.texts(".why") == ["outliers: Like no other row."]
    assert page.script("return window.hacked") is None


def test_address_of_a_row_leads_to_it_despite_filters(opened) -> None:
    page = opened(text_rows(12))
    page.layout("focus")
    page.press("j", "j")
    row = page.current()
    address = f"{page.address}#row={row}"
    page.wait(lambda: page.browser.current_url == address)
    page.layout("cards")
    page.wait(lambda: page.browser.current_url == page.address)
    page.find("#search").send_keys("text 10")
    page.script("location.hash = arguments[0]", f"row={row}")
    page.wait(lambda: page.current() == row)
    page.browser.get("about:blank")
    page.browser.get(address)
    assert page.current() == row
    page.press(Keys.ESCAPE)
    assert len(page.shown()) == 6
    page.script("location.hash = 'row=99'")
    page.wait(lambda: "not part of the review" in page.said("status"))
    page.press("f")
    assert page.current() == row


def test_page_without_rows_offers_nothing(opened) -> None:
    page = opened(audit_rows(4, is_label_issue=np.zeros(4, dtype=bool)))
    for layout in ("focus", "cards", "table"):
        page.layout(layout)
        page.press("a", "j", "u", "s", "x", Keys.ESCAPE)
        assert page.said("list") == "No label was flagged."
    page.click("tab-overview")
    assert page.said("answer-title") == "0 labels flagged"
    assert not page.find(".next").is_displayed()
