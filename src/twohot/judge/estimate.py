"""What a fit will take, said before it starts: rows, classes, bytes, passes and memory.

Counts are exact; passes are what fits on embeddings of images and texts took, and memory what is
known to be held, both rounded up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from twohot.judge.sample import SAMPLE_ROWS
from twohot.rows import FEATURE_SHARE, LEADING_AXES
from twohot.solve import CLASS_PAIRS

# Reads of all rows before a fit: mean, principal axes, sample, moment of the labels.
FIRST_READS = 4
# Passes that the chosen probe took at the default tolerance, two rounds at the most.
USUAL_PASSES = 20
# Of a row, beside its features: code, norm, weight and two candidates.
ROW_BYTES = 48


@dataclass(frozen=True)
class FitEstimate:
    """What a fit will take."""

    n_rows: int
    n_features: int
    n_classes: int
    feature_bytes: int  # as they are stored
    n_passes: int  # over all rows, about
    bytes_here: int  # in this process: sample, coefficients and their history
    bytes_per_worker: int  # features and what belongs to rows
    n_workers: int
    fits: bool | None = None  # whether workers can keep the features; None: nothing is known

    def __str__(self) -> str:
        held = "the workers' memory holds the features"
        again = "the features do not fit into the workers' memory and are read again each pass"
        rows = f"{self.n_rows:,} rows of {self.n_features:,} features"
        lines = [
            f"{rows}, {self.n_classes:,} classes: {in_bytes(self.feature_bytes)} of features",
            f"About {self.n_passes} passes over all rows",
            f"Memory here: about {in_bytes(self.bytes_here)}",
            f"Memory of each of {self.n_workers} workers: about {in_bytes(self.bytes_per_worker)}",
        ]
        if self.fits is not None:
            lines.append(f"Therefore {held if self.fits else again}")
        return "\n".join(lines)


def estimate_fit(
    shape: tuple[int, int],
    n_classes: int,
    dtype: DTypeLike,
    *,
    n_workers: int = 1,
    worker_bytes: int | None = None,
) -> FitEstimate:
    """Return what `AutoProbe.fit` will take on rows of a shape.

    Examples
    --------
    >>> print(estimate_fit((10_000_000, 512), 1000, np.float16, n_workers=4, worker_bytes=2**33))
    10,000,000 rows of 512 features, 1,000 classes: 10.2 GB of features
    About 24 passes over all rows
    Memory here: about 368.6 MB
    Memory of each of 4 workers: about 2.7 GB
    Therefore the workers' memory holds the features
    """
    n_rows, n_features = shape
    feature_bytes = n_rows * n_features * np.dtype(dtype).itemsize
    sample = min(n_rows, SAMPLE_ROWS) * min(n_features, LEADING_AXES) * 4
    # Pairs of the history in the precision of a pass, and a few matrices in double precision.
    coefficients = n_classes * n_features * (2 * CLASS_PAIRS * 4 + 10 * 8)
    per_worker = -(-(feature_bytes + n_rows * ROW_BYTES) // n_workers)
    return FitEstimate(
        n_rows=n_rows,
        n_features=n_features,
        n_classes=n_classes,
        feature_bytes=feature_bytes,
        n_passes=FIRST_READS + USUAL_PASSES,
        bytes_here=sample * 2 + coefficients,
        bytes_per_worker=per_worker,
        n_workers=n_workers,
        fits=None if worker_bytes is None else per_worker <= FEATURE_SHARE * worker_bytes,
    )


def in_bytes(count: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> in_bytes(2_700_000_000), in_bytes(350_000)
    ('2.7 GB', '350 kB')
    """
    for unit, size in {"TB": 1e12, "GB": 1e9, "MB": 1e6}.items():
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
