"""Judge labels by the class probabilities or the fitted classifier of the user.

The label model (see `label_model`) then has only one member: the logarithms of the probabilities
that the user passed, or that the classifier predicts. A classifier that was trained on the labels
would confirm wrong labels too. So the classifier is compared with a clone on rows that the clone
was not trained on. If the classifier predicts significantly more labels of these rows than the
clone, then cross-validated clones judge all labels instead.
"""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    RandomState,
    as_text,
    check_classes,
    check_column_order,
    check_count,
    check_real,
    check_soft_targets,
    counted,
    first_few,
    named_columns,
)
from twohot.judge.distillation import Anchored, Stage, read_noise
from twohot.judge.folds import (
    N_FOLDS,
    assign_folds,
    check_groups,
    distance_from_mean,
    numbered,
    split_large,
    with_copies,
)
from twohot.judge.label_model import fit_uniform_noise, z_score
from twohot.judge.labelled_rows import blocks_of, rows_when_read
from twohot.judge.library import Library, Member
from twohot.judge.nearest import VotesRecipe
from twohot.judge.sample import SAMPLE_CELLS, Sample, spread_rows
from twohot.judge.verdict import LabelVerdict, judge_columns, verdict_of
from twohot.probes import FittedProbe, Probe, check_rows_to_fit
from twohot.rows import take_rows

# Level of the one-sided test of whether a classifier was trained on the labels. The level is low,
# so that false alarms are rare.
SEEN_LEVEL = 0.01


def judge_given(
    probabilities: FloatArray, codes: IntArray, groups: IntArray | None = None
) -> LabelVerdict:
    """Return the verdict on labels (n_rows,) by class probabilities (n_rows, n_classes).

    The probabilities of a row should come from a model that was not trained on this row. As for
    features, the label model is fitted on a sample of the rows, and judges all rows in blocks.
    Memory holds the probabilities and a few arrays of SAMPLE_CELLS numbers.
    """
    n_rows, n_classes = probabilities.shape
    labelled = np.flatnonzero(codes != NO_LABEL)
    key = distance_from_mean(probabilities, codes, n_jobs=1)
    index = spread_rows(labelled, codes, key, n_classes)
    groups = np.arange(n_rows) if groups is None else groups
    # A temperature cannot correct a probability of zero. So each distribution is mixed with a
    # uniform distribution, which has the weight of one row: 1/n.
    spread = 1 / len(labelled)
    logits = _logits(probabilities[index], spread)
    anchored = _anchored(logits, codes[index], key[index], groups[index])
    model, size = anchored.last.model, max(1, SAMPLE_CELLS // n_classes)
    columns = []
    for first in range(0, n_rows, size):
        block = slice(first, first + size)
        log_p = model.log_probabilities([_logits(probabilities[block], spread)])
        columns.append(judge_columns(log_p, model.noise, codes[block]))
    return verdict_of(anchored, np.concatenate(columns), codes)


def _logits(probabilities: FloatArray, spread: float) -> FloatArray:
    """Return finite log-probabilities: a uniform distribution of weight `spread` is mixed in."""
    mixed = (1 - spread) * probabilities.astype(np.float32).astype(np.float64)
    mixed += spread / probabilities.shape[1]
    return np.log(mixed, out=mixed).astype(np.float32)


def _anchored(logits: FloatArray, codes: IntArray, order: FloatArray, groups: IntArray) -> Anchored:
    """Return the label model whose only member has these logits."""
    n_rows, n_classes = logits.shape
    nowhere: Any = None  # there are no features
    sample = Sample(
        index=np.arange(n_rows),
        codes=codes,
        all_codes=codes,
        weights=None,
        groups=groups,
        folds=np.zeros(n_rows, dtype=np.intp),
        order=order,
        n_classes=n_classes,
        whole=nowhere,
        searched=nowhere,
        all_groups=groups,
        shared=np.zeros(n_rows, dtype=bool),
    )
    scale = 1 / fit_uniform_noise(logits, codes, None).temperature
    model, read = read_noise(sample, [logits], np.array([scale]), scale * logits)
    member = Member(VotesRecipe(0), logits)
    stage = Stage([member], model, model.posterior([logits], codes), read)
    return Anchored(sample, Library(sample, nowhere), [stage])


# A fitted classifier -------------------------------------------------------------


def judge_by_probe(
    probe: Any, X: Matrix, labels: Labels, *, groups: Any = None, n_jobs: int | None = None
) -> tuple[LabelVerdict, tuple[str, ...]]:
    """Return the verdict of a fitted classifier or of its clones, and notes for the user.

    If the classifier was trained on the labels, clones of it judge the labels, and a note says so.
    The classes of `labels` are those of the classifier, in the same order. The probabilities of all
    rows take 4 bytes per row and class.
    """
    codes = labels.codes
    outputs = predict_in_blocks(probe, X, len(codes))
    if not (hasattr(probe, "get_params") and hasattr(probe, "fit")):  # it cannot be cloned
        agrees = outputs.argmax(axis=1) == codes
        if agrees[labels.labelled].all():
            problem = "predicts every label, as if it had been fitted on these labels"
            advice = "pass held-out class probabilities as {probabilities}, or leave out the probe."
            raise ArgumentError("probe", problem, advice, probabilities=...)
        return judge_given(outputs, codes), ()
    # Rows may have any type, such as texts. So they are sorted by the classifier's outputs.
    key = distance_from_mean(outputs, codes, n_jobs=n_jobs)
    known = check_groups(groups, len(codes))
    together = with_copies(known, split_large(equal_rows(X, len(codes))))
    folds = assign_folds(key, codes, N_FOLDS, groups=together, random_state=0)
    by_probe, by_clone = compare_with_clone(probe, X, codes, folds)
    gain = by_probe.astype(np.float64) - by_clone
    if not len(gain) or z_score(gain, together[folds == 0]) <= ndtri(1 - SEEN_LEVEL):
        return judge_given(outputs, codes, together), ()
    del outputs  # a clone may be large: release it
    held_out = out_of_fold(probe, X, codes, folds, labels.n_classes, dtype=np.float32)
    note = (
        f"The probe predicts {by_probe.mean():.1%} of the labels of {counted(len(gain), 'row')}. A "
        f"clone of the probe, fitted on other rows, predicts only {by_clone.mean():.1%} of these "
        f"labels. So the probe was fitted on these rows. Therefore {N_FOLDS} clones judge the "
        "labels, each fitted without the rows that it judges. To judge by the probe itself, pass "
        "its predicted probabilities instead of the probe."
    )
    return judge_given(held_out, codes, together), (note,)


def equal_rows(X: Any, n_rows: int) -> IntArray:
    """Return the group of each row, from 0: identical rows, of any type, are in one group.

    Examples
    --------
    >>> equal_rows(["good", "bad", "good"], 3), equal_rows(np.eye(2)[[0, 1, 1]], 3)
    (array([0, 1, 0]), array([0, 1, 1]))
    """
    digests = (_content(row) for _, block in blocks_of(X, n_rows) for row in _cells(block))
    return numbered(digests)


def _cells(block: Any) -> Iterator[NDArray[Any]]:
    """Yield each row of a block; for a sparse row, the positions and values of its entries."""
    if not sp.issparse(block):
        yield from map(np.asarray, block if isinstance(block, list) else np.asarray(block))
        return
    rows = sp.csr_array(block, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    for first, end in pairwise(rows.indptr.tolist()):
        yield np.stack([rows.indices[first:end], rows.data[first:end]])


def _content(row: NDArray[Any]) -> bytes:
    """Return a digest of the content of a row."""
    if row.dtype.kind in "fc":
        row = row + 0  # turns -0.0 into 0.0
    content = repr(row.tolist()).encode() if row.dtype.kind == "O" else row.tobytes()
    return blake2b(content + repr((row.shape, row.dtype.str)).encode()).digest()


def compare_with_clone(
    probe: Any, X: Any, codes: IntArray, folds: IntArray
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which labels of the first fold are predicted by a classifier, and by its clone.

    The clone is fitted on the other folds. If these folds have only one class, the clone cannot be
    fitted. Then both arrays are empty.
    """
    held_out, others = np.flatnonzero(folds == 0), np.flatnonzero(folds > 0)
    if len(np.unique(codes[others])) < 2:
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    fitted, rows = fit_clone(probe, X, codes, others), take_rows(X, held_out)
    place = {name: number for number, name in enumerate(np.asarray(probe.classes_).tolist())}
    by_probe = np.array([place[name] for name in np.asarray(probe.predict(rows)).tolist()])
    by_clone = np.asarray(fitted.predict(rows)).astype(np.intp)  # the clone was fitted on codes
    return by_probe == codes[held_out], by_clone == codes[held_out]


def fit_clone(probe: Any, X: Any, codes: IntArray, rows: IntArray) -> Any:
    """Return a clone that is fitted on the given rows, with codes as labels."""
    # With `rows_when_read`, messages of twohot's probes name rows by their positions in X.
    take = rows_when_read if isinstance(probe, FittedProbe) else take_rows
    return clone(probe).fit(take(X, rows), codes[rows])


def out_of_fold(
    probe: Any,
    X: Any,
    codes: IntArray,
    fold: IntArray,
    n_classes: int,
    *,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Return held-out probabilities (n_rows, n_classes), predicted by one clone per fold.

    Each clone is fitted without the fold that it predicts. The clone for the first fold also
    predicts the rows without a label, whose code and fold are -1.
    """
    probabilities = np.zeros((len(codes), n_classes), dtype)
    for number in range(int(fold.max()) + 1):
        fitted = fit_clone(probe, X, codes, np.flatnonzero((fold >= 0) & (fold != number)))
        columns = np.asarray(fitted.classes_).astype(np.intp)  # the labels are codes
        rows = np.flatnonzero((fold == number) | ((fold < 0) & (number == 0)))
        if len(rows):
            probabilities[np.ix_(rows, columns)] = fitted.predict_proba(take_rows(X, rows))
    return probabilities


# Probabilities of a probe, or passed by the user ------------------------------------------


def probe_classes(probe: Any) -> NDArray[Any]:
    """Return the classes of a fitted classifier."""
    if missing := [name for name in ("predict_proba", "classes_") if not hasattr(probe, name)]:
        problem = f"has no {' and no '.join(missing)}"
        advice = (
            "pass a fitted classifier with predict_proba and classes_, or None for an AutoProbe."
        )
        raise ArgumentError({"probe": probe}, problem, advice)
    return np.asarray(probe.classes_)


def column_classes(
    probabilities: ArrayLike,
    y: Any,
    labels: Labels,
    *,
    classes: ArrayLike | None = None,
    advice: str = "name the columns by {classes}, for instance model.classes_.",
) -> NDArray[Any]:
    """Return the class of each column of probabilities.

    The classes are `classes` if passed, else the names of the columns, else the classes of
    `labels`. Unnamed columns are rejected if the classes are whole numbers as text: scikit-learn
    sorts such classes as text, twohot by value. The classes of a `Labels` record passed as `y` keep
    their order.
    """
    present = labels.present().classes
    named = named_columns(probabilities, present)
    if classes is not None:
        given = check_classes(classes)
        check_column_order("probabilities", named, given)
        return given
    values = present.tolist()
    if named is None:
        if not isinstance(y, Labels) and values != sorted(values):
            numbers = f"has classes that are numbers as text ({first_few(values)})"
            problem = f"{numbers}, so the order of the columns is unknown: by value or as text"
            raise ArgumentError("y", problem, advice, classes=...)
        return present
    known = {*map(as_text, named.tolist())}
    if without := [value for value in values if as_text(value) not in known]:
        columns = f"has the columns {first_few(named.tolist())}"
        problem = f"{columns}, but no column for the label {first_few(without)} of y"
        raise ArgumentError("probabilities", problem, advice, classes=...)
    return named


def predict_in_blocks(probe: Any, X: Matrix, n_rows: int) -> FloatArray:
    """Return the probabilities of a probe, which are calibrated if the probe supports this."""
    predict = getattr(probe, "predict_calibrated_proba", probe.predict_proba)
    advice = "pass a classifier whose predict_proba returns one probability per class of classes_."
    blocks = []
    for first, rows in blocks_of(X, n_rows):
        block = np.asarray(predict(rows), dtype=np.float64)
        shape = _num_samples(rows), len(probe.classes_)
        if block.shape != shape:
            problem = f"returns probabilities of shape {block.shape} instead of {shape}"
            raise ArgumentError("probe", problem, advice)
        wrong = np.argwhere(~((block >= 0) & np.isfinite(block)))
        if wrong.size:
            row, column = wrong[0].tolist()
            where = f"row {first + row} (the first row is 0)"
            problem = f"returns {block[row, column]:.3g} instead of a probability for {where}"
            raise ArgumentError("probe", problem, advice)
        blocks.append(block.astype(np.float32))
    return np.concatenate(blocks)


def check_probabilities(
    probabilities: ArrayLike,
    labels: Labels,
    advice: str = "pass one column per class of y, in the order of the classes.",
    **mentions: object,
) -> FloatArray:
    """Return the probabilities of the user as a dense array; raise if they are invalid."""
    check_real("probabilities", probabilities)
    rows = check_soft_targets(probabilities, len(labels.codes), name="probabilities", beside="y")
    if rows.shape[1] != labels.n_classes:
        problem = f"has {counted(rows.shape[1], 'column')} for {labels.n_classes} classes"
        raise ArgumentError("probabilities", problem, advice, **mentions)
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


# Cross-validated probabilities of a probe -------------------------------


def out_of_fold_probabilities(
    probe: Probe,
    X: Matrix,
    y: ArrayLike | Labels,
    *,
    n_folds: int = N_FOLDS,
    random_state: RandomState = None,
) -> NDArray[np.float64]:
    """Return cross-validated probabilities: each fold is predicted by a fit to the other folds.

    Parameters
    ----------
    probe : LinearProbe, DistilledProbe or PartialLabelProbe
        Clones of it are fitted; the probe itself does not change.
    X : array or sparse array of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,)
        One label per row.
    n_folds : int, default 5
        Number of stratified folds.
    random_state : int, numpy.random.Generator or None
        Seed for assigning rows to folds.

    Returns
    -------
    array of shape (n_samples, n_classes)
        The columns are in the order of the sorted classes. If all rows of a class are in one fold,
        the probability of this class is zero in that fold.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import LinearProbe
    >>> X, y = load_digits(return_X_y=True)
    >>> probabilities = out_of_fold_probabilities(LinearProbe(ridge=4), X, y, random_state=0)
    >>> print(f"{(probabilities.argmax(axis=1) == y).mean():.2f}")
    0.96
    """
    features, labels = check_rows_to_fit(clone(probe), X, y)
    n_rows = len(labels.codes)
    if check_count("n_folds", n_folds, 2) > n_rows:
        problem = f"is more than the {counted(n_rows, 'row')} of X"
        raise ArgumentError({"n_folds": n_folds}, problem, f"pass at most {n_rows}.")
    order = distance_from_mean(features, n_jobs=1)
    fold = assign_folds(order, labels.codes, n_folds, random_state=random_state)
    return np.asarray(
        out_of_fold(probe, features, labels.codes, fold, labels.n_classes), dtype=np.float64
    )
