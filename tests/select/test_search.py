"""The search fits what each candidate says, shares its set-up, and chooses by its rule."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

import problems
import twin
from twohot import AutoProbe, DistilledProbe, LinearProbe, PartialLabelProbe
from twohot._checks.labels import code_labels
from twohot.distill.estimators import probe_for
from twohot.distill.recipe import ROBUST, ROBUST_ROUNDS, TEACHER, Recipe
from twohot.distill.targets import LABELS
from twohot.rows import coordinates as coordinates_module
from twohot.rows.coordinates import Coordinates, prepare
from twohot.rows.preparation import AS_THEY_ARE
from twohot.rows.rows import Rows
from twohot.rows.stores import LOOK_ROWS
from twohot.select import auto_probe as auto_probe_module
from twohot.select import grid, split_fits
from twohot.select import search as search_module
from twohot.select.agreement import TEMPERATURES
from twohot.select.auto_probe import search_probe
from twohot.select.grid import Candidate
from twohot.select.scored import predict_held_out
from twohot.select.search import Search
from twohot.select.unseen import unseen_logits
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy
from twohot.solve.solver import Settings

TIGHT = 1e-9
DATA = problems.synthetic()
WIDE = problems.synthetic(n_classes=4, n_per_class=12, n_features=60)  # fewer rows than features


@pytest.fixture
def _tight(monkeypatch):
    for loss in (CrossEntropy, GeneralizedCrossEntropy):
        monkeypatch.setattr(loss, "coarse_tol", TIGHT)
        monkeypatch.setattr(loss, "coarse_student_tol", TIGHT)
    monkeypatch.setattr(grid, "FULL_CLASSES", 2)  # so that a tolerance is taken as it is


def make_search(data, *, weights=None, n_splits=2, tol=TIGHT, callback=None, n_axes=None):
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
    coordinates.rows.attach(LABELS, data.given_labels)
    settings = Settings(tol=tol, max_iter=2000)
    return Search(coordinates, splits, settings, callback, n_axes=n_axes), splits


def attempt_all(search, candidate):
    """Try a candidate and everything that it grows out of."""
    for parent in (candidate.recipe.teacher, candidate.start):
        if parent is not None and parent not in search.trials:
            attempt_all(search, CANDIDATES.get(parent, Candidate(parent)))
    return search.attempt(candidate)


def second_rounds(robust):
    """Return the second round of a robust probe, and one on its soft outputs, which none tries."""
    recipe = robust.recipe
    soft = replace(recipe, teacher=recipe, ridge=recipe.ridge / 2)
    return grid.robust_round(robust), Candidate(soft)


# By recipe, those that start from another one.
STARTED = (grid.TEACHER_10, grid.TEACHER_100, grid.FIRST_ROBUST)
CANDIDATES = {each.recipe: each for each in (*STARTED, *(each.half_whitened for each in STARTED))}


def name_of(candidate):
    return str(candidate.recipe)


def coef_of(search, trial, fold=0):
    coordinates = trial.candidate.recipe.coordinates(search.splits[fold].fitted)
    return coordinates.to_features(trial.evaluations[fold].coef)


# What is fitted ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("_tight")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize(
    "candidate", [grid.TEACHER_10, grid.ROUND_2, grid.ROUND_3, grid.PARTIAL], ids=name_of
)
def test_a_fold_is_the_estimator_fitted_on_its_rows_alone(data, candidate, weighted):
    v = 1 + problems.random_weights(len(data.X)) if weighted else None
    search, splits = make_search(data, weights=v)
    trial = attempt_all(search, candidate)
    predicted = []
    for fold, (fitted, held_out) in enumerate(splits):
        alone = probe_for(candidate.recipe, center=False, tol=TIGHT, max_iter=2000)
        alone.fit(data.X[fitted], data.given_labels[fitted], None if v is None else v[fitted])
        found = coef_of(search, trial, fold)
        np.testing.assert_allclose(found, alone.coef_, rtol=0, atol=2e-5)
        predicted.append(alone.predict(data.X[held_out]))
    np.testing.assert_array_equal(trial.predicted, np.concatenate(predicted))
    given = np.concatenate([data.given_labels[held_out] for _, held_out in splits])
    np.testing.assert_array_equal(search.held_out_labels, given)
    np.testing.assert_array_equal(trial.score.agrees, trial.predicted == given)


@pytest.mark.usefixtures("_tight")
def test_robust_candidates_are_optima_of_their_targets():
    search, splits = make_search(DATA)
    half, soft = second_rounds(grid.FIRST_ROBUST)
    fitted = splits[0][0]
    rows = twin.prepare(DATA.X, center=False)[fitted]
    given = twin.one_hot(DATA.given_labels[fitted], 5)
    trials = [attempt_all(search, each) for each in (half, soft)]
    robust = coef_of(search, search.trials[grid.FIRST_ROBUST.recipe])
    outputs = twin.outputs(rows, robust)
    top = twin.one_hot(outputs.argmax(axis=1), 5)
    targets = {0: (top + given) / 2, 1: outputs}
    unit = 1 / (5 * len(fitted))
    assert twin.relative_gradient(rows, given, robust, 10 * unit, loss="gce") < 2 * TIGHT
    for place, trial in enumerate(trials):
        l2 = trial.candidate.recipe.ridge * unit
        coef = coef_of(search, trial)
        gradient = twin.relative_gradient(rows, targets[place], coef, l2, loss="gce")
        assert gradient < 2 * TIGHT


@pytest.mark.usefixtures("_tight")
@pytest.mark.parametrize("whiten", [False, True])
def test_a_robust_candidate_starts_where_it_says(monkeypatch, whiten):
    candidate, teacher = grid.FIRST_ROBUST, grid.TEACHER_30
    if whiten:
        candidate, teacher = candidate.half_whitened, teacher.half_whitened
    search, _ = make_search(DATA, n_splits=1)
    first = attempt_all(search, candidate)
    starts = []
    fit_round = split_fits.fit_round

    def spy(solver, given, step, last):
        starts.append(last)
        return fit_round(solver, given, step, last)

    monkeypatch.setattr(split_fits, "fit_round", spy)
    search.attempt(grid.weaker(candidate, 64))
    search.attempt(grid.stronger(candidate))
    assert starts[0] is first.evaluations[0]
    assert starts[1] is search.trials[teacher.recipe].evaluations[0]


@pytest.mark.usefixtures("_tight")
@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize("n_axes", [4, 512])
@pytest.mark.parametrize(
    "candidate",
    [
        grid.TEACHER_100,
        grid.ROUND_3,
        grid.PARTIAL,
        grid.TEACHER_100.half_whitened,
        grid.ROUND_2.half_whitened,
        grid.PARTIAL.half_whitened,
    ],
    ids=name_of,
)
def test_the_refit_is_the_estimator_fitted_on_all_rows(data, candidate, n_axes, monkeypatch):
    # Plain ones are refitted along all axes, whatever they were compared on.
    monkeypatch.setattr("twohot.rows.principal_axes.LEADING_AXES", n_axes)
    search, _ = make_search(data, n_splits=1, n_axes=n_axes - 1)
    rounds = search.refit(attempt_all(search, candidate))
    alone = probe_for(candidate.recipe, center=False, tol=TIGHT, max_iter=2000)
    alone.fit(data.X, data.given_labels)
    assert len(rounds) == len(alone.rounds_) == candidate.recipe.n_rounds
    for found, expected in zip(rounds, alone.rounds_, strict=True):
        np.testing.assert_allclose(found.coef, expected.coef, rtol=0, atol=2e-5)
        assert found.l2 == pytest.approx(expected.l2)
        assert (found.loss, found.targets) == (expected.loss, expected.targets)
        assert found.converged


def test_two_classes_leave_the_two_hot_student_one_candidate():
    binary = replace(DATA, true_labels=DATA.true_labels % 2, given_labels=DATA.given_labels % 2)
    search, _ = make_search(binary, n_splits=1)
    trial = attempt_all(search, grid.PARTIAL)
    assert np.any(trial.evaluations[0].coef)
    kept = search.splits[0].fitted.rows.columns["candidates"]
    assert kept.nnz == kept.shape[0]
    # With more classes it is as the candidate says.
    search, _ = make_search(DATA, n_splits=1)
    attempt_all(search, grid.PARTIAL)
    kept = search.splits[0].fitted.rows.columns["candidates"]
    assert kept.nnz == 2 * kept.shape[0]


# The candidates ----------------------------------------------------------------------------------


def test_candidates_name_the_estimator_that_fits_them():
    robust = Candidate(Recipe(GeneralizedCrossEntropy(), ridge=4.0))
    half, soft = second_rounds(robust)
    expected = {
        grid.TEACHER_100: LinearProbe(loss="ce", ridge=100.0),
        grid.ROUND_3: DistilledProbe(n_rounds=3, ridge=(10.0, 10.0, 10.0)),
        grid.PARTIAL: PartialLabelProbe(ridge=(10.0, 10.0)),
        robust: LinearProbe(loss="gce", ridge=4.0),
        half: PartialLabelProbe(
            n_candidates=1, given_share=0.5, teacher_loss="gce", ridge=(4.0, 4.0)
        ),
        soft: DistilledProbe(n_rounds=2, loss="gce", teacher_loss="gce", ridge=(4.0, 2.0)),
        robust.half_whitened: LinearProbe(loss="gce", ridge=4.0, whiten=True),
        grid.PARTIAL.half_whitened: PartialLabelProbe(ridge=(10.0, 10.0), whiten=True),
    }
    for candidate, probe in expected.items():
        assert repr(probe_for(candidate.recipe)) == repr(probe)
    assert probe_for(candidate.recipe, tol=0.1).tol == 0.1


def test_candidates_are_printed_shortly():
    robust = Recipe(GeneralizedCrossEntropy(), ridge=4.0)
    half, soft = second_rounds(Candidate(robust))
    assert str(grid.TEACHER_100.recipe) == "teacher (ridge 100)"
    assert str(half.recipe) == "robust rounds (ridge 4, round 2, 50% given)"
    assert str(soft.recipe) == "robust rounds (ridge 2, round 2)"
    assert str(robust.half_whitened) == "robust (ridge 4, half-whitened)"
    whitened = "robust rounds (ridge 4, round 2, 50% given, half-whitened)"
    assert str(half.half_whitened.recipe) == whitened


def test_every_method_has_a_place():
    tried = [grid.TEACHER_30, grid.ROUND_2, grid.PARTIAL, grid.FIRST_ROBUST]
    tried += [grid.robust_round(grid.FIRST_ROBUST)]
    places = [each.preference for each in tried]
    assert set(places) == set(range(len(grid.PREFERENCE)))
    unknown = Recipe(CrossEntropy(), ridge=1.0, teacher=grid.FIRST_ROBUST.recipe, given_share=0.1)
    assert Candidate(replace(unknown, teacher=grid.TEACHER_10.recipe)).preference == -1


def test_a_search_tries_no_more_than_it_says():
    for data in (DATA, problems.digits(0.1, 400)):
        search, _ = make_search(data, n_splits=1)
        search.run()
        for whiten in (False, True):
            tried = [each for each in search.trials if each.whiten == whiten]
            assert 8 <= len(tried) <= grid.MOST_TRIALS / 2
            robust = [each.ridge for each in tried if each.method == ROBUST]
            few = data.X.shape[1] < grid.MANY_FEATURES
            assert min(robust) >= (grid.LEAST_RIDGE_OF_FEW if few else grid.LEAST_RIDGE)


def test_few_features_may_have_a_smaller_penalty():
    least = Candidate(replace(grid.TEACHER_10.recipe, ridge=grid.LEAST_RIDGE))
    assert grid.weaker(least, grid.MANY_FEATURES) is None
    weaker = grid.weaker(least, 2)
    assert weaker.recipe.ridge == pytest.approx(grid.LEAST_RIDGE / grid.STEP)


def test_both_kinds_of_rows_get_the_same_first_candidates():
    search, _ = make_search(DATA, n_splits=1)
    search.run()
    plain, whitened = ([r for r in search.trials if r.whiten == kind] for kind in (False, True))
    assert [each.half_whitened for each in plain[:2]] == whitened[:2]
    assert grid.FIRST_ROBUST.recipe in plain
    assert grid.FIRST_ROBUST.half_whitened.recipe in whitened
    # All rounds of a recipe are alike.
    assert all(step.whiten for each in whitened for step in each.rounds)
    assert not any(step.whiten for each in plain for step in each.rounds)


@pytest.mark.parametrize("errors", [-1e9, 1e9])
def test_what_is_far_behind_is_not_followed(errors, monkeypatch):
    for name in ("FAR_ERRORS", "FARTHER_ERRORS"):
        monkeypatch.setattr(search_module, name, errors)
    search, _ = make_search(DATA, n_splits=1)
    search.run()
    stronger, weaker = grid.stronger(grid.FIRST_ROBUST), grid.weaker(grid.FIRST_ROBUST, 64)
    for whiten in (False, True):
        tried = [each for each in search.trials if each.whiten == whiten]
        # Other teachers and students where the first teacher is not, other penalties and rounds
        # where the rows are not.
        teachers = [each for each in tried if each.method == TEACHER]
        first, robust = (search.trials[each].agrees for each in (teachers[0], tried[1]))
        assert (len(teachers) > 1) == (errors > 0 or np.array_equal(first, robust))
        for student in (grid.ROUND_2, grid.PARTIAL):
            recipe = student.half_whitened.recipe if whiten else student.recipe
            assert (recipe in tried) == (errors > 0)
        ridges = {each.ridge for each in tried if each.method == ROBUST}
        assert bool(ridges & {stronger.recipe.ridge, weaker.recipe.ridge}) == (errors > 0)
        assert (ROBUST_ROUNDS in {each.method for each in tried}) == (errors > 0)


def test_errors_of_weights_that_sum_to_one_are_those_of_rows():
    shares = np.full(len(DATA.X), 1 / len(DATA.X))
    choice = AutoProbe(n_jobs=1).fit(DATA.X, DATA.given_labels, sample_weight=shares).choice_
    assert choice.learnt
    chosen = choice.chosen
    error = np.sqrt(chosen.agreement * (1 - chosen.agreement) / choice.n_held_out)
    assert chosen.agreement_error == pytest.approx(error)


def test_no_candidate_is_its_start_under_another_name():
    search, _ = make_search(DATA, n_splits=1)
    search.attempt(grid.TEACHER_30)
    first = search.attempt(grid.FIRST_ROBUST)
    # So close that the start is within the tolerance.
    near = Candidate(replace(first.candidate.recipe, ridge=9.0), start=first.candidate.recipe)
    second = search.attempt(near)
    assert not np.allclose(second.evaluations[0].coef, first.evaluations[0].coef, rtol=1e-4)
    assert second.n_passes <= 2


@pytest.mark.parametrize(("noise_rate", "third"), [(0.0, 4.0), (0.6, 100.0)])
def test_the_third_teacher_is_on_the_likelier_side(noise_rate, third):
    data = problems.digits(noise_rate)
    labels = code_labels(data.given_labels)
    search = search_probe(AutoProbe(n_jobs=1), data.X, labels)[1].search
    teachers = [each for each in search.trials if each.method == TEACHER and not each.whiten]
    assert teachers[:2] == [grid.TEACHER_30.recipe, grid.TEACHER_10.recipe]
    assert teachers[2].ridge == third
    whitened = [each for each in search.trials if each.method == TEACHER and each.whiten]
    for tried in (teachers, whitened):
        likelihoods = [search.trials[each].calibration.likelihood.mean() for each in tried]
        assert (likelihoods[1] > likelihoods[0]) == (tried[2].ridge < 10)
        # Weaker ones are tried while they are likelier, and one that is not.
        assert all(np.diff(likelihoods[1:-1]) > 0) or len(tried) == 3


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


def test_a_two_hot_student_is_left_where_it_was_compared():
    search, _ = make_search(DATA, n_splits=1, tol=1e-3)
    made = search.refit(attempt_all(search, grid.PARTIAL))[-1]
    assert 1e-3 < made.gradient_norm <= grid.coarse_tol(grid.PARTIAL.recipe, DATA.n_classes)
    made = search.refit(attempt_all(search, grid.FIRST_ROBUST))[-1]
    assert made.gradient_norm <= 1e-3


def test_the_set_up_happens_once_for_all_splits_and_candidates(monkeypatch):
    prepared = count_calls(monkeypatch, auto_probe_module, "prepare_as")
    means = count_calls(monkeypatch, coordinates_module, "fit_preparation")
    spectra = count_calls(monkeypatch, coordinates_module, "measure_axes")
    probe = AutoProbe(normalize=True, cv=3).fit(DATA.X, DATA.given_labels)
    assert probe.choice_.n_splits == 3
    assert len(prepared) == len(means) == len(spectra) == 1


def test_passes_of_a_search_are_those_of_its_fits(monkeypatch):
    fits = count_calls(monkeypatch, split_fits, "fit_round")
    refits = count_calls(monkeypatch, search_module, "make_round")
    _, selection = search_probe(
        AutoProbe(normalize=True, cv=3), DATA.X, code_labels(DATA.given_labels)
    )
    search = selection.search
    search.refit(search.best())
    n_fits = 3 * len(search.trials)
    assert len(fits) == n_fits
    recipe = search.best().candidate.recipe
    robust = recipe.rounds[0].loss.is_robust
    assert len(refits) == len(grid.gentle_path_to(recipe) if robust else recipe.rounds)
    splits = [*search.splits, *search.wide_splits]  # discriminants are on all leading axes
    passes = sum(split.fitted.rows.n_passes for split in splits)
    trials = [*search.trials.values(), *selection.discriminants]
    assert sum(trial.n_passes for trial in trials) == pytest.approx(passes)
    # Coarse tolerances and warm starts: about four passes a candidate and split.
    assert passes < 8 * n_fits


def test_no_array_of_all_outputs_is_held():
    n_samples, n_classes = 12_000, 800
    X = np.random.default_rng(0).normal(size=(n_samples, 8)).astype(np.float32)
    labels = np.arange(n_samples) % n_classes
    search, _ = make_search(problems.Labelled(X, labels, labels, X, labels), n_splits=1, tol=0.1)
    search.settings = replace(search.settings, max_iter=2)
    half, soft = second_rounds(grid.FIRST_ROBUST)
    tracemalloc.start()
    try:
        for candidate in (grid.ROUND_2, half, soft):
            trial = attempt_all(search, candidate)
        search.refit(trial)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Less than the outputs of the rows fitted on would take as float32.
    assert peak < 0.75 * 4 * (0.8 * n_samples) * n_classes


@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
def test_the_rows_that_are_searched_are_held_once_along_few_axes(data, monkeypatch):
    monkeypatch.setattr("twohot.rows.principal_axes.LEADING_AXES", 8)
    search, _ = make_search(data, n_axes=5)
    whole = search.wide_splits[0].fitted.rows.X.X
    assert whole.shape == (len(data.X), 8)
    for each in (*search.splits, *search.wide_splits):
        assert all(np.shares_memory(side.rows.X.X, whole) for side in (each.fitted, each.held_out))
    stored = {id(side.rows.X.X) for each in search.splits for side in (each.fitted, each.held_out)}
    for kind in (grid.TEACHER_30, grid.TEACHER_30.half_whitened):
        rows = kind.recipe.coordinates(search.splits[0].fitted).rows
        assert id(rows.X.X) in stored
        assert rows.X.X.shape == (len(data.X), 5)
        assert search.attempt(kind).evaluations[0].coef.shape == (data.n_classes, 5)


def test_predictions_are_the_same_for_any_blocks_and_threads():
    search, splits = make_search(DATA)
    trial = search.attempt(grid.TEACHER_30)
    evaluation, fit = trial.evaluations[0], search.on_wide_rows(trial.recipe)[0]
    held_out = search.splits[0].held_out
    labels = held_out.rows.columns[LABELS]
    one = predict_held_out(held_out, fit)
    prepared = Rows(
        np.asarray(held_out.rows.X),
        AS_THEY_ARE,
        dtype=held_out.rows.dtype,
        n_classes=5,
        n_jobs=3,
        block_rows=16,
    )
    prepared.attach(LABELS, labels)
    many = predict_held_out(Coordinates(prepared, held_out.axes), fit)
    np.testing.assert_allclose(one.given, many.given, rtol=1e-6)
    np.testing.assert_array_equal(one.predicted, many.predicted)
    rows = twin.prepare(DATA.X, center=False)[splits[0][1]]
    coef = search.coordinates.axes.to_rows(evaluation.coef, 1)
    expected = softmax(rows @ coef.T, axis=1)[np.arange(len(labels)), labels]
    np.testing.assert_allclose(one.given[TEMPERATURES.index(1.0)], expected, rtol=1e-5)


def test_the_callback_gets_every_trial():
    told = []
    search, _ = make_search(DATA, n_splits=1, callback=told.append)
    search.run()
    assert [each.recipe for each in told] == list(search.trials)
    assert [each.agreement for each in told] == [e.agreement for e in search.trials.values()]


class CountedRows(np.ndarray):
    """Rows that count how many of them were read."""

    n_read = 0

    def __getitem__(self, key):
        found = np.asarray(super().__getitem__(key))
        CountedRows.n_read += len(found) if found.ndim == 2 else 0
        return found


def test_rows_that_are_searched_are_taken_once(monkeypatch):
    monkeypatch.setattr("twohot.rows.rows.KEPT_BYTES", 0)
    monkeypatch.setattr(CountedRows, "n_read", 0)
    labels = code_labels(DATA.given_labels)
    search = search_probe(AutoProbe(normalize=True, cv=2), DATA.X.view(CountedRows), labels)[
        1
    ].search
    # A few for their size; once for the mean, once for the axes, once for the search, however many
    # passes that takes.
    assert CountedRows.n_read == min(LOOK_ROWS, len(DATA.X)) + 3 * len(DATA.X)
    assert sum(trial.n_passes for trial in search.trials.values()) > 20


def test_what_is_along_the_axes_already_is_not_read_again(monkeypatch):
    monkeypatch.setattr("twohot.rows.rows.KEPT_BYTES", 0)
    monkeypatch.setattr("twohot.rows.principal_axes.LEADING_AXES", 8)
    labels = code_labels(DATA.given_labels)
    probe = AutoProbe(normalize=True, cv=2)
    search = search_probe(probe, DATA.X.view(CountedRows), labels)[1].search
    monkeypatch.setattr(CountedRows, "n_read", 0)
    (whitened,) = search.refit(search.trials[grid.TEACHER_30.recipe.half_whitened])
    unseen_logits(search, search.best())
    assert CountedRows.n_read == 0
    search.refit(search.trials[grid.TEACHER_30.recipe])  # along all twelve axes
    assert CountedRows.n_read > 0
    alone = LinearProbe(ridge=30, whiten=True, tol=probe.tol).fit(DATA.X, DATA.given_labels)
    difference = np.linalg.norm(whitened.coef - alone.coef_) / np.linalg.norm(alone.coef_)
    assert difference < 0.1  # two fits at a coarse tolerance


def test_a_robust_probe_is_fitted_on_all_rows_anew():
    # Whatever was held out in the search, and however it got there.
    def refitted(n_splits, *tried):
        search, _ = make_search(DATA, n_splits=n_splits, tol=1e-2)
        for candidate in tried:
            attempt_all(search, candidate)
        return search.refit(search.trials[half.recipe])

    weak = grid.weaker(grid.FIRST_ROBUST, 64)
    half = grid.robust_round(weak)
    one = refitted(1, grid.FIRST_ROBUST, weak, half)
    other = refitted(2, grid.FIRST_ROBUST, weak, grid.stronger(grid.FIRST_ROBUST), half)
    assert len(one) == half.recipe.n_rounds
    for left, right in zip(one, other, strict=True):
        assert np.array_equal(left.coef, right.coef)
        # That of the teacher it starts from is counted.
        assert left.n_passes == right.n_passes > 1


@pytest.mark.parametrize("n_cells", [0, 10**9])
def test_many_rows_are_finished_earlier_by_a_robust_loss_alone(n_cells, monkeypatch):
    monkeypatch.setattr(search_module, "EARLY_CELLS", n_cells)
    search, _ = make_search(DATA, n_splits=1, tol=1e-2)
    calls = count_calls(monkeypatch, search_module, "Solver")
    for candidate in (grid.TEACHER_30, grid.FIRST_ROBUST):
        search.attempt(candidate)
        (made,) = search.refit(search.trials[candidate.recipe])
        assert made.converged
    teacher, start, robust = (solver.settings.tol for solver in calls)
    compared = grid.coarse_tol(grid.FIRST_ROBUST.recipe, DATA.n_classes)
    assert (teacher, start) == (1e-2, compared)
    # Where it was compared, as ten times the tolerance would be less finished.
    assert robust == pytest.approx(compared if n_cells == 0 else 1e-2)


@pytest.mark.parametrize("n_features", [64, 300])
def test_a_robust_probe_is_fitted_at_its_own_penalty(n_features, monkeypatch):
    # However many rows there are; first on the axes of the search, and then on all of them.
    monkeypatch.setattr(search_module, "EARLY_CELLS", 0)
    data = problems.synthetic(n_features=n_features)
    search, _ = make_search(data, n_splits=1, tol=3e-2, n_axes=48)
    weak = grid.weaker(grid.FIRST_ROBUST, 64)
    half = grid.robust_round(weak)
    coefs = []
    for candidate in (grid.FIRST_ROBUST, weak, half):
        made = search.refit(attempt_all(search, candidate))[-1]
        assert made.gradient_norm <= grid.coarse_tol(candidate.recipe, data.n_classes)
        coefs.append(made.coef)
    for one, other in itertools.combinations(coefs, 2):
        assert np.linalg.norm(one - other) > 1e-3 * np.linalg.norm(one)


def test_few_rows_of_many_are_searched_and_all_are_fitted_on(monkeypatch):
    monkeypatch.setattr("twohot.select.splits.CHOICE_ROWS", 100)
    search = search_probe(AutoProbe(normalize=True), DATA.X, code_labels(DATA.given_labels))[
        1
    ].search
    for split in search.splits:
        assert split.fitted.rows.n_samples + split.held_out.rows.n_samples == 100
        assert split.fitted.rows.X.X.shape[0] == 100
    assert search.coordinates.rows.n_samples == len(DATA.X)


def test_many_rows_are_searched_where_they_are(monkeypatch):
    monkeypatch.setattr("twohot.select.split_rows.SEARCH_ROWS", 100)
    labels = code_labels(DATA.given_labels)
    search = search_probe(AutoProbe(normalize=True, cv=2), DATA.X, labels)[1].search
    assert all(split.fitted.rows.X.X is DATA.X for split in search.splits)
    held = search_probe(AutoProbe(normalize=True, cv=2, random_state=0), DATA.X.copy(), labels)[
        1
    ].search
    assert [trial.agreement for trial in search.trials.values()] == [
        trial.agreement for trial in held.trials.values()
    ]


def test_rows_that_are_all_alike_end_without_a_warning():
    labels = (np.arange(40) % 10 == 0).astype(int)
    probe = AutoProbe().fit(np.ones((40, 5)), labels)
    assert not probe.choice_.learnt
    assert np.isfinite(probe.predict_proba(np.ones((2, 5)))).all()


@pytest.mark.parametrize("ridge", [10.0, 0.64])
def test_a_weak_penalty_is_finished_where_its_optimum_is(ridge):
    candidate = grid.Candidate(Recipe(CrossEntropy(), ridge=ridge))
    search, _ = make_search(DATA, n_splits=1, tol=3e-2)
    trial = search.attempt(candidate)
    (found,) = search.refit(trial)
    exact = probe_for(candidate.recipe, center=False, tol=1e-9, max_iter=2000)
    exact.fit(DATA.X, DATA.given_labels)
    assert found.gradient_norm <= 3e-2 * ridge / 30
    assert np.linalg.norm(found.coef - exact.coef_) < 0.1 * np.linalg.norm(exact.coef_)


def test_a_weak_penalty_is_compared_where_its_optimum_is(monkeypatch):
    monkeypatch.setattr(CrossEntropy, "coarse_tol", 3e-2)
    for ridge, expected in ((0.64, 3e-2 * 0.64 / 30), (10.0, 1e-2), (30.0, 3e-2), (100.0, 3e-2)):
        assert grid.coarse_tol(Recipe(CrossEntropy(), ridge=ridge), 10) == pytest.approx(expected)
    robust = Recipe(GeneralizedCrossEntropy(), ridge=0.64)
    assert grid.coarse_tol(robust, 100) == GeneralizedCrossEntropy.coarse_tol


def test_tolerances_of_a_robust_loss_mean_the_same_with_few_classes():
    robust = Recipe(GeneralizedCrossEntropy(), ridge=10.0)
    # The gradient at zero is K^-.7 of that of cross-entropy: .3 of it with 100 classes.
    absolute = {k: grid.coarse_tol(robust, k) * k**-0.7 for k in (2, 10, 100)}
    assert list(absolute.values()) == pytest.approx([absolute[100]] * 3)
    assert grid.coarse_tol(robust, 1000) == grid.coarse_tol(robust, 100)


def test_a_small_penalty_is_reached_by_way_of_a_larger_one():
    weak = grid.weaker(grid.FIRST_ROBUST, 64)
    half = grid.robust_round(weak).half_whitened.recipe
    teacher, medium, first, last = grid.gentle_path_to(half)
    assert teacher == grid.TEACHER_30.recipe.half_whitened
    assert medium == grid.FIRST_ROBUST.recipe.half_whitened
    assert [first, last] == half.rounds
    assert grid.path_to(half) == [teacher, first, last]
    strong = grid.stronger(grid.FIRST_ROBUST).recipe
    assert grid.gentle_path_to(strong) == grid.path_to(strong) == [grid.TEACHER_30.recipe, strong]


def test_a_convex_refit_starts_where_the_search_ended():
    search, _ = make_search(DATA, n_splits=1, tol=1e-6)
    search.attempt(grid.TEACHER_30)
    trial = search.attempt(grid.TEACHER_10)
    (found,) = search.refit(trial)
    alone = probe_for(trial.recipe, center=False, tol=found.gradient_norm, max_iter=2000)
    alone.fit(DATA.X, DATA.given_labels)
    assert found.n_passes < alone.rounds_[0].n_passes
