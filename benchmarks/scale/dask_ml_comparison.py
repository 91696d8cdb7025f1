"""Two classes on the same cluster and the same chunks: `LinearProbe` beside dask-ml.

Both minimise, over one vector b, without an intercept,

    mean over rows of log(1 + exp(-s x·b)) + ½ PENALTY ‖b‖²,        s = ±1

which is dask-ml's with C = 1 / (PENALTY n_rows), and that of a `LinearProbe` on rows as they are,
with b the difference of its two rows of coefficients and l2 = 2 PENALTY. The gradient at what each
has found is computed here, in double precision, relative to its norm at zero.

    pip install dask-ml
    python -m benchmarks.scale.dask_ml_comparison benchmarks/scale/dask_ml.jsonl 128

for rows of 128 features; records are appended. dask-ml is no part of the environment for
development: use one of its own. Fits take turns.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import wait
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.scale.dask_processes import Cluster, started_cluster
from twohot import LinearProbe

N_ROWS, N_WORKERS, N_CHUNKS = 100_000, 2, 8
PENALTY = 1e-4
REPEATS = 3  # after a first one that does not count: workers import what they need
# Of dask-ml, at its defaults, and the penalty that they have: Newton's method knows none. Others,
# ADMM among them, take minutes: name them after the number of features to try.
SOLVERS = {"lbfgs": PENALTY, "newton": 0.0}
OTHER_SOLVERS = {"admm": PENALTY, "gradient_descent": 0.0, "proximal_grad": PENALTY}

Fit = Callable[[Any, Any], NDArray[np.float64]]


def main(output: Path, n_features: int, others: Sequence[str] = ()) -> None:
    features, labels = make_data(n_features)
    penalties = SOLVERS | {name: OTHER_SOLVERS[name] for name in others}
    fits: dict[str, tuple[Fit, float]] = {
        "twohot": (fit_probe, PENALTY),
        "twohot, float64, tol 1e-9": (partial(fit_probe, dtype="float64", tol=1e-9), PENALTY),
    }
    for solver, penalty in penalties.items():
        fits[f"dask-ml, {solver}"] = dask_ml_fit(solver), penalty
    rows = N_ROWS // N_CHUNKS
    with started_cluster(N_WORKERS) as cluster, cluster.client.as_current():
        lazy = da.from_array(features, chunks=(rows, -1)), da.from_array(labels, chunks=rows)
        X, y = cluster.client.persist(lazy)
        wait([X, y])
        found: dict[str, list[dict[str, float]]] = {name: [] for name in fits}
        for turn in range(REPEATS + 1):
            for name, (fit, penalty) in fits.items():
                record = measure(fit, X, y, cluster)
                record["gradient"] = gradient(record.pop("b"), features, labels, penalty)
                print(turn, name, record, file=sys.stderr, flush=True)
                found[name] += [record] if turn else []
    lines = []
    for name, records in found.items():
        line: dict[str, Any] = {"fit": name}
        for key in records[0]:
            line[key] = float(f"{np.median([each[key] for each in records]):.3g}")
        line |= {"shape": list(features.shape), "load": round(os.getloadavg()[0], 1)}
        packages = ("dask", "dask-ml", "scikit-learn", "numpy")
        line["versions"] = {package: version(package) for package in packages}
        lines.append(json.dumps(line) + "\n")
    with output.open("a") as file:
        file.writelines(lines)


def make_data(n_features: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows whose axes matter less and less, as those of embeddings do, and two classes.

    Features have a variance of one: dask-ml's penalty is on coefficients of such features.
    """
    rng = np.random.default_rng(0)
    scales = 1 / np.sqrt(1 + np.arange(n_features))
    mixed, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    features = (rng.standard_normal((N_ROWS, n_features)) * scales) @ mixed
    features /= features.std(axis=0)
    direction = rng.standard_normal(n_features) / np.sqrt(n_features)
    labels = (features @ direction + rng.logistic(size=N_ROWS) > 0).astype(np.int64)
    return features.astype(np.float32), labels


def fit_probe(X: Any, y: Any, **options: Any) -> NDArray[np.float64]:
    as_they_are = {"center": False, "normalize": False, "fit_intercept": False}
    probe = LinearProbe(l2=2 * PENALTY, **as_they_are, **options).fit(X, y)
    return np.asarray(probe.coef_[1] - probe.coef_[0], dtype=np.float64)


def dask_ml_fit(solver: str) -> Fit:
    model = import_module("dask_ml.linear_model").LogisticRegression

    def fit(X: Any, y: Any) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own
            found = model(solver=solver, C=1 / (PENALTY * N_ROWS), fit_intercept=False).fit(X, y)
            return np.asarray(found.coef_, dtype=np.float64).ravel()

    return fit


def measure(fit: Fit, X: Any, y: Any, cluster: Cluster) -> dict[str, Any]:
    """Return what was found, the clock, and the CPU time of all processes together."""
    before, start = sum(cluster.cpu_seconds().values()), time.perf_counter()
    b = fit(X, y)
    clock = time.perf_counter() - start
    return {"b": b, "clock": clock, "cpu_seconds": sum(cluster.cpu_seconds().values()) - before}


def gradient(b: NDArray[np.float64], features: Any, labels: Any, penalty: float) -> float:
    """Return the norm of the gradient at b of what was minimised, over that at zero."""
    rows = features.astype(np.float64)

    def norm(at: NDArray[np.float64]) -> float:
        terms = rows.T @ (expit(rows @ at) - labels) / N_ROWS + penalty * at
        return float(np.linalg.norm(terms))

    return norm(b) / norm(np.zeros_like(b))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
