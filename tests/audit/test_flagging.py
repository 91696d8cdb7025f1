"""Verdicts keep their laws, and evidence is that of a slow plain twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot import find_label_issues
from twohot.audit.flagging import (
    COUNTING_TURNS,
    LEAST_PROBABILITY,
    UNCOUNTED,
    caution,
    count_transitions,
    decide,
    join,
    most_doubtful,
    precise,
    probability_wrong,
    weigh,
)

# Few distinct values, so that ties and zeros are frequent.
SCORES = st.integers(0, 4)


@st.composite
def judged(draw):
    """Draw rows of probabilities with ties and zeros, and labels of which some are missing."""
    n_rows, n_classes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    rows = st.lists(SCORES, min_size=n_classes, max_size=n_classes).filter(any)
    scores = np.array(draw(st.lists(rows, min_size=n_rows, max_size=n_rows)), dtype=float)
    labels = draw(st.lists(st.integers(-1, n_classes - 1), min_size=n_rows, max_size=n_rows))
    return scores / scores.sum(axis=1, keepdims=True), np.array(labels)


@st.composite
def margins(draw):
    """Draw margins, some missing, and which rows are eligible: labelled ones only."""
    # Near zero, where caution decides, and far.
    value = st.floats(-3, 3) | st.floats(-1e3, 1e3) | st.just(np.nan)
    margin = draw(st.lists(value, min_size=1, max_size=60))
    margin = np.array([*margin, 0.0])
    chosen = draw(st.lists(st.booleans(), min_size=len(margin), max_size=len(margin)))
    return margin, ~np.isnan(margin) & np.array(chosen)


@given(judged(), st.sampled_from([np.float32, np.float64]))
def test_evidence_is_that_of_a_plain_twin(rows, dtype):
    probabilities, labels = rows[0].astype(dtype), rows[1]
    before = probabilities.copy()
    found = weigh(probabilities, labels)
    np.testing.assert_array_equal(probabilities, before)
    for row, (p, label) in enumerate(zip(probabilities.tolist(), labels.tolist(), strict=True)):
        # The larger first, of equal ones the lower class.
        order = sorted(range(len(p)), key=lambda k: (-p[k], k))
        assert [found.first[row], found.second[row]] == order[:2]
        assert [found.confidence[row], found.runner_up[row]] == [p[k] for k in order[:2]]
        if label < 0:
            assert np.isnan(found.margin[row])
            assert np.isnan(found.given[row])
            continue
        assert found.given[row] == p[label]
        other = max(p[k] for k in order if k != label)
        floor = LEAST_PROBABILITY
        expected = np.log(max(other, floor)) - np.log(max(p[label], floor))
        assert found.margin[row] == pytest.approx(expected, abs=1e-12)


def test_zero_probabilities_are_alike_and_finite():
    found = weigh(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], np.float32), np.array([0, 0, 1]))
    assert found.margin[0] == pytest.approx(-np.log(LEAST_PROBABILITY))
    assert found.margin[1] == found.margin[2] == pytest.approx(np.log(LEAST_PROBABILITY))


@given(judged(), st.integers(0, 12))
def test_blocks_joined_are_the_whole(rows, cut):
    probabilities, labels = rows
    whole = weigh(probabilities, labels)
    pieces = [part for part in np.split(np.arange(len(labels)), [cut]) if part.size]
    joined = join([weigh(probabilities[part], labels[part]) for part in pieces])
    for name in ("first", "second", "confidence", "runner_up", "given", "margin"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))


@given(margins())
def test_laws_of_a_verdict(rows):
    margin, eligible = rows
    verdict = decide(margin, eligible)
    labelled = ~np.isnan(margin)
    np.testing.assert_array_equal(np.isnan(verdict.quality), ~labelled)
    assert np.all((verdict.quality[labelled] >= 0) & (verdict.quality[labelled] <= 1))
    order = np.argsort(margin[labelled])
    assert np.all(np.diff(verdict.quality[labelled][order]) <= 0)
    np.testing.assert_array_equal(verdict.is_issue, eligible & (verdict.quality < 0.5))
    # One count of errors.
    assert verdict.noise_rate * labelled.sum() == pytest.approx(verdict.is_issue.sum())
    # Whatever is flagged, another class is likelier than the label.
    assert np.all(margin[verdict.is_issue] > 0)


@given(margins())
def test_issues_are_margins_above_the_caution_for_the_share_in_doubt(rows):
    margin, eligible = rows
    doubted = sum(value > 0 for value in margin[eligible].tolist()) / max(1, eligible.sum())
    odds = margin - caution(doubted)
    verdict = decide(margin, eligible)
    sure = np.abs(odds) > 1e-12  # closer, rounding decides
    np.testing.assert_array_equal(verdict.is_issue[sure], (eligible & (odds > 0))[sure])


@pytest.mark.parametrize("n_wrong", [1, 5, 29])
def test_where_few_labels_are_wrong_a_narrow_margin_is_no_evidence(n_wrong):
    narrow = np.full(n_wrong, 0.001)
    clear = np.full(n_wrong, 20.0)
    right = np.full(100 - n_wrong, -2.0)
    everyone = np.ones(100, bool)
    assert decide(np.concatenate([right, narrow]), everyone).is_issue.sum() == 0
    assert decide(np.concatenate([right, clear]), everyone).is_issue.sum() == n_wrong


def test_from_thirty_percent_on_the_likeliest_class_decides():
    margin = np.concatenate([np.full(70, -2.0), np.full(30, 0.001)])
    verdict = decide(margin, np.ones(100, bool))
    np.testing.assert_array_equal(verdict.is_issue, margin > 0)
    assert verdict.noise_rate == 0.3
    assert verdict.quality[0] == pytest.approx(1 / (1 + np.exp(-2)))


def test_caution_falls_with_the_noise_rate():
    rates = np.linspace(0, 1, 101)
    values = [caution(rate) for rate in rates]
    assert np.all(np.diff(values) <= 0)
    assert values[30:] == [0.0] * 71
    assert values[10] == pytest.approx(np.log(9) - np.log(7 / 3))
    assert np.isfinite(values[0])


@given(margins(), st.integers(0, 80))
def test_a_budget_flags_so_many_of_the_lowest_quality(rows, budget):
    margin, eligible = rows
    quality = decide(margin, eligible).quality
    flagged = most_doubtful(quality, eligible, budget)
    assert flagged.sum() == min(budget, eligible.sum())
    assert not np.any(flagged & ~eligible)
    left = quality[eligible & ~flagged]
    if flagged.any() and left.size:
        assert quality[flagged].max() <= left.min()


@given(margins(), st.floats(0, 1), st.floats(0, 1), st.data())
def test_a_higher_precision_never_flags_more_and_is_met(rows, one, other, data):
    margin, eligible = rows
    quality = decide(margin, eligible).quality
    doubt = np.array(
        data.draw(st.lists(st.floats(0, 1), min_size=len(margin), max_size=len(margin)))
    )
    low, high = sorted([one, other])
    fewer, more = (precise(quality, doubt, eligible, share) for share in (high, low))
    assert not np.any(fewer & ~more)
    assert not np.any(more & ~eligible)
    for flagged, share in ((fewer, high), (more, low)):
        if flagged.any():
            assert doubt[flagged].mean() >= share - 1e-9
        # No larger part of the ranking would do.
        order = np.argsort(np.where(eligible, quality, np.inf), kind="stable")[: eligible.sum()]
        for size in range(flagged.sum() + 1, len(order) + 1):
            assert doubt[order[:size]].mean() < share + 1e-9


@st.composite
def noisy_judged(draw):
    """Draw judged rows and a noise matrix."""
    probabilities, labels = draw(judged())
    n_classes = probabilities.shape[1]
    rows = st.lists(SCORES, min_size=n_classes, max_size=n_classes).filter(any)
    counts = np.array(draw(st.lists(rows, min_size=n_classes, max_size=n_classes)), dtype=float)
    return probabilities, labels, counts / counts.sum(axis=1, keepdims=True)


def bayes_row(p, label, matrix):
    """Return the probability of each class of a row, given its label.

    Classes beyond the label and the two likeliest are taken for the average other class.
    """
    column = matrix[:, label].copy()
    far = np.setdiff1d(np.argsort(-p, kind="stable")[2:], [label])
    column[far] = np.delete(matrix[:, label], label).mean()
    return p * column / (p @ column)


@given(noisy_judged(), st.booleans())
def test_the_probability_of_a_wrong_label_is_that_of_bayes(rows, calibrated):
    probabilities, labels, counted = rows
    n_classes = len(counted)
    told = np.flatnonzero(labels >= 0)
    shares = counted
    for _ in range(COUNTING_TURNS if calibrated else 1):
        matrix = (1 - UNCOUNTED) * shares + UNCOUNTED / n_classes
        found = {i: bayes_row(probabilities[i], labels[i], matrix) for i in told}
        counts = np.zeros((n_classes, n_classes))
        for i, posterior in found.items():
            near = {labels[i], *np.argsort(-probabilities[i], kind="stable")[:2]}
            far = [k for k in range(n_classes) if k not in near]
            spread = sum(posterior[k] for k in far) / (n_classes - 1)
            for k in range(n_classes):
                counts[k, labels[i]] += posterior[k] if k in near else 0
                counts[k, labels[i]] += spread if k != labels[i] else 0
        sizes = counts.sum(axis=1, keepdims=True)
        shares = np.where(sizes > 0, counts / np.where(sizes > 0, sizes, 1), counted)
    evidence = weigh(probabilities, labels)
    doubts = probability_wrong(evidence, labels, counted, calibrated=calibrated)
    assert np.isnan(doubts[labels < 0]).all()
    for i in told:
        assert doubts[i] == pytest.approx(1 - found[i][labels[i]], abs=1e-9)


def test_calibrated_probabilities_give_the_precision_that_was_asked_for():
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet([0.3] * 5, 5000)  # often undecided
    true = np.array([generator.choice(5, p=p) for p in probabilities])
    flipped = generator.random(5000) < 0.25
    given_labels = np.where(flipped, generator.integers(0, 5, 5000), true)
    issues = find_label_issues(None, given_labels, probabilities=probabilities, precision=0.8)
    wrong = given_labels != true
    assert wrong[issues["is_label_issue"]].mean() == pytest.approx(0.8, abs=0.05)


@given(judged())
def test_transitions_are_shares_whose_off_diagonal_mass_is_the_issues(rows):
    probabilities, labels = rows
    n_classes = probabilities.shape[1]
    told = labels >= 0
    evidence = weigh(probabilities, labels)
    issues = told & (np.nan_to_num(evidence.margin, nan=-1.0) > 0)
    true = np.where(issues, evidence.first, labels)[told]
    matrix = count_transitions(true, labels[told], n_classes)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    sizes = np.bincount(true, minlength=n_classes)
    counts = matrix * sizes[:, np.newaxis]
    assert counts.sum() - np.trace(counts) == pytest.approx(issues.sum())
    np.testing.assert_allclose(counts.sum(axis=0), np.bincount(labels[told], minlength=n_classes))
    np.testing.assert_array_equal(matrix[sizes == 0], np.eye(n_classes)[sizes == 0])
