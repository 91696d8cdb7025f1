"""Checkpoints: the finished part of a fit in a file, from which an interrupted fit continues.

The file has the finished rounds, the evaluation at the end of the last round, and the candidates
that `AutoProbe` has fitted. The settings, and digests of rows, labels and classes, identify the
fit. A fit rejects the checkpoint of another fit.
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

# Relative tolerance for the numbers that identify the rows, because other machines round sums
# differently.
SAME_ROWS = 1e-5

# Exceptions that readers raise if a file is damaged or has another format.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile)

OTHER_PATH = "pass another path, or delete the file."

Record = TypeVar("Record", Round, Evaluation)


class OtherFitError(ArgumentError):
    """Error about a file that is no checkpoint, or the checkpoint of another fit."""


class Checkpoint:
    """A file with the finished part of a fit, and with data that identifies the fit.

    Parameters
    ----------
    path : str
        Any path that fsspec can write.
    about : mapping of JSON
        Settings that identify the fit, compared exactly.
    sums : mapping of arrays
        Numbers that identify the rows, compared up to rounding.
    """

    def __init__(self, path: str, about: Mapping[str, Any], sums: Mapping[str, FloatArray]) -> None:
        self.path = path
        if problem := why_not_written(path):
            advice = "pass the name of a file in an existing folder."
            raise ArgumentError({"checkpoint": path}, problem, advice)
        self.about = json.loads(json.dumps(about))
        self.sums = sums
        # Fields of the finished records by name: numbers, text and arrays.
        self._finished: dict[str, dict[str, Any]] = self._load()

    def rounds(self, of: str = "") -> list[Round]:
        """Return the finished rounds that were saved with the prefix `of`."""
        names = (f"{of}round {number}" for number in range(1, len(self._finished) + 1))
        records = (self._record(Round, name) for name in names)
        return [record for record in records if record is not None]

    def last_end(self) -> Evaluation | None:
        """Return the evaluation at the end of the last finished round; None if there is none."""
        return self._record(Evaluation, "end")

    def add_round(self, made: Round, end: Evaluation, of: str = "") -> None:
        """Save one more round of a probe, and the evaluation at its end, with the prefix `of`."""
        name = f"{of}round {len(self.rounds(of)) + 1}"
        self._save({name: dict(vars(made)), f"{of}end": dict(vars(end))})

    def tried(self, candidate: str) -> tuple[Evaluation | None, float]:
        """Return the final evaluation (None if not fitted) and the passes of a candidate."""
        n_passes: float = self._finished.get(candidate, {}).get("n_passes", 0.0)
        return self._record(Evaluation, f"{candidate}, end"), n_passes

    def add_tried(self, candidate: str, end: Evaluation, n_passes: float) -> None:
        """Save the final evaluation of a candidate, and its number of passes over the rows."""
        self._save({candidate: {"n_passes": n_passes}, f"{candidate}, end": dict(vars(end))})

    def _record(self, kind: type[Record], name: str) -> Record | None:
        stored = self._finished.get(name)
        try:
            return None if stored is None else kind(**stored)
        except TypeError as error:
            raise self._invalid(error) from error

    def _load(self) -> dict[str, dict[str, Any]]:
        """Return the finished records; an empty dict if there is no file."""
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
            raise self._invalid(error) from error
        if not is_same:
            problem = "belongs to another fit, with other rows, labels or parameters"
            raise OtherFitError({"checkpoint": self.path}, problem, OTHER_PATH)
        return finished

    def _invalid(self, error: Exception) -> OtherFitError:
        problem = f"is not a checkpoint, or is truncated ({error})"
        return OtherFitError({"checkpoint": self.path}, problem, OTHER_PATH)

    def _save(self, records: dict[str, dict[str, Any]]) -> None:
        """Add finished records, and write all of them atomically."""
        self._finished |= records
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
    """Return whether stored and new sums are equal up to rounding."""
    if stored.shape != sums.shape:
        return False
    return bool(np.linalg.norm(stored - sums) <= SAME_ROWS * np.linalg.norm(sums))


def _entry(arrays: Mapping[str, Any], number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record with its arrays; raise if their shapes do not match."""
    record = {field: arrays.get(f"{number}.{field}", value) for field, value in fields.items()}
    held = [value for value in record.values() if isinstance(value, np.ndarray)]
    lengths, widths = {len(each) for each in held}, {each.shape[1:] for each in held} - {()}
    if len(lengths) > 1 or len(widths) > 1:
        raise ValueError(f"arrays of {', '.join(str(each.shape) for each in held)} in one record")
    return record


@contextmanager
def resumable(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """If the Dask cluster is lost, explain in the error how to continue from the checkpoint."""
    try:
        yield
    except ClusterLostError as error:
        if path is None:
            raise
        with stored_file(str(path)) as file:
            is_kept = file is not None
        raise lost_after(error, str(path), is_kept=is_kept) from error


def checkpoint_at(
    path: str | os.PathLike[str] | None,
    coordinates: Coordinates,
    *,
    made: Mapping[str, Any],
    column: Matrix,
    classes: NDArray[Any],
    preparation: Preparation,
) -> Checkpoint | None:
    """Return the checkpoint of a fit, identified by its settings `made`, rows and labels.

    Without a path, return None.
    """
    if path is None:
        return None
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
    # The checkpoint stores coefficients along the axes, and another machine may flip the sign of an
    # axis. So random coefficients along the axes, converted to features, identify the axes. Axes
    # with little variance are arbitrary, so their coefficients are small.
    scale = np.sqrt(np.maximum(coordinates.axes.variances, 0))
    drawn = np.random.default_rng(0).normal(size=(1, len(scale)))
    sums = {
        "mean": np.zeros(0) if preparation.mean is None else preparation.mean,
        "fingerprint": fingerprint(rows),
        "axes": coordinates.to_features(drawn * scale),
    }
    return Checkpoint(str(path), about, sums)


def digest_of(column: Matrix) -> str:
    """Return a digest of labels, soft targets or coefficients."""
    dense = column.toarray() if hasattr(column, "toarray") else np.asarray(column)
    kind = np.int64 if dense.dtype.kind in "iu" else np.float64
    return hashlib.sha256(np.ascontiguousarray(dense, dtype=kind).tobytes()).hexdigest()


# Fingerprint of the rows: it identifies the rows and their order ----------------------------------
# Row i gets M pseudo-random numbers u_i from its position. With S = Σ_i u_i φ(x_i)ᵀ (M, d), where
# φ(x) is the prepared row of length d, and with weights w,
#
#     S Sᵀ / Σ_i ‖φ(x_i)‖²        and        Σ_i u_i w_i / √(Σ_i w_i²)
#
# do not depend on rotations of the features or (up to rounding) on the blocks.

# M: a single number could agree by chance, but not all entries of S Sᵀ.
N_DRAWN = 4


def fingerprint(rows: Rows) -> FloatArray:
    """Return the fingerprint (N_DRAWN + 1, N_DRAWN) of prepared rows and weights."""
    sums, weights, square, weight_square = rows.sum(drawn_sums)
    gram = sums @ sums.T / (square or 1.0)
    return np.vstack([gram, weights / np.sqrt(weight_square or 1.0)])


def drawn_sums(block: Block) -> Terms:
    """Return Σ u xᵀ, Σ u w, Σ ‖x‖² and Σ w² in float64. A kernel, see `twohot.rows.rows`."""
    x = block.prepared().astype(np.float64)
    weights = np.ones(len(block)) if block.weights is None else block.weights[:, 0]
    weights = weights.astype(np.float64)
    draws = np.random.PCG64(0).advance(N_DRAWN * block.first)
    drawn = np.random.Generator(draws).random((len(block), N_DRAWN)) - 0.5
    squares = (np.asarray(np.vdot(each, each)) for each in (x, weights))
    return drawn.T @ x, drawn.T @ weights, *squares
