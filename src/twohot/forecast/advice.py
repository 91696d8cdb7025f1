"""The advice of a forecast in plain words, each with the numbers that speak for it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from twohot._checks.labels import Labels
from twohot._checks.messages import counted, first_few
from twohot._types import IntArray
from twohot.forecast.gains import Comparison
from twohot.forecast.noise_estimate import NoiseEstimate
from twohot.forecast.true_correlations import CorrelationEstimate
from twohot.judge.choice import Choice, Tried
from twohot.theory import label_gaps

# A student must promise one point of accuracy: it costs more fits, and what is closer than that a
# better penalty decides. Whether chance may explain the promise is said, but not asked for: on few
# rows with much noise, where students gain most, no gain could be told from chance.
LEAST_GAIN = 0.01
SURE_ERRORS = 2.0

# Share of wrong labels, at the least, from which on an audit is advised too: whatever is fitted,
# the labels themselves can be mended. Hard rows alone do not reach it: with the labels as published
# the least was 1.5 % or below on digits, BANKING77, Flowers-102, CIFAR-100 and StanfordCars.
AUDITED_SHARE = 0.03

# Share of the rows in classes that cannot be learnt, from which on nothing is left to advise.
LOST_SHARE = 0.5


class Action(StrEnum):
    """What to do."""

    PLAIN = "use a plain probe"
    ANCHORED = "use AutoProbe"
    NOTHING = "no linear method will help"


@dataclass(frozen=True)
class Advice:
    """What to do, and why."""

    action: Action
    code: str  # the probe to fit; empty if none
    summary: str  # one sentence, and a second one if an audit pays
    evidence: tuple[str, ...]  # sentences with numbers
    cautions: tuple[str, ...]  # what the evidence does not cover
    audit: bool  # whether so many labels look wrong that finding them pays


def advise(
    comparison: Comparison,
    noise: NoiseEstimate,
    correlation: CorrelationEstimate,
    labels: Labels,
    *,
    theory: str,
) -> Advice:
    """Weigh the candidates, the noise and the correlations; `theory` is one sentence of evidence.

    What is predicted of held-out rows decides: the theory knows classes by their means alone, and
    is too optimistic where rows of a class differ.
    """
    lost = lost_classes(noise)
    cautions = _cautions(comparison, noise, correlation, labels, lost)
    choice, plain = comparison.choice, comparison.plain
    hopeless = _hopeless(choice, correlation, noise, lost)
    if hopeless is not None:
        reason, numbers = hopeless
        summary = f"{Action.NOTHING}: {reason}"
        return Advice(Action.NOTHING, "", summary, (numbers,), cautions, audit=False)
    gain, error = (noise.as_accuracy(value) for value in comparison.gain)
    points = f"{100 * gain:.1f} ± {100 * error:.1f} points"
    evidence = (_agreement(choice, plain), theory)
    audit = _least_wrong(noise) >= AUDITED_SHARE
    and_audit = f" {_worth_an_audit(noise)}" if audit else ""
    if plain is not None and not gain >= LEAST_GAIN:
        summary = f"{Action.PLAIN}: AutoProbe is expected to gain {points} of accuracy.{and_audit}"
        return Advice(Action.PLAIN, plain.estimator, summary, evidence, cautions, audit)
    summary = (
        f"{Action.ANCHORED}: it is expected to gain {points} of accuracy over a plain probe."
        f"{and_audit}"
    )
    if gain < SURE_ERRORS * error:
        n_rows = counted(len(comparison.given), "row")
        unsure = f"{n_rows} with this much noise cannot tell this gain from chance."
        cautions = (unsure, *cautions)
    return Advice(Action.ANCHORED, "AutoProbe()", summary, evidence, cautions, audit)


def lost_classes(noise: NoiseEstimate) -> IntArray:
    """Return the classes whose rows are given another label at least as often as their own."""
    return np.flatnonzero(label_gaps(noise.corruption) <= 0)


def _least_wrong(noise: NoiseEstimate) -> float:
    """Return the share of the labels that are wrong at the least."""
    return noise.rate if noise.given else noise.interval[0]


def _worth_an_audit(noise: NoiseEstimate) -> str:
    return (
        f"About {noise.rate:.0%} of the labels look wrong: `twohot audit`, in Python "
        "`find_label_issues`, finds them and says what they should be."
    )


def _agreement(choice: Choice, plain: Tried | None) -> str:
    said = f"The label model predicts {choice.agreement:.1%} of the given labels of held-out rows"
    if plain is None:
        return f"{said}."
    return f"{said}, {plain.name} {plain.agreement:.1%}."


def _hopeless(
    choice: Choice, correlation: CorrelationEstimate, noise: NoiseEstimate, lost: IntArray
) -> tuple[str, str] | None:
    """Say why no linear method will help, and with which numbers; None if one may."""
    if not choice.learnt:
        return (
            "the features say nothing about these labels that a probe could learn.",
            _agreement(choice, None),
        )
    same, other = correlation.same_class, correlation.other_class
    if not same > other:
        return (
            "rows of one class are no more alike than rows of two.",
            f"Mean correlation of two rows of one class {same:.3f}, of two classes {other:.3f}.",
        )
    share = noise.class_sizes[lost].sum() / noise.class_sizes.sum()
    if share >= LOST_SHARE:
        return (
            "most rows are of a class that is given some wrong label at least as often as its own.",
            f"{len(lost)} of {len(noise.class_sizes)} classes, with {share:.0%} of the rows.",
        )
    return None


def _looks_like(comparison: Comparison, n_classes: int) -> IntArray:
    """Return what held-out rows of each label are mostly predicted as; itself if there are none."""
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (comparison.given, comparison.predicted), 1)
    # Of two that are predicted as often, the label itself.
    counts += 0.5 * np.eye(n_classes)
    return np.asarray(counts.argmax(axis=1))


def _cautions(
    comparison: Comparison,
    noise: NoiseEstimate,
    correlation: CorrelationEstimate,
    labels: Labels,
    lost: IntArray,
) -> tuple[str, ...]:
    """Name what a probe will get wrong as a whole, and what the estimates do not cover."""
    names, found = labels.classes.tolist(), []
    if lost.size:
        classes = counted(len(lost), "class", "classes")
        often = "are given some other label at least as often as their own"
        listed = first_few(names[k] for k in lost)
        found.append(f"Rows of {classes} {often} and will be predicted as it: {listed}.")
    mostly = _looks_like(comparison, len(names))
    outvoted = np.flatnonzero(mostly != np.arange(len(names)))
    if outvoted.size:
        pairs = [f"{names[b]!r} like {names[mostly[b]]!r}" for b in outvoted]
        found.append(
            "Rows of some labels look like another label more often than like their own: the label "
            "is mostly wrong there, or the two cannot be told apart: "
            f"{first_few(pairs, write=str)}."
        )
    n_rows, n_alone = int(labels.sizes.sum()), int(np.count_nonzero(labels.sizes == 1))
    if comparison.choice.n_rows < n_rows:
        found.append(
            f"The label model was fitted on {comparison.choice.n_rows} of {n_rows} rows: with all "
            "of them a probe may gain more."
        )
    if n_alone:
        found.append(
            f"{counted(n_alone, 'class has', 'classes have')} one row each, which was held out or "
            "fitted on, never both; for their correlation the mean of the other classes is taken."
        )
    if correlation.n_limited:
        found.append(
            f"The noise mixes the classes so much that along {correlation.n_limited} of "
            f"{len(names)} axes it could be taken out of the correlations in part only: "
            "margins may be larger."
        )
    if correlation.n_capped:
        found.append(
            f"{counted(correlation.n_capped, 'class', 'classes')} came out more alike inside than "
            "rows can be: rows that are hard to predict were taken for noise, and margins may be "
            "smaller."
        )
    if not noise.given:
        low, high = noise.interval
        found.append(
            f"About {noise.rate:.1%} of the labels are wrong, between {low:.1%} and {high:.1%}: "
            "where classes overlap, labels cannot tell more, and noise that turns most labels of "
            "a class into another is not seen."
        )
    return tuple(found)
