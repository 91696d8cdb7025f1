"""The slow plain twin of discriminant analysis: whole arrays, one inverse for every fit.

Nothing here is imported from the package. `v` are row weights.
"""

import numpy as np


def along_axes(X, *, n_axes=512, v=None):
    """Return prepared rows along their leading principal axes, each times (v + mean/10)^(-1/4).

    Fewer than 64 of them, none of which varies ten times as much as another, stay as they are.
    """
    v = np.ones(len(X)) if v is None else v
    variances, axes = np.linalg.eigh((X.T * v) @ X / v.sum())
    order = [j for j in np.argsort(variances)[::-1] if variances[j] > 1e-6 * variances.max()]
    variances, axes = variances[order[:n_axes]], axes[:, order[:n_axes]]
    if len(variances) < 64 and variances.max() <= 10 * variances.min():
        return X @ axes
    return X @ axes * (variances + variances.mean() / 10) ** -0.25


def fit(Z, labels, n_classes, shrinkage, v=None):
    """Return coefficients and an intercept; a class without rows has the mean of all of them."""
    v = np.ones(len(Z)) if v is None else v
    within, means, counts = np.zeros((Z.shape[1], Z.shape[1])), [], []
    for k in range(n_classes):
        mine, w = Z[labels == k], v[labels == k]
        counts.append(w.sum())
        if not w.any():
            means.append(np.average(Z, axis=0, weights=v))
            continue
        means.append(np.average(mine, axis=0, weights=w))
        within += ((mine - means[k]).T * w) @ (mine - means[k])
    within, means, counts = within / v.sum(), np.array(means), np.array(counts)
    spread = np.trace(within) / len(within)
    inverse = np.linalg.inv((1 - shrinkage) * within + shrinkage * spread * np.eye(len(within)))
    priors = np.log(np.maximum(counts, 0.5) / v.sum())
    return means @ inverse, priors - np.sum(means @ inverse * means, axis=1) / 2


def logits(Z, labels, n_classes, shrinkage, v=None):
    coef, intercept = fit(Z, labels, n_classes, shrinkage, v)
    return Z @ coef.T + intercept


def leave_one_out(Z, labels, n_classes, shrinkage, v=None):
    """Return the logits of each row by a fit to all the others."""
    made = []
    for row in range(len(Z)):
        others = np.arange(len(Z)) != row
        w = None if v is None else v[others]
        coef, intercept = fit(Z[others], labels[others], n_classes, shrinkage, w)
        made.append(coef @ Z[row] + intercept)
    return np.array(made)
