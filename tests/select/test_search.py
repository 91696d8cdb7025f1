"""The search fits what each candidate says, shares its set-up, and chooses by its rule."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

import problems
import twin
from twohot import AutoProbe, DistilledProbe, LinearProbe, PartialLabelProbe
from twohot.rows import coordinates as coordinates_module
from twohot.rows.coordinates import prepare
from twohot.select import auto_probe as selection
from twohot.select import candidates as grid
from twohot.select import search as search_module
from twohot.select.agreement import TEMPERATURES, Calibration
from twohot.select.candidates import Candidate
from twohot.select.search import Search, Trial, judge
from twohot.solve.fit import Settings

TIGHT = 1e-9
DATA = problems.synthetic()
WIDE = problems.synthetic(n_classes=4, n_per_class=12, n_features=60)  # fewer rows than features


@pytest.fixture
def _tight(monkeypatch):
    monkeypatch.setattr(grid, "COARSE", {"ce": TIGHT, "gce": TIGHT})
    monkeypatch.setattr(grid, "COARSE_STUDENT", TIGHT)


def make_search(data, *, weights=None, n_splits=2, tol=TIGHT, report=None):
    """Return a search over folds of every n-th row; rows are not centred, so folds stand alone."""
    _, coordinates = prepare(
        data.X,
        center=False,
        normalize=True,
        weights=weights,
        intercept=False,
        n_classes=data.n_classes,
        dtype=data.X.dtype,
        n_jobs=1,
    )
    number = np.arange(len(data.X))
    splits = [
        (np.flatnonzero(number % 5 != fold), np.flatnonzero(number % 5 == fold))
        for fold in range(n_splits)
    ]
    settings = Settings(tol=tol, max_iter=2000, gce_power=0.7, start="teacher")
    return Search(coordinates, data.given_labels, splits, settings, report), splits


def attempt_all(search, candidate):
    """Try a candidate and everything that it grows out of."""
    for parent in (candidate.teacher, candidate.start):
        if parent is not None and parent not in search.trials:
            attempt_all(search, parent)
    return search.attempt(candidate)


def coef_of(search, trial, fold=0):
    return search.coordinates.to_features(trial.evaluations[fold].coef)


# What is fitted ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("_tight")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize(
    "candidate", [grid.TEACHER_10, grid.ROUND_2, grid.ROUND_3, grid.PARTIAL], ids=str
)
def test_a_fold_is_the_estimator_fitted_on_its_rows_alone(data, candidate, weighted):
    v = 1 + problems.random_weights(len(data.X)) if weighted else None
    search, splits = make_search(data, weights=v)
    trial = attempt_all(search, candidate)
    predicted = []
    for fold, (fitted, left_out) in enumerate(splits):
        alone = candidate.estimator(center=False, tol=TIGHT, max_iter=2000)
        alone.fit(data.X[fitted], data.given_labels[fitted], None if v is None else v[fitted])
        found = coef_of(search, trial, fold)
        np.testing.assert_allclose(found, alone.coef_, rtol=0, atol=2e-5)
        predicted.append(alone.predict(data.X[left_out]))
    np.testing.assert_array_equal(trial.predicted, np.concatenate(predicted))
    given = np.concatenate([data.given_labels[left_out] for _, left_out in splits])
    np.testing.assert_array_equal(search.left_out_labels, given)
    np.testing.assert_array_equal(trial.agrees, trial.predicted == given)


@pytest.mark.usefixtures("_tight")
def test_robust_candidates_are_optima_of_their_targets():
    search, splits = make_search(DATA)
    half, soft = grid.robust_rounds(grid.FIRST_ROBUST)
    fitted = splits[0][0]
    rows = twin.prepare(DATA.X, center=False)[fitted]
    given = twin.one_hot(DATA.given_labels[fitted], 5)
    trials = [attempt_all(search, each) for each in (half, soft)]
    robust = coef_of(search, search.trials[grid.FIRST_ROBUST])
    outputs = twin.outputs(rows, robust)
    top = twin.one_hot(outputs.argmax(axis=1), 5)
    targets = {0: (top + given) / 2, 1: outputs}
    unit = 1 / (5 * len(fitted))
    assert twin.relative_gradient(rows, given, robust, 10 * unit, loss="gce") < 2 * TIGHT
    for place, trial in enumerate(trials):
        l2 = trial.candidate.ridge * unit
        coef = coef_of(search, trial)
        gradient = twin.relative_gradient(rows, targets[place], coef, l2, loss="gce")
        assert gradient < 2 * TIGHT


@pytest.mark.usefixtures("_tight")
def test_a_robust_candidate_starts_where_it_says(monkeypatch):
    search, _ = make_search(DATA, n_splits=1)
    first = attempt_all(search, grid.FIRST_ROBUST)
    starts = []
    fit_round = search_module.fit_round

    def spy(coordinates, targets, plan, last, settings, **options):
        starts.append(last)
        return fit_round(coordinates, targets, plan, last, settings, **options)

    monkeypatch.setattr(search_module, "fit_round", spy)
    search.attempt(grid.weaker(grid.FIRST_ROBUST))
    search.attempt(grid.stronger(grid.FIRST_ROBUST))
    assert starts[0] is first.evaluations[0]
    assert starts[1] is search.trials[grid.TEACHER_30].evaluations[0]


@pytest.mark.usefixtures("_tight")
@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize("candidate", [grid.TEACHER_100, grid.ROUND_3, grid.PARTIAL], ids=str)
def test_the_refit_is_the_estimator_fitted_on_all_rows(data, candidate):
    search, _ = make_search(data, n_splits=1)
    rounds = search.refit(attempt_all(search, candidate))
    alone = candidate.estimator(center=False, tol=TIGHT, max_iter=2000)
    alone.fit(data.X, data.given_labels)
    assert len(rounds) == len(alone.rounds_) == candidate.n_rounds
    for found, expected in zip(rounds, alone.rounds_, strict=True):
        np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=2e-5)
        assert found.l2 == pytest.approx(expected.l2)
        assert (found.loss, found.targets) == (expected.loss, expected.targets)
        assert found.converged


def test_two_classes_leave_the_two_hot_student_one_candidate():
    binary = replace(DATA, true_labels=DATA.true_labels % 2, given_labels=DATA.given_labels % 2)
    search, _ = make_search(binary, n_splits=1)
    plan = grid.PARTIAL.plan(search.coordinates)
    assert plan.n_candidates == 1
    trial = attempt_all(search, grid.PARTIAL)
    assert np.any(trial.evaluations[0].coef)
    # With more classes it is as the candidate says.
    assert grid.PARTIAL.plan(make_search(DATA)[0].coordinates).n_candidates == 2


# The candidates ----------------------------------------------------------------------------------


def test_candidates_name_the_estimator_that_fits_them():
    robust = Candidate(grid.ROBUST, "gce", 4.0)
    half, soft = grid.robust_rounds(robust)
    expected = {
        grid.TEACHER_100: LinearProbe(loss="ce", ridge=100.0),
        grid.ROUND_3: DistilledProbe(n_rounds=3, ridge=(10.0, 10.0, 10.0)),
        grid.PARTIAL: PartialLabelProbe(ridge=(10.0, 10.0)),
        robust: LinearProbe(loss="gce", ridge=4.0),
        half: PartialLabelProbe(
            n_candidates=1, given_share=0.5, teacher_loss="gce", ridge=(4.0, 4.0)
        ),
        soft: DistilledProbe(n_rounds=2, loss="gce", teacher_loss="gce", ridge=(4.0, 2.0)),
    }
    for candidate, probe in expected.items():
        assert repr(candidate.estimator()) == repr(probe)
    assert candidate.estimator(tol=0.1).tol == 0.1


def test_candidates_are_printed_shortly():
    half, soft = grid.robust_rounds(Candidate(grid.ROBUST, "gce", 4.0))
    assert str(grid.TEACHER_100) == "teacher (ridge 100)"
    assert str(half) == "robust rounds (ridge 4, round 2, 50% given)"
    assert str(soft) == "robust rounds (ridge 2, round 2)"


def test_every_method_has_a_place():
    tried = [grid.TEACHER_30, grid.ROUND_2, grid.PARTIAL, grid.FIRST_ROBUST]
    tried += grid.robust_rounds(grid.FIRST_ROBUST)
    places = [each.preference for each in tried]
    assert set(places) == set(range(len(grid.PREFERENCE)))


def test_a_search_tries_no_more_than_it_says():
    for data in (DATA, problems.digits(0.1, 400)):
        search, _ = make_search(data, n_splits=1)
        search.run()
        assert 10 <= len(search.trials) <= grid.MOST_TRIALS
        robust = [each for each in search.trials if each.method == grid.ROBUST]
        assert min(each.ridge for each in robust) >= grid.LEAST_RIDGE


def test_no_candidate_is_its_start_under_another_name():
    search, _ = make_search(DATA, n_splits=1)
    search.attempt(grid.TEACHER_30)
    first = search.attempt(grid.FIRST_ROBUST)
    # So close that the start is within the tolerance.
    near = Candidate(grid.ROBUST, "gce", grid.FIRST_ROBUST.ridge * 0.9, start=grid.FIRST_ROBUST)
    second = search.attempt(near)
    assert not np.allclose(second.evaluations[0].coef, first.evaluations[0].coef, rtol=1e-4)
    assert second.n_passes <= 2


@pytest.mark.parametrize(("noise_rate", "third"), [(0.0, 4.0), (0.6, 100.0)])
def test_the_third_teacher_is_on_the_likelier_side(noise_rate, third):
    data = problems.digits(noise_rate)
    _, search = AutoProbe(n_jobs=1).prepare_search(data.X, data.given_labels, 10, None, None)
    search.run()
    teachers = [each for each in search.trials if each.method == grid.TEACHER]
    assert teachers[:2] == [grid.TEACHER_30, grid.TEACHER_10]
    assert teachers[2].ridge == third
    likelihoods = [search.trials[each].calibration.likelihood.mean() for each in teachers]
    assert (likelihoods[1] > likelihoods[0]) == (third < 10)
    # Weaker ones are tried while they are likelier, and one that is not.
    assert all(np.diff(likelihoods[1:-1]) > 0)


# The choice --------------------------------------------------------------------------------------


def made_trial(candidate, agrees, likelihood):
    """Return a trial that agrees with some rows, with a likelihood for each."""
    agrees = np.asarray(agrees, bool)
    calibration = Calibration(1.0, 0.3, np.broadcast_to(likelihood, len(agrees)).astype(float))
    predicted = np.where(agrees, 0, 1)  # of labels that are all 0
    agreement = float(agrees.mean())
    return Trial(candidate, [], predicted, agrees.astype(float), calibration, agreement, 0.0, 1.0)


def choosing(*trials, weights=None):
    """Return a search that has tried these."""
    search = Search.__new__(Search)
    search.weights = np.ones(len(trials[0].agrees)) if weights is None else weights
    search.trials = {trial.candidate: trial for trial in trials}
    return search


TEACHER, WEAK_TEACHER = grid.TEACHER_100, grid.TEACHER_10
ROBUST, WEAK_ROBUST = grid.FIRST_ROBUST, grid.weaker(grid.FIRST_ROBUST)
HALF = grid.robust_rounds(ROBUST)[0]
ROW = np.arange(100)


def test_agreement_decides_where_it_can_tell():
    # Ten rows more, none less: three standard errors, whatever is likelier or preferred.
    plain = made_trial(TEACHER, ROW < 70, -1.0)
    robust = made_trial(HALF, ROW < 60, -0.5)
    assert choosing(plain, robust).best([plain, robust]) is plain


def test_likelihood_decides_between_what_agreement_cannot_tell_apart():
    # 15 rows against 14 others: far less than a standard error.
    one = made_trial(ROBUST, (ROW < 50) | (ROW >= 85), -1.0)
    other = made_trial(WEAK_ROBUST, (ROW < 50) | ((ROW >= 60) & (ROW < 74)), -0.5)
    assert choosing(one, other).best([one, other]) is other
    # Where cross-entropy is the likeliest of all, likelihood has no say, and the larger penalty
    # is the safer one.
    teacher = made_trial(TEACHER, ROW < 20, -0.1)
    assert choosing(one, other, teacher).best([one, other]) is one


def test_a_likelihood_within_its_error_leaves_it_to_the_preference():
    noisy = np.where(ROW % 2, -2.0, 0.0)
    one = made_trial(ROBUST, ROW < 50, noisy)
    other = made_trial(HALF, ROW < 50, -noisy - 2.01)  # 0.01 less on average, ± 0.2
    assert choosing(one, other).best([one, other]) is other
    sure = made_trial(HALF, ROW < 50, noisy - 0.01)  # the same less on every row
    assert choosing(one, sure).best([one, sure]) is one


def test_of_one_method_the_larger_penalty_is_better_unless_it_agrees_clearly_less():
    one = made_trial(TEACHER, ROW < 60, -1.0)
    near = made_trial(WEAK_TEACHER, (ROW < 59) | (ROW == 80) | (ROW == 81), -1.0)
    assert choosing(one, near).better(one, near)
    assert not choosing(one, near).better(near, one)
    clear = made_trial(WEAK_TEACHER, ROW < 70, -1.0)
    assert choosing(one, clear).better(clear, one)


def test_of_one_method_the_likelier_is_better_where_noise_looks_uniform():
    one = made_trial(ROBUST, ROW < 50, np.where(ROW % 2, -2.0, 0.0))
    other = made_trial(WEAK_ROBUST, ROW < 50, np.where(ROW % 2, 0.01, -2.0))
    assert choosing(one, other).better(other, one)


def test_rows_of_larger_weight_decide_more():
    one = made_trial(ROBUST, ROW < 50, -1.0)
    other = made_trial(HALF, ROW < 40, -1.0)
    assert choosing(one, other).best([one, other]) is one
    weights = np.where((ROW >= 40) & (ROW < 50), 0.0, 1.0)
    assert choosing(one, other, weights=weights).best([one, other]) is other


# What it costs -----------------------------------------------------------------------------------


def count_calls(monkeypatch, module, name):
    calls = []
    function = getattr(module, name)

    def counted(*arguments, **options):
        found = function(*arguments, **options)
        calls.append(found)
        return found

    monkeypatch.setattr(module, name, counted)
    return calls


def test_the_set_up_happens_once_for_all_splits_and_candidates(monkeypatch):
    prepared = count_calls(monkeypatch, selection, "prepare")
    means = count_calls(monkeypatch, coordinates_module, "fit_preparation")
    spectra = count_calls(monkeypatch, coordinates_module, "measure_spectrum")
    probe = AutoProbe(cv=3).fit(DATA.X, DATA.given_labels)
    assert probe.choice_.n_splits == 3
    assert len(prepared) == len(means) == len(spectra) == 1


def test_passes_of_a_search_are_those_of_its_fits(monkeypatch):
    solutions = count_calls(monkeypatch, search_module, "fit_round")
    targets = count_calls(monkeypatch, search_module, "next_targets")
    probe = AutoProbe(cv=3).fit(DATA.X, DATA.given_labels)
    n_fits = 3 * len(probe.choice_.tried)
    n_students = 3 * sum(entry.n_rounds > 1 for entry in probe.choice_.tried)
    assert len(solutions) == n_fits + len(probe.rounds_)
    assert len(targets) == n_students + len(probe.rounds_) - 1
    passes = sum(each.n_passes for each in solutions[:n_fits])
    passes += sum(each.making_passes for each in targets[:n_students])
    assert sum(entry.n_passes for entry in probe.choice_.tried) == pytest.approx(passes)
    # Coarse tolerances and warm starts: about four passes a candidate and split.
    assert passes < 8 * n_fits


def test_no_array_of_all_outputs_is_held(monkeypatch):
    monkeypatch.setattr("twohot.rows.preparation.BLOCK_ENTRIES", 2**16)
    n_samples, n_classes = 8_000, 400
    X = np.random.default_rng(0).normal(size=(n_samples, 8)).astype(np.float32)
    labels = np.arange(n_samples) % n_classes
    search, _ = make_search(problems.Labelled(X, labels, labels, X, labels), n_splits=1, tol=0.1)
    search.settings = replace(search.settings, max_iter=2)
    half, soft = grid.robust_rounds(grid.FIRST_ROBUST)
    tracemalloc.start()
    try:
        for candidate in (grid.ROUND_2, half, soft):
            trial = attempt_all(search, candidate)
        search.refit(trial)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Less than the outputs of the rows fitted on would take as float32.
    assert peak < 0.5 * 4 * (0.8 * n_samples) * n_classes


def test_judging_is_the_same_for_any_blocks_and_threads(monkeypatch):
    search, _ = make_search(DATA)
    trial = search.attempt(grid.TEACHER_30)
    monkeypatch.setattr("twohot.rows.preparation.BLOCK_ENTRIES", 1)
    other, splits = make_search(problems.synthetic(n_per_class=240))
    many = other.splits[0]
    assert many.left_out.features.n_blocks > 2
    wide = replace(many, left_out=replace(many.left_out, n_jobs=3))
    evaluation = trial.evaluations[0]
    one, three = judge(many, evaluation), judge(wide, evaluation)
    np.testing.assert_array_equal(one.given, three.given)
    rows = twin.prepare(problems.synthetic(n_per_class=240).X, center=False)[splits[0][1]]
    coef = other.coordinates.spectrum.to_features(evaluation.coef)
    labels = many.left_out_labels
    expected = softmax(rows @ coef.T, axis=1)[np.arange(len(labels)), labels]
    np.testing.assert_allclose(one.given[TEMPERATURES.index(1.0)], expected, rtol=1e-5)


def test_every_trial_is_reported():
    heard = []
    search, _ = make_search(DATA, n_splits=1, report=heard.append)
    search.run()
    assert heard == list(search.trials.values())
    assert heard[0].noise_rate == heard[0].calibration.noise_rate
