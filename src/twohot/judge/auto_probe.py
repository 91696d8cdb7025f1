"""AutoProbe: anchored self-distillation of a linear probe from noisy labels."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from twohot.base import (
    ArgumentError,
    FloatArray,
    IntArray,
    Labels,
    Matrix,
    check_count,
    check_positive,
    notebook_bar,
)
from twohot.judge.choice import Choice, choice_from_json
from twohot.judge.distillation import Anchored, distil, linear_model
from twohot.judge.folds import check_groups, distance_from_mean
from twohot.judge.label_model import fit_uniform_noise, standard_error
from twohot.judge.library import COARSE_TOL, RIDGES, SCORED_ROWS, VOTERS, Library, Member
from twohot.judge.sample import draw_sample, sample_size, spaced
from twohot.judge.verdict import (
    PROGRESS_LINES,
    BlockJudge,
    LabelVerdict,
    PosteriorTargets,
    reach_verdict,
)
from twohot.probes import (
    LABELS,
    SOFT,
    Checkpoint,
    DiscriminantRecipe,
    FittedProbe,
    Round,
    StoredTargets,
    average_rounds,
    check_rows_to_fit,
    checkpoint_at,
    choose_precision,
    choose_shrinkage,
    digest_of,
    discriminant_round,
    half_whitened_moments,
    leave_one_out_logits,
    make_round,
    prepare_as,
    restore_on_failure,
    resumable,
    row_weights,
)
from twohot.rows import AS_THEY_ARE, ChunkedFeatures, Preparation, one_blas_thread, open_rows
from twohot.solve import Settings, Solver

# Display: maximum number of progress lines. There is one line per candidate (two losses on two
# kinds of rows, a discriminant, votes), and there are PROGRESS_LINES lines for judged rows.
MOST_TRIED = 4 * len(RIDGES) + 1 + len(VOTERS) + PROGRESS_LINES


@dataclass(kw_only=True, eq=False, repr=False)
class AutoProbe(FittedProbe):
    """A linear probe for noisy labels that chooses penalty, loss and noise model itself.

    No clean labels are needed. A small library of classifiers is fitted in cross-validation:
    probes with cross-entropy and with a noise-robust loss, each on plain and on half-whitened rows
    (see `whiten` of `LinearProbe`), a discriminant, and votes of the nearest rows. A label model
    estimates the noise from *anchor rows*, the rows that the robust classifiers predict with the
    highest confidence. The label model weights the classifiers so that the likelihood of the given
    labels under this noise is as large as possible. Probes are then fitted to the posterior
    probabilities of the true labels, for two rounds. The result is the weighted sum of these probes
    and the discriminant. See the page *Anchored self-distillation* of the documentation.

    Parameters
    ----------
    cv : None, int, splitter or pairs of row numbers
        Cross-validation folds, five by default. A pair has the training rows and the held-out rows
        of a fold. Pairs and splitters must hold out every row exactly once and must not split
        `groups`; they are allowed to split copies.
    fit_intercept : bool or "auto"
        "auto" means True. False also leaves out the discriminant, which always has an intercept.
    tol : float
        Stop a final fit when the norm of the gradient, relative to its norm at zero coefficients,
        is at most `tol`.
    normalize : bool or "auto"
        Whether to scale rows to unit norm. "auto" tries both with a discriminant, and chooses the
        larger likelihood of held-out labels.
    center, max_iter, dtype, n_jobs
        As for `LinearProbe`.
    random_state : int, RandomState, Generator or None
        Seed for assigning rows to folds. Folds depend on the content of the rows, not on their
        order.
    verbose : int
        1 prints a line for every candidate.

    Attributes
    ----------
    choice_ : Choice
        The candidates and the label model: `print(probe.choice_)`, `probe.choice_.figure()`.
    classes_, coef_, intercept_, rounds_, n_features_in_, n_iter_
        See `LinearProbe`. `rounds_` has one entry, which summarises the final fits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twohot import AutoProbe
    >>> from twohot.noise import corrupt_labels, symmetric
    >>> X, y = load_digits(return_X_y=True)
    >>> noisy = corrupt_labels(y[:1200], symmetric(10, 0.5), random_state=0).given_labels
    >>> probe = AutoProbe().fit(X[:1200], noisy)
    >>> bool(0.4 < probe.choice_.noise_rate < 0.6)
    True
    >>> probe.score(X[1200:], y[1200:]) > 0.85
    True
    """

    cv: Any = None
    normalize: bool | str = "auto"
    tol: float = 3e-2
    random_state: Any = 0

    choice_: Choice = field(init=False)

    @restore_on_failure
    def fit(
        self,
        X: Matrix,
        y: Any,
        sample_weight: ArrayLike | None = None,
        callback: Callable[[str], None] | None = None,
        *,
        groups: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the label model and the probe.

        Parameters
        ----------
        X : array, memory map, sparse matrix, data frame or Dask collection of shape \
        (n_samples, n_features)
        y : array, list or series of shape (n_samples,)
            Labels, numbers or text, many of which may be wrong.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts as two rows of weight 1. Only the ratios of weights matter.
        callback : callable, optional
            Called with one line of text per candidate. With more than 50,000 rows (or fewer, if
            there are more than 200 classes), it is also called after each tenth of the rows.
        groups : array, list or series of shape (n_samples,), optional
            Rows of one group (a patient, a document, a video) are never in different folds. Copies
            and near-duplicates always form one group.
        checkpoint : path, optional
            File for finished candidates and finished parts of the probe, any fsspec path. The file
            is written whenever a candidate or a part is finished. If the file exists and belongs to
            the same fit, the fit continues from there.
        """
        rows, labels = check_rows_to_fit(self, X, y, sample_weight, groups=groups)
        weights = row_weights(rows, labels.codes, labels.classes, None, sample_weight)
        self.fit_coded(rows, labels, weights, callback, groups=groups, checkpoint=checkpoint)
        return self

    def fit_coded(
        self,
        rows: Matrix,
        labels: Labels,
        weights: Any = None,
        callback: Callable[[str], None] | None = None,
        **how: Any,
    ) -> "Judged":
        """Fit on validated rows and coded labels; rows without a label are allowed."""
        report = self._say if callback is None and self._verbosity() > 0 else callback
        with one_blas_thread(), resumable(how.get("checkpoint")):
            judged = judge_rows(self, rows, labels, weights, report, **how)
            rounds = _fit_parts(self, judged)
        self._take_rounds(rounds, labels.classes, judged.preparation)
        self.choice_ = judged.choice
        self._warn_of_early_ends("raise max_iter or tol.", stacklevel=5)
        return judged

    def _notes(self) -> dict[str, Any]:
        return self.choice_.to_json()

    def _take_notes(self, notes: dict[str, Any]) -> None:
        self.choice_ = choice_from_json(notes)


@dataclass(frozen=True, eq=False)
class Judged:
    """The label model of rows, its verdict, and the data for fitting the final probe."""

    preparation: Preparation
    anchored: Anchored
    verdict: LabelVerdict
    parts: list[tuple[Member, float]]  # linear members of the probe, and weights of their logits
    choice: Choice
    checkpoint: Checkpoint | None


def judge_rows(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels,
    weights: Any = None,
    callback: Callable[[str], None] | None = None,
    *,
    groups: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Judged:
    """Fit the label model to validated rows; return it with its verdict. Do not change `probe`.

    Rows without a label have weight zero in every fit. `callback` is called with lines of progress.
    """
    check_positive("tol", probe.tol)
    max_iter = check_count("max_iter", probe.max_iter, 1)
    if not labels.labelled.all():
        weights = labels.labelled * (1.0 if weights is None else weights)
    if weights is not None:
        # Penalties and counts of anchor rows assume a mean weight of one.
        weights = weights / weights[weights > 0].mean()
    if isinstance(X, ChunkedFeatures) and sample_size(len(X), labels.n_classes) == len(X):
        # All rows fit in memory: read them, so that sums equal those of an array to the last bit.
        X = X[:]
    key = distance_from_mean(X, labels.codes, n_jobs=probe.n_jobs)
    preparation, whole = prepare_as(
        probe,
        X,
        weights,
        labels.n_classes,
        auto_intercept=True,
        normalize=_choose_unit_norm(probe, X, labels, key),
    )
    # With an intercept, the unit of the features would affect the fits. So it is fixed here.
    whole = replace(whole, axes=whole.axes.of_unit_size(intercept=whole.rows.intercept))
    sample = draw_sample(
        whole,
        labels.codes,
        weights,
        key,
        cv=probe.cv,
        groups=check_groups(groups, len(labels.codes)),
        random_state=probe.random_state,
    )
    file = None
    if checkpoint is not None:
        made = {"tol": probe.tol, "max_iter": max_iter, "folds": digest_of(sample.folds)}
        file = checkpoint_at(
            checkpoint,
            whole,
            made=made,
            column=labels.codes,
            classes=labels.classes,
            preparation=preparation,
        )
    with notebook_bar(callback, "Trying classifiers", MOST_TRIED) as say:
        settings = Settings(tol=COARSE_TOL, max_iter=max_iter, min_iter=1)
        library = Library(sample, settings, say, file)
        library.run()
        anchored = distil(sample, library)
        verdict = reach_verdict(anchored, labels.codes, say)
    parts = _probe_parts(anchored, discriminant=probe.fit_intercept is not False)
    choice = _choice_of(anchored, verdict, parts)
    return Judged(preparation, anchored, verdict, parts, choice, file)


def _choice_of(
    anchored: Anchored, verdict: LabelVerdict, parts: list[tuple[Member, float]]
) -> Choice:
    """Return the record of the choice, which becomes an attribute of the probe."""
    sample, first = anchored.sample, anchored.first
    # Use the first label model. In the last one, labels have leaked through targets of other folds.
    agrees = (first.predicted == sample.codes).astype(np.float64)
    pairs = zip(first.members, first.model.weights.tolist(), strict=True)
    weights = {each.recipe: weight for each, weight in pairs}
    return Choice(
        tried=tuple(
            replace(tried, weight=weights.get(tried.recipe, 0.0) * tried.temperature)
            for tried in anchored.library.tried.values()
        ),
        n_rows=len(sample.index),
        n_folds=sample.n_folds,
        n_rounds=len(anchored.stages) - 1,
        agreement=float(np.average(agrees, weights=sample.weights)),
        agreement_error=standard_error(agrees, sample.groups, sample.weights),
        noise_rate=verdict.share,
        interval=verdict.interval,
        learnt=verdict.learnt,
        parts=tuple((str(member.recipe), weight) for member, weight in parts),
    )


def _choose_unit_norm(probe: AutoProbe, X: Matrix, labels: Labels, key: FloatArray) -> bool:
    """Return whether to scale rows to unit norm.

    "auto" compares the likelihoods of held-out labels under discriminants of scaled and of unscaled
    rows.
    """
    if isinstance(probe.normalize, bool | np.bool_):
        return bool(probe.normalize)
    if probe.normalize != "auto":
        advice = "pass True, False or 'auto'."
        raise ArgumentError({"normalize": probe.normalize}, "is not known", advice)
    labelled = np.flatnonzero(labels.labelled)
    ranked = labelled[np.argsort(key[labelled], kind="stable")]
    few = np.sort(ranked[spaced(min(SCORED_ROWS, len(ranked)), len(ranked))])
    stored = open_rows(X, AS_THEY_ARE, dtype=choose_precision(probe.dtype, X)).in_memory(few).X
    codes = labels.codes[few]
    at_unit, unscaled = (
        _likelihood_at(probe, np.asarray(stored), codes, labels.n_classes, normalize=normalize)
        for normalize in (True, False)
    )
    return at_unit >= unscaled


def _likelihood_at(
    probe: AutoProbe, X: FloatArray, codes: IntArray, n_classes: int, *, normalize: bool
) -> float:
    """Return the leave-one-out log-likelihood of labels under a discriminant."""
    try:
        _, coordinates = prepare_as(
            probe, X, None, n_classes, auto_intercept=True, normalize=normalize
        )
    except ArgumentError:  # without unit norm, these features overflow or underflow
        return -np.inf
    coordinates.rows.attach(LABELS, codes)
    moments = half_whitened_moments(coordinates)
    shrinkage = choose_shrinkage(coordinates.rows, moments)
    logits = leave_one_out_logits(coordinates.rows, moments, shrinkage)
    return fit_uniform_noise(logits, codes, None).log_likelihood


# The probe ----------------------------------------------------------------------------------------


def _probe_parts(anchored: Anchored, *, discriminant: bool) -> list[tuple[Member, float]]:
    """Return the linear members of the last round with a positive weight, and their weights."""
    members, model = linear_model(anchored.sample, anchored.last, discriminant=discriminant)
    pairs = zip(members, model.weights.tolist(), strict=True)
    parts = [(member, weight) for member, weight in pairs if weight > 0]
    # If nothing was learnt, no weight is positive. Then the last member is the only part.
    return parts or [(replace(members[-1], ends=()), 1.0)]


def _fit_parts(probe: AutoProbe, judged: Judged) -> list[Round]:
    """Fit the parts of the probe on all rows; return their weighted sum as one round.

    A part is a linear member of the label model with a positive weight.
    """
    anchored, file, parts = judged.anchored, judged.checkpoint, judged.parts
    whole, library = anchored.sample.whole, anchored.library
    rounds = []
    for number, (member, _) in enumerate(parts):
        name = f"part {number} of the probe, "
        stored = [] if file is None else file.rounds(name)
        if stored:
            rounds.append(stored)
            continue
        recipe: Any = member.recipe  # a Recipe or a DiscriminantRecipe
        if isinstance(recipe, DiscriminantRecipe):
            rounds.append([discriminant_round(whole, library.moments, recipe.shrinkage, 0.0)])
            continue
        coordinates = recipe.coordinates(whole)
        start: Any = "zero"
        if member.ends:
            start = coordinates.axes.extend(np.mean([end.coef for end in member.ends], axis=0))
        settings = replace(library.settings, tol=probe.tol, start=start)
        targets = _all_targets(anchored)
        record, end = make_round(Solver(coordinates, settings), targets, recipe, None)
        if file is not None:
            file.add_round(record, end, name)
        rounds.append([record])
    # The mean of m logits at temperatures 1 / (m w) is the sum with weights w.
    temperatures = [1 / (len(parts) * weight) for _, weight in parts]
    return [average_rounds(rounds, temperatures)]


def _all_targets(anchored: Anchored) -> Any:
    """Return the posterior of the true class of all rows, as the targets of the final fits.

    If rows are outside the sample, the targets are computed block by block.
    """
    sample = anchored.sample
    if len(sample.index) == len(sample.all_codes):
        sample.whole.rows.attach(SOFT, np.asarray(anchored.targets, np.float32))
        return StoredTargets(SOFT)
    sample.attach_labels(sample.all_codes)
    return PosteriorTargets(BlockJudge.of(anchored))
