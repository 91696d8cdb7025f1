"""The output of an extraction: finished batches, and the feature file that is made from them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from twohot.base import ArgumentError, FloatArray, counted, put_in_place, whole_file
from twohot.extract.backbones import Backbone, load_backbone
from twohot.extract.decoding import ExtractionPlan, Loaded, prefetch
from twohot.extract.items import KINDS
from twohot.tables import FeatureBlocks, FeatureTable, map_tensors, read_features, write_features

# The finished batches of an extraction, from which a stopped run resumes --------------------------
# A batch is a safetensors file with "keys" (U8, n × 32), the digests of the items' content, and
# "features" (n × n_features). The file name is derived from the keys. A file is written completely
# or not at all, so any set of batches is a valid store.

# Maximum number of batches that are memory-mapped at a time.
N_MAPPED = 8


class BatchStore:
    """Features of finished items in files of a folder; a key is the digest of an item's content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_features = 0  # 0: there is no batch yet
        self._places: dict[bytes, tuple[Path, int]] = {}  # key → file, row in the file
        for path in sorted(folder.glob("*.part")):
            part = _mapped(path)
            if part is not None:
                self._register(path, [bytes(key) for key in part[0]], part[1].shape[1])

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, keys: Sequence[bytes], features: FloatArray) -> None:
        """Write a batch to a file."""
        joined = b"".join(keys)
        path = self.folder / f"{hashlib.sha256(joined).hexdigest()[:32]}.part"
        if self.n_features not in {0, features.shape[1]}:
            both = f"{self.n_features} features for some items and {features.shape[1]} for others"
            advice = "pass images of one size, or a backbone that resizes images."
            raise ValueError(f"the backbone returned {both}: {advice}")
        self.folder.mkdir(parents=True, exist_ok=True)
        key_array = np.frombuffer(joined, dtype=np.uint8).reshape(len(keys), -1)
        with whole_file(path) as file:
            file.write(save({"keys": key_array, "features": np.ascontiguousarray(features)}))
        self._register(path, keys, features.shape[1])

    def blocks(self, keys: Sequence[bytes]) -> Iterator[FloatArray]:
        """Yield the features of the items with these keys, in order, in blocks of rows."""
        mapped = lru_cache(N_MAPPED)(_mapped)
        places = (self._places[key] for key in keys)
        for path, run in groupby(places, key=lambda place: place[0]):
            part = mapped(path)
            if part is None:
                raise ValueError(f"{path} was changed while in use: run the extraction again.")
            yield part[1][[row for _, row in run]]

    def _register(self, path: Path, keys: Sequence[bytes], n_features: int) -> None:
        self.n_features = n_features
        self._places.update((key, (path, row)) for row, key in enumerate(keys))


def _mapped(path: Path) -> tuple[NDArray[np.uint8], NDArray[Any]] | None:
    """Return the keys and features of a batch; None if the file is damaged."""
    try:
        _, tensors = map_tensors(path)
    except ValueError:
        return None
    return tensors["keys"], tensors["features"]


# The feature file, and the record of the extraction -----------------------------------------------

# Fields that do not depend on which items could be read.
COPIED = ("classes", "superclass", "superclass_names", "split_names", "item_kind")


@dataclass(frozen=True)
class Skipped:
    """An item that could not be read, so it is missing in the feature file."""

    id: str  # the id of the item in the user's data
    item: str  # the path or the text
    reason: str  # why it could not be read


@dataclass(frozen=True)
class Extraction:
    """The feature file that an extraction wrote, with counts of its items."""

    output: Path
    n_rows: int
    n_features: int
    n_extracted: int  # number of items that the model processed in this run
    skipped: tuple[Skipped, ...]  # items that could not be read
    up_to_date: bool  # whether the file already existed, for the same items and settings
    n_duplicates: int = 0  # number of rows with the same content as an earlier row


def assemble(
    plan: ExtractionPlan, store: BatchStore, outcomes: Sequence[Loaded], n_extracted: int
) -> Extraction:
    """Write the feature file from the stored batches; return the record of the extraction.

    `outcomes` has one entry per item, in order.
    """
    items = plan.items
    read = np.array([loaded.row for loaded in outcomes if not loaded.problem], dtype=np.intp)
    skipped = tuple(
        Skipped(items.ids[loaded.row], items.items[loaded.row], loaded.problem)
        for loaded in outcomes
        if loaded.problem
    )
    if not read.size:
        problem = f"none of the {counted(len(items), 'item')} of {items.source} could be read"
        first = f"the first item is {skipped[0].item}, with the problem: {skipped[0].reason}"
        raise ValueError(f"{problem} ({first}): pass images or texts that can be read.")
    shape = (len(read), store.n_features)
    keys = [outcomes[row].key for row in read]
    by_row = {name: getattr(items, name) for name in ("labels", "split", "true_labels")}
    table = FeatureTable(
        features=FeatureBlocks(store.blocks(keys), shape, plan.dtype),
        items=[items.items[row] for row in read],
        ids=items.ids if len(read) == len(items) else items.ids.take(read),
        **{name: codes[read] for name, codes in by_row.items() if codes is not None},
        **{name: getattr(items, name) for name in COPIED},
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
    # Write in the workspace first, so that a killed process leaves no partial output.
    plan.workspace.mkdir(exist_ok=True)
    written = plan.workspace / "output"
    write_features(written, table)
    put_in_place(written, plan.output)
    n_same = len(keys) - len(set(keys))
    return Extraction(
        plan.output, *shape, n_extracted, skipped, up_to_date=False, n_duplicates=n_same
    )


def finished_before(plan: ExtractionPlan) -> Extraction | None:
    """Return the record of an output that exists for the same items and settings, else None."""
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


# The origin of features, which a probe stores -----------------------------------------------------
# Features of another backbone may have the same number of columns. If a probe did not compare the
# origins, its predictions would be wrong without an error.

DIGITS = 8  # number of digits of a digest in messages


@dataclass(frozen=True)
class FeatureOrigin:
    """The backbone that made the features, and the column of items in the user's table."""

    backbone: str  # name of the backbone
    kind: str  # kind of items: "image" or "text"
    weights: str  # digest of the weights; empty if the backbone has no weights
    dtype: str  # type of the stored features
    item_column: str = ""  # name of the column of items in the user's table; empty if unknown

    @classmethod
    def of_table(cls, table: FeatureTable) -> Self | None:
        """Return the origin of the features of a table; None if the origin is unknown."""
        known = table.provenance
        if not {"backbone", "dtype"} <= known.keys():
            return None
        # Images of a dataset are in memory, so there is no column of paths.
        kind = table.item_kind or "image"
        weights = str(known.get("weights", ""))
        return cls(str(known["backbone"]), kind, weights, str(known["dtype"]), table.item_column)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self | None:
        """Return the origin stored by `to_json`; None if the record is empty or invalid."""
        try:
            origin = cls(**record)
        except TypeError:  # the record has other fields
            return None
        return origin if origin.kind in KINDS else None

    def to_json(self) -> dict[str, str]:
        """Return the fields by name."""
        return asdict(self)

    def is_compatible_with(self, other: "FeatureOrigin") -> bool:
        """Return whether a probe for features of one origin can use features of the other."""
        return (self.backbone, self.weights) == (other.backbone, other.weights)

    def distinct_name(self, other: "FeatureOrigin") -> str:
        """Return the backbone's name; if `other` has the same name, add a digest of the weights."""
        if self.backbone != other.backbone:
            return repr(self.backbone)
        weights = f"weights {self.weights[:DIGITS]}" if self.weights else "other weights"
        return f"{self.backbone!r} with {weights}"

    def load(self) -> Backbone:
        """Return the backbone, or raise if its weights have changed under the same name."""
        backbone = load_backbone(self.backbone, self.kind)
        if backbone.description.get("weights", "") != self.weights:
            problem = "has other weights now than for the training features of the probe"
            advice = "extract the training features again, and fit the probe again."
            raise ArgumentError({"backbone": self.backbone}, problem, advice)
        return backbone
