"""Some rows, and what belongs to each of them: all that a kernel sees.

A kernel is a function of a block and a few small arrays that all blocks share, defined in a module.
It can therefore be sent to wherever a block lives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from twohot._types import FloatArray, Matrix


@dataclass(eq=False)
class Block:
    """Rows ready for the two products of a pass.

    Scaling rows to unit norm is left to the smaller side of a product, where that is the logits:

        z_i = s_i (x_i · w),        Σ_i e_i (s_i x_i) = Σ_i (s_i e_i) x_i.

    Arrays are buffers that the next block of the same thread reuses, or kept: not to be changed.
    """

    first: int  # number of the first row
    x: Matrix  # (rows, d), centred; of rows without a preparation, as they are stored
    scale: FloatArray | None = None  # (rows, 1), what they are still to be multiplied by
    weights: FloatArray | None = None  # (rows, 1); None if all weigh one
    columns: Mapping[str, Matrix] = field(default_factory=dict)  # what else belongs to each row
    intercept: bool = False
    logits: FloatArray | None = None  # (rows, K), room for the logits
    row_products: int = 0  # rows times products with dense matrices, so far

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        # Room is made anew where the block arrives.
        return self.__dict__ | {"logits": None}

    def prepared(self) -> FloatArray:
        """Return the prepared rows."""
        if self.scale is not None:
            self.x *= self.scale
            self.scale = None
        prepared: FloatArray = self.x
        return prepared

    def project(self, coef: FloatArray) -> FloatArray:
        """Return the logits (rows, K)."""
        self.row_products += len(self)
        logits: FloatArray = np.matmul(self.x, coef[:, : self.x.shape[1]].T, out=self.logits)
        if self.scale is not None:
            logits *= self.scale
        if self.intercept:
            logits += coef[:, -1]
        return logits

    def gather(self, e: Matrix) -> FloatArray:
        """Return eᵀφ(x) (K, d), e being (rows, K), CSR or dense (and then overwritten)."""
        self.row_products += 0 if sp.issparse(e) else len(self)
        total = e.sum(axis=0) if self.intercept else None
        if self.scale is not None:
            e = scale_rows(e, self.scale)
        moment: FloatArray = e.T @ self.x
        return moment if total is None else np.column_stack([moment, total])


def scale_rows(rows: Matrix, factors: FloatArray) -> Matrix:
    """Return the rows times a column of factors; dense rows are overwritten."""
    if isinstance(rows, sp.csr_array):
        per_entry = np.repeat(factors[:, 0], np.diff(rows.indptr))
        return sp.csr_array((rows.data * per_entry, rows.indices, rows.indptr), rows.shape)
    rows *= factors
    return rows
