"""Array aliases and the records that travel between the parts.

Conventions
-----------
Samples are rows. With N samples, d features (one more if there is an intercept) and K classes:
features (N, d), targets and outputs (N, K), coefficients, gradients and moments (K, d).
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
Matrix: TypeAlias = Any  # (N, …) rows as they came in: a dense array or a scipy CSR array


@dataclass(frozen=True, eq=False)
class Round:
    """One fit of a probe: its coefficients and the certificate that they are the optimum."""

    coef: FloatArray  # (n_classes, n_features), in the space of the prepared features
    intercept: FloatArray  # (n_classes,), zeros if none was fitted
    targets: str  # what was fitted: "labels", "soft", "outputs" or "candidates"
    loss: str  # "ce", "gce"; "lda" or "average" where none is minimised
    l2: float  # strength of the penalty, on the prepared features
    value: float  # mean loss + ½·l2·‖coef‖²
    n_iter: int  # directions tried, without those of the start of a robust fit
    n_passes: float  # products over all rows, divided by two (a gradient takes two), start too
    gradient_norm: float  # of the gradient, relative to its norm at zero coefficients
    converged: bool  # gradient_norm ≤ tol
