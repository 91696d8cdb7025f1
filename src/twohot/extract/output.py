"""The end of an extraction: the feature file, and what is said about it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from twohot._checks.messages import counted
from twohot._files import put_in_place
from twohot.extract.cache import PartStore
from twohot.extract.loading import Loaded, prefetch
from twohot.extract.plan import ExtractionPlan
from twohot.tables.feature_file import read_features, write_features
from twohot.tables.feature_stream import FeatureBlocks
from twohot.tables.table import FeatureTable

# Fields that a feature table has from its items, whichever of these could be read.
OF_CLASSES = ("classes", "superclass", "superclass_names", "split_names", "item_kind")


@dataclass(frozen=True)
class Skipped:
    """An item that is not in the feature file."""

    id: str  # what it is called in the user's data
    item: str  # its path, or its text
    reason: str  # why it could not be read


@dataclass(frozen=True)
class Extraction:
    """What an extraction did."""

    output: Path
    n_rows: int
    n_features: int
    n_extracted: int  # items that went through the model in this run
    skipped: tuple[Skipped, ...]  # items that could not be read
    up_to_date: bool  # the file was there already, made from the same content in the same way
    n_duplicates: int = 0  # rows whose content an earlier row has, and that shared its features


def assemble(
    plan: ExtractionPlan, store: PartStore, outcomes: Sequence[Loaded], n_extracted: int
) -> Extraction:
    """Write the feature file from what is stored."""
    items = plan.items
    kept = np.array([loaded.row for loaded in outcomes if not loaded.problem], dtype=np.intp)
    skipped = tuple(
        Skipped(items.ids[loaded.row], items.items[loaded.row], loaded.problem)
        for loaded in outcomes
        if loaded.problem
    )
    if not kept.size:
        said = f"(the first: {skipped[0].item}: {skipped[0].reason}): pass images or texts."
        n_items = counted(len(items), "item")
        raise ValueError(f"none of the {n_items} of {items.source} could be read {said}")
    shape = (len(kept), store.n_features)
    keys = [outcomes[row].key for row in kept]
    blocks = store.blocks(keys)
    by_row = {name: getattr(items, name) for name in ("labels", "split", "true_labels")}
    table = FeatureTable(
        features=FeatureBlocks(blocks, shape, plan.dtype),
        items=[items.items[row] for row in kept],
        ids=items.ids if len(kept) == len(items) else items.ids.take(kept),
        **{name: codes[kept] for name, codes in by_row.items() if codes is not None},
        **{name: getattr(items, name) for name in OF_CLASSES},
        provenance={
            "made_by": "twohot extract",
            "source": items.source,
            "columns": items.columns,
            **items.column_names,
            **({"missing": list(items.missing)} if items.missing else {}),
            **plan.recipe,
            "batch_size": plan.batch_size,
            "content": plan.content_digest([loaded.key for loaded in outcomes]),
            "skipped": [asdict(entry) for entry in skipped],
        },
    )
    # Written inside the workspace, so that a kill leaves nothing beside the output.
    plan.workspace.mkdir(exist_ok=True)
    written = plan.workspace / "output"
    write_features(written, table)
    put_in_place(written, plan.output)
    n_same = len(keys) - len(set(keys))
    return Extraction(
        plan.output, *shape, n_extracted, skipped, up_to_date=False, n_duplicates=n_same
    )


def finished_before(plan: ExtractionPlan) -> Extraction | None:
    """Return what the output holds if it was made from this content in this way, else None."""
    try:
        table = read_features(plan.output)
    except (FileNotFoundError, ValueError):
        return None
    keys = [loaded.key for loaded in prefetch(plan, None, plan.batch_size)]
    if table.provenance.get("content") != plan.content_digest(keys):
        return None
    skipped = tuple(Skipped(**entry) for entry in table.provenance["skipped"])
    plan.report(len(plan.items))
    return Extraction(plan.output, table.n_rows, table.n_features, 0, skipped, up_to_date=True)
