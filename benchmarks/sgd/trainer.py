"""Stochastic gradient descent as the paper has it, on one linear layer without bias.

With logits z = W x and outputs p = softmax(z), a step follows the mean over a batch of

    teacher and students   -Σ_k t_k log p_k,         t: the given label, or the last outputs
    two-hot student        Σ_k ½ (1 - p_k^q) / q,    k: the teacher's two top labels

and torch's weight decay adds l2·W to its gradient: the objective is that of the exact trainer,
mean loss + ½·l2·‖W‖². Batches of 128, momentum .9, the rate × .98 after each epoch.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from twohot.base import FloatArray, load_extra
from twohot_paper.data_set import DataSet, read_data_set
from twohot_paper.probe_run import (
    ROUNDS,
    STUDENTS,
    TEACHER,
    TWO_HOT,
    FittedModel,
    NoisyLabels,
    ProbeRun,
    assess,
    draw_labels,
    hold_out_fifth,
)

Tensor: TypeAlias = Any  # torch is imported where it is used
BatchLoss: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # of logits and targets

BATCH_SIZE = 128
MOMENTUM = 0.9
RATE_DECAY = 0.98  # of the rate, after each epoch
GCE_POWER = 0.7


@dataclass(frozen=True)
class SgdSettings:
    """What one fit differs in from another, beside its rows, targets and start."""

    rate: float  # of the first epoch
    l2: float
    n_epochs: int
    seed: int  # of the orders of the rows


def descend(
    X: Tensor,
    targets: Tensor,
    loss: BatchLoss,
    start: Tensor,
    settings: SgdSettings,
    *,
    after_epoch: Callable[[Tensor], None] = lambda _: None,
) -> tuple[Tensor, float]:
    """Return the weights after the last epoch, and the CPU seconds of the epochs.

    Parameters
    ----------
    X : tensor of shape (n_rows, n_features)
    targets : tensor of shape (n_rows, …)
        What the loss takes: labels, outputs or candidates.
    loss : callable
        Of the logits and the targets of a batch.
    start : tensor of shape (n_classes, n_features)
        Weights to start from.
    settings : SgdSettings
        Fits of one seed see the rows in the same orders: they differ in their targets alone.
    after_epoch : callable
        Called with the weights; its time does not count.
    """
    torch = load_torch()
    weights = start.clone().requires_grad_()
    optimiser = torch.optim.SGD(
        [weights], lr=settings.rate, momentum=MOMENTUM, weight_decay=settings.l2
    )
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, RATE_DECAY)
    orders = torch.Generator().manual_seed(settings.seed)
    cpu_seconds = 0.0
    for _ in range(settings.n_epochs):
        started = time.process_time()
        for batch in torch.randperm(len(X), generator=orders).split(BATCH_SIZE):
            optimiser.zero_grad()
            loss(X[batch] @ weights.T, targets[batch]).backward()
            optimiser.step()
        schedule.step()
        cpu_seconds += time.process_time() - started
        after_epoch(weights.detach())
    return weights.detach(), cpu_seconds


def initial_weights(shape: tuple[int, int], seed: int) -> Tensor:
    """Return what `torch.nn.Linear` starts with, without touching torch's own generator."""
    torch = load_torch()
    bound = shape[1] ** -0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=torch.Generator().manual_seed(seed))


def label_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return cross-entropy of labels (n_rows,) or of outputs (n_rows, n_classes)."""
    return load_torch().nn.functional.cross_entropy(logits, targets)


def candidate_loss(logits: Tensor, candidates: Tensor) -> Tensor:
    """Return generalised cross-entropy, averaged over the candidates (n_rows, 2) of each row.

    p^q is exp(q log p): its gradient is finite where p underflows.
    """
    at_candidates = logits.log_softmax(dim=1).gather(1, candidates)
    return (1 - (GCE_POWER * at_candidates).exp()).mean() / GCE_POWER


def gradient_norm(X: Tensor, targets: Tensor, loss: BatchLoss, weights: Tensor, l2: float) -> float:
    """Return the norm of the gradient over all rows, relative to the one at zero weights."""
    norms = []
    for place in (weights, 0 * weights):
        point = place.clone().requires_grad_()
        loss(X @ point.T, targets).backward()
        norms.append(float((point.grad + l2 * point.detach()).norm()))
    return norms[0] / norms[1]


def as_tensor(values: Any, dtype: type) -> Tensor:
    """Return an array as a tensor."""
    return load_torch().from_numpy(np.ascontiguousarray(values, dtype=dtype))


def load_torch() -> Any:
    """Return torch, or say how to install it."""
    return load_extra("torch", "sgd", "SGD runs")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch work on one thread: the same sums everywhere, and CPU seconds that compare."""
    torch = load_torch()
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


# The paper's models by the paper's own recipe: SGD on raw features, 200 epochs --------------------
# The rate is chosen once for each draw of labels, by the teacher: the rate whose teacher agrees
# best, after its last epoch, with a fifth of the given (noisy) labels that it was not trained on.
# All models are then trained on all rows at that rate, and the last epoch counts.
#
# The paper let the test set choose: its numbers are those of the best epoch on the test set, and
# the teacher handed on is the best one too. That is recorded beside it as `paper_way`, at the same
# rate.


# The paper's grid of rates, its epochs and its candidates.
RATES = (0.1, 0.05, 0.01, 0.005, 0.001)
N_EPOCHS = 200
N_CANDIDATES = 2

DIGITS = 6  # of the accuracies of a curve


@dataclass(frozen=True)
class SgdRun:
    """What a run is known by."""

    data: str  # key of the data set
    corruption: str
    noise_rate: float
    seed: int  # of the labels, the weights at the start and the orders of the rows
    l2: float
    n_epochs: int = N_EPOCHS
    rates: tuple[float, ...] = RATES

    @property
    def exact(self) -> ProbeRun:
        """The run that solves the same models, on the same labels, exactly."""
        return ProbeRun(
            self.data, self.corruption, self.noise_rate, self.seed, self.l2, family="paper"
        )

    def at(self, rate: float) -> SgdSettings:
        """Return the settings of a fit."""
        return SgdSettings(rate, self.l2, self.n_epochs, self.seed)


@dataclass(frozen=True)
class PaperPick:
    """A model as the paper picks it: the epoch that is best on the test set."""

    epoch: int  # from 1; the first of the best
    test_accuracy: float
    test_curve: tuple[float, ...]  # after each epoch


@dataclass(frozen=True)
class SgdResult:
    """What a run records."""

    rate: float  # chosen
    agreement: dict[str, float]  # with held-out given labels, by rate
    grid_seconds: float  # CPU of the fits among which the rate was chosen
    grid_epochs: float  # of them all, in passes over all rows
    models: dict[str, FittedModel]  # after the last epoch; a pass is an epoch
    test_curves: dict[str, tuple[float, ...]]  # after each epoch
    paper_way: dict[str, PaperPick]  # learnt from models that were picked on the test set too
    noise_rate: float  # realised


@dataclass(frozen=True, eq=False)
class SgdFit:
    """Weights (n_classes, n_features), and how they came about."""

    last: Tensor
    best: Tensor  # after the epoch that is best on the test set
    test_curve: tuple[float, ...]
    gradient_norm: float  # of the last, relative to the one at zero
    cpu_seconds: float  # of the epochs alone

    def pick(self) -> PaperPick:
        """Return the epoch that is best on the test set."""
        best = max(self.test_curve)
        return PaperPick(self.test_curve.index(best) + 1, best, self.test_curve)


@dataclass(frozen=True, eq=False)
class SgdTrainer:
    """What all fits of a run share, once the rate is chosen."""

    settings: SgdSettings
    X: Tensor  # (n_samples, n_features), float32
    X_test: Tensor
    test_labels: Tensor
    start: Tensor  # weights of the teacher and of the students on outputs, before their first step

    def fit(self, targets: Tensor, loss: BatchLoss, start: Tensor) -> SgdFit:
        """Train one model, with a look at the test set after each epoch."""
        curve: list[float] = []
        best = start

        def look(weights: Tensor) -> None:
            nonlocal best
            right = (self.X_test @ weights.T).argmax(dim=1) == self.test_labels
            curve.append(round(float(right.double().mean()), DIGITS))
            if curve[-1] > max(curve[:-1], default=-1.0):
                best = weights.clone()

        last, cpu_seconds = descend(self.X, targets, loss, start, self.settings, after_epoch=look)
        norm = gradient_norm(self.X, targets, loss, last, self.settings.l2)
        return SgdFit(last, best, tuple(curve), norm, cpu_seconds)

    def students(self, teacher: SgdFit, pick: Callable[[SgdFit], Tensor]) -> dict[str, SgdFit]:
        """Train what learns from the teacher; `pick` says which weights are handed on."""
        fits: dict[str, SgdFit] = {}
        before = teacher
        for name in STUDENTS:
            before = fits[name] = self.fit(self.outputs(pick(before)), label_loss, self.start)
        candidates = self.outputs(pick(teacher)).topk(N_CANDIDATES, dim=1).indices
        fits[TWO_HOT] = self.fit(candidates, candidate_loss, pick(teacher))
        return fits

    def outputs(self, weights: Tensor) -> Tensor:
        """Return probabilities of the training rows."""
        return (self.X @ weights.T).softmax(dim=1)

    def assess_last(self, labels: NoisyLabels, fits: dict[str, SgdFit]) -> dict[str, FittedModel]:
        """Return what the models are worth after their last epoch."""
        outputs = {name: self.outputs(fit.last).numpy() for name, fit in fits.items()}
        return {
            name: assess(
                labels,
                outputs[name],
                (self.X_test @ fit.last.T).softmax(dim=1).numpy(),
                _before(name, outputs),
                l2=self.settings.l2,
                n_passes=float(self.settings.n_epochs),
                cpu_seconds=fit.cpu_seconds,
                gradient_norm=fit.gradient_norm,
                converged=None,
            )
            for name, fit in fits.items()
        }


def measure_sgd(run: SgdRun, paths: Mapping[str, str]) -> SgdResult:
    """Choose the rate, train the models of a run and judge them.

    Parameters
    ----------
    run : SgdRun
    paths : mapping
        Where the data sets are, by their keys.
    """
    with one_thread():
        data = _data_set(paths[run.data])
        labels = draw_labels(data, run.exact)
        X, X_test = (as_tensor(rows, np.float32) for rows in (data.X, data.X_test))
        given, test_labels = (as_tensor(codes, np.int64) for codes in (labels.given, labels.test))
        start = initial_weights((data.n_classes, X.shape[1]), run.seed)
        agreement, grid_epochs, grid_seconds = agreement_by_rate(X, given, start, run)
        rate = max(agreement, key=agreement.__getitem__)
        trainer = SgdTrainer(run.at(rate), X, X_test, test_labels, start)
        teacher = trainer.fit(given, label_loss, start)
        fits = {TEACHER: teacher, **trainer.students(teacher, attrgetter("last"))}
        picked = {TEACHER: teacher, **trainer.students(teacher, attrgetter("best"))}
        return SgdResult(
            rate=rate,
            agreement={f"{each:g}": value for each, value in agreement.items()},
            grid_seconds=grid_seconds,
            grid_epochs=grid_epochs,
            models=trainer.assess_last(labels, fits),
            test_curves={name: fit.test_curve for name, fit in fits.items()},
            paper_way={name: fit.pick() for name, fit in picked.items()},
            noise_rate=float(labels.noisy.mean()),
        )


def agreement_by_rate(
    X: Tensor, given: Tensor, start: Tensor, run: SgdRun
) -> tuple[dict[float, float], float, float]:
    """Return the agreement of each rate's teacher with given labels that it was not trained on.

    Neither true labels nor test rows come in. The epochs, in passes over all rows, and their CPU
    seconds are returned too.
    """
    fitted_on, held_out = hold_out_fifth(given.numpy(), run.seed)
    part, held_rows, held_labels = X[fitted_on], X[held_out], given[held_out]
    agreement, cpu_seconds = {}, 0.0
    for rate in run.rates:
        weights, seconds = descend(part, given[fitted_on], label_loss, start, run.at(rate))
        agrees = (held_rows @ weights.T).argmax(dim=1) == held_labels
        agreement[rate] = float(agrees.double().mean())
        cpu_seconds += seconds
    return agreement, len(run.rates) * run.n_epochs * len(part) / len(X), cpu_seconds


def _before(name: str, outputs: dict[str, FloatArray]) -> FloatArray | None:
    """Return the outputs of the model that this one learnt from."""
    if name == TEACHER:
        return None
    return outputs[TEACHER if name == TWO_HOT else ROUNDS[ROUNDS.index(name) - 1]]


@lru_cache(maxsize=1)
def _data_set(path: str) -> DataSet:
    return read_data_set(path)
