"""The slow plain twin of the solver: whole arrays, float64, straight from the formulas.

Nothing here is imported from the package. Rows of `X` are prepared features, `T` are targets with
rows that sum to one, `v` row weights (any scale), `W` coefficients (K, d), `b` an intercept (K,).
"""

import numpy as np
import scipy.optimize as so
from scipy.special import log_softmax


def prepare(X, *, center=True, normalize=True, v=None):
    """Centre rows by their weighted mean and scale them to unit norm; a zero row stays zero."""
    X = np.asarray(X, dtype=np.float64)
    if center:
        X = X - np.average(X, axis=0, weights=v)
    if normalize:
        norms = np.linalg.norm(X, axis=1)
        X = np.array([x / norm if norm > 0 else x for x, norm in zip(X, norms, strict=True)])
    return X


def half_whitening(X, *, v=None, n_axes=512):
    """Return the matrix (d, m) that prepared rows are half-whitened by: X times it are the rows.

    Along the right singular vectors, each times (variance + a tenth of the mean variance)^(-1/4).
    """
    v = np.ones(len(X)) if v is None else np.asarray(v, dtype=np.float64)
    _, singular, axes = np.linalg.svd(np.sqrt(v / v.sum())[:, None] * X, full_matrices=False)
    kept = np.flatnonzero(singular > 1e-6 * singular[0])[:n_axes]
    variances = singular[kept] ** 2
    return axes[kept].T * (variances + 0.1 * variances.mean()) ** -0.25


def one_hot(labels, n_classes=None):
    return np.eye(n_classes or int(np.max(labels)) + 1)[labels]


def outputs(X, W, b=0.0):
    return np.exp(log_softmax(X @ np.transpose(W) + b, axis=1))


def value(X, T, W, l2, *, b=0.0, v=None, loss="ce", power=0.7):
    """Return the objective, each row's loss written out over the classes."""
    log_p = log_softmax(X @ W.T + b, axis=1)
    credit = -log_p if loss == "ce" else (1 - np.exp(power * log_p)) / power
    return np.average(np.sum(T * credit, axis=1), weights=v) + l2 / 2 * np.sum(W**2)


def gradient(X, T, W, l2, *, b=0.0, v=None, loss="ce", power=0.7):
    """Return the gradient with respect to (W, b), side by side (K, d + 1).

    From the Jacobian of the softmax itself: dp_k/dz_j = p_k (δ_jk - p_j).
    """
    p = outputs(X, W, b)
    d_loss = -T / p if loss == "ce" else -T * p ** (power - 1)  # dℓ/dp
    inner = np.sum(d_loss * p, axis=1, keepdims=True)
    d_logits = p * (d_loss - inner)
    v = np.ones(len(X)) if v is None else np.asarray(v, dtype=np.float64)
    d_logits = d_logits * (v / v.sum())[:, None]
    return np.hstack([d_logits.T @ X + l2 * W, d_logits.sum(axis=0)[:, None]])


def relative_gradient(X, T, W, l2, *, b=None, **options):
    """Return ‖gradient‖ / ‖gradient at zero‖: how far from an optimum W (and b, if given) is."""
    parts = slice(None) if b is not None else slice(-1)
    here = gradient(X, T, W, l2, b=0.0 if b is None else b, **options)[:, parts]
    zero = gradient(X, T, np.zeros_like(W), l2, **options)[:, parts]
    return np.linalg.norm(here) / np.linalg.norm(zero)


def minimize(X, T, l2, *, start=None, tol=1e-11, **options):
    """Return the coefficients that scipy's BFGS finds from `start`, without an intercept."""
    shape = T.shape[1], X.shape[1]
    start = np.zeros(shape) if start is None else start
    found = so.minimize(
        lambda w: value(X, T, w.reshape(shape), l2, **options),
        start.ravel(),
        jac=lambda w: gradient(X, T, w.reshape(shape), l2, **options)[:, :-1].ravel(),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 50_000, "gtol": tol, "ftol": 0, "maxcor": 50},
    )
    return found.x.reshape(shape)
