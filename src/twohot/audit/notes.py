"""What an audit says in words: what the labels cannot tell, and which rows do not count."""

import numpy as np

from twohot.base import BoolArray, FloatArray, Labels, counted, first_few
from twohot.judge import LabelVerdict

SURELY = 0.5  # probability from which on a label is wrong rather than right

NOTHING_LEARNT = (
    "The features explain these labels no better than the class frequencies alone: do not trust "
    "these verdicts, none is corrected automatically. Other features may help; see forecast."
)


def flag_notes(verdict: LabelVerdict, flagged: BoolArray, precision: float | None) -> list[str]:
    """Say what the labels cannot tell of those that are flagged."""
    if not verdict.learnt:
        return [NOTHING_LEARNT]
    if precision is not None and not flagged.any():
        reason = "no other class is likelier for any row"
        if verdict.eligible.any():
            highest = float(np.nanmax(verdict.doubt[verdict.eligible]))
            reason = f"the most doubtful label is wrong with a probability of {highest:.2f}"
        return [f"No label is flagged for an expected precision of {precision:g}: {reason}."]
    said = []
    if verdict.interval[0] == 0 and flagged.any():
        said.append(
            "The labels are about as likely without any noise: what is flagged may be overlap of "
            "the classes. Check some of the flagged rows first."
        )
    if flagged.any() and not (verdict.doubt[flagged] > SURELY).any():
        said.append(
            "Each flagged label is more probably right than wrong: none is corrected automatically."
        )
    return said


def row_notes(labels: Labels, verdict: LabelVerdict) -> list[str]:
    """Say which rows were not counted, and which were kept together."""
    said = []
    n_unlabelled = np.count_nonzero(~labels.labelled)
    if n_unlabelled:
        said.append(f"Rows without a label: {n_unlabelled}, predicted and not counted.")
    if verdict.n_copies:
        rows = counted(verdict.n_copies, "row")
        said.append(f"Copies and near-duplicates: {rows}, judged without each other.")
    single = labels.classes[labels.sizes == 1].tolist()
    if single:
        said.append(
            f"Classes with one label only: {len(single)} ({first_few(single)}), kept and never "
            "flagged, because nothing else says what they look like."
        )
    return said


def taken_unseen(flagged: BoolArray, undecided: BoolArray, label_quality: FloatArray) -> BoolArray:
    """Return the rows whose suggestion is taken although nobody has looked.

    Those that are flagged, have one suggestion (`undecided` have two), and are more probably wrong
    than right.
    """
    # Without a label there is no quality, which compares as False.
    return np.asarray(flagged & ~undecided & (label_quality < 1 - SURELY))
