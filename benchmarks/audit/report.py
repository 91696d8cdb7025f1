"""The pages: the requirements with a figure; losses beside wins, and every setting."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks.audit.ours import PRECISION, OurResult
from benchmarks.audit.peers import PeerResult
from benchmarks.audit.plan import PEOPLE, OurRun, PeerRun, Setting, settings
from benchmarks.pages import NOT_MEASURED, table
from twohot.base import BLUE, VERMILION
from twohot_paper import Log
from twohot_paper.real_figures import new_panels

PAGE, SETTINGS_PAGE = (Path(__file__).with_name(name) for name in ("page.md", "settings.md"))
PRECISE_ROWS = 50  # flagged in all draws of a setting: fewer say little about a precision
N_SHOWN = 5  # losses, and wins
REGRESSIONS = ("LogisticRegression", "CleanLearning")  # the peers that are linear, as a probe is


@dataclass(frozen=True)
class Row:
    """One setting: means over its draws. Accuracies and F1 are in points."""

    setting: Setting
    n_draws: int
    n_rows: float
    accuracy: float
    peer: str  # with the largest mean accuracy
    gain: float  # accuracy minus that of the peer
    regression_gain: float  # accuracy minus that of the better one of `REGRESSIONS`
    error: float | None  # standard error of the gain over draws
    f1: float | None  # None where no label is wrong
    f1_gain: float | None  # F1 minus that of cleanlab's rule with the larger mean
    flagged: float  # per cent
    noise_rate: float
    estimated: float
    covered: float  # per cent of the draws whose interval holds the true fraction wrong
    precision: float | None  # of what is flagged at PRECISION, all draws together
    n_precise: int
    deciles: np.ndarray  # (10, 2): mean probability_wrong, true fraction wrong
    cpu: float  # seconds of AutoProbe and find_label_issues


Rows = Sequence[Row]
Numbers = tuple[float, ...]


def compare(peers: Path, ours: Path) -> list[Row]:
    """Return a row for every setting that both have, those of the plan in its order."""
    found = {record.run: record.result for record in Log(peers).finished(PeerRun, PeerResult)}
    draws = defaultdict(list)
    for record in Log(ours).finished(OurRun, OurResult):
        setting, our = record.run.setting, record.result
        peer = found.get(PeerRun(setting, record.run.draw))
        if peer is not None and peer.digest != our.digest:
            raise ValueError(f"{record.run}: peers had other rows or labels; measure both again.")
        if peer is not None:
            draws[setting].append((peer, our))
    ordered = dict.fromkeys([*settings(), *draws])
    return [summarise(each, draws[each]) for each in ordered if each in draws]


def summarise(setting: Setting, draws: Sequence[tuple[PeerResult, OurResult]]) -> Row:
    peers, ours = zip(*draws, strict=True)
    reached = {name: mean(each.accuracy[name] for each in peers) for name in peers[0].accuracy}
    peer = max(reached, key=lambda name: reached[name])
    regression = max(reached[name] for name in REGRESSIONS)
    gains = [100 * (our.accuracy - each.accuracy[peer]) for each, our in draws]
    # A draw of few rows may have no wrong label, and then has no F1.
    noisy = [(each.f1, our.f1) for each, our in draws if our.f1 is not None]
    f1 = 100 * mean(own for _, own in noisy) if noisy else None
    rules = [100 * mean(each[rule] for each, _ in noisy) for rule in peers[0].f1 if noisy]
    n_precise = sum(our.n_precise for our in ours)
    n_right = sum((our.precision or 0) * our.n_precise for our in ours)
    return Row(
        setting=setting,
        n_draws=len(draws),
        n_rows=mean(our.n_rows for our in ours),
        accuracy=100 * mean(our.accuracy for our in ours),
        peer=peer,
        gain=mean(gains),
        regression_gain=100 * (mean(our.accuracy for our in ours) - regression),
        error=stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else None,
        f1=f1,
        f1_gain=None if f1 is None else f1 - max(rules),
        flagged=100 * mean(our.flagged for our in ours),
        noise_rate=mean(our.noise_rate for our in ours),
        estimated=mean(our.estimated for our in ours),
        covered=100 * mean(our.interval[0] <= our.noise_rate <= our.interval[1] for our in ours),
        precision=n_right / n_precise if n_precise else None,
        n_precise=n_precise,
        deciles=np.mean([our.deciles for our in ours], axis=0),
        cpu=mean(sum(our.cpu.values()) for our in ours),
    )


def mean_and_worst(values: Iterable[float | None]) -> Numbers:
    found = [value for value in values if value is not None]
    return (mean(found), min(found)) if found else ()


def people(rows: Rows) -> list[Row]:
    return [row for row in rows if row.setting.noise in PEOPLE]


AT_LEAST, AT_MOST = 1, -1
# Requirements: name, side of the bounds, bounds, and format of the numbers.
REQUIRED = (
    (
        "test accuracy minus that of the best peer, in points: mean / worst setting",
        AT_LEAST,
        (4.5, -2.0),
        "+.1f",
    ),
    (
        (
            "test accuracy minus that of the better of LogisticRegression and CleanLearning, in "
            "points: mean / worst setting"
        ),
        AT_LEAST,
        (4.5, -2.0),
        "+.1f",
    ),
    (
        "F1 of the flags minus that of the better rule, in points: mean / worst setting",
        AT_LEAST,
        (9.0, -5.0),
        "+.1f",
    ),
    ("clean labels: percentage of flagged labels, mean", AT_MOST, (3.0,), ".1f"),
    (
        "labels of people: absolute error of the estimated fraction of wrong labels, mean",
        AT_MOST,
        (0.06,),
        ".3f",
    ),
    (
        "percentage of settings whose interval contains the true fraction of wrong labels",
        AT_LEAST,
        (95.0,),
        ".1f",
    ),
    (
        (
            f"fraction of the labels flagged with `precision={PRECISION}` that are wrong: worst "
            f"setting with at least {PRECISE_ROWS} flags"
        ),
        AT_LEAST,
        (0.85,),
        ".2f",
    ),
    (
        (
            "labels of people: largest difference between the mean `probability_wrong` of a tenth "
            "of the rows and the fraction of their labels that are wrong: mean of the settings / "
            "worst setting"
        ),
        AT_MOST,
        (0.12, 0.12),
        ".2f",
    ),
)


def measured(rows: Rows) -> list[Numbers]:
    """Return the numbers for `REQUIRED`, in its order; empty if nothing was measured."""
    votes = people(rows)
    gaps = np.array([row.deciles[:, 0] - row.deciles[:, 1] for row in votes])
    return [
        mean_and_worst(row.gain for row in rows),
        mean_and_worst(row.regression_gain for row in rows),
        mean_and_worst(row.f1_gain for row in rows),
        mean_and_worst(row.flagged for row in rows if row.setting.noise == "none")[:1],
        mean_and_worst(abs(row.estimated - row.noise_rate) for row in votes)[:1],
        mean_and_worst(row.covered for row in rows)[:1],
        mean_and_worst(row.precision for row in rows if row.n_precise >= PRECISE_ROWS)[1:],
        (abs(gaps.mean(axis=0)).max(), abs(gaps).max()) if votes else (),
    ]


def requirement_lines(rows: Rows) -> Iterable[list[str]]:
    for (what, side, bounds, form), found in zip(REQUIRED, measured(rows), strict=True):
        required, reached = (
            " / ".join(f"{each:{form}}" for each in numbers) or NOT_MEASURED
            for numbers in (bounds, found)
        )
        pairs = zip(found, bounds, strict=bool(found))
        verdict = "yes" if all(side * (each - bound) >= 0 for each, bound in pairs) else "**no**"
        sign = "≥" if side == AT_LEAST else "≤"
        yield [what, f"{sign} {required}", reached, verdict if found else "–"]


def render(rows: Rows, details: str, figure: str) -> str:
    """Return the first page; `details` and `figure` are the paths it links."""
    return PAGE.read_text(encoding="utf-8").format(
        n_measured=len(rows),
        n_planned=len(settings()),
        n_draws=sum(row.n_draws for row in rows),
        details=details,
        figure=figure,
        requirements=table(["what", "required", "measured", "met"], requirement_lines(rows)),
    )


def draw(rows: Rows) -> Any:
    """Return the figure: what every setting gains or loses, by kind of noise."""
    figure, ((left, right),) = new_panels(9.5, 3.4, 1, 2, share_y=True)
    noises = list(dict.fromkeys(row.setting.noise for row in rows))
    names = ("accuracy minus best peer, points", "F1 minus better rule, points")
    gains: tuple[Callable[[Row], float | None], ...] = (
        lambda row: row.gain,
        lambda row: row.f1_gain,
    )
    for axes, name, gain in zip((left, right), names, gains, strict=True):
        axes.axvline(0, color="0.3", linewidth=1)
        for place, noise in enumerate(noises):
            found = [gain(row) for row in rows if row.setting.noise == noise]
            values = [value for value in found if value is not None]
            axes.plot(values, [place] * len(values), "o", color=BLUE, markersize=4, alpha=0.4)
            if values:
                axes.plot(
                    mean(values), place, "|", color=VERMILION, markersize=16, markeredgewidth=2
                )
        axes.set(xlabel=name, ylim=(len(noises) - 0.5, -0.5))
    left.set_yticks(range(len(noises)), noises)
    return figure


def grouped(rows: Rows, key: Callable[[Row], str]) -> Iterable[list[str]]:
    groups = defaultdict(list)
    for each in rows:
        groups[key(each)].append(each)
    for name, group in groups.items():
        changes = (
            mean_and_worst(row.gain for row in group),
            mean_and_worst(row.f1_gain for row in group),
        )
        pairs = (" / ".join(f"{value:+.1f}" for value in each) or "–" for each in changes)
        yield [name, str(len(group)), *pairs]


def change(row: Row) -> str:
    return f"{row.gain:+.1f}" + (f" ± {row.error:.1f}" if row.error is not None else "")


def beside(rows: Rows, key: Callable[[Row], float | None], text: Callable[[Row], str]) -> str:
    """Return the settings that lose most beside those that win most."""
    ordered = sorted((row for row in rows if key(row) is not None), key=key)
    losses = [[str(row.setting), text(row)] for row in ordered[:N_SHOWN] if key(row) < 0]
    wins = [[str(row.setting), text(row)] for row in ordered[: -N_SHOWN - 1 : -1] if key(row) > 0]
    lines = zip_longest(losses, wins, fillvalue=["", ""])
    return table(["loss", "points", "win", "points"], (loss + win for loss, win in lines))


def decile_lines(name: str, rows: Rows) -> Iterable[list[str]]:
    if rows:
        found = np.mean([row.deciles for row in rows], axis=0)
        for what, column in zip(("`probability_wrong`", "fraction wrong"), found.T, strict=True):
            yield [f"{name}: {what}", *(f"{value:.2f}" for value in column)]


def number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


COLUMNS: dict[str, Callable[[Row], str]] = {
    "setting": lambda row: str(row.setting),
    "draws": lambda row: str(row.n_draws),
    "rows": lambda row: f"{row.n_rows:.0f}",
    "accuracy": lambda row: f"{row.accuracy:.1f}",
    "minus best peer": change,
    "best peer": lambda row: row.peer,
    "F1": lambda row: number(row.f1, ".1f"),
    "minus better rule": lambda row: number(row.f1_gain, "+.1f"),
    "flagged, %": lambda row: f"{row.flagged:.1f}",
    "fraction wrong": lambda row: f"{row.noise_rate:.2f}",
    "estimated": lambda row: f"{row.estimated:.2f}",
    "in the interval, %": lambda row: f"{row.covered:.0f}",
    f"precision at {PRECISION}": lambda row: number(row.precision, ".2f"),
    "flagged for it": lambda row: str(row.n_precise),
    "CPU, s": lambda row: f"{row.cpu:.1f}",
}


def render_settings(rows: Rows) -> str:
    """Return the second page: means of groups, losses beside wins, and every setting."""
    best = Counter(row.peer for row in rows).most_common()
    votes = people(rows)
    deciles = {"people's votes": votes, "others": [row for row in rows if row not in votes]}
    return SETTINGS_PAGE.read_text(encoding="utf-8").format(
        best_peers=", ".join(f"{peer} in {count}" for peer, count in best) or "none",
        groups=table(
            ["settings", "number", "accuracy", "F1"],
            [
                *grouped(rows, lambda row: row.setting.data),
                *grouped(rows, lambda row: f"*{row.setting.noise}*"),
                *grouped(rows, lambda row: f"*shape {row.setting.shape}*"),
            ],
        ),
        accuracies=beside(rows, lambda row: row.gain, lambda row: f"{change(row)} ({row.peer})"),
        detections=beside(
            rows, lambda row: row.f1_gain, lambda row: f"{row.f1_gain:+.1f} (F1 {row.f1:.0f})"
        ),
        deciles=table(
            ["decile", *map(str, range(1, 11))],
            (line for name, group in deciles.items() for line in decile_lines(name, group)),
        ),
        every=table(list(COLUMNS), ([text(row) for text in COLUMNS.values()] for row in rows)),
    )
