"""Does a change leave results as they were? Fixed inputs, their results stored and compared.

    python -m benchmarks.same_results before.npz                      # store what comes of them
    python -m benchmarks.same_results after.npz --than before.npz     # and compare with a store

Coefficients, predictions, passes, the choice, verdicts on labels, forecasts and explanations are
compared, relative to the largest entry of each. The exit code is 1 if one differs by over 1e-5.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from twohot import (
    AutoProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    explain_label,
    find_label_issues,
    forecast,
)
from twohot.noise import corrupt_labels, make_features, symmetric

Results: TypeAlias = dict[str, NDArray[Any]]

TOLERANCE = 1e-5  # ten times the tolerance of the fits

DIGITS, _TRUE = load_digits(return_X_y=True)
NOISY = corrupt_labels(_TRUE, symmetric(10, 0.5), exact=True, random_state=0).given_labels
MADE = make_features(n_classes=20, n_per_class=60, n_features=96, same_class=0.3, random_state=1)
MADE_NOISY = corrupt_labels(MADE.labels, symmetric(20, 0.4), random_state=2).given_labels
FEW = slice(None, None, 12)  # rows, so that there are fewer of them than features
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(DIGITS)).astype(float)
SOFT = np.random.default_rng(1).dirichlet(np.ones(10), len(DIGITS))

PROBES: dict[str, Any] = {
    "teacher": LinearProbe(),
    "float32": LinearProbe(dtype="float32"),
    "balanced": LinearProbe(class_weight="balanced"),
    "intercept": LinearProbe(fit_intercept=True),
    "raw": LinearProbe(center=False, normalize=False, l2=1e-2),
    "gce": LinearProbe(loss="gce"),
    "gce from zero": LinearProbe(loss="gce", start="zero"),
    "rounds": DistilledProbe(n_rounds=4),
    "robust rounds": DistilledProbe(n_rounds=3, loss="gce", teacher_loss="gce"),
    "two-hot": PartialLabelProbe(),
    "two-hot by ce": PartialLabelProbe(loss="ce"),
    "one-hot": PartialLabelProbe(n_candidates=1, teacher_loss="gce"),
    "auto": AutoProbe(),
}


def fits() -> Iterator[tuple[str, Any, Any]]:
    """Yield fitted probes with the rows to predict."""
    for name, probe in PROBES.items():
        yield name, probe.fit(DIGITS, NOISY), DIGITS
    yield "weights", LinearProbe().fit(DIGITS, NOISY, WEIGHTS), DIGITS
    yield "soft", LinearProbe().fit_soft(DIGITS, SOFT), DIGITS
    for name, rows in (("sparse", sp.csr_array(DIGITS)), ("float16", DIGITS.astype(np.float16))):
        yield name, LinearProbe().fit(rows, NOISY), rows
    yield "two classes", PartialLabelProbe().fit(DIGITS, NOISY > 4), DIGITS
    few, few_labels = MADE.features[FEW], MADE_NOISY[FEW]
    yield "few rows", PartialLabelProbe(fit_intercept=True).fit(few, few_labels), few
    yield "auto, few rows", AutoProbe().fit(few, few_labels), few
    yield "auto, made", AutoProbe().fit(MADE.features, MADE_NOISY), MADE.features


def results() -> Results:
    """Return what comes of the fixed inputs."""
    found: Results = {}
    for name, probe, rows in fits():
        found[f"{name}: coefficients"] = probe.coef_
        found[f"{name}: predictions"] = probe.predict(rows).astype(float)
        found[f"{name}: passes"] = np.array([entry.n_passes for entry in probe.rounds_])
        if isinstance(probe, AutoProbe):
            tried = probe.choice_.tried
            found[f"{name}: choice"] = np.array(
                [(e.agreement, e.n_passes, e.chosen) for e in tried]
            )
    for name, rows, labels in (("digits", DIGITS, NOISY), ("made", MADE.features, MADE_NOISY)):
        some = labels.astype(object)
        some[::50] = None
        issues = find_label_issues(rows, some)
        found[f"{name}: flags"] = issues.is_label_issue.astype(float)
        found[f"{name}: quality"] = issues.label_quality
        found[f"{name}: suggestions"] = issues.predicted_label.astype(float)
        expected = forecast(rows, some)
        found[f"{name}: noise rates"] = np.array([issues.noise_rate, expected.noise.rate])
        found[f"{name}: correlations"] = expected.correlation.estimated
        votes = [each.votes for each in explain_label(rows, some, [0, 3, 50], n_rounds=2)]
        found[f"{name}: votes"] = np.array(votes)
    return found


def differences(before: Results, after: Results) -> dict[str, float]:
    """Return by how much each result differs, relative to its largest entry."""

    def difference(name: str) -> float:
        if name not in after or after[name].shape != before[name].shape:
            return float("inf")
        largest = np.nanmax(np.abs(before[name])) or 1.0
        return float(np.nanmax(np.abs(after[name] - before[name])) / largest)

    return {name: difference(name) for name in before}


def main(say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, help="file to write, .npz")
    parser.add_argument("--than", type=Path, help="a store to compare with")
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that stop early, in every version alike
        found = results()
    np.savez(arguments.store, **found)
    if arguments.than is None:
        return 0
    with np.load(arguments.than) as stored:
        compared = differences(dict(stored), found)
    for name, difference in sorted(compared.items(), key=lambda item: item[1]):
        say(f"{difference:8.1e}  {name}")
    return int(max(compared.values()) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
