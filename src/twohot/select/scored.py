"""How one way to make a probe did on the held-out rows of all splits."""

from dataclasses import dataclass

from twohot._types import FloatArray, IntArray
from twohot.distill.average_recipe import AnyRecipe
from twohot.distill.targets import LABELS
from twohot.rows.block import Block
from twohot.rows.coordinates import Coordinates
from twohot.select.agreement import Calibration, HeldOut, judge_logits, pool


@dataclass(frozen=True, eq=False)
class Linear:
    """Logits as a function of the rows of a split."""

    coef: FloatArray  # (K, d), on the features of these rows, with an intercept's if they have one
    offset: FloatArray  # (K,), which the logits have beside that


@dataclass(frozen=True, eq=False, kw_only=True)
class Scored:
    """A way to make a probe, and how it did."""

    recipe: AnyRecipe
    predicted: IntArray  # (n,), most likely class of every held-out row
    margin: FloatArray  # (n,), by how much its logit is ahead of the next
    agrees: FloatArray  # (n,), one where a held-out label is predicted, else zero
    calibration: Calibration
    agreement: float  # share of the held-out labels that are predicted
    agreement_error: float  # its standard error
    n_passes: float  # over the rows fitted on, all splits together


def predict_held_out(held_out: Coordinates, fit: Linear) -> HeldOut:
    """Return what a fit says about held-out rows, in one pass over them."""
    coef, offset = (array.astype(held_out.rows.dtype) for array in (fit.coef, fit.offset))
    return pool(list(held_out.rows.map(held_out_rows, coef, offset)))


def held_out_rows(block: Block, coef: FloatArray, offset: FloatArray) -> HeldOut:
    """Return what a fit says about the labels of a block. A kernel."""
    logits = block.project(coef)
    logits += offset
    return judge_logits(logits, block.columns[LABELS])
