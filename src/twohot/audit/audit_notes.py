"""What an audit says in words: what cannot be told, which rows do not count, whom not to trust."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.labels import Labels
from twohot._checks.messages import first_few
from twohot._types import IntArray
from twohot.audit.doubt import SURELY, Trust
from twohot.audit.noise_fit import rare_classes
from twohot.audit.verdict import LabelVerdict
from twohot.select.chance_agreement import chance_agreement

# Share of labels that may be wrong or overlap from which on it is said.
UNCLEAR_SHARE = 0.02
SHOWN_PAIRS = 3  # of classes that this is about

# What a probe may agree more with labels that it was fitted on than with others.
BY_HEART = 0.1
# Standard deviations by which a given classifier must beat its own outputs in any other order, and
# labels from which on that is asked: of fewer even all of them may be given by chance.
TOLD_ERRORS, ENOUGH_ROWS = 2.0, 20
# Share of the labels that a classifier gives from which on it looks as if it had seen them.
NEARLY_ALL = 0.995
NEARLY_ALL_GIVEN = (
    "{:.1%} of these labels are what the classifier gives. If it was fitted on them, it has learnt "
    "them by heart, and misses wrong ones: pass probabilities out of fold, or no classifier."
)


NOT_TRUSTED = "Do not trust these verdicts; see forecast."


def learnt_by_heart(labels: Labels, probe: Any, predicted: IntArray) -> tuple[str, ...]:
    """Say if a probe gives many more of these labels than of such as it had not seen."""
    choice, labelled = getattr(probe, "choice_", None), labels.labelled
    if not labelled.any():
        return ()
    given = float(np.mean(predicted[labelled] == labels.codes[labelled]))
    if choice is None:
        return (NEARLY_ALL_GIVEN.format(given),) if given > NEARLY_ALL else ()
    unseen = choice.chosen.agreement + 2 * choice.chosen.agreement_error
    if given <= unseen + BY_HEART:
        return ()
    said = (
        f"The probe gives {given:.1%} of these labels, and {choice.chosen.agreement:.1%} of those "
        "it had not seen. If it was fitted on these, it has learnt labels by heart, and misses "
        "wrong ones; without a probe, labels are judged by fits that have not seen them."
    )
    return (said,)


def tells_nothing(labels: Labels, predicted: IntArray) -> tuple[str, ...]:
    """Say if a classifier gives no more of these labels than its outputs in any other order do."""
    codes, predicted = labels.codes[labels.labelled], predicted[labels.labelled]
    if len(codes) < ENOUGH_ROWS:
        return ()
    chance, error = chance_agreement(codes, predicted)
    given = float(np.mean(predicted == codes))
    if given > chance + TOLD_ERRORS * error:
        return ()
    said = (
        f"The classifier gives {given:.1%} of these labels, and {chance:.1%} in any other order: "
        "it tells nothing about them. Do not trust these verdicts."
    )
    return (said,)


def curved_notes(trust: Trust) -> list[str]:
    """Say if no straight lines separate the classes."""
    if not trust.is_curved:
        return []
    consequence = (
        "and labels are judged by the nearest rows, too. Another classifier may predict more than "
        "a probe."
        if trust.by_nearest
        else "and labels that look wrong may be right."
    )
    said = "The rows nearest to each predict more of the labels than a probe does: no straight "
    return [f"{said}lines separate these classes, {consequence}"]


def unclear_notes(
    verdict: LabelVerdict, labels: Labels, precision: float | None, flagged: NDArray[np.bool_]
) -> list[str]:
    """Say what the labels cannot tell."""
    said = curved_notes(verdict.trust)
    unclear = np.count_nonzero(verdict.unclear) / np.count_nonzero(labels.labelled)
    if unclear >= UNCLEAR_SHARE:
        names = labels.classes.tolist()
        pairs = [f"{names[a]!r} and {names[b]!r}" for a, b in verdict.overlapping[:SHOWN_PAIRS]]
        said.append(
            f"For {unclear:.1%} of the labels it cannot be told whether they are wrong or their "
            f"classes overlap: mostly {', '.join(pairs)}."
        )
    n_unknown = np.count_nonzero(verdict.flagged & ~verdict.known)
    if precision is not None and flagged.any() and n_unknown:
        said.append(
            f"{n_unknown} doubtful labels of classes with fewer than {verdict.trust.fewest_labels} "
            "are not flagged: no precision can be promised of them."
        )
    if precision is not None and not flagged.any():
        said.append(f"No label is flagged: {_why_not(verdict, labels.sizes, precision)}.")
    elif flagged.any() and not (verdict.doubt[flagged] > SURELY).any():
        said.append(
            "Each flagged label is more probably right than wrong, so that none is corrected "
            "without a review."
        )
    return said


def _why_not(verdict: LabelVerdict, sizes: IntArray, precision: float) -> str:
    """Say why no label is flagged where a precision was asked for."""
    if not verdict.eligible.any():
        return "none has a likelier class"
    reason = _reason(verdict, sizes, precision)
    return f"a precision of {precision:g} cannot be promised for any, since {reason}"


def _reason(verdict: LabelVerdict, sizes: IntArray, precision: float) -> str:
    """Say why a precision cannot be promised of labels, of classes of given sizes."""
    trust = verdict.trust
    reasons = (
        (bool(trust.explained), "what looks wrong may only be beyond what a probe can learn"),
        (
            sizes[verdict.codes[verdict.eligible]].max() < trust.fewest_labels,
            f"their classes have fewer than {trust.fewest_labels} labels",
        ),
        (
            not verdict.known[verdict.eligible].any(),
            "a class that is spread over another looks like noise between them",
        ),
        (
            verdict.share.low == 0,
            "labels that look wrong may as well be overlap of their classes",
        ),
        (
            verdict.promised[verdict.eligible].max() >= precision,
            "the most doubtful ones are between classes that are confused",
        ),
        (True, "other classes are likelier for some, but none surely enough"),
    )
    return next(reason for holds, reason in reasons if holds)


def row_notes(labels: Labels, probe: Any, *, by_nearest: bool = False) -> list[str]:
    """Say which rows were not counted, and whether the probe is to be trusted.

    `by_nearest` is whether labels are judged by the nearest rows, which know more than it.
    """
    said = []
    n_unlabelled = np.count_nonzero(~labels.labelled)
    if n_unlabelled:
        said.append(f"Rows without a label: {n_unlabelled}, predicted and not counted.")
    rare = labels.classes[rare_classes(labels.sizes)].tolist()
    if rare:
        said.append(
            f"Classes that hardly occur: {len(rare)} ({first_few(rare)}). No row is suggested to "
            "be of them. If they are misspelt, correct them, and audit again."
        )
    single = labels.classes[labels.sizes == 1].tolist()
    if single:
        said.append(
            f"Classes with one label only: {len(single)} ({first_few(single)}), kept and never "
            "flagged, because nothing else says what they look like."
        )
    choice = getattr(probe, "choice_", None)
    if choice is not None and (problem := choice.nothing_learnt()):
        advice = "Labels are judged by the nearest rows." if by_nearest else NOT_TRUSTED
        said.append(f"{problem} {advice}")
    return said
