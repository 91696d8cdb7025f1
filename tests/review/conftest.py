"""A real browser for the tests of the review."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_page import Page
from selenium import webdriver

from twohot.review.page import write_review
from twohot.review.records import ReviewRows, ReviewSummary

# Without network traffic and without a screen.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--window-size=1280,900",
)


@pytest.fixture
def killed_and_started_again(tmp_path: Path, downloads: Path) -> Iterator[Callable[[], Any]]:
    """Each call kills the browser and starts it again with the same profile."""
    profile, running = tmp_path / "profile", []

    def start() -> webdriver.Chrome:
        if running:
            lock = profile / "SingletonLock"  # a link to host-process
            os.kill(int(str(lock.readlink()).rpartition("-")[2]), signal.SIGKILL)
            running.pop().service.stop()
            for left in profile.glob("Singleton*"):
                left.unlink()
        running.append(start_browser(profile, downloads))
        return running[0]

    yield start
    for browser in running:  # none if there is no browser to start
        browser.quit()


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


def start_browser(profile: Path, downloads: Path) -> webdriver.Chrome:
    """Start a browser; skip the test if none is installed."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed: the report is not tested in one")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(driver))


@pytest.fixture(scope="session")
def browser(
    tmp_path_factory: pytest.TempPathFactory, downloads: Path
) -> Iterator[webdriver.Chrome]:
    chrome = start_browser(tmp_path_factory.mktemp("profile"), downloads)
    yield chrome
    chrome.quit()


@pytest.fixture
def fresh(browser):
    """Return the browser without anything stored; afterwards its log has no error."""
    browser.get("file:///")
    browser.execute_script("localStorage.clear(); indexedDB.deleteDatabase('twohot-review')")
    browser.get_log("browser")
    yield browser
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []


@pytest.fixture
def opened(fresh, tmp_path, downloads):
    """Open the report of some rows."""

    def write_and_open(rows: ReviewRows, name: str = "report.html", **summary: Any) -> Page:
        write_review(tmp_path / name, rows, ReviewSummary(**summary), image_root=tmp_path)
        return Page(fresh, tmp_path / name, downloads)

    return write_and_open
