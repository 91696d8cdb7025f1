"""What is finished of a fit, in a file: a fit that was stopped goes on after it.

The file holds finished rounds with their certificates, where the last of them ended, and the
candidates that a choice has tried. It says what the fit is known by: how it is made, its rows,
labels and classes. A file of another fit is refused, and never taken for this one.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    ArgumentError,
    FloatArray,
    Matrix,
    stored_file,
    whole_stored_file,
    why_not_written,
)
from twohot.probes.recipe import Round
from twohot.rows import Block, ClusterLostError, Coordinates, Preparation, Rows, Terms, lost_after
from twohot.solve import Evaluation

# A few numbers by which rows are known: of other rows, or in another order, they are others -------
# Row i has M numbers u_i that are drawn by its place. With S = Σ_i u_i φ(x_i)ᵀ (M, d) and weights
# w,
#
#     S Sᵀ / Σ_i ‖φ(x_i)‖²        and        Σ_i u_i w_i / √(Σ_i w_i²)
#
# are the same in all coordinates that rows are rotated to, and in all blocks but for rounding.

# Numbers of a row: that two of S Sᵀ agree by chance, as one may, is then out of the question.
N_DRAWN = 4


def fingerprint(rows: Rows) -> FloatArray:
    """Return what prepared rows and their weights are known by, (N_DRAWN + 1, N_DRAWN); a pass."""
    sums, weights, square, weight_square = rows.sum(drawn_sums)
    gram = sums @ sums.T / (square or 1.0)
    return np.vstack([gram, weights / np.sqrt(weight_square or 1.0)])


def drawn_sums(block: Block) -> Terms:
    """Return Σ u xᵀ, Σ u w, Σ ‖x‖² and Σ w² in float64. A kernel."""
    x = block.prepared().astype(np.float64)
    weights = np.ones(len(block)) if block.weights is None else block.weights[:, 0]
    weights = weights.astype(np.float64)
    draws = np.random.PCG64(0).advance(N_DRAWN * block.first)
    drawn = np.random.Generator(draws).random((len(block), N_DRAWN)) - 0.5
    squares = (np.asarray(np.vdot(each, each)) for each in (x, weights))
    return drawn.T @ x, drawn.T @ weights, *squares


# Relative difference of the mean row, and of the fingerprint, up to which features are the same:
# sums on another machine are rounded in another order.
SAME_ROWS = 1e-5

# What reading a file that is none, or was damaged, may end in.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile)

OTHER_PATH = "pass another path, or remove the file."

Record = TypeVar("Record", Round, Evaluation)


class OtherFitError(ArgumentError):
    """A checkpoint that is there, and is none of this fit."""


class Checkpoint:
    """A file of what is finished, and what the fit is known by.

    Parameters
    ----------
    path : str
        Any that fsspec reads.
    about : mapping of JSON
        What the fit is known by.
    sums : mapping of arrays
        What the rows are known by, but for rounding.
    """

    def __init__(self, path: str, about: Mapping[str, Any], sums: Mapping[str, FloatArray]) -> None:
        self.path = path
        if problem := why_not_written(path):
            advice = "pass the name of a file, in a folder that is there."
            raise ArgumentError({"checkpoint": path}, problem, advice)
        self.about = json.loads(json.dumps(about))
        self.sums = sums
        # Fields of the records that are finished, by their names: numbers, text and arrays.
        self._finished: dict[str, dict[str, Any]] = self._load()

    def rounds(self, of: str = "") -> list[Round]:
        """Return the rounds of a probe that are finished."""
        names = (f"{of}round {number}" for number in range(1, len(self._finished) + 1))
        found = (self._record(Round, name) for name in names)
        return [made for made in found if made is not None]

    def last_end(self) -> Evaluation | None:
        """Return where the last of the rounds ended."""
        return self._record(Evaluation, "end")

    def add_round(self, made: Round, end: Evaluation, of: str = "") -> None:
        """Keep one more round of a probe, and where it ended."""
        self._finished[f"{of}round {len(self.rounds(of)) + 1}"] = dict(vars(made))
        self._finished[f"{of}end"] = dict(vars(end))
        self._save()

    def tried(self, candidate: str) -> tuple[Evaluation | None, float]:
        """Return where a candidate ended, if it was tried, and the passes that it took."""
        n_passes: float = self._finished.get(candidate, {}).get("n_passes", 0.0)
        return self._record(Evaluation, f"{candidate}, end"), n_passes

    def add_tried(self, candidate: str, end: Evaluation, n_passes: float) -> None:
        """Keep where a candidate ended, and the passes that it took."""
        self._finished[candidate] = {"n_passes": n_passes}
        self._finished[f"{candidate}, end"] = dict(vars(end))
        self._save()

    def _record(self, kind: type[Record], name: str) -> Record | None:
        stored = self._finished.get(name)
        try:
            return None if stored is None else kind(**stored)
        except TypeError as error:
            raise self._is_none(error) from error

    def _load(self) -> dict[str, dict[str, Any]]:
        """Return what is finished; nothing if there is no file."""
        try:
            with stored_file(self.path) as file:
                if file is None:
                    return {}
                with np.load(file, allow_pickle=False) as stored:
                    arrays = {name: stored[name] for name in stored.files}
            header = json.loads(str(arrays["header"]))
            is_same = header["about"] == self.about and all(
                _agree(arrays[name], sums) for name, sums in self.sums.items()
            )
            finished = {
                name: _entry(arrays, number, fields)
                for number, (name, fields) in enumerate(header["finished"].items())
            }
        except UNREADABLE as error:
            raise self._is_none(error) from error
        if not is_same:
            problem = "holds rounds of another fit, on other rows, labels or parameters"
            raise OtherFitError({"checkpoint": self.path}, problem, OTHER_PATH)
        return finished

    def _is_none(self, error: Exception) -> OtherFitError:
        problem = f"is no checkpoint, or was cut short ({error})"
        return OtherFitError({"checkpoint": self.path}, problem, OTHER_PATH)

    def _save(self) -> None:
        """Write what is finished; the file is whole at any time."""
        arrays: dict[str, Any] = dict(self.sums)
        entries: dict[str, dict[str, Any]] = {}
        for number, (name, record) in enumerate(self._finished.items()):
            held = {key: value for key, value in record.items() if isinstance(value, np.ndarray)}
            arrays |= {f"{number}.{key}": value for key, value in held.items()}
            entries[name] = record | dict.fromkeys(held)
        header = json.dumps({"about": self.about, "finished": entries})
        with whole_stored_file(self.path) as file:
            np.savez(file, header=np.array(header), **arrays)


def _agree(stored: FloatArray, sums: FloatArray) -> bool:
    """Return whether sums are the same but for rounding."""
    if stored.shape != sums.shape:
        return False
    return bool(np.linalg.norm(stored - sums) <= SAME_ROWS * np.linalg.norm(sums))


def _entry(arrays: Mapping[str, Any], number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record, in whose arrays every class has a row."""
    record = {field: arrays.get(f"{number}.{field}", value) for field, value in fields.items()}
    held = [value for value in record.values() if isinstance(value, np.ndarray)]
    lengths = {len(each) for each in held}
    widths = {each.shape[1:] for each in held if each.ndim > 1}
    if len(lengths) > 1 or len(widths) > 1:
        raise ValueError(f"arrays of {', '.join(str(each.shape) for each in held)} in one record")
    return record


@contextmanager
def resumable(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Say how work that has a checkpoint resumes, where the cluster is lost that does it."""
    try:
        yield
    except ClusterLostError as error:
        if path is None:
            raise
        with stored_file(str(path)) as file:
            is_kept = file is not None
        raise lost_after(error, str(path), is_kept=is_kept) from error


def checkpoint_at(
    path: str | os.PathLike[str],
    coordinates: Coordinates,
    *,
    made: Mapping[str, Any],
    column: Matrix,
    classes: NDArray[Any],
    preparation: Preparation,
) -> Checkpoint:
    """Return the checkpoint of a fit, known by how it is `made`, its rows and their labels."""
    rows = coordinates.rows
    about = {
        **made,
        "normalize": preparation.normalize,
        "precision": str(rows.dtype),
        "shape": [rows.n_samples, rows.n_columns],
        "intercept": rows.intercept,
        "n_axes": len(coordinates.axes.variances),
        "weight": round(rows.total_weight, 6),
        "classes": [str(name) for name in classes.tolist()],
        "targets": digest_of(column),
    }
    sums = {
        "mean": np.zeros(0) if preparation.mean is None else preparation.mean,
        "fingerprint": fingerprint(rows),
        "axes": _drawn_along(coordinates),
    }
    return Checkpoint(str(path), about, sums)


def _drawn_along(coordinates: Coordinates) -> FloatArray:
    """Return what axes are known by: coefficients that are drawn along them, on the features.

    Where a fit ended is kept along its axes, and another version or machine may turn one about.
    Axes that hardly vary are any that complete the others, and count as little.
    """
    scale = np.sqrt(np.maximum(coordinates.axes.variances, 0))
    drawn = np.random.default_rng(0).normal(size=(1, len(scale)))
    return coordinates.to_features(drawn * scale)


def digest_of(column: Matrix) -> str:
    """Return what some labels or soft targets are known by."""
    dense = column.toarray() if hasattr(column, "toarray") else np.asarray(column)
    kind = np.int64 if dense.dtype.kind in "iu" else np.float64
    return hashlib.sha256(np.ascontiguousarray(dense, dtype=kind).tobytes()).hexdigest()
