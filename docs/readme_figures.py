"""Draw the README's two pictures: a data set before and after, and the comparison in one chart.

    python docs/readme_figures.py

The chart is drawn from the records of the benchmark; its numbers are kept beside it as CSV, which
a test compares with the records. Run it again when these have changed.
"""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the benchmarks are no part of the package

from benchmarks.audit.runs import AuditResult, AuditRun, Setting  # noqa: E402
from benchmarks.audit.summary import Comparison  # noqa: E402

from twohot.audit.find_issues import find_label_issues  # noqa: E402
from twohot.digits_demo import demo_data, grey_picture  # noqa: E402
from twohot.experiment import Log  # noqa: E402
from twohot.figures.palette import BLUE, ORANGE, VERMILION  # noqa: E402

RECORDS = HERE.parent / "benchmarks/audit/runs.jsonl"
NUMBERS = HERE / "figures/readme_comparison.csv"
CHART = HERE / "figures/readme_comparison.png"
BEFORE_AFTER = HERE / "figures/readme_before_after.png"

# Few wrong labels and many, drawn at random, where classes meet, and by people.
SETTINGS = {
    "digits, clean": Setting("digits", "clean", 0.0),
    "digits, 30 % at random": Setting("digits", "symmetric", 0.3),
    "digits, 40 % where classes meet": Setting("digits", "idn", 0.4),
    "BANKING77, 30 % at random": Setting("BANKING77", "symmetric", 0.3),
    "Flowers-102, 30 % at random": Setting("Flowers-102", "symmetric", 0.3),
    "CIFAR-100, 40 % by people": Setting("CIFAR-100", "human", 0.402),
}
# What the chart calls a method, its names in the records, and how it is drawn. Of cleanlab's
# variants the best one counts, setting by setting and read on the truth: in its favour.
METHODS = {
    "LogisticRegression": (("LogisticRegression",), BLUE, "o"),
    "cleanlab": (
        ("CleanLearning", "CleanLearning, own C", "cleanlab, default", "cleanlab, argmax"),
        ORANGE,
        "s",
    ),
    "twohot": (("AutoProbe",), VERMILION, "D"),
}
SCORES = {"accuracy": "right on clean test rows, %", "f1": "F1 of the flagged labels, %"}
HEADER = ["setting", "method", *SCORES]


def chart_rows() -> list[list[str]]:
    """Return the numbers of the chart: a setting, a method, and what it scored in per cent."""
    comparison = Comparison(Log(RECORDS).finished(AuditRun, AuditResult))
    return [
        [title, method, *(_best(comparison, setting, names, score) for score in SCORES)]
        for title, setting in SETTINGS.items()
        for method, (names, _, _) in METHODS.items()
    ]


def _best(comparison: Comparison, setting: Setting, names: tuple[str, ...], score: str) -> str:
    means = [comparison.mean(setting, name, score) for name in names]
    return f"{100 * max(mean.value for mean in means if mean):.1f}" if any(means) else ""


def draw_chart(rows: list[list[str]]) -> None:
    """Draw two panels of points, a line for each setting."""
    figure, axes = new_figure(9, 3.4, 2)
    titles = list(SETTINGS)
    for axis, (score, label) in zip(axes, SCORES.items(), strict=True):
        column = HEADER.index(score)
        for method, (_, colour, marker) in METHODS.items():
            found = [
                (row[0], float(row[column])) for row in rows if row[1] == method and row[column]
            ]
            places = [titles.index(title) for title, _ in found]
            values = [value for _, value in found]
            if found:
                style = {"color": colour, "marker": marker, "linestyle": "", "markersize": 7}
                axis.plot(values, places, label=method, **style)
        axis.set(xlabel=label, ylim=(len(titles) - 0.5, -0.5))
        axis.set_yticks(range(len(titles)), titles)
        axis.grid(axis="both", alpha=0.3)
    axes[1].tick_params(labelleft=False)
    axes[0].legend(loc="upper left", fontsize="small")
    figure.savefig(CHART, dpi=150)


def draw_before_after() -> None:
    """Draw some digits with the labels they came with, what is flagged, and the corrected ones."""
    data = demo_data(0.3, 0)
    issues = find_label_issues(data.features, data.given_labels)
    corrected = np.asarray(issues.corrected_labels()).astype(int)
    wrong = np.flatnonzero(data.given_labels != data.true_labels)
    right = np.flatnonzero(data.given_labels == data.true_labels)
    rng = np.random.default_rng(0)
    shown = rng.permutation(
        [*rng.choice(wrong, 6, replace=False), *rng.choice(right, 14, replace=False)]
    )
    figure, axes = new_figure(9, 3.5, 3)
    titles = ("your labels", "the review", "the corrected file")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title)
        axis.axis("off")
        for place, row in enumerate(shown):
            x, y = place % 5, place // 5
            axis.imshow(grey_picture(data.features[row]), "gray", extent=(x, x + 0.7, -y, -y + 0.7))
            if title == titles[0]:
                text, colour = str(data.given_labels[row]), "black"
            elif title == titles[2]:
                text, colour = str(corrected[row]), BLUE if issues.is_label_issue[row] else "black"
            elif issues.is_label_issue[row]:
                text, colour = f"{data.given_labels[row]}→{corrected[row]}", VERMILION
            else:
                text, colour = "✓", "0.6"
            axis.text(x + 0.35, -y - 0.17, text, ha="center", va="center", color=colour)
        axis.set(xlim=(-0.4, 5.1), ylim=(-3.4, 0.9))
    figure.savefig(BEFORE_AFTER, dpi=150)


def new_figure(width: float, height: float, n_panels: int) -> Any:
    """Return a figure and its panels."""
    from matplotlib.figure import Figure  # noqa: PLC0415 (the numbers need none)

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, n_panels)


def main() -> None:
    """Write the pictures and the numbers."""
    rows = chart_rows()
    with NUMBERS.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    draw_chart(rows)
    draw_before_after()


if __name__ == "__main__":
    main()
