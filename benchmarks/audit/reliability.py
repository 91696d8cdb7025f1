"""The reliability diagram, and the part of the page that goes with it."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.audit.calibration import calibrations, covered, promises, reliability
from benchmarks.audit.runs import AuditRecord
from benchmarks.pages import table
from twohot.figures.file import new_figure, write_figure
from twohot.figures.palette import COLOURS

# What is pooled into one line: the kinds of labels, by name.
GROUPS = {
    "drawn noise": ("symmetric", "asymmetric", "superclass", "pair", "uniform"),
    "noise at the boundary": ("idn",),
    "labels of people": ("human",),
    "no wrong label": ("clean",),
}
EXPLAINED = (
    "The share of wrong labels among those that the audit finds wrong with about the same "
    "probability; every run counts alike. A precision of .5, .6, .7, .8, .9 and .95 is asked for "
    "in every run; where no label is flagged, none is promised. It is kept if it is missed by no "
    "more than .05 and two standard errors."
)
FEWEST = 2e-3  # of the labels of a run, on average, that a point needs


def grouped(records: Sequence[AuditRecord]) -> dict[str, list[AuditRecord]]:
    """Return the records of each group; generated rows that overlap are one of their own.

    Records of older runs, which have measured nothing of this, are left out.
    """
    found: dict[str, list[AuditRecord]] = {}
    for record, _ in calibrations(records):
        setting = record.run.setting
        overlap = setting.data.startswith("overlap") and setting.kind != "clean"
        name = next(name for name, kinds in GROUPS.items() if setting.kind in kinds)
        found.setdefault("overlapping classes" if overlap else name, []).append(record)
    return found


def draw_reliability(records: Sequence[AuditRecord], path: Path) -> None:
    """Draw the share of wrong labels against the probability that they are wrong."""
    figure = new_figure(5.4, 4.6)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.7", zorder=0, label="perfect")
    for number, (name, group) in enumerate(grouped(records).items()):
        found = reliability(group)
        found = found[found[:, 0] / len(group) >= FEWEST]
        axes.plot(found[:, 1], found[:, 2], "o-", color=COLOURS[number], label=name)
    axes.set(
        xlabel="probability that a label is wrong, by the audit",
        ylabel="share of these labels that is wrong",
        aspect="equal",
    )
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    write_figure(path, figure)


def reliability_part(records: Sequence[AuditRecord], picture: str) -> list[str]:
    """Return the part of the page on calibration; empty if no run has measured it."""
    groups, rows = grouped(records), []
    if not groups:
        return []
    for name, group in groups.items():
        asked = promises(group)
        made = [each for each in asked if each.n_flagged]
        kept = sum(each.is_kept for each in made)
        inside = sum(is_inside for _, is_inside in covered(group))
        counts = ((inside, len(group)), (len(made), len(asked)), (kept, len(made)))
        rows.append([name, str(len(group)), *(f"{n} of {total}" for n, total in counts)])
    head = ["labels", "runs", "true share in the interval", "precision promised", "and kept"]
    return [
        "## Are the probabilities true?",
        EXPLAINED,
        f"![Reliability diagram]({picture})",
        table(head, rows),
    ]
