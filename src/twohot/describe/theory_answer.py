"""Predictions of the theory for estimated correlations and noise: margins, rounds, separation."""

from dataclasses import dataclass

from twohot.describe.true_classes import CorrelationEstimate, NoiseEstimate
from twohot.theory import (
    CorrelationModel,
    Guarantee,
    PairLevels,
    RoundsNeeded,
    judge,
    outputs_by_round,
    rounds_until_right,
    separation_at,
)


@dataclass(frozen=True, eq=False)
class TheoryAnswer:
    """Predictions of the theory, which assumes that rows of a class differ only at random."""

    model: CorrelationModel  # input of the theory
    ridge: float  # penalty
    guarantees: tuple[Guarantee, ...]  # of rounds 1, 2, …: margins and accuracy
    rounds_needed: RoundsNeeded  # until all labels are right and stay right
    separation: float  # q/p: shrinkage factor of class means, divided by that of a row's own part;
    # NaN if rows of the same class are no more similar than others

    @property
    def eigengap(self) -> float:
        """Smallest eigenvalue between classes minus the largest one within classes.

        With K classes there are K - 1 eigenvalues between classes, because rows are centred.
        """
        spectrum = self.model.spectrum()
        return float(spectrum.between[-2] - spectrum.within.max())


def ask_theory(
    correlation: CorrelationEstimate, noise: NoiseEstimate, *, ridge: float, n_rounds: int
) -> TheoryAnswer:
    """Return the theory's predictions for every round up to `n_rounds`.

    Examples
    --------
    >>> import numpy as np
    >>> from twohot.describe.true_classes import unmix
    >>> noise = NoiseEstimate(np.array([[0.7, 0.3], [0.3, 0.7]]), np.array([50, 50]), given=True)
    >>> correlation = unmix(np.array([[0.1, -0.1], [-0.1, 0.1]]), noise, np.array([0, 0]))
    >>> answer = ask_theory(correlation, noise, ridge=10.0, n_rounds=2)
    >>> [guarantee.accuracy for guarantee in answer.guarantees], answer.rounds_needed.overall
    ([1.0, 1.0], 1.0)
    """
    model = CorrelationModel.from_correlation(correlation.estimated, class_sizes=noise.class_sizes)
    l2 = ridge / (model.n_classes * model.n_samples)
    rounds = outputs_by_round(model, noise.corruption, l2=l2, n_rounds=n_rounds)
    return TheoryAnswer(
        model,
        ridge,
        guarantees=tuple(judge(outputs) for outputs in rounds),
        rounds_needed=rounds_until_right(model, noise.corruption, l2=l2, max_rounds=n_rounds),
        separation=_separation(correlation, model, l2),
    )


def _separation(correlation: CorrelationEstimate, model: CorrelationModel, l2: float) -> float:
    """Return q/p of classes of equal size and correlation, set to the averages of all classes."""
    same, other = correlation.same_class, correlation.other_class
    if same <= other:
        return float("nan")
    levels = PairLevels(model.n_classes, model.n_samples / model.n_classes, same, other)
    return separation_at(levels, l2=l2)
