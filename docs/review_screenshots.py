"""Make the pictures of docs/review.md: python docs/review_screenshots.py.

They show the audit of scikit-learn's digits, 30 % of the labels made wrong, in a headless Chromium.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sklearn.datasets import load_digits

from twohot import find_label_issues
from twohot.audit.folder import write_audit_folder
from twohot.audit.report import review_rows, review_summary
from twohot.noise import corrupt_labels, symmetric
from twohot.review import Decision, merge_reviews, write_settle_page
from twohot.review.records import ReviewRows, ReviewSummary
from twohot.tables import FeatureTable
from twohot_command.demo import grey_picture

FIGURES = Path(__file__).parent / "figures"


def digit_audit(images: Path) -> tuple[ReviewRows, ReviewSummary]:
    """Save the digits as pictures and audit their labels."""
    pixels, digits = load_digits(return_X_y=True)
    given = corrupt_labels(digits, symmetric(10, 0.3), random_state=0).given_labels
    items = tuple(f"digit_{row:04d}.png" for row in range(len(digits)))
    for item, row in zip(items, pixels, strict=True):
        Image.fromarray(grey_picture(row)).save(images / item)
    table = FeatureTable(
        features=pixels,
        labels=given,
        classes=tuple("0123456789"),
        items=items,
        item_kind="image",
    )
    issues = find_label_issues(table.features, table.coded)
    title, details = "Digits, 30 % of the labels wrong", {"source": "digits"}
    return review_rows(table, issues), review_summary(
        table.features, issues, title=title, details=details
    )


@contextmanager
def browser(width: int, height: int, *, dark: bool = False) -> Iterator[webdriver.Chrome]:
    """Open a headless Chromium that forgets everything."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    with tempfile.TemporaryDirectory() as profile:
        for flag in (
            *(
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-sync",
            ),
            *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
            *("--hide-scrollbars", f"--user-data-dir={profile}"),
        ):
            options.add_argument(flag)
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
            )
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            yield driver
        finally:
            driver.quit()


def save(driver: webdriver.Chrome, name: str) -> None:
    """Save what the browser shows, in as many colours as fit a small file."""
    path = FIGURES / f"review_{name}.png"
    driver.save_screenshot(str(path))
    # Colours of thin lines count as much as those of grounds.
    cover = Image.Quantize.MAXCOVERAGE
    Image.open(path).convert("RGB").quantize(256, cover, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def press(driver: webdriver.Chrome, keys: str) -> None:
    """Send keys to the page."""
    driver.switch_to.active_element.send_keys(keys)


def settle_page(images: Path, rows: ReviewRows) -> Path:
    """Write the page of rows on which two reviewers disagree, and return where it is."""
    first = [rows.ids[row] for row in rows.flagged[:12].tolist()]
    reviews = {
        f"{name}.csv": [Decision(rows.report_id(), row, kind, "") for row in first]
        for name, kind in (("Anna", "accept"), ("Ben", "reject"))
    }
    merged = merge_reviews(rows, reviews)
    write_settle_page(images / "settle.html", rows, merged, image_root=images)
    return images / "settle.html"


def main() -> None:
    """Write the audit of the digits and photograph its report."""
    FIGURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        images = Path(folder)
        rows, summary = digit_audit(images)
        write_audit_folder(images / "audit", rows, summary, image_root=images)
        address = (images / "audit" / "report.html").as_uri()
        with browser(1280, 900) as driver:
            driver.get(address)
            save(driver, "overview")
            driver.find_element(By.ID, "start").click()
            press(driver, "aar2")
            save(driver, "focus")
            press(driver, "af")
            driver.execute_script("goTo(0)")
            save(driver, "cards")
            press(driver, "l")
            save(driver, "relabel")
            press(driver, Keys.ESCAPE)
            driver.execute_script("scrollTo(0, 0)")
            driver.find_element(By.CSS_SELECTOR, "[data-layout=table]").click()
            for box in driver.find_elements(By.CSS_SELECTOR, "tbody input")[5:8]:
                box.click()
            save(driver, "table")
            driver.find_element(By.ID, "tab-map").click()
            lasso = ActionChains(driver).move_to_element_with_offset(
                driver.find_element(By.ID, "map-box"), -220, 120
            )
            lasso.click_and_hold()
            for step in ((60, 60), (120, -20), (40, -110), (-90, -50), (-110, 30)):
                lasso.move_by_offset(*step)
            lasso.release().perform()
            press(driver, Keys.ARROW_UP)
            driver.execute_script("byId('status').textContent = ''")
            save(driver, "map")
        with browser(1280, 900) as driver:
            driver.get(settle_page(images, rows).as_uri())
            driver.find_element(By.ID, "start").click()
            save(driver, "settle")
        with browser(390, 844, dark=True) as driver:
            driver.get(address)
            driver.find_element(By.ID, "start").click()
            save(driver, "phone")


if __name__ == "__main__":
    main()
