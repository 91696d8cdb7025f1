"""Whether the probabilities of an audit are true: measured in a run, and pooled over runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.audit.noisy_data import NoisyData
from benchmarks.audit.runs import AuditRecord, Setting
from twohot.audit.verdict import LabelVerdict

BINS = np.linspace(0, 1, 11)  # of the probability that a label is wrong
PRECISIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # that are asked for
SLACK = 0.05  # by which, with two standard errors, a precision may be missed


def measure_calibration(verdict: LabelVerdict, noisy: NoisyData) -> dict[str, Any]:
    """Return what a record keeps: counts by probability, and flags for each precision."""
    wrong, doubt = noisy.wrong, verdict.doubt
    place = np.clip(np.digitize(doubt, BINS) - 1, 0, len(BINS) - 2)
    counts = [np.bincount(place, values, len(BINS) - 1) for values in (None, doubt, wrong)]
    flagged = {each: verdict.flag_for(each) for each in PRECISIONS}
    return {
        "noise_rate": verdict.noise_rate,
        "noise_interval": list(verdict.noise_interval),
        "bins": np.column_stack(counts).tolist(),  # labels, sum of probabilities, wrong ones
        # By precision asked for: labels flagged, wrong ones of them.
        "promised": {
            f"{each:g}": [int(found.sum()), int((found & wrong).sum())]
            for each, found in flagged.items()
        },
        "n_wrong": int(wrong.sum()),
    }


@dataclass(frozen=True)
class Promise:
    """What came of one precision asked for in one run."""

    setting: Setting
    asked: float
    n_flagged: int
    n_wrong: int  # of them

    @property
    def is_kept(self) -> bool:
        """Whether the precision is missed by no more than the slack and two standard errors."""
        if not self.n_flagged:
            return True  # nothing was promised
        found = self.n_wrong / self.n_flagged
        error = (self.asked * (1 - self.asked) / self.n_flagged) ** 0.5
        return found >= self.asked - SLACK - 2 * error


def calibrations(records: Iterable[AuditRecord]) -> list[tuple[AuditRecord, Mapping[str, Any]]]:
    """Return the records that have a calibration, and it."""
    found = ((record, record.result.outcome.chosen.get("calibration")) for record in records)
    return [(record, each) for record, each in found if each is not None]


def promises(records: Iterable[AuditRecord]) -> list[Promise]:
    """Return every precision that was asked for, in every run."""
    return [
        Promise(record.run.setting, float(asked), n_flagged, n_wrong)
        for record, found in calibrations(records)
        for asked, (n_flagged, n_wrong) in found["promised"].items()
    ]


def covered(records: Iterable[AuditRecord]) -> list[tuple[AuditRecord, bool]]:
    """Return the records, and whether the true share of wrong labels is in the interval."""
    return [
        (record, low <= record.result.noise_rate <= high)
        for record, found in calibrations(records)
        for low, high in [found["noise_interval"]]
    ]


def reliability(records: Iterable[AuditRecord]) -> np.ndarray:
    """Return (bins, 3): labels, mean probability that they are wrong, share that is; pooled.

    Every run counts alike, however many labels it has.
    """
    total = np.zeros((len(BINS) - 1, 3))
    for _, found in calibrations(records):
        counts = np.array(found["bins"])
        total += counts / counts[:, 0].sum()
    with np.errstate(invalid="ignore"):
        return np.column_stack([total[:, 0], total[:, 1:] / total[:, :1]])
