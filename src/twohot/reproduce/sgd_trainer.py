"""The paper's models by the paper's own recipe: stochastic gradient descent on raw features.

With logits z = W x (no bias) and outputs p = softmax(z), a step follows the mean over a batch of

    teacher and students   -Σ_k t_k log p_k,                   t: given label, or last outputs
    two-hot student        Σ_k ½ (1 - p_k^q) / q,              k: the teacher's two top labels

and torch's weight decay adds l2·W to its gradient: the objective is that of the exact trainer,
mean loss + ½·l2·‖W‖². Batches of 128, momentum .9, 200 epochs, the rate × .98 after each.

The rate is chosen once for each draw of labels, by the teacher: the rate whose teacher agrees best,
after its last epoch, with a fifth of the given (noisy) labels that it was not trained on. All
models are then trained on all rows at that rate, and the last epoch counts.

The paper let the test set choose: its numbers are those of the best epoch on the test set, and the
teacher handed on is the best one too. That is recorded beside it as `paper_way`, at the same rate.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from twohot._extras import load_extra
from twohot._types import FloatArray
from twohot.reproduce.data_set import DataSet, read_data_set
from twohot.reproduce.exact_trainer import N_ROUNDS, TWO_HOT
from twohot.reproduce.maker import RunKind, register_runs
from twohot.reproduce.probe_run import FittedModel, NoisyLabels, ProbeRun, draw_labels, judge
from twohot.select.splits import N_FOLDS, choose_splits

Tensor: TypeAlias = Any  # torch is imported where it is used
BatchLoss: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # of logits and targets

# The paper's recipe, and the facts of its code.
BATCH_SIZE = 128
MOMENTUM = 0.9
RATE_DECAY = 0.98  # of the rate, after each epoch
RATES = (0.1, 0.05, 0.01, 0.005, 0.001)
N_EPOCHS = 200
GCE_POWER = 0.7
N_CANDIDATES = 2

DIGITS = 6  # of the accuracies of a curve


@dataclass(frozen=True)
class SgdRun:
    """What a run is known by."""

    data: str  # key of the data set
    corruption: str
    noise_rate: float
    seed: int  # of the labels, the weights at the start and the order of the rows
    l2: float
    n_epochs: int = N_EPOCHS
    rates: tuple[float, ...] = RATES

    @property
    def exact(self) -> ProbeRun:
        """The run that solves the same models, on the same labels, exactly."""
        return ProbeRun(
            self.data, self.corruption, self.noise_rate, self.seed, self.l2, family="paper"
        )


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
    grid_epochs: float  # of them all, in passes over the rows
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
    """What all fits of a run share."""

    run: SgdRun
    rate: float
    X: Tensor  # (n_samples, n_features), float32
    X_test: Tensor
    test_labels: Tensor

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

        last, cpu_seconds = descend(
            self.X, targets, loss, start, rate=self.rate, run=self.run, after_epoch=look
        )
        norms = [self._gradient_norm(targets, loss, each) for each in (last, 0 * last)]
        return SgdFit(last, best, tuple(curve), norms[0] / norms[1], cpu_seconds)

    def students(self, teacher: SgdFit, pick: Callable[[SgdFit], Tensor]) -> dict[str, SgdFit]:
        """Train what learns from the teacher; `pick` says which weights are handed on."""
        fits: dict[str, SgdFit] = {}
        start = initial_weights(teacher.last.shape, self.run.seed)
        before = teacher
        for number in range(2, N_ROUNDS + 1):
            targets = self.outputs(pick(before))
            before = fits[f"round {number}"] = self.fit(targets, _cross_entropy, start)
        candidates = self.outputs(pick(teacher)).topk(N_CANDIDATES, dim=1).indices
        fits[TWO_HOT] = self.fit(candidates, candidate_loss, pick(teacher))
        return fits

    def outputs(self, weights: Tensor) -> Tensor:
        """Return probabilities of the training rows."""
        return (self.X @ weights.T).softmax(dim=1)

    def test_outputs(self, weights: Tensor) -> Tensor:
        """Return probabilities of the test rows."""
        return (self.X_test @ weights.T).softmax(dim=1)

    def _gradient_norm(self, targets: Tensor, loss: BatchLoss, weights: Tensor) -> float:
        weights = weights.clone().requires_grad_()
        loss(self.X @ weights.T, targets).backward()
        return float((weights.grad + self.run.l2 * weights.detach()).norm())


def measure_sgd(run: SgdRun, paths: Mapping[str, str]) -> SgdResult:
    """Choose the rate, train the models of a run and judge them.

    Parameters
    ----------
    run : SgdRun
    paths : mapping
        Where the data sets are, by their keys.
    """
    with _one_thread():
        data = _data_set(paths[run.data])
        labels = draw_labels(data, run.exact)
        X, X_test = _tensor(data.X, np.float32), _tensor(data.X_test, np.float32)
        given = _tensor(labels.given, np.int64)
        agreement, grid_epochs, grid_seconds = _agreements(X, labels, data.n_classes, run)
        rate = max(agreement, key=agreement.__getitem__)
        trainer = SgdTrainer(run, rate, X, X_test, _tensor(labels.test, np.int64))
        start = initial_weights((data.n_classes, X.shape[1]), run.seed)
        teacher = {"round 1": trainer.fit(given, _cross_entropy, start)}
        fits = teacher | trainer.students(teacher["round 1"], attrgetter("last"))
        picked = teacher | trainer.students(teacher["round 1"], attrgetter("best"))
        return SgdResult(
            rate=rate,
            agreement={f"{each:g}": value for each, value in agreement.items()},
            grid_seconds=grid_seconds,
            grid_epochs=grid_epochs,
            models=_judged(trainer, labels, fits),
            test_curves={name: fit.test_curve for name, fit in fits.items()},
            paper_way={name: fit.pick() for name, fit in picked.items()},
            noise_rate=float(labels.noisy.mean()),
        )


register_runs(RunKind(SgdRun, SgdResult, measure_sgd))


def descend(
    X: Tensor,
    targets: Tensor,
    loss: BatchLoss,
    start: Tensor,
    *,
    rate: float,
    run: SgdRun,
    after_epoch: Callable[[Tensor], None] = lambda _: None,
) -> tuple[Tensor, float]:
    """Return the weights after the last epoch, and the CPU seconds of the epochs.

    All fits of a run see the rows in the same orders, so that they differ in their targets alone.
    """
    torch = _torch()
    weights = start.clone().requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=rate, momentum=MOMENTUM, weight_decay=run.l2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, RATE_DECAY)
    orders = torch.Generator().manual_seed(run.seed)
    cpu_seconds = 0.0
    for _ in range(run.n_epochs):
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
    torch = _torch()
    bound = shape[1] ** -0.5
    return torch.empty(shape).uniform_(-bound, bound, generator=torch.Generator().manual_seed(seed))


def candidate_loss(logits: Tensor, candidates: Tensor) -> Tensor:
    """Return generalised cross-entropy, averaged over the candidates (n_rows, 2) of each row.

    p^q is exp(q log p): its gradient is finite where p underflows.
    """
    at_candidates = logits.log_softmax(dim=1).gather(1, candidates)
    return (1 - (GCE_POWER * at_candidates).exp()).mean() / GCE_POWER


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return cross-entropy of labels (n_rows,) or of outputs (n_rows, n_classes)."""
    return _torch().nn.functional.cross_entropy(logits, targets)


def _agreements(
    X: Tensor, labels: NoisyLabels, n_classes: int, run: SgdRun
) -> tuple[dict[float, float], float, float]:
    """Return the agreement of each rate's teacher with held-out given labels, and the cost."""
    fitted_on, held_out = choose_splits(N_FOLDS, labels.given, None, run.seed)[0]
    given = _tensor(labels.given, np.int64)
    start = initial_weights((n_classes, X.shape[1]), run.seed)
    agreement, cpu_seconds = {}, 0.0
    part, held_rows, held_labels = X[fitted_on], X[held_out], given[held_out]
    for rate in run.rates:
        weights, seconds = descend(
            part, given[fitted_on], _cross_entropy, start, rate=rate, run=run
        )
        agrees = (held_rows @ weights.T).argmax(dim=1) == held_labels
        agreement[rate] = float(agrees.double().mean())
        cpu_seconds += seconds
    return agreement, len(run.rates) * run.n_epochs * len(part) / len(X), cpu_seconds


def _judged(
    trainer: SgdTrainer, labels: NoisyLabels, fits: dict[str, SgdFit]
) -> dict[str, FittedModel]:
    outputs = {name: trainer.outputs(fit.last).numpy() for name, fit in fits.items()}
    models = {}
    for name, fit in fits.items():
        models[name] = judge(
            labels,
            outputs[name],
            trainer.test_outputs(fit.last).numpy(),
            _before(name, outputs),
            l2=trainer.run.l2,
            n_passes=float(trainer.run.n_epochs),
            cpu_seconds=fit.cpu_seconds,
            gradient_norm=fit.gradient_norm,
            converged=None,
        )
    return models


def _before(name: str, outputs: dict[str, FloatArray]) -> FloatArray | None:
    """Return the outputs of the model that this one learnt from."""
    if name == TWO_HOT:
        return outputs["round 1"]
    return outputs.get(f"round {int(name.removeprefix('round ')) - 1}")


@lru_cache(maxsize=1)
def _data_set(path: str) -> DataSet:
    return read_data_set(path)


def _tensor(values: Any, dtype: type) -> Tensor:
    return _torch().from_numpy(np.ascontiguousarray(values, dtype=dtype))


def _torch() -> Any:
    return load_extra("torch", "sgd", "SGD runs")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch work on one thread: the same sums everywhere, and CPU seconds that compare."""
    torch = _torch()
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
