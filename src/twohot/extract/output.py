"""The end of an extraction: the feature file, and what is said about it."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from twohot.base import ArgumentError, counted, put_in_place
from twohot.extract.backbones import Backbone, load_backbone
from twohot.extract.batches import BatchStore
from twohot.extract.decoding import ExtractionPlan, Loaded, prefetch
from twohot.extract.items import KINDS
from twohot.tables import FeatureBlocks, FeatureTable, read_features, write_features

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
    plan: ExtractionPlan, store: BatchStore, outcomes: Sequence[Loaded], n_extracted: int
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


# Where features come from: what a probe remembers of those it was fitted on -----------------------
# Features of another backbone may be as many, and a probe then predicts nonsense without a word.


DIGITS = 8  # of a digest that are shown


@dataclass(frozen=True)
class FeatureOrigin:
    """The backbone that made features, and the column of what it made them of.

    Examples
    --------
    >>> origin = FeatureOrigin(backbone="pixels", kind="image", weights="", dtype="float16")
    >>> FeatureOrigin.from_json(origin.to_json()) == origin
    True
    >>> origin.load().name
    'pixels'
    """

    backbone: str  # its name
    kind: str  # what it takes, "image" or "text"
    weights: str  # digest; empty if it has none
    dtype: str  # how the features are stored
    item_column: str = ""  # of the images or texts in the user's table; empty if not known

    @classmethod
    def of_table(cls, table: FeatureTable) -> Self | None:
        """Return where the features of a table come from; None if its file does not say."""
        known = table.provenance
        if not {"backbone", "dtype"} <= known.keys():
            return None
        # Images of data sets are in memory: no path names them, and no table says what they are.
        kind = table.item_kind or "image"
        weights = str(known.get("weights", ""))
        return cls(str(known["backbone"]), kind, weights, str(known["dtype"]), table.item_column)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self | None:
        """Return what `to_json` was called on; None if the record is empty, or not as it wrote."""
        names = {entry.name for entry in fields(cls)}
        needed = {entry.name for entry in fields(cls) if entry.default is MISSING}
        is_one = needed <= record.keys() <= names and record["kind"] in KINDS
        return cls(**record) if is_one else None

    def to_json(self) -> dict[str, str]:
        """Return the fields by name."""
        return asdict(self)

    def makes_the_same_as(self, other: "FeatureOrigin") -> bool:
        """Return whether features of both may meet; how they are stored a probe hardly sees."""
        return (self.backbone, self.weights) == (other.backbone, other.weights)

    def told_from(self, other: "FeatureOrigin") -> str:
        """Return the name of the backbone, with what differs where the other has the same name."""
        if self.backbone != other.backbone:
            return repr(self.backbone)
        return f"{self.backbone!r} with weights {self.weights[:DIGITS] or 'of its own'}"

    def load(self) -> Backbone:
        """Return the backbone, or say that the one of its name has other weights by now."""
        backbone = load_backbone(self.backbone, self.kind)
        if backbone.description.get("weights", "") != self.weights:
            problem = "has other weights than when the features were made that a probe learnt from"
            advice = "extract these again and fit the probe on them."
            raise ArgumentError({"backbone": self.backbone}, problem, advice)
        return backbone
