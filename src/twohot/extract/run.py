"""Extract features of images or texts, batch by batch, to a feature file.

Items are processed in order. If the features of the same content are already stored (by an earlier
run, or for an equal item), the model does not process the item. An item that cannot be read is
listed. All other items fill batches of `batch_size`. As soon as the model has processed a batch,
its features are stored in a file. So a run that was stopped can resume.

A model may round the features of an item differently in another batch. A killed and resumed run
still gives the same bytes: the remaining items fill the same batches as in a run without a stop.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from twohot.base import (
    ArgumentError,
    FileThereError,
    check_choice,
    check_count,
    check_output,
    final_path,
)
from twohot.extract.backbones import Backbone, check_takes, load_backbone
from twohot.extract.decoding import ExtractionPlan, Loaded, Progress, prefetch
from twohot.extract.items import LabelledItems
from twohot.extract.output import BatchStore, Extraction, assemble, finished_before

# One extraction per output at a time: a second one would remove the batches of the first ----------

if os.name == "posix":
    import fcntl

LOCK = "lock"  # name of the file that is locked


@contextmanager
def only_writer(workspace: Path) -> Iterator[None]:
    """Lock the folder of finished batches; raise if another process has locked it.

    When the process ends, even if it is killed, the operating system releases the lock. If the
    folder is empty in the end, it is removed.
    """
    workspace.mkdir(exist_ok=True)
    path = workspace / LOCK
    with path.open("w") as file:
        if os.name == "posix":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                problem = f"another process is writing to {workspace}"
                advice = "wait until this process ends, or choose another output file."
                raise ValueError(f"{problem}: {advice}") from error
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # the folder has batches, or was already removed
                workspace.rmdir()


DTYPES = ("float16", "float32")
# Batches in memory while the model processes another batch: one is being filled, and one is ready.
BATCHES_AHEAD = 2
# Default number of threads that read items. More threads gain little, and each needs memory.
N_WORKERS = min(8, os.cpu_count() or 1)


def extract(
    items: LabelledItems,
    backbone: str | Backbone,
    output: str | os.PathLike[str],
    *,
    batch_size: int = 64,
    dtype: str = "float16",
    strict: bool = False,
    force: bool = False,
    n_workers: int | None = None,
    progress: Progress | None = None,
) -> Extraction:
    """Write the features of images or texts to a feature file.

    Parameters
    ----------
    items : LabelledItems
        The items, from `read_image_folder`, `read_item_table` or `load_data_set`.
    backbone : str or Backbone
        The backbone, or its name as for `load_backbone`.
    output : path
        The feature file to write. Finished batches are stored in the folder `<output>.parts`. A
        killed run resumes from this folder; at the end, the folder is removed.
    batch_size : int
        Number of items in a batch.
    dtype : {"float16", "float32"}
        Type of the stored features.
    strict : bool
        Raise an error if an item cannot be read. By default, such items are skipped, and are listed
        in the result.
    force : bool
        Replace an existing output that was made from other items or with other settings.
    n_workers : int, optional
        Number of threads that read and decode items; by default one per core, at most 8.
    progress : callable, optional
        Called with an `ExtractionProgress`: the numbers of finished items, of all items, and of
        items that the model processed in this run.

    Returns
    -------
    Extraction
        The path and the shape of the features, the number of items that the model processed, and
        the skipped items.

    Examples
    --------
    >>> from twohot.extract import load_data_set
    >>> from twohot.tables import read_features
    >>> extract(load_data_set("digits"), "pixels", "digits.features").n_rows
    1797
    >>> read_features("digits.features").features.shape
    (1797, 64)
    >>> extract(load_data_set("digits"), "pixels", "digits.features").up_to_date
    True
    """
    if isinstance(backbone, Backbone):
        check_takes(backbone.name, backbone.kind, items.kind)
    check_output(Path(output), force=True, suffixes=[".features"])
    path = final_path(output)
    plan = ExtractionPlan(
        items=items,
        output=path,
        dtype=check_choice("dtype", dtype, DTYPES),
        batch_size=check_count("batch_size", batch_size, 1),
        n_workers=check_count("n_workers", N_WORKERS if n_workers is None else n_workers, 1),
        strict=strict,
        progress=progress,
        # Loaded last, because this may download weights.
        backbone=load_backbone(backbone, items.kind) if isinstance(backbone, str) else backbone,
    )
    with only_writer(plan.workspace):
        extraction = finished_before(plan) or _run(plan, force=force)
        if strict and extraction.skipped:
            raise _unreadable(extraction.skipped[0].item, extraction.skipped[0].reason)
        shutil.rmtree(plan.workspace, ignore_errors=True)
    return extraction


def _run(plan: ExtractionPlan, *, force: bool) -> Extraction:
    """Extract the features that are not stored yet, and write the output."""
    if plan.output.exists() and not force:
        problem = f"{plan.output} already exists, and was made from other items or settings"
        advice = "pass {force} to replace this file, or choose another output file."
        raise FileThereError("", problem, advice, force=True)
    recipe = json.dumps(plan.recipe, sort_keys=True).encode()
    store = BatchStore(plan.workspace / hashlib.sha256(recipe).hexdigest()[:32])
    return assemble(plan, store, *_fill(plan, store))


def _unreadable(item: str, reason: str) -> ArgumentError:
    """Return the error for an unreadable item in a strict run."""
    advice = "correct or remove the item and run this again to resume, or remove {strict}."
    return ArgumentError("", f"{item} could not be read ({reason})", advice, strict=True)


def _fill(plan: ExtractionPlan, store: BatchStore) -> tuple[list[Loaded], int]:
    """Store the features of all readable items; return all items, and how many are new."""
    outcomes: list[Loaded] = []
    batch: dict[bytes, Loaded] = {}
    n_before = len(store)
    plan.report(0)
    for loaded in prefetch(plan, store, BATCHES_AHEAD * plan.batch_size):
        outcomes.append(replace(loaded, prepared=None))
        if loaded.problem and plan.strict:
            raise _unreadable(plan.items.items[loaded.row], loaded.problem)
        if loaded.prepared is not None and loaded.key not in store:
            batch.setdefault(loaded.key, loaded)
        if len(batch) == plan.batch_size:
            _embed(plan, store, batch.values())
            batch = {}
        if len(outcomes) % plan.batch_size == 0:
            plan.report(len(outcomes), len(store) - n_before)
    if batch:
        _embed(plan, store, batch.values())
    plan.report(len(outcomes), len(store) - n_before)
    return outcomes, len(store) - n_before


def _embed(plan: ExtractionPlan, store: BatchStore, batch: Collection[Loaded]) -> None:
    """Compute the features of a batch and store them; raise unless they are finite."""
    features = plan.backbone.embed([loaded.prepared for loaded in batch])
    with np.errstate(over="ignore"):
        stored = features.astype(plan.dtype)
    for loaded, before, after in zip(batch, features, stored, strict=True):
        if np.isfinite(after).all():
            continue
        item = plan.items.items[loaded.row]
        if np.isfinite(before).all():
            problem, advice = f"cannot store the large features of {item}", "pass {dtype}."
            raise ArgumentError({"dtype": plan.dtype}, problem, advice, dtype="float32")
        problem = f"returned infinite or NaN features for {item}"
        advice = "remove the item, or pass another backbone."
        raise ArgumentError({"backbone": plan.backbone.name}, problem, advice)
    store.add([loaded.key for loaded in batch], stored)
