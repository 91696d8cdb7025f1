"""SGD follows the paper's recipe; its rate is chosen without true labels and without test rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax

from benchmarks.sgd import trainer as sgd_trainer
from benchmarks.sgd.trainer import (
    BATCH_SIZE,
    SgdResult,
    SgdRun,
    SgdTrainer,
    agreement_by_rate,
    candidate_loss,
    descend,
    initial_weights,
    label_loss,
    measure_sgd,
    one_thread,
)
from twohot import DistilledProbe
from twohot_paper.probe_run import draw_labels
from twohot_paper.runs import as_json, from_json

N_CLASSES, N_FEATURES = 4, 6
RUN = SgdRun("blobs", "symmetric", 0.3, seed=0, l2=0.02, n_epochs=6)
NAMES = ["round 1", "round 2", "round 3", "round 4", "round 5", "two-hot"]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    with one_thread():
        yield


def blobs(n_rows, seed=0):
    """Return rows around the means of their classes, in float32, and the classes."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(N_CLASSES, N_FEATURES))
    labels = np.arange(n_rows) % N_CLASSES
    return (means[labels] + rng.normal(size=(n_rows, N_FEATURES))).astype(np.float32), labels


def write_blobs(path, test_labels=None):
    (X, y), (X_test, y_test) = blobs(200), blobs(80, seed=1)
    y_test = y_test if test_labels is None else test_labels
    np.savez(path, X_train=X, y_train=y, X_test=X_test, y_test=y_test)
    return {"blobs": str(path)}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz")


@pytest.fixture(scope="module")
def result(paths):
    return measure_sgd(RUN, paths)


def test_two_steps_are_those_of_momentum_weight_decay_and_a_falling_rate():
    # All rows fit into one batch, so that an epoch is a step and their order is of no account.
    X, labels = blobs(40)
    start = initial_weights((N_CLASSES, N_FEATURES), seed=3)
    seen = []
    run = replace(RUN, n_epochs=2)
    end, _ = descend(
        torch.from_numpy(X),
        torch.from_numpy(labels),
        label_loss,
        start,
        run.at(0.05),
        after_epoch=lambda weights: seen.append(weights.numpy().copy()),
    )

    def direction(W):
        return (softmax(X @ W.T, axis=1) - np.eye(N_CLASSES)[labels]).T @ X / len(X) + run.l2 * W

    before = start.numpy().astype(np.float64)
    first = direction(before)
    after_one = before - 0.05 * first
    after_two = after_one - 0.05 * 0.98 * (0.9 * first + direction(after_one))
    np.testing.assert_allclose(seen[0], after_one, atol=1e-6)
    np.testing.assert_allclose(seen[1], after_two, atol=1e-6)
    np.testing.assert_array_equal(end, seen[1])


@pytest.mark.parametrize(
    ("n_rows", "atol"),
    [(BATCH_SIZE, 2e-4), (2 * BATCH_SIZE, 1e-2)],
    ids=["one batch", "the order of the rows leaves a trace"],
)
def test_many_epochs_end_at_the_exact_optimum_on_labels_and_on_outputs(n_rows, atol):
    # The rates sum to .3 / .02. With momentum that is enough to forget the start at this penalty.
    X, labels = blobs(n_rows)
    run = replace(RUN, n_epochs=400, l2=0.05)
    exact = DistilledProbe(
        center=False, normalize=False, fit_intercept=False, l2=run.l2, n_rounds=2, tol=1e-6
    ).fit(X, labels)
    rows, targets = torch.from_numpy(X), torch.from_numpy(labels)
    for wanted in exact.rounds_:
        start = initial_weights((N_CLASSES, N_FEATURES), seed=0)
        end, _ = descend(rows, targets, label_loss, start, run.at(0.3))
        np.testing.assert_allclose(end, wanted.coef, atol=atol)
        targets = (rows @ end.T).softmax(dim=1)


def test_candidate_loss_and_its_gradient_are_generalised_cross_entropy_of_two_halves():
    rng = np.random.default_rng(2)
    logits = 2 * rng.normal(size=(5, N_CLASSES))
    candidates = np.array([[0, 1], [3, 2], [1, 3], [2, 0], [1, 0]])
    halves = np.zeros_like(logits)
    np.put_along_axis(halves, candidates, 0.5, axis=1)
    p = softmax(logits, axis=1)
    variable = torch.tensor(logits, requires_grad=True)
    loss = candidate_loss(variable, torch.from_numpy(candidates))
    loss.backward()
    expected = (halves * (1 - p**0.7) / 0.7).sum(axis=1).mean()
    agreement = (halves * p**0.7).sum(axis=1, keepdims=True)
    assert loss.item() == pytest.approx(expected)
    np.testing.assert_allclose(variable.grad, (agreement * p - halves * p**0.7) / 5, atol=1e-12)


def test_a_run_is_the_same_when_repeated_whatever_the_threads(paths, result):
    torch.set_num_threads(2)
    again = measure_sgd(RUN, paths)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    assert without_times(again) == without_times(result)
    other = measure_sgd(replace(RUN, seed=1), paths)
    assert without_times(other) != without_times(result)


def without_times(result):
    models = {name: replace(model, cpu_seconds=0) for name, model in result.models.items()}
    return replace(result, grid_seconds=0, models=models)


def test_the_record_has_every_model_and_json_holds_it(result):
    assert list(result.models) == list(result.test_curves) == list(result.paper_way) == NAMES
    assert from_json(SgdResult, as_json(result)) == result
    assert {model.n_passes for model in result.models.values()} == {6.0}
    assert result.grid_epochs == pytest.approx(5 * 6 * 0.8)
    for name, model in result.models.items():
        assert len(result.test_curves[name]) == 6
        assert result.test_curves[name][-1] == pytest.approx(model.test_accuracy, abs=1e-6)


def test_the_test_set_chooses_nothing_but_the_papers_way(tmp_path, result):
    shuffled = np.random.default_rng(5).permutation(80) % N_CLASSES
    other = measure_sgd(RUN, write_blobs(tmp_path / "shuffled.npz", shuffled))
    assert (other.rate, other.agreement) == (result.rate, result.agreement)
    for name in NAMES:
        ours, theirs = (
            replace(each.models[name], cpu_seconds=0, test_accuracy=0) for each in (result, other)
        )
        assert ours == theirs
    assert other.paper_way != result.paper_way


def test_agreement_is_that_of_labels_which_the_teacher_did_not_see():
    # More features than rows: labels without a pattern are learnt by heart, and tell nothing of
    # those that were held out.
    rng = np.random.default_rng(4)
    X = torch.from_numpy(rng.normal(size=(100, 300)).astype(np.float32))
    given = torch.from_numpy(rng.integers(0, N_CLASSES, 100))
    start = initial_weights((N_CLASSES, 300), 0)
    run = replace(RUN, rates=(0.1, 0.05))
    by_heart, _ = descend(X, given, label_loss, start, run.at(0.1))
    assert ((X @ by_heart.T).argmax(dim=1) == given).all()
    agreement, n_epochs, _ = agreement_by_rate(X, given, start, run)
    assert list(agreement) == [0.1, 0.05]
    assert max(agreement.values()) < 0.8  # of 20 rows, a quarter by chance
    assert n_epochs == pytest.approx(2 * run.n_epochs * 0.8)


@pytest.fixture(scope="module")
def trainer(paths, result):
    data = sgd_trainer._data_set(paths["blobs"])
    X, X_test, labels = map(torch.from_numpy, (data.X, data.X_test, data.test_labels))
    start = initial_weights((N_CLASSES, N_FEATURES), RUN.seed)
    return SgdTrainer(RUN.at(result.rate), X, X_test, labels, start)


@pytest.fixture(scope="module")
def teacher(paths, trainer):
    given = draw_labels(sgd_trainer._data_set(paths["blobs"]), RUN.exact).given
    return trainer.fit(torch.from_numpy(given), label_loss, trainer.start)


@pytest.mark.parametrize("rate", [0.05, 1e-5], ids=["one best epoch", "epochs that tie"])
def test_best_weights_are_those_after_the_first_best_epoch(paths, trainer, rate):
    given = torch.from_numpy(draw_labels(sgd_trainer._data_set(paths["blobs"]), RUN.exact).given)
    settings = RUN.at(rate)
    fit = replace(trainer, settings=settings).fit(given, label_loss, trainer.start)
    assert (len(set(fit.test_curve)) == 1) == (rate == 1e-5)
    shorter = replace(settings, n_epochs=fit.pick().epoch)
    stopped, _ = descend(trainer.X, given, label_loss, trainer.start, shorter)
    assert torch.equal(fit.best, stopped)


def test_a_run_hands_on_the_last_epoch_and_the_papers_way_the_best(result, trainer, teacher):
    assert teacher.pick().epoch < RUN.n_epochs  # or else there is nothing to tell apart
    for curves, pick in (
        (result.test_curves, lambda fit: fit.last),
        ({k: v.test_curve for k, v in result.paper_way.items()}, lambda fit: fit.best),
    ):
        fits = {"round 1": teacher, **trainer.students(teacher, pick)}
        assert curves == {name: fit.test_curve for name, fit in fits.items()}
