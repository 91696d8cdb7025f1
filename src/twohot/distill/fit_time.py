"""How long a fit will take, said before it where that is long.

A pass computes an output for every row and class, twice the features' number of products each, and
nothing else in a fit grows with both. So one block of rows, timed, tells the time of a pass.
"""

import time
import warnings

import numpy as np

from twohot.rows.rows import Rows
from twohot.solve.loss_kernels import softmax

# Outputs, rows times classes, from which a fit takes a minute or more on two cores.
MANY_OUTPUTS = 10**8
# Passes that a round takes at the default tolerance, on embeddings of images and texts.
USUAL_PASSES = 10


def warn_of_long_fit(rows: Rows, n_rounds: int) -> None:
    """Warn of a fit with very many outputs, with an estimate of its time on this machine.

    Rows in chunks elsewhere are not timed: their workers show how far they are.
    """
    if not rows.is_here or rows.n_samples * rows.n_classes < MANY_OUTPUTS:
        return
    n_passes = USUAL_PASSES * n_rounds
    minutes = seconds_of_block(rows) * rows.n_blocks / rows.n_jobs * n_passes / 60
    warnings.warn(
        f"X has {rows.n_samples:,} rows and y {rows.n_classes:,} classes: the fit takes about "
        f"{n_passes} passes, and {max(1, round(minutes))} min or more here. verbose=2 shows each "
        "step. DiscriminantProbe takes one pass, and an audit of so many classes uses it.",
        UserWarning,
        stacklevel=5,
    )


def seconds_of_block(rows: Rows) -> float:
    """Return the seconds that a pass takes for the first block of rows, in one thread."""
    block = rows.block(0)
    coef = np.zeros((rows.n_classes, rows.n_features), rows.dtype)
    start = time.perf_counter()
    outputs, _ = softmax(block.project(coef))
    block.gather(outputs)
    return time.perf_counter() - start
