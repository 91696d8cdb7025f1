"""Raw rows into the rows a probe sees: centred, then scaled to unit norm.

    φ(x) = (x - mean) / ‖x - mean‖,        φ(mean) = 0

Both steps are optional. They are applied to one block of rows at a time, whatever the rows are
stored in, so that X is never copied whole, unless it is small.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from twohot._types import FloatArray, Matrix

# What a mean over many rows may be off by, relative to the rows, beside being rounded to the
# precision of a pass. A row no further from it is at the mean; scaling would blow rounding up.
MEAN_ROUNDING = 1e4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to every row, when fitting and when predicting."""

    mean: FloatArray | None  # subtracted from every row; None: rows are not centred
    normalize: bool  # rows are then divided by their norm; a zero row stays zero
    mean_error: float = 0.0  # norm of what the mean may be off by

    def inverse_norms(self, centered: FloatArray) -> FloatArray:
        """Return 1/‖row‖ as a column; zero for a row that differs from the mean by rounding."""
        norms = np.sqrt(np.einsum("ij,ij->i", centered, centered, dtype=np.float64))
        negligible = self.mean_error
        if self.mean is not None:
            rounding = 2 * float(np.finfo(centered.dtype).eps)
            negligible += rounding * float(np.linalg.norm(self.mean))
        inverse = np.zeros((len(centered), 1), centered.dtype)
        np.divide(1, norms, out=inverse[:, 0], where=norms > negligible, casting="same_kind")
        return inverse

    def center(self, rows: Matrix, out: FloatArray) -> None:
        """Write the rows into `out`, the mean subtracted."""
        dense = rows.toarray() if isinstance(rows, sp.csr_array) else rows
        if self.mean is None:
            out[...] = dense
        else:
            mean = self.mean.astype(np.result_type(dense.dtype, out.dtype))
            np.subtract(dense, mean, out=out, casting="same_kind")

    def apply(self, rows: Matrix, out: FloatArray) -> FloatArray:
        """Write the prepared rows into `out`, and return it."""
        self.center(rows, out)
        if self.normalize:
            out *= self.inverse_norms(out)
        return out


# Rows that are used as they are.
AS_THEY_ARE = Preparation(None, normalize=False)
