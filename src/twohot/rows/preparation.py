"""Preparation of raw rows: centring, then scaling to unit norm.

    φ(x) = (x - mean) / ‖x - mean‖,        φ(mean) = 0

Both steps are optional. They are applied block by block, so that X is never copied as a whole.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from twohot.base import FloatArray, Matrix

# Conversion of half to single precision, four times as fast as numpy's ----------------------------
# A half float has 1 bit of sign, 5 of exponent and 10 of fraction; a single float has 1, 8 and 23.
# If the bits of a half float x are moved to the same fields of a single float, its value is exactly
# x · 2⁻¹¹², because the biases of the exponents are 15 and 127. This holds for subnormal x too.

FRACTION_SHIFT = 13  # 23 - 10 bits
SIGN_AND_MOVED = np.uint32(0x8FFF_E000)  # mask of the sign and the 15 moved bits
BIAS = np.float32(2.0**112)


def can_widen(rows: NDArray[np.generic], out: FloatArray) -> bool:
    """Return whether rows are native half precision and `out` is single precision."""
    return rows.dtype == np.float16 and rows.dtype.isnative and out.dtype == np.float32


def widen(rows: NDArray[np.float16], out: NDArray[np.float32]) -> None:
    """Write half floats into `out`. Finite numbers are exact; NaN and infinity become finite.

    Examples
    --------
    >>> out = np.empty(2, np.float32)
    >>> widen(np.array([-0.5, 6e-8], np.float16), out)
    >>> out
    array([-5.0000000e-01,  5.9604645e-08], dtype=float32)
    """
    bits = out.view(np.uint32)
    bits[...] = rows.view(np.int16)  # the shift copies the sign into higher bits
    np.left_shift(bits, FRACTION_SHIFT, out=bits)
    np.bitwise_and(bits, SIGN_AND_MOVED, out=bits)
    out *= BIAS


# In this range, squares of norms neither overflow nor lose digits in float64. If the norm of a row
# is outside this range, the row is first divided by a power of two.
SAFE_NORMS = (1e-140, 1e140)


@dataclass(frozen=True, eq=False)
class Preparation:
    """Centring and scaling that `fit` and `predict` apply to every row."""

    mean: FloatArray | None  # subtracted from every row; None: rows are not centred
    normalize: bool  # whether rows are then divided by their norm; a zero row stays zero
    mean_error: float = 0.0  # norm of the rounding error of `mean`; shorter rows become zero

    def inverse_norms(self, centered: FloatArray) -> FloatArray:
        """Return 1/‖row‖ as a column; 0 for a row that equals the mean up to rounding."""
        norms = row_norms(centered)
        # The inverse of a norm below the second bound would be infinite.
        negligible = max(self.mean_error, 1 / float(np.finfo(centered.dtype).max))
        inverse = np.zeros((len(centered), 1), centered.dtype)
        np.divide(1, norms, out=inverse[:, 0], where=norms > negligible, casting="same_kind")
        return inverse

    def center(self, rows: Matrix, out: FloatArray) -> None:
        """Write the centred rows into `out`. The rows must be finite."""
        dense = rows.toarray() if isinstance(rows, sp.csr_array) else rows
        if can_widen(dense, out):
            widen(dense, out)
            dense = out
        if self.mean is not None:
            mean = self.mean.astype(np.result_type(dense.dtype, out.dtype))
            np.subtract(dense, mean, out=out, casting="same_kind")
        elif dense is not out:
            out[...] = dense

    def apply(self, rows: Matrix, out: FloatArray) -> FloatArray:
        """Write the prepared rows into `out`, and return `out`."""
        self.center(rows, out)
        if self.normalize:
            out *= self.inverse_norms(out)
        return out


# The preparation that leaves rows as they are stored.
AS_THEY_ARE = Preparation(None, normalize=False)


def row_norms(rows: FloatArray) -> FloatArray:
    """Return the norm of each row in float64, for any norm in the range of float64.

    Examples
    --------
    >>> row_norms(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    array([5.e+200, 5.e-200, 0.e+000])
    """
    with np.errstate(over="ignore", under="ignore"):
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    least, most = SAFE_NORMS
    odd = np.flatnonzero(~((norms > least) & (norms < most)))
    if odd.size:
        few = rows[odd].astype(np.float64)
        _, exponent = np.frexp(np.abs(few).max(axis=1, initial=0.0))
        # Dividing by a power of two is exact; zero rows stay zero.
        few = np.ldexp(few, -exponent[:, np.newaxis])
        norms[odd] = np.ldexp(np.sqrt(np.einsum("ij,ij->i", few, few)), exponent)
    return norms
