"""Label issues of features and labels in the chunks of Dask collections.

What comes here is a sample of rows, for the choice of a probe and for the noise, and of every row
five numbers: its label, the suggestion, how sure that is, and two doubts, by which rows are
flagged.
"""

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import numpy as np

from twohot._checks.labels import Labels, label_notes
from twohot._checks.messages import ArgumentError
from twohot._types import FloatArray
from twohot.audit.lazy_issues import LazyLabelIssues, decisive
from twohot.audit.row_judge import (
    DECISIVE,
    GIVEN,
    RowJudge,
    code_or_first,
    is_labelled,
    make_judge,
    row_verdicts,
)
from twohot.audit.two_likeliest import Candidates
from twohot.audit.verdict import LabelVerdict, verdict_of
from twohot.distill._chunked_inputs import chunked_labels
from twohot.distill._inputs import check_features
from twohot.rows.chunked import ChunkedColumn, ChunkedFeatures
from twohot.rows.chunked_labels import ChunkedLabels
from twohot.select.auto_probe import AutoProbe
from twohot.select.chunked_sample import sample_rows

VERDICTS = "verdict"


def find_chunked_issues(
    X: Any,
    y: Any,
    *,
    probe: AutoProbe,
    missing: Collection[str],
    flag: Callable[[LabelVerdict, bool], Any],
    doubts: Callable[[LabelVerdict, Labels, Any], Sequence[str]],
    messages: Callable[[Labels, Any], Sequence[str]],
    callback: Callable[[str], None] | None,
    checkpoint: str | os.PathLike[str] | None,
) -> LazyLabelIssues:
    """Return the verdict on every label.

    `flag` chooses the labels to look at, by the verdict and whether anything was learnt; `doubts`
    and `messages` say what a reader should know.
    """
    features = check_features(probe, X, reset=True)
    if not isinstance(features, ChunkedFeatures):
        problem = f"has {features.shape[0]} rows of {features.shape[1]} features"
        raise ArgumentError("X", problem, "pass so few as an array, by X.compute().")
    given = chunked_labels(y, features, all_labelled=False, missing=missing)
    fitted, weights = given, cast(Any, None)
    if len(given.codes) > int(given.sizes.sum()):
        # A row without a label is in no fit: it has no weight there.
        weights = given.codes.derive(is_labelled)
        fitted = ChunkedLabels(given.codes.derive(code_or_first), given.classes, given.sizes)
    search = probe.search_and_fit(features, fitted, weights, callback, checkpoint=checkpoint).search
    sample, codes = sample_rows(fitted, weights, probe.random_state)
    judge = make_judge(search, sample, codes, given.sizes, probe.random_state)
    rows: Any = search.coordinates.rows
    rows.attach(GIVEN, given.codes)
    rows.derive(VERDICTS, row_verdicts, judge)
    verdicts: Any = rows.columns[VERDICTS]
    numbers = np.concatenate(verdicts.gather(decisive))
    verdict, labels = _decide(numbers, given, judge)
    learnt = probe.choice_.learnt
    flagged = flag(verdict, learnt)
    decided = np.column_stack([flagged, verdict.doubt])  # columns of DECIDED
    parts = [rows.tasks.share(part) for part in np.split(decided, features.bounds[1:-1])]
    return LazyLabelIssues(
        verdicts=verdicts,
        decided=ChunkedColumn(rows.tasks, parts, features.column.sizes),
        classes=given.classes,
        n_issues=int(np.count_nonzero(flagged)),
        noise_rate=verdict.noise_rate,
        noise_interval=verdict.noise_interval if learnt else (0.0, 1.0),
        corruption=verdict.corruption,
        # Where nothing was learnt there is no more to say.
        messages=(
            *(doubts(verdict, labels, flagged) if learnt else ()),
            *messages(labels, probe),
            *label_notes(labels),
        ),
        probe=probe,
    )


def _decide(
    numbers: FloatArray, given: ChunkedLabels, judge: RowJudge
) -> tuple[LabelVerdict, Labels]:
    said = dict(zip(DECISIVE, numbers.T, strict=True))
    codes, first = said["given"].astype(np.intp), said["first"].astype(np.intp)
    candidates = Candidates(first, np.empty(0, dtype=np.intp), said["confidence"], np.empty(0))
    verdict = verdict_of(
        candidates,
        said["at_random"],
        said["at_boundary"],
        judge.at_random,
        codes=codes,
        sizes=given.sizes,
        trust=judge.trust,
    )
    return verdict, Labels(codes, given.classes)
