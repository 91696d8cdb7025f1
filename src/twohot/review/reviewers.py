"""Merge decisions of several reviewers, measure agreement, list rows without agreement.

A decision is applied if all reviewers who decided the row chose the same label. Otherwise the row
keeps its label until a final decision settles it.

    p_o     share of rows with the same label, among rows that two reviewers decided
    p_e     the share expected by chance, from the label frequencies of each reviewer
    kappa   (p_o - p_e) / (1 - p_e), Cohen's kappa: 1 is full agreement, 0 is chance
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import t as student

from twohot.base import NO_LABEL, ArgumentError, FloatArray, counted, first_few
from twohot.review.decisions import (
    MOST_NAME,
    OPEN,
    SETTLED,
    SPELLING,
    Decision,
    DecisionReader,
    in_words,
)
from twohot.review.page import write_review
from twohot.review.records import ReviewRows, ReviewSummary
from twohot.tables import errors_named, write_csv

# Labels chosen by reviewers, None if excluded: position of the row → reviewer → label.
Verdicts: TypeAlias = Mapping[int, Mapping[str, str | None]]


@dataclass(frozen=True)
class Agreement:
    """The agreement of reviewers on rows that two or more of them decided."""

    reviewers: tuple[str, ...]
    n_rows: int  # rows decided by two or more reviewers
    n_agreeing: int  # of these, rows to which all their reviewers gave the same label
    kappa: float  # Cohen's kappa; for more than two reviewers, the weighted mean over pairs
    interval: tuple[float, float]  # 95 % confidence interval; NaN if undefined, like kappa

    def __str__(self) -> str:
        names = f"{len(self.reviewers)} reviewers ({first_few(self.reviewers)})"
        if not self.n_rows:
            return f"Agreement of {names}: unknown, because no row was decided by two of them."
        share = f"{self.n_agreeing / self.n_rows:.1%}"
        found = f"Agreement of {names}: {share} of {counted(self.n_rows, 'row')} decided by two"
        if len(self.reviewers) > 2:
            found += " or more"
        if np.isnan(self.kappa):
            return f"{found}; Cohen's kappa is undefined because all chose one label."
        low, high = self.interval
        mean = "" if len(self.reviewers) == 2 else "mean over pairs, "
        return (
            f"{found}; Cohen's kappa {self.kappa:.2f} ({mean}95 % interval {low:.2f} to {high:.2f})"
            "."
        )


@dataclass(frozen=True, eq=False)
class MergedReviews:
    """Merged decisions of several reviewers, and the rows on which they disagree."""

    decisions: tuple[Decision, ...]  # to apply: undisputed or final ones, spellings, notes
    disputed: Verdicts  # rows without agreement, in the order of the data
    settled: Verdicts  # rows without agreement that a final decision settled
    agreement: Agreement


def merge_reviews(rows: ReviewRows, reviews: Mapping[str, Sequence[Decision]]) -> MergedReviews:
    """Merge the decisions of several reviewers on the same audit.

    The decision on a row is applied if all its reviewers agree. The page of `write_settle_page`
    collects final decisions on the other rows. Final decisions are applied too, and do not count
    in the agreement.

    Parameters
    ----------
    rows : ReviewRows
        The rows of the reviewed audit.
    reviews : mapping of str to sequence of Decision
        The decisions of each file, by its path. Decisions without a reviewer's name get the name
        of the file. Names that differ only in case or surrounding blanks are one reviewer.

    Returns
    -------
    MergedReviews
        Decisions to apply, rows to settle, and the agreement.

    Raises
    ------
    ValueError
        If a file belongs to another audit, has an unknown row or label, or contradicts itself, or
        if two files have different decisions of the same reviewer.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> given = ["cat", "cat", "dog", "dog", "dog"]
    >>> issues = find_label_issues(None, given, probabilities=np.eye(2)[[1, 0, 0, 1, 0]])
    >>> rows = issues.report("report.html")
    >>> name = rows.report_id()
    >>> anna = [Decision(name, row, "accept", "", reviewer="Anna") for row in ("0", "2", "4")]
    >>> ben = [Decision(name, "0", "accept", ""), Decision(name, "2", "reject", "")]
    >>> merged = merge_reviews(rows, {"anna.csv": anna, "ben.csv": ben})
    >>> [decision.id for decision in merged.decisions], merged.disputed
    (['0', '4', '0'], {2: {'Anna': 'cat', 'ben': 'dog'}})
    >>> print(merged.agreement)
    Agreement of 2 reviewers ('Anna', 'ben'): 50.0% of 2 rows decided by two; Cohen's kappa 0.00 ...

    One more decision settles the row:

    >>> final = [Decision(f"{name}-settled", "2", "reject", "")]
    >>> merge_reviews(rows, {"anna.csv": anna, "ben.csv": ben, "final.csv": final}).disputed
    {}
    """
    decisions = [(file, decision) for file, made in reviews.items() for decision in made]
    # An error names the file if there are several.
    path = {file: [Path(file)] if len(reviews) > 1 else [] for file in reviews}
    names, found = _names(reviews), _Found({}, {}, {}, {})
    spelt: dict[str, str] = {}  # normalised name → name as first written
    with errors_named(*(each for paths in path.values() for each in paths)):
        reader = DecisionReader(rows, [decision for _, decision in decisions])
    for file, decision in decisions:
        if decision.decision != SPELLING:
            with errors_named(*path[file]):
                place = reader.place(decision)
                if decision.decision != OPEN:
                    label = reader.label(decision, place)
                    name = decision.reviewer.strip() or names[file]
                    name = spelt.setdefault(name.casefold(), name)
                    found.add(place, name, label, file, decision)
    contested = [
        (place, verdicts)
        for place, verdicts in sorted(found.verdicts.items())
        if len({*verdicts.values()}) > 1
    ]
    disputed = {place: verdicts for place, verdicts in contested if place not in found.final}
    settled = {place: verdicts for place, verdicts in contested if place in found.final}
    kept = _kept([decision for _, decision in decisions], reader, found.final, disputed)
    return MergedReviews(tuple(kept), disputed, settled, _agreement(found.verdicts))


@dataclass(frozen=True)
class _Found:
    """Labels chosen by reviewers, collected decision by decision."""

    verdicts: dict[int, dict[str, str | None]]  # position of a row → reviewer → label
    final: dict[int, dict[str, str | None]]  # position of a row → "" → label of a final decision
    files: dict[tuple[int, str], str]  # (row, reviewer) → first file
    of_files: dict[tuple[int, str], str | None]  # (row, file) → label

    def add(self, place: int, reviewer: str, label: str | None, file: str, made: Decision) -> None:
        """Add a decision; raise if it contradicts another one."""
        who = "" if made.settles else reviewer
        known = (self.final if made.settles else self.verdicts).setdefault(place, {})
        same_reviewer = known.setdefault(who, label), self.files.setdefault((place, who), file)
        same_file = self.of_files.setdefault((place, file), label), file
        for before, first in (same_reviewer, same_file):
            if before != label:
                both = f"as {in_words(before)} in {first} and as {in_words(label)} in {file}"
                by = f" by reviewer {who!r}" if who and first != file else ""
                verb = "settled" if made.settles else "decided"
                advice = "pass only the last file of each reviewer, under different names."
                raise ArgumentError("", f"row {made.id} was {verb} twice{by}, {both}", advice)


def _names(reviews: Mapping[str, Sequence[Decision]]) -> dict[str, str]:
    """Return, for each file, the reviewer's name for decisions without a name."""
    stems = Counter(Path(file).stem.casefold() for file in reviews)
    return {
        file: path.stem if stems[path.stem.casefold()] == 1 else file.removesuffix(".csv")
        for file, path in ((file, Path(file)) for file in reviews)
    }


def _kept(
    decisions: Sequence[Decision],
    reader: DecisionReader,
    final: Verdicts,
    disputed: Verdicts,
) -> Iterator[Decision]:
    """Yield the decisions to apply; of each other decision, yield only its note."""
    for decision in decisions:
        place = -1 if decision.decision == SPELLING else reader.position[decision.id]
        if place not in disputed and (place not in final or decision.settles):
            yield decision
        elif decision.note:
            yield replace(decision, decision=OPEN, label="")


# Agreement ----------------------------------------------------------------------------------------


def _agreement(verdicts: Verdicts) -> Agreement:
    """Return the agreement of the reviewers on rows that two or more of them decided."""
    reviewers = tuple(dict.fromkeys(name for row in verdicts.values() for name in row))
    shared = [row for row in verdicts.values() if len(row) > 1]
    n_agreeing = sum(len({*row.values()}) == 1 for row in shared)
    found, weights = [], []
    for one, other in combinations(reviewers, 2):
        pairs = [(row[one], row[other]) for row in shared if one in row and other in row]
        estimate = cohen_kappa(pairs)
        if not np.isnan(estimate[0]):
            found.append(estimate)
            weights.append(len(pairs))
    # The mean of the intervals is conservative: at least as wide as the interval of the mean.
    kappa, low, high = np.average(found, axis=0, weights=weights) if found else [np.nan] * 3
    return Agreement(reviewers, len(shared), n_agreeing, float(kappa), (float(low), float(high)))


def cohen_kappa(pairs: Sequence[tuple[Any, Any]]) -> tuple[float, float, float]:
    """Return Cohen's kappa of two labels per row, and its 95 % interval; NaN if undefined.

    The interval uses the variance of kappa (Fleiss, Cohen and Everitt, 1969) and a quantile q of
    Student's t. As in Agresti and Coull's interval of a share, q^2 artificial rows are added: in
    half of them both labels are equal, in half they differ, evenly over the labels. So the width is
    positive even if the reviewers agree on all rows, or on none. Kappa is undefined if there are
    no rows, or if both reviewers gave one label to all rows.

    Examples
    --------
    >>> pairs = [("cat", "cat")] * 20 + [("dog", "dog")] * 15 + [("cat", "dog")] * 5
    >>> [round(number, 2) for number in cohen_kappa(pairs)]
    [0.75, 0.45, 0.91]
    """
    labels = {label: code for code, label in enumerate(dict.fromkeys(chain(*pairs)))}
    if len(labels) < 2:
        return (np.nan,) * 3
    counts = np.zeros((len(labels), len(labels)))
    for one, other in pairs:
        counts[labels[one], labels[other]] += 1
    n = len(pairs)
    quantile = float(student.ppf(0.975, max(n - 1, 1)))
    agreeing = np.eye(len(labels))
    more = agreeing / agreeing.sum() + (1 - agreeing) / (1 - agreeing).sum()
    kappa = _kappa_and_variance(counts)[0]
    centre, variance = _kappa_and_variance(counts + more * quantile**2 / 2)
    half = quantile * math.sqrt(variance / n)
    return kappa, max(centre - half, -1.0), min(centre + half, 1.0)


def _kappa_and_variance(counts: FloatArray) -> tuple[float, float]:
    """Return kappa of a table of two reviewers' labels, and n times its large-sample variance."""
    shares = counts / counts.sum()
    first, second, same = shares.sum(1), shares.sum(0), np.diag(shares)
    p_o, p_e = float(np.trace(counts) / counts.sum()), float(first @ second)
    either = second[:, None] + first
    agreed = same @ ((1 - p_e) - np.diag(either) * (1 - p_o)) ** 2
    differed = (1 - p_o) ** 2 * (np.sum(shares * either**2) - same @ np.diag(either) ** 2)
    spread = agreed + differed - (p_o * p_e - 2 * p_e + p_o) ** 2
    return 1 - (1 - p_o) / (1 - p_e), max(float(spread), 0.0) / (1 - p_e) ** 4


# Rows to settle: a table and a page --------------------------------------------------------------

DISPUTED_COLUMNS = ("id", "item", "given_label", "suggested_label", "reviewer", "label")


def write_disputed(path: str | os.PathLike[str], rows: ReviewRows, merged: MergedReviews) -> None:
    """Write a table of disputed rows with the label from each reviewer; empty if excluded.

    Cells that a spreadsheet would run as formulas are always protected: several people wrote them.
    """
    ids, lines = rows.id_texts(), []
    for row, verdicts in merged.disputed.items():
        codes = rows.given_labels[row], rows.suggested_labels[row]
        labels = [rows.label_name(int(code)) for code in codes]
        lines += [
            (ids[row], rows.item(row), *labels, name, label or "")
            for name, label in verdicts.items()
        ]
    write_csv(path, DISPUTED_COLUMNS, lines, spreadsheet_safe=True)


def write_settle_page(
    path: str | os.PathLike[str], rows: ReviewRows, merged: MergedReviews, **page: Any
) -> str:
    """Write a review page of the rows on which reviewers disagree, with their decisions.

    It includes rows with a final decision. The browser stores final decisions, so that its next
    export has all of them and replaces the earlier export.

    Parameters
    ----------
    path : path
        The file to write.
    rows : ReviewRows
        The rows of the audit that was reviewed.
    merged : MergedReviews
        The result of `merge_reviews`. Rows without a given label are left out.
    page
        `image_root`, `embed_limit` and `next_step`, as for `write_review`.

    Returns
    -------
    str
        The name of its report: that of the audit with the suffix "-settled".
    """
    contested = dict(sorted({**merged.disputed, **merged.settled}.items()))
    places = [row for row in contested if rows.given_labels[row] != NO_LABEL]
    shown = rows.take(np.array(places, dtype=np.intp))
    report, is_shown = f"{rows.report_id()}{SETTLED}", np.ones(len(places), dtype=bool)
    verdicts = {
        number: [(name[:MOST_NAME], label) for name, label in contested[row].items()]
        for number, row in enumerate(places)
    }
    n_others = len(contested) - len(places)
    left_out = (
        f"Not shown: {counted(n_others, 'row')} without a given label. "
        "Add a line for each to a decision file."
    )
    messages = (str(merged.agreement), *[left_out] * bool(n_others))
    shown = replace(shown, report=report, is_label_issue=is_shown)
    # The page counts the spellings of labels in all rows, not only in its own.
    counts = replace(shown.counts(), class_sizes=rows.counts().class_sizes)
    title = "Rows to settle"
    summary = ReviewSummary(title=title, counts=counts, verdicts=verdicts, messages=messages)
    return write_review(path, shown, summary, **page)
