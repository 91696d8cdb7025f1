"""The advice of a forecast: the probe to fit, the fraction of wrong labels, and the evidence.

A *held-out* row was not used to fit the classifier that predicts it. The *agreement* of a
classifier is the fraction of held-out given labels that it predicts.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from twohot.base import Labels, counted, first_few, label_notes
from twohot.describe.comparison import Comparison
from twohot.describe.true_classes import CorrelationEstimate, NoiseEstimate
from twohot.judge import REFUTED, WHY_ZERO


class Action(StrEnum):
    """The advised action: which kind of probe to fit, if any."""

    PLAIN = "use a plain probe"
    ANCHORED = "use AutoProbe"
    NOTHING = "no linear method will help"


@dataclass(frozen=True)
class Advice:
    """The advised action, the reasons, and the limits of the evidence."""

    action: Action
    code: str  # Python code of the probe to fit; empty if no probe is advised
    summary: str  # the action and its reason, in one sentence
    wrong_labels: str  # one or two sentences on the fraction of wrong labels
    evidence: tuple[str, ...]  # sentences with the numbers of the comparison
    cautions: tuple[str, ...]  # sentences on the limits of the evidence
    audit: bool  # whether an audit is advised, because some labels are wrong


def advise(
    comparison: Comparison, noise: NoiseEstimate, correlation: CorrelationEstimate, labels: Labels
) -> Advice:
    """Return the advice; the probe is chosen by its predictions for held-out rows.

    AutoProbe needs more fits than a plain probe, so it is advised only if it passes two tests. In
    the first test, the likelihood of the held-out labels must be significantly larger under
    AutoProbe. In the second test, its agreement must not be significantly smaller. Both tests are
    one-sided, at level 5 %. Likelihoods are compared because, with much noise and few rows, a gain
    in agreement cannot be distinguished from chance. The theory is not used: it describes each
    class by its mean only, so it is too optimistic if the rows of a class differ.
    """
    action, reason = _choose(comparison, noise, correlation)
    code = "" if action is Action.NOTHING else "AutoProbe()"
    if action is Action.PLAIN and comparison.plain is not None:
        code = comparison.plain.estimator
    return Advice(
        action=action,
        code=code,
        summary=f"{action}: {reason}",
        wrong_labels=_count_wrong(comparison, noise),
        evidence=_evidence(comparison, noise),
        cautions=_cautions(comparison, noise, labels),
        audit=comparison.choice.learnt and (noise.interval[0] > 0 or noise.n_likely_wrong > 0),
    )


def _choose(
    comparison: Comparison, noise: NoiseEstimate, correlation: CorrelationEstimate
) -> tuple[Action, str]:
    """Return the advised action and the reason as text.

    If AutoProbe is compared with a plain probe, the reason has only the numbers of the test that
    decides, because the numbers of the other test may point to the other action.
    """
    same, other, sizes = correlation.same_class, correlation.other_class, noise.class_sizes
    lost = sizes[noise.confused].sum() / sizes.sum()
    gain, error = comparison.gain, comparison.gain_error
    points, bar = (100 * noise.as_accuracy(each) for each in (gain, error))
    estimate = f"estimated gain in accuracy: {points:+.1f} points, standard error {bar:.1f}"
    test = f"the gain is {comparison.likelier:.2f} standard errors; a test at 5% needs {REFUTED}"
    action = Action.NOTHING
    if not comparison.choice.learnt:
        reason = "the features predict the labels no better than the class frequencies (test at 5%)"
    elif not same > other:
        reason = "rows of one class are no more similar than rows of different classes "
        reason += f"(mean correlation {same:.3f} and {other:.3f})"
    elif lost > 0.5:
        # A probe learns the most frequent label of a class, so it predicts these rows wrongly.
        reason = f"in {len(noise.confused)} of {len(sizes)} classes, with {lost:.0%} of the rows, "
        reason += "a wrong label is at least as frequent as the right one"
    elif comparison.plain is None:
        action = Action.ANCHORED
        reason = "some class has too few rows to test a plain probe on held-out rows"
    elif gain < -REFUTED * error:
        action = Action.PLAIN
        reason = f"AutoProbe predicts fewer held-out labels (test at 5%; {estimate})"
    elif comparison.likelier <= REFUTED:
        action = Action.PLAIN
        reason = f"AutoProbe does not make held-out labels more likely ({test})"
    else:
        action = Action.ANCHORED
        test += f"; {estimate}" if points > 0 else ""
        reason = f"it makes held-out labels more likely than a plain probe does ({test})"
    return action, f"{reason}."


def _count_wrong(comparison: Comparison, noise: NoiseEstimate) -> str:
    """Return one or two sentences on the fraction of wrong labels."""
    (low, high), n_rows = noise.interval, comparison.choice.n_rows
    if noise.given:
        return f"For the corruption you passed, {noise.rate:.1%} of the labels are wrong."
    if not comparison.choice.learnt:
        return "The number of wrong labels cannot be estimated from these features."
    between = f"between {low:.1%} and {high:.1%}, including two standard errors"
    estimate = f"About {noise.rate:.1%} of the labels are wrong ({between})"
    if low > 0:
        return f"{estimate}."
    if noise.n_likely_wrong == 0 and noise.rate * n_rows < 1:
        most = f"the upper bound of the fraction of wrong labels is {high:.1%}"
        return f"No label is likely to be wrong ({most})."
    return f"{estimate}. {WHY_ZERO}"


def _evidence(comparison: Comparison, noise: NoiseEstimate) -> tuple[str, ...]:
    """Return sentences on the label model and, if a plain probe was fitted, on the comparison."""
    likelihood = (
        f"Under the label model, the mean log-likelihood of a held-out label is "
        f"{comparison.likelihood:.3f}. With the class frequencies alone, it is "
        f"{comparison.frequency_likelihood:.3f}."
    )
    if comparison.plain is None:
        return (likelihood,)
    more = "more" if comparison.likelier > REFUTED else "not more"
    agreement = (
        f"AutoProbe predicts {comparison.agreement:.1%} of {comparison.n_rows} held-out labels. "
        f"The plain probe, {comparison.plain.name}, predicts {comparison.plain_agreement:.1%}. "
        f"By a test at 5%, the labels are {more} likely under AutoProbe "
        f"(the gain is {comparison.likelier:.2f} standard errors)."
    )
    slope = (
        "If the accuracy rises by one point, the fraction of given labels that are predicted rises "
        f"by {noise.slope:.2f} points."
    )
    return (likelihood, agreement, slope) if noise.slope > 0 else (likelihood, agreement)


def _cautions(comparison: Comparison, noise: NoiseEstimate, labels: Labels) -> tuple[str, ...]:
    """Return warnings: classes that a probe predicts wrongly, and limits of the estimates."""
    names, found = labels.classes.tolist(), []
    if noise.confused.size:
        classes = counted(noise.confused.size, "class", "classes")
        found.append(
            f"In {classes}, a wrong label is at least as frequent as the right one, so a probe "
            f"predicts a wrong label there: {first_few(names[k] for k in noise.confused)}."
        )
    looks_like = comparison.looks_like
    outvoted = np.flatnonzero(looks_like != np.arange(len(names)))
    if comparison.choice.learnt and outvoted.size:
        pairs = [f"{names[b]!r} as {names[looks_like[b]]!r}" for b in outvoted]
        found.append(
            "Held-out rows with some labels are more often predicted as another class than as "
            f"their label: {first_few(pairs, write=str)}. Either such a label is mostly wrong, or "
            "the features do not separate the two classes."
        )
    n_rows, n_used = int(labels.sizes.sum()), comparison.choice.n_rows
    if n_used < n_rows:
        found.append(f"The label model was fitted on {n_used} of {n_rows} rows.")
    n_alone = int(np.count_nonzero(labels.sizes == 1))
    if n_alone:
        found.append(
            f"{counted(n_alone, 'class has', 'classes have')} one row. If this row is held out, "
            "no other row shows what the class looks like."
        )
    if not noise.given:
        found.append(
            "If most rows of a class have the same wrong label, this cannot be detected. If you "
            "know the fraction of each label in each class, pass these fractions as corruption."
        )
    return (*found, *label_notes(labels))
