"""A fit that a stopped command goes on with, by a file beside its output."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from twohot._checks.messages import ArgumentError
from twohot.cli._terminal import say
from twohot.distill.checkpoint import OtherFitError
from twohot.rows.dask_errors import ClusterLostError

Fitted = TypeVar("Fitted")


def fit_with_checkpoint(fit: Callable[[Path], Fitted], path: Path) -> Fitted:
    """Return what a fit makes with a checkpoint; one of another fit is replaced, and said.

    The file stays: whoever writes the output removes it after that.
    """
    was_there = path.exists()
    try:
        fitted = fit(path)
    except ClusterLostError as error:
        kept = f"what is finished is kept in {path}" if path.exists() else "nothing was finished"
        raise ArgumentError("", error.problem, f"start one and run this again: {kept}.") from error
    except OtherFitError:
        say(f"Note: {path} is not of this fit, and is replaced.", stderr=True)
        path.unlink()
        return fit(path)
    if was_there:
        say(f"Went on after what an earlier run had finished, by {path}")
    return fitted
