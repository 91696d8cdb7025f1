"""What an extraction is given, and the digest of its content."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from twohot._unfinished import name_beside
from twohot.extract.backbone import Backbone
from twohot.extract.decoding import decoder_of
from twohot.extract.items import LabelledItems


@dataclass(frozen=True)
class ExtractionProgress:
    """How far an extraction is."""

    n_done: int  # items that were gone through
    n_items: int  # all items
    n_extracted: int  # features that this run has made: what is known already takes no time


Progress: TypeAlias = Callable[[ExtractionProgress], None]


@dataclass(frozen=True, eq=False)
class ExtractionPlan:
    """What an extraction is given."""

    items: LabelledItems
    backbone: Backbone
    output: Path
    dtype: str
    batch_size: int
    n_workers: int
    strict: bool
    progress: Progress | None

    @property
    def recipe(self) -> dict[str, Any]:
        """All that the features of one item depend on, but for its content."""
        return {
            "backbone": self.backbone.name,
            **self.backbone.description,
            "decoder": decoder_of(self.items),
            "dtype": self.dtype,
        }

    @property
    def workspace(self) -> Path:
        """The folder of unfinished work: it is removed once the output is there."""
        return name_beside(self.output, ".parts")

    def report(self, n_done: int, n_extracted: int = 0) -> None:
        """Call back with the number of items that are done, and of features that were made."""
        if self.progress is not None:
            self.progress(ExtractionProgress(n_done, len(self.items), n_extracted))

    def content_digest(self, keys: Sequence[bytes]) -> str:
        """Return a digest of the input: the recipe, and all about each item."""
        items = self.items
        described = (
            self.recipe,
            *(items.classes, items.superclass_names, items.split_names, items.item_kind),
            *(
                None if values is None else values.tolist()
                for values in (items.labels, items.superclass, items.split, items.true_labels)
            ),
            *(list(items.items), [key.hex() for key in keys]),
            *(list(items.ids), items.ids.kind, items.ids.column),
            *items.missing,
        )
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()
