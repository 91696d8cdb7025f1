"""Rounds of a fit that were finished, in a file: a fit that was stopped goes on after them.

The file holds coefficients and certificates, and what the fit is known by: its recipe, rows,
labels and classes. A file of another fit is refused, and never taken for this one.
"""

import hashlib
import io
import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError
from twohot._extras import load_extra
from twohot._types import FloatArray, Matrix, Round
from twohot.distill.recipe import Recipe
from twohot.rows.chunked import ChunkedColumn
from twohot.rows.coordinates import Coordinates
from twohot.solve.loss_kernels import Targets
from twohot.solve.objective import Evaluation, Objective, pose
from twohot.solve.solver import Settings

ARRAYS = ("coef", "intercept")
# Relative difference of the mean row up to which features are the same: sums of other chunks are
# rounded in another order.
SAME_MEAN = 1e-5


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A file of finished rounds, and what the fit is known by."""

    path: str  # any that fsspec reads
    about: dict[str, Any]  # JSON: recipe, shapes, classes and labels
    mean: FloatArray  # (d,), of the features

    def load(self) -> list[Round]:
        """Return the rounds that were finished; none if there is no file."""
        filesystem, path = self._place()
        if not filesystem.exists(path):
            return []
        with filesystem.open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            header, mean = json.loads(str(stored["header"])), stored["mean"]
            arrays = {name: stored[name] for name in stored.files}
        close = mean.shape == self.mean.shape and np.linalg.norm(
            mean - self.mean
        ) <= SAME_MEAN * np.linalg.norm(self.mean)
        if header["about"] != self.about or not close:
            problem = "holds rounds of another fit, on other rows, labels or parameters"
            advice = "pass another path, or remove the file."
            raise ArgumentError({"checkpoint": self.path}, problem, advice)
        return [
            Round(**entry, **{name: arrays[f"{name}.{number}"] for name in ARRAYS})
            for number, entry in enumerate(header["rounds"])
        ]

    def save(self, rounds: list[Round]) -> None:
        """Write the rounds that are finished; the file is whole at any time."""
        numbers = [field.name for field in fields(Round) if field.name not in ARRAYS]
        entries = [{name: getattr(entry, name) for name in numbers} for entry in rounds]
        arrays: dict[str, Any] = {
            f"{name}.{number}": getattr(entry, name)
            for number, entry in enumerate(rounds)
            for name in ARRAYS
        }
        content = io.BytesIO()
        header = json.dumps({"about": self.about, "rounds": entries})
        np.savez(content, header=np.array(header), mean=self.mean, **arrays)
        filesystem, path = self._place()
        with filesystem.open(f"{path}.unfinished", "wb") as file:
            file.write(content.getvalue())
        filesystem.mv(f"{path}.unfinished", path)

    def _place(self) -> tuple[Any, str]:
        fsspec = load_extra("fsspec", "parquet", "checkpoints")
        filesystem, path = fsspec.core.url_to_fs(self.path)
        return filesystem, path


def checkpoint_at(
    path: Any,
    coordinates: Coordinates,
    *,
    recipe: Recipe,
    settings: Settings,
    column: Matrix,
    classes: NDArray[Any],
    mean: FloatArray | None,
) -> Checkpoint:
    """Return the checkpoint of a fit, known by all that its result depends on."""
    rows = coordinates.rows
    about = {
        "rounds": [step.to_json() | {"teacher": None} for step in recipe.rounds],
        "tol": settings.tol,
        "start": settings.start if isinstance(settings.start, str) else "given",
        "shape": [rows.n_samples, rows.n_columns],
        "intercept": rows.intercept,
        "weight": round(rows.total_weight, 6),
        "classes": [str(name) for name in classes.tolist()],
        "targets": _digest(column),
    }
    return Checkpoint(
        str(path), json.loads(json.dumps(about)), np.zeros(0) if mean is None else mean
    )


def evaluate_again(
    coordinates: Coordinates, given: Targets, step: Recipe, entry: Round
) -> Evaluation:
    """Return what a pass tells at the end of a round that was finished before."""
    coef = entry.coef
    if coordinates.rows.intercept:
        coef = np.column_stack([coef, entry.intercept])
    problem = pose(coordinates, given, step.penalty(coordinates), None)
    return Objective(problem, step.loss).evaluate(coordinates.from_features(coef))


def _digest(column: Matrix) -> str:
    """Return what labels or soft targets are known by; those in chunks by these, too."""
    chunked = isinstance(column, ChunkedColumn)
    parts = column.gather(digest_of) if chunked else [digest_of(column)]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def digest_of(column: Matrix) -> str:
    """Return what some labels or soft targets are known by."""
    dense = column.toarray() if hasattr(column, "toarray") else np.asarray(column)
    kind = np.int64 if dense.dtype.kind in "iu" else np.float64
    return hashlib.sha256(np.ascontiguousarray(dense, dtype=kind).tobytes()).hexdigest()
