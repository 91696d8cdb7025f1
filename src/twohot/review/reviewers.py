"""Merge decisions of several reviewers, measure agreement, and list rows without agreement.

A decision is applied if all reviewers who decided the row chose the same label. Otherwise the row
is disputed: its label stays unchanged until a final decision settles it.

    p_o     proportion of rows with equal labels, among the rows that both reviewers decided
    p_e     expected proportion if both chose at random, with their own label frequencies
    kappa   (p_o - p_e) / (1 - p_e), Cohen's kappa: 1 is full agreement, 0 is chance
"""

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
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

# Position of a row → reviewer → label that the reviewer chose (None: the row is excluded).
Verdicts: TypeAlias = Mapping[int, Mapping[str, str | None]]


@dataclass(frozen=True)
class Agreement:
    """The agreement of reviewers on rows that two or more of them decided."""

    reviewers: tuple[str, ...]
    n_rows: int  # rows decided by two or more reviewers
    n_agreeing: int  # number of these rows to which all reviewers of the row gave the same label
    kappa: float  # Cohen's kappa; mean over pairs of reviewers, weighted by rows that both decided
    interval: tuple[float, float]  # 95 % confidence interval of kappa; NaN if kappa is undefined

    def __str__(self) -> str:
        text = f"Agreement of {counted(len(self.reviewers), 'reviewer')} "
        text += f"({first_few(self.reviewers)}): "
        if not self.n_rows:
            return f"{text}unknown, because no row was decided by two of them."
        is_pair = len(self.reviewers) == 2
        pair = "both" if is_pair else "each pair of reviewers"
        text += f"the labels are equal in {self.n_agreeing / self.n_rows:.1%} of "
        text += f"{counted(self.n_rows, 'row')} that {'both' if is_pair else 'two or more'} decided"
        if np.isnan(self.kappa):
            return f"{text}. Cohen's kappa is undefined, because {pair} used only one label."
        low, high = self.interval
        mean = "Cohen's kappa is" if is_pair else "The mean of Cohen's kappa over pairs is"
        interval = f"95 % confidence interval {low:.2f} to {high:.2f}"
        return f"{text}. {mean} {self.kappa:.2f} ({interval})."


@dataclass(frozen=True, eq=False)
class MergedReviews:
    """Merged decisions of several reviewers, and the rows on which they disagree."""

    decisions: tuple[Decision, ...]  # to apply: undisputed and final decisions, spellings, notes
    disputed: Verdicts  # rows without agreement and without a final decision, in data order
    settled: Verdicts  # rows without agreement that have a final decision
    agreement: Agreement


def merge_reviews(rows: ReviewRows, reviews: Mapping[str, Sequence[Decision]]) -> MergedReviews:
    """Merge the decisions of several reviewers on the same audit.

    If all reviewers of a row agree, their decision is applied. For the other rows, reviewers make
    final decisions on the page of `write_settle_page`. Final decisions are applied too, and do not
    count in the agreement.

    Parameters
    ----------
    rows : ReviewRows
        The rows of the reviewed audit.
    reviews : mapping of str to sequence of Decision
        The path of each decision file, and the decisions in this file. If a decision has no
        reviewer's name, the reviewer is named after the file. Names that differ only in case or in
        surrounding blanks mean one reviewer.

    Returns
    -------
    MergedReviews
        Decisions to apply, rows to settle, and the agreement.

    Raises
    ------
    ValueError
        If a file belongs to another audit, or has an unknown row or label, or if one reviewer
        decided a row in two different ways.

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
    Agreement of 2 reviewers ('Anna', 'ben'): the labels are equal in 50.0% of 2 rows that both ...

    One more decision settles the row:

    >>> final = [Decision(f"{name}-settled", "2", "reject", "")]
    >>> merge_reviews(rows, {"anna.csv": anna, "ben.csv": ben, "final.csv": final}).disputed
    {}
    """
    decisions = [(file, decision) for file, made in reviews.items() for decision in made]
    # An error names the file if there are several.
    paths = {file: [Path(file)] if len(reviews) > 1 else [] for file in reviews}
    with errors_named(*chain.from_iterable(paths.values())):
        reader = DecisionReader(rows, [decision for _, decision in decisions])
    verdicts, final = _labels_by_row(decisions, reader, paths)
    contested = [row for row in sorted(verdicts) if len({*verdicts[row].values()}) > 1]
    disputed = {row: verdicts[row] for row in contested if row not in final}
    settled = {row: verdicts[row] for row in contested if row in final}
    applied = []
    for _, decision in decisions:
        place = -1 if decision.decision == SPELLING else reader.position[decision.id]
        if place not in disputed and (place not in final or decision.settles):
            applied.append(decision)
        elif decision.note:  # keep the note of a decision that is not applied
            applied.append(replace(decision, decision=OPEN, label=""))
    return MergedReviews(tuple(applied), disputed, settled, _agreement(verdicts))


def _labels_by_row(
    decisions: Sequence[tuple[str, Decision]],  # pairs of a file and a decision in this file
    reader: DecisionReader,
    paths: Mapping[str, Sequence[Path]],  # by file, the paths that an error names
) -> tuple[Verdicts, set[int]]:
    """Return the labels chosen by the reviewers, and the rows that have a final decision."""
    verdicts: dict[int, dict[str, str | None]] = {}
    final: set[int] = set()
    stems = Counter(Path(file).stem.casefold() for file in paths)
    spelt: dict[str, str] = {}  # name without case → name as first written
    # The first label, and its file, for each (row, reviewer) and for each (row, file).
    first: dict[tuple[int, str, str], tuple[str | None, str]] = {}
    for file, decision in decisions:
        if decision.decision == SPELLING:
            continue
        with errors_named(*paths[file]):
            place = reader.place(decision)
            if decision.decision == OPEN:
                continue
            label, stem = reader.label(decision, place), Path(file).stem
            name = stem if stems[stem.casefold()] == 1 else file.removesuffix(".csv")
            name = decision.reviewer.strip() or name
            name = spelt.setdefault(name.casefold(), name)
            name = "" if decision.settles else name
            for key in ((place, "reviewer", name), (place, "file", file)):
                before, earlier = first.setdefault(key, (label, file))
                if before != label:
                    both = f"as {in_words(before)} in {earlier} and as {in_words(label)} in {file}"
                    by = f" by reviewer {name!r}" if name and earlier != file else ""
                    verb = "settled" if decision.settles else "decided"
                    problem = f"row {decision.id} was {verb} twice{by}, {both}"
                    advice = (
                        "pass only the last file of each reviewer; reviewers need different names."
                    )
                    raise ArgumentError("", problem, advice)
        if decision.settles:
            final.add(place)
        else:
            verdicts.setdefault(place, {})[name] = label
    return verdicts, final


# Agreement ----------------------------------------------------------------------------------------


def _agreement(verdicts: Verdicts) -> Agreement:
    """Return the agreement of the reviewers on rows that two or more of them decided."""
    reviewers = tuple(dict.fromkeys(name for row in verdicts.values() for name in row))
    shared = [row for row in verdicts.values() if len(row) > 1]
    n_agreeing = sum(len({*row.values()}) == 1 for row in shared)
    estimates, weights = [], []
    for one, other in combinations(reviewers, 2):
        pairs = [(row[one], row[other]) for row in shared if one in row and other in row]
        estimate = cohen_kappa(pairs)
        if not np.isnan(estimate[0]):
            estimates.append(estimate)
            weights.append(len(pairs))
    # The mean of the intervals is conservative: at least as wide as the interval of the mean.
    mean = np.average(estimates, axis=0, weights=weights) if estimates else np.full(3, np.nan)
    kappa, low, high = mean.tolist()
    return Agreement(reviewers, len(shared), n_agreeing, kappa, (low, high))


def cohen_kappa(pairs: Sequence[tuple[Any, Any]]) -> tuple[float, float, float]:
    """Return Cohen's kappa of two labels per row, and a 95 % confidence interval; NaN if undefined.

    The interval uses the variance of kappa (Fleiss, Cohen and Everitt, 1969) and a quantile q of
    Student's t. As in Agresti and Coull's interval of a proportion, q^2 artificial rows are added.
    In half of these rows both labels are equal, in the other half they differ; all labels are
    equally frequent. So the width is positive even if the reviewers agree on all rows, or on none.
    Kappa is undefined if there are no rows, or if both reviewers gave one label to all rows.

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
    cells = counts / counts.sum()  # proportion of rows by the labels of both reviewers
    first, second, same = cells.sum(1), cells.sum(0), np.diag(cells)
    p_o, p_e = float(np.trace(counts) / counts.sum()), float(first @ second)
    either = second[:, None] + first
    agreed = same @ ((1 - p_e) - np.diag(either) * (1 - p_o)) ** 2
    differed = (1 - p_o) ** 2 * (np.sum(cells * either**2) - same @ np.diag(either) ** 2)
    spread = agreed + differed - (p_o * p_e - 2 * p_e + p_o) ** 2
    return 1 - (1 - p_o) / (1 - p_e), max(float(spread), 0.0) / (1 - p_e) ** 4


# Rows to settle: a table and a page --------------------------------------------------------------

DISPUTED_COLUMNS = ("id", "item", "given_label", "suggested_label", "reviewer", "label")


def write_disputed(path: str | os.PathLike[str], rows: ReviewRows, merged: MergedReviews) -> None:
    """Write a table with one line per disputed row and reviewer.

    An empty label means that the reviewer excluded the row. Several people wrote the cells, so
    cells that a spreadsheet would run as formulas are protected.
    """
    ids, name_of = rows.id_texts(), rows.label_name
    lines = (
        (ids[row], rows.item(row), name_of(given), name_of(suggested), reviewer, label or "")
        for row, verdicts in merged.disputed.items()
        for given, suggested in [(rows.given_labels[row], rows.suggested_labels[row])]
        for reviewer, label in verdicts.items()
    )
    write_csv(path, DISPUTED_COLUMNS, lines, spreadsheet_safe=True)


def write_settle_page(
    path: str | os.PathLike[str], rows: ReviewRows, merged: MergedReviews, **page: Any
) -> str:
    """Write a review page of the rows on which reviewers disagree, with their decisions.

    The page includes rows that already have a final decision. The browser stores final decisions.
    So the next export from this browser contains all final decisions, and replaces earlier exports.

    Parameters
    ----------
    path : path
        The file to write.
    rows : ReviewRows
        The rows of the audit that was reviewed.
    merged : MergedReviews
        The result of `merge_reviews`. Rows without a given label are left out.
    page
        The arguments `image_root`, `embed_limit` and `next_step` of `write_review`.

    Returns
    -------
    str
        The report name of the page: the report name of the audit with the suffix "-settled".
    """
    contested = dict(sorted({**merged.disputed, **merged.settled}.items()))
    places = [row for row in contested if rows.given_labels[row] != NO_LABEL]
    shown = replace(
        rows.take(np.array(places, dtype=np.intp)),
        report=f"{rows.report_id()}{SETTLED}",
        is_label_issue=np.ones(len(places), dtype=bool),
    )
    messages = [str(merged.agreement)]
    if n_others := len(contested) - len(places):
        advice = "To settle such a row, add a line to the decision file that this page exports."
        messages.append(f"Not shown: {counted(n_others, 'row')} without a given label. {advice}")
    summary = ReviewSummary(
        title="Rows to settle",
        # The page counts the spellings of labels in all rows of the data.
        counts=replace(shown.counts(), class_sizes=rows.counts().class_sizes),
        verdicts={
            number: [(name[:MOST_NAME], label) for name, label in contested[row].items()]
            for number, row in enumerate(places)
        },
        messages=tuple(messages),
    )
    return write_review(path, shown, summary, **page)
