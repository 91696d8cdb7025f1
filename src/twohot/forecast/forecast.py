"""Will it help here: what AutoProbe's search and the theory say about noisy labels.

1. comparison    every candidate of AutoProbe predicts held-out rows
2. noise         what the audit says of the labels: each judged by fits that have not seen it
3. correlation   of the classes, with the noise taken out
4. theory        margin of every class after each round, for these correlations and this noise
5. advice        in plain words
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from twohot._checks.classes import check_superclass
from twohot._checks.labels import Labels, label_notes
from twohot._checks.messages import ArgumentError, counted
from twohot._checks.numbers import check_count, check_positive
from twohot._notebooks import notebook_table
from twohot._types import IntArray, Matrix
from twohot.audit.audit_notes import curved_notes
from twohot.audit.class_probabilities import check_probabilities, column_classes
from twohot.audit.doubt import Trust
from twohot.audit.opinions import given_opinions, searched_opinions
from twohot.audit.partly_labelled import check_rows_and_labels, labelled_rows, naming_rows
from twohot.audit.verdict import reach_verdict
from twohot.classes import class_correlation, cluster_classes
from twohot.distill.base import STUDENT_RIDGE
from twohot.forecast.advice import Advice, advise
from twohot.forecast.gains import Comparison, compare
from twohot.forecast.noise_estimate import NoiseEstimate, expected_noise, take_noise
from twohot.forecast.theory_answer import TheoryAnswer, ask_theory
from twohot.forecast.true_correlations import CorrelationEstimate, unmix
from twohot.rows.threads import one_blas_thread
from twohot.select.auto_probe import AutoProbe, search_probe
from twohot.select.result import HEADINGS
from twohot.select.selection import Selection
from twohot.select.splits import labelled_splits
from twohot.tables.frames import check_same_index, pandas_index
from twohot.tables.row_ids import RowIds


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """What is to be expected of probes on a data set, and the evidence."""

    classes: NDArray[Any]  # (n_classes,)
    given_sizes: IntArray  # (n_classes,), rows with each label
    comparison: Comparison  # of the candidates on held-out rows; its `choice` is AutoProbe's
    noise: NoiseEstimate
    correlation: CorrelationEstimate
    theory: TheoryAnswer
    advice: Advice

    def __str__(self) -> str:
        advice = self.advice
        code = [f"  {advice.code}"] if advice.code else []
        reasons = [f"- {sentence}" for sentence in (*advice.evidence, *advice.cautions)]
        return "\n".join([advice.summary, *code, *reasons])

    def _repr_html_(self) -> str:
        advice, tried = self.advice, self.comparison.choice
        notes = (*[advice.code] * bool(advice.code), *advice.evidence, *advice.cautions)
        return notebook_table(advice.summary, HEADINGS, tried.cells(), notes)

    def __repr__(self) -> str:
        return (
            f"<Forecast: {self.advice.action}; {self.given_sizes.sum()} rows, "
            f"{len(self.classes)} classes, about {self.noise.rate:.0%} of the labels wrong>"
        )


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
    missing: Collection[str] = (),
    random_state: Any = 0,
    n_jobs: int | None = None,
    callback: Callable[[str], None] | None = None,
) -> Forecast:
    """Say whether students will help on this data set, and which, from its noisy labels alone.

    Parameters
    ----------
    X : array, memory map, sparse matrix or data frame of shape (n_rows, n_features)
    y : array, list, series or Labels of shape (n_rows,)
        Given labels; rows without one (None, NaN, NA, empty or blank text) are not used.
    corruption : array of shape (n_classes, n_classes), optional
        Share of each given label (column) in each true class (row), if it is known: the transpose
        of cleanlab's noise matrix. By default labels are judged as `find_label_issues` does, and
        as many are wrong as it says. Here and below the classes are those that rows have, numbers
        by value and then text, or as a `Labels` record orders them.
    probabilities : array of shape (n_rows, n_classes), optional
        Predictions to judge labels by, rows that sum to one, each of a probe that was not fitted on
        that row. A data frame may have its columns in any order, by the names of classes.
    superclass : array of shape (n_classes,), optional
        Superclass of each class, 0, 1, … without a hole; by default classes are clustered.
    ridge : float
        Penalty at which the theory is asked.
    n_rounds : int
        Rounds to ask the theory about, at least 2.
    cv, random_state
        Which rows are held out, as for `AutoProbe`: with the same, it chooses the same. More
        folds than by default, as cv=5, judge on more rows, and the errors get smaller. Row numbers
        are those of X.
    missing : collection of str
        Texts that mean no label, as "NA": they are classes otherwise.
    n_jobs : int, optional
        Threads; by default all cores.
    callback : callable, optional
        Is called with a line for every candidate that was tried. By default a notebook shows a bar.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y, symmetric(10, 0.6), random_state=0).given_labels
    >>> expected = forecast(X, noisy)
    >>> print(expected.advice.action)
    use a robust student
    >>> low, high = expected.noise.interval
    >>> bool(low < (noisy != y).mean() < high), bool(0.6 < expected.noise.rate < 0.66)
    (True, True)
    """
    X, labels = check_rows_and_labels(X, y, missing)
    sizes, n_usable = labels.sizes, int(np.count_nonzero(labels.sizes >= 2))
    if n_usable < 2:
        usable = counted(n_usable, "class", "classes")
        problem = f"has {usable} with two rows or more, of {len(sizes)}"
        raise ArgumentError("y", problem, "pass two such classes or more, to hold rows out.")
    ridge = check_positive("ridge", ridge)
    n_rounds = check_count("n_rounds", n_rounds, 2)
    groups = None if superclass is None else check_superclass(superclass, labels.n_classes)
    known = None if probabilities is None else _judge_by(probabilities, y, labels)
    if corruption is not None:
        if known is not None:
            problem = "and probabilities both say what the noise is"
            raise ArgumentError("corruption", problem, "pass one of them.")
        known = take_noise(corruption, sizes)
    probe = AutoProbe(cv=labelled_splits(cv, labels), random_state=random_state, n_jobs=n_jobs)
    # From here on there are no other rows than those with a label.
    places = RowIds(np.flatnonzero(labels.labelled))
    X, labels = labelled_rows(X, labels), labels.take(labels.labelled)
    # Chosen as AutoProbe does; nothing is fitted on all rows.
    with naming_rows(X, places), one_blas_thread():
        _, selection = search_probe(probe, X, labels, callback=callback)
        comparison = compare(selection)
        noise, trust = (known, Trust()) if known else _judge_unseen(probe, selection, labels)
    if not (noise.given or comparison.choice.learnt or trust.by_nearest):
        noise = replace(noise, interval=(0.0, 1.0))
    correlation = _correlate(X, labels, noise, groups, n_jobs)
    theory = ask_theory(correlation, noise, ridge=ridge, n_rounds=n_rounds)
    advice = advise(comparison, noise, correlation, labels, theory=str(theory))
    cautions = (*advice.cautions, *curved_notes(trust), *label_notes(labels))
    advice = replace(advice, cautions=cautions)
    return Forecast(labels.classes, sizes, comparison, noise, correlation, theory, advice)


def _judge_by(probabilities: ArrayLike, y: Any, labels: Labels) -> NoiseEstimate:
    """Judge the labels by a user's probabilities."""
    labelled = labels.labelled
    check_same_index("probabilities", probabilities, "y", pandas_index(y))
    advice = "pass a data frame whose columns are named after the classes."
    columns = column_classes(probabilities, y, labels, advice=advice)
    rows = check_probabilities(probabilities, labels)
    # Which column has each class.
    order = Labels(np.arange(labels.n_classes), labels.classes).among(columns).codes
    checked = rows[:, order][labelled]
    opinions = given_opinions(iter([checked]))
    return expected_noise(reach_verdict(opinions, labels.take(labelled)))


def _judge_unseen(
    probe: AutoProbe, selection: Selection, labels: Labels
) -> tuple[NoiseEstimate, Trust]:
    """Judge the labels as the audit does: by fits that have not seen them; say whom to trust."""
    verdict = reach_verdict(searched_opinions(selection.search, labels, probe.random_state), labels)
    return expected_noise(verdict), verdict.trust


def _correlate(
    X: Matrix, labels: Labels, noise: NoiseEstimate, groups: IntArray | None, n_jobs: int | None
) -> CorrelationEstimate:
    """Return the correlations of the true classes, and superclasses by them if none are given."""
    measured = class_correlation(X, labels.codes, labels.n_classes, n_jobs=n_jobs).means
    if groups is None:
        single = np.zeros(labels.n_classes, dtype=np.intp)
        groups = cluster_classes(unmix(measured, noise, single).estimated).superclass
    return unmix(measured, noise, groups)
