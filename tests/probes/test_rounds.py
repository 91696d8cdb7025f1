"""The loop of rounds is what you would do by hand; candidates obey laws; blocks add up."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import problems
import twin
from prepared import blocks_of, prepared_rows
from twohot import DistilledProbe, LinearProbe, PartialLabelProbe, top_candidates
from twohot.probes.base import warn_of_long_fit
from twohot.probes.rounds import (
    CANDIDATES,
    LABELS,
    OutputTargets,
    StoredTargets,
    average_rounds,
    tied_classes,
    top_targets,
)
from twohot.rows import AS_THEY_ARE, Rows

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
EXACT = {"tol": 1e-10, "l2": 2e-3}


def test_round_one_is_the_teacher():
    teacher = LinearProbe(**EXACT).fit(X, Y)
    distilled = [DistilledProbe(n_rounds=n_rounds, **EXACT) for n_rounds in (1, 3)]
    for probe in (*distilled, PartialLabelProbe(**EXACT)):
        first = probe.fit(X, Y).rounds_[0]
        np.testing.assert_array_equal(first.coef, teacher.coef_)
        assert (first.targets, first.loss) == ("labels", "ce")


def test_robust_student_starts_from_the_teacher():
    probe = PartialLabelProbe(**EXACT).fit(X, Y)
    teacher = LinearProbe(**EXACT).fit(X, Y)
    by_hand = LinearProbe(loss="gce", start=teacher.coef_, **EXACT)
    by_hand.fit_soft(X, top_candidates(teacher.predict_proba(X)))
    np.testing.assert_allclose(probe.coef_, by_hand.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize("loss", ["ce", "gce"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_teacher_decides_between_classes_with_equal_candidates(loss, dtype):
    # Two far clusters of two near classes each: every row's candidates are its cluster.
    generator = np.random.default_rng(0)
    labels = np.arange(200) % 4
    rows = generator.normal(size=(200, 6))
    rows[:, 0] += np.where(labels < 2, 20, -20)
    rows[:, 1] += np.where(labels % 2, 2, -2)
    rows = rows.astype(dtype)
    probe = PartialLabelProbe(loss=loss).fit(rows, labels)
    teacher = LinearProbe(ridge=10).fit(rows, labels)
    chosen = top_candidates(teacher.predict_proba(rows)).toarray()
    cluster = labels[:, np.newaxis] // 2 == np.arange(4) // 2
    np.testing.assert_array_equal(chosen, np.where(cluster, 0.5, 0))
    assert np.unique(teacher.predict(rows)).size == 4
    differs = probe.predict(rows) != teacher.predict(rows)
    # Where the teacher itself hardly decides, the rounding of float32 may.
    assert differs.mean() <= (0 if dtype == np.float64 else 0.1)
    # A trace of the teacher is enough: the outputs of the two stay equal to the tolerance.
    np.testing.assert_allclose(*probe.predict_proba(rows)[:, :2].T, rtol=1e-4)
    entry, prepared = probe.rounds_[1], twin.prepare(rows)
    assert twin.relative_gradient(prepared, chosen, entry.coef, entry.l2, loss=loss) < 1e-5


@pytest.mark.parametrize(
    ("probe", "losses", "ridge"),
    [
        (LinearProbe(), "ce", 50),
        (LinearProbe(loss="gce"), "gce", 10),
        (DistilledProbe(), "ce ce ce", 10),
        (DistilledProbe(loss="gce"), "ce ce gce", 10),
        (DistilledProbe(teacher_loss="gce"), "gce gce ce", 10),
        (PartialLabelProbe(), "ce gce", 10),
        (PartialLabelProbe(loss="ce", teacher_loss="gce"), "gce ce", 10),
    ],
    ids=repr,
)
def test_losses_and_default_penalties_of_rounds(probe, losses, ridge):
    rounds = probe.fit(X, Y).rounds_
    assert [entry.loss for entry in rounds] == losses.split()
    assert [entry.l2 for entry in rounds] == pytest.approx([ridge / (5 * len(X))] * len(rounds))


def test_penalty_of_each_round():
    l2 = [1e-3, 5e-3, 2e-3]
    assert [entry.l2 for entry in DistilledProbe(l2=l2).fit(X, Y).rounds_] == l2
    ridges = PartialLabelProbe(ridge=(20, 5)).fit(X, Y).rounds_
    assert ridges[0].l2 == pytest.approx(4 * ridges[1].l2)


@pytest.mark.parametrize("intercept", [False, True])
def test_predictions_follow_from_the_coefficients_of_each_round(intercept):
    probe = DistilledProbe(n_rounds=3, fit_intercept=intercept).fit(X, Y)
    stages = list(probe.staged_predict_proba(DATA.X_test))
    rows = twin.prepare(DATA.X_test - X.mean(axis=0), center=False)
    for entry, outputs in zip(probe.rounds_, stages, strict=True):
        expected = twin.outputs(rows, entry.coef, entry.intercept)
        np.testing.assert_allclose(outputs, expected, atol=1e-12)
        assert intercept == bool(np.any(entry.intercept))
    np.testing.assert_array_equal(stages[-1], probe.predict_proba(DATA.X_test))
    logits = rows @ probe.coef_.T + probe.intercept_
    np.testing.assert_allclose(probe.decision_function(DATA.X_test), logits, atol=1e-12)
    (only,) = LinearProbe().fit(X, Y).staged_predict_proba(X)
    assert only.shape == (len(X), 5)


def test_records_are_complete():
    for entry in PartialLabelProbe().fit(X, Y).rounds_:
        assert (entry.coef.shape, entry.coef.dtype) == ((5, 12), np.float64)
        assert entry.coef.flags.c_contiguous
        np.testing.assert_array_equal(entry.intercept, np.zeros(5))
        assert entry.converged is True
        assert 0 < entry.gradient_norm <= 1e-6
        assert entry.n_passes >= entry.n_iter > 0
        assert np.isfinite(entry.value)
        # A part that all classes share would change no output, only the penalty.
        np.testing.assert_allclose(entry.coef.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(("n_rounds", "n_passes"), [(1, 10), (3, 30)])
def test_warns_of_long_fit(n_rounds, n_passes):
    rows = Rows(np.broadcast_to(X[0], (3_000_000, 12)), AS_THEY_ARE, n_classes=40)
    message = rf"X has 3,000,000 rows and y 40 classes: .* {n_passes} passes .* least [1-9]\d* min"
    with pytest.warns(UserWarning, match=message):
        warn_of_long_fit(rows, n_rounds)
    assert rows.n_passes == 0


def test_students_are_better_than_their_teacher_on_noisy_digits():
    data = problems.digits(0.7)
    probe = DistilledProbe(n_rounds=3).fit(data.X, data.given_labels)
    partial = PartialLabelProbe().fit(data.X, data.given_labels)
    teacher, _, student = (
        np.mean(outputs.argmax(axis=1) == data.test_labels)
        for outputs in probe.staged_predict_proba(data.X_test)
    )
    assert student > teacher + 0.02
    assert partial.score(data.X_test, data.test_labels) > teacher + 0.02


def test_average_has_the_mean_logits_at_the_temperatures():
    probes = [LinearProbe(ridge=ridge, fit_intercept=True).fit(X + 3, Y) for ridge in (1, 10)]
    found = average_rounds([probe.rounds_ for probe in probes], [0.5, 2.0])
    one, other = (X @ probe.coef_.T + probe.intercept_ for probe in probes)
    expected = (one / 0.5 + other / 2) / 2
    np.testing.assert_allclose(X @ found.coef.T + found.intercept, expected, atol=1e-6)


# Candidates ---------------------------------------------------------------------------------------


@st.composite
def outputs_and_counts(draw, distinct=False):
    """Rows of scores, and how many candidates to keep. Few values, so that ties are common."""
    n_samples, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 7))
    if distinct:
        orders = st.permutations(range(n_classes))
        rows = [draw(orders) for _ in range(n_samples)]
        scores = (np.array(rows) + 1) / n_classes
    else:
        scores = draw(arrays(np.float64, (n_samples, n_classes), elements=st.integers(0, 4)))
    return scores, draw(st.integers(1, n_classes))


@given(outputs_and_counts())
def test_rows_sum_to_one_and_weights_increase_with_scores(case):
    scores, n_candidates = case
    found = top_candidates(scores, n_candidates).toarray()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert found.min() >= 0
    assert found.max() <= (1 + 1e-12) / n_candidates
    for row, weights in zip(scores, found, strict=True):
        for k, j in permutations(range(len(row)), 2):
            if row[k] > row[j]:
                assert weights[k] >= weights[j]
                # Only classes that tie at the boundary have a weight between 0 and 1/n.
                assert weights[j] == 0 or weights[k] == pytest.approx(1 / n_candidates)
            elif row[k] == row[j]:
                assert weights[k] == weights[j]


@given(outputs_and_counts(distinct=True))
def test_keeps_the_largest_of_distinct_scores(case):
    scores, n_candidates = case
    weights = top_candidates(scores, n_candidates).toarray()
    for row, found in zip(scores, weights, strict=True):
        kept = set(sorted(range(len(row)), key=lambda k: -row[k])[:n_candidates])
        assert set(np.flatnonzero(found)) == kept
        np.testing.assert_allclose(found[list(kept)], 1 / n_candidates)


@given(outputs_and_counts(), st.randoms(use_true_random=False), st.floats(1e-6, 1e6))
def test_order_of_classes_and_scale_of_scores_do_not_matter(case, random, scale):
    scores, n_candidates = case
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    found = top_candidates(scores[:, order] * scale, n_candidates).toarray()
    expected = top_candidates(scores, n_candidates).toarray()[:, order]
    np.testing.assert_array_equal(found, expected)


def test_ties_at_the_boundary_share_the_rest():
    outputs = [[0.4, 0.2, 0.2, 0.2], [0.25, 0.25, 0.25, 0.25], [0.1, 0.3, 0.3, 0.3]]
    expected = [[1 / 2, 1 / 6, 1 / 6, 1 / 6], [1 / 4] * 4, [0, 1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(top_candidates(outputs).toarray(), expected)


@pytest.mark.parametrize(("gap", "shared"), [(1e-7, True), (0.9e-6, True), (1.1e-6, False)])
def test_ties_are_equal_within_the_tolerance(gap, shared):
    weights = top_candidates([[0.6, 0.3, 0.3 * (1 - gap)], [0.6, 0.3, 0.1]]).toarray()
    np.testing.assert_allclose(weights[0], [0.5, 0.25, 0.25] if shared else [0.5, 0.5, 0])
    np.testing.assert_allclose(weights[1], [0.5, 0.5, 0])


def test_candidates_are_sparse():
    found = top_candidates(np.random.default_rng(0).random((10, 1000)))
    assert isinstance(found, sp.csr_array)
    assert found.nnz == 20


# Targets by block --------------------------------------------------------------------------------


def make_rows(n_jobs=1):
    rows = prepared_rows(X, n_classes=5, n_jobs=n_jobs)
    rows.attach(LABELS, Y)
    return rows


def whole(targets, rows):
    found = [targets.of(block) for block in blocks_of(rows)]
    return np.vstack([each.toarray() if sp.issparse(each) else each for each in found])


def test_output_targets_equal_the_outputs():
    coef, rows = np.random.default_rng(0).normal(size=(5, 12)), make_rows()
    expected = twin.outputs(twin.prepare(rows.X), coef)
    targets = OutputTargets(coef)
    np.testing.assert_allclose(whole(targets, rows), expected, atol=1e-14)
    # The next block does not overwrite the targets of this one.
    first = targets.of(rows.block(0))
    targets.of(rows.block(1))
    np.testing.assert_allclose(first, expected[:64], atol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_candidates", [1, 2, 3])
def test_candidates_of_a_round_equal_those_of_its_outputs(n_candidates, n_jobs):
    coef, rows = np.random.default_rng(0).normal(size=(5, 12)), make_rows(n_jobs)
    outputs = twin.outputs(twin.prepare(rows.X), coef)
    rows.derive(CANDIDATES, top_targets, OutputTargets(coef), n_candidates)
    expected = top_candidates(outputs, n_candidates).toarray()
    np.testing.assert_allclose(whole(StoredTargets(CANDIDATES), rows), expected, rtol=1e-7)


@given(st.integers(0, 2**32 - 1), st.integers(3, 7))
@settings(max_examples=50)
def test_tied_classes_are_candidates_of_the_same_rows(seed, n_classes):
    generator = np.random.default_rng(seed)
    columns = generator.choice([0, 0.25, 0.5], (150, n_classes))
    # Copies of some columns, in any place.
    columns = columns[:, generator.integers(0, n_classes, n_classes)]
    rows = prepared_rows(generator.normal(size=(150, 3)), n_classes=n_classes)
    rows.attach(CANDIDATES, sp.csr_array(columns.astype(np.float32)))
    found = {frozenset(tied.tolist()) for tied in tied_classes(rows, StoredTargets(CANDIDATES))}
    groups = {}
    for label, column in enumerate(columns.T):
        groups.setdefault(column.tobytes(), []).append(label)
    assert found == {frozenset(group) for group in groups.values() if len(group) > 1}
