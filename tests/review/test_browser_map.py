"""The map of the embeddings in a real browser: lasso, keys, legend, and small screens."""

import numpy as np
import pytest
from browser_page import Page, text_rows, window_of
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from audits import HOSTILE
from twohot.review.records import EmbeddingMap

# A grid of rows of four classes, from bottom left to top right.
GRID = np.stack(np.meshgrid(np.arange(6), np.arange(4)), axis=-1).reshape(-1, 2).astype(float)


def grid_map(**changes) -> EmbeddingMap:
    fields = {"method": "pca", "rows": np.arange(24), "coordinates": GRID, "variance": 0.5}
    return EmbeddingMap(**{**fields, **changes})


@pytest.fixture
def page(opened) -> Page:
    page = opened(text_rows(24), embedding_map=grid_map())
    page.click("tab-map")
    return page


def place_of(page: Page, row: int) -> list[float]:
    """Return the offset of a row from the middle of the map, in pixels."""
    return page.script(
        "const k = arguments[0], [width, height] = size();"
        "const [left, top] = toPixels(plot.points.x[k], plot.points.y[k]);"
        "return [left - width / 2, top - height / 2]",
        row,
    )


def draw_round(page: Page, first: int, last: int) -> None:
    """Draw a lasso around the rectangle between two rows."""
    box = page.find("#map-box")
    (left, bottom), (right, top) = place_of(page, first), place_of(page, last)
    corners = [(left - 9, bottom + 9), (right + 9, bottom + 9), (right + 9, top - 9)]
    actions = ActionChains(page.browser, duration=20)
    actions.move_to_element_with_offset(box, *map(int, corners[0])).click_and_hold()
    for x, y in (*corners[1:], (left - 9, top - 9)):
        actions.move_to_element_with_offset(box, int(x), int(y))
    actions.release().perform()


def test_lasso_is_a_filter_next_to_others(page) -> None:
    draw_round(page, 0, 9)  # columns 0 to 3 of the two lower lines
    assert page.said("map-count") == "8 points selected"
    assert page.said("map-review") == "Review 4 rows"
    page.click("map-review")
    assert sorted(page.shown()) == [0, 2, 6, 8]
    page.choose("filter-given", 0)
    assert sorted(page.shown()) == [0, 8]
    assert page.said("drop-lasso") == "Lasso (4) ✕"
    page.click("tab-map")
    assert page.said("map-review") == "Review 2 rows"
    page.click("tab-review")
    page.click("drop-lasso")
    assert sorted(page.shown()) == [0, 8, 16]
    assert not page.find("#drop-lasso").is_displayed()
    page.click("tab-map")
    assert not page.find("#map-selection").is_displayed()
    # Without a pointer, a button selects all visible points.
    page.click("map-view")
    assert page.said("map-count") == "24 points selected"
    page.script("selectInside([[2, 2], [3, 2], [3, 3]])")  # round no point
    assert not page.find("#map-selection").is_displayed()
    page.click("map-view")
    page.click("tab-overview")
    page.click("start")
    assert page.said("pager-top") == "←1 of 12→"


def test_arrow_keys_move_and_enter_opens(page) -> None:
    page.script("byId('map-box').focus()")
    page.press(Keys.ARROW_UP)
    assert page.said("map-tip").startswith("Row 22")  # the most suspicious one
    page.press(Keys.ARROW_LEFT)
    assert page.said("map-said") == "Row 20: given fox, suggested owl; press Enter to open it"
    page.chord(Keys.SHIFT, Keys.ARROW_LEFT)
    assert page.said("map-said") == "Row 19: given dog, suggested dog"
    assert "not part of the review" in page.said("map-tip")
    page.press(Keys.ENTER)  # there is nothing to open
    page.press(Keys.ARROW_DOWN, "+", "+", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
    assert page.script("return page.layout") == "focus"
    assert page.current() == 22
    page.press("a")
    assert page.decided() == {22: ["accept", "cat"]}
    page.script("byId('tab-review').focus()")
    page.press(Keys.ARROW_RIGHT)
    assert page.find("#map-box").is_displayed()
    page.press(Keys.ARROW_RIGHT)
    assert page.find("#overview").is_displayed()


def test_pointer_reads_a_point_and_a_click_opens_it(page) -> None:
    box = page.find("#map-box")
    at = [int(value) for value in place_of(page, 8)]
    ActionChains(page.browser).move_to_element_with_offset(box, *at).perform()
    said = page.said("map-tip")
    assert said.startswith("Row 8cat→dog")
    assert "text 8" in said
    page.find("[data-tool=move]").click()
    page.click("map-in")
    ActionChains(page.browser).drag_and_drop_by_offset(box, 60, 0).perform()
    assert page.script("return plot.selected") is None
    page.click("map-all")
    ActionChains(page.browser).move_to_element_with_offset(box, *at).click().perform()
    assert page.current() == 8


def test_legend_selects_a_class_by_keys(page) -> None:
    pixels = """drawPoints(); const found = new Set(new Uint32Array(plot.image.data.buffer));
        return Object.fromEntries([...document.querySelectorAll('#map-legend button')].map((b, k) =>
            [b.children[1].textContent, found.has(packedColour(`--hue-${k}`))]))"""
    assert page.script(pixels) == dict.fromkeys(("cat", "dog", "fox", "owl"), True)
    page.script("document.querySelector('#map-legend button').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    assert page.texts("#map-legend [aria-pressed=true]") == ["●dog6"]
    assert page.script(pixels) == {"cat": False, "dog": True, "fox": False, "owl": False}
    # Then the button selects only points of the class.
    page.click("map-view")
    assert page.said("map-count") == "6 points selected"
    page.click("map-drop")
    page.choose("map-colour", "wrong")
    entries = page.texts("#map-legend button")
    shares = [("80 to 100", 4), ("60 to 80", 5), ("40 to 60", 3), ("0 to 20", 12)]
    assert entries == [f"●{share} % wrong{count}" for share, count in shares]
    assert sorted(page.each("#map-legend button", "made.tabIndex")) == [-1, -1, -1, 0]


def test_hostile_names_stay_text_and_fit_on_a_phone(opened, browser) -> None:
    classes = (HOSTILE[0], HOSTILE[1], "a" * 200, "b " * 100)
    found = grid_map(groups=[HOSTILE[k % 3] for k in range(24)])
    with window_of(browser, 320, 640):
        page = opened(text_rows(24, classes=classes), embedding_map=found)
        page.click("tab-map")
        page.choose("map-colour", "group")
        assert {text[1:-1] for text in page.texts("#map-legend button")} == set(HOSTILE[:3])
        page.script("byId('map-box').focus()")
        page.press(Keys.ARROW_UP, Keys.ARROW_LEFT)
        page.click("map-view")
        assert page.script("return document.documentElement.scrollWidth") <= 320
        assert page.script("return window.hacked") is None
