"""Make the pictures of docs/review.md: python docs/review_screenshots.py.

They show the audit of scikit-learn's digits, 30 % of the labels made wrong, in a headless Chromium.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

from twohot import LinearProbe, PartialLabelProbe
from twohot.features import corrupt_labels, symmetric
from twohot.report.audit_folder import write_audit_folder
from twohot.report.review_records import ChoiceCurve, Curve, Method, ReviewRows, ReviewSummary

FIGURES = Path(__file__).parent / "figures"
RIDGES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
# Candidates closer than this are left to the reviewer.
CLOSE = 0.1


PROBES = {
    "plain probe": LinearProbe(),
    "robust loss": LinearProbe(loss="gce"),
    "two-hot student": PartialLabelProbe(),
}


def digit_audit(images: Path) -> tuple[ReviewRows, ReviewSummary]:
    """Save the digits as pictures and audit their labels, with the probe that agrees best."""
    pixels, digits = load_digits(return_X_y=True)
    given = corrupt_labels(digits, symmetric(10, 0.3), random_state=0).given_labels
    items = tuple(f"digit_{row:04d}.png" for row in range(len(digits)))
    for item, row in zip(items, pixels, strict=True):
        picture = 255 - np.minimum(16 * row.reshape(8, 8), 255).astype(np.uint8)
        Image.fromarray(picture).save(images / item)

    scores = {
        name: [cross_val_score(clone(probe).set_params(ridge=r), pixels, given) for r in RIDGES]
        for name, probe in PROBES.items()
    }
    agreement, ridge, name = max(
        (score.mean(), ridge, name)
        for name, tried in scores.items()
        for ridge, score in zip(RIDGES, tried, strict=True)
    )
    probe = clone(PROBES[name]).set_params(ridge=ridge).fit(pixels, given)
    rows = _rows(probe.predict_proba(pixels), given, items)
    return rows, _summary(rows, pixels, scores, (name, ridge, agreement))


def _rows(outputs: np.ndarray, given: np.ndarray, items: tuple[str, ...]) -> ReviewRows:
    """Return the audit that probabilities make: the likeliest class against the given label."""
    row, order = np.arange(len(given)), np.argsort(-outputs, axis=1)
    best, second = order[:, 0], order[:, 1]
    return ReviewRows(
        classes=tuple("0123456789"),
        row=row,
        given_labels=given,
        suggested_labels=best,
        second_labels=second,
        label_quality=outputs[row, given],
        confidence=outputs[row, best],
        is_label_issue=best != given,
        is_undecided=outputs[row, best] - outputs[row, second] < CLOSE,
        items=items,
        item_kind="image",
    )


def _summary(
    rows: ReviewRows,
    pixels: np.ndarray,
    scores: dict[str, list[np.ndarray]],
    chosen: tuple[str, float, float],
) -> ReviewSummary:
    """Return what the report says about the digits as a whole."""
    name, ridge, agreement = chosen
    best = rows.suggested_labels
    counts = np.zeros((10, 10))
    np.add.at(counts, (best, rows.given_labels), 1)
    means = np.array([(pixels - pixels.mean(axis=0))[best == k].mean(axis=0) for k in range(10)])
    peaks = {probe: max(tried, key=np.mean) for probe, tried in scores.items()}
    curves = tuple(
        Curve(probe, RIDGES, tuple(float(score.mean()) for score in tried))
        for probe, tried in scores.items()
    )
    share = float(rows.is_label_issue.mean())
    return ReviewSummary(
        title="Digits, 30 % of the labels wrong",
        noise_rate=share,
        noise_matrix=counts / counts.sum(axis=1, keepdims=True),
        methods=tuple(
            Method(
                probe, float(folds.mean()), float(folds.std() / len(folds) ** 0.5), probe == name
            )
            for probe, folds in peaks.items()
        ),
        choice=ChoiceCurve("ridge", curves, (ridge, agreement)),
        correlation=np.corrcoef(means),
        messages=(
            f"About {100 * share:.0f} % of the labels look wrong.",
            "No pair of classes stands out; look at the undecided rows first.",
        ),
        details={"probe": name, "penalty": f"ridge {ridge:g}"},
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
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def press(driver: webdriver.Chrome, keys: str) -> None:
    """Send keys to the page."""
    driver.switch_to.active_element.send_keys(keys)


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
            driver.find_element(By.ID, "tab-review").click()
            press(driver, "aar2a")
            save(driver, "cards")
            press(driver, "l")
            save(driver, "relabel")
            press(driver, Keys.ESCAPE)
            driver.execute_script("scrollTo(0, 0)")
            driver.find_element(By.ID, "layout").click()
            save(driver, "table")
        with browser(390, 844, dark=True) as driver:
            driver.get(address)
            driver.find_element(By.ID, "tab-review").click()
            save(driver, "phone")


if __name__ == "__main__":
    main()
