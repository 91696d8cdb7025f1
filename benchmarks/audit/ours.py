"""AutoProbe and find_label_issues at their defaults, on rows as they come."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.audit.data import Task
from twohot import AutoProbe, find_label_issues
from twohot.judge.verdict import choose_flags

PRECISION = 0.9  # asked for
N_PARTS = 10  # deciles


@dataclass(frozen=True)
class OurResult:
    """What AutoProbe and find_label_issues reached on one draw."""

    n_rows: int
    noise_rate: float  # true fraction wrong
    digest: int  # of rows and labels
    accuracy: float  # on test rows
    f1: float | None  # of the flags; None where no label is wrong
    flagged: float  # fraction of the labels
    estimated: float  # fraction wrong
    interval: tuple[float, float]  # of it
    precision: float | None  # of the flags at PRECISION; None where there are none
    n_precise: int  # labels flagged at PRECISION
    deciles: list[tuple[float, float]]  # mean probability_wrong, true fraction wrong; least first
    cpu: dict[str, float]  # seconds of each call


def measure_ours(task: Task) -> OurResult:
    X, y, wrong = task.X, task.given, task.wrong
    begin = time.process_time()
    probe = AutoProbe(n_jobs=1).fit(X, y)
    between = time.process_time()
    issues = find_label_issues(X, y, n_jobs=1)
    end = time.process_time()
    flagged, doubt = issues["is_label_issue"], issues["probability_wrong"]
    # What `precision=` flags, without fitting the same label model once more.
    differs = issues["predicted_label"] != issues["given_label"]
    precise = choose_flags(doubt, differs, precision=PRECISION)
    low, high = issues.noise_interval
    return OurResult(
        n_rows=len(y),
        noise_rate=float(wrong.mean()),
        digest=task.digest,
        accuracy=task.accuracy(probe.predict(task.X_test)),
        f1=task.f1(flagged),
        flagged=float(flagged.mean()),
        estimated=float(issues.noise_rate),
        interval=(float(low), float(high)),
        precision=float(wrong[precise].mean()) if precise.any() else None,
        n_precise=int(precise.sum()),
        deciles=deciles(doubt, wrong),
        cpu={"AutoProbe": between - begin, "find_label_issues": end - between},
    )


def deciles(
    probability: NDArray[np.floating], wrong: NDArray[np.bool_]
) -> list[tuple[float, float]]:
    """Return mean probability and fraction wrong of ten equal parts, in the order of the first."""
    # A random order decides which of equal probabilities a part has.
    order = np.random.default_rng(0).permutation(len(wrong))
    order = order[np.argsort(probability[order], kind="stable")]
    parts = np.array_split(order, N_PARTS)
    return [(float(probability[part].mean()), float(wrong[part].mean())) for part in parts]
