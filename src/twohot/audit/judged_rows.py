"""Verdicts on labels of rows in memory, by a probe that is chosen and fitted for it.

Opinions on all rows are held where they are not too many, and else made again block by block.
"""

import os
from typing import Any

import numpy as np

from twohot._checks.classes import check_generator
from twohot._checks.labels import Labels
from twohot._notebooks import Callback
from twohot._types import Matrix
from twohot.audit.opinions import unseen_opinions
from twohot.audit.row_judge import (
    GIVEN,
    VERDICT,
    code_or_first,
    is_labelled,
    make_judge,
    row_verdicts,
)
from twohot.audit.two_likeliest import Candidates
from twohot.audit.verdict import LabelVerdict, reach_verdict, verdict_of
from twohot.rows.threads import one_blas_thread
from twohot.select.auto_probe import AutoProbe
from twohot.select.sampling import SEARCH_ROWS, draw_rows

# Rows times classes up to which opinions of all of them are held: two, or 200 MB; of few features
# up to six.
HELD_CELLS = 25_000_000


def judge_labels(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels,
    callback: Callback | None,
    checkpoint: str | os.PathLike[str] | None,
) -> LabelVerdict:
    """Choose a probe and fit it; return the verdict on every label."""
    if len(labels.codes) * labels.n_classes <= HELD_CELLS:
        return reach_verdict(unseen_opinions(probe, X, labels, callback, checkpoint), labels)
    return _judge_blocks(probe, X, labels, callback, checkpoint)


def _judge_blocks(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels,
    callback: Callback | None,
    checkpoint: str | os.PathLike[str] | None,
) -> LabelVerdict:
    """Choose a probe and fit it; return the verdict on every label, judged block by block."""
    known: Any = None if labels.labelled.all() else is_labelled(labels.codes)
    # A row without a label is in no fit: it has no weight there.
    coded = Labels(code_or_first(labels.codes), labels.classes)
    search = probe.search_and_fit(X, coded, known, callback, checkpoint=checkpoint).search
    counted, rng = np.flatnonzero(labels.labelled), check_generator(probe.random_state)
    sample = np.sort(draw_rows(counted, labels.codes, SEARCH_ROWS, rng))
    rows = search.coordinates.rows
    with one_blas_thread():
        codes = labels.codes[sample]
        judge = make_judge(search, sample, codes, labels.sizes, probe.random_state)
        rows.attach(GIVEN, labels.codes)
        numbers = np.concatenate(list(rows.map(row_verdicts, judge)))
    said = dict(zip(VERDICT, numbers.T, strict=True))
    candidates = Candidates(
        said["first"].astype(np.intp),
        said["second"].astype(np.intp),
        said["confidence"],
        said["runner_up"],
    )
    return verdict_of(
        candidates,
        said["at_random"],
        said["at_boundary"],
        judge.at_random,
        codes=labels.codes,
        sizes=labels.sizes,
        trust=judge.trust,
    )
