"""The advice of a forecast: the probe to use, the share of wrong labels, and the evidence."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from twohot.base import IntArray, Labels, counted, first_few
from twohot.describe.comparison import Comparison
from twohot.describe.true_classes import CorrelationEstimate, NoiseEstimate
from twohot.judge import REFUTED, WHY_ZERO
from twohot.theory import label_gaps


class Action(StrEnum):
    """The advised action: which kind of probe to fit, if any."""

    PLAIN = "use a plain probe"
    ANCHORED = "use AutoProbe"
    NOTHING = "no linear method will help"


@dataclass(frozen=True)
class Advice:
    """The advised action, the reasons, and the limits of the evidence."""

    action: Action
    code: str  # the probe to fit; empty if none
    summary: str  # the action and its reason, in one sentence
    wrong_labels: str  # one sentence on the share of wrong labels
    evidence: tuple[str, ...]  # sentences with numbers
    cautions: tuple[str, ...]  # limits of the evidence
    audit: bool  # advise an audit: a test or the label model finds wrong labels


def advise(
    comparison: Comparison, noise: NoiseEstimate, correlation: CorrelationEstimate, labels: Labels
) -> Advice:
    """Choose the probe by its predictions for held-out rows.

    AutoProbe needs more fits, so it must pass two tests. Held-out labels must have a significantly
    larger likelihood than with a plain probe. And it must not predict significantly fewer of them.
    Both tests are one-sided, at level 5 %. Likelihoods are compared because, with much noise and
    few rows, a gain in agreement cannot be distinguished from chance. The theory is not used: it
    describes classes by their means only, and is too optimistic if the rows of a class differ.
    """
    action, summary = _choose(comparison, noise, correlation)
    plain = comparison.plain
    code = "" if action is Action.NOTHING else "AutoProbe()"
    if action is Action.PLAIN and plain is not None:
        code = plain.estimator
    return Advice(
        action=action,
        code=code,
        summary=f"{action}: {summary}",
        wrong_labels=_count_wrong(comparison, noise),
        evidence=_evidence(comparison, noise),
        cautions=_cautions(comparison, noise, labels),
        audit=comparison.choice.learnt and (noise.interval[0] > 0 or noise.n_likely_wrong > 0),
    )


def _choose(
    comparison: Comparison, noise: NoiseEstimate, correlation: CorrelationEstimate
) -> tuple[Action, str]:
    """Return the advised action and the reason as text."""
    same, other = correlation.same_class, correlation.other_class
    lost = confused_classes(noise)
    share_lost = noise.class_sizes[lost].sum() / noise.class_sizes.sum()
    if not comparison.choice.learnt:
        return Action.NOTHING, (
            "the features predict the labels no better than the class frequencies do (test at 5%)."
        )
    if not same > other:
        return Action.NOTHING, (
            f"rows of one class are no more similar than rows of two classes (mean correlation "
            f"{same:.3f} and {other:.3f})."
        )
    # Probes learn the most frequent label of a class, so these classes get a wrong label.
    if share_lost > 0.5:
        return Action.NOTHING, (
            f"{len(lost)} of {len(noise.class_sizes)} classes, with {share_lost:.0%} of the rows, "
            "have some wrong label at least as often as the right one."
        )
    return _compare(comparison, noise)


def _compare(comparison: Comparison, noise: NoiseEstimate) -> tuple[Action, str]:
    """Choose between AutoProbe and a plain probe; return the action and the reason as text.

    The reason has only the numbers of the test that decides; the other test may contradict it.
    """
    if comparison.plain is None:
        return Action.ANCHORED, "a class has too few rows to hold some out for a plain probe."
    gain = 100 * noise.as_accuracy(comparison.gain)
    error = 100 * noise.as_accuracy(comparison.gain_error)
    points = f"estimated accuracy {gain:+.1f} ± {error:.1f} points"
    test = f"{comparison.likelier:.2f} standard errors; a test at 5% needs {REFUTED}"
    if comparison.gain < -REFUTED * comparison.gain_error:
        return Action.PLAIN, f"AutoProbe predicts fewer held-out labels (test at 5%; {points})."
    if comparison.likelier <= REFUTED:
        return Action.PLAIN, f"AutoProbe does not make held-out labels likelier ({test})."
    test += f"; {points}" if gain > 0 else ""
    return Action.ANCHORED, f"it makes held-out labels likelier than a plain probe does ({test})."


def confused_classes(noise: NoiseEstimate) -> IntArray:
    """Return the classes that have another label at least as often as their own."""
    return np.flatnonzero(label_gaps(noise.corruption) <= 0)


def _count_wrong(comparison: Comparison, noise: NoiseEstimate) -> str:
    """Return a sentence on the share of wrong labels."""
    (low, high), n_rows = noise.interval, comparison.choice.n_rows
    if noise.given:
        return f"For the corruption you passed, {noise.rate:.1%} of the labels are wrong."
    if not comparison.choice.learnt:
        return "The number of wrong labels cannot be estimated from these features."
    estimate = f"About {noise.rate:.1%} of the labels are wrong ({low:.1%} to {high:.1%})"
    if low > 0:
        return f"{estimate}."
    if noise.n_likely_wrong == 0 and noise.rate * n_rows < 1:
        return f"No label is likely to be wrong (at most {high:.1%})."
    return f"{estimate}. {WHY_ZERO}"


def _evidence(comparison: Comparison, noise: NoiseEstimate) -> tuple[str, ...]:
    plain = comparison.plain
    learnt = (
        f"The mean log-likelihood of a held-out label is {comparison.likelihood:.3f}; by the class "
        f"frequencies alone it is {comparison.frequency_likelihood:.3f}."
    )
    if plain is None:
        return (learnt,)
    verb = "" if comparison.likelier > REFUTED else "not "
    agreement = (
        f"AutoProbe predicts {comparison.agreement:.1%} of {comparison.n_rows} held-out labels, "
        f"{plain.name} {comparison.plain_agreement:.1%}. The labels are {verb}likelier "
        f"under AutoProbe in a test at 5% ({comparison.likelier:.2f} standard errors)."
    )
    if not noise.slope > 0:
        return learnt, agreement
    worth = f"One point of accuracy gives {noise.slope:.2f} points of agreement with these labels."
    return learnt, agreement, worth


def _cautions(comparison: Comparison, noise: NoiseEstimate, labels: Labels) -> tuple[str, ...]:
    """Return warnings: classes that a probe will get wrong, and limits of the estimates."""
    names, found = labels.classes.tolist(), []
    confused = confused_classes(noise)
    if confused.size:
        classes = counted(len(confused), "class", "classes")
        found.append(
            f"Rows of {classes} have some other label at least as often as the right one, and "
            f"will be predicted as that class: {first_few(names[k] for k in confused)}."
        )
    looks_like = comparison.looks_like
    outvoted = np.flatnonzero(looks_like != np.arange(len(names)))
    if comparison.choice.learnt and outvoted.size:
        pairs = [f"{names[b]!r} like {names[looks_like[b]]!r}" for b in outvoted]
        found.append(
            "Rows with some labels are more often predicted as another label. Either "
            "the label is mostly wrong, or the features do not separate the two: "
            f"{first_few(pairs, write=str)}."
        )
    n_rows, n_used = int(labels.sizes.sum()), comparison.choice.n_rows
    if n_used < n_rows:
        found.append(f"The label model was fitted on {n_used} of {n_rows} rows.")
    n_alone = int(np.count_nonzero(labels.sizes == 1))
    if n_alone:
        found.append(
            f"{counted(n_alone, 'class has', 'classes have')} one row. When this row is held out, "
            "no other row shows the class."
        )
    if not noise.given:
        found.append(
            "Noise that gives most rows of a class the same wrong label cannot be detected. If you "
            "know the noise, pass it as corruption."
        )
    return tuple(found)
