"""Pages in a real browser: what a reviewer does on them, and what they show."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from audits import audit_rows
from twohot.review.records import ReviewRows


def text_rows(n_rows: int, **changes: Any) -> ReviewRows:
    """Return rows of `audit_rows`, each with a short text."""
    return audit_rows(
        n_rows, items=tuple(f"text {i}" for i in range(n_rows)), item_kind="text", **changes
    )


class BrowserPage:
    """A page in the browser."""

    def __init__(self, browser: webdriver.Chrome, path: Path, downloads: Path) -> None:
        self.browser, self.address, self.downloads = browser, path.resolve().as_uri(), downloads
        self.load()

    def load(self) -> None:
        self.browser.get(self.address)

    def script(self, code: str, *arguments: Any) -> Any:
        return self.browser.execute_script(code, *arguments)

    def wait(self, condition: Any) -> None:
        WebDriverWait(self.browser, 60, 0.05).until(lambda _: condition())

    def press(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def chord(self, held: str, key: str) -> None:
        ActionChains(self.browser).key_down(held).send_keys(key).key_up(held).perform()

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def each(self, selector: str, expression: str) -> list[Any]:
        """Return the value of an expression in JavaScript for each matching element `made`."""
        code = f"return [...document.querySelectorAll(arguments[0])].map(made => {expression})"
        return self.script(code, selector)

    def texts(self, selector: str) -> list[str]:
        return self.each(selector, "made.textContent")

    def said(self, name: str) -> str:
        return self.script("return document.getElementById(arguments[0]).textContent", name)

    def saved(self, name: str, button: str) -> Path:
        """Return the file that a button saves."""
        target = self.downloads / name
        target.unlink(missing_ok=True)
        self.click(button)
        # A browser names the file before it has written it.
        self.wait(lambda: target.exists() and target.stat().st_size)
        return target

    def click(self, name: str) -> None:
        self.script("scrollTo(0, 0)")
        self.find(f"#{name}").click()


class Page(BrowserPage):
    """A review page in the browser."""

    def load(self) -> None:
        super().load()
        self.find("#tab-review").click()

    def note(self, text: str) -> None:
        """Write a note on the current row."""
        self.press("n", text)
        self.chord(Keys.CONTROL, Keys.ENTER)

    def choose(self, name: str, value: object) -> None:
        select = self.find(f"#{name}")
        if not select.is_displayed():
            self.click("more-filters")
        Select(select).select_by_value(str(value))

    def layout(self, name: str) -> None:
        self.script("scrollTo(0, 0)")
        self.find(f"[data-layout={name}]").click()

    def shown(self) -> list[int]:
        """Return the positions in the data of the listed rows."""
        return self.each("#list [data-row]", "report.row[made.dataset.row]")

    def current(self) -> int:
        return self.each("[aria-current=true]", "report.row[made.dataset.row]")[0]

    def decided(self) -> dict[int, list[str]]:
        pairs = self.script(
            "return [...decisions].map(([i, d]) => [report.row[i], d.kind, className(d.label)])"
        )
        return {row: rest for row, *rest in pairs}

    def noted(self) -> dict[int, str]:
        return dict(self.script("return [...notes].map(([i, text]) => [report.row[i], text])"))

    def export(self) -> Path:
        return self.saved(f"decisions-{self.script('return report.report')}.csv", "export")

    def bring(self, path: Path) -> str:
        """Import a file and return the message of the page."""
        self.script("document.getElementById('status').textContent = ''")
        self.find("#import-file").send_keys(str(path))
        self.wait(lambda: self.said("status"))
        return self.said("status")


@contextmanager
def window_of(browser: webdriver.Chrome, width: int, height: int) -> Iterator[None]:
    """Give the browser a window of another size; a narrow one is that of a phone."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
