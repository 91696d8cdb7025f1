"""Draw the README's two pictures: a data set before and after, and the comparison in one chart.

    python docs/readme_figures.py

The chart is drawn from the records of the benchmark; its numbers are kept beside it as CSV, which
a test compares with the records. Run it again when these have changed.
"""

import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the benchmarks are no part of the package

from benchmarks.audit.ours import OurResult  # noqa: E402
from benchmarks.audit.peers import PeerResult  # noqa: E402
from benchmarks.audit.plan import OurRun, PeerRun, Setting  # noqa: E402
from twohot import find_label_issues  # noqa: E402
from twohot.base import BLUE, ORANGE, VERMILION  # noqa: E402
from twohot.describe import demo_data  # noqa: E402
from twohot_command.demo import grey_picture  # noqa: E402
from twohot_paper import Log  # noqa: E402

RECORDS = HERE.parent / "benchmarks/audit/runs.jsonl"
NUMBERS = HERE / "figures/readme_comparison.csv"
CHART = HERE / "figures/readme_comparison.png"
BEFORE_AFTER = HERE / "figures/readme_before_after.png"

# No wrong labels and many, drawn at random, between pairs of classes, where classes meet, and by
# people.
SETTINGS = {
    "digits, clean": Setting("digits", "none", 0.0, "all"),
    "digits, 60 % at random": Setting("digits", "symmetric", 0.6, "all"),
    "digits, 20 % where classes meet": Setting("digits", "boundary", 0.2, "all"),
    "BANKING77, 40 % in pairs of classes": Setting("banking77", "pair", 0.4, "balanced"),
    "Flowers-102, 60 % at random": Setting("flowers102", "symmetric", 0.6, "balanced"),
    "CIFAR-100, by people": Setting("cifar100", "people", 0.0, "3000"),
}
# How the chart draws a method.
METHODS = {
    "LogisticRegression": (BLUE, "o"),
    "cleanlab": (ORANGE, "s"),
    "twohot": (VERMILION, "D"),
}
SCORES = {"accuracy": "accuracy on clean test rows, %", "f1": "F1 of the flagged labels, %"}
HEADER = ["setting", "method", *SCORES]

Results = Mapping[int, Any]  # by draw


def chart_rows() -> list[list[str]]:
    """Return the numbers of the chart: a setting, a method, and what it scored in per cent.

    Means over the draws that both have; a method without a record has no numbers.
    """
    log = Log(RECORDS)
    peers, ours = (
        {(record.run.setting, record.run.draw): record.result for record in log.finished(*kind)}
        for kind in ((PeerRun, PeerResult), (OurRun, OurResult))
    )
    rows = []
    for title, setting in SETTINGS.items():
        peer, our = (
            {draw: result for (each, draw), result in found.items() if each == setting}
            for found in (peers, ours)
        )
        draws = sorted(peer.keys() & our.keys() if our else peer)
        rows += [[title, *cells] for cells in _cells(peer, our, draws)]
    return rows


def _cells(peer: Results, our: Results, draws: list[int]) -> list[list[str]]:
    """Return the cells of a setting: a method and its scores."""

    def points(score: Callable[[Any], float | None], results: Results) -> str:
        values = [score(results[draw]) for draw in draws if draw in results]
        known = [value for value in values if value is not None]
        return f"{100 * mean(known):.1f}" if known else ""

    # Of cleanlab's rules the better one counts, read on the truth: in its favour.
    rules = [points(lambda each, r=rule: each.f1[r], peer) for rule in ("default", "argmax")]
    return [
        [
            "LogisticRegression",
            points(lambda each: each.accuracy["LogisticRegression"], peer),
            "",
        ],
        [
            "cleanlab",
            points(lambda each: each.accuracy["CleanLearning"], peer),
            max(rules, key=lambda cell: float(cell or 0)),
        ],
        ["twohot", points(lambda each: each.accuracy, our), points(lambda each: each.f1, our)],
    ]


def draw_chart(rows: list[list[str]]) -> None:
    """Draw two panels of points, a line for each setting."""
    figure, axes = new_figure(9, 3.4, 2)
    titles = list(SETTINGS)
    for axis, (score, label) in zip(axes, SCORES.items(), strict=True):
        column = HEADER.index(score)
        for method, (colour, marker) in METHODS.items():
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
    # A person who reviews also decides the close calls.
    corrected = np.asarray(issues.corrected_labels(undecided=True)).astype(int)
    wrong = np.flatnonzero(data.given_labels != data.true_labels)
    right = np.flatnonzero(data.given_labels == data.true_labels)
    rng = np.random.default_rng(0)
    shown = rng.permutation(
        [*rng.choice(wrong, 6, replace=False), *rng.choice(right, 14, replace=False)]
    )
    figure, axes = new_figure(9, 3.05, 3)
    titles = ("your labels", "the review", "the corrected file")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title)
        axis.axis("off")
        for place, row in enumerate(shown):
            x, y = place % 5, 1.15 * (place // 5)
            axis.imshow(grey_picture(data.features[row]), "gray", extent=(x, x + 0.7, -y, -y + 0.7))
            if title == titles[0]:
                text, colour = str(data.given_labels[row]), "black"
            elif title == titles[2]:
                text, colour = str(corrected[row]), BLUE if issues.is_label_issue[row] else "black"
            elif issues.is_label_issue[row]:
                text, colour = f"{data.given_labels[row]}→{corrected[row]}", VERMILION
            else:
                text, colour = "✓", "0.6"
            axis.text(x + 0.35, -y - 0.2, text, ha="center", va="center", color=colour)
        axis.set(xlim=(-0.4, 5.1), ylim=(-3.85, 0.9))
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
