"""How probable it is that each label is wrong, what of it can be promised, and what share is wrong.

Two stories explain a label that a classifier would not have given:

* A, `at_random`: labels are wrong at random given the true class; all else is overlap of classes.
* B, `at_boundary`: classes overlap only as far as a generative model of them says; all else is
  wrong labels. Noise that is most frequent where classes meet is seen by B alone.

No given label can decide between them. What A says is counted in full, what B says beyond it in
part,

    probability_wrong = A + believed · (1 - A) · max(B - A, 0),

and the share of wrong labels is between the means of A and of max(A, B). How far B is believed
depends on what A finds (`weigh_boundary`): if labels are wrong alike for all classes, there is a
reason for them already; if A finds none, what is wrong is at the boundary, and B may be raised.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twohot._types import FloatArray, IntArray

# How far B is believed beyond A: below ½, so that what B alone doubts is more likely right than
# wrong, and less where noise alike for all classes is found: what B doubts there is mostly the
# errors of a weak classifier (F1 of the flags on CIFAR-100 with .1 symmetric noise: 49 at .35, 86
# at .2; on BANKING77 95 at both).
BELIEVED, BELIEVED_BESIDE_EVEN = 0.35, 0.2
# Share of labels above which noise at random is established: less is found on clean labels too,
# and in noise at the boundary (BANKING77: half a percent). No rate below this share may explain the
# labels about as well: of unbalanced classes with noise at the boundary, 2.5 % were found where any
# rate from .6 % on would do (Reuters; F1 of the flags 79, and 89 if it is not taken for noise).
ESTABLISHED, AT_LEAST_ESTABLISHED = 0.02, 0.01

# A classifier that was fitted on fewer labels of a class hardly knows it, and gives others to right
# ones: of StanfordCars with a long tail and symmetric noise of .3, labels of classes with 5
# to 9 were promised to be wrong at .88, and were at .60; with 15 and more at .74, and .76.
FEWEST_KNOWN = 10

SURELY = 0.5  # probability from which on a label is wrong rather than right

# What A counts for where labels are about as likely without the noise that it finds: none of them
# is then more probably wrong than right.
BY_HALF = 0.5


@dataclass(frozen=True)
class ShareWrong:
    """The share of the labels that is wrong, and what cannot be known about it."""

    wrong: float  # wrong at random given the true class
    unclear: float  # further labels, wrong or overlap of classes: that cannot be told
    low: float  # the share that is wrong is between this
    high: float  # and this


@dataclass(frozen=True)
class Trust:
    """How far what a classifier says can be trusted, for what it has seen and what it can learn."""

    fewest_labels: int = 0  # of a class of which anything is promised
    is_curved: bool = False  # whether no straight lines separate the classes: the nearest know more
    # Share of what it disagrees with that the rows nearest to each explain, if they had no say.
    explained: float = 0.0
    overlap_explained: float = 0.0  # the same of a generative model, if they had a say
    may_be_none: bool = False  # whether labels are about as likely without the noise that is found

    @property
    def by_nearest(self) -> bool:
        """Whether labels are judged by the nearest rows, which know more than a probe."""
        return self.is_curved and not self.explained

    def known(self, class_sizes: IntArray, *, even: bool) -> NDArray[np.bool_]:
        """Return whether anything is promised of labels, by the sizes of their classes.

        `even` is whether noise is alike for all of them. Where no straight lines separate classes,
        one that is spread over another looks like noise between the two.
        """
        told = not self.explained and (even or not self.is_curved)
        return (class_sizes >= self.fewest_labels) & told


@dataclass(frozen=True)
class BoundaryWeight:
    """How much B counts beside A."""

    believed: float  # of what B says beyond A
    at_least: float  # what B is raised to where another class is likelier than the label's


def is_established(noise_rate: float, noise_rate_interval: tuple[float, float]) -> bool:
    """Return whether noise at random is more than is found on clean labels."""
    return noise_rate > ESTABLISHED and noise_rate_interval[0] > AT_LEAST_ESTABLISHED


def weigh_boundary(
    at_boundary: FloatArray, unlike: NDArray[np.bool_], *, established: bool, even: bool
) -> BoundaryWeight:
    """Return how much B counts beside A.

    `established` is whether A finds noise, and `even` whether that is alike for all classes. Where
    it finds hardly any, wrong labels are at the boundary, among the labels `unlike` the likeliest
    class. As many of these are wrong as B finds wrong at all, and no one of them is less doubtful
    than that: which of them are overlap, a generative model knows less well than the classifier.

    Examples
    --------
    >>> import numpy as np
    >>> doubts, unlike = np.array([1.0, 0.2, 0.0]), np.array([True, True, False])
    >>> weigh_boundary(doubts, unlike, established=False, even=True)
    BoundaryWeight(believed=0.35, at_least=0.6)
    """
    if established:
        return BoundaryWeight(BELIEVED_BESIDE_EVEN if even else BELIEVED, 0.0)
    found, n_unlike = float(np.nansum(at_boundary)), int(np.count_nonzero(unlike))
    return BoundaryWeight(BELIEVED, min(1.0, found / max(1, n_unlike)))


def combined_doubt(
    at_random: FloatArray,
    at_boundary: FloatArray,
    unlike: NDArray[np.bool_],
    weight: BoundaryWeight,
) -> FloatArray:
    """Return how probable it is that each label is wrong, NaN without a label.

    Examples
    --------
    >>> import numpy as np
    >>> unlike = np.array([True, True, True, False])
    >>> at_random, at_boundary = np.array([0.9, 0.0, 0.0, 0.0]), np.array([0.2, 1.0, 0.0, 0.0])
    >>> combined_doubt(at_random, at_boundary, unlike, BoundaryWeight(0.35, 0.0)).tolist()
    [0.9, 0.35, 0.0, 0.0]
    >>> combined_doubt(at_random, at_boundary, unlike, BoundaryWeight(0.5, 0.4)).tolist()
    [0.9, 0.5, 0.2, 0.0]
    """
    raised = np.where(unlike, np.maximum(at_boundary, weight.at_least), at_boundary)
    beyond = np.maximum(raised - at_random, 0)
    return np.asarray(at_random + weight.believed * (1 - at_random) * beyond)


def promised_doubt(
    at_random: FloatArray, confidence: FloatArray, known: NDArray[np.bool_], *, even: bool
) -> FloatArray:
    """Return how probable it is that each label is wrong, as far as that can be promised.

    What B says beyond A never is: it may be overlap. Where noise is alike for all classes
    (`even`), A is kept as it is. Where it differs between them, what a classifier confuses looks
    like noise, and A takes some of it for that: a label is then promised to be wrong only as far as
    the classifier is sure of the class that it would give, at `confidence`. Nothing is promised of
    labels whose classes it does not know.

    Examples
    --------
    >>> import numpy as np
    >>> at_random, confidence = np.array([0.9, 0.5, 0.9]), np.array([0.5, 1.0, 1.0])
    >>> known = np.array([True, True, False])
    >>> promised_doubt(at_random, confidence, known, even=True).tolist()
    [0.9, 0.5, 0.0]
    >>> promised_doubt(at_random, confidence, known, even=False).tolist()
    [0.45, 0.5, 0.0]
    """
    promised = at_random if even else at_random * confidence
    # Without a label there is nothing to promise, and nothing is NaN.
    return np.where(known, promised, np.minimum(promised, 0.0))


def share_wrong(
    at_random: FloatArray,
    at_boundary: FloatArray,
    promised: FloatArray,
    noise_rate: float,
    noise_rate_interval: tuple[float, float],
) -> ShareWrong:
    """Return the share of wrong labels among the labelled rows.

    It is at least what is promised, and nothing if noise at random is hardly found. Its interval
    adds to what cannot be told what few rows leave open: how far the interval of the noise rate is
    from the noise rate, both of the model that `at_random` is from.
    """
    labelled = ~np.isnan(at_random)
    least = float(promised[labelled].mean()) if noise_rate > ESTABLISHED else 0.0
    wrong = float(at_random[labelled].mean())
    at_most = float(np.maximum(at_random, at_boundary)[labelled].mean())
    low, high = noise_rate_interval
    return ShareWrong(
        wrong=wrong,
        unclear=at_most - wrong,
        low=max(0.0, least - max(0.0, noise_rate - low)),
        high=min(1.0, at_most + max(0.0, high - noise_rate)),
    )


def share_in_words(noise_rate: float, noise_interval: tuple[float, float]) -> str:
    """Return how many labels are wrong, in a few words.

    Examples
    --------
    >>> share_in_words(0.1, (0.05, 0.2))
    'about 10.0% are wrong (between 5.0% and 20.0%)'
    >>> share_in_words(0.2, (0.0, 1.0))
    'how many are wrong is not known'
    """
    least, most = noise_interval
    if (least, most) == (0.0, 1.0):
        return "how many are wrong is not known"
    return f"about {noise_rate:.1%} are wrong (between {least:.1%} and {most:.1%})"
