"""What is made of a search: discriminants beside it, and averages of what is equally good."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import discriminant_twin
import problems
import twin
from twohot import AutoProbe, AveragedProbe
from twohot._checks.labels import code_labels
from twohot.distill.average_recipe import DiscriminantRecipe
from twohot.distill.leave_one_out import FULL_SHRINKAGE, LITTLE_SHRINKAGES, SHRINKAGES
from twohot.select import selection as selection_module
from twohot.select import shares as shares_module
from twohot.select.auto_probe import search_probe
from twohot.select.selection import Selection, decide
from twohot.select.shares import MANY_ROWS
from twohot.solve.losses import CrossEntropy, GeneralizedCrossEntropy

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
WIDE = problems.synthetic(n_classes=4, n_per_class=12, n_features=60)  # fewer rows than features


def halves(n_rows):
    place = np.arange(n_rows) % 2
    return [(np.flatnonzero(place == 0), np.flatnonzero(place == 1))]


def decided(data, **parameters):
    probe = AutoProbe(cv=halves(len(data.X)), n_jobs=1, normalize=True, **parameters)
    return search_probe(probe, data.X, code_labels(data.given_labels))[1]


@pytest.mark.parametrize("intercept", ["auto", True])
@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
def test_a_discriminant_is_that_of_scikit_learn_on_the_rows_of_a_split(data, intercept):
    selection = decided(data, fit_intercept=intercept)
    # Of few features, with many rows for each, hardly any shrinkage is tried as well; of few along
    # which classes are nearly as wide, the full one.
    long = [*LITTLE_SHRINKAGES, *SHRINKAGES, FULL_SHRINKAGE]
    shrinkages = long if data is DATA else [*SHRINKAGES]
    assert [each.recipe.shrinkage for each in selection.discriminants] == shrinkages
    ((fitted, held_out),) = halves(len(data.X))
    along = discriminant_twin.along_axes(twin.prepare(data.X))  # axes are those of all rows
    for each in selection.discriminants:
        known = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=each.recipe.shrinkage)
        expected = known.fit(along[fitted], data.given_labels[fitted]).predict(along[held_out])
        np.testing.assert_array_equal(each.predicted, expected)
        np.testing.assert_array_equal(each.agrees, expected == data.given_labels[held_out])


def test_without_an_intercept_there_is_no_discriminant():
    selection = decided(DATA, fit_intercept=False)
    assert not selection.discriminants
    assert not any(isinstance(each.recipe, DiscriminantRecipe) for each in selection.tried)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("data", [DATA, WIDE], ids=["long", "wide"])
def test_an_average_is_fitted_as_averaged_probe_fits_it(data, intercept, monkeypatch):
    monkeypatch.setattr(shares_module, "MOST_ERRORS", 1e9)
    for loss in (CrossEntropy, GeneralizedCrossEntropy):
        monkeypatch.setattr(loss, "coarse_student_tol", 1e-7)
        monkeypatch.setattr(loss, "coarse_tol", 1e-7)
    options = {"tol": 1e-7, "max_iter": 5000, "n_jobs": 1}
    probe = AutoProbe(cv=halves(len(data.X)), fit_intercept=intercept or "auto", **options)
    probe.fit(data.X, data.given_labels)
    chosen = probe.choice_.chosen
    assert chosen.method == "average"
    assert isinstance(chosen.recipe.parts[1], DiscriminantRecipe)
    assert chosen.recipe.parts[0].whiten
    alone = chosen.probe(**options)
    assert isinstance(alone, AveragedProbe)
    alone.fit(data.X, data.given_labels)
    expected = alone.decision_function(data.X_test)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        probe.decision_function(data.X_test), expected, rtol=0, atol=1e-3 * scale
    )


def test_an_average_predicts_what_the_mean_of_the_logits_does(monkeypatch):
    monkeypatch.setattr(shares_module, "MOST_ERRORS", 1e9)
    selection = decided(DATA)
    held_out = selection.search.splits[0].held_out.rows
    logits = 0
    for member, temperature in zip(
        selection.members, selection.chosen.recipe.temperatures, strict=True
    ):
        (fit,) = selection_module._fits(selection.search, member)
        assert temperature == member.calibration.temperature
        logits = logits + (np.asarray(held_out.X) @ fit.coef.T + fit.offset) / temperature
    np.testing.assert_array_equal(selection.chosen.predicted, logits.argmax(axis=1))


# The rule ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def search():
    return decided(problems.synthetic(noise_rate=0.4)).search


def rule(search, monkeypatch, *, plain, whitened, discriminant, average=700, sure=0.7):
    """Decide as if all of them agreed with so many of 1,000 labels, which are the first ones.

    They are surest of 200 rows, of whose labels they agree with the given share.
    """
    margin = np.zeros(1000)
    margin[: round(200 * sure)] = margin[1000 - round(200 * (1 - sure)) :] = 1
    alike = np.zeros(1000, int)

    def scored(member, n_agreed):
        agrees = (np.arange(1000) < n_agreed).astype(float)
        changes = {"agrees": agrees, "agreement": agrees.mean(), "margin": margin}
        changes["predicted"] = alike
        return type(member)(**(vars(member) | changes))

    members = {False: scored(search.best(whiten=False), plain)}
    members[True] = scored(search.best(whiten=True), whitened)
    third = scored(selection_module.discriminants_of(search)[0], discriminant)
    monkeypatch.setattr(search, "best", lambda whiten: members[whiten])
    likeliest = search.likeliest()
    monkeypatch.setattr(search, "likeliest", lambda: likeliest)
    monkeypatch.setattr(search, "weights", np.ones(1000))
    monkeypatch.setattr(selection_module, "discriminants_of", lambda _: [third])
    monkeypatch.setattr(selection_module, "_average", lambda *_: scored(third, average))
    selection: Selection = decide(search)
    names = {"plain": members[False], "whitened": members[True], "discriminant": third}
    names["likeliest"] = likeliest
    return [name for member in selection.members for name, it in names.items() if it is member]


@pytest.mark.parametrize(
    ("agreed", "expected"),
    [
        # A difference of n labels of 1,000 has a standard error of about √n.
        ((700, 700, 700), ["whitened", "discriminant"]),
        ((700, 700, 690), ["plain", "whitened"]),
        ((690, 700, 690), ["whitened"]),
        ((700, 690, 690), ["plain"]),
        ((690, 690, 700), ["whitened", "discriminant"]),
        ((697, 700, 600), ["plain", "whitened"]),
        ((700, 600, 697), ["whitened", "discriminant"]),
    ],
)
def test_what_is_averaged(search, monkeypatch, agreed, expected):
    plain, whitened, discriminant = agreed
    found = rule(search, monkeypatch, plain=plain, whitened=whitened, discriminant=discriminant)
    assert found == expected


@pytest.mark.parametrize(
    ("agreed", "expected"),
    [
        ((700, 700, 700), ["whitened", "likeliest", "discriminant"]),
        ((700, 700, 693), ["whitened", "likeliest", "discriminant"]),
        ((700, 700, 685), ["plain", "whitened"]),
        ((700, 690, 685), ["plain"]),
        ((690, 690, 700), ["whitened", "likeliest", "discriminant"]),
    ],
)
def test_what_is_averaged_where_labels_are_wrong_at_the_boundary(
    search, monkeypatch, agreed, expected
):
    plain, whitened, discriminant = agreed
    found = rule(
        search, monkeypatch, plain=plain, whitened=whitened, discriminant=discriminant, sure=0.9
    )
    assert found == expected


def test_the_likeliest_trial_is_that_of_the_largest_mean_likelihood(search):
    means = [
        np.average(trial.calibration.likelihood, weights=search.weights)
        for trial in search.trials.values()
    ]
    assert search.likeliest() is list(search.trials.values())[int(np.argmax(means))]


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("at_boundary", [False, True])
@pytest.mark.parametrize("share", [0.6, 0.75])
def test_shares_and_errors(search, monkeypatch, at_boundary, alike, share):
    discriminant = selection_module.discriminants_of(search)[0]
    monkeypatch.setattr(search, "n_features", 1 if share == 0.6 else 10**6)
    whitened = search.best(whiten=True)
    likeliest = whitened if alike else search.best(whiten=False)
    monkeypatch.setattr(search, "likeliest", lambda: likeliest)
    monkeypatch.setattr(shares_module, "is_behind", lambda *_, **__: False)
    monkeypatch.setattr(shares_module, "wrong_at_boundary", lambda *_: at_boundary)
    found = shares_module.choose_shares(search, [discriminant])
    if not at_boundary:
        expected, errors = {whitened: 0.5, discriminant: 0.5}, 2.0
    elif alike:
        expected, errors = {whitened: 1 - share, discriminant: share}, 3.0
    else:
        half = (1 - share) / 2
        expected, errors = {whitened: half, likeliest: half, discriminant: share}, 3.0
    assert found.of == pytest.approx(expected)
    assert found.errors == errors


@pytest.mark.parametrize(
    ("at_boundary", "behind", "expected"),
    [
        (True, (0, 0, 0, 0, 0), 0.1),  # the middle of all
        (True, (9, 9, 0, 0, 0), 0.3),  # of those that are not behind
        (True, (9, 9, 9, 9, 0), 0.6),
        (False, (0, 0, 0, 0, 0), 0.6),  # the largest
        (False, (0, 1, 1, 1, 1), 0.003),  # the best
    ],
)
def test_which_shrinkage_is_averaged(search, monkeypatch, at_boundary, behind, expected):
    """The middle one of those that agreement cannot tell apart, where it may be misled."""
    monkeypatch.setattr(shares_module, "wrong_at_boundary", lambda *_: at_boundary)
    top = search.best(whiten=True).agrees
    n_right = int(top.sum())
    made = {each.recipe.shrinkage: each for each in selection_module.discriminants_of(search)}
    discriminants = []
    for shrinkage, labels in zip(SHRINKAGES, behind, strict=True):
        each = made[shrinkage]
        agrees = np.zeros(len(top))
        agrees[: n_right - labels] = 1
        discriminants.append(replace(each, agrees=agrees, agreement=float(agrees.mean())))
    best = replace(search.best(whiten=True), agrees=discriminants[-1].agrees)
    monkeypatch.setattr(search, "best", lambda **_: best)
    shares = shares_module.choose_shares(search, discriminants).of
    (found,) = [each for each in shares if each in discriminants]
    assert found.recipe.shrinkage == expected


def test_an_average_may_be_as_far_behind_as_its_shares_say(search, monkeypatch):
    agreed = {"plain": 700, "whitened": 700, "discriminant": 700}
    # Seven labels are 2.6 standard errors.
    with monkeypatch.context() as patched:
        assert "discriminant" in rule(search, patched, **agreed, average=693, sure=0.9)
    assert rule(search, monkeypatch, **agreed, average=693) == ["whitened"]


def test_a_discriminant_that_is_ahead_of_the_average_is_taken_alone(search, monkeypatch):
    agreed = {"plain": 690, "whitened": 690, "discriminant": 700}
    assert rule(search, monkeypatch, **agreed, average=693, sure=0.9) == ["discriminant"]


def test_rows_without_weight_do_not_count_for_the_share(search, monkeypatch):
    monkeypatch.setattr(shares_module, "wrong_at_boundary", lambda *_: True)
    monkeypatch.setattr(shares_module, "is_behind", lambda *_, **__: False)
    discriminants = selection_module.discriminants_of(search)
    rows = search.coordinates.rows
    monkeypatch.setattr(search, "n_features", rows.n_samples / MANY_ROWS)
    for total, expected in ((rows.n_samples, 0.6), (rows.n_samples - 1, 0.75)):
        monkeypatch.setattr(rows, "total_weight", float(total))
        shares = shares_module.choose_shares(search, discriminants).of
        assert max(shares.values()) == expected


def test_shares_are_those_of_the_average(search):
    discriminant = selection_module.discriminants_of(search)[0]
    shares = {search.best(whiten=True): 0.1, search.best(whiten=False): 0.3, discriminant: 0.6}
    average = selection_module._average(search, shares)
    held_out = search.splits[0].held_out.rows
    logits = 0
    for member, share in shares.items():
        (fit,) = selection_module._fits(search, member)
        said = np.asarray(held_out.X) @ fit.coef.T + fit.offset
        logits = logits + share * said / member.calibration.temperature
    np.testing.assert_array_equal(average.predicted, logits.argmax(axis=1))


def test_an_average_that_is_worse_than_its_best_is_not_taken(search, monkeypatch):
    agreed = {"plain": 600, "whitened": 600, "discriminant": 700}
    with monkeypatch.context() as patched:
        assert rule(search, patched, **agreed, average=690) == ["discriminant"]
    assert rule(search, monkeypatch, **agreed, average=699) == ["whitened", "discriminant"]


def test_what_learns_nothing_is_not_averaged():
    # One feature varies 1,000 times as much as the one that tells the classes apart.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 6)) * [1000, 1, 1, 1, 1, 1]
    labels = (rows[:, 1] > 0).astype(int)
    probe = AutoProbe(n_jobs=1).fit(rows[:200], labels[:200])
    assert probe.score(rows[200:], labels[200:]) > 0.9
