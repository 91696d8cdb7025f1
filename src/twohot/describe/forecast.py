"""A forecast of which probe is accurate on a dataset, from its noisy labels alone.

1. comparison    AutoProbe and a plain probe on held-out rows
2. noise         fraction of wrong labels according to the label model, as in an audit
3. correlation   correlations of the true classes, corrected for the noise
4. theory        predicted margin of each class after each round of self-distillation
5. advice        which probe to fit, and why, as text

Step 4 uses the results of steps 2 and 3; step 5 uses steps 1 to 3. A *held-out* row was not used to
fit the classifier that predicts it. The *margin* of a row is the output at its true label minus the
largest other output. The margin of a class is the smallest margin of its rows.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot.base import (
    ArgumentError,
    IntArray,
    Labels,
    Matrix,
    check_count,
    check_positive,
    check_superclass,
    counted,
    json_safe,
    notebook_table,
)
from twohot.describe.advice import Advice, advise
from twohot.describe.comparison import Comparison, compare_on
from twohot.describe.correlation import class_correlation
from twohot.describe.superclasses import cluster_classes
from twohot.describe.true_classes import (
    CorrelationEstimate,
    NoiseEstimate,
    expected_noise,
    take_noise,
    unmix,
)
from twohot.judge import (
    HEADINGS,
    AutoProbe,
    check_probabilities,
    check_rows_and_labels,
    column_classes,
    judge_given,
    labelled_rows,
)
from twohot.probes import STUDENT_RIDGE
from twohot.tables import check_same_index, pandas_index
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
    guarantees: tuple[Guarantee, ...]  # margins and accuracy of rounds 1, 2, …
    rounds_needed: RoundsNeeded  # rounds until all predictions are right and stay right
    # q/p: shrinkage factor of class means, divided by the shrinkage factor of the residual of a
    # row; NaN if rows of one class are no more similar than rows of different classes
    separation: float

    @property
    def eigengap(self) -> float:
        """Smallest eigenvalue between classes minus the largest eigenvalue within classes.

        With K classes there are K - 1 eigenvalues between classes, because rows are centred.
        """
        spectrum = self.model.spectrum()
        return float(spectrum.between[-2] - spectrum.within.max())


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """A forecast for probes on a dataset, with its evidence."""

    classes: NDArray[Any]  # (n_classes,)
    given_sizes: IntArray  # (n_classes,), number of rows with each given label
    comparison: Comparison  # AutoProbe and a plain probe on held-out rows
    noise: NoiseEstimate
    correlation: CorrelationEstimate
    theory: TheoryAnswer
    advice: Advice

    def __str__(self) -> str:
        advice = self.advice
        code = [f"  {advice.code}"] * bool(advice.code)
        reasons = [f"- {sentence}" for sentence in (*advice.evidence, *advice.cautions)]
        return "\n".join([advice.summary, *code, advice.wrong_labels, *reasons])

    def _repr_html_(self) -> str:
        cells = self.comparison.choice.cells()
        return notebook_table(self.advice.summary, HEADINGS, cells, str(self).splitlines()[1:])

    def __repr__(self) -> str:
        rows, classes = self.given_sizes.sum(), len(self.classes)
        learnt = self.comparison.choice.learnt
        wrong = f", about {self.noise.rate:.0%} of the labels wrong" if learnt else ""
        return f"<Forecast: {self.advice.action}; {rows} rows, {classes} classes{wrong}>"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types; numbers that are not finite become null.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> record = forecast(*load_iris(return_X_y=True)).to_json()
        >>> list(record)
        ['classes', 'given_sizes', 'comparison', 'noise', 'correlation', 'theory', 'advice']
        >>> record["noise"]["rate"] < 0.05
        True
        """
        return dict(json_safe({name: _as_dict(value) for name, value in vars(self).items()}))


def _as_dict(value: Any) -> Any:
    """Return a record, or a tuple of records, as dicts of fields and numeric properties."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, tuple):
        return [_as_dict(each) for each in value]
    if not is_dataclass(value):
        return value
    names = [name for name, each in vars(type(value)).items() if isinstance(each, property)]
    numbers = {name: getattr(value, name) for name in names}
    numbers = {name: each for name, each in numbers.items() if isinstance(each, int | float)}
    return {each.name: _as_dict(getattr(value, each.name)) for each in fields(value)} | numbers


def forecast(
    X: Matrix,
    y: Any,
    *,
    corruption: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    superclass: ArrayLike | None = None,
    ridge: float = STUDENT_RIDGE,
    n_rounds: int = 3,
    cv: Any = None,
    groups: Any = None,
    missing: Collection[str] = (),
    random_state: Any = 0,
    n_jobs: int | None = None,
    callback: Callable[[str], None] | None = None,
) -> Forecast:
    """Return which probe to fit on a dataset and how many labels are wrong, from the dataset alone.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
        Features.
    y : array, list, series or Labels of shape (n_rows,)
        Given labels. Rows without a label (None, NaN, NA, empty or blank text) are not used, but
        their features must be finite.
    corruption : array of shape (n_classes, n_classes), optional
        Fraction of each given label (column) in each true class (row), if known. This is the
        transpose of cleanlab's noise matrix. By default it is estimated as in `find_label_issues`.
        Here and in the arguments below, only classes with rows count. They are sorted: numbers by
        value, then text. The classes of a `Labels` record keep their order.
    probabilities : array of shape (n_rows, n_classes), optional
        Class probabilities, from which the fraction of wrong labels is estimated. Rows sum to one.
        The classifier that predicts a row must not be fitted on this row. The columns of a data
        frame are named by class, and may be in any order.
    superclass : array of shape (n_classes,), optional
        Superclass of each class, 0, 1, … without gaps; by default classes are clustered.
    ridge : float
        Penalty in the predictions of the theory.
    n_rounds : int
        Number of rounds of self-distillation that the theory predicts, at least 2.
    cv, groups, random_state
        Folds, groups of rows and seed, as for `AutoProbe`. An `AutoProbe` that is fitted with the
        same values has the same label model.
    missing : collection of str
        Texts that mean a missing label, such as "NA". Any other text is a class.
    n_jobs : int, optional
        Number of threads; by default all cores.
    callback : callable, optional
        Called with one line of text for each candidate that is fitted. By default, a notebook shows
        a progress bar.

    Returns
    -------
    Forecast
        Its `advice` says which probe to fit. If you print the forecast, it shows the advice with
        its reasons.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.6), random_state=0).given_labels
    >>> expected = forecast(X, noisy)
    >>> print(expected.advice.action)
    use AutoProbe
    >>> low, high = expected.noise.interval
    >>> bool(low < (noisy != y).mean() < high), bool(0.6 < expected.noise.rate < 0.66)
    (True, True)
    """
    check_same_index("groups", groups, "X", pandas_index(X))
    X, labels = check_rows_and_labels(X, y, missing)
    sizes, n_usable = labels.sizes, int(np.count_nonzero(labels.sizes >= 2))
    if n_usable < 2:
        usable = counted(n_usable, "class", "classes")
        problem = f"has {usable} with at least two rows, of {len(sizes)} in total"
        needed = "pass at least two rows in at least two classes, because rows are held out."
        raise ArgumentError("y", problem, needed)
    ridge = check_positive("ridge", ridge)
    n_rounds = check_count("n_rounds", n_rounds, 2)
    superclasses = None if superclass is None else check_superclass(superclass, labels.n_classes)
    if corruption is not None and probabilities is not None:
        problem = "and probabilities both describe the noise"
        raise ArgumentError("corruption", problem, "pass only one of them.")
    known = None if probabilities is None else _judge_by(probabilities, y, labels)
    known = known if corruption is None else take_noise(corruption, sizes)
    probe = AutoProbe(cv=cv, random_state=random_state, n_jobs=n_jobs)
    comparison, verdict = compare_on(probe, X, labels, groups=groups, callback=callback)
    noise = known or expected_noise(verdict)
    # From here on, only labelled rows are used.
    X, labels = labelled_rows(X, labels), labels.take(labels.labelled)
    measured = class_correlation(X, labels.codes, labels.n_classes, n_jobs=n_jobs).means
    if superclasses is None:
        single = np.zeros(labels.n_classes, dtype=np.intp)
        superclasses = cluster_classes(unmix(measured, noise, single).estimated).superclass
    correlation = unmix(measured, noise, superclasses)
    theory = ask_theory(correlation, noise, ridge=ridge, n_rounds=n_rounds)
    advice = advise(comparison, noise, correlation, labels)
    return Forecast(labels.classes, sizes, comparison, noise, correlation, theory, advice)


def _judge_by(probabilities: ArrayLike, y: Any, labels: Labels) -> NoiseEstimate:
    """Return the noise, estimated from the class probabilities that a user passed."""
    check_same_index("probabilities", probabilities, "y", pandas_index(y))
    advice = "pass a data frame with the class names as columns."
    columns = column_classes(probabilities, y, labels, advice=advice)
    rows = check_probabilities(probabilities, labels)
    # The column of `probabilities` for each class.
    order = Labels(np.arange(labels.n_classes), labels.classes).among(columns).codes
    labelled = labels.labelled
    return expected_noise(judge_given(rows[:, order][labelled], labels.codes[labelled]))


def ask_theory(
    correlation: CorrelationEstimate, noise: NoiseEstimate, *, ridge: float, n_rounds: int
) -> TheoryAnswer:
    """Return the predictions of the theory for every round up to `n_rounds`.

    The separation is computed for classes of equal size, with the mean correlation within classes
    and between classes.

    Examples
    --------
    >>> noise = NoiseEstimate(np.array([[0.7, 0.3], [0.3, 0.7]]), np.array([50, 50]), given=True)
    >>> correlation = unmix(np.array([[0.1, -0.1], [-0.1, 0.1]]), noise, np.array([0, 0]))
    >>> answer = ask_theory(correlation, noise, ridge=10.0, n_rounds=2)
    >>> [guarantee.accuracy for guarantee in answer.guarantees], answer.rounds_needed.overall
    ([1.0, 1.0], 1.0)
    """
    model = CorrelationModel.from_correlation(correlation.estimated, class_sizes=noise.class_sizes)
    l2 = ridge / (model.n_classes * model.n_samples)
    rounds = outputs_by_round(model, noise.corruption, l2=l2, n_rounds=n_rounds)
    separation, levels = float("nan"), (correlation.same_class, correlation.other_class)
    if levels[0] > levels[1]:
        n_per_class = model.n_samples / model.n_classes
        separation = separation_at(PairLevels(model.n_classes, n_per_class, *levels), l2=l2)
    return TheoryAnswer(
        model,
        ridge,
        guarantees=tuple(judge(outputs) for outputs in rounds),
        rounds_needed=rounds_until_right(model, noise.corruption, l2=l2, max_rounds=n_rounds),
        separation=separation,
    )
