"""Judge labels by class probabilities or a fitted classifier of the user.

The probabilities, or those of the classifier, are the only member of the label model. A classifier
that was trained on the labels would confirm the wrong labels too. So it is compared with a clone,
which is trained on other rows. If the classifier predicts significantly more of the labels than the
clone, cross-validated clones judge the labels instead.
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

# Test level: one-sided test of whether a classifier was trained on the labels. It is low, so that
# false alarms are rare.
SEEN_LEVEL = 0.01


def judge_given(
    probabilities: FloatArray, codes: IntArray, groups: IntArray | None = None
) -> LabelVerdict:
    """Return the verdict on labels (n_rows,), given probabilities (n_rows, n_classes).

    The probabilities should be held-out: from a model that was not trained on the row. The label
    model is fitted on a sample, as for features, and judges all rows in blocks. Memory holds the
    probabilities and a few arrays of SAMPLE_CELLS numbers.
    """
    n_rows, n_classes = probabilities.shape
    labelled = np.flatnonzero(codes != NO_LABEL)
    key = distance_from_mean(probabilities, codes, n_jobs=1)
    index = spread_rows(labelled, codes, key, n_classes)
    groups = np.arange(n_rows) if groups is None else groups
    # A temperature cannot correct a probability of zero: add one row's weight to all classes.
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
    """Return log-probabilities; they are finite, because `spread` is shared among the classes."""
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
    """Return the verdict of a fitted classifier, or of its clones with a note that says so.

    Clones are used if the classifier was trained on the labels. `labels` have the classes of the
    classifier, in its order. The probabilities of all rows take 4 bytes per row and class.
    """
    codes = labels.codes
    outputs = predict_in_blocks(probe, X, len(codes))
    if not (hasattr(probe, "get_params") and hasattr(probe, "fit")):  # it cannot be cloned
        agrees = outputs.argmax(axis=1) == codes
        if agrees[labels.labelled].all():
            problem = "predicts every label, as if it had been fitted on them"
            raise ArgumentError("probe", problem, "pass held-out probabilities, or no probe.")
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
        f"The probe predicts {by_probe.mean():.1%} of these labels. A clone that was not fitted on "
        f"them predicts {by_clone.mean():.1%}, so the probe was fitted on these rows. Instead, "
        f"{N_FOLDS} clones judge the labels, each fitted without the rows that it judges. To use "
        "the probe itself, pass its probabilities."
    )
    return judge_given(held_out, codes, together), (note,)


def equal_rows(X: Any, n_rows: int) -> IntArray:
    """Return groups of identical rows of any type.

    Examples
    --------
    >>> equal_rows(["good", "bad", "good"], 3), equal_rows(np.eye(2)[[0, 1, 1]], 3)
    (array([0, 1, 0]), array([0, 1, 1]))
    """
    digests = (_content(row) for _, block in blocks_of(X, n_rows) for row in _cells(block))
    return numbered(digests)


def _cells(block: Any) -> Iterator[NDArray[Any]]:
    """Yield the rows of a block; a sparse row as the positions and values of its entries."""
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
    """Return which labels of the first fold a classifier predicts, and which its clone predicts.

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
    # Messages of twohot's probes name rows by their positions in X.
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

    The clone is fitted without the fold that it predicts. The clone of the first fold also predicts
    the rows without a label, whose code and fold are -1.
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
    if not (hasattr(probe, "classes_") and hasattr(probe, "predict_proba")):
        problem = "is not a fitted classifier with classes_ and predict_proba"
        advice = "fit it first, or pass None to use an AutoProbe."
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

    These are `classes` if passed, else the names of the columns, else the classes of `labels`.
    Unnamed columns are rejected if the classes are whole numbers as text: scikit-learn sorts these
    as text, twohot by value. The classes of a `Labels` record passed as `y` keep their order.
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
            numbers = f"has text that is a number ({first_few(values)})"
            problem = f"{numbers}, and columns may be sorted by value or as text"
            raise ArgumentError("y", problem, advice, classes=...)
        return present
    if not {*map(as_text, values)} <= {*map(as_text, named.tolist())}:
        problem = f"has the columns {first_few(named.tolist())}, which are not the labels of y"
        raise ArgumentError("probabilities", problem, advice, classes=...)
    return named


def predict_in_blocks(probe: Any, X: Matrix, n_rows: int) -> FloatArray:
    """Return the probabilities of a probe, which are calibrated if the probe supports this."""
    predict = getattr(probe, "predict_calibrated_proba", probe.predict_proba)
    advice = "pass a classifier whose predict_proba returns a probability of each of its classes_."
    blocks = []
    for first, rows in blocks_of(X, n_rows):
        block = np.asarray(predict(rows), dtype=np.float64)
        shape = _num_samples(rows), len(probe.classes_)
        if block.shape != shape:
            problem = f"returns probabilities of shape {block.shape} instead of {shape}"
            raise ArgumentError("probe", problem, advice)
        wrong = np.flatnonzero(~((block >= 0) & np.isfinite(block)).all(axis=1))
        if wrong.size:
            problem = f"returns an invalid probability for row {first + wrong[0]} (NaN or negative)"
            raise ArgumentError("probe", problem, advice)
        blocks.append(block.astype(np.float32))
    return np.concatenate(blocks)


def check_probabilities(
    probabilities: ArrayLike,
    labels: Labels,
    advice: str = "pass one column per class of y, in order.",
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
    """Return cross-validated probabilities: a probe predicts each fold, fitted without this fold.

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
        Assigns rows to folds.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Columns are in class order. If all rows of a class are in one fold, the probability of this
        class is zero in that fold.

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
