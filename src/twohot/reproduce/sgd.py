"""Stochastic gradient descent as the paper has it, on one linear layer without bias.

With logits z = W x and outputs p = softmax(z), a step follows the mean over a batch of

    teacher and students   -Σ_k t_k log p_k,         t: the given label, or the last outputs
    two-hot student        Σ_k ½ (1 - p_k^q) / q,    k: the teacher's two top labels

and torch's weight decay adds l2·W to its gradient: the objective is that of the exact trainer,
mean loss + ½·l2·‖W‖². Batches of 128, momentum .9, the rate × .98 after each epoch.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from twohot._extras import load_extra

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
