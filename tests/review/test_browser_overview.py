"""The overview of a report in a real browser: its tables, its maps and their links."""

import re

import numpy as np
from selenium.webdriver.common.keys import Keys

from audits import ANIMALS, audit_rows
from twohot.review.records import Method, WrongShare

CELLS = "[...made.cells].map(cell => cell.textContent)"  # of a line of a table


def test_overview_leads_to_the_rows_of_a_confusion(opened) -> None:
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
    cells = page.each("#noise-map tbody tr", CELLS)
    order = [3, 1, 0, 2]
    assert [line[0] for line in cells] == [ANIMALS[k] for k in order]
    percent = np.array([[int(text) for text in line[1:]] for line in cells])
    np.testing.assert_array_equal(percent, np.rint(100 * noise[np.ix_(order, order)]))
    lines = page.texts("#confusions li")
    assert [line.split()[0] for line in lines] == ["dog", "cat", "owl"]
    assert "30.0 %" in lines[0]
    page.find("#confusions button").click()
    shown = page.shown()
    assert shown
    assert all(rows.suggested_labels[i] == 1 and rows.given_labels[i] == 0 for i in shown)


def test_overview_lists_groups_and_labels_by_wrong_labels(opened) -> None:
    groups = (WrongShare("<i>Ann", 10, 6.0), WrongShare("Bob", 1234, 12.3))
    page = opened(audit_rows(40), group_shares=groups, label_shares=(WrongShare("owl", 4, 1.0),))
    page.click("tab-overview")
    heads = ["Group", "Labels", "Wrong", "<i>Ann", "Bob"]
    assert page.texts(".shares th") == [*heads, "Given label", "Labels", "Wrong", "owl"]
    assert page.texts(".shares td.number") == ["10", "60 %", "1,234", "1 %", "4", "25 %"]
    assert len(page.texts(".shares rect")) == 6
    page.find(".shares button").click()
    assert page.shown() == [i for i in range(38, -1, -2) if audit_rows(40).given_labels[i] == 3]
    page = opened(audit_rows(40), label_shares=(WrongShare("owl", 4, 1.0),))
    assert page.texts(".shares th") == []  # one label alone says what the headline does


def test_correlations_leave_out_classes_of_one_row(opened) -> None:
    correlation = np.full((4, 4), np.nan)
    known = np.ix_([0, 1, 3], [0, 1, 3])
    correlation[known] = [[0.5, 0.1, 0.2], [0.1, 0.6, 0.3], [0.2, 0.3, 0.7]]
    page = opened(audit_rows(40), correlation=correlation, class_order=np.array([3, 1, 0, 2]))
    page.click("tab-overview")
    cells = page.each("#correlation-map tbody tr", CELLS)
    assert [line[0] for line in cells] == [ANIMALS[k] for k in (3, 1, 0)]
    shade = page.each("#correlation-map tbody td > *", "made.style.background")[0]
    red, _, blue = map(int, re.findall(r"\d+", shade))
    assert red > blue  # as in figures; shares are blue
    shown = [".70", ".30", ".20"], [".30", ".60", ".10"], [".20", ".10", ".50"]
    assert [line[1:] for line in cells] == [*shown]


def test_long_class_names_fit_around_a_map(opened) -> None:
    classes = ("a ticket about billing", "a ticket about refunds", "delivery that is late", "owl")
    page = opened(audit_rows(40, classes=classes), corruption=np.eye(4), correlation=np.eye(4))
    page.click("tab-overview")
    fits = "made.scrollWidth <= made.clientWidth && made.scrollHeight <= made.clientHeight"
    headings = page.each("#noise-map th span", f"[made.textContent, {fits}]")
    assert headings == [[name, True] for name in classes * 2]


def test_many_classes_are_drawn_on_a_canvas(opened) -> None:
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
    page.click("tab-overview")
    assert page.texts("#noise-map .is-left span")[:2] == ["k0", "k2"]  # every other one fits
    assert page.texts(".heat-scale") == ["0 %100 %"]
    page.script("document.querySelector('.heat-cells').focus()")
    page.press(*[Keys.ARROW_DOWN] * 3, *[Keys.ARROW_RIGHT] * 6, Keys.ARROW_LEFT)
    assert page.texts(".heat-value") == ["50.0 % of the rows of k3 are labelled k5"]
    page.press(Keys.ENTER)
    assert page.each("#filter-suggested, #filter-given", "made.value") == ["5", "3"]


def test_arrow_keys_move_within_a_table_of_classes(opened) -> None:
    page = opened(audit_rows(40), corruption=np.eye(4))
    page.click("tab-overview")
    page.script("document.querySelector('#noise-map button').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert (
        page.script("return document.activeElement.title")
        == "0.0 % of the rows of dog are labelled fox"
    )
    assert sorted(page.each("#noise-map button", "made.tabIndex"))[-2:] == [-1, 0]
