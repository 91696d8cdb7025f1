"""Images or texts → a feature file, batch by batch, resumed where an earlier run was cut off.

Items are gone through in order. Those whose content is known (from an earlier run, or the same file
twice) are passed over, those that cannot be read are listed, and the others fill batches of
`batch_size`. A batch is stored as soon as it is through the model, whole or not at all. A model may
round a row differently in other company, so this is what makes a run that was killed and started
again end with the same bytes: what was stored is a number of whole batches from the front, and what
is left fills the same batches as it would have.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from twohot._checks.messages import ArgumentError, FileThereError
from twohot._checks.numbers import check_choice, check_count
from twohot._types import FloatArray
from twohot.extract.backbone import Backbone
from twohot.extract.backbones import check_takes, load_backbone
from twohot.extract.cache import PartStore
from twohot.extract.items import LabelledItems
from twohot.extract.loading import Loaded, prefetch
from twohot.extract.output import Extraction, assemble, finished_before
from twohot.extract.plan import ExtractionPlan, Progress

DTYPES = ("float16", "float32")
# Batches that wait while one is in the model: one is being filled and one is ready.
BATCHES_AHEAD = 2
# Threads that read: more than eight gain little, and each holds a decoded image.
N_WORKERS = min(8, os.cpu_count() or 1)


def extract(
    items: LabelledItems,
    backbone: str | Backbone,
    output: str | os.PathLike[str],
    *,
    batch_size: int = 64,
    dtype: str = "float16",
    cache: str | os.PathLike[str] | None = None,
    strict: bool = False,
    force: bool = False,
    n_workers: int | None = None,
    progress: Progress | None = None,
) -> Extraction:
    """Write the features of images or texts to a feature file.

    Parameters
    ----------
    items : LabelledItems
        From `read_image_folder`, `read_item_table` or `load_data_set`.
    backbone : str or Backbone
        See `load_backbone`.
    output : path
        The feature file to write. Finished batches wait in the folder `<output>.parts`, from which
        a run that was killed is resumed and which is removed at the end.
    batch_size : int
        Items that go through the model together.
    dtype : {"float16", "float32"}
        How features are stored.
    cache : path, optional
        A folder for the finished batches which is kept: later runs find there what has the same
        content, backbone and dtype, and extract the rest only.
    strict : bool
        Raise at the first item that cannot be read, instead of skipping and listing it.
    force : bool
        Replace an output that was made from something else.
    n_workers : int, optional
        Threads that read and decode; by default one per core, at most 8.
    progress : callable, optional
        Called with the number of items done, from 0 on, and of all items.

    Returns
    -------
    Extraction
        The numbers of rows, features and extracted items, and what was skipped.

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
    plan = ExtractionPlan(
        items=items,
        output=_check_output(output),
        dtype=check_choice("dtype", dtype, DTYPES),
        batch_size=check_count("batch_size", batch_size, 1),
        n_workers=check_count("n_workers", N_WORKERS if n_workers is None else n_workers, 1),
        strict=strict,
        progress=progress,
        # Last: weights are loaded, and perhaps fetched.
        backbone=_check_backbone(backbone, items.kind),
    )
    extraction = finished_before(plan) or _run(plan, cache, force=force)
    shutil.rmtree(plan.workspace, ignore_errors=True)
    return extraction


def _check_backbone(backbone: str | Backbone, kind: str) -> Backbone:
    """Return a backbone that takes the items."""
    if isinstance(backbone, str):
        return load_backbone(backbone, kind)
    check_takes(backbone.name, backbone.kind, kind)
    return backbone


def _check_output(output: str | os.PathLike[str]) -> Path:
    """Return where to write, or say why nothing can be written there, before any work is done."""
    path = Path(output)
    if path.suffix != ".features":
        raise ArgumentError(
            {"output": str(path)}, "is no feature file", "let its name end in .features."
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: pass the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} is in a folder that is not there: make it first.")
    return path


def _run(plan: ExtractionPlan, cache: str | os.PathLike[str] | None, *, force: bool) -> Extraction:
    """Extract what no earlier run has stored, and write the output."""
    if plan.output.exists() and not force:
        raise FileThereError(
            "",
            f"{plan.output} exists and was made from something else",
            "pass {force} to replace it, or another output.",
            force=True,
        )
    recipe = json.dumps(plan.recipe, sort_keys=True).encode()
    folder = plan.workspace if cache is None else Path(cache)
    store = PartStore(folder / hashlib.sha256(recipe).hexdigest()[:32])
    return assemble(plan, store, *_fill(plan, store))


def _fill(plan: ExtractionPlan, store: PartStore) -> tuple[list[Loaded], int]:
    """Store the features of all items that can be read; return what became of each item."""
    outcomes: list[Loaded] = []
    batch: list[Loaded] = []
    n_before = len(store)
    plan.report(0)
    loaded_items = prefetch(
        plan.items,
        plan.backbone.prepare,
        store,
        n_workers=plan.n_workers,
        n_ahead=BATCHES_AHEAD * plan.batch_size,
    )
    for loaded in loaded_items:
        outcomes.append(Loaded(loaded.row, loaded.key, problem=loaded.problem))
        if loaded.problem and plan.strict:
            raise ArgumentError(
                "",
                f"{plan.items.items[loaded.row]} could not be read ({loaded.problem})",
                "mend or remove it and run this again, which goes on from here, or leave {strict} "
                "out.",
                strict=True,
            )
        is_new = loaded.prepared is not None and loaded.key not in store
        if is_new and all(loaded.key != other.key for other in batch):
            batch.append(loaded)
        if len(batch) == plan.batch_size:
            _embed(plan, store, batch)
            batch = []
        if len(outcomes) % plan.batch_size == 0:
            plan.report(len(outcomes))
    if batch:
        _embed(plan, store, batch)
    plan.report(len(outcomes))
    return outcomes, len(store) - n_before


def _embed(plan: ExtractionPlan, store: PartStore, batch: Sequence[Loaded]) -> None:
    """Put one batch through the model and store it."""
    features = plan.backbone.embed([loaded.prepared for loaded in batch])
    store.add([loaded.key for loaded in batch], _stored(plan, features, batch))


def _stored(plan: ExtractionPlan, features: FloatArray, batch: Sequence[Loaded]) -> FloatArray:
    """Return features as they are stored; none may be infinite or no number."""
    with np.errstate(over="ignore"):
        stored = features.astype(plan.dtype)
    wrong = np.flatnonzero(~np.isfinite(stored).all(axis=1))
    if wrong.size:
        item = plan.items.items[batch[wrong[0]].row]
        if np.isfinite(features[wrong[0]]).all():
            raise ArgumentError(
                {"dtype": plan.dtype},
                f"is too narrow for the features of {item}",
                "pass {dtype}.",
                dtype="float32",
            )
        raise ArgumentError(
            {"backbone": plan.backbone.name},
            f"gave features that are no finite numbers for {item}",
            "remove the item, or pass another backbone.",
        )
    return stored
