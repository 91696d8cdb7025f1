"""How many labels are wrong in words, and which suggestions are taken without a review."""

import numpy as np

from twohot._types import BoolArray, FloatArray

SURELY = 0.5  # probability from which on a label is wrong rather than right


def share_in_words(noise_rate: float, noise_interval: tuple[float, float]) -> str:
    """Return how many labels are wrong, in a few words.

    Examples
    --------
    >>> share_in_words(0.1, (0.05, 0.2))
    'about 10.0% are wrong (between 5.0% and 20.0%)'
    """
    least, most = noise_interval
    return f"about {noise_rate:.1%} are wrong (between {least:.1%} and {most:.1%})"


def taken_unseen(flagged: BoolArray, undecided: BoolArray, label_quality: FloatArray) -> BoolArray:
    """Return the rows whose suggestion is taken although nobody has looked.

    Those that are flagged, have one suggestion (`undecided` have two), and are more probably wrong
    than right.
    """
    # Without a label there is no quality, which compares as False.
    return np.asarray(flagged & ~undecided & (label_quality < 1 - SURELY))
